//! Read-only commands cannot write, and the result of a command that can write the project itself notes that undo does
//! not cover it.

use super::{HELPER, Place, bash, has_sandbox};
use serde_json::json;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use toolfence_policy::rules::PathRules;
use toolfence_sandbox::isolation::{Kind, Mode, Settings};
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Limits, OpenTurn};

/// The note in the result of a command that can write the project itself.
const NOT_COVERED: &str = "[Undo does not cover what this command changed in the project.]";

/// Creates a runner in a recorded turn.
fn recording(place: &Place, settings: Settings) -> (Arc<CommandRunner>, OpenTurn) {
    let state = place.beside.join("state");
    let history =
        Arc::new(History::open(&History::folder(&state, &place.root), Limits::default()).expect("there is randomness"));
    let workspace =
        Workspace::open(&place.root, PathRules::default()).expect("the root is there").recorder(history.clone());
    let turn = history.begin(&workspace, "a turn");
    (Arc::new(CommandRunner::new(Arc::new(workspace), settings.helper(HELPER))), turn)
}

#[test]
fn read_only_commands_cannot_write_and_need_no_undo() {
    let place = Place::new();
    if !has_sandbox(&place.runner()) {
        return;
    }
    place.file("a.txt", "one\ntwo\n");
    let (runner, _turn) = recording(&place, Settings::new());
    for (command, said, reads) in [
        ("cat a.txt | tail -1", "two\n", true),
        ("test -w a.txt && echo yes", "yes\n", false),
        ("echo three >> a.txt; wc -l < a.txt", "3\n", false),
        ("wc -l < a.txt", "3\n", true),
    ] {
        let result = bash(&runner, json!({"command": command}));
        assert!(result.output.starts_with(said), "{command}: {result:?}");
        assert_eq!(result.output.contains(NOT_COVERED), !reads, "{command}: {result:?}");
    }
}

/// `git status` updates the index if it can.
#[test]
fn the_sandbox_enforces_read_only_commands() {
    let place = Place::new();
    place.file("a.txt", "one\n");
    let (runner, _turn) = recording(&place, Settings::new());
    let git = |args: &[&str]| Command::new("git").args(args).current_dir(&place.root).output();
    if !has_sandbox(&runner) || ![&["init"][..], &["add", "a.txt"]].iter().all(|args| git(args).is_ok()) {
        return eprintln!("skipped: no sandbox, or no git");
    }
    let touched = |name: &str| fs::File::open(place.at(name)).and_then(|file| file.set_modified(UNIX_EPOCH));
    touched("a.txt").expect("it is ours");
    let index = || fs::read(place.at(".git/index")).expect("git made one");
    let before = index();
    let result = bash(&runner, json!({"command": "git status --short"}));
    assert_eq!(result.output, "A  a.txt\n", "{result:?}");
    assert!(index() == before, "it could write");
    git(&["status"]).expect("it is there");
    assert!(index() != before, "there was nothing to write");
}

#[test]
fn undo_is_not_mentioned_if_no_command_can_write() {
    let place = Place::new();
    place.file("a.txt", "one\n");
    let (runner, _turn) = recording(&place, Settings::new().mode(Mode::ReadOnly));
    if !has_sandbox(&runner) {
        return;
    }
    let result = bash(&runner, json!({"command": "echo two >> a.txt; rm a.txt; touch b; chmod 700 a.txt; cat a.txt"}));
    assert!(result.output.ends_with("one\n"), "{result:?}");
    assert!(!place.at("b").exists());
}

/// Landlock alone cannot make a command read-only, and without a sandbox nothing can. Then even a command that is
/// called read-only may write.
#[test]
fn undo_does_not_cover_commands_that_may_write() {
    let place = Place::new();
    place.file("a.txt", "one\n");
    for settings in
        [Settings::new().at_most(Kind::Landlock), Settings::new().mode(Mode::Off), Settings::new().network(true)]
    {
        let (runner, turn) = recording(&place, settings.clone());
        let output = bash(&runner, json!({"command": "sed -n 1p a.txt"})).output;
        assert!(output.starts_with("one\n") && output.contains(NOT_COVERED), "{output}");
        turn.end();
        assert_eq!(bash(&runner, json!({"command": "sed -n 1p a.txt"})).output, "one\n", "nothing is recorded");
    }
}
