//! From a relative path to an open file, never leaving the root.
//!
//! This module knows no rules about names. The kernel resolves a path below the root's descriptor by `openat2`
//! (openat2(2), `RESOLVE_BENEATH`). What it will not do, it is done by hand, one name at a time from descriptor to
//! descriptor: links with an absolute target that points inside, kernels without `openat2`, names that do not exist yet.

use crate::root::path_arg;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use toolfence_sandbox::project::{Identity, identity_at};

/// As many links as the kernel follows in one path (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// How a file is opened to be looked at: a FIFO or a terminal must neither hang nor be taken over.
pub(crate) const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// A folder on the way needs no permission to be read, only to be passed; only Linux can say so.
#[cfg(target_os = "linux")]
pub(crate) const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub(crate) const PASS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How a symbolic link itself is opened; only Linux and macOS can.
#[cfg(target_os = "linux")]
pub(crate) const LINK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(target_vendor = "apple")]
pub(crate) const LINK: OFlags = OFlags::RDONLY.union(OFlags::SYMLINK).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) const LINK: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Why a path leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Out of the root.
    Outside,
    /// The system says so.
    Sys(Errno),
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Trouble {
        Trouble::Sys(errno)
    }
}

/// Where a path leads, links followed.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The deepest folder on the way that exists.
    pub(crate) folder: OwnedFd,
    /// The name of that folder relative to the root, without links; empty for the root.
    pub(crate) folder_name: PathBuf,
    pub(crate) last: Last,
    /// Whether what is missing is missing at the end of a link.
    pub(crate) dangling: bool,
}

/// What stands in the folder of a [`Spot`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// Nothing: the path names the folder itself.
    Folder,
    /// Something that is neither a folder nor a link.
    File(OsString),
    /// Names that do not exist, from the folder downwards; at least one.
    Missing(Vec<OsString>),
}

impl Spot {
    /// The whole real name relative to the root.
    pub(crate) fn name(&self) -> PathBuf {
        match &self.last {
            Last::Folder => self.folder_name.clone(),
            Last::File(name) => self.folder_name.join(name),
            Last::Missing(names) => names.iter().fold(self.folder_name.clone(), |path, name| path.join(name)),
        }
    }
}

/// Opens what exists at `path` to look at it. The name is there when the kernel did not resolve it in one step.
pub(crate) fn open(root: BorrowedFd<'_>, roots: &[&Path], path: &Path) -> Result<(OwnedFd, Option<PathBuf>), Trouble> {
    /// A link that changes between two looks is looked at again, but not for ever.
    const TRIES: usize = 8;
    if let Some(opened) = by_kernel(root, path) {
        return opened.map(|fd| (fd, None));
    }
    for _ in 0..TRIES {
        match open_by_hand(root, roots, path) {
            Err(Trouble::Sys(Errno::LOOP)) => {}
            done => return done.map(|(fd, name)| (fd, Some(name))),
        }
    }
    Err(Trouble::Sys(Errno::LOOP))
}

