//! Restores the state of a name, if it still has the recorded one.

use crate::attributes::{self, Attributes, Like, MOST_KEPT};
use crate::changes::journal::Journal;
use crate::changes::record::{Recorder, Recording};
use crate::changes::temp::{Destination, Temp, TempFolder};
use crate::digest::Digest;
use crate::root::{Root, hops, resolve};
use crate::stat::{is_same, mode_from, other_names};
use crate::state::{self, Change, State};
use crate::{fault, names};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Component, Path};
use toolfence_protocol::{Text, text};

/// The reason why an undo or a redo skipped a name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unrestored {
    /// Another process changed it since the turn.
    Changed,
    /// The folder to be removed has other entries.
    NotEmpty,
    /// Tools may not open it, or may not change it.
    Protected,
    /// It is not a name below the root.
    NoName,
    /// Its content was too large to be kept, or could not be read.
    NotKept,
    /// Its current state cannot be stored, so the undo could not be reverted.
    Unrecorded,
    /// The stored content is missing or damaged.
    Lost,
    /// The system refused, with this message.
    System(String),
}

impl Unrestored {
    /// Returns the reason as a sentence.
    pub fn text(&self) -> Text {
        match self {
            Unrestored::Changed => text!("it was changed since"),
            Unrestored::NotEmpty => text!("there is something else in it by now"),
            Unrestored::Protected => text!("tools may not change it"),
            Unrestored::NoName => text!("that is no name below the root"),
            Unrestored::NotKept => text!("its content was not kept: too large, or not to be read"),
            Unrestored::Unrecorded => {
                text!("its current content cannot be recorded; free disk space or allow writing, and try again")
            }
            Unrestored::Lost => text!("its recorded content is missing or damaged"),
            Unrestored::System(error) => text!("the system refuses: {error}", error),
        }
    }
}

impl fmt::Display for Unrestored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

/// The reason why this module stopped. A system error becomes an [`Unrestored`] by `?` through this type, so that no
/// type of another crate is part of the public one.
struct RestoreError(Unrestored);

impl From<Errno> for RestoreError {
    fn from(errno: Errno) -> RestoreError {
        RestoreError(match errno {
            Errno::EXIST | Errno::STALE => Unrestored::Changed,
            Errno::NOTEMPTY => Unrestored::NotEmpty,
            errno => Unrestored::System(errno.to_string()),
        })
    }
}

impl From<std::io::Error> for RestoreError {
    fn from(error: std::io::Error) -> RestoreError {
        error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error).into()
    }
}

/// The maximum size in bytes of a file that is read to compare it.
const MOST: u64 = 64 << 20;

/// Checks whether [`restore`] would succeed now, without changing anything.
///
/// # Errors
/// The reason why it would not.
pub(super) fn could_restore(root: &Root, change: &Change) -> Result<(), Unrestored> {
    restorable(root, &change.name, &change.after).map_err(|RestoreError(why)| why)?;
    let most = most_read(&change.before);
    let (now, stat) =
        current_state(root, &change.name, most, &mut |content| Digest::compute(content)).ok_or(Unrestored::Changed)?;
    check_present(&change.before, &now, stat.as_ref())
}

/// Returns how many bytes of a file are read to compare it with this state.
fn most_read(state: &State) -> u64 {
    // An entry that was not kept has only a stamp to compare.
    if matches!(state, State::Unkept { .. }) { 0 } else { MOST }
}

/// Returns `true` if a file is in the state that a change left. An exchange renames files, which changes only their
/// change time.
fn is_as_left(now: &State, left: &State) -> bool {
    match (now, left) {
        (State::Unkept { stamp }, State::Unkept { stamp: left }) => stamp.is_content_of(left),
        _ => now.equals(left),
    }
}

/// Returns `true` if a name is in this state.
pub(super) fn is_still(root: &Root, name: &Path, state: &State) -> bool {
    let most = if matches!(state, State::Unkept { .. }) { 0 } else { u64::MAX };
    let now = current_state(root, name, most, &mut |content| Digest::compute(content));
    now.is_some_and(|(now, _)| is_as_left(&now, state))
}

/// Checks that a name still has the state `from` and that its content was stored: undo may remove or replace the only
/// copy.
fn check_present(from: &State, now: &State, stat: Option<&Stat>) -> Result<(), Unrestored> {
    let is_file = stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    match now {
        State::Unkept { .. } if is_file && is_as_left(now, from) => Err(Unrestored::NotKept),
        now if !is_as_left(now, from) => Err(Unrestored::Changed),
        _ => Ok(()),
    }
}

/// Applies a change to a name, if it still has the state before it. A file or a link is replaced atomically; `content`
/// is that of a new file. A folder to be removed must be empty. Returns the names of the attributes that the system
/// refused.
///
/// # Errors
/// The reason why the name was skipped.
pub(super) fn restore(
    root: &Root,
    change: &Change,
    content: &[u8],
    recorder: &dyn Recorder,
) -> Result<Vec<Text>, Unrestored> {
    restored(root, change, content, recorder).map_err(|RestoreError(why)| why)
}

