//! Exchanges are undone and redone like the changes of tools.

use crate::stash::tests::{Picture, picture};
use crate::stash::{ExchangeError, Moment, Stash};
use crate::undo::{History, Limits, Outcome};
use crate::{EditFile, EditLines, ReadFile, Stop, Workspace};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;
use toolfence_kit::Random;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::ErrorCode;

struct Project {
    home: TempDir,
    history: Arc<History>,
    workspace: Arc<Workspace>,
}

impl Project {
    fn new() -> Project {
        Project::with(Limits::default())
    }

    fn with(limits: Limits) -> Project {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(home.path().join("root")).expect("a folder can be made");
        fs::create_dir(home.path().join("next")).expect("a folder can be made");
        let history = History::open(&home.path().join("undo"), limits).expect("there is randomness");
        let history = Arc::new(history);
        let workspace = Workspace::open(home.path().join("root"), PathRules::default()).expect("it is a folder");
        let workspace = Arc::new(workspace.recorder(history.clone()));
        Project { home, history, workspace }
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("root")
    }

    fn next(&self) -> PathBuf {
        self.home.path().join("next")
    }

    fn put(&self, name: &str, text: &str) {
        write(&self.home.path().join(name), text);
    }

    /// Makes `next` a copy of the project.
    fn copy(&self) {
        let next = self.next();
        clear(&next);
        let copied = Command::new("cp").arg("-a").arg(self.root()).arg(&next).status().expect("cp can be started");
        assert!(copied.success());
    }

    fn moment(&self) -> Moment {
        Moment::next(&self.place()).expect("a file can be made")
    }

    fn place(&self) -> PathBuf {
        self.home.path().join("stashes")
    }

    /// Returns a stash that makes the project equal to `next`, and the paths that it changes.
    fn plan(&self, random: &mut Random, since: Moment) -> (Stash, Vec<PathBuf>) {
        let mut stash = Stash::create(&self.place()).expect("a stash can be made");
        let mut paths = Vec::new();
        self.plan_folder(&mut stash, random, since, Path::new(""), &mut paths);
        (stash, paths)
    }

    fn plan_folder(&self, stash: &mut Stash, random: &mut Random, since: Moment, at: &Path, paths: &mut Vec<PathBuf>) {
        let (root, now, next) = (self.workspace.root(), self.root(), self.next());
        let folder = open(&next.join(at));
        let mut names: Vec<_> = [now.join(at), next.join(at)]
            .iter()
            .flat_map(|folder| fs::read_dir(folder).expect("it is there"))
            .map(|entry| entry.expect("it can be read").file_name())
            .collect();
        names.sort();
        names.dedup();
        for name in names {
            let path = at.join(&name);
            let [old, new] = [&now, &next].map(|top| fs::symlink_metadata(top.join(&path)).ok());
            let mut put = |replaces| {
                stash.plan_entry(root, &path, (folder.as_fd(), &name), replaces, since).expect("it can be planned");
            };
            match (old, new) {
                (None, _) => put(false),
                (Some(_), None) => stash.remove(root, &path, since).expect("it can be planned"),
                (Some(old), Some(new)) if old.is_dir() && new.is_dir() && !random.once_in(8) => {
                    self.plan_folder(stash, random, since, &path, paths);
                    if old.mode() == new.mode() {
                        continue;
                    }
                    stash.set_mode(root, &path, new.mode()).expect("it can be planned");
                }
                _ if is_equal(&now.join(&path), &next.join(&path)) => continue,
                _ => put(true),
            }
            paths.push(path);
        }
    }

    /// Makes the project equal to `next`.
    fn exchange_next(&self) {
        let since = self.moment();
        let (stash, _) = self.plan(&mut Random::new(1), since);
        self.workspace.changes().exchange(stash, &|_| true).expect("nothing else changes it");
    }

    fn undo(&self) -> Outcome {
        self.history.undo(&self.workspace).expect("it can be undone").expect("there is a turn")
    }

    fn redo(&self) -> Outcome {
        self.history.redo(&self.workspace).expect("it can be redone").expect("there is an undo")
    }
}

fn open(folder: &Path) -> OwnedFd {
    rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it is a folder")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("folders can be made");
    fs::write(path, text).expect("it can be written");
}

