//! Lists the entries below a folder.

use crate::files::globs::{self, Glob};
use crate::names;
use crate::root::Root;
use crate::root::opened::OpenEntry;
use crate::root::walk::{EntryRun, Node, Order, Visitor, Walk};
use crate::stop::Stop;
use rustix::fs::{AtFlags, FileType};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;
use toolfence_protocol::limits::size;
use toolfence_protocol::{ErrorCode, Limits, ToolFailure, text};

/// The options of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFiles {
    /// The path, relative to the root, or absolute and inside it. It may contain a glob, as in `src/*.rs`.
    pub path: String,
    /// Lists only entries that match this glob, relative to the folder.
    pub pattern: Option<String>,
    /// The depth; 1 is only the folder itself.
    pub max_depth: Option<u64>,
    /// Includes names that begin with a dot. Entries of `.git` are only listed if the path leads there.
    pub include_hidden: bool,
    /// Leaves out entries that git ignores, whether there is a repository or not.
    pub respect_gitignore: bool,
    /// The maximum number of entries; the topmost ones are kept.
    pub limit: usize,
}

impl ListFiles {
    /// Returns the default options for this path: no hidden and no ignored entries, the first 200.
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

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which is not followed.
    Link,
    /// A FIFO, a socket or a device.
    Other,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// The path relative to the root. Bytes that are not UTF-8 are U+FFFD.
    pub path: String,
    /// The path for display on one line: in double quotes with C escapes if it could mislead.
    pub shown: String,
    /// Whether no call can use this path, because it is not UTF-8.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unnameable: bool,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The size of a file that is not blocked, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether a rule blocks it, so that tools do not open it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
}

impl Entry {
    fn new(name: &Path, kind: EntryKind, size: Option<u64>, blocked: bool) -> Entry {
        let (path, shown) = (names::text_of(name), names::display(name));
        Entry { path, shown, unnameable: !names::is_text(name), kind, size, blocked }
    }
}

/// The entries that were found, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The folder, relative to the root; "" is the root.
    pub path: String,
    /// The entries.
    pub entries: Vec<Entry>,
    /// Whether there are more.
    pub truncated: bool,
    /// Whether the tree was too big for a complete walk.
    pub gave_up: bool,
    /// Folders that could not be read.
    pub unreadable: u64,
}

/// Lists the files and folders below a folder. For a file, lists that file. `threads` is that of [`Walk::threads`].
pub(super) fn list(
    root: &Root,
    wanted: &ListFiles,
    stop: &Stop,
    threads: Option<usize>,
) -> Result<Listing, ToolFailure> {
    let (start, glob) = start_of(root, &wanted.path, wanted.pattern.as_deref())?;
    if start.kind() != FileType::Directory {
        return Ok(single_file(&start));
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
    let report = report.check_start(&wanted.path)?;
    // The order of the walk decides which entries are kept.
    entries.truncate(wanted.limit);
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let entries = entries.into_iter().map(|(_, entry)| entry).collect();
    let path = names::text_of(&start.name);
    Ok(Listing { path, entries, truncated, gave_up: !report.complete, unreadable: report.unreadable })
}

/// Opens the folder where a walk begins, and returns the glob below it, which may be part of the path.
pub(super) fn start_of(
    root: &Root,
    path: &str,
    pattern: Option<&str>,
) -> Result<(OpenEntry, Option<Glob>), ToolFailure> {
    // A path that exists is not a glob, even if it has special characters.
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
    // A pattern may repeat the path of the folder. The rest of it is then anchored there.
    let here = format!("{}/", names::text_of(&start.name));
    let pattern = pattern.map(|glob| glob.strip_prefix(&here).map_or(glob.to_owned(), |rest| format!("/{rest}")));
    let glob = inner.or(pattern).map(|glob| Glob::new(&glob)).transpose()?;
    Ok((start, glob))
}

/// Collects the matching entries.
struct Lister<'l> {
    start: &'l Path,
    glob: Option<Glob>,
    limit: usize,
}

impl Visitor for Lister<'_> {
    type State = ();
    /// Entries with their sort keys.
    type Output = Vec<(Vec<u8>, Entry)>;

    fn state(&self) {}

    fn visit(&self, (): &mut (), mut run: EntryRun<'_>) -> Self::Output {
        let mut nodes = std::mem::take(&mut run.nodes);
        nodes.retain(|node| self.matches(node));
        // One more than the limit shows that there are more.
        nodes.truncate(self.limit.saturating_add(1));
        // The folder is opened only if the size of a file is needed.
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

    fn size(found: &Self::Output) -> usize {
        found.iter().map(|(key, _)| 200 + 4 * key.len()).sum()
    }
}

impl Lister<'_> {
    fn matches(&self, node: &Node) -> bool {
        let Some(glob) = &self.glob else { return true };
        let inside = names::relative_to(self.start, &node.name).unwrap_or(&node.name);
        glob.matches(inside, node.kind == FileType::Directory)
    }
}

fn single_file(file: &OpenEntry) -> Listing {
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
