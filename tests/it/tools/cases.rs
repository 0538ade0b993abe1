//! Every path of a case file through every tool that takes one: what each answers, and that nothing leaks or changes beside.
//!
//! A line holds the path and the answers of the tools, in the order of [`TOOLS`]: `ok` or the code of the error.
//! `TOOLFENCE_PRINT=1` prints the lines as they come out.

use super::{Place, picture};
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence::policy::{AskMode, Policy, Verdict};
use toolfence::toolbox::{NoProgress, Toolbox};
use toolfence::tools::CommandRunner;
use toolfence::{Args, ToolCall, ToolResult, tools};

const CASES: &str = include_str!("../../cases/paths.tsv");

const TOOLS: [&str; 7] = ["read_file", "list_files", "search", "write_file", "apply_patch", "bash", "run_python"];

/// The arguments of a call of a tool on a path.
fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        "search" => json!({"path": path, "pattern": "."}),
        "write_file" => json!({"path": path, "content": "// NEW\n"}),
        "apply_patch" => json!({"patch": format!("*** Begin Patch\n*** Add File: {path}\n+NEW\n*** End Patch\n")}),
        "bash" => json!({"command": "ls; cat private.txt hosts passwd 2>/dev/null; true", "cwd": path}),
        _ => json!({"path": path}),
    }
}

fn called(runner: &Arc<CommandRunner>, toolbox: &Toolbox, tool: &str, path: &str) -> ToolResult {
    let args: Args = arguments(tool, path).as_object().expect("an object").clone().into_iter().collect();
    let policy = Policy::default().ask(AskMode::Never);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match policy.review(ToolCall::new("1", tool, args), &toolbox.catalog(), &**runner) {
        Verdict::Denied(result) => result,
        Verdict::Ask(pending) => panic!("nobody is there to be asked: {pending:?}"),
        Verdict::Cleared(cleared) => {
            runtime.block_on(toolbox.run(cleared, &NoProgress)).expect("no tool fails for the host")
        }
    }
}

fn answer(result: &ToolResult) -> String {
    let code = result.error.as_ref().map(|error| serde_json::to_value(error.code).expect("a code is a word"));
    code.map_or("ok".to_owned(), |code| code.as_str().unwrap_or_default().to_owned())
}

/// The path that a case means: its escapes, and the places of this run.
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

/// A project, and the tools on it.
struct Ground {
    place: Place,
    runner: Arc<CommandRunner>,
    toolbox: Toolbox,
}

impl Ground {
    fn new() -> Ground {
        let place = Place::full();
        let runner = Arc::new(place.runner());
        let toolbox = tools::standard(Arc::clone(&runner));
        Ground { place, runner, toolbox }
    }
}

/// The answer of one tool; what writes has a project of its own.
fn answered(tool: &str, named: &str, calm: &Ground) -> String {
    let fresh = ["write_file", "apply_patch"].contains(&tool).then(Ground::new);
    let Ground { place, runner, toolbox } = fresh.as_ref().unwrap_or(calm);
    let beside = picture(&place.beside);
    let result = called(runner, toolbox, tool, &meant(place, named));
    let said = serde_json::to_string(&result).expect("a result is JSON");
    for secret in ["SECRETVALUE", "OUTSIDE", "localhost"] {
        assert!(!said.contains(secret), "{tool} {named}: {said}");
    }
    assert_eq!(beside, picture(&place.beside), "{tool} {named}");
    assert_eq!(place.content(".env"), "KEY=SECRETVALUE\n", "{tool} {named}");
    answer(&result)
}

#[test]
fn every_path_through_every_tool() {
    let cases: Vec<&str> = CASES.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(cases.len() >= 100, "{}", cases.len());
    let calm = Ground::new();
    let print = std::env::var_os("TOOLFENCE_PRINT").is_some();
    let mut wrong = Vec::new();
    for case in cases {
        let mut columns = case.split('\t');
        let named = columns.next().unwrap_or_default();
        let got: Vec<String> = TOOLS.iter().map(|tool| answered(tool, named, &calm)).collect();
        let want: Vec<&str> = columns.collect();
        if print {
            println!("{named}\t{}", got.join("\t"));
        } else if want != got {
            wrong.push(format!("{named}: {got:?}, wanted {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
