//! The only place where a model's string becomes a file, and what turns changed, kept so that it can be taken back.
//!
//! A [`Workspace`] holds the descriptor of one root. Every path is resolved below it, checked again on the open descriptor,
//! and never used a second time. It also says what the walls have to hide of the project, and [`undo`] keeps what every turn
//! changed. This crate knows no tools, no protocol and no runtime: its functions block. It judges files, not calls.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

mod attributes;
mod changes;
mod diff;
mod facts;
mod fault;
mod files;
mod masks;
pub mod names;
mod overflow_file;
mod programs;
mod root;
mod state;
pub mod undo;
mod version;

pub use attributes::Attributes;
pub use changes::draft::Draft;
pub use changes::edit::{EditFile, EditLines, ReplaceText};
pub use changes::patch::{Patched, PatchedFile};
pub use changes::record::{Command, Recorder};
pub use changes::write::Written;
pub use files::list::{Entry, EntryKind, ListFiles, Listing};
pub use files::read::{FileText, ReadFile, ReadLimits, Total};
pub use files::search::{Found, SearchFiles, SearchLine};
pub use masks::{Access, Hooks, Looked, MaskSet, Withheld};
pub use masks::{Configurations, Guarded, Running, Unmasked};
pub use names::quoted;
pub use state::{Change, Digest, Stamp, State};
pub use undo::restore::Refusal;
pub use undo::snapshot::{Coverage, LeftOut, Snapshot, SnapshotLimits};
pub use version::Version;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use toolfence_git as git;
use toolfence_git::Git;
use toolfence_protocol::{Error, Result, ToolFailure};
use toolfence_rules::PathRules;
use toolfence_sandbox::walls::{Enclosure, Settings};

/// Must be the first thing that a `main` does whose program raises its own walls. It comes back where the program was
/// started by a person; where it was started as the helper, it becomes the command and ends with it.
pub fn enter_if_asked() {
    toolfence_sandbox::walls::enter_if_asked(masks::settle_for_a_host);
}

/// One project: its root as an open folder, and the rules about names in it.
#[derive(Debug)]
pub struct Workspace {
    root: OwnedFd,
    canonical: PathBuf,
    given: PathBuf,
    rules: PathRules,
    search_path: OsString,
    walls: Settings,
    enclosure: OnceLock<Enclosure>,
    memory: masks::Memory,
    history: OnceLock<Arc<facts::history::History>>,
    git: OnceLock<Option<Git>>,
    git_memory: git::config::Memory,
    notices: Vec<String>,
    settler: OnceLock<Option<masks::Settler>>,
    recorder: Option<Arc<dyn Recorder>>,
}

impl Workspace {
    /// Opens the root once; it stays the same folder even if it is renamed. What changes left behind whose process was
    /// killed is taken away, and so is what a command planted for git whose host was killed: see
    /// [`Workspace::notices`].
    ///
    /// # Errors
    /// A root that does not exist, is no folder, or may not be read.
    pub fn open(root: impl AsRef<Path>, rules: PathRules) -> Result<Workspace> {
        let root = root.as_ref();
        let doing = || format!("open the project root {}", root.display());
        let canonical = root.canonicalize().map_err(|cause| Error::because(doing(), cause))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&canonical, flags, Mode::empty()).map_err(|cause| Error::because(doing(), cause))?;
        let given = absolute(root).map_err(|cause| Error::because(doing(), cause))?;
        let search_path = programs::search_path(std::env::var_os("PATH").as_deref(), &canonical);
        let mut workspace = Workspace {
            root: fd,
            canonical,
            given,
            rules,
            search_path,
            walls: Settings::default(),
            enclosure: OnceLock::new(),
            memory: masks::Memory::default(),
            history: OnceLock::new(),
            git: OnceLock::new(),
            git_memory: git::config::Memory::default(),
            notices: Vec::new(),
            settler: OnceLock::new(),
            recorder: None,
        };
        changes::journal::clean(&workspace);
        workspace.notices = workspace.recover_commands();
        Ok(workspace)
    }

    /// The root as an absolute path without links, as it was when it was opened. To be shown, not to be opened.
    pub fn root(&self) -> &Path {
        &self.canonical
    }

    /// The PATH of every command, as the policy knows it: this process's own without the folders of the project.
    pub fn search_path(&self) -> &OsStr {
        &self.search_path
    }

    /// The same with the PATH of another host than this process.
    #[must_use]
    pub fn host_path(self, path: &OsStr) -> Workspace {
        let search_path = programs::search_path(Some(path), &self.canonical);
        Workspace { search_path, enclosure: OnceLock::new(), git: OnceLock::new(), history: OnceLock::new(), ..self }
    }

    /// Opens a folder inside the root, for a process to run in.
    ///
    /// # Errors
    /// As for every path, and `invalid_argument` for what is no folder.
    pub fn folder(&self, path: &str) -> std::result::Result<OwnedFd, ToolFailure> {
        self.open_folder(path).map(|opened| opened.fd)
    }

    /// The same with its real name relative to the root, without links.
    ///
    /// # Errors
    /// Those of [`Workspace::folder`].
    pub fn named_folder(&self, path: &str) -> std::result::Result<(OwnedFd, PathBuf), ToolFailure> {
        self.open_folder(path).map(|opened| (opened.fd, opened.name))
    }

    /// The real name, relative to the root and without links, of a file that may be opened.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn named_file(&self, path: &str) -> std::result::Result<PathBuf, ToolFailure> {
        self.open_file(path).map(|opened| opened.name)
    }

    /// Where a program of this name is in the PATH of every command, if it is none of the project's.
    pub fn system_program(&self, name: &str) -> Option<PathBuf> {
        let found = facts::found(self, name)?;
        let real = found.canonicalize().ok()?;
        (!real.starts_with(&self.canonical)).then_some(found)
    }

    /// The name of what a path leads to, or would if it existed: relative to the root and without links.
    ///
    /// # Errors
    /// `permission_denied` outside the root, and where the system refuses.
    pub fn real_name(&self, path: &str) -> std::result::Result<String, ToolFailure> {
        let relative = self.relative(path)?;
        let spot = self.follow(&relative).map_err(|trouble| self.explain(trouble, path, &relative))?;
        let folder = self.real_folder(path, &spot.folder, &spot.folder_name)?;
        Ok(names::text_of(&root::resolve::Spot { folder_name: folder, ..spot }.name()))
    }

    /// The absolute spellings under which the root may be named.
    fn spellings(&self) -> [&Path; 2] {
        [&self.canonical, &self.given]
    }
}

/// A path as it was given, but absolute. Links stay in it: a person who works below a link names files by it.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    // The current folder has no links in its name, so what leads up from it can be taken away as text.
    let mut absolute = std::env::current_dir()?;
    let mut rest = path.components().filter(|part| *part != Component::CurDir).peekable();
    while rest.next_if_eq(&Component::ParentDir).is_some() {
        absolute.pop();
    }
    absolute.extend(rest);
    Ok(absolute)
}

/// Stops long work from another thread, and shows there how far it is.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: AtomicBool,
    seen: AtomicU64,
}

impl Stop {
    /// Asks the work to stop soon.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// How many files and folders a walk has met so far.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    fn saw(&self, entries: usize) {
        self.seen.fetch_add(entries as u64, Ordering::Relaxed);
    }
}
