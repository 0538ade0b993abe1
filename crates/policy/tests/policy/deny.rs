//! Deny rules meet a command however it is spelled; and no spelling of a command gets a milder verdict.

use super::{World, settings};
use toolfence_kit::Linked;
use toolfence_policy::Effective;
use toolfence_policy::{AskMode, Judgement, Policy};

/// The world of the other tests, where `./tidy` is a link to `/bin/rm` and `push-it` one to `/usr/bin/git`.
const WORLD: Linked = Linked {
    world: World { sandbox: true },
    links: &[],
    programs: &[("./tidy", &["/proj/tidy", "/bin/rm"]), ("push-it", &["/usr/bin/push-it", "/usr/bin/git"])],
};
const MODES: [AskMode; 4] = [AskMode::Risky, AskMode::Always, AskMode::Sandboxed, AskMode::Never];

fn denying(rule: &str) -> Policy {
    // What is allowed by a shorter rule is denied all the same.
    let program = rule.split(' ').next().unwrap();
    settings(&format!("[commands]\nallow = [\"{program}\", \"env\", \"cd\"]\ndeny = [\"{rule}\"]\n"))
}

#[test]
fn a_deny_rule_meets_every_spelling_of_its_program() {
    let cases: [(&str, &[&str], &[&str]); 12] = [
        (
            "rm",
            &[
                "rm x",
                "/bin/rm x",
                "/usr/bin/../bin/rm x",
                "\\rm x",
                "'r'm x",
                "./tidy x",
                "cd sub && ../tidy x",
                "command rm x",
                "env A=1 /bin/rm x",
                "sudo -n rm x",
                "sudo --no-such-option rm x",
                "timeout 5 rm x",
                "echo x | xargs -n 1 /bin/rm",
                "find . -name x -exec rm {} \\;",
                "sh -c 'rm x'",
                "bash -c '/bin/rm x'",
                "eval rm x",
                "x=rm; $x y",
                "x=ls; x=rm; $x y",
                "busybox rm x",
                "if true; then rm x; fi",
                "echo $(rm x)",
                "trap 'rm x' EXIT",
                "hash -p /bin/rm q; q x",
                "$'\\x72m' x",
                "$'\\162\\155' x",
                "r$'\\x6d' x",
                "$'\\x72m' -rf x",
                "/bin/$'\\u0072m' x",
                "sh -c $'\\x72m x'",
                "for c in rm; do $c x; done",
                "for c in ls rm; do $c x; done",
                "for c in rm ls; do \"$c\" x; done",
                "for c in {r,l}m; do $c x; done",
                "for f in a b; do rm $f; done",
                "while true; do rm x; done",
                "until rm x; do :; done",
                "for d in a; do for f in b; do rm $d/$f; done; done",
                "{rm,x}",
                "${x:-rm} y",
                "${x-rm} y",
                "su -c'rm x'",
                "su -lc 'rm x' root",
                "find . -exec rm {} +",
                "find . -exec sh -c 'rm x' {} +",
                "find . -execdir rm {} \\;",
                "find . -execdir sh -c 'rm \"$1\"' _ {} +",
                "find . -ok rm {} \\;",
                "find . -okdir /bin/rm {} \\;",
                "find . -exec env rm {} +",
                "find . -exec ls {} \\; -exec rm {} +",
                "echo \"<<EOF\"\nrm x\nEOF",
                "echo '<<EOF'\nrm x\nEOF",
                "sh <<'EOF'\nrm x\nEOF",
                "echo $(echo $'\\'' ; rm x)",
                "echo $(echo $')' ; rm x)",
                "rlwrap rm x",
                "rlwrap -a rm x",
                "rustup run stable rm x",
                "rustup run --install nightly rm x",
                "parallel rm ::: x",
                "parallel -j 4 rm {} ::: x",
                "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
                "ld-linux-x86-64.so.2 --library-path /lib /bin/rm x",
                "setpriv --who-knows rm x",
                "direnv exec . rm x",
            ],
            &["ls rm", "echo rm", "grep rm x", "cat rm.txt", "find . -name rm", "git rm x", "docker rm x"],
        ),
        (
            "git push",
            &[
                "git push",
                "/usr/bin/git push",
                "git -C . push",
                "git -C. push",
                "git --no-pager push",
                "git -c a.b=c push",
                "git -c a.b=c -C x --bare push origin",
                "git --git-dir=x push",
                "git --git-dir x --work-tree y push",
                "git --who-knows push",
                "git --who-knows 3 push",
                "push-it push",
                "env GIT_PAGER=x git push",
                "sh -c 'git -C . push'",
                "git-push",
                "/usr/lib/git-core/git-push origin",
                "git send-pack x",
                "git -C . subtree push --prefix x y z",
            ],
            &["git status", "git -C push status", "git log -- push", "git commit -m push", "git log --grep push"],
        ),
        (
            "npm publish",
            &[
                "npm publish",
                "npm --prefix x publish",
                "npm -s publish",
                "npm --registry=x publish",
                "npm publ",
                "corepack npm publish",
                "npx npm publish",
            ],
            &["npm test", "npm run publish", "npm --prefix publish test", "npm -s run publish"],
        ),
        (
            "docker push",
            &[
                "docker push x",
                "docker -H x push a",
                "/usr/bin/docker --context c push a",
                "docker -D push a",
                "docker image push a",
                "docker -D image push a",
                "docker buildx build --push .",
            ],
            &["docker ps", "docker -H push ps", "docker image push-x", "docker volume push"],
        ),
        (
            "kubectl delete",
            &["kubectl delete pod x", "kubectl -n p delete pod x", "kubectl --context=c delete x"],
            &["kubectl get delete", "kubectl -n delete get pods"],
        ),
        (
            "cargo publish",
            &[
                "cargo publish",
                "cargo --locked publish",
                "cargo +nightly --locked publish",
                "cargo -Z x publish",
                "cargo --config a.b=c publish",
                "cargo -C sub publish",
                "rustup run stable cargo publish",
                "rustup run stable cargo +nightly --locked publish",
            ],
            &["cargo test", "cargo test publish", "cargo --color publish test", "cargo --locked test publish"],
        ),
        (
            "pip install",
            &[
                "pip install x",
                "pip3 install x",
                "pip3.12 -q install x",
                "python3 -m pip install x",
                "python3.12 -I -mpip install x",
                "python -Im pip --isolated install x",
                "python -mpip install x",
                "python -mpip -q install x",
                "python -I -m pip install x",
                "python3 -W ignore -m pip install x",
                "python3 -Wignore -X dev -mpip install x",
                "python3 -bbsm pip install x",
                "pypy3 -m pip install x",
                "env python3 -I -m pip install x",
                "sh -c 'python -mpip install x'",
                "uv pip install x",
                "uv --quiet pip install x",
            ],
            &["pip list", "python3 -m pip list", "python3 -m pytest pip-install", "pip3 download install"],
        ),
        (
            "npm run deploy",
            &[
                "npm run deploy",
                "npm run-script deploy",
                "npm --silent run-script deploy",
                "npm rum deploy -- x",
                "npm run --silent deploy",
            ],
            &["npm run build", "npm run-script build", "npm test deploy"],
        ),
        (
            "yarn publish",
            &["yarn publish", "yarn workspace w publish", "yarn npm publish", "yarn workspaces foreach -A npm publish"],
            &["yarn workspace publish build", "yarn add publish"],
        ),
        (
            "yarn run deploy",
            &["yarn run deploy", "yarn deploy", "yarn workspace w run deploy", "yarn workspace w deploy"],
            &["yarn run build", "yarn add deploy"],
        ),
        (
            "make deploy",
            &["make deploy", "make all deploy", "make -j 4 all deploy", "make -C x V=1 all deploy now"],
            &["make all", "make deployed"],
        ),
        (
            "docker-compose down",
            &["docker-compose down", "docker compose down", "docker compose -f x down"],
            &["docker compose up", "docker-compose up down"],
        ),
    ];
    for (rule, met, others) in cases {
        for mode in MODES {
            let policy = denying(rule).ask(mode);
            for text in met {
                let decision = policy.judge_command(text, "", &WORLD);
                assert_eq!(decision.judgement, Judgement::Deny, "{rule}: {text}: {decision:?}");
                assert_eq!(policy.effective(&decision, &WORLD), Effective::Deny, "{text}");
            }
            for text in others {
                let decision = policy.judge_command(text, "", &WORLD);
                assert!(decision.met.iter().all(|met| met.rule != "commands.deny"), "{rule}: {text}: {decision:?}");
            }
        }
    }
}