fn is_equal(one: &Path, other: &Path) -> bool {
    let entry = |path: &Path| {
        let meta = fs::symlink_metadata(path).expect("it is there");
        let content = if meta.is_file() { fs::read(path).expect("it can be read") } else { Vec::new() };
        (meta.mode(), content, fs::read_link(path).ok())
    };
    let below = |path: &Path| if path.is_dir() && !path.is_symlink() { picture(path) } else { Picture::new() };
    entry(one) == entry(other) && below(one) == below(other)
}

/// Removes the entry at a path, if there is one.
fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).expect("it can be removed"),
        Ok(_) => fs::remove_file(path).expect("it can be removed"),
        Err(_) => {}
    }
}

/// Makes a random change in a tree, as a command might.
fn change(random: &mut Random, top: &Path) {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "out"];
    let is_root = rustix::process::geteuid().is_root();
    let path: PathBuf = (0..=random.below(3)).map(|_| *random.pick(&NAMES)).collect();
    let path = top.join(path);
    // A file or a link can be where a folder is needed.
    if fs::create_dir_all(path.parent().expect("it has one")).is_err() {
        return;
    }
    let text = random.text(&["one\n", "two\n", "ö"], 20);
    match random.below(7) {
        0 | 1 => {
            clear(&path);
            fs::write(&path, text).expect("it can be written");
        }
        2 => clear(&path),
        3 => {
            clear(&path);
            write(&path.join(random.pick(&NAMES)), &text);
        }
        4 => {
            clear(&path);
            symlink(random.pick(&["a", "nowhere/at/all", "../x"]), &path).expect("a link can be made");
        }
        _ => {
            let modes = match fs::symlink_metadata(&path) {
                // A user other than root could not remove the entries of a folder with the mode 555 or 000.
                Ok(meta) if meta.is_dir() && is_root => &[0o755, 0o700, 0o555, 0o000][..],
                Ok(meta) if meta.is_dir() => &[0o755, 0o700],
                Ok(meta) if meta.is_file() => &[0o644, 0o600, 0o755, 0o400],
                _ => return,
            };
            fs::set_permissions(&path, Permissions::from_mode(*random.pick(modes))).expect("it is ours");
        }
    }
}

/// Changes the entry at a path of a plan, as a user might while the plan is made.
fn interfere(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => {
            fs::set_permissions(path, Permissions::from_mode(0o711)).expect("it is ours");
            fs::write(path.join("user"), "user").expect("it can be written");
        }
        Ok(meta) if meta.is_file() => {
            fs::write(path, "by the user, and longer than anything else: ".repeat(9)).expect("it can be written");
        }
        _ => {
            clear(path);
            fs::write(path, "user").expect("it can be written");
        }
    }
}

#[test]
fn random_exchanges_are_undone_and_redone_byte_for_byte() {
    let mut exchanges = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let project = Project::new();
        let root = project.root();
        (0..30).for_each(|_| change(&mut random, &root));
        // In half of the rounds, git ignores a folder.
        let undoable = |path: &Path| seed % 2 == 0 || !path.starts_with("out");
        let covered = || -> Picture { picture(&root).into_iter().filter(|(path, _)| undoable(path)).collect() };
        let before = covered();
        let turn = project.history.begin(&project.workspace, "a turn");
        for _ in 0..=random.below(3) {
            for _ in 0..random.below(4) {
                let name = *random.pick(&["a/b", "b", "c/d/a", "tool/a", "a"]);
                // The name can be that of a folder; then nothing is written.
                let _ = project.workspace.changes().write(name, &random.text(&["tool\n", "more\n"], 9));
            }
            project.copy();
            (0..=random.below(12)).for_each(|_| change(&mut random, &project.next()));
            let expected = picture(&project.next());
            let since = project.moment();
            let (stash, _) = project.plan(&mut random, since);
            project.workspace.changes().exchange(stash, &undoable).expect("nothing else changes it");
            assert_eq!(picture(&root), expected, "{seed}");
            exchanges += 1;
        }
        let _ = project.workspace.changes().write("c/b", "the last\n");
        turn.end();
        let after = covered();
        if before == after {
            continue;
        }
        for _ in 0..2 {
            let undone = project.undo();
            assert!(undone.refused.is_empty(), "{seed}: {:?}", undone.refused);
            assert_eq!(covered(), before, "{seed}");
            let redone = project.redo();
            assert!(redone.refused.is_empty(), "{seed}: {:?}", redone.refused);
            assert_eq!(covered(), after, "{seed}");
        }
    }
    println!("{exchanges} exchanges");
}

