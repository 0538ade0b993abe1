//! What stands under a name: as much of it as it takes to put it back.

use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::attributes;
use crate::attributes::{Attributes, MOST_KEPT};
use crate::root::resolve::LOOK;

/// The bits of a mode that can be set (chmod(2)).
const BITS: RawMode = 0o7777;

/// What stands under a name, a link not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// Nothing.
    Nothing,
    /// A regular file.
    File {
        /// By which its content is found.
        content: Digest,
        /// Its length.
        bytes: u64,
        /// Permission bits, with those above them.
        mode: u32,
        /// Access control lists and extended attributes; `None` where they are not known.
        #[serde(default = "none", skip_serializing_if = "is_none")]
        attributes: Option<Attributes>,
    },
    /// A symbolic link.
    Link {
        /// Where it points.
        #[serde(with = "as_text")]
        target: PathBuf,
    },
    /// A folder; what is in it has states of its own.
    Folder {
        /// Permission bits, with those above them.
        mode: u32,
        /// Access control lists and extended attributes; `None` where they are not known.
        #[serde(default = "none", skip_serializing_if = "is_none")]
        attributes: Option<Attributes>,
    },
    /// Something that cannot be put back: too large, unreadable, a FIFO, a socket or a device.
    Unkept {
        /// Whether it is still the same can be told.
        stamp: Stamp,
    },
}

impl State {
    /// The content it takes to put it back.
    pub fn content(&self) -> Option<(Digest, u64)> {
        match self {
            State::File { content, bytes, .. } => Some((*content, *bytes)),
            _ => None,
        }
    }

    /// Whether another state is the same. Attributes that are not known are no difference.
    pub(crate) fn is(&self, other: &State) -> bool {
        let without = |state: &State| {
            let mut state = state.clone();
            state.forget_attributes();
            state
        };
        match (self.attributes(), other.attributes()) {
            (Some(one), Some(other)) if !one.is_as(other) => false,
            _ => self == other || without(self) == without(other),
        }
    }

    pub(crate) fn attributes(&self) -> Option<&Attributes> {
        match self {
            State::File { attributes, .. } | State::Folder { attributes, .. } => attributes.as_ref(),
            _ => None,
        }
    }

    /// Its attributes are not known: a record of before they were kept does not say so itself.
    pub(crate) fn forget_attributes(&mut self) {
        if let State::File { attributes, .. } | State::Folder { attributes, .. } = self {
            *attributes = None;
        }
    }

    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, State::Folder { .. })
    }
}

/// Almost every file has none, so that they are only written where there are some, or where they are not known.
fn none() -> Option<Attributes> {
    Some(Attributes::default())
}

fn is_none(attributes: &Option<Attributes>) -> bool {
    attributes.as_ref().is_some_and(Attributes::is_empty)
}

/// A name that goes from one state to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The real name, relative to the root.
    #[serde(with = "as_text")]
    pub name: PathBuf,
    /// What stood there.
    pub before: State,
    /// What stands there then.
    pub after: State,
}

impl Change {
    /// That name, from the one to the other.
    pub fn new(name: PathBuf, before: State, after: State) -> Change {
        Change { name, before, after }
    }
}

/// The SHA-256 of a content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// That of these bytes.
    pub fn of(content: &[u8]) -> Digest {
        Digest(Sha256::digest(content).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        hex(&digest.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Digest, Self::Error> {
        let bytes = bytes_of(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Digest).ok_or("64 hexadecimal digits are wanted")
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

pub(crate) fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// A path in JSON: as it is, or behind a NUL, which no path holds, in hexadecimal where it is not UTF-8.
pub(crate) mod as_text {
    use super::{OsStrExt, OsString, OsStringExt, Path, PathBuf, bytes_of, hex};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.serialize_str(&format!("\0{}", hex(path.as_os_str().as_bytes()))),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Some(digits) = text.strip_prefix('\0') else { return Ok(text.into()) };
        let bytes = bytes_of(digits).ok_or_else(|| D::Error::custom("a path in hexadecimal is wanted"))?;
        Ok(OsString::from_vec(bytes).into())
    }
}

/// What tells a file apart from what it was, without reading it: device, inode, length, the time of its content and that of
/// its last change of any kind, which nobody can set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp(u64, u64, u64, (i64, i64), (i64, i64));

impl Stamp {
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "these types differ between systems")]
    pub(crate) fn of(stat: &Stat) -> Stamp {
        let times = |seconds: i64, nanos: i64| (seconds, nanos);
        Stamp(
            stat.st_dev as u64,
            stat.st_ino as u64,
            u64::try_from(stat.st_size).unwrap_or(0),
            times(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            times(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        )
    }

    /// When it was last changed in any way: seconds and nanoseconds since 1970.
    pub(crate) fn changed(&self) -> (i64, i64) {
        self.4
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.2
    }
}

pub(crate) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode & BITS
}

/// What stands under `last` in an open folder, and what the system says of it. Contents of up to `most` bytes go through
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

/// A regular file, read.
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
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok((unkept(&stat), stat));
    }
    let room = usize::try_from(stat.st_size).unwrap_or(0) + 1;
    let attributes = attributes::read(&fd, MOST_KEPT);
    let mut content = Vec::with_capacity(room.min(usize::try_from(most).unwrap_or(usize::MAX)));
    match File::from(fd).take(most.saturating_add(1)).read_to_end(&mut content) {
        Ok(read) if read as u64 <= most => {
            let bytes = read as u64;
            Ok((State::File { content: keep(&content), bytes, mode: mode_of(&stat), attributes }, stat))
        }
        _ => Ok((unkept(&stat), stat)),
    }
}

fn unkept(stat: &Stat) -> State {
    State::Unkept { stamp: Stamp::of(stat) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let latin = PathBuf::from(OsString::from_vec(b"caf\xe9/\n".to_vec()));
        let content = Digest::of(b"x");
        let states = [
            State::Nothing,
            State::File { content, bytes: 1, mode: 0o4755, attributes: none() },
            State::File { content, bytes: 1, mode: 0o4755, attributes: None },
            State::Link { target: latin.clone() },
            State::Folder { mode: 0o700, attributes: None },
            State::Folder { mode: 0o700, attributes: none() },
            State::Unkept { stamp: Stamp(1, 2, 3, (4, 5), (-6, 7)) },
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
