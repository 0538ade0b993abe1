//! The recorded state of a path, with enough data to restore it.

use crate::attributes::{self, Attributes, MOST_KEPT};
use crate::digest::Digest;
use crate::encoding::as_text;
use crate::root::resolve::LOOK;
use crate::stat::{Stamp, mode_of};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The entry at a path. Links are not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// No entry.
    Nothing,
    /// A regular file.
    File {
        /// The digest of the stored content.
        content: Digest,
        /// The length of the content.
        bytes: u64,
        /// Permission bits, including set-user-ID, set-group-ID and sticky.
        mode: u32,
        /// Access control lists and extended attributes; `None` if they are unknown.
        #[serde(default = "no_attributes", skip_serializing_if = "are_no_attributes")]
        attributes: Option<Attributes>,
    },
    /// A symbolic link.
    Link {
        /// The target.
        #[serde(with = "as_text")]
        target: PathBuf,
    },
    /// A folder. The entries in it have states of their own.
    Folder {
        /// Permission bits, including set-user-ID, set-group-ID and sticky.
        mode: u32,
        /// Access control lists and extended attributes; `None` if they are unknown.
        #[serde(default = "no_attributes", skip_serializing_if = "are_no_attributes")]
        attributes: Option<Attributes>,
    },
    /// An entry that cannot be restored: too large, unreadable, a FIFO, a socket or a device.
    Unkept {
        /// Detects whether the entry has changed.
        stamp: Stamp,
    },
}

impl State {
    /// Returns the digest and length of the stored content that is needed to restore this state.
    pub fn content(&self) -> Option<(Digest, u64)> {
        match self {
            State::File { content, bytes, .. } => Some((*content, *bytes)),
            _ => None,
        }
    }

    /// Returns `true` if both states are equal. Unknown attributes count as equal.
    pub(crate) fn equals(&self, other: &State) -> bool {
        let without = |state: &State| {
            let mut state = state.clone();
            state.forget_attributes();
            state
        };
        match (self.attributes(), other.attributes()) {
            (Some(one), Some(other)) if !one.equals(other) => false,
            // Both attributes are equal apart from labels, or one of them is unknown.
            _ => self == other || without(self) == without(other),
        }
    }

    pub(crate) fn attributes(&self) -> Option<&Attributes> {
        match self {
            State::File { attributes, .. } | State::Folder { attributes, .. } => attributes.as_ref(),
            _ => None,
        }
    }

    /// Removes the attributes, because a record from before attributes were kept does not know them.
    pub(crate) fn forget_attributes(&mut self) {
        if let State::File { attributes, .. } | State::Folder { attributes, .. } = self {
            *attributes = None;
        }
    }

    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, State::Folder { .. })
    }
}

/// Attributes are only serialized if there are any or if they are unknown, because almost every file has none.
fn no_attributes() -> Option<Attributes> {
    Some(Attributes::default())
}

fn are_no_attributes(attributes: &Option<Attributes>) -> bool {
    attributes.as_ref().is_some_and(Attributes::is_empty)
}

/// The change of a path from one state to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The real name, relative to the root.
    #[serde(with = "as_text")]
    pub name: PathBuf,
    /// The state before the change.
    pub before: State,
    /// The state after the change.
    pub after: State,
}

impl Change {
    /// Returns the change of this path from one state to another.
    pub fn new(name: PathBuf, before: State, after: State) -> Change {
        Change { name, before, after }
    }
}

/// Returns the state of the entry `last` in an open folder, and its status. Stores contents of up to `most` bytes with
/// `keep`.
pub(crate) fn look(
    folder: BorrowedFd<'_>,
    last: &OsStr,
    most: u64,
    keep: &mut dyn FnMut(&[u8]) -> Digest,
) -> Result<(State, Option<Stat>), Errno> {
    let stat = match rustix::fs::statat(folder, last, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok((State::Nothing, None)),
        Err(errno) => return Err(errno),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let fd = rustix::fs::openat(folder, last, LOOK | OFlags::NOFOLLOW | OFlags::DIRECTORY, Mode::empty());
            let attributes = fd.ok().and_then(|fd| attributes::read(fd, MOST_KEPT));
            Ok((State::Folder { mode: mode_of(&stat), attributes }, Some(stat)))
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, last, Vec::new())?.into_bytes();
            Ok((State::Link { target: OsString::from_vec(target).into() }, Some(stat)))
        }
        FileType::RegularFile => {
            let (state, stat) = look_into(folder, last, stat, most, keep)?;
            Ok((state, Some(stat)))
        }
        _ => Ok((unkept(&stat), Some(stat))),
    }
}

/// Reads a regular file.
pub(crate) fn look_into(
    folder: BorrowedFd<'_>,
    last: &OsStr,
    stat: Stat,
    most: u64,
    keep: &mut dyn FnMut(&[u8]) -> Digest,
) -> Result<(State, Stat), Errno> {
    if u64::try_from(stat.st_size).unwrap_or(0) > most {
        return Ok((unkept(&stat), stat));
    }
    let fd = match rustix::fs::openat(folder, last, LOOK | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::ACCESS | Errno::PERM) => return Ok((unkept(&stat), stat)),
        Err(errno) => return Err(errno),
    };
    // The entry may have been replaced since its status was read.
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok((unkept(&stat), stat));
    }
    let room = usize::try_from(stat.st_size).unwrap_or(0) + 1;
    let attributes = attributes::read(&fd, MOST_KEPT);
    let mut content = Vec::with_capacity(room.min(usize::try_from(most).unwrap_or(usize::MAX)));
    // The file may have grown since its size was read.
    match File::from(fd).take(most.saturating_add(1)).read_to_end(&mut content) {
        Ok(read) if read as u64 <= most => {
            let bytes = read as u64;
            Ok((State::File { content: keep(&content), bytes, mode: mode_of(&stat), attributes }, stat))
        }
        _ => Ok((unkept(&stat), stat)),
    }
}

fn unkept(stat: &Stat) -> State {
    State::Unkept { stamp: Stamp::new(stat) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_survive_serialization() {
        let latin = PathBuf::from(OsString::from_vec(b"caf\xe9/\n".to_vec()));
        let content = Digest::compute(b"x");
        let states = [
            State::Nothing,
            State::File { content, bytes: 1, mode: 0o4755, attributes: no_attributes() },
            State::File { content, bytes: 1, mode: 0o4755, attributes: None },
            State::Link { target: latin.clone() },
            State::Folder { mode: 0o700, attributes: None },
            State::Folder { mode: 0o700, attributes: no_attributes() },
            State::Unkept { stamp: serde_json::from_str("[1,2,3,[4,5],[-6,7]]").expect("it is a stamp") },
        ];
        for state in states {
            let change = Change::new(latin.clone(), state.clone(), State::Nothing);
            let text = serde_json::to_string(&change).expect("it can be written");
            assert_eq!(serde_json::from_str::<Change>(&text).expect("it can be read"), change, "{text}");
        }
        assert_eq!(content.to_string(), "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
        assert!(["", "xy", "é", "2d7"].iter().all(|text| Digest::try_from((*text).to_owned()).is_err()));
    }
}