#[test]
fn a_refused_exchange_changes_and_records_nothing() {
    let mut refused = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let project = Project::new();
        let root = project.root();
        (0..30).for_each(|_| change(&mut random, &root));
        project.copy();
        (0..10).for_each(|_| change(&mut random, &project.next()));
        let since = project.moment();
        let (stash, paths) = project.plan(&mut random, since);
        if paths.is_empty() {
            continue;
        }
        interfere(&root.join(random.pick(&paths)));
        let before = picture(&root);
        let turn = project.history.begin(&project.workspace, "a turn");
        let error = project.workspace.changes().exchange(stash, &|_| true).expect_err("it was changed");
        turn.end();
        assert!(matches!(error, ExchangeError::Conflict(_)), "{seed}: {error}");
        assert_eq!(picture(&root), before, "{seed}");
        assert!(project.history.list(&project.workspace).expect("it can be read").is_empty(), "{seed}");
        refused += 1;
    }
    assert!(refused > 40, "{refused}");
}

#[test]
fn undo_skips_what_another_process_changed_since() {
    let project = Project::new();
    for name in ["root/folder/a", "root/folder/in/b", "root/file", "root/changed"] {
        project.put(name, "old\n");
    }
    project.copy();
    clear(&project.next().join("folder"));
    project.put("next/made/a", "new\n");
    project.put("next/made/b", "new\n");
    project.put("next/changed", "new\n");
    clear(&project.next().join("file"));
    project.put("next/file/in", "new\n");
    let turn = project.history.begin(&project.workspace, "a turn");
    let since = project.moment();
    let (stash, _) = project.plan(&mut Random::new(1), since);
    project.workspace.changes().exchange(stash, &|_| true).expect("nothing else changes it");
    turn.end();
    project.put("root/changed", "by the user\n");
    project.put("root/made/a", "by the user\n");
    project.put("root/folder", "by the user\n");
    let undone = project.undo();
    let refused: Vec<String> = undone.refused.iter().map(ToString::to_string).collect();
    let now = picture(&project.root());
    assert_eq!(now[Path::new("changed")], "644 by the user\n", "{refused:?}");
    assert_eq!(now[Path::new("made/a")], "644 by the user\n", "{refused:?}");
    assert_eq!(now[Path::new("folder")], "644 by the user\n", "{refused:?}");
    assert_eq!(now[Path::new("file")], "644 old\n", "{refused:?}");
    assert!(!now.contains_key(Path::new("made/b")));
    let mut names: Vec<&str> = undone.refused.iter().map(|refused| refused.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["changed", "folder", "made", "made/a"]);
}

#[test]
fn a_file_that_was_read_before_an_exchange_is_edited_only_after_it_is_read_again() {
    let project = Project::new();
    project.put("root/a", "one\ntwo\n");
    let read =
        || project.workspace.files().read(&ReadFile::new("a"), &Stop::default()).expect("it can be read").version;
    let base = read();
    assert!(base.is_some());
    project.copy();
    project.put("next/a", "one\n2\n");
    let since = project.moment();
    let (stash, _) = project.plan(&mut Random::new(1), since);
    project.workspace.changes().exchange(stash, &|_| true).expect("nothing else changes it");
    let edit = |base| {
        let line = EditLines { start_line: 2, end_line: 2, replacement: "II\n".into() };
        project.workspace.changes().edit(&EditFile { base, ..EditFile::new("a", vec![line]) })
    };
    assert_eq!(edit(base).expect_err("it was changed").code, ErrorCode::Conflict);
    assert_eq!(fs::read_to_string(project.root().join("a")).expect("it is there"), "one\n2\n");
    edit(read()).expect("it is what was read");
    assert_eq!(fs::read_to_string(project.root().join("a")).expect("it is there"), "one\nII\n");
}

