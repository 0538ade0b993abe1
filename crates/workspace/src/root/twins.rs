//! Hard links of blocked files: another name, the same secret.
//!
//! The kernel does not tell the other names of a file, so they are looked for in the tree, and only for a file that has
//! more than one name.

use crate::root::resolve;
use crate::root::walk::{Order, Walk};
use crate::{Stop, Workspace};
use rustix::fd::AsFd;
use rustix::fs::{FileType, Stat};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Entries looked at before the search is given up; then a file with several names is refused.
const MOST_ENTRIES: usize = 1_000_000;

/// The blocked files of a tree that have more than one name, looked for once and only when asked.
pub(crate) struct Twins<'w> {
    workspace: &'w Workspace,
    stop: Option<&'w Stop>,
    found: OnceCell<Result<HashMap<Identity, String>, Unknown>>,
}

/// The tree is too big to be sure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unknown {
    pub(crate) most: usize,
}

type Identity = (u64, u64);

impl<'w> Twins<'w> {
    pub(crate) fn of(workspace: &'w Workspace) -> Twins<'w> {
        Twins { workspace, stop: None, found: OnceCell::new() }
    }

    /// The same, until it is stopped; then nobody can be sure.
    pub(crate) fn until(self, stop: &'w Stop) -> Twins<'w> {
        Twins { stop: Some(stop), ..self }
    }

    /// Whether a file may have another name at all.
    pub(crate) fn possible(stat: &Stat) -> bool {
        stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
    }

    /// The blocked name of the same file.
    pub(crate) fn find(&self, stat: &Stat) -> Result<Option<&str>, Unknown> {
        let found =
            self.found.get_or_init(|| blocked_files(self.workspace, self.stop)).as_ref().map_err(|unknown| *unknown)?;
        Ok(found.get(&identity(stat)).map(String::as_str))
    }
}

#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
fn identity(stat: &Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn blocked_files(workspace: &Workspace, stop: Option<&Stop>) -> Result<HashMap<Identity, String>, Unknown> {
    let never = Stop::default();
    let mut found = HashMap::new();
    let mut walk = Walk::new(workspace, Order::Depth, stop.unwrap_or(&never)).everything().most(MOST_ENTRIES);
    for node in walk.by_ref() {
        if node.kind == FileType::Directory || node.blocked.is_none() {
            continue;
        }
        if let Ok(stat) = resolve::stat_exact(workspace.root.as_fd(), &node.name)
            && Twins::possible(&stat)
        {
            found.insert(identity(&stat), node.name.to_string_lossy().into_owned());
        }
    }
    let complete = walk.report(".").is_ok_and(|report| report.complete);
    if complete { Ok(found) } else { Err(Unknown { most: MOST_ENTRIES }) }
}
