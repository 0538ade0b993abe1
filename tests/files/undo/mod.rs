//! Tests recording and undoing the changes of turns.

#[cfg(target_os = "linux")]
mod attributes;
mod cases;
mod disk;
mod hostile;
mod laws;
mod program;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use toolfence_kit::{Picture, picture};
use toolfence_policy::rules::PathRules;
use toolfence_workspace::Workspace;
use toolfence_workspace::stash::{Moment, Stash};
use toolfence_workspace::undo::{History, Limits, Outcome};

/// A project and its history in another folder.
struct Place {
    home: tempfile::TempDir,
    history: Arc<History>,
    workspace: Arc<Workspace>,
}

impl Place {
    fn new() -> Place {
        Place::with(Limits::default())
    }

    fn with(limits: Limits) -> Place {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(home.path().join("project")).expect("a folder can be made");
        let (history, workspace) = opened(home.path(), limits);
        Place { home, history, workspace }
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Opens the project and its history again, as another process would.
    fn reopen(&mut self) {
        (self.history, self.workspace) = opened(self.home.path(), Limits::default());
    }

    /// Runs a command on a copy of the project and keeps its changes, as the tools do.
    fn bash(&self, script: &str) {
        let (next, stashes) = (self.home.path().join("next"), self.home.path().join("stashes"));
        let _ = fs::remove_dir_all(&next);
        let copied = Command::new("cp").arg("-a").arg(self.root()).arg(&next).status();
        assert!(copied.is_ok_and(|status| status.success()));
        let since = Moment::next(&stashes).expect("a file can be made");
        run(&next, script);
        let mut stash = Stash::create(&stashes).expect("a stash can be made");
        self.plan(&mut stash, since, Path::new(""));
        self.workspace.changes().exchange(stash, &|_| true).expect("nothing else changes it");
    }

    /// Plans the changes that make a folder of the project equal to that of the copy.
    fn plan(&self, stash: &mut Stash, since: Moment, at: &Path) {
        let (root, next) = (self.workspace.root(), self.home.path().join("next"));
        let folders = [self.root().join(at), next.join(at)];
        let folder = fs::File::open(&folders[1]).expect("it is there");
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("it is there"));
        let names: BTreeSet<OsString> = entries.map(|entry| entry.expect("it can be read").file_name()).collect();
        for name in names {
            let path = at.join(&name);
            let [old, new] = [self.root(), next.clone()].map(|top| fs::symlink_metadata(top.join(&path)).ok());
            match (old, new) {
                (Some(_), None) => stash.remove(root, &path, since),
                (Some(old), Some(new)) if old.is_dir() && new.is_dir() => {
                    self.plan(stash, since, &path);
                    if old.mode() == new.mode() {
                        continue;
                    }
                    stash.set_mode(root, &path, new.mode())
                }
                (Some(old), Some(new)) if is_equal(&self.root().join(&path), &old, &next.join(&path), &new) => continue,
                (old, _) => stash.plan_entry(root, &path, (folder.as_fd(), &name), old.is_some(), since),
            }
            .expect("it can be planned");
        }
    }

    fn turn(&self, act: impl FnOnce()) {
        let turn = self.history.begin(&self.workspace, "a turn");
        act();
        turn.end();
    }

    fn undo(&self) -> Outcome {
        self.history.undo(&self.workspace).expect("it can be written").expect("there is a turn")
    }

    fn redo(&self) -> Outcome {
        self.history.redo(&self.workspace).expect("it can be written").expect("there is an undo")
    }

    fn write(&self, path: &str, content: &str) {
        self.workspace.changes().write(path, content).expect("it can be written");
    }

    fn picture(&self) -> Picture {
        picture(&self.root())
    }
}

fn opened(home: &Path, limits: Limits) -> (Arc<History>, Arc<Workspace>) {
    let root = home.join("project");
    let history = History::open(&History::folder(&home.join("state"), &root), limits);
    let history = Arc::new(history.expect("there is randomness"));
    let workspace = Workspace::open(&root, PathRules::default()).expect("it is a folder").recorder(history.clone());
    (history, Arc::new(workspace))
}

fn is_equal(path: &Path, one: &Metadata, other_path: &Path, other: &Metadata) -> bool {
    let content = |path: &Path, metadata: &Metadata| match metadata.is_symlink() {
        true => fs::read_link(path).map(|target| target.into_os_string().into_encoded_bytes()),
        false => fs::read(path),
    };
    one.mode() == other.mode() && content(path, one).ok() == content(other_path, other).ok()
}

fn run(root: &Path, script: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.status().expect("bash can be started");
}
