//! Opens a relative path without ever leaving the root.
//!
//! This module knows no path rules. The kernel resolves a path below the root's descriptor by `openat2` (openat2(2),
//! `RESOLVE_BENEATH`). The other cases are resolved by hand, one name at a time from descriptor to descriptor: links
//! with an absolute target inside the root, kernels without `openat2`, and names that do not exist yet.

use crate::root::path_arg;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use toolfence_sandbox::project::{Identity, identity_at};

/// The number of links that the kernel follows in one path (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// The flags for opening a file of unknown kind: a FIFO must not block, and a terminal must not become the controlling
/// one.
pub(crate) const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// The flags for a folder on the way, which needs permission to be searched but not to be read. Only Linux can express
/// that.
#[cfg(target_os = "linux")]
pub(crate) const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub(crate) const PASS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The flags for opening a symbolic link itself. Only Linux and macOS can do that.
#[cfg(target_os = "linux")]
pub(crate) const LINK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(target_vendor = "apple")]
pub(crate) const LINK: OFlags = OFlags::RDONLY.union(OFlags::SYMLINK).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) const LINK: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The reason why a path cannot be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResolveError {
    /// The path leads out of the root.
    Outside,
    /// A system call failed.
    Sys(Errno),
}

impl From<Errno> for ResolveError {
    fn from(errno: Errno) -> ResolveError {
        ResolveError::Sys(errno)
    }
}

/// The location of a path after links were followed.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The deepest folder on the way that exists.
    pub(crate) folder: OwnedFd,
    /// The name of that folder relative to the root, without links; empty for the root.
    pub(crate) folder_name: PathBuf,
    pub(crate) last: Last,
    /// Whether the path ends at a link whose target does not exist.
    pub(crate) dangling: bool,
}

/// The entry in the folder of a [`Spot`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// The path names the folder itself.
    Folder,
    /// An entry that is neither a folder nor a link.
    File(OsString),
    /// Names that do not exist, from the folder downwards; at least one.
    Missing(Vec<OsString>),
}

impl Spot {
    /// Returns the whole real name relative to the root.
    pub(crate) fn name(&self) -> PathBuf {
        match &self.last {
            Last::Folder => self.folder_name.clone(),
            Last::File(name) => self.folder_name.join(name),
            Last::Missing(names) => names.iter().fold(self.folder_name.clone(), |path, name| path.join(name)),
        }
    }
}

/// Opens the entry at `path` for reading. Also returns its name if the kernel did not resolve it in one step.
pub(crate) fn open(
    root: BorrowedFd<'_>,
    roots: &[&Path],
    path: &Path,
) -> Result<(OwnedFd, Option<PathBuf>), ResolveError> {
    /// The number of attempts, because the steps fail if another process changes a link between them.
    const TRIES: usize = 8;
    if let Some(opened) = by_kernel(root, path) {
        return opened.map(|fd| (fd, None));
    }
    for _ in 0..TRIES {
        match open_by_hand(root, roots, path) {
            // Either the links form a cycle, or an entry has become a link since it was looked at.
            Err(ResolveError::Sys(Errno::LOOP)) => {}
            done => return done.map(|(fd, name)| (fd, Some(name))),
        }
    }
    Err(ResolveError::Sys(Errno::LOOP))
}

