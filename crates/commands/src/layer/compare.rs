//! Compares a layer with the project.
//!
//! The kernel records a change in the upper folder in one of three ways: a *whiteout* (a character device 0/0) for an
//! entry that was removed, a file or link for one that was written, and a folder for one in which something changed. An
//! *opaque* folder hides everything that the project has below it. The upper folder does not show the differences: it
//! has all bytes even of a file that was only touched, and of a folder that was deleted and created again. So
//! everything is compared with the project.

use super::{FOLDER, stat_at};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Permission bits. Those above (set-user-id and the like) are dropped when a change is kept.
const PERMISSIONS: u32 = 0o777;

/// The number of bytes that are read from each of two files at a time.
const CHUNK: usize = 64 << 10;

/// Flags to open a regular file. The entry may be a FIFO by now, on which `open` would block without `NONBLOCK`.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The limits for reading a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most entries: those of the layer and, in folders that were replaced, those of the project.
    pub entries: usize,
    /// The most levels of nested folders.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { entries: 200_000, depth: 256 }
    }
}

/// A path at which the layer differs from the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path relative to the project. It can contain any bytes, and can be longer than the system accepts in one
    /// call.
    pub path: PathBuf,
    /// How the entry differs.
    pub kind: ChangeKind,
    /// Whether the kernel copied the entry from the project. If such an entry is new at its path, the command renamed
    /// it, or the user removed the project's entry in the meantime.
    pub is_copy: bool,
}

/// How an entry of the layer differs from the project's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// The entry was removed. A removed folder is one change: its entries are not listed.
    Removed,
    /// The entry is new. After a new folder, the list has a change for each of its entries.
    Added(Entry),
    /// The content, the link target or the mode of the entry has changed.
    Modified(Entry),
    /// The entry was replaced by one of another kind: a folder by a file, a file by a link. After a new folder, the
    /// list has a change for each of its entries.
    Replaced(Entry),
    /// Only the time of the file has changed.
    Touched,
    /// The entry is a FIFO, a socket or a device, which cannot be kept. The project's entry at this path stays.
    Special,
    /// The command removed or replaced a folder that contains this hidden path, or created an entry at the path. The
    /// project's entry stays.
    Hidden,
}

/// The kind and the properties of a file, link or folder in a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// Permission bits.
        mode: u32,
        /// The length in bytes.
        bytes: u64,
    },
    /// A symbolic link.
    Link {
        /// The path it points to.
        target: PathBuf,
    },
    /// A folder.
    Folder {
        /// Permission bits.
        mode: u32,
    },
}

/// The reason why a layer was not read.
#[derive(Debug)]
pub enum ReadError {
    /// The layer has more entries than [`Limits::entries`].
    TooManyEntries(usize),
    /// The layer has folders nested deeper than [`Limits::depth`].
    TooDeep(usize),
    /// The caller stopped the comparison.
    Stopped,
    /// The system refused to read this path.
    System(PathBuf, Errno),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::TooManyEntries(most) => write!(f, "the command changed more than {most} files and folders"),
            ReadError::TooDeep(most) => write!(f, "the command created more than {most} nested folders"),
            ReadError::Stopped => f.write_str("stopped"),
            ReadError::System(path, errno) => write!(f, "cannot read {}: {}", path.display(), io::Error::from(*errno)),
        }
    }
}

impl std::error::Error for ReadError {}

pub(super) fn changes(
    upper: BorrowedFd<'_>,
    root: BorrowedFd<'_>,
    hidden: &[PathBuf],
    limits: Limits,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Change>, ReadError> {
    let hidden = hidden.iter().map(PathBuf::as_path).collect();
    let mut comparison = Comparison { hidden, limits, stop, seen: 0, path: PathBuf::new(), changes: Vec::new() };
    let duplicate = |folder| rustix::io::fcntl_dupfd_cloexec(folder, 0);
    let (upper, root) = (comparison.system(duplicate(upper))?, comparison.system(duplicate(root))?);
    let top = comparison.level(upper, Some(root), false)?;
    comparison.folders(top)?;
    Ok(comparison.changes)
}

struct Comparison<'a> {
    hidden: BTreeSet<&'a Path>,
    limits: Limits,
    stop: &'a dyn Fn() -> bool,
    seen: usize,
    /// The path that is being compared.
    path: PathBuf,
    changes: Vec<Change>,
}

/// A folder of the layer whose entries are being compared.
struct Level {
    upper: OwnedFd,
    /// The project's folder at the same path, if there is one.
    lower: Option<OwnedFd>,
    /// Whether the layer hides the project's folder, so that entries that only the project has were removed.
    is_opaque: bool,
    /// The remaining names, each with whether the layer has an entry of that name.
    names: std::collections::btree_map::IntoIter<OsString, bool>,
    /// The mode of the folder before it was made readable; `None` if the mode was not changed.
    mode_to_restore: Option<u32>,
}

