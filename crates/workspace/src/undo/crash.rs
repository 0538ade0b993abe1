//! Kills the process at every step that changes the disk while a turn is recorded, undone and redone. Afterwards the
//! history must open, each file must have its old or its new content, and an undo must restore everything.
//!
//! The test runs itself again as a child, which can be killed.

use crate::Workspace;
use crate::fault::counted;
use crate::stash::{self, Moment, Stash};
use crate::undo::{History, Limits};
use rustix::fd::AsFd;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use toolfence_policy::rules::PathRules;

const HOME: &str = "TOOLFENCE_TEST_HOME";
const ACT: &str = "TOOLFENCE_TEST_ACT";
const PATCH: &str =
    "*** Begin Patch\n*** Update File: b\n*** Move to: made/b\n@@\n-old\n+new\n*** Delete File: c\n*** End Patch\n";

type Files = BTreeMap<PathBuf, String>;

fn open_project(home: &Path) -> (Arc<History>, Arc<Workspace>) {
    opened_with(home, Limits::default())
}

fn opened_with(home: &Path, limits: Limits) -> (Arc<History>, Arc<Workspace>) {
    let root = home.join("root");
    let history = History::open(&History::folder(&home.join("state"), &root), limits);
    let history = Arc::new(history.expect("there is randomness"));
    let workspace = Workspace::open(&root, PathRules::default()).expect("it is a folder").recorder(history.clone());
    stash::recover(workspace.root(), &home.join("stashes"));
    (history, Arc::new(workspace))
}

/// Exchanges the entries of the folder `next` with those of the project, and removes the paths in `gone`.
fn exchange(home: &Path, workspace: &Workspace, next: &[(&str, &str)], gone: &[&str], replaces: &[&str]) {
    let at = home.join("next");
    let (root, place) = (workspace.root(), home.join("stashes"));
    for (name, text) in next {
        fs::create_dir_all(at.join(name).parent().expect("it has one")).expect("a folder can be made");
        fs::write(at.join(name), text).expect("it can be written");
    }
    let since = Moment::next(&place).expect("a file can be made");
    let mut stash = Stash::create(&place).expect("a stash can be made");
    let folder = fs::File::open(&at).expect("it is there");
    for entry in fs::read_dir(&at).expect("it is there").map(|entry| entry.expect("it can be read").file_name()) {
        let is_there = replaces.iter().any(|name| entry == *name);
        stash.plan_entry(root, entry.as_ref(), (folder.as_fd(), &entry), is_there, since).expect("it can be planned");
    }
    for name in gone {
        stash.remove(root, name.as_ref(), since).expect("it can be planned");
    }
    workspace.changes().exchange(stash, &|_| true).expect("nothing else changes it");
}

fn scene(home: &Path) {
    let root = home.join("root");
    fs::create_dir_all(root.join("d")).expect("a folder can be made");
    for name in ["a", "b", "c", "d/x", "run"] {
        fs::write(root.join(name), "old\n").expect("it can be written");
    }
}

/// Returns every file with its mode and content, without folders and our own files.
fn picture(home: &Path) -> Files {
    use std::os::unix::fs::PermissionsExt;
    let root = home.join("root");
    let mut files = Files::new();
    let mut pending = vec![root.clone()];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path()) {
            let name = path.strip_prefix(&root).expect("it is below").to_owned();
            if path.is_dir() {
                pending.push(path);
            } else if !name.to_string_lossy().contains(".toolfence-") {
                let mode = fs::metadata(&path).expect("it is there").permissions().mode() & 0o777;
                files.insert(name, format!("{mode:o} {}", fs::read_to_string(&path).expect("it is text")));
            }
        }
    }
    files
}

/// Counts the stashes.
fn stashes(home: &Path) -> usize {
    fs::read_dir(home.join("stashes")).map_or(0, Iterator::count)
}

