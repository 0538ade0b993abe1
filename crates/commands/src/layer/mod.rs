//! Layers on the disk: each command has a folder that contains the upper folder, to which it writes, and the work
//! folder, which the kernel needs.

mod compare;

pub(crate) use compare::names_in;
pub use compare::{Change, ChangeKind, Entry, Limits, ReadError};

use crate::session_output::move_entry;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use toolfence_sandbox::project::random_name;
use toolfence_workspace::stash::remove_tree;

/// The name of the upper folder, to which the command writes.
const UPPER: &str = "upper";

/// The name of the overlay's work folder, which only the kernel uses.
const WORK: &str = "work";

/// The prefix of layers that are being deleted.
const DISCARDED: &str = "discarded-";

/// The most folders that wait to be measured, each with an open file descriptor. Folders beyond this number are not
/// measured.
const MOST_WAITING: usize = 256;

/// The most entries that are searched for leftovers at a time.
const MOST_LEFTOVERS: usize = 10_000;

/// Opens a folder to list it or to open its entries.
pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The private layer of one command. Dropping it deletes it.
///
/// A layer holds a lock while it exists. [`delete_leftovers`] deletes layers that are not locked, which a killed
/// process has left.
#[derive(Debug)]
pub struct Layer {
    path: PathBuf,
    /// The open folder, which holds the lock.
    _folder: OwnedFd,
    upper: OwnedFd,
    hidden: Vec<PathBuf>,
}

impl Layer {
    /// Creates an empty layer in the folder `place`, which is created if it is missing. `root` is the project's folder:
    /// the layer gets its mode, because the command sees the upper folder's mode at the top of its tree.
    ///
    /// `place` should be on the file system of the project, so that entries can be moved into the project. The command
    /// must not be able to reach it.
    ///
    /// # Errors
    /// The folder cannot be created or locked.
    pub fn create(place: &Path, root: BorrowedFd<'_>) -> io::Result<Layer> {
        DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        // The sandbox follows no symbolic links, so the path must contain none.
        let place = place.canonicalize()?;
        let place_fd = rustix::fs::open(&place, FOLDER, Mode::empty())?;
        // Until the new folder is locked, `delete_leftovers` treats it as a leftover.
        rustix::fs::flock(&place_fd, FlockOperation::LockExclusive)?;
        let name = random_name()?;
        rustix::fs::mkdirat(&place_fd, name.as_str(), Mode::RWXU)?;
        let folder = rustix::fs::openat(&place_fd, name.as_str(), FOLDER, Mode::empty())?;
        rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        rustix::fs::flock(&place_fd, FlockOperation::Unlock)?;
        for part in [UPPER, WORK] {
            rustix::fs::mkdirat(&folder, part, Mode::RWXU)?;
        }
        let upper = rustix::fs::openat(&folder, UPPER, FOLDER, Mode::empty())?;
        look_like(upper.as_fd(), &rustix::fs::fstat(root)?)?;
        Ok(Layer { path: place.join(name), _folder: folder, upper, hidden: Vec::new() })
    }

    /// Returns the folder of the layer. The upper folder is `upper` in it and the work folder `work`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of an entry of the layer. Do not follow links in it: the command wrote it.
    pub fn path_of(&self, entry: &Path) -> PathBuf {
        self.path.join(UPPER).join(entry)
    }

