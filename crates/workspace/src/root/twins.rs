//! Finds hard links of blocked files: other names of the same secret.
//!
//! The kernel does not list the other names of a file, so the tree is searched for them, and only if a file has more
//! than one name.

use crate::root::Root;
use crate::root::walk::{Order, Walk};
use crate::stop::Stop;
use rustix::fs::{FileType, Stat};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use toolfence_sandbox::project::{Number, number_of};

/// The maximum number of entries that are searched. In a larger tree, every file with several names is refused.
const MOST_ENTRIES: usize = 1_000_000;

/// The blocked files of a tree that have more than one name. They are searched once, on the first request.
pub(crate) struct Twins<'w> {
    root: &'w Root,
    stop: Option<&'w Stop>,
    found: OnceLock<Result<HashMap<Number, String>, Unknown>>,
}

/// The search was incomplete, so it is unknown whether a file with several names is blocked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unknown {
    pub(crate) most: usize,
}

impl<'w> Twins<'w> {
    pub(crate) fn new(root: &'w Root) -> Twins<'w> {
        Twins { root, stop: None, found: OnceLock::new() }
    }

    /// Lets `stop` end the search. Every file with several names then counts as unknown.
    pub(crate) fn until(self, stop: &'w Stop) -> Twins<'w> {
        Twins { stop: Some(stop), ..self }
    }

    /// Returns `true` if a file has more than one name.
    pub(crate) fn possible(stat: &Stat) -> bool {
        stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
    }

    /// Returns the blocked name of the same file.
    pub(crate) fn find(&self, stat: &Stat) -> Result<Option<&str>, Unknown> {
        let found =
            self.found.get_or_init(|| blocked_files(self.root, self.stop)).as_ref().map_err(|unknown| *unknown)?;
        Ok(found.get(&number_of(stat)).map(String::as_str))
    }
}

fn blocked_files(root: &Root, stop: Option<&Stop>) -> Result<HashMap<Number, String>, Unknown> {
    let never = Stop::default();
    let mut found = HashMap::new();
    // A secret can be in a hidden, ignored or blocked folder.
    let report = Walk::new(root, Order::Depth, stop.unwrap_or(&never)).everything().most(MOST_ENTRIES).each(|node| {
        if node.kind != FileType::Directory
            && node.blocked.is_some()
            && let Ok(stat) = root.stat_exact(&node.name)
            && Twins::possible(&stat)
        {
            found.insert(number_of(&stat), node.name.to_string_lossy().into_owned());
        }
        ControlFlow::Continue(())
    });
    let complete = report.check_start(".").is_ok_and(|report| report.complete);
    if complete { Ok(found) } else { Err(Unknown { most: MOST_ENTRIES }) }
}
