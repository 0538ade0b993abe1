//! The plan of an exchange, which is written before it begins.

use crate::digest::Digest;
use crate::encoding::as_text;
use crate::fault;
use crate::stash::list::{self, ListedEntry};
use crate::stat::Stamp;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The maximum number of bytes of a plan that are read. A plan of 200,000 paths has fewer.
const MOST_BYTES: u64 = 256 << 20;

/// The maximum size in bytes of a file whose digest is recorded. A larger file counts as changed if it is rewritten.
pub(super) const MOST_HASHED: u64 = 64 << 20;

/// The swaps of a stash.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) swaps: Vec<Swap>,
    /// The swaps of the last exchange that began, in the order in which they are made.
    pub(super) chosen: Vec<usize>,
    /// Whether that exchange puts the new entries into the project.
    pub(super) is_forward: bool,
}

/// A path, and what the project has there before and after the exchange. The stash has the other side.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Swap {
    #[serde(with = "as_text")]
    pub(super) path: PathBuf,
    pub(super) before: Side,
    pub(super) after: Side,
    /// Whether the project has the entry of `after`.
    pub(super) is_exchanged: bool,
    /// Whether the undo history covers the swap.
    #[serde(default)]
    pub(super) is_recorded: bool,
}

impl Swap {
    pub(super) fn new(path: &Path, before: Side, after: Side) -> Swap {
        Swap { path: path.to_owned(), before, after, is_exchanged: false, is_recorded: false }
    }
}

/// One side of a swap.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Side {
    /// No entry.
    Absent,
    /// A file, link or folder.
    Entry {
        stamp: Stamp,
        /// Kind and permission bits.
        mode: u32,
        /// The digest of a file's content or of a link's target.
        digest: Option<Digest>,
        /// For a folder: everything in it was last changed before this moment.
        latest: Option<(i64, i64)>,
        /// For a folder that was put into the project: everything in it at that time. Entries that were changed later
        /// can still have the same content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        list: Option<Vec<ListedEntry>>,
    },
    /// A folder on both sides, with these permission bits.
    Mode(u32),
}

impl Side {
    /// Returns the entry with this name and status.
    pub(super) fn new(folder: BorrowedFd<'_>, name: &OsStr, stat: &Stat) -> Side {
        let stamp = Stamp::new(stat);
        let digest = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stamp.bytes() <= MOST_HASHED => digest_of(folder, name),
            FileType::Symlink => digest_of_link(folder, name),
            _ => None,
        };
        Side::Entry { stamp, mode: stat.st_mode, digest, latest: None, list: None }
    }

    /// Returns the entry with this name and status. Does not read the file if it is still the one of `known`.
    pub(super) fn of_known(folder: BorrowedFd<'_>, name: &OsStr, stat: &Stat, known: &Side) -> Side {
        let now = Stamp::new(stat);
        match known {
            Side::Entry { stamp, digest, .. } if stamp.is_content_of(&now) => {
                Side::Entry { stamp: now, mode: stat.st_mode, digest: *digest, latest: None, list: None }
            }
            _ => Side::new(folder, name, stat),
        }
    }

    /// Returns `true` if both are entries with the same content: one file that was not written since, or two with equal
    /// bytes and modes.
    pub(super) fn has_content_of(&self, other: &Side) -> bool {
        let (
            Side::Entry { stamp, mode, digest, .. },
            Side::Entry { stamp: old, mode: old_mode, digest: old_digest, .. },
        ) = (self, other)
        else {
            return false;
        };
        // Two unknown digests do not prove equal contents.
        let is_equal = digest.is_some() && digest == old_digest;
        mode == old_mode && (stamp.is_content_of(old) || is_equal)
    }

    /// Copies the recorded content of a folder from `other`.
    pub(super) fn with_content_of(mut self, other: &Side) -> Side {
        let is_folder = self.is_folder();
        if let Side::Entry { latest, list, .. } = &mut self
            && let Side::Entry { latest: other_latest, list: other_list, .. } = other
            && is_folder
        {
            (*latest, *list) = (*other_latest, other_list.clone());
        }
        self
    }

    /// Returns the digest of the entry at a path below this one, or of itself if the path is empty; `None` if there is
    /// no such entry.
    pub(super) fn digest_below(&self, path: &Path) -> Option<Option<Digest>> {
        match self {
            Side::Absent => None,
            Side::Mode(_) => path.as_os_str().is_empty().then_some(None),
            Side::Entry { digest, .. } if path.as_os_str().is_empty() => Some(*digest),
            Side::Entry { list, .. } => list.as_deref().and_then(|list| list::digest(list, path)),
        }
    }

    /// Returns `true` if `name` is a folder with the same permission bits and the same content.
    pub(super) fn is_folder_at(&self, folder: BorrowedFd<'_>, name: &OsStr, stat: &Stat) -> bool {
        let Side::Entry { mode, latest, list, .. } = self else { return false };
        stat.st_mode == *mode && list::is_unchanged(folder, name, *latest, list.as_deref())
    }

    /// Sets the moment before which everything in the folder was last changed, and its content. Does nothing if it is
    /// not a folder.
    pub(super) fn set_content(&mut self, moment: (i64, i64), content: Option<Vec<ListedEntry>>) {
        let is_folder = self.is_folder();
        if let Side::Entry { latest, list, .. } = self
            && is_folder
        {
            (*latest, *list) = (Some(moment), content);
        }
    }

    /// Returns the mode of a folder if its owner may not write to it.
    pub(super) fn shut_mode(&self) -> Option<u32> {
        match self {
            Side::Entry { mode, .. } if self.is_folder() && mode & 0o300 != 0o300 => Some(mode & 0o7777),
            _ => None,
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Side::Entry { mode, .. } if FileType::from_raw_mode(*mode as _) == FileType::Directory)
    }

    pub(super) fn is_entry(&self) -> bool {
        matches!(self, Side::Entry { .. })
    }

    /// Returns `true` if this is the entry with that status, regardless of its current content.
    pub(super) fn is_file(&self, stat: &Stat) -> bool {
        matches!(self, Side::Entry { stamp, .. } if stamp.file() == Stamp::new(stat).file())
    }
}