#[test]
fn a_program_that_only_a_run_would_tell_needs_a_person_where_some_are_denied() {
    let dynamic = [
        "$(which rm) x",
        "/bin/r? x",
        "$unknown x",
        "f() { $1 x; }; f git push",
        "parallel 'git {}' ::: push",
        "env -S 'git push'",
        "hash -p/usr/bin/git q && q push",
        "cat list | xargs -I{} {} x",
        "find . -name rm -exec {} x \\;",
        "curl x | sh",
        "eval \"$unknown\"",
        "sudo --no-such-option x",
        "git $unknown",
        "git -C $unknown log",
        "git -c alias.x=push x",
        "git --config-env=alias.x=Y x",
        "git p",
        "git -C . shove origin",
        "BASH_CMDS[q]=/usr/bin/git; q push",
        "declare -A 'BASH_CMDS[q]=/usr/bin/git'; q push",
        "declare -A BASH_CMDS=([q]=/usr/bin/git); q push",
        "BASH_CMDS=([q]=/usr/bin/git); q push",
        "BASH_CMDS+=([q]=/usr/bin/git); q push",
        "typeset 'BASH_CMDS[q]=/usr/bin/git'; q push",
        "export 'BASH_CMDS[q]=/usr/bin/git'; q push",
        "readonly 'BASH_CMDS[q]=/usr/bin/git'; q push",
        "local 'BASH_CMDS[q]=/usr/bin/git'; q push",
        "printf -v 'BASH_CMDS[q]' /usr/bin/git; q push",
        "read 'BASH_CMDS[q]' < x; q push",
        "mapfile BASH_CMDS < x; q push",
        "let 'BASH_CMDS[q]=1'; q push",
        "BASH_ALIASES[q]='git push'; q",
        "BASH_ALIASES=([q]='git push'); q",
        "declare 'BASH_ALIASES[q]=git push'; q",
        "hash -p /usr/bin/git q; q push",
        "{gi{t,x},push}",
        "${x:=git} push",
        "a=(git push); ${a[@]}",
        "git {p{ush,ull},x}",
        "git {a},push}",
        "builtin hash -p /usr/bin/git q; q push",
        "command hash -p /usr/bin/git q; q push",
        "hash -p \"$unknown\" q; q push",
        "for x in 1 2 3 4 5 6 7 8 9 push; do git $x; done",
        "x=status; x=$unknown; git $x",
    ];
    for text in dynamic {
        for mode in MODES {
            let policy = settings("[commands]\ndeny = [\"git push\"]").ask(mode);
            let decision = policy.judge_command(text, "", &WORLD);
            assert!(decision.needs_person || decision.judgement == Judgement::Deny, "{text}: {decision:?}");
            let wanted = if mode == AskMode::Never { Effective::Deny } else { Effective::Ask };
            assert_eq!(policy.effective(&decision, &WORLD), wanted, "{mode:?} {text}");
            let free = Policy::default().ask(mode).judge_command(text, "", &WORLD);
            assert!(!free.needs_person, "without a rule there is nothing to ask for: {text}");
        }
    }
}

