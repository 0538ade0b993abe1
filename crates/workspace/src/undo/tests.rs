//! Which turns an undo takes back, and what it reports.

use crate::undo::{History, Limits, Outcome};
use crate::{Recorder, Stop, Workspace};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use toolfence_rules::PathRules;

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

    /// A turn with one command, which `act` is in the place of. Returns what undo does not cover.
    fn command(&self, act: impl FnOnce()) -> Option<String> {
        let turn = self.history.begin(&self.workspace, "a command");
        self.history.command_begins(self.workspace.root(), &Stop::default());
        act();
        self.history.command_ended(self.workspace.root(), &Stop::default());
        let uncovered = self.history.take_uncovered().map(|text| text.to_string());
        turn.end();
        uncovered
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
fn a_moved_large_file_is_moved_back() {
    let project = Project::new();
    let large = vec![7_u8; 5 << 20];
    project.put("large", &large);
    let uncovered = project.command(|| {
        fs::create_dir(project.path("new")).expect("a folder can be made");
        fs::rename(project.path("large"), project.path("new/large")).expect("it can be moved");
    });
    assert_eq!(uncovered, None);
    let is_there = |name: &str| fs::read(project.path(name)).is_ok_and(|content| content == large);
    let undone = project.undo();
    assert!(undone.refused.is_empty(), "{:?}", undone.refused);
    assert!(undone.done.iter().any(|done| done.to_string() == "large: moved back from new/large"), "{:?}", undone.done);
    assert!(is_there("large") && !project.path("new").exists());
    project.history.redo(&project.workspace).expect("it can be redone").expect("there is an undo");
    assert!(is_there("new/large") && !project.path("large").exists());
    assert!(project.undo().refused.is_empty() && is_there("large"));
    // A file that took its place stays, and so does the moved one.
    project.history.redo(&project.workspace).expect("it can be redone").expect("there is an undo");
    project.put("large", "by the user");
    assert!(!project.undo().refused.is_empty());
    assert!(is_there("new/large") && project.text("large") == "by the user");
}

#[test]
fn a_command_reports_what_undo_does_not_cover() {
    let project = Project::new();
    project.put(".gitignore", "out/\n");
    project.put("out/x", "1");
    project.put("large", vec![1_u8; 5 << 20]);
    project.put("small", "1");
    let uncovered = project.command(|| {
        project.put("out/x", "22");
        project.put("small", "2");
        fs::remove_file(project.path("large")).expect("it is there");
    });
    let want =
        "Undo does not cover what the command changed here: large (too large, or unreadable), out (git ignores it).";
    assert_eq!(uncovered.as_deref(), Some(want));
    assert_eq!(project.command(|| project.put("small", "3")), None);
}
