//! Tests the file tools, the paths that the workspace refuses, and the processes that a command leaves running.

mod answers;
mod cases;
mod checks;
mod edit;
mod hostile;
mod patch;
mod paths;
mod process;
mod races;
mod read;
mod search;
mod trees;
mod write;

use std::fs;
use std::ops::Deref;
use std::sync::Arc;
use toolfence_kit::{Project, picture};
use toolfence_policy::rules::PathRules;
use toolfence_sandbox::isolation::{Mode, Settings};
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;

/// A project, and what the tools need to work on it.
struct Place(Project);

impl Deref for Place {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Place {
    fn new() -> Place {
        Place(Project::new())
    }

    /// Creates a project with links of every kind, a FIFO, a socket, secrets and a repository.
    fn full() -> Place {
        let place = Place::new();
        place.file("src/main.rs", "fn main() {}\n");
        place.file("src/lib.rs", "pub fn f() {}\n");
        place.file(".env", "KEY=SECRETVALUE\n");
        place.file("sub/.env.local", "KEY=SECRETVALUE\n");
        place.file("UPPER/.ENV", "KEY=SECRETVALUE\n");
        place.file(".git/config", "[core]\n");
        place.file("plain.txt", "plain\n");
        fs::hard_link(place.at(".env"), place.at("innocent.txt")).expect("a hard link can be made");
        place.link("/etc", "etc");
        place.link("../beside/private.txt", "up.txt");
        place.link("chain2", "chain1");
        place.link("chain3", "chain2");
        place.link("../beside", "chain3");
        place.link(place.at("src"), "abs");
        place.link(place.at("src/main.rs"), "abs_file");
        place.link("loop_b", "loop_a");
        place.link("loop_a", "loop_b");
        place.link("/dev/zero", "zero");
        place.link("/proc/self/root/etc", "magic");
        place.link(".env", "notes.txt");
        place.link("nowhere/at/all", "dangling");
        place.link("src", "rel");
        rustix::fs::mknodat(rustix::fs::CWD, place.at("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a FIFO can be made");
        std::os::unix::net::UnixListener::bind(place.at("socket")).expect("a socket can be made");
        place
    }

    fn workspace(&self) -> Workspace {
        Workspace::open(&self.root, PathRules::default()).expect("the root is there")
    }

    fn runner(&self) -> CommandRunner {
        runner(self.workspace())
    }
}

/// Creates a runner without a sandbox, but with a supervisor that ends all processes of a command.
fn runner(workspace: Workspace) -> CommandRunner {
    let settings = Settings::new().mode(Mode::Off).helper(env!("CARGO_BIN_EXE_coder"));
    CommandRunner::new(Arc::new(workspace), settings)
}
