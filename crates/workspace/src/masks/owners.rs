//! Finds entries of the project that belong to another user or group than this process.

use crate::root::Root;
use crate::root::hops::FolderFd;
use crate::root::walk::{EntryRun, Order, Visitor, Walk};
use crate::stop::Stop;
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Returns the first entry below the root whose owner or group is not that of this process. Ignores the entries of
/// `.git` and of blocked folders.
///
/// The walk for the masks reads only the names in folders; this one asks the kernel about each entry, on all cores.
pub(super) fn first_foreign(root: &Root, stop: &Stop) -> Option<PathBuf> {
    let owners = OwnOwners { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() };
    let mut first = None;
    Walk::new(root, Order::Depth, stop).hidden(true).threads(None).visit(&owners, |found| {
        first = found;
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    first
}

/// The effective user and group of this process.
struct OwnOwners {
    user: u32,
    group: u32,
}

impl OwnOwners {
    fn contains(&self, folder: &FolderFd<'_>, name: &OsStr) -> Result<bool, Errno> {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((stat.st_uid, stat.st_gid) == (self.user, self.group))
    }
}

impl Visitor for OwnOwners {
    type State = ();
    type Output = Option<PathBuf>;

    fn state(&self) {}

    fn visit(&self, (): &mut (), run: EntryRun<'_>) -> Option<PathBuf> {
        let folder = run.folder().ok()?;
        for node in &run.nodes {
            let Some(last) = node.name.file_name() else { continue };
            // An entry that was removed meanwhile has no owner.
            if self.contains(&folder, last) == Ok(false) {
                return Some(node.name.clone());
            }
        }
        None
    }

    fn size(found: &Option<PathBuf>) -> usize {
        found.as_ref().map_or(0, |path| path.as_os_str().len())
    }
}
