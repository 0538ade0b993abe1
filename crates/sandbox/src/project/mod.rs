//! What the workspace and the sandbox tell each other of a project's files: which file is meant, and what is done to it.
//!
//! The workspace finds the files that a command must not read or change, and the sandbox masks them. Neither knows the other; both
//! know a [`Mask`]. A path alone does not say which file is meant, for another process may put a different file there, so a mask
//! carries the [`Identity`] of its file:
//!
//! ```
//! use toolfence_sandbox::project::{Mask, MaskKind, identity_at};
//! # use std::path::Path;
//! let here = rustix::fs::CWD;
//! let is = identity_at(here, Path::new("Cargo.toml"))?;
//! let mask = Mask { path: "Cargo.toml".into(), is, how: MaskKind::Freeze };
//! assert_eq!(identity_at(here, &mask.path)?, mask.is, "it is still the same file");
//! # Ok::<(), rustix::io::Errno>(())
//! ```
//!
//! This module opens no file and decides nothing: it does not know why a file is masked, nor how.

mod random;

pub use random::random_name;
use rustix::fd::BorrowedFd;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A project as the sandbox must know it.
pub trait Project {
    /// The real path of the root.
    fn path(&self) -> &Path;

    /// Which folder the root is.
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

/// Which file is meant: its device, its inode and, where the file system tells it, the time of its birth in seconds and
/// nanoseconds. A file that is removed leaves its inode number to the next one that is made, often at once. Where no birth
/// is told, such a file counts as the one before. A file of the lower layer of an overlay is born again when it is first changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity(pub u64, pub u64, #[serde(default)] pub Option<(i64, u32)>);

/// Device and inode. They tell two files apart that are both there.
pub type Number = (u64, u64);

impl Identity {
    /// Device and inode alone.
    pub fn number(&self) -> Number {
        (self.0, self.1)
    }
}

/// Device and inode of the file whose status this is.
#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
pub fn number_of(stat: &rustix::fs::Stat) -> Number {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// The identity of what has this name in an open folder; a link is not followed. Without a name it is that of the open file or
/// folder itself.
///
/// # Errors
/// Nothing can be told of it, or it is not there.
#[cfg(target_os = "linux")]
pub fn identity_at(folder: BorrowedFd<'_>, name: &Path) -> rustix::io::Result<Identity> {
    use rustix::fs::{AtFlags, StatxFlags, makedev, statat, statx};
    use rustix::io::Errno;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    match statx(folder, name, flags, StatxFlags::INO | StatxFlags::BTIME) {
        Ok(stat) => {
            let is_told = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
            let birth = is_told.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec));
            Ok(Identity(makedev(stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino, birth))
        }
        // Some containers refuse this call.
        Err(Errno::NOSYS | Errno::PERM) => {
            let (device, inode) = number_of(&statat(folder, name, flags)?);
            Ok(Identity(device, inode, None))
        }
        Err(errno) => Err(errno),
    }
}

/// The identity of what has this name in an open folder; a link is not followed. Without a name it is that of the open file or
/// folder itself.
///
/// # Errors
/// Nothing can be told of it, or it is not there.
#[cfg(not(target_os = "linux"))]
pub fn identity_at(folder: BorrowedFd<'_>, name: &Path) -> rustix::io::Result<Identity> {
    use rustix::fs::{AtFlags, fstat, statat};
    let is_itself = name.as_os_str().is_empty();
    let stat = if is_itself { fstat(folder) } else { statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) };
    let (device, inode) = number_of(&stat?);
    Ok(Identity(device, inode, None))
}
