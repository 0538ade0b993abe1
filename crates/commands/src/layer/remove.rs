//! Deletes a layer, whatever a command left in it: folders of any depth and without any permission.

use super::{FOLDER, stat_at};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Deletes the folder `name` in `place`, which is open as `folder`.
///
/// A command can nest folders deeper than a path can name and than a recursion can go. So every folder that is found is moved to the
/// top of the layer, where it waits for its turn: each costs one rename, and only one is open at a time.
pub(super) fn remove(place: BorrowedFd<'_>, name: &OsStr, folder: &OwnedFd) -> rustix::io::Result<()> {
    let mut number = 0_u64;
    let mut waiting: Vec<OsString> = Vec::new();
    clear(folder, folder, &mut number, &mut waiting)?;
    while let Some(next) = waiting.pop() {
        let inner = open(folder, &next)?;
        clear(&inner, folder, &mut number, &mut waiting)?;
        rustix::fs::unlinkat(folder, &next, AtFlags::REMOVEDIR)?;
    }
    rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR)
}

/// Deletes the files of a folder, and moves its folders to the top.
fn clear(folder: &OwnedFd, top: &OwnedFd, number: &mut u64, waiting: &mut Vec<OsString>) -> rustix::io::Result<()> {
    for name in names(rustix::fd::AsFd::as_fd(folder))? {
        let stat = stat_at(rustix::fd::AsFd::as_fd(folder), &name)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            rustix::fs::unlinkat(folder, &name, AtFlags::empty())?;
            continue;
        }
        // A folder can only be moved by those who may write to it, since its `..` changes.
        rustix::fs::chmodat(folder, &name, Mode::RWXU, AtFlags::empty())?;
        let moved = loop {
            *number += 1;
            let moved = OsString::from(format!("{number}"));
            match rustix::fs::renameat_with(folder, &name, top, &moved, rustix::fs::RenameFlags::NOREPLACE) {
                Ok(()) => break moved,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        };
        waiting.push(moved);
    }
    Ok(())
}

fn open(top: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(top, name, FOLDER, Mode::empty())
}

/// The names in a folder.
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