impl Plan {
    pub(super) fn read(folder: &OwnedFd) -> io::Result<Plan> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(folder, super::PLAN, flags, Mode::empty())?);
        let mut text = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Replaces the plan on the disk.
    pub(super) fn write(&self, folder: &OwnedFd) -> io::Result<()> {
        let new = super::NEW_PLAN;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(folder, new, flags, Mode::RUSR | Mode::WUSR)?);
        fault::point();
        file.write_all(&serde_json::to_vec(self)?)?;
        // A power failure must not leave a torn plan at the final name.
        file.sync_data()?;
        fault::point();
        Ok(rustix::fs::renameat(folder, new, folder, super::PLAN)?)
    }

    /// Sets which swaps are to be made next.
    pub(super) fn choose(&mut self, chosen: Vec<usize>, is_forward: bool) {
        self.chosen = self.ordered(chosen, is_forward);
        self.is_forward = is_forward;
    }

    /// Sorts swaps into the order in which they are made. Entries can only be moved in a folder that its owner may
    /// write to, so folders that become writable are first, and those that become read-only are last.
    fn ordered(&self, mut chosen: Vec<usize>, is_forward: bool) -> Vec<usize> {
        let rank = |number: &usize| {
            let swap = &self.swaps[*number];
            match if is_forward { &swap.after } else { &swap.before } {
                Side::Mode(mode) if mode & 0o300 == 0o300 => 0,
                Side::Mode(_) => 2,
                _ => 1,
            }
        };
        if !is_forward {
            chosen.reverse();
        }
        // The sort is stable: swaps of the same rank keep their order.
        chosen.sort_by_key(rank);
        chosen
    }
}

/// Returns the digest of the target of a link.
pub(super) fn digest_of_link(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Digest> {
    rustix::fs::readlinkat(folder, name, Vec::new()).ok().map(|target| Digest::compute(target.as_bytes()))
}

/// Returns the digest of a file; `None` if it cannot be read.
pub(super) fn digest_of(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Digest> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?);
    let mut content = Vec::new();
    file.take(MOST_HASHED).read_to_end(&mut content).ok()?;
    Some(Digest::compute(&content))
}
