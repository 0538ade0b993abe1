//! Keeps build output for a session, outside the project.
//!
//! Output that is not put into the project is moved out of the layer of its command into a folder of the session. It is
//! moved into the layer of the next command before the layer is mounted, so the command sees it over the project's
//! folder and can change or remove it like any other file. A *unit* is moved as a whole: the uppermost ignored folder,
//! or one ignored file. As soon as anything changes in the project's folder of a unit, the unit is deleted.
//!
//! The folder outlives its session, so that `coder keep` can put the output into the project afterwards. The next
//! session deletes it: a session holds a lock on its folder, as on a layer.

use crate::layer::{FOLDER, Layer, names_in, stat_at};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use toolfence_sandbox::project::random_name;
use toolfence_workspace::stash::{Moment, remove_tree};

/// The name of the output itself in the folder of a unit.
const ENTRY: &str = "entry";

/// The name of the file that describes a unit: a line of four numbers, then the path, which may contain line ends.
const ABOUT: &str = "about";

/// The name of the file that is locked while units are moved.
const LOCK: &str = "lock";

/// The most entries of the project's folder that are checked for changes. A larger folder counts as changed.
const MOST_ENTRIES: usize = 200_000;

/// The most levels of nested folders that are checked. A deeper folder counts as changed.
const MOST_NESTED: usize = 256;

/// Returns the folder in a private folder that contains the output of all sessions.
pub fn outputs_in(place: &Path) -> PathBuf {
    place.join("output")
}

/// The folder with the output of one session.
#[derive(Debug)]
pub struct SessionOutput {
    path: PathBuf,
    folder: OwnedFd,
    /// Whether this process holds the lock of the session.
    is_locked: bool,
}

/// A folder or file of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The path relative to the project.
    pub path: PathBuf,
    /// The number of files that were written or removed in it.
    pub files: usize,
    /// The project's entry did not change between this moment and the end of the command.
    pub since: Moment,
    /// Whether the project had an entry at the path.
    existed: bool,
    /// The name of the unit's folder.
    name: OsString,
}

/// The units of a session, which are locked against other processes.
#[derive(Debug)]
pub struct Units<'a> {
    session: &'a SessionOutput,
    _lock: OwnedFd,
}

impl SessionOutput {
    /// Creates the folder of a session in `place`, which is created if it is missing. `place` must be on the file
    /// system of the layers, because entries are moved between them.
    ///
    /// # Errors
    /// The folder cannot be created or locked.
    pub fn create(place: &Path) -> io::Result<SessionOutput> {
        DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        let place_fd = rustix::fs::open(place, FOLDER, Mode::empty())?;
        // Until the new folder is locked, another process would delete it as a leftover.
        rustix::fs::flock(&place_fd, FlockOperation::LockExclusive)?;
        let path = place.join(random_name()?);
        rustix::fs::mkdir(&path, Mode::RWXU)?;
        let folder = rustix::fs::open(&path, FOLDER, Mode::empty())?;
        rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        // The lock on `place` ends with `place_fd`, now that the new folder is locked itself.
        Ok(SessionOutput { path, folder, is_locked: true })
    }

    /// Opens the folders of all sessions in `place`. The folder of a session that has ended is locked, so that the next
    /// session does not delete its output in the meantime.
    pub fn all(place: &Path) -> Vec<SessionOutput> {
        let Ok(place_fd) = rustix::fs::open(place, FOLDER, Mode::empty()) else { return Vec::new() };
        let names = names_in(place_fd.as_fd(), MOST_ENTRIES).unwrap_or_default();
        let open = |name: OsString| {
            let folder = rustix::fs::openat(&place_fd, &name, FOLDER, Mode::empty()).ok()?;
            // This fails for a running session, which protects its own output.
            let is_locked = rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok();
            Some(SessionOutput { path: place.join(name), folder, is_locked })
        };
        names.into_iter().filter_map(open).collect()
    }

