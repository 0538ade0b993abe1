//! The commands of `tests/cases/policy`: what must never be allowed, what a person uses every day, and what holds when
//! other commands stand around them.

use super::World;
use toolfence::policy::{Decision, Judgement, Policy};

/// The least cases that must not be allowed, and those that must not be denied.
const LEAST_HOSTILE: usize = 2_500;
const LEAST_EVERYDAY: usize = 1_000;

/// A line of a case file.
#[derive(Debug)]
struct Case {
    file: String,
    /// `allow`, `ask`, `deny`; `sandbox` is allowed while the sandbox holds and asked otherwise; `mixed` is asked, and denied while
    /// they hold, as the repository is then read-only for it.
    verdict: String,
    command: String,
}

fn cases(folder: &str) -> Vec<Case> {
    let folder = format!("{}/tests/cases/policy/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for file in std::fs::read_dir(folder).expect("our case files").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file.path()).expect("a case file");
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
            let (verdict, command) = line.split_once('\t').expect("a verdict, a tab, a command");
            let (verdict, command) = (verdict.to_owned(), unmarked(command));
            all.push(Case { file: name.clone(), verdict, command });
        }
    }
    all
}

/// Every command of the case files.
pub(super) fn commands() -> impl Iterator<Item = String> {
    cases("hostile").into_iter().chain(cases("everyday")).map(|case| case.command)
}

/// `⏎` is a line feed, `⟨1b⟩` the character of this number.
fn unmarked(text: &str) -> String {
    let text = text.replace('⏎', "\n");
    let mut parts = text.split('⟨');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('⟩').expect("a closing mark");
        let number = u32::from_str_radix(number, 16).expect("a hexadecimal number");
        out.push(char::from_u32(number).expect("a character"));
        out.push_str(rest);
    }
    out
}

fn judged(command: &str, sandbox: bool) -> Decision {
    Policy::default().judge_command(command, "", &World { sandbox })
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

fn assert_verdicts(cases: &[Case]) {
    let wrong = cases.iter().filter(|case| verdict(&case.command) != case.verdict).map(|case| {
        let decision = judged(&case.command, false);
        let (file, command, wanted) = (&case.file, &case.command, &case.verdict);
        format!(
            "{file}: {command}\n    wanted {wanted}, got {} by {}: {}",
            verdict(command),
            decision.rule,
            decision.reason
        )
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn what_is_hostile_is_never_allowed() {
    let cases = cases("hostile");
    assert_verdicts(&cases);
    assert!(cases.iter().all(|case| matches!(case.verdict.as_str(), "ask" | "mixed" | "deny")));
    assert!(cases.len() >= LEAST_HOSTILE, "only {} cases", cases.len());
    let denied = cases.iter().filter(|case| case.verdict == "deny").count();
    println!("hostile: {} cases, {denied} of them denied, the others asked", cases.len());
}

#[test]
fn what_is_used_every_day_is_never_denied() {
    let cases = cases("everyday");
    assert_verdicts(&cases);
    assert!(cases.iter().all(|case| matches!(case.verdict.as_str(), "allow" | "sandbox" | "ask" | "mixed")));
    assert!(cases.len() >= LEAST_EVERYDAY, "only {} cases", cases.len());
    let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count();
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
