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
use toolfence_protocol::ErrorCode;
use toolfence_rules::PathRules;

struct Project {
    home: TempDir,
    history: Arc<History>,
    workspace: Arc<Workspace>,
}

impl Project {
    fn new() -> Project {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(home.path().join("root")).expect("a folder can be made");
        fs::create_dir(home.path().join("next")).expect("a folder can be made");
        let history = History::open(&home.path().join("undo"), Limits::default()).expect("there is randomness");
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

    /// A stash that makes the project what `next` is, and its paths.
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
                stash.put(root, &path, (folder.as_fd(), &name), replaces, since).expect("it can be planned");
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

/// Removes whatever is at a path.
fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).expect("it can be removed"),
        Ok(_) => fs::remove_file(path).expect("it can be removed"),
        Err(_) => {}
    }
}

/// Changes something in a tree, as a command might.
fn change(random: &mut Random, top: &Path) {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "out"];
    let is_root = rustix::process::geteuid().is_root();
    let path: PathBuf = (0..=random.below(3)).map(|_| *random.pick(&NAMES)).collect();
    let path = top.join(path);
    // One of the names can be a file or a link.
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
                // Others than root could not remove what is in such a folder.
                Ok(meta) if meta.is_dir() && is_root => &[0o755, 0o700, 0o555, 0o000][..],
                Ok(meta) if meta.is_dir() => &[0o755, 0o700],
                Ok(meta) if meta.is_file() => &[0o644, 0o600, 0o755, 0o400],
                _ => return,
            };
            fs::set_permissions(&path, Permissions::from_mode(*random.pick(modes))).expect("it is ours");
        }
    }
}

/// Changes what is at a path of a plan, as a user might while it is made.
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
                // It can be the name of a folder.
                let _ = project.workspace.changes().write(name, &random.text(&["tool\n", "more\n"], 9));
            }
            project.copy();
            (0..=random.below(12)).for_each(|_| change(&mut random, &project.next()));
            let expected = picture(&project.next());
            let since = project.moment();
            let (mut stash, _) = project.plan(&mut random, since);
            let uncovered = project.workspace.changes().exchange(&mut stash, &undoable);
            assert!(uncovered.expect("nothing else changes it").is_none(), "{seed}");
            stash.delete().expect("it can be deleted");
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
        let (mut stash, paths) = project.plan(&mut random, since);
        if paths.is_empty() {
            continue;
        }
        interfere(&root.join(random.pick(&paths)));
        let before = picture(&root);
        let turn = project.history.begin(&project.workspace, "a turn");
        let error = project.workspace.changes().exchange(&mut stash, &|_| true).expect_err("it was changed");
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
    let (mut stash, _) = project.plan(&mut Random::new(1), since);
    project.workspace.changes().exchange(&mut stash, &|_| true).expect("nothing else changes it");
    stash.delete().expect("it can be deleted");
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
    assert_eq!(names, ["changed", "folder", "folder/a", "folder/in", "folder/in/b", "made", "made/a"]);
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
    let (mut stash, _) = project.plan(&mut Random::new(1), since);
    project.workspace.changes().exchange(&mut stash, &|_| true).expect("nothing else changes it");
    let edit = |base| {
        let line = EditLines { start_line: 2, end_line: 2, replacement: "II\n".into() };
        project.workspace.changes().edit(&EditFile { base, ..EditFile::new("a", vec![line]) })
    };
    assert_eq!(edit(base).expect_err("it was changed").code, ErrorCode::Conflict);
    assert_eq!(fs::read_to_string(project.root().join("a")).expect("it is there"), "one\n2\n");
    edit(read()).expect("it is what was read");
    assert_eq!(fs::read_to_string(project.root().join("a")).expect("it is there"), "one\nII\n");
}

