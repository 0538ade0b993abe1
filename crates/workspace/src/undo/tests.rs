//! Tests which turns an undo reverts, and what it reports.

use crate::Workspace;
use crate::undo::{History, Limits, Outcome};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use toolfence_policy::rules::PathRules;

struct Project {
    home: tempfile::TempDir,
    history: Arc<History>,
    workspace: Arc<Workspace>,
}

impl Project {
    fn new() -> Project {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let root = home.path().join("root");
        fs::create_dir(&root).expect("a folder can be made");
        let history = History::open(&home.path().join("undo"), Limits::default()).expect("there is randomness");
        let history = Arc::new(history);
        let workspace = Workspace::open(&root, PathRules::default()).expect("it is a folder");
        let workspace = Arc::new(workspace.recorder(history.clone()));
        Project { home, history, workspace }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("root").join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().expect("it has one")).expect("folders can be made");
        fs::write(self.path(name), content).expect("it can be written");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn turn(&self, name: &str, content: &str) {
        let turn = self.history.begin(&self.workspace, name);
        self.workspace.changes().write(name, content).expect("it can be written");
        turn.end();
    }

    fn undo(&self) -> Outcome {
        self.history.undo(&self.workspace).expect("it can be undone").expect("there is a turn")
    }
}

#[test]
fn a_refused_turn_does_not_block_older_ones() {
    let project = Project::new();
    project.turn("a", "1");
    project.turn("b", "2");
    project.put("b", "by the user");
    let would = project.history.would_undo(&project.workspace, 1).expect("it can be read");
    assert_eq!(
        would.iter().map(|outcome| (outcome.turn.number, outcome.is_refused())).collect::<Vec<_>>(),
        [(2, true), (1, false)]
    );
    let undone = project.undo();
    assert_eq!((undone.turn.number, undone.skipped[0].turn.number), (1, 2));
    assert_eq!(undone.skipped[0].refused[0].to_string(), "b: it was changed since");
    assert!(!project.path("a").exists());
    assert_eq!(project.text("b"), "by the user");
    assert!(project.undo().is_refused(), "turn 2 is the only one that is left");
    project.put("b", "2");
    assert_eq!(project.undo().turn.number, 2);
}

#[test]
fn a_turn_is_undone_by_its_number() {
    let project = Project::new();
    for name in ["a", "b", "c"] {
        project.turn(name, "1");
    }
    let undo = |number| project.history.undo_turn(&project.workspace, number).expect("it can be undone");
    assert_eq!(undo(1).map(|undone| undone.done[0].to_string()), Some("a: removed".into()));
    assert!(undo(1).is_none() && undo(9).is_none());
    assert!(project.path("b").exists() && project.path("c").exists());
    project.history.redo(&project.workspace).expect("it can be redone").expect("there is an undo");
    assert_eq!(project.text("a"), "1");
    assert_eq!(project.undo().turn.number, 3, "the turns are in their order again");
}

#[test]
fn an_older_turn_never_overwrites_what_a_newer_one_left() {
    let project = Project::new();
    project.turn("a", "1");
    project.turn("a", "2");
    let undone = project.history.undo_turn(&project.workspace, 1).expect("it can be tried").expect("there is one");
    assert!(undone.is_refused());
    assert_eq!(project.text("a"), "2");
}

#[test]
fn records_of_an_earlier_version_are_dropped_with_a_note() {
    let project = Project::new();
    project.turn("a", "1");
    let record = project.home.path().join("undo/turns/00000001.jsonl");
    let text = fs::read_to_string(&record).expect("it is there");
    assert!(text.contains("\"v\":3"), "{text}");
    fs::write(&record, text.replacen("\"v\":3", "\"v\":2", 1)).expect("it can be written");
    let history =
        Arc::new(History::open(&project.home.path().join("undo"), Limits::default()).expect("there is randomness"));
    assert!(history.list(&project.workspace).expect("it can be read").is_empty());
    let notes = history.take_notes();
    assert!(notes.len() == 1 && notes[0].to_string().contains("earlier version"), "{notes:?}");
    assert!(!record.exists());
    assert!(history.undo(&project.workspace).expect("it can be tried").is_none());
    assert!(history.take_notes().is_empty());
}
