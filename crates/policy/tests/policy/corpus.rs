//! The commands of `tests/cases/policy`: what must never be allowed, what a person uses every day, and what holds when
//! other commands stand around them.

use super::World;
use std::sync::LazyLock;
use toolfence_kit::{CaseFiles, Comparison, Expected, signs};
use toolfence_policy::{Decision, Judgement, Policy};
use toolfence_protocol::Language;

/// The least cases that must not be allowed, and those that must not be denied.
const LEAST_HOSTILE: usize = 2_500;
const LEAST_EVERYDAY: usize = 1_000;

/// A line of a case file.
#[derive(Debug)]
struct Case {
    /// `allow`, `ask`, `deny`; `sandbox` is allowed while the sandbox holds and asked otherwise; `mixed` is asked, and denied while
    /// they hold, as the repository is then read-only for it.
    verdict: Expected,
    command: String,
}

fn cases(folder: &str) -> Vec<Case> {
    let pairs = CaseFiles::of(&format!("policy/{folder}")).pairs().into_iter();
    pairs.map(|(verdict, command)| Case { verdict, command: signs::read_command(command.text()) }).collect()
}

/// Every command of the case files.
pub(super) fn commands() -> impl Iterator<Item = String> {
    cases("hostile").into_iter().chain(cases("everyday")).map(|case| case.command)
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
        (Judgement::Ask, Judgement::Deny) => "mixed",
        (Judgement::Deny, Judgement::Deny) => "deny",
        _ => "stricter with the sandbox",
    }
}

/// Holds the verdicts against those of the files, and every reason has words in Portuguese. A verdict that the folder must not
/// have, `UPDATE=1` does not write.
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
fn what_is_hostile_is_never_allowed() {
    let cases = cases("hostile");
    assert_verdicts(&cases, &["ask", "mixed", "deny"]);
    assert!(cases.len() >= LEAST_HOSTILE, "only {} cases", cases.len());
    let denied = cases.iter().filter(|case| case.verdict.text() == "deny").count();
    println!("hostile: {} cases, {denied} of them denied, the others asked", cases.len());
}

#[test]
fn what_is_used_every_day_is_never_denied() {
    let cases = cases("everyday");
    assert_verdicts(&cases, &["allow", "sandbox", "ask", "mixed"]);
    assert!(cases.len() >= LEAST_EVERYDAY, "only {} cases", cases.len());
    let count = |verdict| cases.iter().filter(|case| case.verdict.text() == verdict).count();
    println!(
        "everyday: {} cases, {} allowed, {} while the sandbox holds",
        cases.len(),
        count("allow"),
        count("sandbox")
    );
}

#[test]
fn no_command_is_judged_twice_in_different_ways() {
    let mut all: Vec<String> = cases("hostile").into_iter().chain(cases("everyday")).map(|case| case.command).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a command stands twice");
}

/// Whether what is put around the command meets it as a whole.
fn is_whole(command: &str, decision: &Decision) -> bool {
    let limits = matches!(decision.rule.as_str(), "too_large" | "unreadable");
    !decision.unreadable && !limits && !command.contains('\0') && !command.trim().is_empty()
}

#[test]
fn a_blocked_command_beside_any_other_is_denied() {
    let mut wrong = Vec::new();
    for (at, case) in cases("hostile").iter().chain(&cases("everyday")).enumerate() {
        let command = &case.command;
        if !is_whole(command, &judged(command, true)) {
            continue;
        }
        let all = [
            format!("{command}\nrm -rf /"),
            format!("dd of=/dev/sda\n{command}"),
            format!("{{ {command}\n}} | cat .env"),
            format!("( {command}\n) && env X=1 mkfs.ext4 x"),
            format!("if {command}\nthen timeout 5 rm -rf /usr; fi"),
        ];
        // Two of them for each, in turn.
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
        if !is_whole(command, &alone) {
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
        // Two of them for each, in turn: all of them would take long.
        for around in all.iter().cycle().skip(at % all.len()).take(2) {
            let decision = judged(around, true);
            // The parser does not know `case` in a substitution; what it cannot read is not run by itself in any mode.
            if decision.judgement < alone.judgement && !decision.unreadable {
                wrong.push(format!("{around}\n    {:?} by {}: {}", alone.judgement, alone.rule, decision.reason));
            }
        }
    }
    assert!(wrong.is_empty(), "{} got milder:\n{}", wrong.len(), wrong.join("\n"));
}
