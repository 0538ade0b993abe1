//! What is hidden of folders that are shown beside the project: toolchains of the home, prefixes of the PATH.
//!
//! This module knows no rules about names. It asks the project which names are blocked, and walks what is shown once for each project
//! that is opened: a person who keeps secrets among toolchains keeps them there before a session starts.

use super::plan::Name;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Whether a file or folder has to be hidden: the shown folder, what is in it (relative), and whether that is a folder.
pub(crate) type Hides<'a> = &'a dyn Fn(&Path, &Path, bool) -> bool;

/// The most entries that are looked at in all shown folders. Toolchains' folders that were not come to are hidden.
const MOST_ENTRIES: usize = 300_000;

/// The most names that are hidden one by one: each is a mount.
const MOST_MASKS: usize = 2_000;

/// Ends of paths below which everything came out of a registry: nothing in it is the user's own. They hold most of the files.
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

/// Bytes of a path that can be mounted over, with the zero behind it.
const LONGEST_PATH: usize = 4096;

/// What is left of the walks over all shown folders.
#[derive(Debug)]
pub(super) struct Looking {
    entries: usize,
    pub(super) masks: Vec<Name>,
}

/// Why not everything that is blocked in a folder can be hidden.
#[derive(Debug)]
pub(super) enum Unhidden {
    /// It has too many entries, or too many of them are blocked.
    TooLarge,
    /// This folder in it cannot be looked at.
    Closed(PathBuf, io::Error),
}

impl Looking {
    pub(super) fn begin() -> Looking {
        Looking { entries: 0, masks: Vec::new() }
    }

    /// How many entries were looked at.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Looks over a folder that is shown.
    pub(super) fn over(&mut self, shown: &Path, hides: Hides<'_>) {
        let mut pending = vec![shown.to_owned()];
        while let Some(folder) = pending.pop() {
            if is_store(&folder) {
                continue;
            }
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            let (before, waiting) = (self.masks.len(), pending.len());
            if self.is_full() {
                self.hide_all(folder, before);
                continue;
            }
            for entry in entries.flatten() {
                self.entries += 1;
                // A link leads to what is shown and looked at by itself, or to nothing.
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
            // One folder can hold more than can be mounted.
            if self.masks.len() > before + MOST_MASKS {
                pending.truncate(waiting);
                self.hide_all(folder, before);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.entries >= MOST_ENTRIES || self.masks.len() >= MOST_MASKS
    }

    /// Hides a folder in the place of what is hidden in it.
    fn hide_all(&mut self, folder: PathBuf, before: usize) {
        tracing::warn!(folder = %folder.display(), "hidden from commands: there is too much to look at");
        self.masks.truncate(before);
        self.masks.push(Name::from(folder));
    }

    /// Looks over a path that one program may read and write. Anything in it may be the user's own, whatever its folder is called, and
    /// what was not looked at must not be shown.
    pub(super) fn over_shared(&mut self, shared: &Path, hides: Hides<'_>) -> Result<(), Unhidden> {
        let mut pending = vec![shared.to_owned()];
        while let Some(folder) = pending.pop() {
            let closed = |error| Unhidden::Closed(folder.clone(), error);
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => match error.kind() {
                    // The path is a file, or the folder has gone away.
                    ErrorKind::NotADirectory | ErrorKind::NotFound => continue,
                    // The program could open it to itself.
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
                    return Err(Unhidden::TooLarge);
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

/// Whether nothing in a folder is the user's own: packages, and the library of a Python.
fn is_store(folder: &Path) -> bool {
    let named = |name: &str| name.starts_with("python2.") || name.starts_with("python3.");
    let of_python = folder.file_name().and_then(|name| name.to_str()).is_some_and(named);
    let parent = folder.parent().and_then(Path::file_name);
    of_python && parent.is_some_and(|name| name == "lib" || name == "include")
        || STORES.iter().any(|store| folder.ends_with(store))
}

/// Parts of a prefix that hold what is installed there.
const PARTS: &[&str] = &[
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "libexec",
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

/// Parts that belong to a prefix only where it is of a kind that is known by another name in it.
const PARTS_OF_KINDS: &[(&str, &[&str])] =
    &[("src/runtime", &["src", "pkg", "api", "misc", "VERSION", "go.env"]), ("lib/modules", &["conf"])];

/// What is shown of the prefix of a folder of programs, where the user may have put other things beside it.
pub(super) fn parts_of(prefix: &Path) -> Vec<PathBuf> {
    let kinds = PARTS_OF_KINDS.iter().filter(|(mark, _)| prefix.join(mark).exists()).flat_map(|(_, parts)| *parts);
    let parts = PARTS.iter().chain(kinds).map(|part| prefix.join(part));
    parts.filter(|part| part.exists()).collect()
}

/// Whether this user put it there, or could.
pub(super) fn is_of_the_user(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owned = fs::metadata(folder).is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw());
    owned || rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}