/// Calls `openat2` once. Returns `None` if the kernel cannot resolve the path: no such call, an absolute link, or a
/// rename at the same moment.
#[cfg(target_os = "linux")]
fn by_kernel(root: BorrowedFd<'_>, path: &Path) -> Option<Result<OwnedFd, ResolveError>> {
    use rustix::fs::{ResolveFlags, openat2};
    // `BENEATH` refuses magic links only for now, so they must be refused explicitly (openat2(2)).
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, LOOK, Mode::empty(), resolve) {
        Ok(fd) => Some(Ok(fd)),
        Err(Errno::XDEV | Errno::NOSYS | Errno::AGAIN | Errno::PERM) => None,
        Err(errno) => Some(Err(errno.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn by_kernel(_: BorrowedFd<'_>, _: &Path) -> Option<Result<OwnedFd, ResolveError>> {
    None
}

fn open_by_hand(root: BorrowedFd<'_>, roots: &[&Path], path: &Path) -> Result<(OwnedFd, PathBuf), ResolveError> {
    let spot = follow(root, roots, path)?;
    let fd = match &spot.last {
        // The descriptor of the folder may not allow reading (`O_PATH`).
        Last::Folder => rustix::fs::openat(&spot.folder, ".", LOOK | OFlags::DIRECTORY, Mode::empty())?,
        Last::File(_) if path_arg::names_a_folder(path) => return Err(Errno::NOTDIR.into()),
        Last::File(name) => rustix::fs::openat(&spot.folder, name, LOOK | OFlags::NOFOLLOW, Mode::empty())?,
        Last::Missing(_) => return Err(Errno::NOENT.into()),
    };
    Ok((fd, spot.name()))
}

/// Follows `path` name by name. Every step goes from an open folder to an entry that is not a link, so that a link that
/// is swapped in cannot lead out of the root; `..` goes back to the previous folder.
pub(crate) fn follow(root: BorrowedFd<'_>, roots: &[&Path], path: &Path) -> Result<Spot, ResolveError> {
    let mut walk = PathWalk::new(roots);
    let last = walk.walk(root, path)?;
    walk.into_spot(root, last)
}

/// Returns the link by which `path` leaves the root, or else the last link on its way that is not part of another
/// link's target. Its name has no links in it.
pub(crate) fn link_of(root: BorrowedFd<'_>, roots: &[&Path], path: &Path) -> Option<PathBuf> {
    let mut walk = PathWalk::new(roots);
    match walk.walk(root, path) {
        // If the last step was not part of a link's target, the path itself leaves the root, by `..`.
        Err(ResolveError::Outside) => walk.link.filter(|_| walk.inside_link.is_some()),
        _ => walk.link,
    }
}

struct PathWalk<'a> {
    roots: &'a [&'a Path],
    /// The remaining steps in reverse order.
    steps: Vec<ResolveStep>,
    passed: Vec<(OwnedFd, OsString)>,
    missing: Vec<OsString>,
    links: usize,
    /// The number of steps that remain after those of the current link's target.
    inside_link: Option<usize>,
    /// The name of the last link that was followed and is not part of another link's target.
    link: Option<PathBuf>,
    dangling: bool,
}

enum ResolveStep {
    Up,
    Down(OsString),
}

/// The kind of a folder's entry.
enum FolderEntry {
    Folder(OwnedFd),
    Link(PathBuf),
    Other,
    Missing,
}

impl<'a> PathWalk<'a> {
    fn new(roots: &'a [&'a Path]) -> PathWalk<'a> {
        PathWalk {
            roots,
            steps: Vec::new(),
            passed: Vec::new(),
            missing: Vec::new(),
            links: 0,
            inside_link: None,
            link: None,
            dangling: false,
        }
    }

    /// Takes every step of `path`.
    fn walk(&mut self, root: BorrowedFd<'_>, path: &Path) -> Result<Last, ResolveError> {
        self.push_steps(path)?;
        while let Some(step) = self.steps.pop() {
            if let Some(file) = self.take_step(root, step)? {
                return Ok(Last::File(file));
            }
        }
        let missing = std::mem::take(&mut self.missing);
        Ok(if missing.is_empty() { Last::Folder } else { Last::Missing(missing) })
    }

    /// Puts the names of `path` before the remaining steps. An absolute path starts again at the root if it is below
    /// it.
    fn push_steps(&mut self, path: &Path) -> Result<(), ResolveError> {
        let below;
        let mut path = path;
        if path.is_absolute() {
            below = path_arg::below(path, self.roots).ok_or(ResolveError::Outside)?;
            path = &below;
            self.passed.clear();
        }
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.steps.push(ResolveStep::Down(name.to_owned())),
                Component::ParentDir => self.steps.push(ResolveStep::Up),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(ResolveError::Outside),
            }
        }
        Ok(())
    }

    /// Takes one step. Returns the name if it ends at an entry that is not a folder.
    fn take_step(&mut self, root: BorrowedFd<'_>, step: ResolveStep) -> Result<Option<OsString>, ResolveError> {
        // If fewer steps remain than after the link, the steps of its target are done.
        self.inside_link = self.inside_link.filter(|after| self.steps.len() >= *after);
        // The kernel would also fail at the missing name, before the `..`.
        let name = match step {
            ResolveStep::Up if !self.missing.is_empty() => return Err(Errno::NOENT.into()),
            ResolveStep::Up => return self.passed.pop().map(|_| None).ok_or(ResolveError::Outside),
            ResolveStep::Down(name) => name,
        };
        // Names below a missing one are missing, too.
        if !self.missing.is_empty() {
            self.missing.push(name);
            return Ok(None);
        }
        match look(self.current_folder(root), &name)? {
            FolderEntry::Folder(fd) => self.passed.push((fd, name)),
            FolderEntry::Missing => {
                self.dangling = self.inside_link.is_some();
                self.missing.push(name);
            }
            FolderEntry::Other if self.steps.is_empty() => return Ok(Some(name)),
            FolderEntry::Other => return Err(Errno::NOTDIR.into()),
            FolderEntry::Link(_) if self.links == MOST_LINKS => return Err(Errno::LOOP.into()),
            FolderEntry::Link(target) => {
                self.links += 1;
                if self.inside_link.is_none() {
                    self.link = Some(self.passed.iter().map(|(_, name)| name).chain([&name]).collect());
                }
                // Until the steps of this link's target are done, further links are part of the target.
                self.inside_link = self.inside_link.or(Some(self.steps.len()));
                self.push_steps(&target)?;
            }
        }
        Ok(None)
    }

    fn current_folder<'r>(&'r self, root: BorrowedFd<'r>) -> BorrowedFd<'r> {
        self.passed.last().map_or(root, |(fd, _)| fd.as_fd())
    }

    fn into_spot(mut self, root: BorrowedFd<'_>, last: Last) -> Result<Spot, ResolveError> {
        let folder_name = self.passed.iter().map(|(_, name)| name).collect();
        let folder = match self.passed.pop() {
            Some((fd, _)) => fd,
            None => rustix::io::fcntl_dupfd_cloexec(root, 0)?,
        };
        Ok(Spot { folder, folder_name, last, dangling: self.dangling })
    }
}

