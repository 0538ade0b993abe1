//! What an exchange swaps, written down before it begins.

use crate::encoding::as_text;
use crate::fault;
use crate::stat::Stamp;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// Bytes of a plan that are read. A plan of 200,000 paths has fewer.
const MOST_BYTES: u64 = 256 << 20;

/// The swaps of a stash.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Whether the project has the entries that were put into the stash.
    pub(super) is_exchanged: bool,
    pub(super) swaps: Vec<Swap>,
}

/// A path, and what the project has there before and after the exchange. The stash has the other side.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Swap {
    #[serde(with = "as_text")]
    pub(super) path: PathBuf,
    pub(super) before: Side,
    pub(super) after: Side,
}

/// One side of a swap.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Side {
    /// No entry.
    Absent,
    /// A file, link or folder.
    Entry {
        stamp: Stamp,
        is_folder: bool,
        /// For a folder: everything in it was last changed before this moment.
        latest: Option<(i64, i64)>,
    },
    /// A folder on both sides, with these permission bits.
    Mode(u32),
}

impl Side {
    pub(super) fn of(stat: &Stat) -> Side {
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Side::Entry { stamp: Stamp::of(stat), is_folder, latest: None }
    }

    /// Sets the moment before which everything in the folder was last changed. Nothing happens if it is no folder.
    pub(super) fn set_latest(&mut self, moment: (i64, i64)) {
        if let Side::Entry { is_folder: true, latest, .. } = self {
            *latest = Some(moment);
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Side::Entry { is_folder: true, .. })
    }

    pub(super) fn is_entry(&self) -> bool {
        matches!(self, Side::Entry { .. })
    }

    /// Returns `true` if this is the entry with that status, whatever is in it by now.
    pub(super) fn is_file(&self, stat: &Stat) -> bool {
        matches!(self, Side::Entry { stamp, .. } if stamp.file() == Stamp::of(stat).file())
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

    /// Writes it to the disk, in place of the one that is there.
    pub(super) fn write(&self, folder: &OwnedFd) -> io::Result<()> {
        let new = "plan.new";
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(folder, new, flags, Mode::RUSR | Mode::WUSR)?);
        fault::point();
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_data()?;
        fault::point();
        Ok(rustix::fs::renameat(folder, new, folder, super::PLAN)?)
    }

    /// The order in which the swaps are made. Entries can only be moved in a folder that its owner may write to, so folders that
    /// become writable come first, and those that become read-only last.
    pub(super) fn order(&self, is_forward: bool) -> Vec<usize> {
        let rank = |number: &usize| {
            let swap = &self.swaps[*number];
            match if is_forward { &swap.after } else { &swap.before } {
                Side::Mode(mode) if mode & 0o300 == 0o300 => 0,
                Side::Mode(_) => 2,
                _ => 1,
            }
        };
        let mut order: Vec<usize> = (0..self.swaps.len()).collect();
        if !is_forward {
            order.reverse();
        }
        order.sort_by_key(rank);
        order
    }
}
