//! The entries of one open folder.

use crate::root::resolve::LOOK;
use crate::stop::Stop;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// One entry, a link not followed.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) name: OsString,
    pub(crate) kind: FileType,
}

/// At most `most` entries in the order of their bytes, and whether that is all of them.
///
/// The order is the same for the same tree, but where a folder has more entries than `most` the file system chooses.
pub(crate) fn items(folder: BorrowedFd<'_>, most: usize) -> Result<(Vec<Item>, bool), Errno> {
    // The folder may be open only to be passed through.
    let readable = rustix::fs::openat(folder, ".", LOOK | OFlags::DIRECTORY, Mode::empty())?;
    items_until(readable, most, &Stop::default())
}

/// At most `most` entries of a folder that is open to be read, in the order of their bytes, and whether that is all of them.
/// When `stop` ends the work, it is less than all.
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

/// Some file systems do not say in the folder what an entry is.
fn kind_of(folder: BorrowedFd<'_>, name: &OsStr) -> FileType {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
