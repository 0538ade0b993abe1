//! Tests that every line of `--debug` matches its schema, and that no value is formatted with Rust's `Debug`.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use toolfence_kit::{Program, Ran};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

fn coder(root: &Path, args: &[&str], input: &str) -> Ran {
    Program::new(CODER, Path::new(env!("CARGO_TARGET_TMPDIR"))).args(args).run(root, input)
}

/// The schema from `--debug-schema`.
fn schema() -> (Schemas, SchemaIndex) {
    let printed = coder(Path::new("/"), &["--debug-schema"], "");
    assert_eq!((printed.status, printed.err.as_str()), (0, ""));
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    let schema: Value = serde_json::from_str(&printed.out).expect("the schema is JSON");
    compiler.add_resource("debug.json", schema).expect("the schema is one");
    let index = compiler.compile("debug.json", &mut schemas).expect("the schema is one");
    (schemas, index)
}

/// Parses the JSON lines and checks each of them against the schema.
fn lines(written: &str) -> Vec<Value> {
    let (schemas, index) = schema();
    let lines: Vec<Value> = written
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for line in &lines {
        if let Err(wrong) = schemas.validate(line, index) {
            panic!("{line}\n{wrong:#}");
        }
    }
    lines
}

fn of<'l>(lines: &'l [Value], event: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

/// A folder with a project, and outside of the project a file that a link in the project leads to.
fn project() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("project");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir(folder.path().join("beside")).unwrap();
    std::fs::write(folder.path().join("beside/secret.txt"), "s\n").unwrap();
    std::fs::write(root.join("src/a.txt"), "one\ntwo\n").unwrap();
    std::fs::write(root.join(".env"), "KEY=1\n").unwrap();
    std::os::unix::fs::symlink("../beside", root.join("out")).unwrap();
    std::os::unix::fs::symlink("src", root.join("in")).unwrap();
    (folder, root)
}

const CALLS: &[&str] = &[
    r#"{"name": "read_file", "args": {"path": "./src/../in/a.txt",}, "reason": "look"}"#,
    r#"{"name": "read_file", "args": {"path": "../beside/secret.txt"}}"#,
    r#"{"name": "read_file", "args": {"path": "out/secret.txt"}}"#,
    r#"{"name": "read_file", "args": {"path": ".env"}}"#,
    r#"{"name": "read_file", "args": {"path": "none.txt"}}"#,
    r#"{"name": "read_file", "args": {"path": "a\u0000b"}}"#,
    r#"{"name": "write_file", "args": {"path": "new/b.txt", "content": "x\n"}}"#,
    r#"{"name": "search", "args": {"pattern": "one", "path": "src"}}"#,
    r#"{"name": "bash", "args": {"command": "cat src/a.txt; cat \"$HOME/x\""}}"#,
];

