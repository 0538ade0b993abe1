//! Temporary projects, and snapshots of trees of files as text.

use crate::program::{Program, Ran};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A project in a temporary folder, with a home and a folder outside that nothing may touch. Dropping it removes all of
/// them.
#[derive(Debug)]
pub struct Project {
    _folder: TempDir,
    /// The path of the project, without symbolic links.
    pub root: PathBuf,
    /// A folder outside the project, with a file `private.txt`.
    pub beside: PathBuf,
    /// The home of the user, which contains the settings and the state of programs.
    pub home: PathBuf,
}

impl Default for Project {
    fn default() -> Project {
        Project::new()
    }
}

impl Project {
    /// Creates an empty project.
    pub fn new() -> Project {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let top = folder.path().canonicalize().expect("it is there");
        let [root, beside, home] = ["project", "beside", "home"].map(|name| {
            let path = top.join(name);
            fs::create_dir(&path).expect("a folder can be created");
            path
        });
        fs::write(beside.join("private.txt"), "OUTSIDE\n").expect("a file can be written");
        Project { _folder: folder, root, beside, home }
    }

    /// Creates a project in a folder of the caller, which is not removed with the project.
    pub fn at_root(root: PathBuf) -> Project {
        Project { root, ..Project::new() }
    }

    /// Creates another project with the same home.
    pub fn another(&self) -> Project {
        Project { home: self.home.clone(), ..Project::new() }
    }

    /// Returns the full path of a name in the project.
    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file and creates the folders above it.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.at(path), content.as_ref());
    }

    /// Writes a file in the home and creates the folders above it.
    pub fn file_at_home(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.home.join(path), content.as_ref());
    }

    /// Writes replies for the backend `replay` and returns the path of that file.
    pub fn replies(&self, replies: &[&str]) -> String {
        let recording: String = replies.iter().map(|reply| format!("%%% reply\n{reply}\n")).collect();
        self.file_at_home("replies", recording);
        self.home.join("replies").into_os_string().into_string().expect("temporary folders have UTF-8 names")
    }

    /// Runs a program in the project with this input.
    pub fn run(&self, program: &str, args: &[&str], input: &str) -> Ran {
        Program::new(program, &self.home).args(args).run(&self.root, input)
    }

    /// Creates a symbolic link.
    #[cfg(unix)]
    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.at(path)).expect("a link can be created");
    }

    /// Returns the content of a file.
    pub fn content(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).expect("the file is there, and is text")
    }
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("it is below a folder")).expect("a folder can be created");
    fs::write(path, content).expect("a file can be written");
}

/// A snapshot of a folder: each path with its kind, mode, and content or target. Bytes that are not text are escaped,
/// so that equal snapshots mean equal trees.
pub type Picture = BTreeMap<PathBuf, String>;

/// Removes a file and creates another one under the same name. The new file gets the old inode number if the file
/// system reuses numbers soon.
pub fn made_anew(file: &Path, content: &str) {
    let number = |path: &Path| fs::metadata(path).expect("it is there").ino();
    let before = number(file);
    fs::remove_file(file).expect("it can be removed");
    let spares: Vec<PathBuf> = (0..50).map(|count| file.with_file_name(format!("spare-{count}"))).collect();
    let is_it = |spare: &&PathBuf| {
        fs::write(spare, content).expect("a file can be written");
        let is_it = number(spare) == before;
        if !is_it {
            std::thread::sleep(Duration::from_millis(2));
        }
        is_it
    };
    let found = spares.iter().find(is_it).unwrap_or(&spares[0]);
    fs::rename(found, file).expect("it can be renamed");
    for spare in &spares {
        let _ = fs::remove_file(spare);
    }
}

/// Takes a snapshot of a folder.
pub fn picture(root: &Path) -> Picture {
    let mut all = Picture::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let facts = fs::symlink_metadata(&path).expect("it is there");
            let mode = mode(&facts);
            let text = if facts.is_symlink() {
                format!("link to {}", fs::read_link(&path).expect("it is a link").display())
            } else if facts.is_dir() {
                pending.push(path.clone());
                format!("folder {mode:o}")
            } else if facts.is_file() {
                let content = fs::read(&path).expect("it can be read");
                format!("file {mode:o} {}", content.escape_ascii())
            } else {
                format!("special {mode:o}")
            };
            all.insert(path.strip_prefix(root).expect("it is below").to_owned(), text);
        }
    }
    all
}

#[cfg(unix)]
fn mode(facts: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&facts.permissions())
}

#[cfg(not(unix))]
fn mode(facts: &fs::Metadata) -> u32 {
    if facts.permissions().readonly() { 0o444 } else { 0o644 }
}
