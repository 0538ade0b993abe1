//! Decides which changes that a confined command made in a git directory may be kept.
//!
//! It has a list of permitted changes: those that git makes when it commits, switches branches, merges, rebases,
//! stashes and fetches, and that make the host's git run no program. Hooks, configuration that names programs, links,
//! and to-do lists with lines that run programs are not on it.

use super::config::keys_of;
use super::made::has_programs_to_run_in;
use super::summary::list_index;
use super::{Git, bytes_of};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use toolfence_policy::rules::git_config::is_harmless;
use toolfence_protocol::{Text, text};

/// The maximum size in bytes of a file that is read from a git directory.
const MOST_BYTES: u64 = 16 << 20;

/// The merge strategies that are part of git: git runs a program for any other name.
const STRATEGIES: &[&str] = &["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// How a command changed an entry of a git directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryChange {
    /// A regular file is new or has other bytes.
    Written,
    /// A folder is new or has another mode.
    Folder,
    /// It was removed; if it is a folder, with everything in it.
    Removed,
    /// A link, or another kind of entry that git does not create.
    Other,
}

/// A git directory before and after a command. `before` is the directory itself. `after` has the entries that the
/// command wrote, at the same relative paths.
#[derive(Debug)]
pub struct GitDirChanges<'a> {
    pub(super) before: &'a Path,
    pub(super) after: &'a Path,
    pub(super) changes: BTreeMap<PathBuf, EntryChange>,
}

/// The reason why the changes of a repository are not kept.
#[derive(Debug)]
pub struct Refusal {
    /// The path relative to the git directory.
    pub path: PathBuf,
    /// The reason as the end of a sentence.
    pub why: Text,
}

/// The changes that are permitted at a path.
#[derive(Debug, PartialEq, Eq)]
enum Permit {
    /// Data in which git finds no program to run, so any content is permitted.
    Data,
    /// A file with configuration: each changed key must be harmless.
    Configuration,
    /// The to-do list of a rebase, cherry-pick or revert.
    ToDo,
    /// The name of a merge strategy.
    Strategy,
    /// The list of packed refs.
    PackedRefs,
    /// Options that `git am` passes to `git apply`: the file must be empty.
    ApplyOptions,
    /// The list of the files that git tracks: git writes to the paths in it without a further check.
    Index,
    /// Options of a cherry-pick or revert, in the format of a configuration.
    SequencerOptions,
    /// The paths from a worktree to its git directory and back.
    WorktreePlace,
    CommonFolder,
    Never,
}