/// The file exceeds all limits for contents, so it is not compared by its bytes.
#[test]
fn files_of_any_size_are_moved_back() {
    let project = Project::new();
    let large = |name: &str, bytes: u64| {
        fs::File::create(project.home.path().join(name)).expect("it can be made").set_len(bytes).expect("it can grow");
    };
    project.put("root/folder/small", "old\n");
    large("root/folder/large", 80 << 20);
    large("root/replaced", 90 << 20);
    project.copy();
    clear(&project.next().join("folder"));
    large("next/replaced", 70 << 20);
    large("next/new", 70 << 20);
    let turn = project.history.begin(&project.workspace, "a turn");
    project.exchange_next();
    turn.end();
    let sizes = || {
        ["folder/large", "replaced", "new"]
            .map(|name| fs::metadata(project.root().join(name)).ok().map(|meta| meta.len() >> 20))
    };
    for _ in 0..2 {
        assert_eq!(sizes(), [None, Some(70), Some(70)]);
        assert_eq!(project.undo().refused, []);
        assert_eq!(sizes(), [Some(80), Some(90), None]);
        assert_eq!(project.redo().refused, []);
    }
    let kept = Command::new("du").arg("-s").arg(project.home.path().join("undo")).output().expect("du can be started");
    let kept = String::from_utf8(kept.stdout).expect("it is text");
    assert!(
        kept.split('\t').next().and_then(|kept| kept.parse::<u64>().ok()).is_some_and(|kept| kept < 1000),
        "{kept}"
    );
}

#[test]
fn a_removed_folder_is_one_move_and_is_moved_back() {
    let project = Project::new();
    (0..300).for_each(|number| project.put(&format!("root/many/{}/{number}", number % 7), "x"));
    project.put("root/kept", "x");
    project.copy();
    clear(&project.next().join("many"));
    let inode = || fs::metadata(project.root().join("many/3/3")).expect("it is there").ino();
    let before = inode();
    let turn = project.history.begin(&project.workspace, "a turn");
    project.exchange_next();
    turn.end();
    assert!(!project.root().join("many").exists());
    let undone = project.undo();
    assert_eq!(undone.done.iter().map(ToString::to_string).collect::<Vec<_>>(), ["many: restored"]);
    assert_eq!(inode(), before, "it is the same file");
    assert_eq!(project.redo().done.len(), 1);
    assert!(!project.root().join("many").exists());
}

/// Entries that were added to a new folder since stay in it, and the rest of the folder is removed.
#[test]
fn a_new_folder_in_use_keeps_only_new_entries() {
    let project = Project::new();
    project.copy();
    for name in ["next/made/a", "next/made/deep/b", "next/made/deep/c"] {
        project.put(name, "new\n");
    }
    let turn = project.history.begin(&project.workspace, "a turn");
    project.exchange_next();
    turn.end();
    project.put("root/made/deep/user", "by the user\n");
    project.put("root/made/deep/c", "by the user\n");
    let would = project.history.would_undo(&project.workspace, 1).expect("it can be read").remove(0);
    let undone = project.undo();
    assert_eq!((&would.done, &would.refused), (&undone.done, &undone.refused));
    let names = |outcome: &Outcome| {
        let mut refused: Vec<String> = outcome.refused.iter().map(ToString::to_string).collect();
        refused.sort();
        (outcome.done.iter().map(|done| done.name.clone()).collect::<Vec<_>>(), refused)
    };
    let in_use = |name: &str| format!("{name}: there is something else in it by now");
    let refused = vec!["made/deep/c: it was changed since".into(), in_use("made/deep"), in_use("made")];
    assert_eq!(names(&undone), (vec!["made/a".to_owned(), "made/deep/b".to_owned()], refused));
    let left: Vec<PathBuf> = picture(&project.root()).into_keys().collect();
    assert_eq!(left, ["made", "made/deep", "made/deep/c", "made/deep/user"].map(PathBuf::from));
    assert_eq!(project.redo().refused, []);
    assert_eq!(picture(&project.root())[Path::new("made/deep/b")], "644 new\n");
    assert_eq!(picture(&project.root())[Path::new("made/deep/c")], "644 by the user\n");
}

