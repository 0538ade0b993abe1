//! The only place where a model's string becomes a file, and what turns changed, kept so that it can be taken back.
//!
//! A [`Root`] is the open folder of one project: every path is resolved below it, checked again on the open descriptor, and
//! never used a second time. [`Files`] looks at files, [`Changes`] changes them, [`Masks`] says what the sandbox has to hide of
//! them from a command, and a [`Workspace`] holds these for one project. [`undo`] keeps what every turn changed. This crate
//! knows no tools, no protocol and no runtime: its functions block. It judges files, not calls, and runs no command.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

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
pub use changes::write::Written;
pub use digest::Digest;
pub use files::Files;
pub use files::list::{Entry, EntryKind, ListFiles, Listing};
pub use files::read::{FileText, ReadFile, ReadLimits, Total};
pub use files::search::{Found, SearchFiles, SearchLine};
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

/// The change of the text of a file as a unified diff: `old` is `None` for a new file. `None` if one of them is no text, or the diff would
/// cost too much.
pub fn unified_diff(path: &str, old: Option<&[u8]>, new: &[u8]) -> Option<String> {
    diff::between(path, old, new).unified
}

/// One project: the open root and what can be done with the files below it.
#[derive(Debug)]
pub struct Workspace {
    root: Arc<Root>,
    files: Files,
    changes: Changes,
    masks: Masks,
}

impl Workspace {
    /// Opens the root once; it stays the same folder even if it is renamed. Finishes or takes back the changes of a process that was
    /// killed.
    ///
    /// # Errors
    /// A root that does not exist, is no folder, or may not be read.
    pub fn open(root: impl AsRef<Path>, rules: PathRules) -> Result<Workspace> {
        Workspace::open_with_path(root, rules, std::env::var_os("PATH").as_deref())
    }

    /// Opens the root like [`Workspace::open`], with another PATH than that of this process; `None` for the system's default.
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

    /// The real path of the root.
    pub fn root_path(&self) -> &Path {
        self.root.path()
    }

    /// The open root.
    #[doc(hidden)]
    pub fn root(&self) -> &Arc<Root> {
        &self.root
    }

    /// Reading, listing and searching.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Writing, editing and patching.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// What the sandbox has to hide from a command.
    #[doc(hidden)]
    pub fn masks(&self) -> &Masks {
        &self.masks
    }
}
