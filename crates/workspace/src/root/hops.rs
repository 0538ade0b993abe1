//! Reaches folders deep in a tree in a bounded number of steps.
//!
//! A kernel resolves a path name by name, so a walk that opens every folder by its path from the root takes quadratic
//! time in a deep tree. This walk keeps some of the folders on its way open instead. A path longer than the kernel
//! accepts ([`NAMEABLE`]) is still refused: no tool could use it, and nothing could be mounted there.

use crate::root::folder::{self, Item};
use crate::root::resolve;
use crate::stat::is_one;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use toolfence_sandbox::project::Identity;

/// `PATH_MAX` of Linux, with the NUL at the end: the kernel refuses a longer path (path_resolution(7)).
pub(crate) const NAMEABLE: usize = 4096;

/// The number of names between two folders that are kept open.
const STEP: usize = 32;

/// The maximum number of folders that one walk keeps open: enough for the deepest tree that can be named, few enough
/// for any limit on descriptors. If they are used up, paths get longer and nothing else changes.
const MOST: usize = NAMEABLE / 2 / STEP;

/// The maximum number of folders that a walk keeps open at any distance, because their entries are opened soon.
const MOST_NEAR: usize = 64;

/// The maximum number of entries of one folder that are removed in one pass.
const MOST_AT_ONCE: usize = 10_000;

/// An open folder above the current one: the root, or one on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hop {
    /// `None` for the root.
    folder: Option<Arc<CountedFolder>>,
    /// Bytes of the folder's path from the root, including the slash after it.
    length: usize,
    /// The number of folders that this walk keeps open.
    open: Arc<AtomicUsize>,
}

/// A folder from which its entries can be opened.
pub(crate) enum FolderFd<'h> {
    CountedFolder(BorrowedFd<'h>),
    Opened(OwnedFd),
}

impl AsFd for FolderFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            FolderFd::CountedFolder(fd) => *fd,
            FolderFd::Opened(fd) => fd.as_fd(),
        }
    }
}

/// A folder that is kept open and counted as open.
#[derive(Debug)]
struct CountedFolder(OwnedFd, Arc<AtomicUsize>);

impl Drop for CountedFolder {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Hop {
    /// Returns the best folder from which to reach the entries of `at`: this one, or `at` itself if that is far enough
    /// below it.
    pub(crate) fn towards(&self, root: BorrowedFd<'_>, at: &Path) -> Hop {
        if !self.is_far(at) || self.open.load(Ordering::Relaxed) >= MOST {
            return self.clone();
        }
        // If the folder cannot be opened, the caller that reads it gets the error.
        self.open(root, at).map_or_else(|_| self.clone(), |folder| self.with(folder, at))
    }

    /// Returns two hops for the entries of the open folder `at`: one to use at once, and one to keep. Both are equal
    /// unless the walk has too many folders open.
    pub(crate) fn keep(&self, folder: Option<OwnedFd>, at: &Path) -> (Hop, Hop) {
        let Some(folder) = folder else { return (self.clone(), self.clone()) };
        // A distant folder may be kept in addition to the near ones, so that the paths below it stay short.
        let most = if self.is_far(at) { MOST_NEAR + MOST } else { MOST_NEAR };
        let may_stay = self.open.load(Ordering::Relaxed) < most;
        let here = self.with(folder, at);
        let kept = if may_stay { here.clone() } else { self.clone() };
        (here, kept)
    }

    /// Opens the folder `at` for its entries.
    pub(crate) fn enter<'h>(&'h self, root: BorrowedFd<'h>, at: &'h Path) -> Result<FolderFd<'h>, Errno> {
        let (base, rest) = self.split(root, at)?;
        if rest.as_os_str().is_empty() {
            return Ok(FolderFd::CountedFolder(base));
        }
        resolve::open_exact(base, rest).map(FolderFd::Opened)
    }

    fn is_far(&self, at: &Path) -> bool {
        let below = at.as_os_str().as_bytes().get(self.length..).unwrap_or_default();
        below.iter().filter(|&&byte| byte == b'/').count() + 1 >= STEP
    }

    fn with(&self, folder: OwnedFd, at: &Path) -> Hop {
        self.open.fetch_add(1, Ordering::Relaxed);
        let folder = Some(Arc::new(CountedFolder(folder, Arc::clone(&self.open))));
        let name = at.as_os_str().len();
        // The root has no name, and no slash after it.
        Hop { folder, length: if name == 0 { 0 } else { name + 1 }, open: Arc::clone(&self.open) }
    }

    /// Opens the folder or file `at` for reading. Refuses links on the way.
    pub(crate) fn open(&self, root: BorrowedFd<'_>, at: &Path) -> Result<OwnedFd, Errno> {
        let (base, rest) = self.split(root, at)?;
        resolve::open_exact(base, rest)
    }

    /// Returns the status of `at`. Refuses links on the way, and does not follow a link at `at`.
    pub(crate) fn stat(&self, root: BorrowedFd<'_>, at: &Path) -> Result<Stat, Errno> {
        let (base, rest) = self.split(root, at)?;
        resolve::stat_exact(base, rest)
    }

    /// Returns the identity of the file `at`. Refuses links on the way, and does not follow a link at `at`.
    pub(crate) fn identity(&self, root: BorrowedFd<'_>, at: &Path) -> Result<Identity, Errno> {
        let (base, rest) = self.split(root, at)?;
        resolve::identity_exact(base, rest)
    }

    /// Returns the open folder and the rest of the path.
    pub(crate) fn split<'a>(&'a self, root: BorrowedFd<'a>, at: &'a Path) -> Result<(BorrowedFd<'a>, &'a Path), Errno> {
        let bytes = at.as_os_str().as_bytes();
        if bytes.len() >= NAMEABLE {
            return Err(Errno::NAMETOOLONG);
        }
        let base = self.folder.as_ref().map_or(root, |kept| kept.0.as_fd());
        Ok((base, Path::new(OsStr::from_bytes(bytes.get(self.length..).unwrap_or_default()))))
    }
}

