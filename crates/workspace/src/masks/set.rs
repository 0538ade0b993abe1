//! What was found to be masked, as it was when it was looked for.

use crate::masks::repositories::{GitFiles, Repository, Used};
use std::path::PathBuf;
use toolfence_sandbox::project::{Mask, MaskKind, Number};

/// What the sandbox has to mask for one command, and what was there when it was looked for.
#[derive(Debug, Clone, Default)]
pub struct MaskSet {
    /// A folder stands before what is in it.
    pub(super) list: Vec<Mask>,
    pub(super) repositories: Vec<Repository>,
    /// What git on the host uses in the project, and where it was.
    pub(super) held: Vec<Held>,
    /// What git on the host uses, or would use if it were there, and how it is reached.
    pub(super) used: Vec<Used>,
    pub(super) git_files: GitFiles,
    pub(super) cost: WalkCost,
}

/// A read-only file or folder that git on the host uses. It cannot be renamed itself, but a folder above it can, and then
/// something else can be put at its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) path: PathBuf,
    /// Device and inode, as those of the folder it is in: a command cannot free a number that is held here.
    pub(super) is: Number,
    pub(super) above: Number,
}

/// What a walk cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkCost {
    /// Folders of the tree.
    pub folders: usize,
    /// How many of them had to be read.
    pub read: usize,
    /// Wall time in microseconds.
    pub microseconds: u64,
}

impl MaskSet {
    /// The masks, as the sandbox takes them: a folder stands before what is in it.
    pub fn list(&self) -> &[Mask] {
        &self.list
    }

    /// What git uses of the project, if it was looked for with [`Access::Copy`](crate::Access::Copy).
    pub fn git_files(&self) -> &GitFiles {
        &self.git_files
    }

    /// What a command could not write.
    pub(super) fn out_of_reach(&self) -> impl Iterator<Item = &Mask> {
        self.list.iter().filter(|mask| mask.how == MaskKind::Freeze)
    }

    /// What the walk over the project cost.
    pub fn cost(&self) -> WalkCost {
        self.cost
    }
}
