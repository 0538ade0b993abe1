//! Build folders, which a command may write in a project that is read-only for it.
//!
//! A folder counts if a manifest next to it implies it by its name and git ignores it. The name alone is not enough:
//! without git, a command could delete a folder of photos that is called `out`. The ignore rule alone is not enough
//! either, because the model can write one.

use crate::{Stop, Workspace};
use std::collections::{HashMap, HashSet};
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The build folders that a manifest implies.
struct Implied {
    manifests: &'static [&'static str],
    /// Folders that are created, so that the first build can write them.
    created: &'static [&'static str],
    /// Folders that count only if they exist. An empty `node_modules` or `.venv` would look like an installation.
    existing: &'static [&'static str],
}

const IMPLIED: &[Implied] = &[
    Implied { manifests: &["Cargo.toml", "pom.xml"], created: &["target"], existing: &[] },
    Implied {
        manifests: &["package.json"],
        created: &["dist", "build", "coverage", ".nyc_output", ".next", ".nuxt", ".svelte-kit", ".turbo"],
        existing: &["node_modules"],
    },
    Implied { manifests: &["CMakeLists.txt", "meson.build"], created: &["build"], existing: &["cmake-build-debug"] },
    Implied { manifests: &["build.gradle", "build.gradle.kts"], created: &["build", ".gradle"], existing: &[] },
    Implied {
        manifests: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"],
        created: &["build", "dist", "htmlcov", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox"],
        existing: &[".venv", "venv"],
    },
];

/// The maximum depth below the root at which manifests are searched, and the maximum number of searched folders.
const DEPTH: usize = 4;
const MOST_FOLDERS: usize = 2000;

/// The maximum number of entries of a build folder that are checked for hard links.
const MOST_ENTRIES: usize = 500_000;

/// The number of walks that must all find outer links. A build that runs meanwhile may link a file between two steps of
/// one walk.
const LOOKS: usize = 2;

/// The name of an entry that does not exist. Git ignores it if it ignores everything in its folder.
const ANY: &str = "toolfence any entry";

impl Workspace {
    /// Finds the build folders that commands may write in a read-only project, relative to the root, and creates those
    /// that the first build needs.
    ///
    /// A created folder stays, even if it is empty: another command may have it mounted.
    #[doc(hidden)]
    pub fn build_folders(&self, stop: &Stop) -> Vec<PathBuf> {
        let Some(git) = self.root().programs().git() else { return Vec::new() };
        let root = self.root_path();
        let ignored = |paths: Vec<&Path>| git.ignored(root, &paths).unwrap_or_default();
        let (mut existing, missing) = candidates(root, stop);
        let inside: Vec<PathBuf> = missing.iter().map(|folder| folder.join(ANY)).collect();
        let mut created = Vec::new();
        let implied = match inside.is_empty() {
            true => HashSet::new(),
            false => ignored(inside.iter().map(PathBuf::as_path).collect()),
        };
        for (folder, inside) in missing.into_iter().zip(&inside) {
            if !implied.contains(inside) {
                continue;
            }
            let at = root.join(&folder);
            match fs::create_dir(&at) {
                Ok(()) => created.push(folder.clone()),
                // Another command has just created it.
                Err(_) if at.symlink_metadata().is_ok_and(|meta| meta.is_dir()) => {}
                Err(_) => continue,
            }
            existing.push(folder);
        }
        if existing.is_empty() {
            return Vec::new();
        }
        // Git does not ignore a folder of which it tracks a file.
        let is_ignored = ignored(existing.iter().map(PathBuf::as_path).collect());
        let mut found = Vec::new();
        for folder in existing {
            let is_ignored = is_ignored.contains(&folder);
            if !is_ignored && created.contains(&folder) {
                let _ = fs::remove_dir(root.join(&folder));
            }
            if is_ignored && !(0..LOOKS).all(|_| has_outer_links(&root.join(&folder), stop)) {
                found.push(folder);
            }
        }
        found
    }
}

/// Returns the folders that manifests imply: those that exist, and those that would be created. Links are neither.
fn candidates(root: &Path, stop: &Stop) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut existing, mut missing) = (Vec::new(), Vec::new());
    let mut pending = vec![(PathBuf::new(), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = pending.pop() {
        looked += 1;
        if looked > MOST_FOLDERS || stop.is_stopped() {
            break;
        }
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        let entries: Vec<DirEntry> = entries.flatten().collect();
        let has = |name: &&str| entries.iter().any(|entry| entry.file_name() == **name);
        // Another repository has its own index, which is not asked here.
        if depth > 0 && has(&".git") {
            continue;
        }
        let mut names: Vec<&str> = Vec::new();
        for implied in IMPLIED.iter().filter(|implied| implied.manifests.iter().any(&has)) {
            names.extend(implied.existing);
            missing.extend(implied.created.iter().filter(|name| !has(name)).map(|name| folder.join(name)));
            names.extend(implied.created);
        }
        names.sort_unstable();
        names.dedup();
        for entry in entries {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder {
                continue;
            }
            if names.iter().any(|known| name == *known) {
                existing.push(folder.join(name));
            } else if depth < DEPTH && !name.as_encoded_bytes().starts_with(b".") && name != "node_modules" {
                pending.push((folder.join(name), depth + 1));
            }
        }
    }
    missing.sort_unstable();
    missing.dedup();
    (existing, missing)
}

/// Returns `true` if a file in the folder has, or may have, another name outside of it. A write to one name changes the
/// other.
fn has_outer_links(folder: &Path, stop: &Stop) -> bool {
    let mut names: HashMap<(u64, u64), (u64, u64)> = HashMap::new();
    let mut pending = vec![folder.to_owned()];
    let mut looked = 0;
    while let Some(folder) = pending.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => return true,
        };
        for entry in entries.flatten() {
            looked += 1;
            if looked > MOST_ENTRIES || stop.is_stopped() {
                return true;
            }
            // The metadata of an entry is that of a link itself.
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                pending.push(entry.path());
            } else if meta.nlink() > 1 {
                let (seen, links) = names.entry((meta.dev(), meta.ino())).or_insert((0, meta.nlink()));
                *seen += 1;
                // A build may add a link while the folder is walked, so the latest count is used.
                *links = meta.nlink();
            }
        }
    }
    names.values().any(|(seen, links)| seen < links)
}