/// Turns of tools and of commands change the same files. Each is undone and redone in order.
#[test]
fn later_turns_in_a_moved_folder_do_not_block_undo() {
    let project = Project::new();
    project.put("root/old/a", "old\n");
    project.put("root/old/b", "old\n");
    let write =
        |name: &str, text: &str| drop(project.workspace.changes().write(name, text).expect("it can be written"));
    let turn = |act: &dyn Fn()| {
        let turn = project.history.begin(&project.workspace, "a turn");
        act();
        turn.end();
        picture(&project.root())
    };
    let mut pictures = vec![picture(&project.root())];
    pictures.push(turn(&|| write("old/a", "edited\n")));
    pictures.push(turn(&|| {
        project.copy();
        clear(&project.next().join("old"));
        project.put("next/new/a", "one\n");
        project.put("next/new/b", "one\n");
        project.exchange_next();
    }));
    pictures.push(turn(&|| write("new/a", "two\n")));
    pictures.push(turn(&|| {
        project.copy();
        project.put("next/new/b", "three\n");
        project.exchange_next();
    }));
    for _ in 0..2 {
        for picture_before in pictures.iter().rev().skip(1) {
            assert_eq!(project.undo().refused, []);
            assert_eq!(&picture(&project.root()), picture_before);
        }
        for picture_after in pictures.iter().skip(1) {
            assert_eq!(project.redo().refused, []);
            assert_eq!(&picture(&project.root()), picture_after);
        }
    }
    let would = project.history.would_undo(&project.workspace, 4).expect("it can be read");
    let done: Vec<Vec<String>> =
        would.iter().map(|outcome| outcome.done.iter().map(ToString::to_string).collect()).collect();
    assert!(would.iter().all(|outcome| outcome.refused.is_empty()), "{would:?}");
    assert_eq!(
        done,
        [
            vec!["new/b: changed back"],
            vec!["new/a: changed back"],
            vec!["new: removed", "old: restored"],
            vec!["old/a: changed back"]
        ]
    );
}

#[test]
fn the_oldest_stashes_go_when_they_take_too_much_room() {
    let project = Project::with(Limits { bytes: 1 << 20, ..Limits::default() });
    let exchange = |text: &str| {
        let turn = project.history.begin(&project.workspace, "a turn");
        project.copy();
        project.put("next/file", &text.repeat(400 << 10));
        project.exchange_next();
        turn.end();
    };
    ["a", "b", "c", "d", "e"].iter().for_each(|text| exchange(text));
    assert_eq!(project.history.list(&project.workspace).expect("it can be read").len(), 2);
    assert_eq!(fs::read_dir(project.place()).expect("it is there").count(), 2);
    // The newest turn is kept, whatever it replaced.
    exchange(&"long".repeat(10));
    exchange("f");
    assert_eq!(project.history.list(&project.workspace).expect("it can be read").len(), 1);
    assert_eq!(fs::read_dir(project.place()).expect("it is there").count(), 1);
    assert_eq!(project.undo().refused, []);
    let long = fs::metadata(project.root().join("file")).expect("it is there").len();
    assert_eq!(long, 40 * (400 << 10));
}

#[test]
fn a_difference_shows_the_contents_of_exchanged_files() {
    let project = Project::new();
    project.put("root/a", "one\ntwo\n");
    project.put("root/gone/x", "x\n");
    project.copy();
    project.put("next/a", "one\n2\n");
    clear(&project.next().join("gone"));
    project.put("next/made/y", "y\n");
    let turn = project.history.begin(&project.workspace, "a turn");
    project.exchange_next();
    project.workspace.changes().write("made/y", "yy\n").expect("it can be written");
    turn.end();
    let text = |turns: usize| -> String {
        let differences = project.history.diff(&project.workspace, turns).expect("it can be read");
        differences.iter().map(|difference| difference.text.to_string()).collect()
    };
    let rest = "Folder gone was removed.\n--- a/gone/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\nFolder made was made.\n--- /dev/null\n+++ \
                b/made/y\n@@ -0,0 +1 @@\n+yy\n";
    assert_eq!(text(1), format!("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n{rest}"));
    project.put("root/a", "by the user\n");
    project.put("root/made/user", "by the user\n");
    let since = "a has changed since; this is its current content.\n";
    assert_eq!(text(1), format!("{since}--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-one\n-two\n+by the user\n{rest}"));
}

