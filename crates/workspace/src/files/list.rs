//! What stands below a folder.

use crate::files::globs::{self, Glob};
use crate::names;
use crate::root::Root;
use crate::root::opened::Opened;
use crate::root::walk::{EntryRun, Node, Order, Visitor, Walk};
use crate::stop::Stop;
use rustix::fs::{AtFlags, FileType};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;
use toolfence_protocol::limits::size;
use toolfence_protocol::{ErrorCode, Limits, ToolFailure, text};

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

/// Lists the files and folders below a folder. A file is listed as itself. `threads` is as in [`Walk::threads`].
pub(super) fn list(
    root: &Root,
    wanted: &ListFiles,
    stop: &Stop,
    threads: Option<usize>,
) -> Result<Listing, ToolFailure> {
    let (start, glob) = start_of(root, &wanted.path, wanted.pattern.as_deref())?;
    if start.kind() != FileType::Directory {
        return Ok(alone(&start));
    }
    let walk = Walk::new(root, Order::Breadth, stop)
        .from(&start)
        .ignoring(wanted.respect_gitignore)
        .hidden(wanted.include_hidden)
        .max_depth(wanted.max_depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX)))
        .threads(threads);
    let lister = Lister { start: &start.name, glob, limit: wanted.limit };
    let (mut entries, mut truncated) = (Vec::new(), false);
    let report = walk.visit(&lister, |found| {
        entries.extend(found);
        truncated = entries.len() > wanted.limit;
        if truncated { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if stop.is_stopped() {
        return Err(ToolFailure::new(ErrorCode::Cancelled, text!("The listing was stopped.")));
    }
    let report = report.begun(&wanted.path)?;
    entries.truncate(wanted.limit);
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let entries = entries.into_iter().map(|(_, entry)| entry).collect();
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
        return Err(ToolFailure::new(
            ErrorCode::InvalidArgument,
            text!("There is a glob in path and another in pattern. Give only one of them."),
        ));
    }
    let here = format!("{}/", names::text_of(&start.name));
    let pattern = pattern.map(|glob| glob.strip_prefix(&here).map_or(glob.to_owned(), |rest| format!("/{rest}")));
    let glob = inner.or(pattern).map(|glob| Glob::new(&glob)).transpose()?;
    Ok((start, glob))
}

/// Makes entries of what matches.
struct Lister<'l> {
    start: &'l Path,
    glob: Option<Glob>,
    limit: usize,
}

impl Visitor for Lister<'_> {
    type State = ();
    /// Entries with the keys of their order.
    type Found = Vec<(Vec<u8>, Entry)>;

    fn state(&self) {}

    fn visit(&self, (): &mut (), mut run: EntryRun<'_>) -> Self::Found {
        let mut nodes = std::mem::take(&mut run.nodes);
        nodes.retain(|node| self.matches(node));
        // One more than the limit shows that there are more.
        nodes.truncate(self.limit.saturating_add(1));
        let mut folder = None;
        let mut size = |node: &Node| {
            let folder = folder.get_or_insert_with(|| run.folder().ok()).as_ref()?;
            let stat = rustix::fs::statat(folder, node.name.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            u64::try_from(stat.st_size).ok()
        };
        let entries = nodes.into_iter().map(|node| {
            let kind = kind_of(node.kind);
            let size = if kind == EntryKind::File && node.blocked.is_none() { size(&node) } else { None };
            let entry = Entry::new(&node.name, kind, size, node.blocked.is_some());
            (names::order_key(node.name), entry)
        });
        entries.collect()
    }

    fn size(found: &Self::Found) -> usize {
        found.iter().map(|(key, _)| 200 + 4 * key.len()).sum()
    }
}

impl Lister<'_> {
    fn matches(&self, node: &Node) -> bool {
        let Some(glob) = &self.glob else { return true };
        let inside = names::below(self.start, &node.name).unwrap_or(&node.name);
        glob.matches(inside, node.kind == FileType::Directory)
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
