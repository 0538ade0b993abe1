//! What the workspace and the sandbox tell each other of a project's files: which file is meant, and what is done to it.
//!
//! The workspace finds the files that a command must not read or change, and the sandbox masks them. Neither knows the other; both
//! know a [`Mask`]. A path alone does not say which file is meant, for another process may put a different file there, so a mask
//! carries the [`Identity`] of its file:
//!
//! ```
//! use toolfence_project::{Mask, MaskKind, identity_of};
//! let stat = rustix::fs::stat("Cargo.toml")?;
//! let mask = Mask { path: "Cargo.toml".into(), is: identity_of(&stat), how: MaskKind::Freeze };
//! let later = rustix::fs::stat(&mask.path)?;
//! assert_eq!(identity_of(&later), mask.is, "it is still the same file");
//! # Ok::<(), rustix::io::Errno>(())
//! ```
//!
//! This crate opens no file and decides nothing: it does not know why a file is masked, nor how.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

mod random;

pub use random::random_name;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A project as the sandbox must know it.
pub trait Project {
    /// The real path of the root.
    fn path(&self) -> &Path;

    /// Device and inode of the root.
    fn identity(&self) -> Identity;

    /// The PATH of the project's commands.
    fn search_path(&self) -> &OsStr;

    /// Whether a file or folder is hidden of those that are shown beside the project: `below` is its name in the folder
    /// `shown`.
    fn hides_beside(&self, shown: &Path, below: &Path, is_folder: bool) -> bool;
}

/// A file or folder of the project that is not as the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// Relative to the root, without links.
    pub path: PathBuf,
    /// Which file is meant.
    pub is: Identity,
    /// What is done to the file.
    pub how: MaskKind,
}

/// What is done to a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MaskKind {
    /// The mask keeps the file or folder in its place: it cannot be renamed or removed.
    Keep,
    /// The file or folder cannot be renamed, removed or changed.
    Freeze,
    /// The file or folder cannot be renamed, removed, changed or read.
    Hide,
    /// The content cannot be read. The file may be removed, renamed or replaced: what stands in a folder that git ignores is the
    /// build's, and a mask must not keep `rm -rf dist` from working.
    HideRemovable,
}

/// Device and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity(pub u64, pub u64);

/// The identity of the file whose status this is.
#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
pub fn identity_of(stat: &rustix::fs::Stat) -> Identity {
    Identity(stat.st_dev as u64, stat.st_ino as u64)
}