/// Creates nested folders whose path is longer than the kernel accepts, and a file in the innermost one.
fn make_deep(folder: &Path, text: &str) {
    let mut here = open(folder);
    for _ in 0..50 {
        rustix::fs::mkdirat(&here, deep_name(), Mode::from(0o755)).expect("a folder can be made");
        here = rustix::fs::openat(&here, deep_name(), OFlags::RDONLY, Mode::empty()).expect("it is there");
    }
    write_deep(&here, text);
}

fn deep_name() -> String {
    "d".repeat(200)
}

fn write_deep(folder: &OwnedFd, text: &str) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let file = rustix::fs::openat(folder, "file", flags, Mode::from(0o644)).expect("it can be made");
    rustix::io::write(&file, text.as_bytes()).expect("it can be written");
}

/// Opens the innermost of the nested folders, if they exist.
fn deepest(folder: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = rustix::fs::open(folder, flags, Mode::empty()).ok()?;
    for _ in 0..50 {
        here = rustix::fs::openat(&here, deep_name(), flags, Mode::empty()).ok()?;
    }
    Some(here)
}

fn read_deep(folder: &Path) -> Option<String> {
    let file = rustix::fs::openat(deepest(folder)?, "file", OFlags::RDONLY, Mode::empty()).ok()?;
    std::io::read_to_string(fs::File::from(file)).ok()
}

#[test]
fn paths_longer_than_the_kernel_accepts_are_undone() {
    let project = Project::new();
    let (old, new) = (project.root().join("old"), project.root().join("new"));
    for folder in [&old, &project.next().join("new")] {
        fs::create_dir(folder).expect("a folder can be made");
        make_deep(folder, "text\n");
    }
    let root = project.workspace.root();
    let turn = project.history.begin(&project.workspace, "a turn");
    let since = project.moment();
    let mut stash = Stash::create(&project.place()).expect("a stash can be made");
    let next = open(&project.next());
    stash.plan_entry(root, Path::new("new"), (next.as_fd(), "new".as_ref()), false, since).expect("it can be planned");
    stash.remove(root, Path::new("old"), since).expect("it can be planned");
    project.workspace.changes().exchange(stash, &|_| true).expect("nothing else changes it");
    turn.end();
    for _ in 0..2 {
        assert!(!old.exists());
        assert_eq!(read_deep(&new).as_deref(), Some("text\n"));
        assert!(project.undo().refused.is_empty());
        assert!(!new.exists());
        assert_eq!(read_deep(&old).as_deref(), Some("text\n"));
        assert!(project.redo().refused.is_empty());
    }
    // A change of the user in the innermost folder stays.
    write_deep(&deepest(&new).expect("it is there"), "by the user\n");
    assert_eq!(project.undo().refused.len(), 52);
    assert_eq!(read_deep(&new).as_deref(), Some("by the user\n"));
}

/// The plan has a swap inside of a folder that an earlier swap creates.
#[test]
fn a_refused_exchange_that_changed_its_own_folder_is_reverted() {
    let project = Project::new();
    project.put("next/made/in/x", "new\n");
    project.put("next/f", "new\n");
    project.put("next/taken", "new\n");
    let root = project.workspace.root();
    let since = project.moment();
    let mut stash = Stash::create(&project.place()).expect("a stash can be made");
    let next = open(&project.next());
    for (path, name) in [("made", "made"), ("made/in/f", "f"), ("taken", "taken")] {
        stash
            .plan_entry(root, Path::new(path), (next.as_fd(), name.as_ref()), false, since)
            .expect("it can be planned");
    }
    project.put("root/taken", "by the user\n");
    let turn = project.history.begin(&project.workspace, "a turn");
    let error = project.workspace.changes().exchange(stash, &|_| true).expect_err("a path is taken");
    turn.end();
    assert!(matches!(error, ExchangeError::Conflict(_)), "{error}");
    let left: Vec<PathBuf> = picture(&project.root()).into_keys().collect();
    assert_eq!(left, [Path::new("taken")]);
    assert!(project.history.list(&project.workspace).expect("it can be read").is_empty());
    assert_eq!(fs::read_dir(project.place()).expect("it is there").count(), 0);
}