fn look(folder: BorrowedFd<'_>, name: &OsStr) -> Result<FolderEntry, Errno> {
    match rustix::fs::openat(folder, name, PASS, Mode::empty()) {
        Ok(fd) => Ok(FolderEntry::Folder(fd)),
        Err(Errno::NOENT) => Ok(FolderEntry::Missing),
        Err(Errno::NOTDIR | Errno::LOOP) => link_or_other(folder, name),
        Err(errno) => Err(errno),
    }
}

fn link_or_other(folder: BorrowedFd<'_>, name: &OsStr) -> Result<FolderEntry, Errno> {
    match rustix::fs::readlinkat(folder, name, Vec::new()) {
        Ok(target) => Ok(FolderEntry::Link(OsString::from_vec(target.into_bytes()).into())),
        // The entry is not a link (readlink(2)).
        Err(Errno::INVAL) => Ok(FolderEntry::Other),
        Err(Errno::NOENT) => Ok(FolderEntry::Missing),
        Err(errno) => Err(errno),
    }
}

/// Opens a path that a walk has found and that must have no link in it; "" is the root.
pub(crate) fn open_exact(root: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
    match exactly_by_kernel(root, name) {
        // The kernel does not accept a path of 4,096 bytes, but each of its names.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => exactly_by_hand(root, name),
        done => done,
    }
}

/// Opens an entry of an open folder, which must not be a link.
pub(crate) fn open_entry(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, name, LOOK | OFlags::NOFOLLOW, Mode::empty())
}