/// A whole session: a question, most kinds of calls, their results and an answer.
#[test]
fn every_line_of_a_session_matches_the_schema() {
    let (_folder, root) = project();
    let calls: String = CALLS.iter().map(|call| format!("```tool\n{call}\n```\n")).collect();
    std::fs::write(root.join("recording.txt"), format!("%%% reply\nI look.\n\n{calls}%%% reply\nDone.\n")).unwrap();
    let replay = ["--backend", "replay", "--replies", "recording.txt", "--yes", "--debug", "-p", "go"];
    let ran = coder(&root, &replay, "");
    assert_eq!(ran.status, 0, "{}", ran.err);
    let lines = lines(&ran.err);

    let root = root.canonicalize().unwrap().display().to_string();
    assert_eq!(of(&lines, "root")[0]["root"], *root);
    let read = of(&lines, "call");
    assert_eq!(read.len(), CALLS.len());
    assert_eq!(read[0]["args"]["path"], "./src/../in/a.txt");
    assert_eq!(read[0]["repairs"], serde_json::json!([{"kind": "trailing_comma", "lossless": true}]));
    assert_eq!(of(&lines, "result").len(), CALLS.len());
    assert_eq!(of(&lines, "result")[0]["result"]["success"], true);

    // The paths that the policy judged and the tools opened or wrote.
    let mut found: BTreeMap<(&str, &str), BTreeSet<[&str; 4]>> = BTreeMap::new();
    for line in of(&lines, "path") {
        assert_eq!(line["root"], *root);
        let word = |key: &str| line[key].as_str().unwrap_or("-");
        let facts = [word("verdict"), word("clean"), word("relative"), word("through")];
        found.entry((word("step"), word("asked"))).or_default().insert(facts);
    }
    let judged = of(&lines, "path").into_iter().filter(|line| line["step"] == "judge");
    let mut judged: Vec<&str> = judged.filter_map(|line| line["asked"].as_str()).collect();
    let all = judged.len();
    judged.sort_unstable();
    judged.dedup();
    assert_eq!(judged.len(), all, "each call has other paths, and each is judged once");
    let inside = |name: &str| format!("{root}/{name}");
    for (step, asked, verdict, clean, relative, through) in [
        ("judge", "./src/../in/a.txt", "inside", inside("in/a.txt"), "src/a.txt", "-"),
        ("open", "./src/../in/a.txt", "inside", inside("in/a.txt"), "src/a.txt", "-"),
        ("judge", "../beside/secret.txt", "outside", root.replace("/project", "/beside/secret.txt"), "-", "-"),
        ("judge", "out/secret.txt", "led_out", inside("out/secret.txt"), "-", "out"),
        ("judge", ".env", "inside", inside(".env"), ".env", "-"),
        ("open", "none.txt", "missing", inside("none.txt"), "-", "-"),
        ("write", "new/b.txt", "inside", inside("new/b.txt"), "new/b.txt", "-"),
        ("judge", "src/a.txt", "inside", inside("src/a.txt"), "src/a.txt", "-"),
    ] {
        let facts = found.get(&(step, asked)).unwrap_or_else(|| panic!("{step} {asked} in {found:?}"));
        assert!(facts.contains(&[verdict, &clean, relative, through]), "{step} {asked}: {facts:?}");
    }
    // The events of a tool name its call.
    let opened = of(&lines, "path").into_iter().find(|line| line["step"] == "write").unwrap();
    assert_eq!((&opened["call"]["tool"], &opened["call"]["id"]), (&"write_file".into(), &of(&lines, "call")[6]["id"]));
}

#[test]
fn a_filter_writes_lines_and_nothing_else() {
    let (_folder, root) = project();
    let ran = coder(
        &root,
        &["exec", "--debug"],
        "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"in/a.txt\"}}\n```\n",
    );
    let all = lines(&ran.err);
    assert_eq!(all.len(), ran.err.lines().count(), "{}", ran.err);
    let events: BTreeSet<&str> = all.iter().filter_map(|line| line["event"].as_str()).collect();
    assert!(["root", "call", "path", "result"].iter().all(|event| events.contains(event)), "{events:?}");
}

/// The schema cannot detect `Debug` formatting, so this test reads the sources: no field of an event may use `?`.
#[test]
fn no_event_uses_debug_formatting() {
    let mut folders = vec![toolfence_kit::root().join("crates")];
    let (mut wrong, mut count) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder of the sources").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("a source file");
            for (at, _) in source.match_indices("tracing::") {
                let Some((name, rest)) = source[at + 9..].split_once("!(") else { continue };
                if !["error", "warn", "info", "debug", "trace", "event", "debug_span"].contains(&name) {
                    continue;
                }
                count += 1;
                let fields = rest.split(");\n").next().unwrap_or(rest);
                if fields.contains("= ?") || fields.contains(", ?") || fields.trim_start().starts_with('?') {
                    wrong.push(format!("{}: {fields}", path.display()));
                }
            }
        }
    }
    assert!(count > 20 && wrong.is_empty(), "{count} events\n{}", wrong.join("\n"));
}
