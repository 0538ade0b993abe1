//! Which turns an undo takes back, and what it reports.

use crate::undo::{History, Limits, Outcome};
use crate::{Recorder, Stop, Workspace};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
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
        Project::with(Limits::default())
    }

    fn with(limits: Limits) -> Project {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let root = home.path().join("root");
        fs::create_dir(&root).expect("a folder can be made");
        let history = History::open(&home.path().join("undo"), limits).expect("there is randomness");
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
fn a_file_whose_content_was_not_kept_is_never_removed() {
    type Act = fn(&Project);
    let rename = |project: &Project| fs::rename(project.path("large"), project.path("new")).expect("it can be moved");
    let cases: [(&str, Act, &str, &[&str]); 5] = [
        (
            "its content changed after the move",
            |project| {
                let mut file = fs::OpenOptions::new().append(true).open(project.path("new")).expect("it is there");
                file.write_all(b"x").expect("it can be written");
            },
            "new",
            &["large", "new"],
        ),
        ("another file has its old name", |project| project.put("large", "x"), "new", &["large", "new"]),
        ("a large file has its old name", |project| project.put("large", [2_u8; 200]), "new", &["large", "new"]),
        (
            "it was copied",
            |project| {
                fs::copy(project.path("new"), project.path("copy")).expect("it can be copied");
                fs::remove_file(project.path("new")).expect("it is there");
            },
            "copy",
            &["copy", "large"],
        ),
        (
            "it took the name of a small file",
            |project| fs::rename(project.path("new"), project.path("small")).expect("it can be moved"),
            "small",
            &["large", "small"],
        ),
    ];
    for (case, act, name, named) in cases {
        let project = Project::with(Limits { snapshot_file_bytes: 100, ..Limits::default() });
        let large = [1_u8; 200];
        project.put("large", large);
        project.put("small", "1");
        let uncovered = project.command(|| {
            rename(&project);
            act(&project);
        });
        let named: Vec<String> = named.iter().map(|name| format!("{name} (too large, or unreadable)")).collect();
        let want = format!("Undo does not cover what the command changed here: {}.", named.join(", "));
        assert_eq!(uncovered.as_deref(), Some(want.as_str()), "{case}");
        let is_there = || fs::read(project.path(name)).is_ok_and(|content| content.starts_with(&large));
        let would = project.history.would_undo(&project.workspace, 1).expect("it can be read").remove(0);
        let undone = project.undo();
        let refused = |outcome: &Outcome| outcome.refused.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        assert_eq!(refused(&would), refused(&undone), "{case}");
        let why = format!("{name}: its content was not kept: too large, or not to be read");
        assert!(refused(&undone).contains(&why), "{case}: {undone:?}");
        assert!(is_there(), "{case}");
        project.history.redo(&project.workspace).expect("it can be redone");
        assert!(is_there(), "{case}");
    }
}

#[test]
fn a_new_file_too_large_to_be_kept_stays() {
    let project = Project::with(Limits { snapshot_file_bytes: 100, ..Limits::default() });
    let uncovered = project.command(|| {
        project.put("large", [1_u8; 200]);
        project.put("small", "1");
    });
    let want = "Undo does not cover what the command changed here: large (too large, or unreadable).";
    assert_eq!(uncovered.as_deref(), Some(want));
    let undone = project.undo();
    assert_eq!(undone.refused.len(), 1, "{undone:?}");
    assert!(project.path("large").exists() && !project.path("small").exists());
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