#[test]
fn what_undo_will_not_restore_is_reported() {
    let project = Project::new();
    project.put("root/folder/small", "old\n");
    let large = fs::File::create(project.root().join("folder/large")).expect("it can be made");
    large.set_len(11 << 20).expect("it can grow");
    drop(large);
    project.copy();
    clear(&project.next().join("folder"));
    project.put("next/made/.env", "SECRET=1\n");
    project.put("next/made/a", "new\n");
    project.put("next/made/out/built", "new\n");
    let large = fs::File::create(project.next().join("large")).expect("it can be made");
    large.set_len(11 << 20).expect("it can grow");
    drop(large);
    let turn = project.history.begin(&project.workspace, "a turn");
    let since = project.moment();
    let (mut stash, _) = project.plan(&mut Random::new(1), since);
    let uncovered = project.workspace.changes().exchange(&mut stash, &|path| !path.ends_with("out"));
    assert_eq!(
        uncovered.expect("nothing else changes it").map(|text| text.to_string()).as_deref(),
        Some(
            "Undo does not cover what the command changed here: folder/large (too large, or unreadable), large (too large, or \
             unreadable), made/.env (blocked)."
        )
    );
    stash.delete().expect("it can be deleted");
    turn.end();
    let kept = Command::new("grep").args(["-r", "SECRET"]).arg(project.home.path().join("undo")).output();
    assert_eq!(kept.expect("grep can be started").stdout, b"");
    let undone = project.undo();
    let mut refused: Vec<String> = undone.refused.iter().map(ToString::to_string).collect();
    refused.sort();
    let not_kept = "its content was not kept: too large, or not to be read";
    assert_eq!(
        refused,
        [
            format!("folder/large: {not_kept}"),
            format!("large: {not_kept}"),
            "made: there is something else in it by now".into()
        ]
    );
    let now = picture(&project.root());
    assert_eq!(now[Path::new("folder/small")], "644 old\n");
    assert!(!now.contains_key(Path::new("made/a")) && now.contains_key(Path::new("made/out/built")));
}

/// Makes folders one in the other, whose path is longer than any that the kernel takes, and a file in the last one.
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

/// The last of the folders, if they exist.
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
fn paths_that_are_longer_than_the_kernel_takes_are_undone() {
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
    stash.put(root, Path::new("new"), (next.as_fd(), "new".as_ref()), false, since).expect("it can be planned");
    stash.remove(root, Path::new("old"), since).expect("it can be planned");
    project.workspace.changes().exchange(&mut stash, &|_| true).expect("nothing else changes it");
    stash.delete().expect("it can be deleted");
    turn.end();
    for _ in 0..2 {
        assert!(!old.exists());
        assert_eq!(read_deep(&new).as_deref(), Some("text\n"));
        assert!(project.undo().refused.is_empty());
        assert!(!new.exists());
        assert_eq!(read_deep(&old).as_deref(), Some("text\n"));
        assert!(project.redo().refused.is_empty());
    }
    // What the user wrote there stays.
    write_deep(&deepest(&new).expect("it is there"), "by the user\n");
    assert_eq!(project.undo().refused.len(), 52);
    assert_eq!(read_deep(&new).as_deref(), Some("by the user\n"));
}

/// Nothing but another process can bring this about in a plan of a command; here the plan itself changes a folder that it has swapped.
#[test]
fn what_cannot_be_swapped_back_is_recorded() {
    let project = Project::new();
    project.put("next/made/in/x", "new\n");
    project.put("next/f", "new\n");
    project.put("next/taken", "new\n");
    let root = project.workspace.root();
    let since = project.moment();
    let mut stash = Stash::create(&project.place()).expect("a stash can be made");
    let next = open(&project.next());
    for (path, name) in [("made", "made"), ("made/in/f", "f"), ("taken", "taken")] {
        stash.put(root, Path::new(path), (next.as_fd(), name.as_ref()), false, since).expect("it can be planned");
    }
    project.put("root/taken", "by the user\n");
    let turn = project.history.begin(&project.workspace, "a turn");
    let error = project.workspace.changes().exchange(&mut stash, &|_| true).expect_err("a path is taken");
    turn.end();
    assert!(matches!(error, ExchangeError::Conflict(_)), "{error}");
    assert!(picture(&project.root()).contains_key(Path::new("made/in/x")));
    stash.delete().expect("it can be deleted");
    assert!(project.undo().refused.is_empty());
    let left: Vec<PathBuf> = picture(&project.root()).into_keys().collect();
    assert_eq!(left, [Path::new("taken")]);
}
