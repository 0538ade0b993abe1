//! The host's programs: one PATH for the policy that judges a command and for the shell that runs it, and the host's
//! git.
//!
//! This module runs nothing. The PATH never contains a folder of the project, because the model may have written its
//! files.

use crate::git::Git;
use rustix::fs::{Access, FileType};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The PATH if the caller has none, or if none of its folders is left.
const SYSTEM: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The programs that commands in one project find.
#[derive(Debug)]
pub struct Programs {
    search_path: OsString,
    root: PathBuf,
    git: OnceLock<Option<Git>>,
}

impl Programs {
    /// Returns the programs in the folders of `host`, a PATH, except folders at or below `root`.
    pub(super) fn new(host: Option<&OsStr>, root: &Path) -> Programs {
        Programs { search_path: search_path(host, root), root: root.to_owned(), git: OnceLock::new() }
    }

    /// Returns the PATH of every command: the host's own without the folders of the project.
    pub fn search_path(&self) -> &OsStr {
        &self.search_path
    }

    /// Returns the path of a program with this name, unless it is in the project.
    pub fn of_system(&self, name: &str) -> Option<PathBuf> {
        let found = self.find(name)?;
        let real = found.canonicalize().ok()?;
        (!real.starts_with(&self.root)).then_some(found)
    }

    /// Returns the host's git, if one is installed outside of the project.
    pub fn git(&self) -> Option<&Git> {
        self.git.get_or_init(|| Git::find(&self.search_path)).as_ref()
    }

    /// Finds a program in the PATH.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.search_path).map(|folder| folder.join(program)).find(|path| runs(path))
    }
}

/// Returns `true` if this is an executable file.
fn runs(path: &Path) -> bool {
    let is_file =
        rustix::fs::stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    is_file && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// Returns the folders of `host`, a PATH, that exist and are not at or below `root`, by their real names, so that a
/// link that is changed later has no effect.
///
/// If no folder is left, because the root is the whole system, returns the system's default; the programs in it count
/// as the project's.
fn search_path(host: Option<&OsStr>, root: &Path) -> OsString {
    let mut folders: Vec<PathBuf> = Vec::new();
    // A relative folder would depend on the working folder, which is in the project.
    let absolute = std::env::split_paths(host.unwrap_or(OsStr::new(SYSTEM))).filter(|folder| folder.is_absolute());
    for folder in absolute.filter_map(|folder| folder.canonicalize().ok()) {
        if !folder.starts_with(root) && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    std::env::join_paths(folders).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| SYSTEM.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_path_has_no_folders_of_the_project() {
        let search = |host: Option<&str>, root: &str| search_path(host.map(OsStr::new), Path::new(root));
        assert_eq!(search(Some(".:/usr/bin::bin:/nowhere/at/all:/usr/bin/"), "/proj"), "/usr/bin");
        assert_eq!(search(Some("/usr/bin/../lib:/usr/bin"), "/usr/lib"), "/usr/bin");
        assert_eq!(search(Some("/usr/bin"), "/"), SYSTEM);
        assert_eq!(search(Some(""), "/proj"), SYSTEM);
        assert_ne!(search(None, "/proj"), "");
    }
}
