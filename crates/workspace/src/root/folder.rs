//! The entries of one open folder.

use crate::root::resolve::LOOK;
use crate::stop::Stop;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// One entry. Links are not followed.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) name: OsString,
    pub(crate) kind: FileType,
}

/// Returns at most `most` entries sorted by their bytes, and whether these are all.
///
/// The result is the same for the same tree, except that the file system chooses the entries if there are more than
/// `most`.
pub(crate) fn items(folder: BorrowedFd<'_>, most: usize) -> Result<(Vec<Item>, bool), Errno> {
    // The folder may have been opened with `O_PATH`, which does not allow reading.
    let readable = rustix::fs::openat(folder, ".", LOOK | OFlags::DIRECTORY, Mode::empty())?;
    items_until(readable, most, &Stop::default())
}

/// Returns at most `most` entries of a folder that is open for reading, sorted by their bytes, and whether these are
/// all. The result is incomplete if `stop` ends the work.
pub(crate) fn items_until(folder: OwnedFd, most: usize, stop: &Stop) -> Result<(Vec<Item>, bool), Errno> {
    let (mut items, mut complete) = (Vec::new(), true);
    let mut entries = Dir::new(folder)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if items.len() == most || stop.is_stopped() {
            complete = false;
            break;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => kind_of(entries.fd()?, name),
            kind => kind,
        };
        items.push(Item { name: name.to_owned(), kind });
    }
    items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok((items, complete))
}

/// Returns the kind from the status of an entry, because some file systems do not store it in the folder.
fn kind_of(folder: BorrowedFd<'_>, name: &OsStr) -> FileType {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