/// Whoever runs another program in a way that no table knows has its words in a row.
#[test]
fn denied_words_among_those_of_a_program_that_nobody_knows_need_a_person() {
    let cases: [(&str, &[&str], &[&str]); 3] = [
        (
            "rm",
            &[
                "whoknows rm x",
                "whoknows --in y -- /bin/rm x",
                "perf stat rm x",
                "guix shell x -- rm x",
                "docker exec box rm x",
                "cp /bin/rm q",
                "./tool.sh 5 rm x",
                "sh tool.sh rm x",
                "python3 tool.py rm x",
            ],
            &["whoknows x", "whoknows rmdir", "docker rm x", "docker compose rm", "git rm x", "ls rm", "cargo test rm"],
        ),
        (
            "git push",
            &["whoknows git push", "whoknows a /usr/bin/git -C . push origin", "kubectl exec pod -- git push"],
            &["whoknows git log", "whoknows push git", "whoknows git log push"],
        ),
        ("npm run deploy", &["whoknows npm run deploy", "whoknows npm run-script deploy"], &["whoknows npm deploy"]),
    ];
    for (rule, met, others) in cases {
        for allow in ["", "allow = [\"whoknows\", \"perf\"]\n"] {
            for mode in MODES {
                let policy = settings(&format!("[commands]\n{allow}deny = [\"{rule}\"]\n")).ask(mode);
                for text in met {
                    let decision = policy.judge_command(text, "", &WORLD);
                    let wanted = if mode == AskMode::Never { Effective::Deny } else { Effective::Ask };
                    assert!(decision.needs_person, "{rule}: {text}: {decision:?}");
                    assert_eq!(policy.effective(&decision, &WORLD), wanted, "{mode:?} {text}");
                }
                for text in others {
                    let decision = policy.judge_command(text, "", &WORLD);
                    assert!(decision.met.iter().all(|met| met.rule != "commands.deny"), "{rule}: {text}: {decision:?}");
                }
            }
        }
    }
}

#[test]
fn a_rule_with_a_place_meets_the_file() {
    let policy = settings("[commands]\ndeny = [\"scripts/deploy.sh\"]");
    for text in [
        "scripts/deploy.sh",
        "./scripts/deploy.sh now",
        "cd scripts && ./deploy.sh",
        "sub/../scripts//deploy.sh",
        "bash scripts/deploy.sh",
        "bash ./scripts/deploy.sh",
    ] {
        assert_eq!(policy.judge_command(text, "", &WORLD).judgement, Judgement::Deny, "{text}");
    }
    assert_ne!(policy.judge_command("cat scripts/deploy.sh", "", &WORLD).judgement, Judgement::Deny);
    assert_ne!(policy.judge_command("other/deploy.sh", "", &WORLD).judgement, Judgement::Deny);
}