impl<'a> GitDirChanges<'a> {
    /// Returns the changed entries, with paths relative to the git directory.
    pub fn new(
        before: &'a Path,
        after: &'a Path,
        changes: impl IntoIterator<Item = (PathBuf, EntryChange)>,
    ) -> GitDirChanges<'a> {
        GitDirChanges { before, after, changes: changes.into_iter().collect() }
    }

    /// Returns `true` if nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Checks that every change is permitted. `root` is the project's folder: a new worktree must be in it. `scratch`
    /// is a folder for files that git needs.
    ///
    /// # Errors
    /// The first change that is not permitted.
    pub fn check(&self, git: &Git, root: &Path, scratch: &Path) -> Result<(), Refusal> {
        for (path, change) in &self.changes {
            let refuse = |why: Text| Refusal { path: path.clone(), why };
            let (folder, rest) = self.innermost(path);
            if *change == EntryChange::Other {
                return Err(refuse(text!("it is a link or a special file")));
            }
            if !folder.as_os_str().is_empty() && !self.before.join(&folder).exists() {
                return Err(refuse(text!("commands cannot add submodules")));
            }
            // A new folder needs no check, because git ignores it until it has entries. A removed folder needs one,
            // because its entries are removed with it.
            if *change == EntryChange::Folder {
                continue;
            }
            let permit = self.permit(&folder, rest, *change);
            self.check_content(git, root, path, *change, &permit, scratch).map_err(refuse)?;
        }
        Ok(())
    }

    /// Returns the git directory of the submodule that a path belongs to, and the path in it. The first is empty for
    /// the repository itself.
    fn innermost<'p>(&self, path: &'p Path) -> (PathBuf, &'p Path) {
        let (mut folder, mut rest) = (PathBuf::new(), path);
        while let Ok(inside) = rest.strip_prefix("modules") {
            let is_git_dir = |at: &Path| {
                let at = folder.join("modules").join(at);
                self.is_there(&at.join("HEAD"))
            };
            let mut folders: Vec<&Path> = inside.ancestors().filter(|at| !at.as_os_str().is_empty()).collect();
            folders.reverse();
            // The name of a submodule can have slashes, so its git directory is the topmost folder with a `HEAD`.
            let Some(found) = folders.into_iter().find(|at| is_git_dir(at)) else { break };
            rest = inside.strip_prefix(found).unwrap_or(inside);
            folder = folder.join("modules").join(found);
        }
        (folder, rest)
    }

    fn permit(&self, folder: &Path, rest: &Path, change: EntryChange) -> Permit {
        let Some(parts) = rest.iter().map(OsStr::to_str).collect::<Option<Vec<&str>>>() else { return Permit::Never };
        let shared = |parts: &[&str]| match parts {
            ["objects", ..] if change == EntryChange::Written && self.is_changed_object(&folder.join(rest)) => {
                Permit::Never
            }
            ["objects", "info", "packs"] => Permit::Data,
            ["objects", "pack", name] if name.starts_with("pack-") => Permit::Data,
            // Git removes the other files of this folder, such as the multi-pack index, when it repacks. They must not
            // be written, because a forged one would hide objects.
            ["objects", "pack", _] if change == EntryChange::Removed => Permit::Data,
            ["objects", folder] if change == EntryChange::Removed && is_hex(folder, 2) => Permit::Data,
            // The name of a loose object is its SHA-1 or SHA-256 without the first two digits.
            ["objects", folder, name] if is_hex(folder, 2) && (is_hex(name, 38) || is_hex(name, 62)) => Permit::Data,
            ["packed-refs"] => Permit::PackedRefs,
            ["shallow"] => Permit::Data,
            ["info", "refs" | "sparse-checkout"] => Permit::Data,
            ["config"] if change == EntryChange::Written => Permit::Configuration,
            _ => Permit::Never,
        };
        match parts.as_slice() {
            // `git worktree remove` and `git worktree prune`.
            ["worktrees"] | ["worktrees", _] if change == EntryChange::Removed => Permit::Data,
            ["worktrees", name, own @ ..] => {
                let is_new = !self.before.join(folder).join("worktrees").join(name).exists();
                match own {
                    ["gitdir"] if is_new => Permit::WorktreePlace,
                    ["commondir"] if is_new => Permit::CommonFolder,
                    ["locked"] if is_new => Permit::Data,
                    // `git worktree remove` may have left some of them after a failure.
                    ["gitdir" | "commondir" | "locked"] => Permit::Never,
                    own => of_a_work_tree(own, change),
                }
            }
            parts => match of_a_work_tree(parts, change) {
                Permit::Never => shared(parts),
                permit => permit,
            },
        }
    }

    fn check_content(
        &self,
        git: &Git,
        root: &Path,
        path: &Path,
        change: EntryChange,
        permit: &Permit,
        scratch: &Path,
    ) -> Result<(), Text> {
        if *permit == Permit::Never {
            return Err(text!("git could run a program because of it"));
        }
        if change == EntryChange::Removed {
            return Ok(());
        }
        let read = || self.bytes(path).map_err(|_| text!("it cannot be read"));
        let line = || read().map(|bytes| String::from_utf8_lossy(bytes.trim_ascii()).into_owned());
        let is_fine = match permit {
            Permit::Data | Permit::Never => true,
            Permit::Configuration => {
                return match self.harmful_key(git, path) {
                    Ok(None) => Ok(()),
                    Ok(Some(key)) => Err(text!("the setting {key} is not one that commands may change", key)),
                    Err(_) => Err(text!("git cannot read it")),
                };
            }
            Permit::ToDo => !has_programs_to_run_in(&read()?),
            Permit::PackedRefs => are_plain_refs(&read()?),
            Permit::ApplyOptions => line()?.is_empty(),
            Permit::Index => return self.check_index(git, path, scratch),
            Permit::Strategy => STRATEGIES.contains(&line()?.as_str()),
            Permit::SequencerOptions => {
                let keys = keys_of(git, &self.after.join(path)).map_err(|_| text!("git cannot read it"))?;
                let is_named =
                    |value: &Option<String>| value.as_deref().is_some_and(|value| STRATEGIES.contains(&value));
                keys.iter().all(|(key, value)| key != "options.strategy" || is_named(value))
            }
            Permit::WorktreePlace => {
                let place = PathBuf::from(line()?);
                // A path with `..` could begin with the root and still lead out of it.
                let is_plain = super::config::plain(&place) == place;
                is_plain && place.starts_with(root) && place.file_name().is_some_and(|name| name == ".git")
            }
            Permit::CommonFolder => line()? == "../..",
        };
        if is_fine { Ok(()) } else { Err(text!("git could run a program because of it")) }
    }

    /// Returns `true` if an existing object has other bytes: git never changes one.
    fn is_changed_object(&self, path: &Path) -> bool {
        // `objects/info/packs` is a list of the packs, which git rewrites.
        !path.ends_with("objects/info/packs") && self.before.join(path).symlink_metadata().is_ok()
    }

    fn check_index(&self, git: &Git, path: &Path, scratch: &Path) -> Result<(), Text> {
        check_index(git, &self.after.join(path), scratch, self.is_sha256(git))
    }

    /// Returns the first changed key of a configuration that may run a program or read other configuration. The other
    /// keys must be unchanged, in the same order.
    fn harmful_key(&self, git: &Git, path: &Path) -> io::Result<Option<String>> {
        let of = |file: PathBuf| match file.symlink_metadata() {
            Ok(_) => keys_of(git, &file),
            Err(_) => Ok(Vec::new()),
        };
        let (before, after) = (of(self.before.join(path))?, of(self.after.join(path))?);
        let is_kept = |(key, value): &&(String, Option<String>)| !is_harmless(key, value.as_deref());
        let (mut before, mut after) = (before.iter().filter(is_kept), after.iter().filter(is_kept));
        loop {
            match (before.next(), after.next()) {
                (None, None) => return Ok(None),
                (before, after) if before == after => {}
                // `git sparse-checkout` enables this extension, and raises the version with it.
                (Some((key, _)), Some((other, Some(one)))) if key == other && key == FORMAT && one == "1" => {}
                (before, after) => return Ok(after.or(before).map(|(key, _)| key.clone())),
            }
        }
    }

    /// Returns the content of a file after the command.
    pub(super) fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.changes.get(path) {
            Some(EntryChange::Written) => bytes_of(&self.after.join(path), MOST_BYTES),
            Some(_) => Err(io::ErrorKind::NotFound.into()),
            None if self.is_removed(path) => Err(io::ErrorKind::NotFound.into()),
            None => bytes_of(&self.before.join(path), MOST_BYTES),
        }
    }

    /// Returns `true` if the file exists after the command.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        match self.changes.get(path) {
            Some(change) => *change != EntryChange::Removed,
            None => !self.is_removed(path) && self.before.join(path).symlink_metadata().is_ok(),
        }
    }

    fn is_removed(&self, path: &Path) -> bool {
        // A written file can replace a folder.
        let replaces = |above| matches!(self.changes.get(above), Some(EntryChange::Removed | EntryChange::Written));
        path.ancestors().skip(1).any(replaces) || self.changes.get(path) == Some(&EntryChange::Removed)
    }
}

