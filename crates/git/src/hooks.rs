//! Which hooks stand in a folder, and which git directories stand in another: what git would find there by itself.

use super::bytes_of;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use toolfence_rules::GIT_HOOKS;

/// The most bytes of one of husky's scripts; they have some hundred.
const MOST_BYTES: u64 = 8 << 10;

/// The most entries of all `worktrees` and `modules` that are looked at, and how deep submodules of submodules are.
const MOST_ENTRIES: usize = 1000;
const MOST_DEPTH: usize = 16;

/// What husky writes for every hook there is.
const STUB: &str = "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"";

/// How the script begins that each of them reads: where the project has no script of that name, it ends without having
/// started anything.
const READ_BY_STUBS: &[&str] = &[
    "#!/usr/bin/env sh",
    "[ \"$HUSKY\" = \"2\" ] && set -x",
    "n=$(basename \"$0\")",
    "s=$(dirname \"$(dirname \"$0\")\")/$n",
    "[ ! -f \"$s\" ] && exit 0",
];

/// The hooks of this folder that git would start, by their names.
///
/// A link counts as one that would: where it leads may be another file to a command than it is on the host. The file system
/// monitor does not count, because the configuration starts it and not its name.
pub fn standing(folder: &Path) -> Vec<&'static str> {
    let would_start = |name: &&&str| {
        let hook = folder.join(name);
        **name != "fsmonitor-watchman"
            && fs::symlink_metadata(&hook)
                .is_ok_and(|meta| meta.is_symlink() || meta.is_file() && meta.permissions().mode() & 0o111 != 0)
            && !is_idle(folder, name)
    };
    GIT_HOOKS.iter().filter(would_start).copied().collect()
}

/// Whether a hook is one of those that husky writes for each name there is, and the project has no script for this name.
fn is_idle(folder: &Path, name: &str) -> bool {
    let reads = |name: &str| {
        let file = folder.join(name);
        let is_link = fs::symlink_metadata(&file).map_or(true, |meta| meta.is_symlink());
        if is_link { None } else { String::from_utf8(bytes_of(&file, MOST_BYTES).ok()?).ok() }
    };
    let Some(above) = folder.parent().filter(|_| folder.file_name().is_some_and(|last| last == "_")) else {
        return false;
    };
    let script = fs::symlink_metadata(above.join(name));
    let is_missing = script.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let is_stub = || reads(name).is_some_and(|text| text.trim_end_matches('\n') == STUB);
    let ends = || {
        reads("h").is_some_and(|text| {
            let lines = text.split('\n').filter(|line| !line.is_empty()).take(READ_BY_STUBS.len());
            lines.eq(READ_BY_STUBS.iter().copied())
        })
    };
    is_missing && is_stub() && ends()
}

/// A git directory with those that stand in it.
#[derive(Debug, Default)]
pub struct Inner {
    /// Itself, then those of its work trees and of its submodules.
    pub dirs: Vec<PathBuf>,
    /// Links where git looks for what it runs or for another git directory, with where they lead.
    pub links: HashMap<PathBuf, PathBuf>,
    looked: usize,
}

/// What git reads in a git directory that may make it run something, or leads to another git directory.
const LEADING: &[&str] = &[
    "config",
    "config.worktree",
    "commondir",
    "hooks",
    "modules",
    "worktrees",
    "rebase-merge",
    "rebase-merge/git-rebase-todo",
    "sequencer",
    "sequencer/todo",
];

/// The git directories that stand in this one. `None` where there are too many to look at, or one cannot be looked at.
pub fn inner(git_dir: &Path) -> Option<Inner> {
    let mut found = Inner::default();
    found.add(git_dir, 0).then_some(found)
}

impl Inner {
    fn add(&mut self, git_dir: &Path, depth: usize) -> bool {
        self.dirs.push(git_dir.to_owned());
        self.notes_links(git_dir);
        self.below(&git_dir.join("worktrees"), depth, true) && self.below(&git_dir.join("modules"), depth, false)
    }

    fn notes_links(&mut self, git_dir: &Path) {
        LEADING.iter().for_each(|name| self.notes_link(git_dir.join(name)));
    }

    fn notes_link(&mut self, path: PathBuf) {
        if let Ok(leads) = fs::read_link(&path) {
            self.links.insert(path, leads);
        }
    }

    /// The entries of `worktrees`; or those of `modules`, which stand below folders where their names have slashes.
    fn below(&mut self, folder: &Path, depth: usize, of_worktrees: bool) -> bool {
        if depth > MOST_DEPTH {
            return false;
        }
        if fs::symlink_metadata(folder).map_or(true, |meta| !meta.is_dir()) {
            return true;
        }
        let Ok(entries) = fs::read_dir(folder) else { return false };
        entries.into_iter().all(|entry| {
            let Ok(entry) = entry else { return false };
            let at = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            self.looked += 1;
            if self.looked > MOST_ENTRIES {
                return false;
            }
            if !is_folder {
                self.notes_link(at);
                return true;
            }
            if of_worktrees {
                self.dirs.push(at.clone());
                self.notes_links(&at);
                return true;
            }
            let is_git_dir = fs::symlink_metadata(at.join("HEAD")).is_ok();
            if is_git_dir { self.add(&at, depth + 1) } else { self.below(&at, depth + 1, false) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_stand_where_git_would_start_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let at = folder.path().join(name);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(&at, text).unwrap();
            fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
        };
        write("h/pre-commit", "x", 0o755);
        write("h/commit-msg", "x", 0o644);
        write("h/pre-push.sample", "x", 0o755);
        write("h/helper", "x", 0o755);
        std::os::unix::fs::symlink("/nowhere", folder.path().join("h/post-commit")).unwrap();
        assert_eq!(standing(&folder.path().join("h")), ["post-commit", "pre-commit"]);
        let beginning = READ_BY_STUBS.join("\n");
        write(".husky/_/h", &format!("{beginning}\nsh -e \"$s\"\n"), 0o644);
        write(".husky/_/pre-commit", STUB, 0o755);
        write(".husky/_/post-merge", STUB, 0o755);
        write(".husky/_/post-rewrite", "#!/bin/sh\nevil\n", 0o755);
        write(".husky/pre-commit", "true\n", 0o644);
        let husky = folder.path().join(".husky/_");
        assert_eq!(standing(&husky), ["post-rewrite", "pre-commit"]);
        write(".husky/_/h", &format!("evil\n{beginning}\n"), 0o644);
        assert_eq!(standing(&husky), ["post-merge", "post-rewrite", "pre-commit"]);
        assert_eq!(standing(&folder.path().join("none")), [""; 0]);
    }

    #[test]
    fn git_directories_in_others_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["modules/a/b", "modules/a/b/modules/c", "worktrees/w"] {
            fs::create_dir_all(at(name)).unwrap();
            fs::write(at(name).join("HEAD"), "x").unwrap();
        }
        std::os::unix::fs::symlink("x", at("worktrees/l")).unwrap();
        std::os::unix::fs::symlink("x", at("modules/a/b/commondir")).unwrap();
        let found = inner(folder.path()).unwrap();
        let want = ["", "worktrees/w", "modules/a/b", "modules/a/b/modules/c"].map(|name| folder.path().join(name));
        assert_eq!(found.dirs, want);
        assert_eq!(found.links.len(), 2);
    }
}
