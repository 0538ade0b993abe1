//! What stands below a folder.

use crate::files::globs::{self, Glob};
use crate::root::Root;
use crate::root::opened::Opened;
use crate::root::walk::{Node, Order, Walk};
use crate::stop::Stop;
use crate::{messages, names};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType};
use serde::Serialize;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use toolfence_protocol::limits::size;
use toolfence_protocol::{ErrorCode, Limits, ToolFailure};

/// Which entries of which folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFiles {
    /// Relative to the root, or absolute and inside it; may hold a glob, as in `src/*.rs`.
    pub path: String,
    /// Only what matches this glob, relative to the folder.
    pub pattern: Option<String>,
    /// How deep to go; 1 is the folder itself.
    pub max_depth: Option<u64>,
    /// Names that begin with a dot too. What is inside `.git` is shown only when the path leads there.
    pub include_hidden: bool,
    /// Leave out what git ignores, whether there is a repository or not.
    pub respect_gitignore: bool,
    /// Entries given at most; those nearest to the top are kept.
    pub limit: usize,
}

impl ListFiles {
    /// What a person would want to see below a folder: no hidden, no ignored files, the first 200.
    pub fn new(path: impl Into<String>) -> ListFiles {
        ListFiles {
            path: path.into(),
            pattern: None,
            max_depth: None,
            include_hidden: false,
            respect_gitignore: true,
            limit: size(Limits::default().list_entries),
        }
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; it is not followed.
    Link,
    /// A FIFO, a socket or a device.
    Other,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Relative to the root. Bytes that are not UTF-8 are U+FFFD.
    pub path: String,
    /// The path as it can be shown on one line: in double quotes with C escapes where it could mislead.
    pub shown: String,
    /// Whether no call can give this path, because it is not UTF-8.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unnameable: bool,
    /// What it is.
    pub kind: EntryKind,
    /// Bytes of a file that is not blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether a rule blocks it: tools will not open it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
}

impl Entry {
    fn new(name: &Path, kind: EntryKind, size: Option<u64>, blocked: bool) -> Entry {
        let (path, shown) = (names::text_of(name), names::shown(name));
        Entry { path, shown, unnameable: !names::is_text(name), kind, size, blocked }
    }
}

/// What was found, in the order of the paths.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The folder, relative to the root; "" is the root.
    pub path: String,
    /// The entries.
    pub entries: Vec<Entry>,
    /// Whether there are more.
    pub truncated: bool,
    /// Whether the tree was too big to be walked to its end.
    pub gave_up: bool,
    /// Folders that could not be read.
    pub unreadable: u64,
}

/// Lists the files and folders below a folder. A file is listed as itself.
pub(super) fn list(root: &Root, wanted: &ListFiles, stop: &Stop) -> Result<Listing, ToolFailure> {
    let (start, glob) = start_of(root, &wanted.path, wanted.pattern.as_deref())?;
    if start.kind() != FileType::Directory {
        return Ok(alone(&start));
    }
    let mut walk = Walk::new(root, Order::Breadth, stop)
        .from(&start)
        .ignoring(wanted.respect_gitignore)
        .hidden(wanted.include_hidden)
        .max_depth(wanted.max_depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX)));
    let (nodes, truncated) = nearest(&mut walk, &start.name, glob.as_ref(), wanted.limit);
    if stop.is_stopped() {
        return Err(ToolFailure::new(ErrorCode::Cancelled, messages::listing_stopped()));
    }
    let report = walk.report(&wanted.path)?;
    let mut sizes = Sizes { root, folders: Vec::new() };
    let entries = nodes.iter().map(|node| entry(node, &mut sizes)).collect();
    let path = names::text_of(&start.name);
    Ok(Listing { path, entries, truncated, gave_up: !report.complete, unreadable: report.unreadable })
}

