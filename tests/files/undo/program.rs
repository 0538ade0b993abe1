//! Tests `coder diff`, `coder undo` and `coder redo` after `coder exec` and in a conversation.

use std::fs;
use std::path::Path;
use toolfence_kit::Program;

const REPLY: &str = "\
```tool
{\"name\": \"write_file\", \"args\": {\"path\": \"src/new.txt\", \"content\": \"hello\\n\"}}
```
```tool
{\"name\": \"bash\", \"args\": {\"command\": \"echo 2 >> kept.txt; chmod 755 kept.txt; mkdir d\"}}
```
";

/// Returns the exit status, stdout and stderr.
fn coder(home: &Path, args: &[&str], input: &str) -> (i32, String) {
    let ran = Program::new(env!("CARGO_BIN_EXE_coder"), home).args(args).run(&home.join("project"), input);
    (ran.status, ran.said())
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("project")).unwrap();
    fs::write(home.path().join("project/kept.txt"), "1\n").unwrap();
    home
}

#[test]
fn changes_of_exec_are_shown_and_undone() {
    let home = home();
    let run = |args: &[&str]| coder(home.path(), args, "");
    assert_eq!(run(&["undo"]), (1, "There is nothing to undo.\n".into()));
    let ran = coder(home.path(), &["exec", "--yes"], REPLY);
    assert_eq!(ran.0, 0, "{}", ran.1);
    let wanted = "Folder d was made.\nkept.txt: old mode 644, new mode 755\n--- a/kept.txt\n+++ b/kept.txt\n@@ -1 +1,2 @@\n 1\n\
                  +2\nFolder src was made.\n--- /dev/null\n+++ b/src/new.txt\n@@ -0,0 +1 @@\n+hello\n";
    assert_eq!(run(&["diff"]), (0, wanted.into()));
    let wanted = "  d: removed\n  kept.txt: changed back\n  src: removed\n  src/new.txt: removed\n";
    assert_eq!(run(&["undo", "--dry-run"]), (0, format!("Would undo turn 1, write_file src/new.txt:\n{wanted}")));
    assert_eq!(run(&["undo"]), (0, format!("Undid turn 1, write_file src/new.txt:\n{wanted}")));
    assert!(run(&["undo", "--list"]).1.contains("4 names  write_file src/new.txt  (undone)"));
    assert_eq!(run(&["redo"]).0, 0);
    fs::write(home.path().join("project/kept.txt"), "theirs\n").unwrap();
    let (status, said) = run(&["undo"]);
    assert!(status == 1 && said.contains("  kept.txt: it was changed since; left as it is\n"), "{said}");
    assert_eq!(fs::read_dir(home.path().join("project")).unwrap().count(), 1);
}

/// A deep tree, whose paths are pages long, is printed in a few short lines.
#[test]
fn a_deep_tree_is_printed_in_short_lines() {
    let home = home();
    let run = |args: &[&str]| coder(home.path(), args, "");
    let command = "for i in $(seq 250); do mkdir folder; cd folder; done";
    let reply = format!("```tool\n{{\"name\": \"bash\", \"args\": {{\"command\": \"{command}\"}}}}\n```\n");
    let ran = coder(home.path(), &["exec", "--yes"], &reply);
    assert_eq!(ran.0, 0, "{}", ran.1);
    let (status, said) = run(&["diff"]);
    assert_eq!(status, 0, "{said}");
    let longest = said.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(longest < 200 && said.lines().count() < 220, "{longest} columns\n{said}");
    assert!(said.lines().any(|line| line.contains('…') && line.contains("folder/folder")), "{said}");
    assert!(said.contains("… and 50 more"), "{said}");
    for args in [&["undo", "--dry-run"][..], &["undo"]] {
        let (status, said) = run(args);
        assert!(status == 0 && said.ends_with(":\n  folder: removed\n"), "{said}");
    }
    assert!(!home.path().join("project/folder").exists());
}

#[test]
fn undo_works_in_a_conversation() {
    let home = home();
    let replies = home.path().join("replies");
    let call = "{\"name\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"x\"}}";
    fs::write(&replies, format!("%%% reply\n```tool\n{call}\n```\n%%% reply\nDone.\n")).unwrap();
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap(), "--yes"];
    let (status, said) = coder(home.path(), &args, "make a\n/diff\n/undo\n/redo\n/undo x\n/undo list\n/undo\n");
    for line in [
        "+x",
        "Undid turn 1, make a:",
        "  a: removed",
        "Redid turn 1, make a:",
        "/undo takes a number of turns, such as /undo 2, not x",
        "1 name   make a",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert_eq!((status, fs::read_dir(home.path().join("project")).unwrap().count()), (0, 1), "{said}");
}

/// The next message informs the model about an undo. The model must read a restored file again before it can overwrite
/// it.
#[test]
fn the_model_is_informed_about_an_undo() {
    let home = home();
    let replies = home.path().join("replies");
    let call = |tool: &str, args: &str| {
        format!("%%% reply\n```tool\n{{\"name\": \"{tool}\", \"args\": {args}}}\n```\n%%% reply\nDone.\n")
    };
    let first = call("write_file", r#"{"path": "kept.txt", "content": "2\n"}"#);
    let second = call("write_file", r#"{"path": "kept.txt", "content": "3\n"}"#);
    let lines =
        call("edit_file", r#"{"path": "kept.txt", "edits": [{"start_line": 1, "end_line": 1, "replacement": "4"}]}"#);
    fs::write(&replies, [first, second, lines].concat()).unwrap();
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap(), "--yes", "--debug"];
    let (status, said) = coder(home.path(), &args, "change it\n/undo\nagain\nby its lines\n");
    assert_eq!((status, said.matches("conflict").count() > 1), (0, true), "{said}");
    assert_eq!(fs::read_to_string(home.path().join("project/kept.txt")).unwrap(), "1\n", "{said}");
}

#[test]
fn undo_prints_json_lines() {
    let home = home();
    let run = |args: &[&str]| {
        let (status, said) = coder(home.path(), args, "");
        let lines: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert!(lines.iter().all(|line| line["v"] == 1), "{said}");
        (status, lines)
    };
    assert_eq!(run(&["undo", "--json"]), (1, Vec::new()));
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let call =
        format!("{{\"name\": \"bash\", \"args\": {{\"command\": \"echo {secret} > s; ls\\necho 2 > kept.txt\"}}}}");
    let reads = "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"kept.txt\"}}\n```\n";
    assert_eq!(coder(home.path(), &["exec", "--yes"], &format!("{reads}```tool\n{call}\n```\n")).0, 0);
    let (status, listed) = run(&["undo", "--list", "--json"]);
    let title = listed[0]["title"].as_str().unwrap().to_owned();
    assert!(title.starts_with("bash echo ") && title.ends_with("> s; ls") && !title.contains(secret), "{title}");
    assert_eq!((status, listed.len(), &listed[0]["names"], &listed[0]["undone"]), (0, 1, &2.into(), &false.into()));
    let (_, diff) = run(&["diff", "--json"]);
    assert!(diff[0]["name"] == "kept.txt" && diff[0]["diff"].as_str().unwrap().ends_with("-1\n+2\n"), "{diff:?}");
    fs::write(home.path().join("project/s"), "theirs").unwrap();
    for dry in [true, false] {
        let (status, said) = run(if dry { &["undo", "--dry-run", "--json"] } else { &["undo", "--json"] });
        assert_eq!((status, said.len(), &said[0]["turn"], &said[0]["dry_run"]), (1, 1, &1.into(), &dry.into()));
        assert_eq!(
            (&said[0]["done"][0]["name"], &said[0]["done"][0]["what"]),
            (&"kept.txt".into(), &"changed back".into())
        );
        assert_eq!(said[0]["refused"][0]["why"], "it was changed since");
    }
    let (status, redone) = run(&["redo", "--json"]);
    assert_eq!((status, &redone[0]["event"], &redone[0]["title"]), (0, &"redo".into(), &title.into()));
}

#[test]
fn only_the_user_can_turn_the_history_off() {
    let home = home();
    fs::write(home.path().join("project/.toolfence.toml"), "undo.journal = \"off\"\n").unwrap();
    assert!(coder(home.path(), &["exec", "--yes"], REPLY).1.contains("looser than on"));
    assert_eq!(coder(home.path(), &["undo"], "").0, 0, "it was kept all the same");
    fs::write(home.path().join("project/.toolfence.toml"), "undo.turns = 1\n").unwrap();
    let (status, said) = coder(home.path(), &["undo"], "");
    assert!(status == 2 && said.contains("undo.turns"), "{said}");
    fs::remove_file(home.path().join("project/.toolfence.toml")).unwrap();
    fs::create_dir_all(home.path().join("config/toolfence")).unwrap();
    fs::write(home.path().join("config/toolfence/config.toml"), "[undo]\njournal = \"off\"\nturns = 3\n").unwrap();
    let (status, said) = coder(home.path(), &["undo"], "");
    assert!(status == 2 && said.contains("undo.journal is off"), "{said}");
    fs::write(home.path().join("config/toolfence/config.toml"), "[undo]\nturns = 0\n").unwrap();
    assert!(coder(home.path(), &["undo"], "").1.contains("undo.turns is a whole number from 1 to 10000"));
}

#[test]
fn a_turn_that_cannot_be_undone_is_skipped() {
    let home = home();
    let run = |args: &[&str]| coder(home.path(), args, "");
    let write = |name: &str| {
        let call = format!("{{\"name\": \"write_file\", \"args\": {{\"path\": \"{name}\", \"content\": \"x\"}}}}");
        assert_eq!(coder(home.path(), &["exec", "--yes"], &format!("```tool\n{call}\n```\n")).0, 0);
    };
    ["a", "b", "c"].into_iter().for_each(write);
    fs::write(home.path().join("project/c"), "theirs\n").unwrap();
    let skipped = "Skipped turn 3, write_file c; nothing was changed:\n  c: it was changed since; left as it is\n";
    assert_eq!(run(&["undo", "1"]), (0, "Undid turn 1, write_file a:\n  a: removed\n".into()));
    assert_eq!(run(&["undo"]), (1, format!("{skipped}Undid turn 2, write_file b:\n  b: removed\n")));
    assert_eq!(run(&["undo"]), (1, skipped.into()));
    let (status, said) = run(&["undo", "1"]);
    assert!(status == 2 && said.contains("no turn 1 can be undone"), "{status} {said}");
    assert_eq!(fs::read_to_string(home.path().join("project/c")).unwrap(), "theirs\n");
}
