//! Checks whether a repository is as `git init` and `git clone` create it, so that the host's git runs no file of the
//! project in it.
//!
//! It has a list of permitted names in the git directory, of harmless configuration lines, and no hook but the samples.
//! Everything else is not known to be harmless. Git is not asked, because the repository may have been made to mislead
//! it.

use super::bytes_of;
use super::config::{plain, pointed};
use std::fs;
use std::path::{Path, PathBuf};
use toolfence_policy::rules::git_config::{is_as_cloned, is_harmless};

/// The maximum size of a configuration in bytes. One of git's own has some hundred.
const MOST_BYTES: u64 = 64 << 10;

/// The maximum number of entries of a folder that are checked.
const MOST_ENTRIES: usize = 10_000;

/// The depth of nested submodules, including slashes in their names.
const MOST_DEPTH: usize = 16;

/// Folders of a git directory that hold data. Git runs nothing in them.
const DATA: &[&str] = &["objects", "refs", "logs", "info", "branches", "lfs", "reftable"];

/// Files of a git directory that hold data.
const FILES: &[&str] = &["index", "packed-refs", "description", "shallow", "gc.pid", "gc.log"];

/// Returns `true` if git would treat a folder with entries of these names as a repository: a bare one, or the git
/// directory of another folder. Git requires a `HEAD`, and `objects` and `refs` in the folder itself or in the one that
/// `commondir` names.
pub fn looks_bare<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> bool {
    let (mut head, mut objects, mut refs, mut common) = (false, false, false, false);
    for name in names {
        match name {
            b"HEAD" => head = true,
            b"objects" => objects = true,
            b"refs" => refs = true,
            b"commondir" => common = true,
            _ => {}
        }
    }
    head && (common || objects && refs)
}

/// Returns `true` if the git directory at `git_dir` has only entries that git itself creates. `hooks_everywhere` is a
/// relative folder of hooks in the user's own configuration for every repository; `top` is the folder it would be
/// relative to.
pub fn is_as_git_makes_it(git_dir: &Path, top: &Path, hooks_everywhere: Option<&Path>) -> bool {
    // The user's own configuration runs the hooks of this folder in every repository, and a command can have created it
    // here.
    let planted = |hooks: &Path| fs::symlink_metadata(plain(&top.join(hooks))).is_ok();
    !hooks_everywhere.is_some_and(planted) && is_made(git_dir, 0)
}

fn is_made(git_dir: &Path, depth: usize) -> bool {
    if depth > MOST_DEPTH {
        return false;
    }
    let Ok(entries) = fs::read_dir(git_dir) else { return false };
    for (number, entry) in entries.enumerate() {
        let Ok(entry) = entry else { return false };
        // `file_type` does not follow a link, so no link is accepted below.
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { return false };
        let Some(name) = name.to_str().filter(|_| number < MOST_ENTRIES) else { return false };
        let fine = match name {
            // `HEAD` and similar files have names of commits, or the text of a commit message. `MERGE_RR` has paths
            // that git reads and writes without a check.
            _ if kind.is_file() && is_upper_case(name) && name != "MERGE_RR" => true,
            _ if kind.is_file() && (FILES.contains(&name) || name.starts_with("sharedindex.")) => true,
            _ if kind.is_file() && name.ends_with(".lock") => true,
            _ if kind.is_dir() && DATA.contains(&name) => true,
            "config" => kind.is_file() && is_plain_configuration(&entry.path(), depth > 0),
            "hooks" => kind.is_dir() && has_only_samples(&entry.path()),
            "modules" => kind.is_dir() && are_made(&entry.path(), depth + 1),
            _ => false,
        };
        if !fine {
            return false;
        }
    }
    true
}

fn is_upper_case(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Checks the git directories of submodules, which are in subfolders if their names have slashes.
fn are_made(folder: &Path, depth: usize) -> bool {
    if depth > MOST_DEPTH {
        return false;
    }
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.enumerate().all(|(number, entry)| {
        let Ok(entry) = entry else { return false };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let at = entry.path();
        let is_repository = fs::symlink_metadata(at.join("HEAD")).is_ok();
        number < MOST_ENTRIES && is_folder && if is_repository { is_made(&at, depth) } else { are_made(&at, depth + 1) }
    })
}

fn has_only_samples(hooks: &Path) -> bool {
    let Ok(entries) = fs::read_dir(hooks) else { return false };
    entries.enumerate().all(|(number, entry)| {
        number < MOST_ENTRIES && entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().ends_with(b".sample"))
    })
}

