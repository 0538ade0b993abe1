//! A name put back to a state, if it still is in the one it was left in.

use crate::attributes;
use crate::attributes::{Attributes, Like, MOST_KEPT};
use crate::changes::journal::Journal;
use crate::changes::record::{Recorder, Recording};
use crate::changes::temp::{Home, Onto, Temp};
use crate::changes::write::{is_same, other_names};
use crate::root::hops;
use crate::root::resolve;
use crate::state;
use crate::state::{Change, Digest, Stamp, State};
use crate::undo::snapshot;
use crate::{Workspace, fault, names};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Component, Path};

/// Why a name was left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is not what it was left as: somebody else changed it.
    Changed,
    /// It was changed after the turn was cut short, or too shortly before that to tell: it counts as somebody else's work.
    Later,
    /// There is something else in the folder that was to go.
    NotEmpty,
    /// Tools may not open it, or not write to it.
    Protected,
    /// It is no name below the root.
    NoName,
    /// It was too large to be kept, or could not be read.
    NotKept,
    /// What is there now cannot be kept, so that this could not be taken back.
    Unrecorded,
    /// What was kept of it is not there any more.
    Lost,
    /// The system says no.
    System(Errno),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Changed => "it was changed since",
            Refusal::Later => {
                "it was changed after the turn was cut short, or in its last moment, and may be somebody else's work"
            }
            Refusal::NotEmpty => "there is something else in it by now",
            Refusal::Protected => "tools may not change it",
            Refusal::NoName => "that is no name below the root",
            Refusal::NotKept => "its content was not kept: too large, or not to be read",
            Refusal::Unrecorded => {
                "what it is now cannot be kept; make room on the disk, or let it be written, and try again"
            }
            Refusal::Lost => "what was kept of it is gone or damaged",
            Refusal::System(errno) => return write!(f, "the system refuses: {errno}"),
        })
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Refusal {
        match errno {
            Errno::EXIST | Errno::STALE => Refusal::Changed,
            Errno::NOTEMPTY => Refusal::NotEmpty,
            errno => Refusal::System(errno),
        }
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        Refusal::System(error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))
    }
}

/// Files of more bytes are not looked into.
const MOST: u64 = 64 << 20;

