//! Opens, searches, changes and restores the files of a project: the only crate that turns a path from a model into a
//! file.
//!
//! A [`Root`] is the open folder of one project. It resolves every path below itself, checks it again on the open
//! descriptor, and never resolves it a second time. [`Files`] reads, lists and searches, [`Changes`] changes files,
//! [`Masks`] lists the paths that the sandbox must hide from a command, and a [`Workspace`] holds all of them for one
//! project. [`undo`] keeps what every turn changed. This crate knows no tools, no protocol and no runtime, and its
//! functions block. It judges files, not calls, and runs no command.
//!
//! This crate is internal and its API is not stable. The crate `toolfence` re-exports the items for users.

#![forbid(unsafe_code)]

mod attributes;
mod build_folders;
mod changes;
mod diff;
mod digest;
mod encoding;
mod facts;
mod fault;
mod files;
pub mod git;
mod masks;
pub mod names;
mod next_commit;
pub mod overflow_file;
mod root;
pub mod stash;
mod stat;
mod state;
mod stop;
mod text;
pub mod undo;
mod version;

pub use attributes::Attributes;
pub use changes::Changes;
pub use changes::draft::{Draft, FileDraft, Report};
pub use changes::edit::{EditData, EditFile, EditLines, EditValue, ReplaceText};
pub use changes::patch::{Patched, PatchedFile};
pub use changes::record::Recorder;
pub use changes::write::WriteReport;
pub use digest::Digest;
pub use files::Files;
pub use files::list::{Entry, EntryKind, ListFiles, Listing};
pub use files::read::{FileText, ReadFile, ReadLimits, Total};
pub use files::search::{SearchFiles, SearchLine, SearchResults};
pub use masks::{Access, GitFiles, MaskSet, Masks, Unmasked, WalkCost};
pub use names::quoted;
pub use next_commit::{CommittedFile, NextCommit};
pub use root::{Programs, Root};
pub use stat::Stamp;
pub use state::{Change, State};
pub use stop::Stop;
pub use version::Version;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::Result;

/// Returns the change of a file's text as a unified diff; `old` is `None` for a new file. Returns `None` if either side
/// is not text, or if the diff would cost too much.
pub fn unified_diff(path: &str, old: Option<&[u8]>, new: &[u8]) -> Option<String> {
    diff::between(path, old, new).unified
}

/// One project: the open root and the operations on the files below it.
#[derive(Debug)]
pub struct Workspace {
    root: Arc<Root>,
    files: Files,
    changes: Changes,
    masks: Masks,
}

impl Workspace {
    /// Opens the root once; it stays the same folder even if it is renamed. Removes what a killed process left of its
    /// changes.
    ///
    /// # Errors
    /// The root does not exist, is not a folder, or may not be read.
    pub fn open(root: impl AsRef<Path>, rules: PathRules) -> Result<Workspace> {
        Workspace::open_with_path(root, rules, std::env::var_os("PATH").as_deref())
    }

    /// Opens the root like [`Workspace::open`], but with a `path` of its own instead of this process's PATH; `None` is
    /// the system's default.
    ///
    /// # Errors
    /// The errors of [`Workspace::open`].
    pub fn open_with_path(root: impl AsRef<Path>, rules: PathRules, path: Option<&OsStr>) -> Result<Workspace> {
        let root = Arc::new(Root::open(root.as_ref(), rules, path)?);
        changes::journal::clean(&root);
        Ok(Workspace {
            files: Files::new(Arc::clone(&root)),
            changes: Changes::new(Arc::clone(&root)),
            masks: Masks::new(Arc::clone(&root)),
            root,
        })
    }

    /// Sets the recorder, which is called before every change.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Workspace {
        self.changes.record_to(recorder);
        self
    }

    /// Returns the real path of the root.
    pub fn root_path(&self) -> &Path {
        self.root.path()
    }

    /// Returns the open root.
    #[doc(hidden)]
    pub fn root(&self) -> &Arc<Root> {
        &self.root
    }

    /// Returns the operations that read, list and search.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the operations that write, edit and patch.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Returns the paths that the sandbox must hide from a command.
    #[doc(hidden)]
    pub fn masks(&self) -> &Masks {
        &self.masks
    }
}