/// Removes the entries of the folder `last` whose paths would be longer than the kernel accepts; `above` is the length
/// of the path of `last`. Only the process that created the folder can have created them, and no snapshot contains
/// them, so they are removed together with the folder. The kernel gets one name at a time; the deepest folder is
/// removed first.
pub(crate) fn remove_unnameable(folder: BorrowedFd<'_>, last: &OsStr, above: usize) -> Result<(), Errno> {
    let open = |folder: BorrowedFd<'_>, name: &OsStr| {
        rustix::fs::openat(folder, name, resolve::LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
    };
    let top = open(folder, last)?;
    let too_long = |item: &Item| above + 1 + item.name.len() >= NAMEABLE;
    let mut here = top.try_clone().map_err(|_| Errno::MFILE)?;
    // The names from the top to `here`. The loop returns by `..`, and stops if a folder was moved meanwhile.
    let mut way: Vec<(OsString, Stat)> = Vec::new();
    loop {
        let (items, _) = folder::items(here.as_fd(), MOST_AT_ONCE)?;
        // If a path is too long, so are the paths of everything below it.
        let items = items.iter().filter(|item| !way.is_empty() || too_long(item));
        let mut below = None;
        let mut seen = 0;
        for item in items {
            seen += 1;
            match rustix::fs::unlinkat(&here, &item.name, AtFlags::empty()) {
                // For a folder, Linux returns `ISDIR`; POSIX specifies `PERM` (unlink(2)).
                Err(Errno::ISDIR | Errno::PERM) => below = Some(item.name.clone()),
                done => done?,
            }
        }
        match below {
            Some(name) => match rustix::fs::unlinkat(&here, &name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY) => {
                    let inner = open(here.as_fd(), &name)?;
                    way.push((name, rustix::fs::fstat(&here)?));
                    here = inner;
                }
                done => done?,
            },
            // There may be more entries than were listed at once.
            None if seen > 0 => {}
            None => {
                let Some((name, is)) = way.pop() else { return Ok(()) };
                let up = open(here.as_fd(), OsStr::new(".."))?;
                let stat = rustix::fs::fstat(&up)?;
                // The folder was moved, so nothing at its new place may be removed.
                if !is_one(&stat, &is) {
                    return Err(Errno::STALE);
                }
                rustix::fs::unlinkat(&up, &name, AtFlags::REMOVEDIR)?;
                here = up;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    /// A hop and the path from the root reach the same files at every depth, with few open folders.
    #[test]
    fn hops_reach_the_same_files_as_paths() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let deep = vec!["d"; 400].join("/");
        std::fs::create_dir_all(home.path().join(&deep)).expect("folders can be made");
        let opened = Root::open(home.path(), Default::default(), None).expect("it is there");
        let root = opened.fd();
        let (mut hop, mut most) = (Hop::default(), 0);
        for depth in 1..=400 {
            let at = Path::new(&deep[..depth * 2 - 1]);
            let inode = |fd: OwnedFd| rustix::fs::fstat(fd).expect("it is open").st_ino;
            assert_eq!(hop.open(root, at).map(inode), resolve::open_exact(root, at).map(inode), "{depth}");
            assert_eq!(hop.stat(root, at).map(|stat| stat.st_ino), resolve::open_exact(root, at).map(inode), "{depth}");
            let (_, rest) = hop.split(root, at).expect("it can be named");
            most = most.max(rest.components().count());
            hop = hop.towards(root, at);
        }
        assert!(most <= STEP, "{most}");
        assert_eq!(hop.open.load(Ordering::Relaxed), 1, "the last one is left");
        let too_long = "d/".repeat(NAMEABLE);
        assert_eq!(hop.open(root, Path::new(&too_long)).map(drop), Err(Errno::NAMETOOLONG));
    }

    #[test]
    fn only_entries_without_a_valid_path_are_removed() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let top =
            rustix::fs::open(home.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it is there");
        let make = |folder: BorrowedFd<'_>, name: &str| {
            rustix::fs::mkdirat(folder, name, Mode::from(0o755)).expect("a folder can be made");
            rustix::fs::openat(folder, name, OFlags::RDONLY, Mode::empty()).expect("it is there")
        };
        let touch = |folder: &OwnedFd, name: &str| {
            drop(rustix::fs::openat(folder, name, OFlags::CREATE | OFlags::WRONLY, Mode::from(0o644)).expect("a file"));
        };
        let last = make(top.as_fd(), "last");
        touch(&last, "short");
        touch(&last, &"f".repeat(100));
        let mut deep = make(last.as_fd(), &"d".repeat(100));
        for _ in 0..3000 {
            touch(&deep, "file");
            deep = make(deep.as_fd(), "d");
        }
        drop((deep, last));
        // With a path of this length, "short" can be named, and a name of 100 bytes cannot.
        remove_unnameable(top.as_fd(), OsStr::new("last"), NAMEABLE - 50).expect("it can be removed");
        let left: Vec<_> = std::fs::read_dir(home.path().join("last")).expect("it is there").flatten().collect();
        assert_eq!(left.iter().map(std::fs::DirEntry::file_name).collect::<Vec<_>>(), ["short"]);
    }
}