/// Returns the status of a path that a walk has found. Refuses links on the way, and does not follow a link itself.
pub(crate) fn stat_exact(root: BorrowedFd<'_>, name: &Path) -> Result<Stat, Errno> {
    let (above, last) = (name.parent().unwrap_or(Path::new("")), name.file_name().unwrap_or(OsStr::new(".")));
    rustix::fs::statat(open_exact(root, above)?, last, AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the identity of the file at a path that a walk has found. Refuses links on the way, and does not follow a
/// link itself.
pub(crate) fn identity_exact(root: BorrowedFd<'_>, name: &Path) -> Result<Identity, Errno> {
    let (above, last) = (name.parent().unwrap_or(Path::new("")), name.file_name().unwrap_or(OsStr::new(".")));
    identity_at(open_exact(root, above)?.as_fd(), Path::new(last))
}

#[cfg(target_os = "linux")]
fn exactly_by_kernel(root: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    openat2(root, name, LOOK, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn exactly_by_kernel(_: BorrowedFd<'_>, _: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn exactly_by_hand(root: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    let mut folder = None;
    let above = name.parent().into_iter().flat_map(Path::components);
    for component in above {
        let Component::Normal(name) = component else { return Err(Errno::INVAL) };
        let here = folder.as_ref().map_or(root, OwnedFd::as_fd);
        folder = Some(rustix::fs::openat(here, name, PASS, Mode::empty())?);
    }
    let here = folder.as_ref().map_or(root, OwnedFd::as_fd);
    rustix::fs::openat(here, name.file_name().unwrap_or(OsStr::new(".")), LOOK | OFlags::NOFOLLOW, Mode::empty())
}

/// Returns the kernel's current absolute path of an open file (proc(5), `/proc/pid/fd`).
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use rustix::fd::AsRawFd;
    let target = rustix::fs::readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new())?;
    Ok(OsStr::from_bytes(target.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// The resolution without `openat2` gives the same results as `openat2`.
    #[test]
    fn resolution_by_hand_matches_openat2() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let root = home.path().join("root");
        fs::create_dir_all(root.join("a/b")).expect("a folder can be made");
        fs::write(root.join("a/b/file"), "x").expect("a file can be written");
        for (target, link) in
            [("a", "in"), ("..", "out"), ("/etc", "far"), ("self", "self"), ("b/../../a/b/file", "a/file")]
        {
            symlink(target, root.join(link)).expect("a link can be made");
        }
        let fd = rustix::fs::open(&root, PASS, Mode::empty()).expect("it is there");
        let roots = [root.as_path()];
        for path in [
            "a",
            "a/b/file",
            "a/../a/b/file",
            "in/b/file",
            "a/file",
            "out",
            "out/root/a",
            "far",
            "self",
            "none",
            "a/none",
            "a/b/file/",
            "a/b/file/x",
            "..",
            "a/../..",
            ".",
            "in/..",
            "a/b/",
        ] {
            let path = Path::new(path);
            let by_hand = open_by_hand(fd.as_fd(), &roots, path).map(|(fd, _)| inode(&fd));
            let by_kernel = by_kernel(fd.as_fd(), path).unwrap_or(Err(ResolveError::Outside)).map(|fd| inode(&fd));
            assert_eq!(by_hand, by_kernel, "{}", path.display());
        }
        for name in
            ["", "a", "a/b", "a/b/file", "in", "in/b", "a/file", "out", "far/hosts", "self", "none", "a/b/file/x"]
        {
            let name = if name.is_empty() { Path::new(".") } else { Path::new(name) };
            let by_hand = exactly_by_hand(fd.as_fd(), name).map(|fd| inode(&fd)).ok();
            let by_kernel = exactly_by_kernel(fd.as_fd(), name).map(|fd| inode(&fd)).ok();
            assert_eq!(by_hand, by_kernel, "{}", name.display());
        }
    }

    fn inode(fd: &OwnedFd) -> u64 {
        rustix::fs::fstat(fd).expect("it is open").st_ino
    }
}