/// The open start of a walk and the glob that holds below it, which may stand in the path itself.
pub(super) fn start_of(root: &Root, path: &str, pattern: Option<&str>) -> Result<(Opened, Option<Glob>), ToolFailure> {
    let plain = root.open_any(path);
    let missing = plain.as_ref().is_err_and(|failure| failure.code == ErrorCode::NotFound);
    let (start, inner) = match globs::split(path).filter(|_| missing) {
        Some((folder, inner)) => (root.open_folder(folder)?, Some(inner)),
        None => (plain?, None),
    };
    if inner.is_some() && pattern.is_some() {
        return Err(ToolFailure::new(ErrorCode::InvalidArgument, messages::two_globs()));
    }
    let here = format!("{}/", names::text_of(&start.name));
    let pattern = pattern.map(|glob| glob.strip_prefix(&here).map_or(glob.to_owned(), |rest| format!("/{rest}")));
    let glob = inner.or(pattern).map(|glob| Glob::new(&glob)).transpose()?;
    Ok((start, glob))
}

fn entry(node: &Node, sizes: &mut Sizes<'_>) -> Entry {
    let kind = kind_of(node.kind);
    let visible = kind == EntryKind::File && node.blocked.is_none();
    let size = if visible { sizes.of(&node.name) } else { None };
    Entry::new(&node.name, kind, size, node.blocked.is_some())
}

/// Asks for sizes in the order of paths, with the folders that come again kept open.
struct Sizes<'w> {
    root: &'w Root,
    folders: Vec<(PathBuf, OwnedFd)>,
}

impl Sizes<'_> {
    fn of(&mut self, name: &Path) -> Option<u64> {
        const MOST_OPEN: usize = 8;
        let (above, last) = (name.parent()?, name.file_name()?);
        let known = self.folders.iter().rposition(|(folder, _)| folder.as_os_str() == above.as_os_str());
        let at = match known {
            Some(at) => at,
            None => {
                let fd = self.root.open_exact(above).ok()?;
                if self.folders.len() == MOST_OPEN {
                    self.folders.remove(0);
                }
                self.folders.push((above.to_owned(), fd));
                self.folders.len() - 1
            }
        };
        let stat = rustix::fs::statat(&self.folders[at].1, last, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        u64::try_from(stat.st_size).ok()
    }
}

/// The first `limit` matching entries of a walk in breadth, put into the order of paths, and whether there are more.
fn nearest(walk: &mut Walk<'_>, start: &Path, glob: Option<&Glob>, limit: usize) -> (Vec<Node>, bool) {
    let matches = |node: &Node| {
        glob.is_none_or(|glob| {
            let inside = node.name.strip_prefix(start).unwrap_or(&node.name);
            glob.matches(inside, node.kind == FileType::Directory)
        })
    };
    let mut nodes: Vec<Node> = walk.filter(matches).take(limit.saturating_add(1)).collect();
    let truncated = nodes.len() > limit;
    nodes.truncate(limit);
    nodes.sort_unstable_by(|a, b| by_names(&a.name, &b.name));
    (nodes, truncated)
}

/// The order of paths name by name, as `Path` has it, without taking them apart: no name holds a NUL.
fn by_names(a: &Path, b: &Path) -> Ordering {
    let (a, b) = (a.as_os_str().as_encoded_bytes(), b.as_os_str().as_encoded_bytes());
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((a, b)) => rank(a).cmp(&rank(b)),
        None => a.len().cmp(&b.len()),
    }
}

fn alone(file: &Opened) -> Listing {
    let kind = kind_of(file.kind());
    let size = (kind == EntryKind::File).then(|| file.size());
    let entry = Entry::new(&file.name, kind, size, false);
    Listing { path: entry.path.clone(), entries: vec![entry], truncated: false, gave_up: false, unreadable: 0 }
}

fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_sort_name_by_name() {
        let mut paths = ["a.rs", "a/z", "a", "a/b/c", "a!", "a-b", "b", "ä", "a/b", "B"].map(Path::new);
        paths.sort_by(|a, b| by_names(a, b));
        let mut wanted = paths;
        wanted.sort();
        assert_eq!(paths, wanted);
        assert_eq!(paths[..5], ["B", "a", "a/b", "a/b/c", "a/z"].map(Path::new));
    }
}