fn restored(root: &Root, change: &Change, content: &[u8], recorder: &dyn Recorder) -> Result<Vec<Text>, RestoreError> {
    let Change { name, before: from, after: to } = change;
    let last = restorable(root, name, to)?;
    let folder = folder_above(root, name)?;
    // The current content is kept, so that the undo can be reverted.
    let (now, stat) = look(root, &folder, last, most_read(from), &mut |content| recorder.keep(content))?;
    check_present(from, &now, stat.as_ref()).map_err(RestoreError)?;
    let spot = OpenName { root, folder: &folder, above: name.parent().unwrap_or(Path::new("")), last };
    let recording = Recording::new(recorder, vec![change.clone()]);
    // If the record could not be written, the undo could not be reverted.
    if !recorder.is_recording() {
        return Err(RestoreError(Unrestored::Unrecorded));
    }
    let lost = spot.write_state(&now, to, content, stat.as_ref())?;
    recording.keep();
    Ok(lost)
}

/// Reads the current state of a name. Does not read a file that is a hard link of a blocked one.
fn look(
    root: &Root,
    folder: &OwnedFd,
    last: &OsStr,
    most: u64,
    keep: &mut dyn FnMut(&[u8]) -> Digest,
) -> Result<(State, Option<Stat>), Errno> {
    match rustix::fs::statat(folder, last, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if root.refuse_twin("", &stat).is_err() => state::look(folder.as_fd(), last, 0, keep),
        _ => state::look(folder.as_fd(), last, most, keep),
    }
}

fn current_state(
    root: &Root,
    name: &Path,
    most: u64,
    keep: &mut dyn FnMut(&[u8]) -> Digest,
) -> Option<(State, Option<Stat>)> {
    let folder = match folder_above(root, name) {
        Ok(folder) => folder,
        // Without the folder above it, a name has no entry.
        Err(RestoreError(Unrestored::Changed)) => return Some((State::Nothing, None)),
        Err(_) => return None,
    };
    look(root, &folder, name.file_name()?, most, keep).ok()
}

/// Returns the last part of a name that may be changed.
fn restorable<'n>(root: &Root, name: &'n Path, to: &State) -> Result<&'n OsStr, RestoreError> {
    let is_name = name.components().all(|part| matches!(part, Component::Normal(_)));
    let last = name.file_name().filter(|_| is_name).ok_or(RestoreError(Unrestored::NoName))?;
    if is_protected(root, name) {
        return Err(RestoreError(Unrestored::Protected));
    }
    if matches!(to, State::Unkept { .. }) { Err(RestoreError(Unrestored::NotKept)) } else { Ok(last) }
}

/// Returns `true` if undo must not touch a name: tools may not open it or not write to it.
pub(crate) fn is_protected(root: &Root, name: &Path) -> bool {
    // Some file systems ignore case, so `.GIT` can be git's folder, too.
    let in_git = name.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    in_git || root.refuse_unwritable(&names::text_of(name), name).is_err()
}

/// Opens the folder of a name. Refuses links on the way.
fn folder_above(root: &Root, name: &Path) -> Result<OwnedFd, RestoreError> {
    let above = name.parent().unwrap_or(Path::new(""));
    let folder = root.open_exact(above).map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => RestoreError(Unrestored::Changed),
        errno => errno.into(),
    })?;
    let stat = rustix::fs::fstat(&folder)?;
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if is_folder { Ok(folder) } else { Err(RestoreError(Unrestored::Changed)) }
}

/// A name in an open folder.
struct OpenName<'s> {
    root: &'s Root,
    folder: &'s OwnedFd,
    above: &'s Path,
    last: &'s OsStr,
}

