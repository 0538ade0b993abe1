//! Runs every tool that takes a path on every path of a case file, and checks the answers and that nothing outside the
//! project leaks or changes.
//!
//! A line contains the path and the answers of the tools, in the order of [`TOOLS`]: `ok` or the error code. `UPDATE=1`
//! rewrites the answers.

use super::{Place, picture};
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_kit::{CaseFiles, Comparison, Row, Tools};
use toolfence_protocol::ToolResult;
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;

const TOOLS: [&str; 7] = ["read_file", "list_files", "search", "write_file", "apply_patch", "bash", "run_python"];

/// Returns the arguments of a call of a tool on a path.
fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        "search" => json!({"path": path, "pattern": "."}),
        "write_file" => json!({"path": path, "content": "// NEW\n"}),
        "apply_patch" => json!({"patch": format!("*** Begin Patch\n*** Add File: {path}\n+NEW\n*** End Patch\n")}),
        "bash" => json!({"command": "ls; cat private.txt hosts passwd 2>/dev/null; true", "cwd": path}),
        _ => json!({"path": path}),
    }
}

fn answer(result: &ToolResult) -> String {
    let code = result.error.as_ref().map(|error| serde_json::to_value(error.code).expect("a code is a word"));
    code.map_or("ok".to_owned(), |code| code.as_str().unwrap_or_default().to_owned())
}

/// Expands the escapes and placeholders in the path of a case.
fn meant(place: &Place, path: &str) -> String {
    let path = match path {
        "LONGNAME" => "x".repeat(300),
        "LONGPATH" => "x/".repeat(3000),
        path => path.to_owned(),
    };
    let root = place.root.canonicalize().expect("it is there");
    let beside = place.beside.canonicalize().expect("it is there");
    let path = path.replace("{root}", &root.display().to_string()).replace("{beside}", &beside.display().to_string());
    let path = path.replace("\\u200b", "\u{200b}").replace("\\0", "\0").replace("\\n", "\n");
    path.replace("\\s", " ").replace("\\\\", "\\")
}

/// A project and its tools.
struct Ground {
    place: Place,
    tools: Tools<CommandRunner>,
}

impl Ground {
    fn new() -> Ground {
        let place = Place::full();
        let runner = Arc::new(place.runner());
        let tools = Tools::new(Arc::clone(&runner), tools::standard(runner));
        Ground { place, tools }
    }
}

/// Returns the answer of one tool. Tools that write get a project of their own.
fn answered(tool: &str, named: &str, calm: &Ground) -> String {
    let fresh = ["write_file", "apply_patch"].contains(&tool).then(Ground::new);
    let Ground { place, tools } = fresh.as_ref().unwrap_or(calm);
    let beside = picture(&place.beside);
    let result = tools.run(tool, arguments(tool, &meant(place, named)));
    let said = serde_json::to_string(&result).expect("a result is JSON");
    for secret in ["SECRETVALUE", "OUTSIDE", "localhost"] {
        assert!(!said.contains(secret), "{tool} {named}: {said}");
    }
    assert_eq!(beside, picture(&place.beside), "{tool} {named}");
    assert_eq!(place.content(".env"), "KEY=SECRETVALUE\n", "{tool} {named}");
    answer(&result)
}

#[test]
fn every_tool_handles_every_path_as_listed() {
    let cases = CaseFiles::of("paths.tsv").rows();
    assert!(cases.len() >= 100, "{}", cases.len());
    let calm = Ground::new();
    let mut comparison = Comparison::new();
    for Row(cells) in &cases {
        let [path, answers @ ..] = &cells[..] else { panic!("a path comes first") };
        assert_eq!(answers.len(), TOOLS.len(), "{path}: an answer of each tool");
        for (tool, expected) in TOOLS.iter().zip(answers) {
            let title = format!("{tool} {:?}", path.text());
            comparison.expect(expected, &title, &answered(tool, path.text(), &calm));
        }
    }
    comparison.finish();
}
