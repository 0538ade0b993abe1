//! Tests changes that would introduce errors: which are made, which are refused, and the results for the model.

use super::answers::{run, tools_on};
use super::{Place, picture};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use toolfence_protocol::{ErrorCode, ToolResult};

const GOOD: &str = "{\n  \"a\": 1,\n  \"b\": [1, 2]\n}\n";

fn edit(line: u64, text: &str) -> Value {
    json!({"path": "a.json", "edits": [{"start_line": line, "end_line": line, "replacement": text}]})
}

fn refused(result: &ToolResult) -> String {
    let error = result.error.as_ref().unwrap_or_else(|| panic!("it is refused: {}", result.output));
    assert_eq!(error.code, ErrorCode::SyntaxError, "{}", error.message);
    let data = result.data.as_ref().expect("it has data");
    assert_eq!((&data["files_modified"], &data["rolled_back"]), (&json!([]), &json!(true)));
    error.message.to_string()
}

#[test]
fn the_refusal_of_a_breaking_edit_is_exact() {
    let place = Place::new();
    place.file("a.json", GOOD);
    let before = picture(&place.root);
    let result = run(&place, "edit_file", edit(3, "  \"b\": [1, 2,]"));
    let message = "a.json was not changed: it would break a.json, read as JSON, at line 3, column 14: expected value. \
                   Correct the change and send it again. If the error is intended, send it with validate: false.";
    assert_eq!(refused(&result), message);
    let shown = "a.json: line 3, column 14: expected value\nAs it would have been:\n      1\t{\n      2\t  \"a\": 1,\n>     \
                 3\t  \"b\": [1, 2,]\n      4\t}\nAs it is:\n      1\t{\n      2\t  \"a\": 1,\n      3\t  \"b\": [1, \
                 2]\n      4\t}\n";
    assert_eq!(result.output, shown);
    let error = json!({"path": "a.json", "message": "expected value", "line": 3, "column": 14});
    assert_eq!(result.data.expect("it has data")["syntax_error"], error);
    assert_eq!(picture(&place.root), before);
}

#[test]
fn every_tool_that_changes_files_checks_them() {
    let place = Place::new();
    place.file("a.json", GOOD);
    place.file("b.toml", "a = 1\n");
    let before = picture(&place.root);
    let patch = "*** Begin Patch\n*** Update File: b.toml\n@@\n-a = 1\n+a = 2\n*** Update File: a.json\n@@\n-  \"a\": \
                 1,\n+  \"a\": 1\n*** Add File: new/c.json\n+{}\n*** End Patch\n";
    let made = "*** Begin Patch\n*** Add File: new/deep/c.json\n+{,}\n*** End Patch\n";
    let calls = [
        ("write_file", json!({"path": "a.json", "content": "{"})),
        ("write_file", json!({"path": "new/deep/a.json", "content": "{"})),
        ("edit_file", edit(2, "  \"a\": 1")),
        ("replace_text", json!({"path": "a.json", "old": "2]", "new": "2"})),
        ("apply_patch", json!({"patch": patch})),
        ("apply_patch", json!({"patch": made})),
    ];
    for (tool, args) in calls {
        let says = refused(&run(&place, tool, args.clone()));
        assert!(says.contains("was not changed: it would break"), "{tool} {args}: {says}");
        assert_eq!(picture(&place.root), before, "{tool} {args}");
    }
}

#[test]
fn a_dry_run_reports_the_planned_changes() {
    let place = Place::new();
    place.file("a.json", GOOD);
    let mut args = edit(3, "  \"b\": [1, 2,]");
    args["dry_run"] = true.into();
    let result = run(&place, "edit_file", args);
    let error = result.error.expect("it would be refused");
    assert!(
        error.message.to_string().starts_with("Dry run: a.json would not be changed: it would break a.json"),
        "{error}"
    );
    let data = result.data.expect("it has data");
    assert_eq!((&data["rolled_back"], &data["dry_run"]), (&json!(false), &json!(true)));
}

#[test]
fn changes_without_new_errors_pass() {
    let place = Place::new();
    let hands = tools_on(&place);
    place.file("a.json", "{\n  \"a\": 1,,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": [1,]\n}\n");
    assert!(hands.run("edit_file", edit(4, "  \"c\": 4,")).success, "it was broken before, in the same way");
    assert!(hands.run("read_file", json!({"path": "a.json"})).success);
    assert!(hands.run("edit_file", edit(2, "  \"a\": 1,")).success, "one of two errors is fixed");
    place.file("a.json", GOOD);
    let hands = tools_on(&place);
    let mut args = edit(3, "  \"b\": [1, 2,]");
    args["validate"] = false.into();
    assert!(hands.run("edit_file", args).success, "it is meant to be so");
    for (tool, mut args) in [
        ("write_file", json!({"path": "a.json", "content": "{"})),
        ("replace_text", json!({"path": "a.json", "old": "{", "new": "[["})),
        ("apply_patch", json!({"patch": "--- a/a.json\n+++ b/a.json\n@@ -1 +1 @@\n-[[\n+{{{\n"})),
    ] {
        args["validate"] = false.into();
        let result = hands.run(tool, args);
        assert!(result.success, "{tool}: {result:?}");
    }
    assert!(hands.run("write_file", json!({"path": "x.json", "content": ""})).success, "an empty file is a beginning");
    assert!(hands.run("write_file", json!({"path": "x.md", "content": "(("})).success, "there is nothing to check");
    place.file("old.json", "{,}\n");
    let moved = "diff --git a/old.json b/new.json\nrename from old.json\nrename to new.json\n";
    assert!(hands.run("apply_patch", json!({"patch": moved})).success, "it moves as it is");
}

#[test]
fn a_change_is_rolled_back_completely() {
    let place = Place::new();
    place.file("a", "one\n");
    place.file("gone", "gone\n");
    for (name, mode) in [("a", 0o751), ("gone", 0o640)] {
        fs::set_permissions(place.at(name), PermissionsExt::from_mode(mode)).expect("it is ours");
    }
    let before = picture(&place.root);
    let workspace = place.workspace();
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Add File: b/c/d\n+new\n*** Delete File: \
                 gone\n*** End Patch\n";
    let drafts = workspace.changes().draft_patch(patch).expect("it applies");
    assert_eq!(picture(&place.root), before, "a draft writes nothing");
    workspace.changes().apply_patch(patch, false).expect("it applies");
    workspace.changes().take_back(&drafts).expect("no other process changed the file");
    let mut now = picture(&place.root);
    now.retain(|name, _| !name.to_string_lossy().contains(".toolfence"));
    assert_eq!(now, before);

    workspace.changes().apply_patch(patch, false).expect("it applies");
    place.file("a", "theirs\n");
    let left = picture(&place.root);
    assert_eq!(workspace.changes().take_back(&drafts).expect_err("it is theirs").code, ErrorCode::Conflict);
    assert_eq!(picture(&place.root), left);
}
