//! The hands: what the workspace opens and refuses, what the tools answer, what a command leaves behind.

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
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolfence::policy::PathRules;
use toolfence::sandbox::{Mode, Settings};
use toolfence::tools::CommandRunner;
use toolfence::workspace::Workspace;

/// A project with everything a path can meet, and a folder beside it that nothing may touch.
struct Place {
    _home: tempfile::TempDir,
    root: PathBuf,
    beside: PathBuf,
}

impl Place {
    fn new() -> Place {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let (root, beside) = (home.path().join("project"), home.path().join("beside"));
        fs::create_dir_all(&root).expect("a folder can be made");
        fs::create_dir_all(&beside).expect("a folder can be made");
        fs::write(beside.join("private.txt"), "OUTSIDE\n").expect("a file can be written");
        Place { _home: home, root, beside }
    }

    /// With links of every kind, a FIFO, a socket, secrets and a repository.
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

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("a folder can be made");
        fs::write(path, content).expect("a file can be written");
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.at(path)).expect("a link can be made");
    }

    fn workspace(&self) -> Workspace {
        Workspace::open(&self.root, PathRules::default()).expect("the root is there")
    }

    fn runner(&self) -> CommandRunner {
        runner(self.workspace())
    }

    fn content(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.at(path)).expect("the file is there")).expect("it is UTF-8")
    }
}

/// Without a sandbox, but not without a supervisor that holds what a command starts.
fn runner(workspace: Workspace) -> CommandRunner {
    let settings = Settings::new().mode(Mode::Off).helper(env!("CARGO_BIN_EXE_toolfence-sandbox"));
    CommandRunner::new(Arc::new(workspace), settings)
}

/// Every name, kind, mode and byte below a folder: two trees are the same when these are.
fn picture(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut lines = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let meta = fs::symlink_metadata(&path).expect("it is there");
            let content = match meta.file_type() {
                kind if kind.is_file() => format!("{:?}", fs::read(&path).expect("it can be read")),
                kind if kind.is_symlink() => format!("{:?}", fs::read_link(&path).expect("it is a link")),
                _ => String::new(),
            };
            lines.push(format!("{} {:o} {content}", path.display(), meta.permissions().mode()));
            if meta.is_dir() {
                pending.push(path);
            }
        }
    }
    lines.sort();
    lines
}
