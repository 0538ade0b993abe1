//! Tests edits of real files: which properties stay, which edits are refused, and the results for the model.

use super::answers::{complete_tools_on, failure, run, tools_on};
use super::{Place, picture};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use toolfence_protocol::ErrorCode;
use toolfence_workspace::Version;
use toolfence_workspace::{EditData, EditFile, EditLines, EditValue, ReadFile, ReplaceText, Stop};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

fn edits(edits: &[(u64, u64, &str)]) -> Value {
    let one = |(start, end, replacement): &(u64, u64, &str)| json!({"start_line": start, "end_line": end, "replacement": replacement});
    edits.iter().map(one).collect()
}

#[test]
fn edit_file_changes_all_its_lines_and_returns_the_diff() {
    let place = Place::new();
    place.file("f", TEN);
    let args = json!({"path": "f", "edits": edits(&[(2, 3, "two\nthree\n"), (10, 9, "before ten"), (5, 5, "")])});
    let result = run(&place, "edit_file", args);
    assert_eq!(result.output, "f changed (+3 -3 lines, from line 2).\n");
    assert_eq!(place.content("f"), "1\ntwo\nthree\n4\n6\n7\n8\n9\nbefore ten\n10\n");
    let data = result.data.expect("it has data");
    assert_eq!(
        (&data["files_modified"], &data["rolled_back"], &data["dry_run"]),
        (&json!(["f"]), &json!(false), &json!(false))
    );
    assert!(data["diff"].as_str().expect("it is short").starts_with("--- a/f\n+++ b/f\n@@ -1,10 +1,10 @@\n 1\n-2\n"));
    let other_names = json!({"file_path": "f", "edits": [{"start": 1, "end": 1, "new_text": "one"}]});
    assert!(run(&place, "edit", other_names).success);
    assert!(place.content("f").starts_with("one\ntwo\n"));
}

#[test]
fn replace_text_changes_its_passage() {
    let place = Place::new();
    place.file("f", "fn a() {\r\n    old();\r\n}\r\n");
    let result = run(
        &place,
        "replace_text",
        json!({"path": "f", "old": "{\n    old();\n", "new": "{\n    new();\n    more();\n"}),
    );
    assert_eq!(result.output, "f changed (+2 -1 lines, from line 2).\n");
    assert_eq!(place.content("f"), "fn a() {\r\n    new();\r\n    more();\r\n}\r\n");
    let (code, message) = failure(&place, "str_replace", json!({"path": "f", "old_str": "old", "new_str": "new"}));
    assert_eq!(code, ErrorCode::NoMatch);
    assert!(message.starts_with("\"f\" was not changed: old does not occur in the file."), "{message}");
    let (code, message) = failure(&place, "replace_text", json!({"path": "f", "old": "();", "new": "(1);"}));
    assert_eq!(code, ErrorCode::NotUnique);
    assert!(message.contains("old occurs 2 times, at lines 2, 3"), "{message}");
}

