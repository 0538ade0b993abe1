//! Everyday commands in a project in which commands run on private copies: what becomes of each in the mode `risky`.

use super::World;
use std::collections::BTreeMap;
use toolfence_kit::{CaseFiles, Comparison, PrivateCopies, call, signs};
use toolfence_policy::{Consent, Facts, Judgement, Policy, Verdict};

/// Commands of the list.
const COUNT: usize = 217;

/// What becomes of a command: `reads` runs and is known to only read, `diff` runs and is asked about afterwards if it changed
/// something, `ask RULE` asks before it runs, and `deny RULE` never runs.
fn verdict(command: &str, facts: &dyn Facts) -> String {
    let verdict =
        Policy::default().review(call("bash", serde_json::json!({"command": command})), &super::catalog(), facts);
    match verdict {
        Verdict::Cleared(cleared) if cleared.consent_to_changes() == Consent::Ask => "diff".to_owned(),
        Verdict::Cleared(_) => "reads".to_owned(),
        Verdict::Ask(pending) => format!("ask {}", pending.decision().rule),
        Verdict::Denied(_) => {
            let decision = Policy::default().judge_command(command, "", facts);
            assert_eq!(decision.judgement, Judgement::Deny, "{command}");
            format!("deny {}", decision.rule)
        }
    }
}

#[test]
fn everyday_commands_run_before_anything_is_asked() {
    let cases = CaseFiles::of("policy/copies").pairs();
    assert_eq!(cases.len(), COUNT);
    let mut comparison = Comparison::new();
    let mut table: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut asks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut before = [0; 3];
    for (expected, command) in &cases {
        let command = signs::read_command(command.text());
        let got = verdict(&command, &PrivateCopies);
        comparison.expect(expected, &command, &got);
        let column = ["reads", "diff", "ask", "deny"].iter().position(|word| got.starts_with(word)).expect("it is one");
        table.entry(expected.stem().to_owned()).or_default()[column] += 1;
        if column >= 2 {
            asks.entry(got).or_default().push(command.clone());
        }
        let without = verdict(&command, &World { sandbox: true });
        before[["reads", "ask", "deny"].iter().position(|word| without.starts_with(word)).expect("it is one")] += 1;
    }
    println!("{:<8} {:>5} {:>6} {:>6} {:>6} {:>6}", "", "all", "reads", "diff", "ask", "deny");
    let mut sum = [0; 4];
    for (ecosystem, counts) in &table {
        let [reads, diff, ask, deny] = counts;
        println!("{ecosystem:<8} {:>5} {reads:>6} {diff:>6} {ask:>6} {deny:>6}", counts.iter().sum::<usize>());
        (0..4).for_each(|at| sum[at] += counts[at]);
    }
    println!("{:<8} {COUNT:>5} {:>6} {:>6} {:>6} {:>6}", "all", sum[0], sum[1], sum[2], sum[3]);
    println!("without private copies: {} run, {} ask, {} denied", before[0], before[1], before[2]);
    for (verdict, commands) in &asks {
        println!("{verdict}: {}", commands.join("  |  "));
    }
    comparison.finish();
    let reasons: Vec<&str> = asks.keys().map(String::as_str).collect();
    assert_eq!(reasons, ["deny blocked_path"], "nothing asks before it runs");
}