fn act(what: &str, home: &Path) {
    let turns = if what == "dropped" { 1 } else { 100 };
    let (history, workspace) = opened_with(home, Limits { turns, ..Limits::default() });
    match what {
        "turn" => {
            let _turn = history.begin(&workspace, "a turn");
            workspace.changes().write("a", "first\n").expect("it can be written");
            workspace.changes().apply_patch(PATCH, false).expect("it fits");
            exchange(home, &workspace, &[("a", "new\n"), ("e/f", "new\n")], &["d"], &["a"]);
        }
        "tools" => {
            let _turn = history.begin(&workspace, "a turn");
            workspace.changes().write("a", "first\n").expect("it can be written");
            workspace.changes().write("a", "second\n").expect("it can be written");
            workspace.changes().apply_patch(PATCH, false).expect("it fits");
            workspace.changes().write("d/x", "old\nand new\n").expect("it can be written");
            workspace.changes().write("d/made", "first\n").expect("it can be written");
        }
        "exchanges" => {
            let _turn = history.begin(&workspace, "a turn");
            workspace.changes().write("a", "by the tool\n").expect("it can be written");
            let next = [("a", "by the command\n"), ("b/in/f", "new\n"), ("e/f", "new\n"), ("run", "new\n")];
            exchange(home, &workspace, &next, &["d"], &["a", "b", "run"]);
            workspace.changes().write("e/f", "by the tool\n").expect("it can be written");
            workspace.changes().write("d/again", "by the tool\n").expect("it can be written");
            let next = [("b", "a file again\n"), ("a/f", "new\n")];
            exchange(home, &workspace, &next, &["e", "c"], &["a", "b"]);
            workspace.changes().write("a/f", "by the tool\n").expect("it can be written");
        }
        "large" => {
            let _turn = history.begin(&workspace, "a turn");
            exchange(home, &workspace, &[("a", "new\n")], &["d"], &["a"]);
        }
        "dropped" => {
            // Each turn replaces the only one that is kept.
            for text in ["one\n", "two\n"] {
                let _turn = history.begin(&workspace, text);
                exchange(home, &workspace, &[("a", text)], &[], &["a"]);
            }
        }
        "undo all" => while history.undo(&workspace).expect("it can be written").is_some() {},
        "undo" => drop(history.undo(&workspace).expect("it can be written").expect("there is a turn")),
        _ => drop(history.redo(&workspace).expect("it can be written").expect("there is an undo")),
    }
}

#[test]
#[ignore = "it is the child of the other test"]
fn one_act() {
    let (Some(home), Ok(what)) = (std::env::var_os(HOME), std::env::var(ACT)) else { return };
    act(&what, Path::new(&home));
    fs::write(Path::new(&home).join("points"), counted::passed().to_string()).expect("it can be written");
}

/// Runs the act in a child. Returns the number of points that it passed, or `None` if it was killed.
fn child(what: &str, home: &Path, kill_at: usize) -> Option<usize> {
    let mut command = Command::new(std::env::current_exe().expect("this program has a name"));
    command.args(["--exact", "undo::crash::one_act", "--ignored", "--quiet", "--test-threads=1"]);
    command.env(ACT, what).env(HOME, home).env(counted::AT, kill_at.to_string()).stdin(Stdio::null());
    command.env(counted::SETTLED, home.join("settled"));
    let output = command.output().expect("it can be started");
    let read_points = || fs::read_to_string(home.join("points")).ok()?.parse().ok();
    match output.status.signal() {
        Some(9) => None,
        _ => Some(read_points().unwrap_or_else(|| panic!("{what}: {}", String::from_utf8_lossy(&output.stdout)))),
    }
}

/// Makes the steps that precede the act in which the child is killed.
fn prepared(what: &str, home: &Path) {
    scene(home);
    let before: &[&str] = match what {
        "turn" => &[],
        "undo" => &["turn"],
        _ => &["turn", "undo"],
    };
    before.iter().for_each(|what| act(what, home));
}