#[test]
fn edit_data_sets_and_removes_values() {
    const TEXT: &str =
        "{\r\n  // tools\r\n  \"scripts\": { \"build\": \"tsc\" },\r\n  \"private\": true,\r\n  \"files\": []\r\n}";
    let place = Place::new();
    place.file("tsconfig.json", TEXT);
    let tools = complete_tools_on(&place);
    let edits = json!([
        {"at": "/scripts/test", "value": "vitest run"}, {"at": "/private", "remove": true},
        {"at": "/files/-", "value": null},
    ]);
    let dry = tools.run("edit_data", json!({"path": "tsconfig.json", "edits": edits, "dry_run": true}));
    assert!(dry.success && place.content("tsconfig.json") == TEXT, "{:?}", dry.error);
    let result = tools.run("edit_json", json!({"file": "tsconfig.json", "edits": edits}));
    assert_eq!(result.error, None);
    let want = "{\r\n  // tools\r\n  \"scripts\": { \"build\": \"tsc\", \"test\": \"vitest run\" },\r\n  \"files\": [\r\n    null\r\n  ]\r\n}";
    assert_eq!(place.content("tsconfig.json"), want);
    let data = result.data.expect("it has data");
    assert_eq!((&data["files_modified"], &data["dry_run"]), (&json!(["tsconfig.json"]), &json!(false)));
    assert!(data["diff"].as_str().expect("it is short").contains("-  \"private\": true,\r\n"));

    // If one of several edits is refused, nothing changes.
    place.file(".env", "{\"a\": 1}");
    for (edits, code, message) in [
        (
            json!([{"at": "/files/0", "value": 1}, {"at": "/x/y", "value": 1}]),
            ErrorCode::NoMatch,
            "Edit 2: /x/y does not exist",
        ),
        (json!([{"at": "files", "value": 1}]), ErrorCode::InvalidArgument, "Write /files"),
        (json!([{"at": "/files"}]), ErrorCode::InvalidArgument, "neither a value nor remove"),
        (json!([{"at": "/files", "value": 1, "remove": true}]), ErrorCode::InvalidArgument, "both a value and remove"),
        (json!([]), ErrorCode::InvalidArgument, ""),
    ] {
        let error = tools.run("edit_data", json!({"path": "tsconfig.json", "edits": edits})).error.expect("it fails");
        assert!(error.code == code && error.message.to_string().contains(message), "{edits}: {error:?}");
    }
    let error = tools.run("edit_data", json!({"path": ".env", "edits": [{"at": "/a", "value": 2}]})).error;
    assert_eq!(error.map(|error| error.code), Some(ErrorCode::Denied));
    assert_eq!((place.content("tsconfig.json"), place.content(".env")), (want.to_owned(), "{\"a\": 1}".to_owned()));
    assert!(!tools_on(&place).run("edit_data", json!({"path": "tsconfig.json", "edits": edits})).success);

    let value = EditValue { at: "/files".to_owned(), value: Some(json!(1)), remove: false };
    let stale = EditData { base: Some(Version::compute(b"other")), ..EditData::new("tsconfig.json", vec![value]) };
    let workspace = place.workspace();
    assert_eq!(workspace.changes().edit_data(&stale).unwrap_err().code, ErrorCode::Conflict);
}

#[test]
fn dry_runs_and_empty_changes_write_nothing() {
    let place = Place::new();
    place.file("f", TEN);
    let before = (picture(&place.root), fs::metadata(place.at("f")).expect("it is there").ino());
    let calls = [
        (
            "edit_file",
            json!({"path": "f", "edits": edits(&[(1, 1, "one")]), "dry_run": true}),
            "Dry run: nothing was written. f would change (+1 -1 lines, from line 1).\n",
        ),
        (
            "edit_file",
            json!({"path": "f", "edits": edits(&[(1, 1, "1")])}),
            "f would not change; nothing was written.\n",
        ),
        (
            "replace_text",
            json!({"path": "f", "old": "10", "new": "ten", "dry_run": true}),
            "Dry run: nothing was written. f would change (+1 -1 lines, from line 10).\n",
        ),
    ];
    for (tool, args, says) in calls {
        let result = run(&place, tool, args);
        assert_eq!(result.output, says);
        let data = result.data.expect("it has data");
        assert_eq!(data["files_modified"], json!([]));
        let now = (picture(&place.root), fs::metadata(place.at("f")).expect("it is there").ino());
        assert_eq!(now, before);
    }
}

