//! Deletes trees of any depth and permissions, and walks them.

use super::{FOLDER, stat_at};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The maximum depth of nested folders that [`walk`] enters.
pub(super) const DEEPEST: usize = 256;

/// Deletes the folder `name` in `place`, even if folders in it have no permissions for their owner.
///
/// A command can nest folders deeper than a path can name and than a recursion can follow. So every folder that is
/// found is moved to the top of the tree and deleted from there: each costs one rename, and only two are open at a
/// time.
///
/// # Errors
/// The system refuses to delete an entry. The entries before it are deleted.
pub fn remove_tree(place: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
    rustix::fs::chmodat(place, name, Mode::RWXU, AtFlags::empty())?;
    let top = open(place, name)?;
    let (mut number, mut waiting) = (0, Vec::new());
    clear(&top, &top, &mut number, &mut waiting)?;
    while let Some(next) = waiting.pop() {
        let inner = open(top.as_fd(), &next)?;
        clear(&inner, &top, &mut number, &mut waiting)?;
        rustix::fs::unlinkat(&top, &next, AtFlags::REMOVEDIR)?;
    }
    rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR)
}

/// Deletes the files of a folder, and moves its folders to the top.
fn clear(folder: &OwnedFd, top: &OwnedFd, number: &mut u64, waiting: &mut Vec<OsString>) -> rustix::io::Result<()> {
    for name in names(folder.as_fd())? {
        let stat = stat_at(folder.as_fd(), &name)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            rustix::fs::unlinkat(folder, &name, AtFlags::empty())?;
            continue;
        }
        // Moving a folder to another one changes its `..`, which requires write permission for the moved folder.
        rustix::fs::chmodat(folder, &name, Mode::RWXU, AtFlags::empty())?;
        let moved = loop {
            *number += 1;
            let moved = OsString::from(number.to_string());
            // The tree may have an entry with this name at its top.
            match rustix::fs::renameat_with(folder, &name, top, &moved, RenameFlags::NOREPLACE) {
                Ok(()) => break moved,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        };
        waiting.push(moved);
    }
    Ok(())
}

/// An entry that [`walk`] found.
pub(super) struct VisitedEntry<'v> {
    pub(super) folder: BorrowedFd<'v>,
    pub(super) name: &'v OsStr,
    /// Relative to the folder of the walk.
    pub(super) path: &'v Path,
    pub(super) stat: &'v Stat,
}

/// Calls `accepts` with everything below the folder `name`, until it returns `false`. Returns whether it always
/// returned `true`.
///
/// # Errors
/// A folder cannot be read, or more than 256 folders are nested.
pub(super) fn walk(
    place: BorrowedFd<'_>,
    name: &OsStr,
    accepts: &mut dyn FnMut(VisitedEntry<'_>) -> bool,
) -> rustix::io::Result<bool> {
    fn enter(
        place: BorrowedFd<'_>,
        name: &OsStr,
        at: &Path,
        depth: usize,
        accepts: &mut dyn FnMut(VisitedEntry<'_>) -> bool,
    ) -> rustix::io::Result<bool> {
        if depth == DEEPEST {
            return Err(Errno::NAMETOOLONG);
        }
        let folder = open(place, name)?;
        for name in names(folder.as_fd())? {
            let stat = stat_at(folder.as_fd(), &name)?;
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            let path = at.join(&name);
            let visited = VisitedEntry { folder: folder.as_fd(), name: &name, path: &path, stat: &stat };
            if !accepts(visited) || (is_folder && !enter(folder.as_fd(), &name, &path, depth + 1, accepts)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
    enter(place, name, Path::new(""), 0, accepts)
}

pub(super) fn open(place: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(place, name, FOLDER, Mode::empty())
}

/// Returns the names in a folder.
pub(super) fn names(folder: BorrowedFd<'_>) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
