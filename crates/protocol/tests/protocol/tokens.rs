//! Tests that the instructions, the reminder and the results for the model stay below limits in tokens of o200k.

use serde_json::json;
use tiktoken_rs::o200k_base_singleton;
use toolfence_kit::root;
use toolfence_protocol::format::{Format, Kind, results};
use toolfence_protocol::prompt::{instructions, reminder};
use toolfence_protocol::{Catalog, Language};
use toolfence_protocol::{ErrorCode, Output, ToolFailure, ToolResult};

fn tokens(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

#[test]
fn protocol_and_all_tools_stay_under_900_tokens() {
    let catalog = toolfence_policy::toolset::catalog();
    assert_eq!(catalog.specs().len(), 10);
    // These are the longest instructions: every call needs approval, so most tools are marked, and commands run on
    // private copies.
    let marked: Catalog = catalog
        .specs()
        .iter()
        .cloned()
        .map(|mut spec| {
            (spec.asks_first, spec.on_private_copy) = (true, true);
            spec
        })
        .collect();
    for language in [Language::English, Language::Portuguese] {
        let [usual, most] = [&catalog, &marked].map(|catalog| tokens(&instructions(catalog, language)));
        let again = tokens(&reminder(language, None));
        println!("{language:?}: instructions {usual} tokens, {most} where everything asks, reminder {again}");
        assert!(usual < most && most < 900 && again < 110, "{language:?}: {usual}, {most} and {again}");
    }
}

/// A persona is part of each request, so it must cost less than the description of the tools.
#[test]
fn personas_cost_less_than_the_instructions() {
    for name in ["coder", "coder.pt", "explainer", "explainer.pt", "reviewer", "reviewer.pt", "small", "small.pt"] {
        let path = root().join(format!("personas/{name}.md"));
        let file = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (_, said) = file.split_once("\n+++\n").expect("a head and a text");
        let cost = tokens(said);
        println!("{name}: {cost} tokens");
        assert!((100..600).contains(&cost), "{name}: {cost} tokens");
    }
}

/// Returns typical results of the tools.
fn typical() -> Vec<(&'static str, ToolResult)> {
    let list = "src/               folder\nsrc/lib.rs         file      58 lines\nsrc/main.rs        file    1204 bytes\n\
                tests/             folder\ntests/it.rs        file    3310 bytes\nCargo.toml         file     412 bytes\n";
    let entry = |path: &str, kind: &str| json!({"path": path, "type": kind, "size": 1204});
    let folders = ["src", "tests"].map(|path| json!({"path": path, "type": "folder"}));
    let files = ["Cargo.toml", "src/lib.rs", "src/main.rs", "tests/it.rs"].map(|path| entry(path, "file"));
    let entries = [&folders[..], &files[..]].concat();
    let entries = json!({"path": ".", "truncated": false, "entries": entries});
    let code =
        (1..=20).map(|n| format!("{n:>4}\tlet total_{n} = prices.iter().map(|p| p.amount * {n}).sum::<f64>();\n"));
    let failing = "running 3 tests\ntest parse ... ok\ntest total ... FAILED\n\nfailures:\n\n---- total stdout ----\n\
                   thread 'total' panicked at src/lib.rs:42:9:\nassertion `left == right` failed\n  left: 12\n right: 13\n";
    let diff: String = (1..=20).map(|n| format!("-let a_{n} = \"old {n}\";\n+let a_{n} = \"new {n}\";\n")).collect();
    let diff = format!("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,20 +1,20 @@\n{diff}");
    let lost = ToolFailure::new(ErrorCode::NotFound, "There is no file src/mian.rs. Did you mean src/main.rs?");
    let exit = ToolFailure::new(ErrorCode::ExitStatus, "The command ended with status 101.");
    let with = |text: &str, data| {
        let mut output = Output::text(text);
        output.data = Some(data);
        output
    };
    let bash = |text: &str, code| {
        let mut output = Output::text(text);
        (output.exit_code, output.failure) = (Some(code), (code != 0).then(|| exit.clone()));
        output
    };
    let answer = |tool: &str, output| ToolResult::new("call_1", tool, output, 12);
    let range = json!({"path": "src/lib.rs", "start_line": 1, "end_line": 20, "total_lines": 20});
    let changed =
        json!({"path": "src/lib.rs", "created": false, "bytes": 420, "diff": diff, "files_modified": ["src/lib.rs"]});
    vec![
        ("list", answer("list_files", with(list, entries))),
        ("read", answer("read_file", with(&code.collect::<String>(), range))),
        ("bash, ok", answer("bash", bash("On branch main\nnothing to commit, working tree clean\n", 0))),
        ("bash, failing", answer("bash", bash(failing, 101))),
        ("write, with diff", answer("write_file", with("Wrote src/lib.rs (420 bytes, +20 -20 lines).\n", changed))),
        ("error", ToolResult::refused("call_1", "read_file", lost.suggest(["src/main.rs".to_owned()]))),
    ]
}

#[test]
fn results_of_the_tools_stay_short() {
    println!("| result | output alone | text | text with data | json with data |\n|---|---:|---:|---:|---:|");
    for (name, result) in typical() {
        let cost = |kind, data| {
            let mut format = Format::default();
            (format.kind, format.data) = (kind, data);
            tokens(&results(std::slice::from_ref(&result), &format))
        };
        let (output, text) = (tokens(&result.output), cost(Kind::Text, false));
        let (with_data, json) = (cost(Kind::Text, true), cost(Kind::Json, true));
        println!("| {name} | {output} | {text} | {with_data} | {json} |");
        assert!(text <= with_data && with_data < json, "{name}");
        assert!(text < output + 90, "{name}: the header is small");
    }
}