#[test]
fn refused_edits_change_nothing() {
    let place = Place::full();
    place.file("wide", b"\xFF\xFEa\0b\0");
    place.file("image", b"\x89PNG\0\0");
    place.file("big", "x\n".repeat(6 << 20));
    place.file("locked", "locked\n");
    fs::set_permissions(place.at("locked"), PermissionsExt::from_mode(0o444)).expect("it is ours");
    let before = (picture(&place.root), picture(&place.beside));
    for (path, code) in [
        ("none", ErrorCode::NotFound),
        ("src", ErrorCode::InvalidArgument),
        ("fifo", ErrorCode::InvalidArgument),
        ("socket", ErrorCode::InvalidArgument),
        ("wide", ErrorCode::InvalidArgument),
        ("image", ErrorCode::InvalidArgument),
        ("big", ErrorCode::TooLarge),
        ("locked", ErrorCode::PermissionDenied),
        ("../beside/private.txt", ErrorCode::PermissionDenied),
        ("up.txt", ErrorCode::PermissionDenied),
        ("chain1/private.txt", ErrorCode::PermissionDenied),
        ("/etc/hosts", ErrorCode::PermissionDenied),
        ("loop_a", ErrorCode::PermissionDenied),
        (".env", ErrorCode::Denied),
        ("notes.txt", ErrorCode::Denied),
        ("innocent.txt", ErrorCode::Denied),
        ("UPPER/.ENV", ErrorCode::Denied),
        (".git/config", ErrorCode::Denied),
    ] {
        let workspace = place.workspace();
        let lines = vec![EditLines { start_line: 1, end_line: 1, replacement: "NEW".into() }];
        let edited = workspace.changes().edit(&EditFile::new(path, lines)).expect_err(path);
        let replaced = workspace.changes().replace_text(&ReplaceText::new(path, "e", "NEW")).expect_err(path);
        assert_eq!((edited.code, replaced.code), (code, code), "{path}: {}", edited.message);
        let text = format!("{edited:?} {replaced:?}");
        assert!(!text.contains("OUTSIDE") && !text.contains("SECRETVALUE"), "{text}");
    }
    assert_eq!(before, (picture(&place.root), picture(&place.beside)));
}

#[test]
fn edits_keep_the_mode_the_byte_order_mark_links_and_other_bytes() {
    let place = Place::new();
    place.file("real/run.sh", b"\xEF\xBB\xBFone\r\ncaf\xE9\r\nthree");
    place.link("real/run.sh", "link");
    fs::set_permissions(place.at("real/run.sh"), PermissionsExt::from_mode(0o751)).expect("it is ours");
    fs::hard_link(place.at("real/run.sh"), place.at("other")).expect("a hard link can be made");
    let result = run(&place, "edit_file", json!({"path": "link", "edits": edits(&[(1, 1, "1"), (3, 3, "3")])}));
    let note = "[The file had 1 other name (hard links), which keep the old content.]\n";
    assert_eq!(result.output, format!("real/run.sh changed (+2 -2 lines, from line 1).\n{note}"));
    let diff = result.data.expect("it has data")["diff"].to_string();
    assert!(diff.contains(" caf\u{FFFD}\\r\\n-three"), "{diff}");
    assert_eq!(fs::read(place.at("real/run.sh")).expect("it is there"), b"\xEF\xBB\xBF1\r\ncaf\xE9\r\n3");
    assert_eq!(fs::read(place.at("other")).expect("it is there"), b"\xEF\xBB\xBFone\r\ncaf\xE9\r\nthree");
    assert_eq!(fs::metadata(place.at("real/run.sh")).expect("it is there").mode() & 0o7777, 0o751);
    assert!(fs::symlink_metadata(place.at("link")).expect("it is there").is_symlink());
}

