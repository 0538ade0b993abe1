//! The content of a folder at the time when an exchange put it into the project.
//!
//! Undo must not move a folder in which another process changed something. This program may have made and reverted
//! other changes in it, which leaves the same content with later times.

use super::Moment;
use super::plan::{MOST_HASHED, Side, digest_of, digest_of_link};
use super::remove::{self, VisitedEntry};
use crate::digest::Digest;
use crate::encoding::as_text;
use crate::stat::Stamp;
use rustix::fd::BorrowedFd;
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The maximum number of entries of one list, and of the bytes of their paths. Of a larger folder, only the times are
/// compared.
const MOST_ENTRIES: usize = 200_000;
const MOST_BYTES: usize = 32 << 20;

/// The maximum number of bytes that are read for the digests of one list. The other files are compared by their times
/// and lengths.
const MOST_READ: u64 = 1 << 30;

/// An entry of a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ListedEntry {
    /// The path relative to the folder.
    #[serde(with = "as_text")]
    path: PathBuf,
    /// Kind and permission bits.
    mode: u32,
    stamp: Stamp,
    /// The digest of a file's content or of a link's target.
    digest: Option<Digest>,
}

/// Lists everything below the folder `name`, in the order of the paths; `None` if it is too much or cannot be read.
pub(super) fn of_folder(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Vec<ListedEntry>> {
    let mut list = Vec::new();
    let (mut room, mut read) = (MOST_BYTES, MOST_READ);
    let is_whole = remove::walk(folder, name, &mut |VisitedEntry { folder, name, path, stat }| {
        let stamp = Stamp::new(stat);
        let digest = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stamp.bytes() <= MOST_HASHED.min(read) => {
                read -= stamp.bytes();
                digest_of(folder, name)
            }
            FileType::Symlink => digest_of_link(folder, name),
            _ => None,
        };
        let Some(left) = room.checked_sub(path.as_os_str().len()) else { return false };
        room = left;
        list.push(ListedEntry { path: path.to_owned(), mode: stat.st_mode, stamp, digest });
        list.len() < MOST_ENTRIES
    });
    list.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    is_whole.unwrap_or(false).then_some(list)
}

/// Returns `true` if the folder `name` has exactly the listed content. Entries that were last changed before `latest`
/// are not read. Without a list, all entries must be older than that.
pub(super) fn is_unchanged(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    latest: Option<(i64, i64)>,
    list: Option<&[ListedEntry]>,
) -> bool {
    let is_old = |entry: &VisitedEntry<'_>| {
        latest.is_some_and(|(seconds, nanoseconds)| Moment::changed_at(entry.stat) < Moment(seconds, nanoseconds))
    };
    let Some(list) = list else {
        return remove::walk(folder, name, &mut |entry| is_old(&entry)).unwrap_or(false);
    };
    let listed: HashMap<&Path, &ListedEntry> = list.iter().map(|entry| (entry.path.as_path(), entry)).collect();
    let mut found = 0;
    let is_whole = remove::walk(folder, name, &mut |entry| {
        found += 1;
        listed.get(entry.path).is_some_and(|listed| is_old(&entry) || listed.is_content_of(&entry))
    });
    // A listed entry that is missing is a change, too.
    is_whole.unwrap_or(false) && found == list.len()
}

impl ListedEntry {
    fn is_content_of(&self, VisitedEntry { folder, name, stat, .. }: &VisitedEntry<'_>) -> bool {
        if stat.st_mode != self.mode {
            return false;
        }
        match FileType::from_raw_mode(stat.st_mode) {
            // The entries in a folder are compared one by one.
            FileType::Directory => true,
            FileType::Symlink => digest_of_link(*folder, name) == self.digest,
            FileType::RegularFile if self.digest.is_some() => digest_of(*folder, name) == self.digest,
            _ => self.stamp.is_content_of(&Stamp::new(stat)),
        }
    }
}

/// Returns the digest of the entry at this path; `None` if it is not listed.
pub(super) fn digest(list: &[ListedEntry], path: &Path) -> Option<Option<Digest>> {
    // `of_folder` has sorted the list.
    let at = list.binary_search_by(|entry| entry.path.as_path().cmp(path));
    at.ok().map(|at| list[at].digest)
}

/// Returns the entries at the top of a listed folder with their names.
pub(super) fn sides(list: &[ListedEntry], latest: Option<(i64, i64)>) -> Vec<(PathBuf, Side)> {
    let mut below: HashMap<&Path, Vec<ListedEntry>> = HashMap::new();
    let mut top = Vec::new();
    for entry in list {
        let mut parts = entry.path.iter();
        let Some(first) = parts.next().map(Path::new) else { continue };
        let rest = parts.as_path();
        if rest.as_os_str().is_empty() {
            top.push(entry);
        } else {
            below.entry(first).or_default().push(ListedEntry { path: rest.to_owned(), ..entry.clone() });
        }
    }
    let side = |entry: &ListedEntry| {
        let ListedEntry { path, mode, stamp, digest } = entry.clone();
        let is_folder = FileType::from_raw_mode(mode as _) == FileType::Directory;
        let list = is_folder.then(|| below.remove(entry.path.as_path()).unwrap_or_default());
        (path, Side::Entry { stamp, mode, digest, latest: latest.filter(|_| is_folder), list })
    };
    top.into_iter().map(side).collect()
}
