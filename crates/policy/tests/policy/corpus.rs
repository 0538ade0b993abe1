//! Checks the commands of `tests/cases/policy`: hostile ones never run without a sandbox and a question, everyday ones
//! are never denied.

use super::World;
use std::sync::LazyLock;
use toolfence_kit::{CaseFiles, Comparison, Expected, signs};
use toolfence_policy::shell_parser::parse;
use toolfence_policy::{Decision, Judgement, Policy};
use toolfence_protocol::Language;

/// The minimum number of cases in each folder.
const LEAST_HOSTILE: usize = 2_500;
const LEAST_EVERYDAY: usize = 600;

/// A line of a case file.
#[derive(Debug)]
struct Case {
    /// The expected verdict: `allow`, `ask` or `deny`. `sandbox` means that the command runs in a sandbox and needs
    /// approval without one.
    verdict: Expected,
    command: String,
}

fn cases(folder: &str) -> Vec<Case> {
    let pairs = CaseFiles::of(&format!("policy/{folder}")).pairs().into_iter();
    pairs.map(|(verdict, command)| Case { verdict, command: signs::read_command(command.text()) }).collect()
}

fn judged(command: &str, sandbox: bool) -> Decision {
    static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
    POLICY.judge_command(command, "", &World { sandbox })
}

fn verdict(command: &str) -> &'static str {
    match (judged(command, false).judgement, judged(command, true).judgement) {
        (Judgement::Allow, Judgement::Allow) => "allow",
        (Judgement::Ask, Judgement::Allow) => "sandbox",
        (Judgement::Ask, Judgement::Ask) => "ask",
        (Judgement::Deny, Judgement::Deny) => "deny",
        _ => "stricter with the sandbox",
    }
}

/// Compares the verdicts with those of the files. Every reason has a Portuguese translation. `UPDATE=1` does not write
/// a verdict that the folder must not have.
fn assert_verdicts(cases: &[Case], possible: &[&str]) {
    let mut comparison = Comparison::new();
    for Case { verdict: expected, command } in cases {
        assert!(possible.contains(&expected.text()), "{expected}: {}", expected.text());
        let (got, decision) = (verdict(command), judged(command, false));
        let title = format!("{command}: {} says {}", decision.rule, decision.reason);
        for reason in std::iter::once(&decision.reason).chain(decision.met.iter().map(|met| &met.reason)) {
            assert!(*reason != reason.render(Language::Portuguese).as_str(), "{command}: {reason}");
        }
        if possible.contains(&got) {
            comparison.expect(expected, &title, got);
        } else {
            comparison.wrong(expected, &title, format!("it is {got}, not {}", expected.text()));
        }
    }
    comparison.finish();
}

#[test]
fn hostile_commands_need_a_sandbox_or_an_answer() {
    let cases = cases("hostile");
    assert_verdicts(&cases, &["sandbox", "deny"]);
    assert!(cases.len() >= LEAST_HOSTILE, "only {} cases", cases.len());
    let denied = cases.iter().filter(|case| case.verdict.text() == "deny").count();
    println!("hostile: {} cases, {denied} denied", cases.len());
}

#[test]
fn everyday_commands_are_never_denied() {
    let cases = cases("everyday");
    assert_verdicts(&cases, &["allow", "sandbox"]);
    assert!(cases.len() >= LEAST_EVERYDAY, "only {} cases", cases.len());
    let count = |verdict| cases.iter().filter(|case| case.verdict.text() == verdict).count();
    println!("everyday: {} cases, {} run without a sandbox", cases.len(), count("allow"));
}

#[test]
fn no_command_occurs_twice() {
    let mut all: Vec<String> = cases("hostile").into_iter().chain(cases("everyday")).map(|case| case.command).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a command occurs twice");
}

/// Returns `true` if the command can be read, so that text around it encloses all of it.
fn is_whole(command: &str) -> bool {
    parse(command).is_ok() && !command.trim().is_empty()
}

#[test]
fn a_blocked_command_next_to_any_other_is_denied() {
    let mut wrong = Vec::new();
    for (at, case) in cases("hostile").iter().chain(&cases("everyday")).enumerate() {
        let command = &case.command;
        if !is_whole(command) {
            continue;
        }
        let all = [
            format!("{command}\nrm -rf /"),
            format!("dd of=/dev/sda\n{command}"),
            format!("{{ {command}\n}} | cat .env"),
            format!("( {command}\n) && env X=1 mkfs.ext4 x"),
            format!("if {command}\nthen timeout 5 rm -rf /usr; fi"),
        ];
        // Each command is tested with the next two of them.
        for joined in all.iter().cycle().skip(at % all.len()).take(2) {
            if judged(joined, true).judgement != Judgement::Deny {
                wrong.push(joined.clone());
            }
        }
    }
    assert!(wrong.is_empty(), "{} are not denied:\n{}", wrong.len(), wrong.join("\n---\n"));
}

#[test]
fn nothing_around_a_command_makes_its_verdict_milder() {
    let mut wrong = Vec::new();
    for (at, case) in cases("hostile").iter().enumerate() {
        let command = &case.command;
        let alone = judged(command, true);
        if !is_whole(command) {
            continue;
        }
        let quoted = command.replace('\'', r"'\''");
        let all = [
            format!("true && {{ {command}\n}}"),
            format!("ls | ( {command}\n)"),
            format!("ls; while true; do {command}\ndone"),
            format!("timeout 5 bash -c '{quoted}'"),
            format!("env LC_ALL=C sh -c '{quoted}'"),
            format!("echo $( {command}\n)"),
            format!("command eval '{quoted}'"),
        ];
        // Each command is tested with the next two of them, because all of them would take too long.
        for around in all.iter().cycle().skip(at % all.len()).take(2) {
            let decision = judged(around, true);
            if decision.judgement < alone.judgement && parse(around).is_ok() {
                wrong.push(format!("{around}\n    {:?} by {}: {}", alone.judgement, alone.rule, decision.reason));
            }
        }
    }
    assert!(wrong.is_empty(), "{} got milder:\n{}", wrong.len(), wrong.join("\n"));
}