#[test]
fn line_numbers_of_a_file_that_changed_are_not_used() {
    let place = Place::new();
    place.file("f", TEN);
    place.link("f", "link");
    let hands = tools_on(&place);
    let edit = |path: &str| hands.run("edit_file", json!({"path": path, "edits": edits(&[(1, 1, "one\nmore")])}));
    assert!(edit("f").success, "the model has not seen the file, so no view is stale");
    let again = edit("link").error.expect("the numbers are those before the first edit");
    assert_eq!(again.code, ErrorCode::Conflict);
    let says = "\"link\" has changed since it was last read, so nothing was done: lines may have moved. Read it again, \
                and put all edits of one file into one call.";
    assert_eq!(again.message, says);
    assert!(hands.run("read_file", json!({"path": "f", "lines": 1})).success);
    assert!(edit("link").success);
    assert!(!edit("f").success);
    assert!(hands.run("read_file", json!({"path": "link"})).success);
    let dry = json!({"path": "f", "edits": edits(&[(1, 1, "x")]), "dry_run": true});
    assert!(hands.run("edit_file", dry.clone()).success && hands.run("edit_file", dry.clone()).success);
    place.file("f", TEN.replace("10", "ten"));
    assert_eq!(hands.run("edit_file", dry).error.expect("another process changed the file").code, ErrorCode::Conflict);
    place.file("f", "one\nmore\nmore\nmore\n2\n");
    assert!(!edit("f").success);
}

#[test]
fn changes_of_other_processes_are_not_overwritten() {
    let place = Place::new();
    place.file("f", TEN);
    let hands = tools_on(&place);
    let write = |content: &str| hands.run("write_file", json!({"path": "f", "content": content}));
    assert!(hands.run("read_file", json!({"path": "f"})).success);
    place.file("f", "theirs\n");
    let failure = write("mine\n").error.expect("it would be lost");
    assert_eq!((failure.code, place.content("f").as_str()), (ErrorCode::Conflict, "theirs\n"));
    assert!(hands.run("read_file", json!({"path": "f"})).success && write("mine\n2\n").success);
    assert!(write("mine again\n2\n").success, "its own writing is known to the model");
    assert!(hands.run("edit_file", json!({"path": "f", "edits": edits(&[(1, 1, "one")])})).success, "so are its lines");
    assert!(hands.run("replace_text", json!({"path": "f", "old": "one", "new": "1"})).success);
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+uno\n";
    assert!(hands.run("apply_patch", json!({"patch": patch})).success);
    assert!(write("mine after all\n").success);
    let gone = "*** Begin Patch\n*** Delete File: f\n*** End Patch\n";
    assert!(hands.run("apply_patch", json!({"patch": gone})).success);
    place.file("f", "new\n");
    assert!(write("an unseen file of that name\n").success);
}

#[test]
fn versions_protect_edits_without_tools() {
    let place = Place::new();
    place.file("f", TEN);
    let workspace = place.workspace();
    let seen = workspace.files().read(&ReadFile::new("f"), &Stop::default()).expect("it is text").version;
    assert_eq!(seen, Some(Version::compute(TEN.as_bytes())));
    let mut wanted = EditFile::new("f", vec![EditLines { start_line: 1, end_line: 1, replacement: "one".into() }]);
    wanted.base = seen;
    let written = workspace.changes().edit(&wanted).expect("it is what was seen");
    assert_eq!((written.before, written.after), (seen, Some(Version::compute(place.content("f").as_bytes()))));
    assert_eq!(workspace.changes().edit(&wanted).expect_err("it changed").code, ErrorCode::Conflict);
    assert_eq!(workspace.changes().write_over("f", "x\n", seen).expect_err("it changed").code, ErrorCode::Conflict);
    assert!(workspace.changes().write_over("f", "x\n", written.after).is_ok());
    let large = "line\n".repeat(300_000);
    place.file("large", &large);
    let wanted = ReadFile { start_line: Some(7), end_line: Some(9), ..ReadFile::new("large") };
    let seen = workspace.files().read(&wanted, &Stop::default()).expect("it is text").version;
    assert_eq!(seen, Some(Version::compute(large.as_bytes())));
    place.file("huge", "line\n".repeat(3_000_000));
    assert_eq!(workspace.files().read(&ReadFile::new("huge"), &Stop::default()).expect("it is text").version, None);
}