impl Workspace {
    /// Whether [`restore`](Workspace::restore) would do it now. Nothing is changed.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn could_restore(&self, change: &Change) -> Result<(), Refusal> {
        self.restorable(&change.name, &change.after)?;
        match self.state(&change.name, MOST, &mut |content| Digest::of(content)) {
            Some(now) if now.is(&change.before) => Ok(()),
            _ => Err(Refusal::Changed),
        }
    }

    /// Makes a name what it shall be after this change, if it is what it was before. A file or a link is replaced at once;
    /// `content` is that of a new file. A folder that goes must be empty. Gives the names of the attributes that the system
    /// refused.
    ///
    /// # Errors
    /// Why it was left as it is.
    pub(crate) fn restore(
        &self,
        change: &Change,
        content: &[u8],
        recorder: &dyn Recorder,
    ) -> Result<Vec<String>, Refusal> {
        let Change { name, before: from, after: to } = change;
        let last = self.restorable(name, to)?;
        let folder = self.folder_above(name)?;
        let (now, stat) = self.look(&folder, last, MOST, &mut |content| recorder.keep(content))?;
        if !now.is(from) {
            return Err(Refusal::Changed);
        }
        let spot = Spot { workspace: self, folder: &folder, above: name.parent().unwrap_or(Path::new("")), last };
        let recording = Recording::of(recorder, vec![change.clone()]);
        if !recorder.is_recording() {
            return Err(Refusal::Unrecorded);
        }
        let lost = spot.put(&now, to, content, stat.as_ref())?;
        recording.keep();
        Ok(lost)
    }

    /// What stands there. The content of a file that is also a blocked one is not for anybody.
    fn look(
        &self,
        folder: &OwnedFd,
        last: &OsStr,
        most: u64,
        keep: &mut dyn FnMut(&[u8]) -> Digest,
    ) -> Result<(State, Option<Stat>), Errno> {
        match rustix::fs::statat(folder, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if self.refuse_twin("", &stat).is_err() => state::look(folder.as_fd(), last, 0, keep),
            _ => state::look(folder.as_fd(), last, most, keep),
        }
    }

    /// What stands under a real name now; `None` where that cannot be found out.
    pub(crate) fn state(&self, name: &Path, most: u64, keep: &mut dyn FnMut(&[u8]) -> Digest) -> Option<State> {
        let folder = match self.folder_above(name) {
            Ok(folder) => folder,
            Err(Refusal::Changed) => return Some(State::Nothing),
            Err(_) => return None,
        };
        self.look(&folder, name.file_name()?, most, keep).ok().map(|(state, _)| state)
    }

    /// When what stands under a name was last changed in any way, in nanoseconds since 1970, and the length of the tick of
    /// that clock. Of a name where nothing stands that is the folder in which it would.
    pub(crate) fn changed_at(&self, name: &Path) -> Option<(i128, i128)> {
        let stat = name.ancestors().find_map(|name| match name.as_os_str().is_empty() {
            true => rustix::fs::fstat(&self.root).ok(),
            false => resolve::stat_exact(self.root.as_fd(), name).ok(),
        });
        stat.map(|stat| snapshot::changed_at(&Stamp::of(&stat)))
    }

    /// The time of a file that is made now, where one can be made.
    pub(crate) fn file_time(&self) -> Option<i128> {
        Journal::begin(self).made_at()
    }

    /// The last part of a name that may be changed.
    fn restorable<'n>(&self, name: &'n Path, to: &State) -> Result<&'n OsStr, Refusal> {
        let is_name = name.components().all(|part| matches!(part, Component::Normal(_)));
        let last = name.file_name().filter(|_| is_name).ok_or(Refusal::NoName)?;
        let in_git = name.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
        if in_git || self.refuse_unwritable(&names::text_of(name), name).is_err() {
            return Err(Refusal::Protected);
        }
        if matches!(to, State::Unkept { .. }) { Err(Refusal::NotKept) } else { Ok(last) }
    }

    /// The folder that a name stands in, reached without any link.
    fn folder_above(&self, name: &Path) -> Result<OwnedFd, Refusal> {
        let above = name.parent().unwrap_or(Path::new(""));
        let folder = resolve::open_exact(self.root.as_fd(), above).map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Refusal::Changed,
            errno => Refusal::System(errno),
        })?;
        let stat = rustix::fs::fstat(&folder)?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_folder { Ok(folder) } else { Err(Refusal::Changed) }
    }
}

/// A name in an open folder.
struct Spot<'s> {
    workspace: &'s Workspace,
    folder: &'s OwnedFd,
    above: &'s Path,
    last: &'s OsStr,
}