/// The key of the repository's format version.
const FORMAT: &str = "core.repositoryformatversion";

/// Returns what may change in the files that git stores per work tree: in the git directory of the main one, and in
/// `worktrees/NAME` of another one.
fn of_a_work_tree(parts: &[&str], change: EntryChange) -> Permit {
    let is_in_capitals = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    match parts {
        ["HEAD"] if change == EntryChange::Removed => Permit::Never,
        ["index"] if change == EntryChange::Written => Permit::Index,
        ["index" | "HEAD" | "AUTO_MERGE" | "SQUASH_MSG" | "COMMIT_EDITMSG" | "TAG_EDITMSG"] => Permit::Data,
        // MERGE_HEAD, MERGE_MSG, ORIG_HEAD, FETCH_HEAD, REBASE_HEAD, BISECT_LOG and the like.
        [name] if is_in_capitals(name) && (name.ends_with("_HEAD") || is_of_a_merge(name)) => Permit::Data,
        // A replacement makes git show another object.
        ["refs", "replace", ..] => Permit::Never,
        ["refs", _, ..] | ["logs", ..] => Permit::Data,
        ["info", "sparse-checkout"] => Permit::Data,
        ["config.worktree"] => Permit::Configuration,
        ["rebase-merge", "git-rebase-todo"] | ["sequencer", "todo"] => Permit::ToDo,
        ["rebase-merge" | "rebase-apply", "strategy"] => Permit::Strategy,
        ["rebase-apply", "apply-opt"] => Permit::ApplyOptions,
        ["sequencer", "opts"] => Permit::SequencerOptions,
        ["rebase-merge" | "rebase-apply" | "sequencer", ..] => Permit::Data,
        _ => Permit::Never,
    }
}

