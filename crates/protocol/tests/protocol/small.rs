//! Tests the outcomes of 300 replies in the style of small models, in `tests/cases/small`.
//!
//! The outcome is "called" if the call may run, "refused" if it was read by a guess and would do more than read, and
//! "wrong" if its arguments do not fit. For a failed attempt at a call, the model gets a reminder. Nothing is lost
//! silently.

use std::collections::BTreeMap;
use toolfence_kit::{CaseFiles, Comparison};
use toolfence_protocol::parse::{self, Event, Options};
use toolfence_protocol::{Dialects, Effect, FinishReason, ToolCall};

fn outcomes(reply: &str, options: &str) -> Vec<String> {
    let catalog = toolfence_policy::toolset::catalog();
    let mut reading = Options::default();
    reading.catalog = Some(catalog.clone());
    reading.dialects = Dialects::ALL;
    let finish = if options == "length" { FinishReason::Length } else { FinishReason::Stop };
    let mut outcomes = Vec::new();
    parse::for_each(reply, reading, finish, |event| match event {
        Event::Call { call, .. } => outcomes.push(called(&catalog, *call)),
        Event::Malformed { error, .. } => outcomes.push(format!("malformed: {}", error.message)),
        Event::Incomplete { .. } => outcomes.push("incomplete".to_owned()),
        Event::Ignored { why, .. } => {
            let kind = if why.is_misplaced() { "reminded" } else { "quoted" };
            outcomes.push(format!("{kind}: {}", serde_json::to_value(why).unwrap().as_str().unwrap()));
        }
        Event::ForgedResult { .. } => outcomes.push("forged".to_owned()),
        _ => {}
    });
    if outcomes.is_empty() {
        outcomes.push("prose".to_owned());
    }
    outcomes
}

fn called(catalog: &toolfence_protocol::Catalog, mut call: ToolCall) -> String {
    let dialect = call.dialect.map(|dialect| format!(" in {dialect}")).unwrap_or_default();
    match catalog.resolve(&mut call) {
        Err(failure) => format!("wrong: {}{dialect}: {}", call.name, failure.message),
        Ok(spec) => {
            let repairs: Vec<&str> = call.repairs.iter().map(|repair| repair.name()).collect();
            let repairs = if repairs.is_empty() { String::new() } else { format!(" [{}]", repairs.join(" ")) };
            let refused = call.is_lossy() && spec.effect_of(&call.args) != Effect::Read;
            let what = if refused { "refused" } else { "called" };
            let args: BTreeMap<_, _> = call.args.iter().collect();
            format!("{what}: {}{dialect} {}{repairs}", call.name, serde_json::to_string(&args).unwrap())
        }
    }
}

#[test]
fn replies_of_small_models_give_the_listed_outcomes() {
    let cases = CaseFiles::of("small").replies();
    assert_eq!(cases.len(), 300);
    let mut comparison = Comparison::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for case in &cases {
        let got = outcomes(&case.reply, &case.options);
        for outcome in &got {
            *counts.entry(outcome.split(':').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
        comparison.expect_lines(&case.events, &case.title, &got);
    }
    println!("{counts:?}");
    comparison.finish();
}