impl Spot<'_> {
    fn put(&self, now: &State, to: &State, content: &[u8], stat: Option<&Stat>) -> Result<Vec<String>, Refusal> {
        // What was not known stays as it is.
        let attributes = || to.attributes().or(now.attributes()).cloned().unwrap_or_default();
        match (now, to) {
            (_, State::Nothing) => self.remove(now, stat).map(|()| Vec::new()),
            // The mode of a file with several names is that of all of them; only this one goes back. And two steps, one for
            // the mode and one for a list, would let somebody in between them.
            (State::File { content: old, .. }, State::File { content: new, mode, .. })
                if old == new
                    && stat.is_some_and(|stat| other_names(stat) == 0)
                    && now.attributes().is_some_and(|now| now.is_as(&attributes())) =>
            {
                self.set_mode(*mode, stat).map(|()| Vec::new())
            }
            (State::Folder { .. }, State::Folder { mode, .. }) => self.set_folder(*mode, attributes(), stat),
            (_, State::Folder { mode, .. }) => self.make_folder(*mode, attributes()),
            (_, State::File { mode, .. }) => self.put_file(content, *mode, attributes(), stat),
            (_, State::Link { target }) => self.put_link(target, stat).map(|()| Vec::new()),
            (_, State::Unkept { .. }) => Err(Refusal::NotKept),
        }
    }

    fn remove(&self, from: &State, stat: Option<&Stat>) -> Result<(), Refusal> {
        let now = rustix::fs::statat(self.folder, self.last, AtFlags::SYMLINK_NOFOLLOW)?;
        if !from.is_folder() && !stat.is_some_and(|stat| is_same(&now, stat)) {
            return Err(Refusal::Changed);
        }
        fault::point();
        if !from.is_folder() {
            return Ok(rustix::fs::unlinkat(self.folder, self.last, AtFlags::empty())?);
        }
        let name = self.workspace.root().as_os_str().len() + 1 + self.above.as_os_str().len() + 1 + self.last.len();
        match rustix::fs::unlinkat(self.folder, self.last, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => {
                hops::remove_unnameable(self.folder.as_fd(), self.last, name)?;
                Ok(rustix::fs::unlinkat(self.folder, self.last, AtFlags::REMOVEDIR)?)
            }
            done => Ok(done?),
        }
    }

    /// On the open file, for a name could lead elsewhere by now.
    fn set_mode(&self, mode: u32, stat: Option<&Stat>) -> Result<(), Refusal> {
        let fd = self.opened(stat)?;
        fault::point();
        Ok(rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode))?)
    }

    fn set_folder(&self, mode: u32, attributes: Attributes, stat: Option<&Stat>) -> Result<Vec<String>, Refusal> {
        let fd = self.opened(stat)?;
        let same = attributes::read(&fd, MOST_KEPT).is_some_and(|now| now.is_as(&attributes));
        fault::point();
        if same {
            rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode))?;
            return Ok(Vec::new());
        }
        // Closed while it has neither the one list nor the other.
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode & 0o700))?;
        Ok(Like { owner: None, mode, attributes }.give(&File::from(fd))?)
    }

    /// What stands there, if it is what was looked at.
    fn opened(&self, stat: Option<&Stat>) -> Result<OwnedFd, Refusal> {
        let fd = rustix::fs::openat(self.folder, self.last, resolve::LOOK | OFlags::NOFOLLOW, Mode::empty())?;
        let now = rustix::fs::fstat(&fd)?;
        if stat.is_some_and(|stat| is_same(&now, stat)) { Ok(fd) } else { Err(Refusal::Changed) }
    }

    fn make_folder(&self, mode: u32, attributes: Attributes) -> Result<Vec<String>, Refusal> {
        fault::point();
        rustix::fs::mkdirat(self.folder, self.last, Mode::from_raw_mode(0o700))?;
        let fd = rustix::fs::openat(self.folder, self.last, resolve::LOOK | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Like { owner: None, mode, attributes }.give(&File::from(fd))?)
    }

    fn put_file(
        &self,
        content: &[u8],
        mode: u32,
        attributes: Attributes,
        stat: Option<&Stat>,
    ) -> Result<Vec<String>, Refusal> {
        let journal = Journal::begin(self.workspace);
        let home = Home { folder: self.folder, name: self.above, journal: &journal };
        let owner = stat.map(|stat| (stat.st_uid, stat.st_gid));
        let temp = Temp::write(home, content, Some(&Like { owner, mode, attributes }))?;
        let lost = temp.lost().to_vec();
        self.rename(temp, stat)?;
        Ok(lost)
    }

    fn put_link(&self, target: &Path, stat: Option<&Stat>) -> Result<(), Refusal> {
        let journal = Journal::begin(self.workspace);
        let home = Home { folder: self.folder, name: self.above, journal: &journal };
        let temp = Temp::symlink(home, target)?;
        self.rename(temp, stat)
    }

    fn rename(&self, temp: Temp<'_>, stat: Option<&Stat>) -> Result<(), Refusal> {
        if let Some(stat) = stat {
            let now = rustix::fs::statat(self.folder, self.last, AtFlags::SYMLINK_NOFOLLOW)?;
            if !is_same(&now, stat) {
                return Err(Refusal::Changed);
            }
        }
        Ok(temp.rename(self.last, stat.map_or(Onto::Nothing, Onto::This))?)
    }
}
