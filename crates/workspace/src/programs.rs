//! Where programs come from: one PATH, for the policy that judges a command and for the shell that runs it.
//!
//! This module starts nothing. A folder of the project is never part of the PATH: its author may be the model.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where the caller has no PATH, or none of its folders is left.
const SYSTEM: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The folders of `host`, a PATH, that are there and not at or below `root`, by their real names: a link that is bent
/// later changes nothing.
///
/// Where nothing is left (the root is the whole system), the folders of the system stay, and what is found there counts as
/// the project's.
pub(crate) fn search_path(host: Option<&OsStr>, root: &Path) -> OsString {
    let mut folders: Vec<PathBuf> = Vec::new();
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
    fn the_projects_folders_are_no_part_of_it() {
        let search = |host: Option<&str>, root: &str| search_path(host.map(OsStr::new), Path::new(root));
        assert_eq!(search(Some(".:/usr/bin::bin:/nowhere/at/all:/usr/bin/"), "/proj"), "/usr/bin");
        assert_eq!(search(Some("/usr/bin/../lib:/usr/bin"), "/usr/lib"), "/usr/bin");
        assert_eq!(search(Some("/usr/bin"), "/"), SYSTEM);
        assert_eq!(search(Some(""), "/proj"), SYSTEM);
        assert_ne!(search(None, "/proj"), "");
    }
}
