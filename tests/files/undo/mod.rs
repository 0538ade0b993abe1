//! What turns changed, and taking it back.

#[cfg(target_os = "linux")]
mod attributes;
mod cases;
mod coverage;
mod disk;
mod hostile;
mod laws;
#[cfg(feature = "cli")]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use toolfence::parts::files::Stop;
use toolfence::policy::PathRules;
use toolfence::program::workspace::Recorder;
use toolfence::undo::{History, Limits, Outcome};
use toolfence::workspace::Workspace;
use toolfence_kit::{Picture, picture};

/// A project with a history beside it.
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

    /// Opens the project and its history again, as another program would see them.
    fn again(&mut self) {
        (self.history, self.workspace) = opened(self.home.path(), Limits::default());
    }

    /// Runs a command as the tools do it, apart from the sandbox.
    fn bash(&self, script: &str) {
        self.history.command_begins(self.workspace.root(), &Stop::default());
        run(&self.root(), script);
        self.history.command_ended(self.workspace.root(), &Stop::default());
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

/// Does something as a command would.
#[cfg(target_os = "linux")]
fn commands(place: &Place, act: impl FnOnce()) {
    place.history.command_begins(place.workspace.root(), &Stop::default());
    act();
    place.history.command_ended(place.workspace.root(), &Stop::default());
}

fn run(root: &Path, script: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.status().expect("bash can be started");
}