#[test]
fn killed_at_every_step_the_history_opens_and_undoes() {
    let mut survived = 0;
    for what in ["turn", "undo", "redo"] {
        let whole = tempfile::tempdir().expect("a temporary folder can be made");
        prepared(what, whole.path());
        let from = picture(whole.path());
        let points = child(what, whole.path(), 0).expect("it is not killed");
        let to = picture(whole.path());
        assert!(points > 20 && from != to, "{what}: {points} points");
        let old = if what == "undo" { &to } else { &from };
        for point in 1..=points {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            prepared(what, home.path());
            assert_eq!(child(what, home.path(), point), None, "{what} at {point}");
            for (name, state) in &picture(home.path()) {
                // The file is written twice in the turn.
                let known = [&from, &to].iter().any(|files| files.get(name) == Some(state)) || state == "644 first\n";
                assert!(known, "{what} at {point}: {name:?} {state}");
            }
            let (history, workspace) = open_project(home.path());
            while let Some(outcome) = history.undo(&workspace).expect("it can be written") {
                assert!(outcome.refused.is_empty(), "{what} at {point}: {outcome:?}");
            }
            assert_eq!(&picture(home.path()), old, "{what} at {point}");
            survived += 1;
        }
    }
    println!("{survived} kills survived");
}

/// Kills the process at every step of a turn with exchanges, and at some of them also in the recovery and the undo that
/// follow.
#[test]
fn killed_at_every_step_exchanges_are_recovered_and_undone() {
    let mut survived = 0;
    let whole = tempfile::tempdir().expect("a temporary folder can be made");
    scene(whole.path());
    let old = stash::tests::picture(&whole.path().join("root"));
    let points = child("exchanges", whole.path(), 0).expect("it is not killed");
    assert!(points > 60, "{points} points");
    for point in 0..=points {
        let mut undo_at = 0;
        loop {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            scene(home.path());
            assert_eq!(child("exchanges", home.path(), point).is_none(), point > 0, "at {point}");
            let is_killed = undo_at > 0 && child("undo all", home.path(), undo_at).is_none();
            let when = format!("at {point}, and then at {undo_at}");
            let (history, workspace) = open_project(home.path());
            while let Some(outcome) = history.undo(&workspace).expect("it can be written") {
                assert!(outcome.refused.is_empty(), "{when}: {outcome:?}");
            }
            assert_eq!(stash::tests::picture(&home.path().join("root")), old, "{when}");
            // Each stash belongs to a turn, and the project's current entries are in none of them.
            assert!(stashes(home.path()) <= 2, "{when}");
            // An undo that was killed has restored names that the next one does not report.
            if !is_killed {
                while let Some(outcome) = history.redo(&workspace).expect("it can be written") {
                    assert!(outcome.refused.is_empty(), "{when}: {outcome:?}");
                }
                while history.undo(&workspace).expect("it can be written").is_some() {}
                assert_eq!(stash::tests::picture(&home.path().join("root")), old, "{when}");
            }
            survived += 1;
            if point % 16 != 0 || (undo_at > 0 && !is_killed) {
                break;
            }
            undo_at += 1 + undo_at / 3;
        }
    }
    println!("{survived} kills survived");
}

#[test]
fn killed_at_every_step_a_file_of_any_size_is_moved_back() {
    let (mut removed, mut point) = (0, 0);
    let mut is_killed = true;
    while is_killed {
        point += 1;
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        scene(home.path());
        let path = home.path().join("root/d/large");
        let large = fs::File::create(&path).expect("it can be made");
        large.set_len(80 << 20).expect("it can grow");
        is_killed = child("large", home.path(), point).is_none();
        let (history, workspace) = open_project(home.path());
        removed += usize::from(!path.exists());
        while let Some(outcome) = history.undo(&workspace).expect("it can be written") {
            assert!(outcome.refused.is_empty(), "at {point}: {outcome:?}");
        }
        assert_eq!(fs::metadata(&path).expect("it is there").len(), 80 << 20, "at {point}");
        assert_eq!(fs::read_to_string(home.path().join("root/a")).expect("it is there"), "old\n", "at {point}");
        assert_eq!(fs::read_to_string(home.path().join("root/d/x")).expect("it is there"), "old\n", "at {point}");
    }
    assert!(removed > 3 && point - removed > 3, "{removed} of {point}");
}

