//! The tree below a folder, entry by entry, in an order that is the same for the same tree.
//!
//! Links are shown and never followed. Every folder is opened from the root's descriptor by a path in which the kernel
//! accepts no link at all, so that a folder swapped for a link during the walk is an error and not a way out.

use crate::root::folder::{self, Item};
use crate::root::hops::Hop;
use crate::root::ignores::Ignores;
use crate::root::opened::Opened;
use crate::root::{Root, failure};
use crate::stop::Stop;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use toolfence_protocol::ToolFailure;

/// What comes next after a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// What is in it: files of one folder stay together.
    Depth,
    /// The neighbours of the folder: what is nearest to the top comes first.
    Breadth,
}

/// One entry of the tree.
#[derive(Debug)]
pub(crate) struct Node {
    /// Relative to the root, without links.
    pub(crate) name: PathBuf,
    /// 1 for what stands in the folder where the walk began.
    pub(crate) depth: usize,
    pub(crate) kind: FileType,
    /// The rule that blocks it.
    pub(crate) blocked: Option<String>,
    ignores: Option<Arc<Ignores>>,
    hop: Hop,
}

/// How a walk went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalkReport {
    /// Whether it came to its end: not stopped, and no limit met.
    pub(crate) complete: bool,
    /// Folders that could not be read, below the one where it began.
    pub(crate) unreadable: u64,
    /// Why not even the folder where it began could be read.
    pub(crate) not_begun: Option<Errno>,
}

/// An iterator over a tree.
pub(crate) struct Walk<'w> {
    root: &'w Root,
    stop: &'w Stop,
    order: Order,
    pending: VecDeque<Node>,
    hidden: bool,
    git: bool,
    blocked: bool,
    max_depth: usize,
    most: usize,
    seen: usize,
    report: WalkReport,
}

impl<'w> Walk<'w> {
    /// From the root, without hidden and blocked folders, until told otherwise.
    pub(crate) fn new(root: &'w Root, order: Order, stop: &'w Stop) -> Walk<'w> {
        let start = Node {
            name: PathBuf::new(),
            depth: 0,
            kind: FileType::Directory,
            blocked: None,
            ignores: None,
            hop: Hop::default(),
        };
        Walk {
            root,
            stop,
            order,
            pending: VecDeque::from([start]),
            hidden: false,
            git: false,
            blocked: false,
            max_depth: usize::MAX,
            most: 1_000_000,
            seen: 0,
            report: WalkReport { complete: true, unreadable: 0, not_begun: None },
        }
    }

    /// Starts the walk at this folder.
    pub(crate) fn from(mut self, folder: &Opened) -> Walk<'w> {
        self.git = folder.name.components().any(|name| name.as_os_str() == ".git");
        self.pending[0].name.clone_from(&folder.name);
        self
    }

    /// Leaves out what git would ignore, whether there is a repository or not.
    pub(crate) fn ignoring(mut self, yes: bool) -> Walk<'w> {
        let root = self.root;
        let start = &mut self.pending[0];
        start.ignores = yes.then(|| Ignores::above(root, &start.name));
        self
    }

    /// Shows names that begin with a dot; what is in `.git` stays out.
    pub(crate) fn hidden(mut self, yes: bool) -> Walk<'w> {
        self.hidden = yes;
        self
    }

    /// Shows hidden, ignored and blocked entries too.
    pub(crate) fn everything(mut self) -> Walk<'w> {
        (self.hidden, self.git, self.blocked) = (true, true, true);
        self
    }

    /// Goes no deeper; 1 is the folder itself.
    pub(crate) fn max_depth(mut self, depth: usize) -> Walk<'w> {
        self.max_depth = depth;
        self
    }

    /// Gives up after so many entries.
    pub(crate) fn most(mut self, entries: usize) -> Walk<'w> {
        self.most = entries;
        self
    }

    /// # Errors
    /// The folder where the walk began, `path` as it was asked for, could not be read.
    pub(crate) fn report(&self, path: &str) -> Result<WalkReport, ToolFailure> {
        match self.report.not_begun {
            Some(errno) => Err(failure::of_start(errno, path)),
            None => Ok(self.report),
        }
    }

    fn take(&mut self) -> Option<Node> {
        match self.order {
            Order::Depth => self.pending.pop_back(),
            Order::Breadth => self.pending.pop_front(),
        }
    }

    fn descends(&self, node: &Node) -> bool {
        node.kind == FileType::Directory
            && node.depth < self.max_depth
            && (self.blocked || node.blocked.is_none())
            && (self.git || node.name.file_name().is_none_or(|name| name != ".git"))
    }

    fn expand(&mut self, node: &Node) {
        let items = match self.items_of(node) {
            Ok(items) => items,
            Err(errno) if node.depth == 0 => return self.report.not_begun = Some(errno),
            Err(_) => return self.report.unreadable += 1,
        };
        let ignores = node.ignores.as_ref().map(|above| Ignores::below(above, self.root, &node.name, &items, None));
        let hop = node.hop.towards(self.root.fd(), &node.name);
        let mut children: Vec<Node> =
            items.into_iter().filter_map(|item| self.child(node, item, ignores.as_ref(), &hop)).collect();
        match self.order {
            Order::Depth => self.pending.extend(children.drain(..).rev()),
            Order::Breadth => self.pending.extend(children),
        }
    }

    fn items_of(&mut self, node: &Node) -> Result<Vec<Item>, Errno> {
        let folder = node.hop.open(self.root.fd(), &node.name)?;
        let (items, complete) = folder::items_until(folder, self.most.saturating_sub(self.seen), self.stop)?;
        self.seen += items.len();
        self.stop.saw(items.len());
        self.report.complete &= complete;
        Ok(items)
    }

    fn child(&self, parent: &Node, item: Item, ignores: Option<&Arc<Ignores>>, hop: &Hop) -> Option<Node> {
        if !self.hidden && item.name.as_encoded_bytes().first() == Some(&b'.') {
            return None;
        }
        let name = parent.name.join(&item.name);
        if ignores.is_some_and(|ignores| ignores.matches(&name, item.kind == FileType::Directory)) {
            return None;
        }
        let blocked = self.root.blocks(&name.to_string_lossy());
        Some(Node {
            name,
            depth: parent.depth + 1,
            kind: item.kind,
            blocked,
            ignores: ignores.cloned(),
            hop: hop.clone(),
        })
    }
}

impl Iterator for Walk<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        loop {
            if self.stop.is_stopped() {
                self.report.complete = false;
                return None;
            }
            let node = self.take()?;
            if self.descends(&node) {
                self.expand(&node);
            }
            if node.depth > 0 {
                return Some(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_start_that_is_gone_is_an_error_and_a_folder_below_it_is_counted() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir_all(home.path().join("a/b")).expect("a folder can be made");
        let root = Root::open(home.path(), Default::default(), None).expect("it is there");
        let start = root.open_folder("a").expect("it is there");
        let stop = Stop::default();
        let mut walk = Walk::new(&root, Order::Breadth, &stop).from(&start);
        assert_eq!(walk.next().map(|node| node.name), Some(PathBuf::from("a/b")));
        let mut gone = Walk::new(&root, Order::Breadth, &stop).from(&start);
        fs::remove_dir_all(home.path().join("a")).expect("it can be removed");
        assert_eq!(gone.by_ref().count(), 0);
        let failure = gone.report("a").expect_err("it is gone");
        assert_eq!(failure.code, toolfence_protocol::ErrorCode::NotFound, "{}", failure.message);
        assert_eq!(walk.report("a").map(|report| (report.complete, report.unreadable)), Ok((true, 0)));
    }
}
