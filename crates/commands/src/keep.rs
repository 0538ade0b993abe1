//! Moves the changes of a command from its layer into a stash, from which they are put into the project.

use crate::layer::{Change, ChangeKind, Entry, Layer};
use rustix::fd::AsFd;
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use toolfence_workspace::Root;
use toolfence_workspace::stash::{ExchangeError, Moment, Stash, is_unchanged_since, remove_tree};

/// Plans to put the changes for which `keep` returns `true` into the project. The stash is created in `place`, and the
/// kept entries are moved into it out of the layer. `changes` is the whole list of the layer, and the command began
/// after `since`.
///
/// A new folder that is kept is moved as a whole, without the entries in it that are not kept. If an entry of a new
/// folder is kept, the folder must be kept too.
///
/// # Errors
/// An entry cannot be moved. Conflicts are reported by [`Stash::exchange`].
pub fn plan(
    layer: &Layer,
    root: &Root,
    changes: &[Change],
    keep: &dyn Fn(&Change) -> bool,
    place: &Path,
    since: Moment,
) -> Result<Stash, ExchangeError> {
    let mut stash = Stash::create(place).map_err(ExchangeError::Plan)?;
    // Changes are processed in reverse order, so that unwanted entries of a new folder are deleted before the folder is
    // moved.
    for (change, comes_with_folder) in changes.iter().zip(in_kept_folders(changes, keep)).rev() {
        let Change { path, kind, is_copy } = change;
        let failed = |errno| ExchangeError::System(path.clone(), errno);
        if !keep(change) {
            if comes_with_folder {
                delete(layer, path).map_err(failed)?;
            }
            continue;
        }
        let replaces = match kind {
            ChangeKind::Removed => {
                stash.remove(root, path, since)?;
                continue;
            }
            ChangeKind::Modified(Entry::Folder { mode }) => {
                stash.set_mode(root, path, *mode)?;
                continue;
            }
            ChangeKind::Special | ChangeKind::Hidden => {
                if comes_with_folder {
                    delete(layer, path).map_err(failed)?;
                }
                continue;
            }
            ChangeKind::Added(entry) => {
                // A conflict, because keeping the entry would bring back what the user has removed.
                if *is_copy && was_removed(root, path, matches!(entry, Entry::Folder { .. }), since) {
                    stash.conflicts_at(path);
                }
                false
            }
            ChangeKind::Modified(_) | ChangeKind::Replaced(_) | ChangeKind::Touched => true,
        };
        if !comes_with_folder {
            let folder = layer.folder_of(path).map_err(ExchangeError::Plan)?;
            let name = path.file_name().ok_or_else(|| failed(Errno::INVAL))?;
            stash.plan_entry(root, path, (folder.as_fd(), name), replaces, since)?;
        }
    }
    Ok(stash)
}

/// Returns for each change whether a folder above it is new and kept. Such a folder precedes its entries. The entries
/// of a new folder that is not kept stay in the layer.
fn in_kept_folders(changes: &[Change], keep: &dyn Fn(&Change) -> bool) -> Vec<bool> {
    let mut new_folder: Option<&Path> = None;
    let mut found = Vec::with_capacity(changes.len());
    for change in changes {
        let Change { path, kind, .. } = change;
        let is_inside = new_folder.is_some_and(|folder| path.starts_with(folder));
        found.push(is_inside);
        if let ChangeKind::Added(Entry::Folder { .. }) | ChangeKind::Replaced(Entry::Folder { .. }) = kind
            && !is_inside
            && keep(change)
        {
            new_folder = Some(path);
        }
    }
    found
}

/// Returns `true` if an entry that the kernel copied from the project is new because the user has removed or renamed
/// the project's entry. For a folder, this is the only possible reason, because a command cannot rename a folder of the
/// project in a layer. A file may also have been renamed by the command, so the check is whether an entry of the
/// project's folder was added or removed since.
fn was_removed(root: &Root, path: &Path, is_folder: bool, since: Moment) -> bool {
    // The command may have created some folders on the path, so the innermost one that the project has is checked.
    let above = path.ancestors().skip(1).find(|above| root.path().join(above).symlink_metadata().is_ok());
    is_folder || above.is_none_or(|above| !is_unchanged_since(root, above, since))
}

/// Deletes an entry of a layer.
///
/// # Errors
/// The system refused.
pub fn delete(layer: &Layer, path: &Path) -> rustix::io::Result<()> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let folder = match layer.folder_of(path) {
        Ok(folder) => folder,
        // The entry was moved to the session with its folder: see `session_output`.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    };
    match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => remove_tree(folder.as_fd(), name),
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}
