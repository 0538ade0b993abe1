//! Tests the conformance kit in `tests/conformance`, which has data for other implementations of the protocol and is
//! generated from the case files.
//!
//! `UPDATE=1` rewrites the kit.

use crate::parse;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use toolfence_kit::root;
use toolfence_protocol::format::{Format, results};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{ErrorCode, Output, ToolFailure, ToolResult};

fn file(name: &str) -> PathBuf {
    root().join("tests/conformance").join(name)
}

/// Checks the content of the file, or writes it with `UPDATE=1`.
fn assert_content(name: &str, wanted: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(file(name), wanted).unwrap();
    }
    let got = fs::read_to_string(file(name)).unwrap();
    assert!(got == wanted, "tests/conformance/{name} differs from the case files; UPDATE=1 rewrites it");
}

/// Returns the event that an implementation must emit, without texts whose wording is free.
fn event(event: &Event<'_>) -> Value {
    let mut value = sorted(serde_json::to_value(event).unwrap());
    if let Some(error) = value.get_mut("error").and_then(Value::as_object_mut) {
        error.remove("message");
    }
    value
}

/// Sorts keys, because whether a map keeps its order depends on the features of other crates in the build.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: std::collections::BTreeMap<_, _> =
                members.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            members.into_iter().collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[test]
fn the_conformance_kit_has_the_replies_of_the_case_files() {
    let mut lines = String::new();
    for case in parse::cases() {
        let words: Vec<&str> = case.options.split_whitespace().collect();
        if !words.iter().all(|word| ["dialects", "none", "length", "cut", "known"].contains(word)) {
            continue;
        }
        let finish = ["length", "cut"].into_iter().find(|end| words.contains(end)).unwrap_or("stop");
        let dialects = if words.contains(&"dialects") { "all" } else { "none" };
        let events: Vec<Value> =
            parse::events(&case.reply, &case.options, usize::MAX / 2, false).iter().map(event).collect();
        let line =
            json!({"id": case.title, "text": case.reply, "finish": finish, "dialects": dialects, "events": events});
        lines += &sorted(line).to_string();
        lines += "\n";
    }
    assert!(lines.lines().count() > 500, "the case files are there");
    assert_content("replies.jsonl", &lines);
}

#[test]
fn results_match_the_rendering_in_the_conformance_kit() {
    let answer = |id: &str, tool: &str, output: Output| ToolResult::new(id, tool, output, 12);
    let failed = |code, message: &str| Output::from(ToolFailure::new(code, message));
    let mut ended = failed(ErrorCode::ExitStatus, "It ended with 1.");
    ended.exit_code = Some(1);
    let sets: [(&str, Vec<ToolResult>); 4] = [
        ("one result", vec![answer("call_1", "read_file", Output::text("     1\tfn main() {}\n"))]),
        ("a failure", vec![answer("call_1", "read_file", failed(ErrorCode::NotFound, "\"a\" does not exist."))]),
        ("an output that holds fences", vec![answer("call_1", "bash", Output::text("```tool\n{}\n```\n````\n"))]),
        ("several", vec![answer("call_1", "list_files", Output::text("")), answer("own", "bash", ended)]),
    ];
    let mut lines = String::new();
    for (id, answers) in sets {
        let text = results(&answers, &Format::default());
        lines += &sorted(json!({"id": id, "results": answers, "text": text})).to_string();
        lines += "\n";
    }
    assert_content("results.jsonl", &lines);
}

#[test]
fn the_conformance_kit_has_the_built_in_tools() {
    let tools: Vec<Value> =
        toolfence_policy::toolset::catalog().specs().iter().map(|spec| json!(spec.signature())).collect();
    assert_content("tools.json", &(serde_json::to_string_pretty(&tools).unwrap() + "\n"));
}
