//! Checks rules about commands in every mode, in and out of the sandbox.

use super::{World, settings};
use toolfence_kit::{CaseFiles, signs};
use toolfence_policy::{AskMode, Effective, Judgement};

const MODES: [AskMode; 4] = [AskMode::Risky, AskMode::Always, AskMode::Sandboxed, AskMode::Never];

/// The cases of `policy/deny` have the same outcome in every mode: they are denied, or only the user can answer.
#[test]
fn deny_rules_hold_in_every_mode() {
    let hosts = [World { sandbox: false }, World { sandbox: true }];
    for mode in MODES {
        let rules = "[\"touch\", \"rm\", \"git push\", \"docker compose down\", \"cargo publish\"]";
        let policy = settings(&format!("[commands]\nallow = [\"git\", \"env\", \"cd\"]\ndeny = {rules}\n")).ask(mode);
        for (expected, command) in CaseFiles::of("policy/deny").pairs() {
            let command = signs::read_command(command.text());
            for host in hosts {
                let decision = policy.judge_command(&command, "", &host);
                let effective = policy.effective(&decision);
                match expected.text() {
                    "denied" => assert_eq!(effective, Effective::Deny, "{mode:?} {command}: {decision:?}"),
                    "unknown" if mode == AskMode::Never => {
                        assert_eq!(effective, Effective::Deny, "{mode:?} {command}: {decision:?}");
                    }
                    "unknown" => assert_ne!(effective, Effective::Run, "{mode:?} {command}: {decision:?}"),
                    _ => {
                        assert!(decision.met.iter().all(|met| met.rule != "commands.deny"), "{command}: {decision:?}");
                        // In the sandbox, a deny rule that does not match causes no question.
                        let runs = !host.sandbox || mode == AskMode::Always || effective == Effective::Run;
                        assert!(runs, "{mode:?} {command}: {decision:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn unreadable_commands_run_in_a_sandbox_if_the_user_has_no_rules() {
    for mode in [AskMode::Risky, AskMode::Sandboxed, AskMode::Never] {
        let policy = toolfence_kit::policy(mode);
        for text in ["$unknown x", "eval \"$(cat x)\"", "curl x | sh", "f() { ls; }; f", "echo '", "((i++))"] {
            let decision = policy.judge_command(text, "", &World { sandbox: true });
            assert_eq!(policy.effective(&decision), Effective::Run, "{mode:?} {text}: {decision:?}");
        }
    }
}

#[test]
fn an_unreadable_command_asks_if_the_user_restricts_commands() {
    for setting in ["deny = [\"git push\"]", "only = [\"echo\"]"] {
        for text in [
            "$unknown x",
            "$(which git) push",
            "eval \"$unknown\"",
            "echo '",
            "echo $((x[1]))",
            "for PATH in x; do echo; done",
        ] {
            let policy = settings(&format!("[commands]\n{setting}\n"));
            let decision = policy.judge_command(text, "", &World { sandbox: true });
            assert_ne!(policy.effective(&decision), Effective::Run, "{setting} {text}: {decision:?}");
            let never = policy.ask(AskMode::Never);
            assert_eq!(never.effective(&decision), Effective::Deny, "{setting} {text}: {decision:?}");
        }
    }
}

#[test]
fn a_rule_with_a_folder_matches_the_program_by_its_name() {
    let policy = settings("[commands]\ndeny = [\"scripts/deploy.sh\"]");
    let judge = |text: &str| policy.judge_command(text, "", &World { sandbox: true }).judgement;
    for text in ["scripts/deploy.sh", "./scripts/deploy.sh now", "cd scripts && ./deploy.sh", "timeout 5 deploy.sh"] {
        assert_eq!(judge(text), Judgement::Deny, "{text}");
    }
    assert_eq!(judge("cat scripts/deploy.sh"), Judgement::Allow);
}

#[test]
fn rules_that_allow_match_exactly() {
    let world = World::default();
    let policy = settings("[commands]\nallow = [\"cargo publish\"]");
    assert_eq!(policy.judge_command("cargo publish --dry-run", "", &world).judgement, Judgement::Allow);
    for text in [
        "/usr/bin/cargo publish",
        "cargo --locked publish",
        "X=1 cargo publish",
        "cargo publish > x",
        "cargo publish $x",
    ] {
        assert_ne!(policy.judge_command(text, "", &world).judgement, Judgement::Allow, "{text}");
    }
    let policy = settings("[commands]\nonly = [\"git log\"]");
    for text in ["/usr/bin/git log", "git --no-pager log", "git log; ls", "git log $(ls)"] {
        assert_eq!(policy.judge_command(text, "", &World { sandbox: true }).rule, "commands.only", "{text}");
    }
    assert_eq!(policy.judge_command("git log -3", "", &World { sandbox: true }).judgement, Judgement::Allow);
}

/// Without a sandbox, padding must not hide a blocked name from the comparison.
#[test]
fn a_blocked_name_among_very_many_words_does_not_run_without_a_sandbox() {
    let policy = toolfence_kit::policy(AskMode::Never);
    for text in [format!("cat .env {}", "x ".repeat(5_000)), format!("cd a; cat .env {}", "x ".repeat(2_500))] {
        let decision = policy.judge_command(&text, "", &World { sandbox: false });
        assert_eq!(policy.effective(&decision), Effective::Deny);
    }
}

/// A decision lists only some of the rules that a long command met, but always the strictest one.
#[test]
fn a_long_command_does_not_hide_a_denied_one() {
    let policy = settings("[commands]\ndeny = [\"rm\"]");
    let text = format!("{}rm x", "$a; ".repeat(200));
    for host in [World { sandbox: false }, World { sandbox: true }] {
        assert_eq!(policy.judge_command(&text, "", &host).judgement, Judgement::Deny);
    }
}
