//! Which calls write a repository: git alone, that makes git run no other program. The cases are in
//! `tests/cases/policy/git/calls.tsv`.

use super::{World, call, catalog, denied, settings};
use serde_json::json;
use std::sync::LazyLock;
use toolfence_kit::{CaseFiles, Comparison, Linked, signs};
use toolfence_policy::Effective;
use toolfence_policy::{AskMode, Decision, Judgement, Policy, Verdict};
use toolfence_policy::{Facts, PathFact, ProgramFact};
use toolfence_policy::{HistoryFact, RepositoryFact, Seen};

/// The least commands in the file.
const LEAST: usize = 250;

/// What makes git run a program, wherever it stands behind a subcommand.
const RUNS: &[&str] = &[
    "--exec=evil",
    "--upload-pack=evil",
    "--upload-pack evil",
    "--receive-pack=evil",
    "--template=evil",
    "--separate-git-dir=evil",
    "--gpg-sign",
    "-Skey",
    "--interactive",
    "--edit",
    "--ext-diff",
    "--textconv",
    "--config=core.fsmonitor=evil",
    "--trailer=x",
    "--verify-signatures",
    "--strategy=evil",
    "--open-files-in-pager=evil",
    "--fsmonitor",
    "--nosuch",
    "--output=x",
];

/// Of which kind a command is, a person decides: `UPDATE=1` writes nothing here.
fn cases() -> Vec<(String, String)> {
    let pairs = CaseFiles::of("policy/git/calls.tsv").pairs().into_iter();
    let cases: Vec<_> =
        pairs.map(|(kind, command)| (kind.text().to_owned(), signs::read_command(command.text()))).collect();
    assert!(cases.len() >= LEAST, "only {} cases", cases.len());
    cases
}

fn of_kind(wanted: &str) -> Vec<String> {
    cases().into_iter().filter(|(kind, _)| kind == wanted).map(|(_, command)| command).collect()
}

fn held(command: &str) -> Decision {
    static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
    POLICY.judge_command(command, "", &World { sandbox: true })
}

fn kind(decision: &Decision) -> &'static str {
    match (decision.rule.as_str(), decision.needs_person, decision.writes_git) {
        ("git_mixed", ..) if decision.judgement == Judgement::Deny => "mixed",
        (_, true, true) if decision.judgement == Judgement::Ask => "person",
        (_, true, false) if decision.judgement == Judgement::Ask => "alone",
        (_, false, true) if decision.judgement == Judgement::Ask => "writes",
        (_, false, false) => "other or reads",
        _ => "wrong",
    }
}

