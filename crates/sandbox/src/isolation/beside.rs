//! Finds the blocked files in visible folders outside of the project: toolchains in the home folder, prefixes of the
//! PATH.
//!
//! This module knows no rules about names. It asks the project which names are blocked, and walks the visible folders
//! once for each project that is opened: a user who keeps secrets among toolchains keeps them there before a session
//! starts.

use super::plan::Name;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A predicate that returns `true` if a file or folder must be hidden. Its arguments are the visible folder, the path
/// of the entry in it, and whether the entry is a folder.
pub(crate) type Hides<'a> = &'a dyn Fn(&Path, &Path, bool) -> bool;

/// The most entries that are checked in all visible folders. Folders of toolchains beyond this limit are hidden.
const MOST_ENTRIES: usize = 300_000;

/// The most names that are hidden one by one, because each needs a mount.
const MOST_MASKS: usize = 2_000;

/// Ends of paths below which everything was downloaded from a registry, so that nothing is the user's own. They have
/// most of the files.
const STORES: &[&str] = &[
    ".cargo/registry/src",
    ".cargo/registry/cache",
    ".cargo/registry/index",
    ".cargo/git/db",
    ".cargo/git/checkouts",
    ".rustup/toolchains",
    "go/pkg/mod",
    "site-packages",
    "dist-packages",
    "node_modules",
    "_cacache",
    ".m2/repository",
    ".cache/go-build",
    ".gradle/caches",
];

/// The most bytes of a path that can be a mount point, including the final zero (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

/// The progress of the walks over all visible folders.
#[derive(Debug)]
pub(super) struct FolderWalk {
    entries: usize,
    pub(super) masks: Vec<Name>,
}

/// The reason why blocked files in a folder cannot be hidden.
#[derive(Debug)]
pub(super) enum HideError {
    /// It has too many entries, or too many of them are blocked.
    TooLarge,
    /// A folder in it, named here, cannot be read.
    Closed(PathBuf, io::Error),
}

impl FolderWalk {
    pub(super) fn begin() -> FolderWalk {
        FolderWalk { entries: 0, masks: Vec::new() }
    }

    /// Returns the number of checked entries.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Walks a visible folder.
    pub(super) fn walk_folder(&mut self, shown: &Path, hides: Hides<'_>) {
        let mut pending = vec![shown.to_owned()];
        while let Some(folder) = pending.pop() {
            if is_store(&folder) {
                continue;
            }
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    // A command could make the folder readable by changing its mode.
                    if error.kind() == ErrorKind::PermissionDenied {
                        self.masks.push(Name::from(folder));
                    }
                    continue;
                }
            };
            let (before, waiting) = (self.masks.len(), pending.len());
            if self.is_full() {
                self.hide_all(folder, before);
                continue;
            }
            for entry in entries.flatten() {
                self.entries += 1;
                // The target of a link is either visible and walked separately, or not visible.
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                let is_repository = entry.file_name() == ".git" && kind.is_dir();
                let below = path.strip_prefix(shown).unwrap_or(&path);
                if is_repository || !kind.is_symlink() && hides(shown, below, kind.is_dir()) {
                    self.masks.push(Name::from(path));
                } else if kind.is_dir() {
                    pending.push(path);
                }
            }
            // `is_full` is checked before a folder is read, and one folder can contain more blocked files than the
            // limit.
            if self.masks.len() > before + MOST_MASKS {
                pending.truncate(waiting);
                self.hide_all(folder, before);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.entries >= MOST_ENTRIES || self.masks.len() >= MOST_MASKS
    }

    /// Hides a whole folder instead of the entries in it.
    fn hide_all(&mut self, folder: PathBuf, before: usize) {
        tracing::warn!(folder = %folder.display(), "hidden from commands: there is too much to look at");
        self.masks.truncate(before);
        self.masks.push(Name::from(folder));
    }

    /// Walks a path that one program may read and write. Any file in it may be the user's own, whatever its folder is
    /// called, and an unchecked file must not be visible.
    pub(super) fn walk_shared(&mut self, shared: &Path, hides: Hides<'_>) -> Result<(), HideError> {
        let mut pending = vec![shared.to_owned()];
        while let Some(folder) = pending.pop() {
            let closed = |error| HideError::Closed(folder.clone(), error);
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => match error.kind() {
                    // The path is a file, or the folder was removed.
                    ErrorKind::NotADirectory | ErrorKind::NotFound => continue,
                    // The folder is hidden because the program could make it readable by changing its mode.
                    ErrorKind::PermissionDenied => {
                        self.masks.push(Name::from(folder));
                        continue;
                    }
                    _ => return Err(closed(error)),
                },
            };
            for entry in entries {
                let entry = entry.map_err(closed)?;
                self.entries += 1;
                if self.is_full() {
                    // Unlike a toolchain, a shared folder cannot be hidden: the user has named it for this program.
                    return Err(HideError::TooLarge);
                }
                let kind = match entry.file_type() {
                    Ok(kind) => kind,
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => return Err(closed(error)),
                };
                let path = entry.path();
                let is_repository = entry.file_name() == ".git" && kind.is_dir();
                let below = path.strip_prefix(shared).unwrap_or(&path);
                if is_repository || !kind.is_symlink() && hides(shared, below, kind.is_dir()) {
                    // Such a path cannot be a mount point, so the entry could not be hidden.
                    if path.as_os_str().len() >= LONGEST_PATH {
                        return Err(closed(rustix::io::Errno::NAMETOOLONG.into()));
                    }
                    self.masks.push(Name::from(path));
                } else if kind.is_dir() {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }
}

/// Returns `true` if nothing in a folder is the user's own: it has packages, or the library of a Python.
fn is_store(folder: &Path) -> bool {
    let named = |name: &str| name.starts_with("python2.") || name.starts_with("python3.");
    let of_python = folder.file_name().and_then(|name| name.to_str()).is_some_and(named);
    let parent = folder.parent().and_then(Path::file_name);
    of_python && parent.is_some_and(|name| name == "lib" || name == "include")
        || STORES.iter().any(|store| folder.ends_with(store))
}

/// Parts of a prefix that contain installed files.
const PARTS: &[&str] = &[
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "libexec",
    // Without this file, the programs of a virtual environment do not find their modules.
    "pyvenv.cfg",
    "share",
    "include",
    "compiler_compat",
    "condabin",
    "jmods",
    "legal",
    "release",
    "ssl",
    "sysroot",
];

/// Parts that belong to a prefix only if it also has a part with one of these names.
const PARTS_OF_KINDS: &[(&str, &[&str])] =
    &[("src/runtime", &["src", "pkg", "api", "misc", "VERSION", "go.env"]), ("lib/modules", &["conf"])];

/// Returns the visible parts of the prefix of a folder of programs, to which the user may have added other files.
pub(super) fn parts_of(prefix: &Path) -> Vec<PathBuf> {
    let kinds = PARTS_OF_KINDS.iter().filter(|(mark, _)| prefix.join(mark).exists()).flat_map(|(_, parts)| *parts);
    let parts = PARTS.iter().chain(kinds).map(|part| prefix.join(part));
    parts.filter(|part| part.exists()).collect()
}

/// Returns `true` if this user owns the folder or can write to it.
pub(super) fn is_of_the_user(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owned = fs::metadata(folder).is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw());
    owned || rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}