/// Kills the process at every step while an older turn is dropped. Its stash must be deleted, at the latest at the next
/// start.
#[test]
fn killed_at_every_step_no_stash_outlives_its_turn() {
    let points = {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        scene(home.path());
        let points = child("dropped", home.path(), 0).expect("it is not killed");
        assert_eq!(stashes(home.path()), 1);
        points
    };
    for point in 1..=points {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        scene(home.path());
        assert_eq!(child("dropped", home.path(), point), None, "at {point}");
        let (history, workspace) = open_project(home.path());
        let turns = history.list(&workspace).expect("it can be read").len();
        drop((history, workspace));
        open_project(home.path());
        assert_eq!(stashes(home.path()), turns, "at {point}");
    }
}

/// The state of files that were not synced before a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unsettled {
    Gone,
    /// The file exists with its length and has only zeros.
    Zeros,
}

/// Simulates a power failure: only the synced part of the history survives. The project keeps all changes, which is the
/// worst case.
fn lose_power(home: &Path, unsettled: Unsettled) {
    let settled_lines = fs::read_to_string(home.join("settled")).unwrap_or_default();
    let line = |line: &str| line.split_once(' ').map(|(bytes, path)| (PathBuf::from(path), bytes.parse::<u64>().ok()));
    // The last line of a file is the longest.
    let settled: BTreeMap<PathBuf, Option<u64>> = settled_lines.lines().filter_map(line).collect();
    let mut pending = vec![home.join("state")];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("it can be read").path()) {
            let is_object = path.to_string_lossy().contains("/objects/");
            if path.is_dir() {
                pending.push(path);
            } else if let Some(Some(bytes)) = settled.get(&path) {
                let file = fs::File::options().write(true).open(&path).expect("it is ours");
                file.set_len(*bytes).expect("it can be cut");
            } else if unsettled == Unsettled::Zeros && is_object {
                let bytes = fs::metadata(&path).expect("it is there").len();
                fs::write(&path, vec![0; usize::try_from(bytes).expect("it is small")]).expect("it can be written");
            } else {
                fs::remove_file(&path).expect("it can be removed");
            }
        }
    }
}

/// After a power failure at any step of a turn, an undo or a redo, the changes of tools can be undone, and complete
/// undos can be redone.
#[test]
fn changes_of_tools_are_undone_after_a_power_failure_at_any_step() {
    let mut survived = 0;
    let acts = [
        ("tools", &[][..]),
        ("exchanges", &[]),
        ("undo", &["tools"]),
        ("undo", &["exchanges"]),
        ("redo", &["tools", "undo"]),
    ];
    for (what, before) in acts {
        for unsettled in [Unsettled::Gone, Unsettled::Zeros] {
            // The first run is not killed, so everything is done.
            let (mut point, mut points) = (0, None);
            while point <= points.unwrap_or(0) {
                let home = tempfile::tempdir().expect("a temporary folder can be made");
                scene(home.path());
                let old = picture(home.path());
                assert!(before.iter().all(|what| child(what, home.path(), 0).is_some()));
                let passed = child(what, home.path(), point);
                points = points.or(passed);
                lose_power(home.path(), unsettled);
                let when = format!("{what} at {point}, {unsettled:?}");
                undone_after(home.path(), &old, what == "undo" && point == 0, &when);
                (point, survived) = (point + 1, survived + 1);
            }
        }
    }
    println!("{survived} losses of power survived");
    assert!(survived > 100, "{survived}");
}

fn undone_after(home: &Path, old: &Files, can_redo: bool, when: &str) {
    let (history, workspace) = open_project(home);
    if can_redo {
        let redone = history.redo(&workspace).expect("it can be written").expect("there is an undo");
        assert!(redone.refused.is_empty() && redone.done.len() > 4, "{when}: {redone:?}");
    }
    while let Some(outcome) = history.undo(&workspace).expect("it can be written") {
        assert!(outcome.refused.is_empty(), "{when}: {outcome:?}");
    }
    assert_eq!(&picture(home), old, "{when}");
}