impl Comparison<'_> {
    /// Compares the entries of a folder of the layer, and of all folders in it. The pending folders are on an explicit
    /// stack, because deep nesting must not exhaust the thread's stack.
    fn folders(&mut self, top: Level) -> Result<(), ReadError> {
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            let Some((name, is_in_layer)) = level.names.next() else {
                if let Some(mode) = level.mode_to_restore {
                    self.system(rustix::fs::fchmod(&level.upper, Mode::from_raw_mode(mode)))?;
                }
                levels.pop();
                self.path.pop();
                continue;
            };
            self.path.push(&name);
            self.count()?;
            match self.entry(level, &name, is_in_layer)? {
                Some(_) if levels.len() > self.limits.depth => return Err(ReadError::TooDeep(self.limits.depth)),
                Some(inner) => levels.push(inner),
                None => drop(self.path.pop()),
            }
        }
        Ok(())
    }

    /// Lists the entries of a folder of the layer and, if it hides the project's folder, those of the project. Below an
    /// opaque folder every folder is opaque, although the kernel marks only the uppermost.
    fn level(&self, upper: OwnedFd, lower: Option<OwnedFd>, is_opaque: bool) -> Result<Level, ReadError> {
        let is_opaque = is_opaque || self.system(has_opaque_mark(upper.as_fd()))?;
        let mut names: BTreeMap<OsString, bool> = BTreeMap::new();
        if let Some(lower) = lower.as_ref().filter(|_| is_opaque) {
            names.extend(
                self.system(names_in(lower.as_fd(), self.remaining_entries()))?.into_iter().map(|name| (name, false)),
            );
        }
        // The second `extend` overwrites names in both folders: the layer's entry replaces the project's.
        names.extend(
            self.system(names_in(upper.as_fd(), self.remaining_entries()))?.into_iter().map(|name| (name, true)),
        );
        Ok(Level { upper, lower, is_opaque, names: names.into_iter(), mode_to_restore: None })
    }

    /// Compares an entry of a folder of the layer with the project's. Returns the folder that is to be entered next.
    fn entry(&mut self, level: &Level, name: &OsStr, is_in_layer: bool) -> Result<Option<Level>, ReadError> {
        let old = match level.lower.as_ref().map(|lower| stat_at(lower.as_fd(), name)).transpose() {
            Err(Errno::NOENT) => None,
            old => self.system(old)?,
        };
        let old = level.lower.as_ref().map(AsFd::as_fd).zip(old);
        if !is_in_layer {
            // Only the project has the entry, and the layer's folder hides it.
            return self.removed(name, old, 0).map(|()| None);
        }
        let new = self.system(stat_at(level.upper.as_fd(), name))?;
        if !is_whiteout(&new) {
            return self.compare_written(level, name, &new, old);
        }
        // `Layer::hide` created the whiteouts of hidden paths, not the command.
        if !self.hidden.contains(self.path.as_path()) {
            self.removed(name, old, 0)?;
        }
        Ok(None)
    }

    /// Records that the project's entry was removed. Hidden paths below it stay, with the folders above them.
    fn removed(&mut self, name: &OsStr, old: Option<(BorrowedFd<'_>, Stat)>, depth: usize) -> Result<(), ReadError> {
        let Some((lower, old)) = old else { return Ok(()) };
        // The recursion must not exhaust the thread's stack.
        if depth > self.limits.depth {
            return Err(ReadError::TooDeep(self.limits.depth));
        }
        if self.hidden.contains(self.path.as_path()) {
            self.push(ChangeKind::Hidden);
        } else if self.contains_hidden() && is_folder(&old) {
            let folder = self.system(open_folder(lower, name))?;
            // The names are sorted because changes are listed by path.
            let names: BTreeSet<OsString> =
                self.system(names_in(folder.as_fd(), self.remaining_entries()))?.into_iter().collect();
            for name in names {
                self.path.push(&name);
                self.count()?;
                let old = self.system(stat_at(folder.as_fd(), &name))?;
                self.removed(&name, Some((folder.as_fd(), old)), depth + 1)?;
                self.path.pop();
            }
        } else {
            self.push(ChangeKind::Removed);
        }
        Ok(())
    }

    /// Compares an entry that the command wrote with the project's entry at its path.
    fn compare_written(
        &mut self,
        level: &Level,
        name: &OsStr,
        new: &Stat,
        old: Option<(BorrowedFd<'_>, Stat)>,
    ) -> Result<Option<Level>, ReadError> {
        // First step: leave out what can never be kept.
        let upper = level.upper.as_fd();
        let is_folder_now = is_folder(new);
        // A file or link in place of a folder would remove the hidden files in the folder.
        let replaces_hidden = !is_folder_now && self.contains_hidden();
        if replaces_hidden || self.hidden.contains(self.path.as_path()) {
            self.push(ChangeKind::Hidden);
            return Ok(None);
        }
        let listed = self.changes.len();
        let mode = new.st_mode & PERMISSIONS;
        let entry = match FileType::from_raw_mode(new.st_mode) {
            FileType::Directory => Entry::Folder { mode },
            FileType::RegularFile => Entry::File { mode, bytes: u64::try_from(new.st_size).unwrap_or_default() },
            FileType::Symlink => Entry::Link { target: self.system(link_target(upper, name))? },
            _ => {
                self.push(ChangeKind::Special);
                return Ok(None);
            }
        };
        // Second step: compare the entry with the project's entry, if both are of one kind.
        let is_same_kind = |old: &Stat| FileType::from_raw_mode(old.st_mode) == FileType::from_raw_mode(new.st_mode);
        let lower = old.as_ref().filter(|(_, old)| is_same_kind(old));
        let kind = match (&old, lower) {
            (None, _) => Some(ChangeKind::Added(entry)),
            (Some(_), None) => Some(ChangeKind::Replaced(entry)),
            (_, Some((lower, old))) => {
                let has_same_mode = old.st_mode & PERMISSIONS == mode;
                let is_same = match &entry {
                    Entry::Folder { .. } => has_same_mode,
                    Entry::Link { target } => self.system(link_target(*lower, name))? == *target,
                    Entry::File { .. } => {
                        let has_same_bytes = new.st_size == old.st_size && self.same_bytes(upper, *lower, name, new)?;
                        if has_same_bytes && has_same_mode && time_of(new) != time_of(old) {
                            self.push(ChangeKind::Touched);
                        }
                        has_same_bytes && has_same_mode
                    }
                };
                (!is_same).then_some(ChangeKind::Modified(entry))
            }
        };
        if let Some(kind) = kind {
            self.push(kind);
        }
        let is_changed = self.changes.len() > listed;
        // Third step: remove what must not get into the project, such as set-user-ID bits and the kernel's marks.
        if is_changed && new.st_mode & 0o7000 != 0 && !FileType::from_raw_mode(new.st_mode).is_symlink() {
            self.system(rustix::fs::chmodat(upper, name, Mode::from_raw_mode(mode), AtFlags::empty()))?;
        }
        if is_changed && FileType::from_raw_mode(new.st_mode).is_file() {
            let file = self.system(open_upper(upper, name, mode))?;
            let stripped = strip_marks(&file);
            // `open_upper` may have added rights, which must not stay even if the marks could not be removed.
            self.system(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)))?;
            self.set_copy(self.system(stripped)?);
        }
        if !is_folder_now {
            return Ok(None);
        }
        let lower = match lower {
            Some((lower, _)) => Some(self.system(open_folder(*lower, name))?),
            None => None,
        };
        // Last step: open the folder to compare its entries next. The command may have removed the owner's rights;
        // `folders` restores the mode after the last entry.
        let is_closed = mode & 0o700 != 0o700;
        if is_closed {
            self.system(rustix::fs::chmodat(upper, name, Mode::RWXU, AtFlags::empty()))?;
        }
        let inner = self.system(open_folder(upper, name))?;
        if lower.is_none() {
            // Only a folder that the project lacks is moved into it, so only such a folder loses its marks. A merged
            // one keeps the opaque mark, which `level` reads.
            let is_copy = self.system(strip_marks(&inner))?;
            self.set_copy(is_copy);
        }
        let level = self.level(inner, lower, level.is_opaque)?;
        Ok(Some(Level { mode_to_restore: is_closed.then_some(mode), ..level }))
    }

    /// Compares the contents of two files of the same length.
    fn same_bytes(
        &self,
        upper: BorrowedFd<'_>,
        lower: BorrowedFd<'_>,
        name: &OsStr,
        new: &Stat,
    ) -> Result<bool, ReadError> {
        let mode = new.st_mode & PERMISSIONS;
        let mut new = File::from(self.system(open_upper(upper, name, mode))?);
        // `open_upper` may have added rights; the open descriptor does not need them any more.
        self.system(rustix::fs::fchmod(&new, Mode::from_raw_mode(mode)))?;
        let mut old = match rustix::fs::openat(lower, name, FILE, Mode::empty()) {
            Ok(old) => File::from(old),
            // A project's file that cannot be read counts as changed, because the command may have changed the mode of
            // its copy and then the content.
            Err(Errno::ACCESS) => return Ok(false),
            Err(errno) => return Err(self.failed(errno)),
        };
        let (mut ours, mut theirs) = (vec![0; CHUNK], vec![0; CHUNK]);
        loop {
            if (self.stop)() {
                return Err(ReadError::Stopped);
            }
            let failed = |error: io::Error| self.failed(Errno::from_io_error(&error).unwrap_or(Errno::IO));
            let read = read_full(&mut new, &mut ours).map_err(failed)?;
            let expected = read_full(&mut old, &mut theirs).map_err(failed)?;
            if ours[..read] != theirs[..expected] {
                return Ok(false);
            }
            if read == 0 {
                return Ok(true);
            }
        }
    }

    /// Returns `true` if a hidden path is below the current one.
    fn contains_hidden(&self) -> bool {
        // Paths compare by component, so all paths below the current one directly follow it.
        let mut after = self.hidden.range::<Path, _>((Bound::Excluded(self.path.as_path()), Bound::Unbounded));
        after.next().is_some_and(|hidden| hidden.starts_with(&self.path))
    }

    /// Returns how many entries may still be read.
    fn remaining_entries(&self) -> usize {
        self.limits.entries.saturating_sub(self.seen)
    }

    fn count(&mut self) -> Result<(), ReadError> {
        self.seen += 1;
        if self.seen > self.limits.entries {
            return Err(ReadError::TooManyEntries(self.limits.entries));
        }
        if self.seen.is_multiple_of(1000) && (self.stop)() {
            return Err(ReadError::Stopped);
        }
        Ok(())
    }

    fn push(&mut self, kind: ChangeKind) {
        self.changes.push(Change { path: self.path.clone(), kind, is_copy: false });
    }

    /// Sets whether the entry of the last change is a copy.
    fn set_copy(&mut self, is_copy: bool) {
        if let Some(change) = self.changes.last_mut() {
            change.is_copy = is_copy;
        }
    }

    fn system<T>(&self, done: rustix::io::Result<T>) -> Result<T, ReadError> {
        done.map_err(|errno| self.failed(errno))
    }

    fn failed(&self, errno: Errno) -> ReadError {
        ReadError::System(self.path.clone(), errno)
    }
}