    /// Waits until no other process moves the units, and locks them.
    ///
    /// # Errors
    /// The lock cannot be created.
    pub fn units(&self) -> io::Result<Units<'_>> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = rustix::fs::openat(&self.folder, LOCK, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        Ok(Units { session: self, _lock: lock })
    }

    /// Returns `true` if the session has output. The output in the layer of a running command does not count.
    pub fn has_any(&self) -> bool {
        names_in(self.folder.as_fd(), MOST_ENTRIES).is_ok_and(|names| names.iter().any(|name| name != LOCK))
    }
}

impl Drop for SessionOutput {
    fn drop(&mut self) {
        // A folder with output stays, so that `coder keep` still finds it.
        if self.is_locked && !self.has_any() {
            let _ = rustix::fs::unlinkat(&self.folder, LOCK, AtFlags::empty());
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

impl Units<'_> {
    /// Returns the units sorted by path.
    pub fn list(&self) -> Vec<Unit> {
        let names = names_in(self.session.folder.as_fd(), MOST_ENTRIES).unwrap_or_default();
        let mut units: Vec<Unit> = names.into_iter().filter_map(|name| self.read(name)).collect();
        units.sort_by(|one, other| one.path.cmp(&other.path));
        units
    }

    fn read(&self, name: OsString) -> Option<Unit> {
        let text = std::fs::read(self.session.path.join(&name).join(ABOUT)).ok()?;
        let (head, path) = text.split_at(text.iter().position(|byte| *byte == b'\n')?);
        let head = std::str::from_utf8(head).ok()?;
        let numbers: Vec<i64> = head.split(' ').map_while(|number| number.parse().ok()).collect();
        let [seconds, nanoseconds, existed, files] = numbers[..] else { return None };
        Some(Unit {
            path: OsString::from_vec(path[1..].to_vec()).into(),
            files: usize::try_from(files).ok()?,
            since: Moment::from_parts(seconds, nanoseconds),
            existed: existed == 1,
            name,
        })
    }

    /// Moves an entry of a layer that is not mounted into the folder of the session, in place of an earlier unit at the
    /// same path.
    ///
    /// # Errors
    /// The entry cannot be moved. It stays in the layer.
    pub fn store(
        &self,
        layer: &Layer,
        root: BorrowedFd<'_>,
        (path, files): (&Path, usize),
        since: Moment,
    ) -> io::Result<()> {
        let existed = entry_at(root, path)?.is_some();
        let name = random_name()?;
        let place = self.session.path.join(&name);
        let earlier: Vec<Unit> = self.list().into_iter().filter(|unit| overlap(&unit.path, path)).collect();
        rustix::fs::mkdir(&place, Mode::RWXU)?;
        let (seconds, nanoseconds) = since.parts();
        let mut about = format!("{seconds} {nanoseconds} {} {files}\n", u8::from(existed)).into_bytes();
        about.extend_from_slice(path.as_os_str().as_bytes());
        let folder = rustix::fs::open(&place, FOLDER, Mode::empty())?;
        let moved = std::fs::write(place.join(ABOUT), about).and_then(|()| {
            let from = layer.folder_of(path)?;
            let last = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(move_entry((from.as_fd(), last), (folder.as_fd(), OsStr::new(ENTRY)))?)
        });
        // An earlier unit is deleted only after the move, so that a failed move loses nothing.
        if moved.is_err() {
            self.remove(&name);
        } else {
            earlier.iter().for_each(|unit| self.delete(unit));
        }
        moved
    }

    /// Moves a unit into a layer that is not mounted yet.
    ///
    /// # Errors
    /// The unit cannot be moved, for instance because the project has no folder above its path any more.
    pub fn move_into(&self, layer: &Layer, root: BorrowedFd<'_>, unit: &Unit) -> io::Result<()> {
        let folder = rustix::fs::openat(&self.session.folder, &unit.name, FOLDER, Mode::empty())?;
        layer.move_in(root, &unit.path, (folder.as_fd(), OsStr::new(ENTRY)))?;
        self.delete(unit);
        Ok(())
    }

    /// Deletes a unit.
    pub fn delete(&self, unit: &Unit) {
        self.remove(&unit.name);
    }

    fn remove(&self, name: impl AsRef<OsStr>) {
        // If the entry cannot be deleted now, the next session deletes it as a leftover.
        let _ = remove_tree(self.session.folder.as_fd(), name.as_ref());
    }
}

impl Unit {
    /// Returns the path that changed in the project's folder since the command; `None` if nothing did.
    pub fn changed_in_project(&self, root: BorrowedFd<'_>) -> Option<PathBuf> {
        let Ok(entry) = entry_at(root, &self.path) else { return Some(self.path.clone()) };
        let Some((folder, name)) = entry else { return self.existed.then(|| self.path.clone()) };
        // The command saw no entry at this path, so the entry is new.
        if !self.existed {
            return Some(self.path.clone());
        }
        let mut left = MOST_ENTRIES;
        changed_since(folder.as_fd(), &name, &self.path, self.since, &mut left, MOST_NESTED)
    }
}

/// Returns `true` if one path is in the other one.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Returns the path of the first entry at or below `name` that changed since `since`, or that cannot be read.
fn changed_since(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    since: Moment,
    left: &mut usize,
    depth: usize,
) -> Option<PathBuf> {
    let changed = || Some(path.to_owned());
    let Ok(stat) = stat_at(folder, name) else { return changed() };
    // `since` precedes the command, so this also finds what another process changed while the command ran.
    if Moment::changed_at(&stat) >= since || *left == 0 || depth == 0 {
        return changed();
    }
    *left -= 1;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return None;
    }
    let Ok(inner) = rustix::fs::openat(folder, name, FOLDER, Mode::empty()) else { return changed() };
    let Ok(names) = names_in(inner.as_fd(), *left) else { return changed() };
    names.iter().find_map(|name| changed_since(inner.as_fd(), name, &path.join(name), since, left, depth - 1))
}

/// Returns the folder with the project's entry at a path, and the entry's name; `None` if there is no entry, or no
/// folder above it.
fn entry_at(root: BorrowedFd<'_>, path: &Path) -> io::Result<Option<(OwnedFd, OsString)>> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut folder = rustix::io::fcntl_dupfd_cloexec(root, 0)?;
    for part in path.parent().into_iter().flat_map(Path::iter) {
        folder = match rustix::fs::openat(&folder, part, FOLDER, Mode::empty()) {
            Ok(inner) => inner,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
    }
    match stat_at(folder.as_fd(), name) {
        Ok(_) => Ok(Some((folder, name.to_owned()))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Moves an entry to another folder of the same file system.
pub(crate) fn move_entry(
    (from, name): (BorrowedFd<'_>, &OsStr),
    (to, new_name): (BorrowedFd<'_>, &OsStr),
) -> rustix::io::Result<()> {
    let stat = stat_at(from, name)?;
    // Moving a folder changes its `..`, which requires write permission for the folder itself.
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let is_shut = is_folder && stat.st_mode & 0o300 != 0o300;
    if is_shut {
        rustix::fs::chmodat(from, name, Mode::RWXU, AtFlags::empty())?;
    }
    rustix::fs::renameat(from, name, to, new_name)?;
    if is_shut {
        rustix::fs::chmodat(to, new_name, Mode::from_raw_mode(stat.st_mode & 0o777), AtFlags::empty())?;
    }
    Ok(())
}

/// Returns these paths without those that are in another one of them.
pub fn uppermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort_unstable();
    let mut chosen: HashSet<PathBuf> = HashSet::new();
    paths.retain(|path| {
        let is_inside = path.ancestors().skip(1).any(|above| chosen.contains(above));
        !is_inside && chosen.insert(path.clone())
    });
    paths
}