#[test]
fn what_is_no_git_alone_is_none_with_or_without_a_sandbox() {
    let mut wrong = [of_kind("mixed"), of_kind("other")].concat();
    let writes =
        |sandbox: bool, command: &str| Policy::default().judge_command(command, "", &World { sandbox }).writes_git;
    wrong.retain(|command| writes(true, command) || writes(false, command));
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_call_is_of_its_kind() {
    let mut wrong = Vec::new();
    for (wanted, command) in cases() {
        let decision = held(&command);
        let got = kind(&decision);
        let plain = matches!(wanted.as_str(), "other" | "reads") && got == "other or reads";
        // What may run a program is never run without a question.
        let asked = wanted != "other" || decision.judgement != Judgement::Allow;
        if !asked || !plain && got != wanted {
            wrong.push(format!(
                "{command}\n    wanted {wanted}, got {got}, {:?} by {}: {}",
                decision.judgement, decision.rule, decision.reason
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_option_that_runs_a_program_never_leaves_a_repository_writable() {
    for command in of_kind("writes").iter().filter(|command| command.starts_with("git ")) {
        let mut words = command.splitn(3, ' ');
        let (Some(git), Some(name)) = (words.next(), words.next()) else { continue };
        let rest = words.next().unwrap_or_default();
        for option in RUNS {
            let line = format!("{git} {name} {option} {rest}");
            assert!(!held(&line).writes_git || name.starts_with('-'), "{line}");
            let last = format!("{command} {option}");
            let operand = command.contains([';', '&', '|', '<', '>', '(']) || command.contains(" -- ");
            assert!(!held(&last).writes_git || operand, "{last}");
        }
        for global in
            ["-c core.fsmonitor=evil", "--exec-path=.", "--config-env=a.b=C", "--git-dir=x", "--work-tree=x", "-p"]
        {
            let line = command.replacen("git ", &format!("git {global} "), 1);
            assert!(!held(&line).writes_git, "{line}");
        }
        for before in ["GIT_EDITOR=evil", "PATH=.", "GIT_DIR=x", "GIT_CONFIG_COUNT=1"] {
            let line = format!("{before} {command}");
            assert!(!held(&line).writes_git, "{line}");
        }
    }
}

#[test]
fn nothing_beside_git_leaves_a_repository_writable() {
    let writes = of_kind("writes");
    for (at, other) in of_kind("other").iter().chain(&of_kind("alone")).enumerate() {
        let command = &writes[at % writes.len()];
        for line in
            [format!("{command}\n{other}"), format!("{other}\n{command}"), format!("echo $({other}\n)\n{command}")]
        {
            assert!(!held(&line).writes_git, "{line}");
        }
    }
    for command in &writes {
        for line in [format!("{command}\n./x.sh"), format!("{command}\nls"), format!("f() {{ ls; }}\n{command}")] {
            let decision = held(&line);
            assert_eq!((decision.judgement, decision.rule.as_str()), (Judgement::Deny, "git_mixed"), "{line}");
        }
    }
}

#[test]
fn what_reads_writes_nothing_and_may_stand_beside_what_writes() {
    for command in of_kind("reads").iter().filter(|command| !command.contains(['|', '&']) && command.as_str() != "ls") {
        assert!(!held(command).writes_git, "{command}");
        let both = format!("{command} && git commit -m x");
        assert!(held(&both).writes_git, "{both}");
    }
}

#[test]
fn only_sandbox_that_hold_answer_what_is_mixed() {
    for command in of_kind("mixed") {
        let free = Policy::default().judge_command(&command, "", &World { sandbox: false });
        assert_eq!(free.judgement, Judgement::Ask, "{command}");
        assert!(!free.writes_git, "{command}");
        let args = json!({"command": command, "outside_sandbox": true});
        let outside = Policy::default().review(call("bash", args), &catalog(), &World { sandbox: true });
        assert!(matches!(outside, Verdict::Ask(_)), "{command}");
        let within =
            Policy::default().review(call("bash", json!({"command": command})), &catalog(), &World { sandbox: true });
        let message = denied(within).message;
        assert!(
            message.to_string().contains("git_mixed") && message.to_string().contains("a call of their own"),
            "{message}"
        );
    }
}

#[test]
fn every_mode_asks_a_person_about_configuration_or_denies_it() {
    let rules = r#"commands.allow = ["git config", "git remote", "git submodule"]"#;
    for policy in [Policy::default(), settings(rules)] {
        for command in of_kind("person").iter().chain(&of_kind("alone")) {
            for sandbox in [false, true] {
                let world = World { sandbox };
                let modes = [AskMode::Risky, AskMode::Always, AskMode::Sandboxed, AskMode::Never];
                for mode in modes {
                    let policy = policy.clone().ask(mode);
                    let decision = policy.judge_command(command, "", &world);
                    let wanted = if mode == AskMode::Never { Effective::Deny } else { Effective::Ask };
                    assert_eq!(policy.effective(&decision, &world), wanted, "{command} in {mode:?}");
                    assert!(decision.always().is_err(), "{command}");
                }
            }
        }
    }
    assert!(held("git config core.fsmonitor x").reason.to_string().contains("at every `git status`"));
}

#[test]
fn writes_that_are_allowed_are_writes_all_the_same() {
    let world = World { sandbox: true };
    let by_rule = settings(r#"commands.allow = ["git add", "git commit"]"#);
    let decision = by_rule.judge_command("git add -A && git commit -m x", "", &world);
    assert_eq!((decision.judgement, decision.writes_git), (Judgement::Allow, true));

    let mut answered = Policy::default();
    let rules = answered.judge_command("git add -A", "", &world).always().expect("it is literal").to_vec();
    answered.remember(rules);
    let decision = answered.judge_command("git add -A", "", &world);
    assert_eq!((decision.judgement, decision.writes_git), (Judgement::Allow, true));

    // A rule does not make a call out of what is mixed, nor git alone out of what runs programs.
    assert_eq!(by_rule.judge_command("git add -A && ls", "", &world).judgement, Judgement::Deny);
    let all = settings(r#"commands.allow = ["git"]"#);
    assert!(!all.judge_command("git rebase -x make main", "", &world).writes_git);
}

#[test]
fn sandbox_that_hold_do_not_answer_a_write() {
    let world = World { sandbox: true };
    for command in of_kind("writes") {
        let policy = Policy::default().ask(AskMode::Sandboxed);
        let decision = policy.judge_command(&command, "", &world);
        assert_eq!(policy.effective(&decision, &world), Effective::Ask, "{command}");
        let policy = policy.ask(AskMode::Never);
        assert_eq!(policy.effective(&decision, &world), Effective::Run, "{command}");
    }
}

/// A project where `link` leads to git's own folder.
const LINKED: Linked = Linked { world: World { sandbox: true }, links: &[("link", ".git/hooks")], programs: &[] };

#[test]
fn nothing_is_made_in_gits_own_folder_through_a_link() {
    let lines = [
        "git clone https://example.org/x link",
        "git clone https://example.org/link",
        "git init link",
        "git worktree add link topic",
        "git mv a link/a",
        "git -C link init",
        "cd link && git init",
    ];
    for line in lines {
        let decision = Policy::default().judge_command(line, "", &LINKED);
        assert!(!decision.writes_git, "{line}");
    }
}

/// A project whose own repository holds no blocked name in its history, while that of any other folder does.
struct Stained;

impl Facts for Stained {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        HELD.path(cwd, path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        HELD.program(program)
    }

    fn history_has_blocked(&self, cwd: &str) -> HistoryFact {
        match cwd {
            "" | "." => HistoryFact::Clean,
            _ => HistoryFact::Holds { names: vec![".env".into()], all: true, prefix: String::new(), staged: false },
        }
    }

    fn seen(&self, cwd: &str, path: &str) -> Seen {
        HELD.seen(cwd, path)
    }

    fn repository(&self, cwd: &str) -> RepositoryFact {
        HELD.repository(cwd)
    }

    fn sandbox_holds(&self) -> bool {
        true
    }
}

const HELD: World = World { sandbox: true };

#[test]
fn what_is_committed_in_another_folder_is_not_printed_without_a_question() {
    let mut comparison = Comparison::new();
    for (wanted, command) in CaseFiles::of("policy/git/history.tsv").pairs() {
        let command = signs::read_command(command.text());
        let decision = Policy::default().judge_command(&command, "", &Stained);
        let got = match decision.judgement {
            Judgement::Allow => "allow",
            Judgement::Ask => "ask",
            Judgement::Deny => "deny",
        };
        let title = format!("{command}: {} says {}", decision.rule, decision.reason);
        // Whether something may be allowed that was asked about, a person decides.
        match got {
            "allow" if wanted.text() != "allow" => comparison.wrong(&wanted, &title, got.to_owned()),
            _ => comparison.expect(&wanted, &title, got),
        }
    }
    comparison.finish();
}