/// Returns the names in a folder, at most one more than `most`, so that a folder of millions is not held in memory.
pub(crate) fn names_in(folder: BorrowedFd<'_>, most: usize) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        if names.len() > most {
            break;
        }
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Returns `true` if a folder of the layer hides everything in the project's folder at its path. See the kernel's
/// Documentation/filesystems/overlayfs.rst, "whiteouts and opaque directories".
fn has_opaque_mark(folder: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let mut value = [0_u8; 1];
    match rustix::fs::fgetxattr(folder, "user.overlay.opaque", &mut value) {
        Ok(length) => Ok(value[..length] == *b"y"),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Removes the extended attributes with which the kernel marks entries of a layer, because they must not get into the
/// project. Returns `true` if the kernel copied the entry from the project.
fn strip_marks(entry: &OwnedFd) -> rustix::io::Result<bool> {
    let mut names = vec![0; 4096];
    let length = loop {
        match rustix::fs::flistxattr(entry, &mut names) {
            Ok(length) => break length,
            Err(Errno::RANGE) if names.len() < 1 << 20 => names.resize(names.len() * 4, 0),
            Err(Errno::OPNOTSUPP) => return Ok(false),
            Err(errno) => return Err(errno),
        }
    };
    let mut is_copy = false;
    for name in names[..length].split(|byte| *byte == 0).filter(|name| name.starts_with(b"user.overlay.")) {
        is_copy |= name == b"user.overlay.origin";
        rustix::fs::fremovexattr(entry, name)?;
    }
    Ok(is_copy)
}

fn time_of(stat: &Stat) -> (i64, i64) {
    #[allow(clippy::useless_conversion, reason = "the types of these fields differ between systems")]
    (stat.st_mtime.into(), stat.st_mtime_nsec as i64)
}

fn link_target(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<PathBuf> {
    let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

fn open_folder(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(folder, name, FOLDER, Mode::empty())
}

/// Opens a file of the layer. The command may have removed the owner's rights from it, which are needed to read it and
/// to remove its marks; the caller restores the mode.
fn open_upper(folder: BorrowedFd<'_>, name: &OsStr, mode: u32) -> rustix::io::Result<OwnedFd> {
    if mode & 0o600 != 0o600 {
        rustix::fs::chmodat(folder, name, Mode::from_raw_mode(mode) | Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    }
    rustix::fs::openat(folder, name, FILE, Mode::empty())
}

/// Fills the buffer, or reads up to the end of the file. Short reads of different lengths would make equal files
/// differ.
fn read_full(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
