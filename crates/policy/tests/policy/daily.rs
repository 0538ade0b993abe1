//! What a person or an agent types every day, chosen without a look at what the judge knows: `run` where the sandbox holds
//! it, `ask` where a question is right, with the class of its reason.

use super::World;
use std::sync::LazyLock;
use toolfence_kit::{CaseFiles, signs};
use toolfence_policy::{Decision, Judgement, Policy};

/// The fewest commands of the list, and the most of those that ought to run that may ask, in percent.
const LEAST: usize = 234;
const MOST_NEEDLESS_PERCENT: usize = 5;

/// Why a question is right.
const CLASSES: &[&str] = &["changes", "network", "code", "outside"];

/// What the list wants of a command.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Run,
    Ask,
}

/// What is wanted, a person decides: `UPDATE=1` writes nothing here.
fn list() -> Vec<(String, Wanted, String)> {
    let pairs = CaseFiles::of("policy/daily").pairs().into_iter();
    let list = pairs.map(|(place, command)| {
        let wanted = match place.text().split_once(' ') {
            None if place.text() == "run" => Wanted::Run,
            Some(("ask", class)) if CLASSES.contains(&class) => Wanted::Ask,
            _ => panic!("{place}: {:?} is not wanted of anything", place.text()),
        };
        (place.stem().to_owned(), wanted, signs::read_command(command.text()))
    });
    list.collect()
}

fn judged(command: &str, sandbox: bool) -> Decision {
    static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
    POLICY.judge_command(command, "", &World { sandbox })
}

#[test]
fn a_day_of_work_asks_only_what_it_should() {
    let list = list();
    let (mut asked, mut runs, mut needless, mut wrong) = (0, 0, Vec::new(), Vec::new());
    for (file, wanted, command) in &list {
        let decision = judged(command, true);
        let line = format!("{file}: {command}\n    {:?} by {}: {}", decision.judgement, decision.rule, decision.reason);
        asked += usize::from(decision.judgement == Judgement::Ask);
        runs += usize::from(*wanted == Wanted::Run);
        match (wanted, decision.judgement) {
            (Wanted::Run, Judgement::Allow) | (Wanted::Ask, Judgement::Ask) => {}
            (Wanted::Run, _) => needless.push(line),
            (Wanted::Ask, _) => wrong.push(line),
        }
    }
    println!(
        "a day of work: {} commands, {runs} of them ought to run; {asked} ask, {} of them needlessly\n{}",
        list.len(),
        needless.len(),
        needless.join("\n")
    );
    assert!(wrong.is_empty(), "{} do not ask that should:\n{}", wrong.len(), wrong.join("\n"));
    assert!(list.len() >= LEAST, "only {} commands", list.len());
    let most = runs * MOST_NEEDLESS_PERCENT / 100;
    assert!(needless.len() <= most, "{} needless questions, {most} at most", needless.len());
}