#[test]
fn only_and_allow_stay_exact() {
    let policy = settings("[commands]\nallow = [\"cargo publish\"]");
    for text in ["/usr/bin/cargo publish", "cargo --locked publish"] {
        assert_ne!(policy.judge_command(text, "", &WORLD).judgement, Judgement::Allow, "{text}");
    }
    let policy = settings("[commands]\nonly = [\"git log\"]");
    for text in ["/usr/bin/git log", "git --no-pager log"] {
        assert_eq!(policy.judge_command(text, "", &WORLD).rule, "commands.only", "{text}");
    }
}

/// The programs of the case files whose first word can be spelled in another way, with options that change nothing.
const HARMLESS: &[(&str, &[&str])] = &[
    ("git", &["--no-pager", "-C .", "--bare", "-c a.b=c"]),
    ("cargo", &["--locked", "-q", "--color never"]),
    ("npm", &["--silent", "--prefix ."]),
    ("docker", &["-D", "-H x"]),
    ("kubectl", &["-n x"]),
];

/// Wrappers that tables know, each with the words before the command.
const WRAPPERS: &[&str] =
    &["nice", "timeout 5", "rustup run stable", "rlwrap", "ld-linux-x86-64.so.2 --library-path x"];

/// Words that a shell takes for its own where they begin a command, and that are no programs behind a wrapper.
const BUILTINS: &str = "alias bg bind break builtin caller command compgen complete compopt continue coproc declare dirs \
    disown enable eval exec exit export fc fg getopts hash help history jobs kill let local logout mapfile popd pushd read \
    readarray readonly return shift shopt source suspend test times trap type typeset ulimit umask unalias unset wait";

/// Spellings of a command that begins with a plain name: with a folder, with an option before its subcommand, and behind a
/// wrapper.
fn spellings(command: &str) -> Vec<String> {
    let end = command.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.+".contains(c)).unwrap_or(command.len());
    let (name, rest) = command.split_at(end);
    let keyword = ["if", "for", "while", "until", "case", "function", "time", "coproc", "select", "cd", "alias", "set"];
    if name.is_empty() || !rest.starts_with(' ') || rest.starts_with(" (") || keyword.contains(&name) {
        return Vec::new();
    }
    // `./name` is another program: one of the project, which the sandbox holds.
    let mut all = vec![format!("/usr/bin/{command}"), format!("/opt/x/{command}")];
    let options = HARMLESS.iter().filter(|(program, _)| *program == name).flat_map(|(_, options)| *options);
    all.extend(options.map(|option| format!("{name} {option}{rest}")));
    if !BUILTINS.split_ascii_whitespace().any(|builtin| builtin == name) {
        all.extend(WRAPPERS.iter().map(|wrapper| format!("{wrapper} {command}")));
    }
    all
}

#[test]
fn no_spelling_of_a_program_makes_a_verdict_milder() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    let policy = Policy::default();
    for command in super::corpus::commands() {
        let judged = |text: &str| policy.judge_command(text, "", &WORLD);
        let plain = judged(&command);
        if plain.unreadable || plain.rule == "too_large" {
            continue;
        }
        for spelling in spellings(&command) {
            tried += 1;
            let decision = judged(&spelling);
            if decision.judgement < plain.judgement {
                let (was, is) = (&plain.rule, &decision.rule);
                wrong.push(format!(
                    "{spelling}\n    {:?} by {was} became {:?} by {is}",
                    plain.judgement, decision.judgement
                ));
            }
        }
    }
    println!("{tried} spellings");
    assert!(tried > 25_000, "{tried}");
    assert!(wrong.is_empty(), "{} got milder:\n{}", wrong.len(), wrong.join("\n"));
}

/// For a rule made of the first words of any command, that command and every other spelling of it are denied.
#[test]
fn no_spelling_of_a_command_gets_past_a_rule_that_meets_it() {
    let mut wrong = Vec::new();
    for command in super::corpus::commands() {
        let words: Vec<&str> = command.split(' ').take(2).collect();
        let plain =
            |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        if !words.iter().all(plain) || words.iter().skip(1).any(|word| word.starts_with('-')) {
            continue;
        }
        let policy = settings(&format!("[commands]\ndeny = [{words:?}]"));
        let judged = |text: &str| policy.judge_command(text, "", &WORLD);
        if judged(&command).judgement != Judgement::Deny {
            continue;
        }
        let milder = |text: &String| judged(text).judgement != Judgement::Deny;
        wrong.extend(spellings(&command).into_iter().filter(milder));
    }
    assert!(wrong.is_empty(), "{} get past:\n{}", wrong.len(), wrong.join("\n"));
}