/// One `openat2`; `None` where the kernel cannot say: no such call, an absolute link, a rename at the same moment.
#[cfg(target_os = "linux")]
fn by_kernel(root: BorrowedFd<'_>, path: &Path) -> Option<Result<OwnedFd, Trouble>> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, LOOK, Mode::empty(), resolve) {
        Ok(fd) => Some(Ok(fd)),
        Err(Errno::XDEV | Errno::NOSYS | Errno::AGAIN | Errno::PERM) => None,
        Err(errno) => Some(Err(errno.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn by_kernel(_: BorrowedFd<'_>, _: &Path) -> Option<Result<OwnedFd, Trouble>> {
    None
}

fn open_by_hand(root: BorrowedFd<'_>, roots: &[&Path], path: &Path) -> Result<(OwnedFd, PathBuf), Trouble> {
    let spot = follow(root, roots, path)?;
    let fd = match &spot.last {
        Last::Folder => rustix::fs::openat(&spot.folder, ".", LOOK | OFlags::DIRECTORY, Mode::empty())?,
        Last::File(_) if path_arg::names_a_folder(path) => return Err(Errno::NOTDIR.into()),
        Last::File(name) => rustix::fs::openat(&spot.folder, name, LOOK | OFlags::NOFOLLOW, Mode::empty())?,
        Last::Missing(_) => return Err(Errno::NOENT.into()),
    };
    Ok((fd, spot.name()))
}

/// Follows `path` name by name. Every step is from an open folder to an entry of it that is not a link, so that no
/// link swapped in between can lead away; `..` goes back to the folder we came from.
pub(crate) fn follow(root: BorrowedFd<'_>, roots: &[&Path], path: &Path) -> Result<Spot, Trouble> {
    let mut walk = PathWalk::new(roots);
    let last = walk.all(root, path)?;
    walk.arrive(root, last)
}

/// The link by which `path` leaves the root, or else the last one on its way that is no part of another link; its name
/// has no links in it.
pub(crate) fn link_of(root: BorrowedFd<'_>, roots: &[&Path], path: &Path) -> Option<PathBuf> {
    let mut walk = PathWalk::new(roots);
    match walk.all(root, path) {
        Err(Trouble::Outside) => walk.link.filter(|_| walk.inside_link.is_some()),
        _ => walk.link,
    }
}

struct PathWalk<'a> {
    roots: &'a [&'a Path],
    /// What is left to do, the next one last.
    steps: Vec<ResolveStep>,
    passed: Vec<(OwnedFd, OsString)>,
    missing: Vec<OsString>,
    links: usize,
    /// While the steps of a link's target are taken: how many steps follow them.
    inside_link: Option<usize>,
    /// The name of the last link that was followed and is no part of another one's target.
    link: Option<PathBuf>,
    dangling: bool,
}

enum ResolveStep {
    Up,
    Down(OsString),
}

/// What an entry of a folder is.
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
    fn all(&mut self, root: BorrowedFd<'_>, path: &Path) -> Result<Last, Trouble> {
        self.plan(path)?;
        while let Some(step) = self.steps.pop() {
            if let Some(file) = self.take(root, step)? {
                return Ok(Last::File(file));
            }
        }
        let missing = std::mem::take(&mut self.missing);
        Ok(if missing.is_empty() { Last::Folder } else { Last::Missing(missing) })
    }

    /// Puts the names of `path` before what is left to do. An absolute one starts again at the root, if it is below it.
    fn plan(&mut self, path: &Path) -> Result<(), Trouble> {
        let below;
        let mut path = path;
        if path.is_absolute() {
            below = path_arg::below(path, self.roots).ok_or(Trouble::Outside)?;
            path = &below;
            self.passed.clear();
        }
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.steps.push(ResolveStep::Down(name.to_owned())),
                Component::ParentDir => self.steps.push(ResolveStep::Up),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(Trouble::Outside),
            }
        }
        Ok(())
    }

    /// Takes one step; gives the name where it ends at something that is no folder.
    fn take(&mut self, root: BorrowedFd<'_>, step: ResolveStep) -> Result<Option<OsString>, Trouble> {
        self.inside_link = self.inside_link.filter(|after| self.steps.len() >= *after);
        let name = match step {
            ResolveStep::Up if !self.missing.is_empty() => return Err(Errno::NOENT.into()),
            ResolveStep::Up => return self.passed.pop().map(|_| None).ok_or(Trouble::Outside),
            ResolveStep::Down(name) => name,
        };
        if !self.missing.is_empty() {
            self.missing.push(name);
            return Ok(None);
        }
        match look(self.here(root), &name)? {
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
                self.inside_link = self.inside_link.or(Some(self.steps.len()));
                self.plan(&target)?;
            }
        }
        Ok(None)
    }

    fn here<'r>(&'r self, root: BorrowedFd<'r>) -> BorrowedFd<'r> {
        self.passed.last().map_or(root, |(fd, _)| fd.as_fd())
    }

    fn arrive(mut self, root: BorrowedFd<'_>, last: Last) -> Result<Spot, Trouble> {
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
        Err(Errno::INVAL) => Ok(FolderEntry::Other),
        Err(Errno::NOENT) => Ok(FolderEntry::Missing),
        Err(errno) => Err(errno),
    }
}

/// Opens a name found by a walk, in which there must be no link at all; "" is the root.
pub(crate) fn open_exact(root: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
    match exactly_by_kernel(root, name) {
        // The kernel takes no path of 4,096 bytes at once, but each of its names.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => exactly_by_hand(root, name),
        done => done,
    }
}

/// Opens an entry of an open folder, which must not be a link.
pub(crate) fn open_entry(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, name, LOOK | OFlags::NOFOLLOW, Mode::empty())
}

/// The state of a name found by a walk, on whose way there must be no link; a link itself is not followed.
pub(crate) fn stat_exact(root: BorrowedFd<'_>, name: &Path) -> Result<Stat, Errno> {
    let (above, last) = (name.parent().unwrap_or(Path::new("")), name.file_name().unwrap_or(OsStr::new(".")));
    rustix::fs::statat(open_exact(root, above)?, last, AtFlags::SYMLINK_NOFOLLOW)
}

/// Which file has a name found by a walk, on whose way there must be no link; a link itself is not followed.
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

/// The path of an open file as the kernel has it now, absolute (proc(5), `/proc/pid/fd`).
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

    /// What a kernel without `openat2` would have to do gives what `openat2` gives.
    #[test]
    fn by_hand_as_by_the_kernel() {
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
            let by_kernel = by_kernel(fd.as_fd(), path).unwrap_or(Err(Trouble::Outside)).map(|fd| inode(&fd));
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
