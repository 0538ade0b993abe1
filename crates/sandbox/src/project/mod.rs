//! The types by which the workspace describes a project's files to the sandbox: which file is meant, and how it is
//! masked.
//!
//! The workspace finds the files that a command must not read or change, and the sandbox masks them. Neither knows the
//! other; both know a [`Mask`]. A path alone does not identify a file, because another process may put a different file
//! there, so a mask has the [`Identity`] of its file:
//!
//! ```
//! use toolfence_sandbox::project::{Mask, MaskKind, identity_at};
//! # use std::path::Path;
//! let here = rustix::fs::CWD;
//! let identity = identity_at(here, Path::new("Cargo.toml"))?;
//! let mask = Mask { path: "Cargo.toml".into(), identity, how: MaskKind::Freeze };
//! assert_eq!(identity_at(here, &mask.path)?, mask.identity, "it is still the same file");
//! # Ok::<(), rustix::io::Errno>(())
//! ```
//!
//! This module opens no file, and it does not decide which files are masked or how.

mod random;

pub use random::random_name;
use rustix::fd::BorrowedFd;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The project from the view of the sandbox.
pub trait Project {
    /// Returns the real path of the root.
    fn path(&self) -> &Path;

    /// Returns the identity of the root folder.
    fn identity(&self) -> Identity;

    /// Returns the PATH of the project's commands.
    fn search_path(&self) -> &OsStr;

    /// Returns `true` if an entry of a folder outside of the project must be hidden. `shown` is a folder that commands
    /// may read, and `below` is the path of the entry in it.
    fn hides_outside(&self, shown: &Path, below: &Path, is_folder: bool) -> bool;
}

/// A masked file or folder of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// The path relative to the root, without links.
    pub path: PathBuf,
    /// The identity of the masked file.
    pub identity: Identity,
    /// How the file is masked.
    pub how: MaskKind,
}

/// How a file or folder is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MaskKind {
    /// The file or folder cannot be renamed or removed.
    Keep,
    /// The file or folder cannot be renamed, removed or changed.
    Freeze,
    /// The file or folder cannot be renamed, removed, changed or read.
    Hide,
    /// The file cannot be read, but it may be removed, renamed or replaced: builds own the files in folders that git
    /// ignores, and a mask must not prevent `rm -rf dist`.
    HideRemovable,
}

/// The identity of a file: its device, its inode and, if the file system has it, its birth time in seconds and
/// nanoseconds. The inode number of a removed file is often given to the next new one at once. Without a birth time,
/// such a file counts as the old one. A file of the lower layer of an overlay gets a new identity when it is first
/// changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity(pub u64, pub u64, #[serde(default)] pub Option<(i64, u32)>);

/// The device and the inode, which distinguish two files that exist at the same time.
pub type Number = (u64, u64);

impl Identity {
    /// Returns the device and the inode.
    pub fn number(&self) -> Number {
        (self.0, self.1)
    }
}

/// Returns the device and the inode of the file with this status.
#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
pub fn number_of(stat: &rustix::fs::Stat) -> Number {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// Returns the identity of the entry with this name in an open folder, or of the open file or folder itself if the name
/// is empty. Does not follow a link.
///
/// # Errors
/// The file does not exist or cannot be stat'ed.
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
        // The system call filter of some containers refuses statx(2).
        Err(Errno::NOSYS | Errno::PERM) => {
            let (device, inode) = number_of(&statat(folder, name, flags)?);
            Ok(Identity(device, inode, None))
        }
        Err(errno) => Err(errno),
    }
}

/// Returns the identity of the entry with this name in an open folder, or of the open file or folder itself if the name
/// is empty. Does not follow a link.
///
/// # Errors
/// The file does not exist or cannot be stat'ed.
#[cfg(not(target_os = "linux"))]
pub fn identity_at(folder: BorrowedFd<'_>, name: &Path) -> rustix::io::Result<Identity> {
    use rustix::fs::{AtFlags, fstat, statat};
    let is_itself = name.as_os_str().is_empty();
    let stat = if is_itself { fstat(folder) } else { statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) };
    let (device, inode) = number_of(&stat?);
    Ok(Identity(device, inode, None))
}