    /// Makes a file or folder of the project absent in the layer. `path` is relative to the project, without links.
    ///
    /// The kernel shows an entry as removed if the upper folder has a character device with the number 0/0 in its
    /// place, a *whiteout*. Unlike a mount over the file, a whiteout does not prevent moving the folder, and it stays
    /// if the file is replaced.
    ///
    /// # Errors
    /// A folder on the way does not exist in the project, or the whiteout cannot be created.
    pub fn hide(&mut self, root: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let name = path.file_name().filter(|_| is_plain).ok_or(io::ErrorKind::InvalidInput)?;
        let chain = self.folders_above(root, path)?;
        let (folder, _) = chain.last().expect("the upper folder is in the chain");
        match rustix::fs::mknodat(folder, name, FileType::CharacterDevice, Mode::empty(), 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        for (folder, stat) in chain.iter().rev() {
            look_like(folder.as_fd(), stat)?;
        }
        self.hidden.push(path.to_owned());
        Ok(())
    }

    /// Moves an entry, named `name` in `folder`, into the layer. `path` is relative to the project, without links.
    ///
    /// # Errors
    /// A folder on the way does not exist in the project, or the entry cannot be moved.
    pub fn move_in(
        &self,
        root: BorrowedFd<'_>,
        path: &Path,
        (folder, name): (BorrowedFd<'_>, &OsStr),
    ) -> io::Result<()> {
        let last = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let chain = self.folders_above(root, path)?;
        let (above, _) = chain.last().expect("the upper folder is in the chain");
        move_entry((folder, name), (above.as_fd(), last))?;
        for (folder, stat) in chain.iter().rev() {
            look_like(folder.as_fd(), stat)?;
        }
        Ok(())
    }

    /// Creates the folders above a path in the layer and opens them for changes. Returns each with its final status,
    /// because a new entry changes the time of its folder.
    fn folders_above(&self, root: BorrowedFd<'_>, path: &Path) -> io::Result<Vec<(OwnedFd, Stat)>> {
        let mut below = rustix::io::fcntl_dupfd_cloexec(root, 0)?;
        let mut chain = vec![(rustix::io::fcntl_dupfd_cloexec(&self.upper, 0)?, rustix::fs::fstat(&below)?)];
        for part in path.parent().into_iter().flat_map(Path::iter) {
            below = rustix::fs::openat(&below, part, FOLDER, Mode::empty())?;
            let (above, _) = chain.last().expect("the upper folder is in the chain");
            // The folder may have the mode of a read-only folder of the project. The caller restores that mode.
            rustix::fs::fchmod(above, Mode::RWXU)?;
            match rustix::fs::mkdirat(above, part, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let folder = rustix::fs::openat(above, part, FOLDER, Mode::empty())?;
            chain.push((folder, rustix::fs::fstat(&below)?));
        }
        let (folder, _) = chain.last().expect("the upper folder is in the chain");
        rustix::fs::fchmod(folder, Mode::RWXU)?;
        Ok(chain)
    }

    /// Opens the folder of the layer in which the entry at `path` is, to move the entry into the project.
    ///
    /// # Errors
    /// A folder on the way cannot be opened.
    pub fn folder_of(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut folder = rustix::io::fcntl_dupfd_cloexec(&self.upper, 0)?;
        for part in path.parent().into_iter().flat_map(Path::iter) {
            folder = rustix::fs::openat(&folder, part, FOLDER, Mode::empty())?;
        }
        Ok(folder)
    }

    /// Returns the bytes that the files of the layer use on the disk. The command may still be running: entries that
    /// disappear in the meantime or cannot be read do not count. Some folders do not count if hundreds are pending at a
    /// time.
    pub fn bytes_on_disk(&self) -> u64 {
        let mut bytes = 0_u64;
        let mut waiting = vec![rustix::io::fcntl_dupfd_cloexec(&self.upper, 0)];
        while let Some(folder) = waiting.pop() {
            let Ok(folder) = folder else { continue };
            for name in compare::names_in(folder.as_fd(), usize::MAX - 1).unwrap_or_default() {
                let Ok(stat) = stat_at(folder.as_fd(), &name) else { continue };
                // `st_blocks` counts units of 512 bytes on all systems.
                bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
                // Each waiting folder is an open descriptor, of which a process has a limited number.
                if FileType::from_raw_mode(stat.st_mode) == FileType::Directory && waiting.len() < MOST_WAITING {
                    waiting.push(rustix::fs::openat(&folder, &name, FOLDER, Mode::empty()));
                }
            }
        }
        bytes
    }

    /// Lists the changes of the command, sorted by path, a folder before its entries. Call it when every process of the
    /// command has ended. The listed entries lose the marks of the overlay and the mode bits above 0777, so that they
    /// can be moved into the project. `root` is the project's folder; `stop` is called from time to time and ends the
    /// work if it returns `true`.
    ///
    /// # Errors
    /// The layer is larger than `limits`, an entry cannot be read, or `stop` returned `true`. Then nothing of the layer
    /// may be kept.
    pub fn changes(
        &self,
        root: BorrowedFd<'_>,
        limits: Limits,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Change>, ReadError> {
        compare::changes(self.upper.as_fd(), root, &self.hidden, limits, stop)
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        // A layer that cannot be deleted now is deleted later as a leftover.
        if let Some((place, name)) = self.path.parent().zip(self.path.file_name())
            && let Ok(place) = rustix::fs::open(place, FOLDER, Mode::empty())
        {
            let _ = remove_tree(place.as_fd(), name);
        }
    }
}

/// Deletes the layers in `place` whose process was killed, and returns their number. Layers that are in use stay.
pub fn delete_leftovers(place: &Path) -> usize {
    let Ok(place) = rustix::fs::open(place, FOLDER, Mode::empty()) else { return 0 };
    let Ok(names) = compare::names_in(place.as_fd(), MOST_LEFTOVERS) else { return 0 };
    let mut left = Vec::new();
    // Deleting can take seconds, and a new layer must not wait for it: under the lock, leftovers are only renamed.
    if rustix::fs::flock(&place, FlockOperation::LockExclusive).is_err() {
        return 0;
    }
    for name in names {
        let Ok(folder) = rustix::fs::openat(&place, &name, FOLDER, Mode::empty()) else { continue };
        // A running command holds the lock of its layer.
        if rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let is_discarded = name.as_encoded_bytes().starts_with(DISCARDED.as_bytes());
        let discarded = match random_name() {
            Ok(_) if is_discarded => name,
            Ok(random) => {
                let discarded = format!("{DISCARDED}{random}").into();
                if rustix::fs::renameat(&place, &name, &place, &discarded).is_err() {
                    continue;
                }
                discarded
            }
            Err(_) => continue,
        };
        // The open folder keeps the lock, so that no other process deletes the same layer.
        left.push((discarded, folder));
    }
    let _ = rustix::fs::flock(&place, FlockOperation::Unlock);
    left.iter().filter(|(name, _)| remove_tree(place.as_fd(), name).is_ok()).count()
}

/// Returns the private folder for the commands of a project, with the layers and the stashes. It is on the project's
/// file system, so that entries can be moved instead of copied.
///
/// This is `private` in the user's `state` folder if that is on the same file system, else `.toolfence/private` in the
/// project, which always is.
///
/// # Errors
/// The project or the state folder cannot be read.
pub fn private_folder(root: &Path, state: &Path) -> io::Result<PathBuf> {
    let device = |path: &Path| rustix::fs::stat(path).map(|stat| stat.st_dev);
    let on_same = device(root)? == device(state)?;
    Ok(if on_same { state.join("private") } else { root.join(".toolfence/private") })
}

/// Returns the folder in a private folder that contains the layers.
pub fn layers_in(place: &Path) -> PathBuf {
    place.join("layers")
}

/// Returns the folder in a private folder that contains the stashes.
pub fn stashes_in(place: &Path) -> PathBuf {
    place.join("stashes")
}

/// Sets the mode and the times of a folder of the layer to those of the project's folder.
fn look_like(folder: BorrowedFd<'_>, stat: &Stat) -> io::Result<()> {
    rustix::fs::fchmod(folder, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec as _),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec as _),
    };
    Ok(rustix::fs::futimens(folder, &times)?)
}

/// Returns the status of an entry without following a link.
pub(crate) fn stat_at(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}
