//! The masks for one command, with the state of the files when they were found.

use crate::masks::repositories::{GitFiles, Repository, UsedPath};
use std::path::PathBuf;
use toolfence_sandbox::project::{Mask, MaskKind, Number};

/// The masks for one command, and the state of the files when they were found.
#[derive(Debug, Clone, Default)]
pub struct MaskSet {
    /// The masks, a folder before its entries.
    pub(super) list: Vec<Mask>,
    pub(super) repositories: Vec<Repository>,
    /// The files of the project that git on the host uses, with their identities.
    pub(super) held: Vec<HeldFile>,
    /// The files that git on the host uses, or would use if they existed, with the resolution of their paths.
    pub(super) used: Vec<UsedPath>,
    pub(super) git_files: GitFiles,
    pub(super) cost: WalkCost,
}

/// A read-only file or folder that git on the host uses. It cannot be renamed itself, but a folder above it can be, and
/// then another entry can be put at its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldFile {
    pub(super) path: PathBuf,
    /// Device and inode. A command cannot free the inode number of a file that is held here, or of its folder.
    pub(super) identity: Number,
    pub(super) above: Number,
}

/// The cost of a walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkCost {
    /// Folders of the tree.
    pub folders: usize,
    /// Folders that were read from the disk.
    pub read: usize,
    /// Wall time in microseconds.
    pub microseconds: u64,
}

impl MaskSet {
    /// Returns the masks in the order in which the sandbox mounts them: a folder before its entries.
    pub fn list(&self) -> &[Mask] {
        &self.list
    }

    /// Returns the files of the project that git uses, if they were searched with
    /// [`Access::Copy`](crate::Access::Copy).
    pub fn git_files(&self) -> &GitFiles {
        &self.git_files
    }

    /// Returns the masks of entries that a command could not write.
    pub(super) fn out_of_reach(&self) -> impl Iterator<Item = &Mask> {
        self.list.iter().filter(|mask| mask.how == MaskKind::Freeze)
    }

    /// Returns the cost of the walk over the project.
    pub fn cost(&self) -> WalkCost {
        self.cost
    }
}