fn is_of_a_merge(name: &str) -> bool {
    // MERGE_RR has paths that git reads and writes without a check: with the next commit it copies their files, which
    // may be blocked, to `rr-cache`.
    name.starts_with("MERGE_") && name != "MERGE_RR" || name.starts_with("BISECT_")
}

/// Returns `true` if each ref is in the list once, in order, and none replaces an object. Git does a binary search, so
/// in another list it would find other values than a reader of all lines.
fn are_plain_refs(list: &[u8]) -> bool {
    // A line with `^` has the object of an annotated tag, and one with `#` is the header.
    let lines = list
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"^") && !line.starts_with(b"#"));
    let names: Option<Vec<&[u8]>> =
        lines.map(|line| line.iter().position(|byte| *byte == b' ').map(|space| &line[space + 1..])).collect();
    names.is_some_and(|names| {
        names.windows(2).all(|pair| pair[0] < pair[1]) && !names.iter().any(|name| name.starts_with(b"refs/replace/"))
    })
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Checks that git can read an index and that each path in it is one that git would accept: git writes to them without
/// a further check. `scratch` is a folder for files that git needs.
///
/// # Errors
/// The reason as the end of a sentence.
pub fn check_index(git: &Git, index: &Path, scratch: &Path, is_sha256: bool) -> Result<(), Text> {
    let list = list_index(git, index, &scratch.join("index-to-check"), is_sha256);
    let list = list.map_err(|_| text!("git cannot read it"))?;
    let paths = list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(|entry| {
        // The fields before the path end with a tab (git-ls-files(1)).
        let tab = entry.iter().position(|byte| *byte == b'\t');
        tab.map_or(entry, |tab| &entry[tab + 1..])
    });
    match paths.into_iter().all(is_plain_path) {
        true => Ok(()),
        false => Err(text!("it names a file outside of the work tree")),
    }
}

/// Returns `true` for a path without parts that lead to another folder or into a git directory, on any file system.
fn is_plain_path(path: &[u8]) -> bool {
    let is_plain_part = |part: &[u8]| {
        // HFS+ ignores some characters in names; NTFS ignores dots at their ends and has short names such as `git~1`.
        let plain: Vec<u8> = part.iter().filter(|byte| byte.is_ascii_graphic()).map(u8::to_ascii_lowercase).collect();
        let end = plain.iter().rposition(|byte| *byte != b'.').map_or(0, |at| at + 1);
        !part.is_empty() && part != b"." && part != b".." && !matches!(&plain[..end], b".git" | b"git~1")
    };
    path.split(|byte| *byte == b'/').all(is_plain_part)
}