/// Returns `true` if git writes every line: a section, or a key with a value, both without unusual quotes, comments,
/// escapes or continued lines, and every key is on the list.
fn is_plain_configuration(file: &Path, of_submodule: bool) -> bool {
    let Some(text) = bytes_of(file, MOST_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return false;
    };
    let mut section = String::new();
    for line in text.lines() {
        let line = line.trim_matches([' ', '\t', '\r']);
        if line.is_empty() {
            continue;
        }
        if let Some(inside) = line.strip_prefix('[') {
            let Some(name) = inside.strip_suffix(']').and_then(section_name) else { return false };
            section = name;
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (line, None),
        };
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let is_value = value.is_none_or(|value| !value.contains(['"', '\\', '#', ';']));
        let key = format!("{section}.{}", name.to_ascii_lowercase());
        // Git sets the work tree only for a submodule. The work tree of any other repository is the folder around it.
        let is_elsewhere = key == "core.worktree" && !of_submodule;
        if is_elsewhere
            || !is_name
            || !is_value
            || section.is_empty()
            || !(is_as_cloned(&key, value) || is_harmless(&key, value))
        {
            return false;
        }
    }
    true
}

/// Returns `core`, or `remote "origin"` as `remote.origin`.
fn section_name(inside: &str) -> Option<String> {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let Some((section, rest)) = inside.split_once(' ') else {
        return is_word(inside).then(|| inside.to_ascii_lowercase());
    };
    let sub = rest.strip_prefix('"')?.strip_suffix('"')?;
    (is_word(section) && !sub.contains(['"', '\\'])).then(|| format!("{}.{sub}", section.to_ascii_lowercase()))
}

/// The to-do lists of a rebase, cherry-pick or revert, in a git directory.
const LISTS: &[&str] = &["rebase-merge/git-rebase-todo", "sequencer/todo"];

/// Returns `true` if the to-do list of a rebase or similar operation in this git directory has lines that run programs:
/// `exec`, or `x` for short (git-rebase(1), "INTERACTIVE MODE"). An unreadable list counts as one with such lines.
pub fn has_programs_to_run(git_dir: &Path) -> bool {
    const MOST_BYTES: u64 = 4 << 20;
    LISTS.iter().any(|list| {
        let list = git_dir.join(list);
        fs::symlink_metadata(&list).is_ok()
            && bytes_of(&list, MOST_BYTES).map_or(true, |text| has_programs_to_run_in(&text))
    })
}

/// Returns `true` if a to-do list has lines that run programs.
pub(super) fn has_programs_to_run_in(list: &[u8]) -> bool {
    let first = |line: &[u8]| line.trim_ascii_start().split(u8::is_ascii_whitespace).next().map(<[u8]>::to_vec);
    list.split(|&byte| byte == b'\n').filter_map(first).any(|word| word == b"exec" || word == b"x")
}

/// Returns `true` if git created the `.git` file at `at` for a work tree or a submodule of a repository that `is_safe`
/// accepts: the git directory that it names must name this place in turn.
pub fn is_linked_back(at: &Path, is_safe: &dyn Fn(&Path) -> bool) -> bool {
    let Some(git_dir) = pointed(at, "gitdir:").and_then(|dir| dir.canonicalize().ok()) else { return false };
    let same = |named: PathBuf, place: &Path| matches!((named.canonicalize(), place.canonicalize()), (Ok(named), Ok(place)) if named == place);
    let by_worktree = pointed(&git_dir.join("gitdir"), "").is_some_and(|named| same(named, at));
    let by_module = || {
        let Some(top) = at.parent() else { return false };
        let config = bytes_of(&git_dir.join("config"), MOST_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&config);
        // The last value of a key counts (git-config(1)).
        let named = text.lines().filter_map(|line| line.trim().strip_prefix("worktree = ")).next_back();
        named.is_some_and(|named| same(git_dir.join(named), top))
    };
    is_safe(&git_dir) && (by_worktree || by_module())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(text: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        fs::write(&file, text).unwrap();
        is_plain_configuration(&file, false)
    }

    #[test]
    fn only_configuration_that_git_writes_is_plain() {
        for fine in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://example.invalid/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        ] {
            assert!(configuration(fine), "{fine}");
        }
        for evil in [
            "[core]\n\tfsmonitor = x\n",
            "[core]\n\tbare = false ; x\n",
            "[core]\n\tbare = \"false\"\n",
            "[core]\n\tbare = fal\\\nse\n",
            "[core] fsmonitor = x\n",
            "[core]\n\thooksPath = x\n",
            "[alias]\n\tst = !x\n",
            "[include]\n\tpath = x\n",
            "[remote \"a\\\"]\n[core]\n\tfsmonitor = x",
            "[remote.origin]\n\turl = ext::sh x\n",
            "[credential]\n\thelper = x\n",
            "bare = false\n",
            "[core]\n\tbare = false\n\0",
        ] {
            assert!(!configuration(evil), "{evil}");
        }
    }

    #[test]
    fn bare_repositories_are_detected() {
        let looks = |names: &[&str]| looks_bare(names.iter().map(|name| name.as_bytes()));
        assert!(looks(&["HEAD", "objects", "refs"]));
        assert!(looks(&["HEAD", "commondir"]));
        assert!(!looks(&["objects", "refs", "config"]));
    }
}