impl OpenName<'_> {
    fn write_state(
        &self,
        now: &State,
        to: &State,
        content: &[u8],
        stat: Option<&Stat>,
    ) -> Result<Vec<Text>, RestoreError> {
        // Unknown attributes stay as they are.
        let attributes = || to.attributes().or(now.attributes()).cloned().unwrap_or_default();
        match (now, to) {
            (_, State::Nothing) => self.remove(now, stat).map(|()| Vec::new()),
            // Only the mode differs. A file with several names is replaced instead, because all names share the mode
            // and only this one is restored. So is a file with other attributes: setting the mode and the access
            // control list in two steps would grant access in between.
            (State::File { content: old, .. }, State::File { content: new, mode, .. })
                if old == new
                    && stat.is_some_and(|stat| other_names(stat) == 0)
                    && now.attributes().is_some_and(|now| now.equals(&attributes())) =>
            {
                self.set_mode(*mode, stat).map(|()| Vec::new())
            }
            (State::Folder { .. }, State::Folder { mode, .. }) => self.set_folder(*mode, attributes(), stat),
            (_, State::Folder { mode, .. }) => self.make_folder(*mode, attributes()),
            (_, State::File { mode, .. }) => self.put_file(content, *mode, attributes(), stat),
            (_, State::Link { target }) => self.put_link(target, stat).map(|()| Vec::new()),
            (_, State::Unkept { .. }) => Err(RestoreError(Unrestored::NotKept)),
        }
    }

    fn remove(&self, from: &State, stat: Option<&Stat>) -> Result<(), RestoreError> {
        let now = rustix::fs::statat(self.folder, self.last, AtFlags::SYMLINK_NOFOLLOW)?;
        // A folder needs no comparison, because it is only removed if it is empty.
        if !from.is_folder() && !stat.is_some_and(|stat| is_same(&now, stat)) {
            return Err(RestoreError(Unrestored::Changed));
        }
        fault::point();
        if !from.is_folder() {
            return Ok(rustix::fs::unlinkat(self.folder, self.last, AtFlags::empty())?);
        }
        let name = self.root.path().as_os_str().len() + 1 + self.above.as_os_str().len() + 1 + self.last.len();
        match rustix::fs::unlinkat(self.folder, self.last, AtFlags::REMOVEDIR) {
            // Entries whose paths are too long for the kernel are in no record, so they are removed with the folder.
            Err(Errno::NOTEMPTY) => {
                hops::remove_unnameable(self.folder.as_fd(), self.last, name)?;
                Ok(rustix::fs::unlinkat(self.folder, self.last, AtFlags::REMOVEDIR)?)
            }
            done => Ok(done?),
        }
    }

    /// Sets the mode through the open descriptor, because the path may refer to another file by now.
    fn set_mode(&self, mode: u32, stat: Option<&Stat>) -> Result<(), RestoreError> {
        let fd = self.open_compared(stat)?;
        fault::point();
        Ok(rustix::fs::fchmod(&fd, mode_from(mode))?)
    }

    fn set_folder(&self, mode: u32, attributes: Attributes, stat: Option<&Stat>) -> Result<Vec<Text>, RestoreError> {
        let fd = self.open_compared(stat)?;
        let same = attributes::read(&fd, MOST_KEPT).is_some_and(|now| now.equals(&attributes));
        fault::point();
        if same {
            rustix::fs::fchmod(&fd, mode_from(mode))?;
            return Ok(Vec::new());
        }
        // The folder is closed to other users until its access control list is replaced.
        rustix::fs::fchmod(&fd, mode_from(mode & 0o700))?;
        Ok(Like { owner: None, mode, attributes }.apply(&File::from(fd))?)
    }

    /// Opens the entry, if it is the one that was compared.
    fn open_compared(&self, stat: Option<&Stat>) -> Result<OwnedFd, RestoreError> {
        let fd = rustix::fs::openat(self.folder, self.last, resolve::LOOK | OFlags::NOFOLLOW, Mode::empty())?;
        let now = rustix::fs::fstat(&fd)?;
        if stat.is_some_and(|stat| is_same(&now, stat)) { Ok(fd) } else { Err(RestoreError(Unrestored::Changed)) }
    }

    fn make_folder(&self, mode: u32, attributes: Attributes) -> Result<Vec<Text>, RestoreError> {
        fault::point();
        // No other user may enter the folder before it has its mode and access control list.
        rustix::fs::mkdirat(self.folder, self.last, Mode::from_raw_mode(0o700))?;
        let fd = rustix::fs::openat(self.folder, self.last, resolve::LOOK | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Like { owner: None, mode, attributes }.apply(&File::from(fd))?)
    }

    fn put_file(
        &self,
        content: &[u8],
        mode: u32,
        attributes: Attributes,
        stat: Option<&Stat>,
    ) -> Result<Vec<Text>, RestoreError> {
        let journal = Journal::begin(self.root);
        let home = TempFolder { folder: self.folder, name: self.above, journal: &journal };
        // A record has no owner, so that of the current file is kept.
        let owner = stat.map(|stat| (stat.st_uid, stat.st_gid));
        let temp = Temp::write(home, content, Some(&Like { owner, mode, attributes }))?;
        let lost = temp.lost().to_vec();
        self.rename(temp, stat)?;
        Ok(lost)
    }

    fn put_link(&self, target: &Path, stat: Option<&Stat>) -> Result<(), RestoreError> {
        let journal = Journal::begin(self.root);
        let home = TempFolder { folder: self.folder, name: self.above, journal: &journal };
        let temp = Temp::symlink(home, target)?;
        self.rename(temp, stat)
    }

    fn rename(&self, temp: Temp<'_>, stat: Option<&Stat>) -> Result<(), RestoreError> {
        if let Some(stat) = stat {
            let now = rustix::fs::statat(self.folder, self.last, AtFlags::SYMLINK_NOFOLLOW)?;
            if !is_same(&now, stat) {
                return Err(RestoreError(Unrestored::Changed));
            }
        }
        Ok(temp.rename(self.last, stat.map_or(Destination::Nothing, Destination::This))?)
    }
}
