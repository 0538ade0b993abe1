//! Compares the status of files (stat(2)): the same file, the same content, and the time of the last change.
//!
//! All comparisons of two files in this crate are here. [`toolfence_sandbox::project::Identity`] identifies the file
//! alone, regardless of its content. Device and inode identify a file only while it exists: another file can get the
//! inode number of a removed one.

use rustix::fs::{Mode, RawMode, Stat};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};
use toolfence_sandbox::project::number_of;

/// The bits of a mode that can be set (chmod(2)).
const BITS: RawMode = 0o7777;

/// Detects without reading a file that it changed: its device, inode, length, modification time, and change time, which
/// cannot be set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp(u64, u64, u64, (i64, i64), (i64, i64));

impl Stamp {
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "these types differ between systems")]
    pub(crate) fn new(stat: &Stat) -> Stamp {
        let times = |seconds: i64, nanos: i64| (seconds, nanos);
        Stamp(
            stat.st_dev as u64,
            stat.st_ino as u64,
            u64::try_from(stat.st_size).unwrap_or(0),
            times(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            times(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        )
    }

    /// Returns the device and the inode.
    pub(crate) fn file(&self) -> (u64, u64) {
        (self.0, self.1)
    }

    /// Returns `true` if both are of one file with the same content. A rename changes only the change time.
    pub(crate) fn is_content_of(&self, other: &Stamp) -> bool {
        (self.0, self.1, self.2, self.3) == (other.0, other.1, other.2, other.3)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.2
    }

    /// Returns `true` if the last change is at least `long` ago.
    pub(crate) fn has_rested(&self, long: Duration) -> bool {
        let (seconds, nanos) = self.3.max(self.4);
        let since_epoch = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + since_epoch).is_ok_and(|age| age >= long)
    }
}

/// Returns `true` if both are of one file, regardless of its content. One of the two files must exist.
pub(crate) fn is_one(a: &Stat, b: &Stat) -> bool {
    number_of(a) == number_of(b)
}

/// Returns `true` if both are of one file with the same content. A rename changes only the change time.
pub(crate) fn is_content_of(a: &Stat, b: &Stat) -> bool {
    Stamp::new(a).is_content_of(&Stamp::new(b))
}

/// Returns `true` if no process changed the file between both. The change time cannot be set back.
pub(crate) fn is_same(a: &Stat, b: &Stat) -> bool {
    Stamp::new(a) == Stamp::new(b)
}

/// Returns the number of names (hard links) of a file beyond the one by which it was found.
#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
pub(crate) fn other_names(stat: &Stat) -> u64 {
    (stat.st_nlink as u64).saturating_sub(1)
}

/// Returns the permission bits of a file, including set-user-ID, set-group-ID and sticky.
#[allow(clippy::useless_conversion, reason = "the type of this field differs between systems")]
pub(crate) fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode & BITS)
}

/// Returns the mode with these permission bits, including set-user-ID, set-group-ID and sticky.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_truncation,
    reason = "the bits fit, whichever type a system has"
)]
pub(crate) fn mode_from(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as RawMode & BITS)
}
