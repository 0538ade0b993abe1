//! Checks whether the configuration of a repository makes git run programs or use another repository.
//!
//! Reads what git would read: the settings, the attribute drivers that they define, and the index. It does not read the
//! settings in the user's home folder.

use crate::git::bytes_of;
use crate::git::config::{may_make_reads_run_programs, pointed};
use crate::root::Root;
use std::io;
use std::path::Path;

/// The maximum sizes of settings and of an index in bytes. Larger files count as unknown.
const MOST_SETTINGS: u64 = 1 << 20;
const MOST_INDEX: u64 = 64 << 20;

/// The mode of a nested repository as four bytes of the index.
const GITLINK: [u8; 4] = 0o160_000_u32.to_be_bytes();

/// Returns `true` if the repository that git would find in `cwd`, relative to the root, is in the root and makes git
/// run no program.
pub(super) fn is_plain(root: &Root, cwd: &str) -> bool {
    find(root, cwd).unwrap_or(false)
}

fn find(root: &Root, cwd: &str) -> io::Result<bool> {
    let root = root.path();
    let start = root.join(cwd).canonicalize()?;
    // Inside of `.git`, git would use that folder itself as the repository.
    let within = start.components().any(|name| name.as_os_str() == ".git");
    let top = start.ancestors().find(|folder| folder.join(".git").exists());
    let Some(top) = top.filter(|_| !within && start.starts_with(root)) else { return Ok(false) };
    let dot_git = top.join(".git");
    let named = |file: &Path, prefix: &str| pointed(file, prefix).ok_or_else(|| io::Error::other("it names no folder"));
    let folder = if dot_git.is_dir() { dot_git } else { named(&dot_git, "gitdir:")? };
    let common = folder.join("commondir");
    let shared = if common.exists() { named(&common, "")? } else { folder.clone() };
    let is_inside = |folder: &Path| folder.canonicalize().is_ok_and(|folder| folder.starts_with(root));
    Ok(top.starts_with(root) && is_inside(&folder) && is_inside(&shared) && names_no_program(&folder, &shared)?)
}

fn names_no_program(folder: &Path, shared: &Path) -> io::Result<bool> {
    let settings = bytes_of(&shared.join("config"), MOST_SETTINGS)?;
    // A split index has its entries in another file.
    let split = |entry: std::fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex");
    if may_make_reads_run_programs(&settings) || std::fs::read_dir(folder)?.flatten().any(split) {
        return Ok(false);
    }
    match bytes_of(&folder.join("index"), MOST_INDEX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        // A nested repository has its own settings, which are not read here.
        index => Ok(memchr::memmem::find(&index?, &GITLINK).is_none()),
    }
}
