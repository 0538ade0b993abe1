//! The names in the indexes of git: they are covered whatever is ignored.

use crate::root::Root;
use crate::stat::Stamp;
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toolfence_git::config::pointed;

/// How long git may take, and how much it may print: about a million names.
const LONGEST: Duration = Duration::from_secs(10);
const MOST_BYTES: u64 = 128 << 20;

/// Repositories of one project that are asked about; of more, all names count as tracked.
const MOST_REPOSITORIES: usize = 200;

/// The names in one index, relative to the folder that git was asked in.
#[derive(Debug)]
pub(crate) enum Tracked {
    /// In the order of their bytes, each with a NUL behind it.
    Names(Vec<u8>),
    /// Git is not there, does not answer or cannot read it. Then every name counts: too much is covered rather than too
    /// little.
    Unknown,
}

/// The indexes of a project, each asked for once as long as it stays the same.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    known: HashMap<PathBuf, (Option<Stamp>, Arc<Tracked>)>,
}

impl Indexes {
    /// What is tracked in `folder`, which is the root or has a `.git` in it.
    pub(crate) fn of(&mut self, root: &Root, folder: &Path) -> Arc<Tracked> {
        let place = root.path().join(folder);
        // The root may be a folder of a repository.
        let top = place.ancestors().take(if folder.as_os_str().is_empty() { usize::MAX } else { 1 });
        let stamp = match top.map(|top| top.join(".git")).find(|git| git.exists()).map(|git| stamp(&git)) {
            None | Some(Ok(None)) => return Arc::new(Tracked::Names(Vec::new())),
            Some(stamp) => stamp.ok().flatten(),
        };
        if let Some((known, tracked)) = self.known.get(folder)
            && stamp.is_some()
            && *known == stamp
        {
            return Arc::clone(tracked);
        }
        let may_ask = stamp.is_some() && self.known.len() < MOST_REPOSITORIES;
        let names = may_ask.then(|| asked(root, &place)).flatten();
        let tracked = Arc::new(names.map_or(Tracked::Unknown, Tracked::Names));
        self.known.insert(folder.to_owned(), (stamp, Arc::clone(&tracked)));
        tracked
    }
}

fn asked(root: &Root, folder: &Path) -> Option<Vec<u8>> {
    let git = root.programs().git()?;
    let names = git.ask(folder, &["ls-files", "-z", "--cached"], &[], LONGEST, MOST_BYTES).ok()?;
    let is_whole = names.last().is_none_or(|byte| *byte == 0);
    // They are looked up in this order.
    (is_whole && names.split(|byte| *byte == 0).is_sorted_by(|a, b| a <= b || b.is_empty())).then_some(names)
}

/// What tells one state of an index from another; `None` where there is no index yet.
fn stamp(git: &Path) -> io::Result<Option<Stamp>> {
    let pointed = || pointed(git, "gitdir:").ok_or_else(|| io::Error::other("it names no folder"));
    // The `.git` of a worktree or a submodule is a file that names the folder (gitrepository-layout(5)).
    let folder = if git.is_dir() { git.to_owned() } else { pointed()? };
    match rustix::fs::stat(folder.join("index")) {
        // Git writes a new file for each new index, so that its number and times tell.
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

impl Tracked {
    /// Whether a name is in the index.
    pub(crate) fn has(&self, name: &Path) -> bool {
        let wanted = [name.as_os_str().as_bytes(), b"\0"].concat();
        self.begins(&wanted)
    }

    /// Whether anything below a folder is.
    pub(crate) fn has_below(&self, folder: &Path) -> bool {
        let wanted = [folder.as_os_str().as_bytes(), b"/"].concat();
        self.begins(&wanted)
    }

    /// Every name, in its order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Path> {
        let names = if let Tracked::Names(names) = self { names.as_slice() } else { &[] };
        names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(|name| Path::new(OsStr::from_bytes(name)))
    }

    /// Whether a name with its NUL begins so.
    fn begins(&self, wanted: &[u8]) -> bool {
        let Tracked::Names(names) = self else { return true };
        let (mut from, mut to) = (0, names.len());
        while from < to {
            let middle = from + (to - from) / 2;
            let start = memchr::memrchr(0, &names[from..middle]).map_or(from, |at| from + at + 1);
            let end = memchr::memchr(0, &names[start..]).map_or(names.len(), |at| start + at + 1);
            let name = &names[start..end];
            if name.starts_with(wanted) {
                return true;
            }
            // The NUL is below every other byte, so that names with theirs are in the order of names without.
            if name < wanted { from = end } else { to = start }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_order() {
        let all = ["a", "a-b", "a/b", "a/c/d", "ab", "b/c", "größe/x"];
        let text: Vec<u8> = all.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
        let tracked = Tracked::Names(text);
        for name in ["", "a", "a-", "a-b", "a/", "a/b", "a/c", "a/c/d", "ab", "b", "b/c", "c", "größe", "größe/x", "z"]
        {
            assert_eq!(tracked.has(Path::new(name)), all.contains(&name), "{name}");
            let below = all.iter().any(|other| other.starts_with(&format!("{name}/")));
            assert_eq!(tracked.has_below(Path::new(name)), below, "below {name}");
        }
        assert_eq!(tracked.names().count(), all.len());
        assert!(!Tracked::Names(Vec::new()).has(Path::new("a")) && Tracked::Unknown.has(Path::new("a")));
    }
}
