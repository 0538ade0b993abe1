//! What a change leaves behind if the process is killed in the middle, written down before it is made.
//!
//! A journal is a file in the root with a lock on it, and is gone when its change is done. Whoever opens the root next and
//! finds one that nobody holds takes away what it names. It may have come with a hostile project: nothing is removed but
//! files that are called as our temporary files are, and folders that are empty and that tools may write to.

use super::fault;
use super::resolve::{self, LOOK};
use super::{Workspace, folder, names};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const TEMPORARY: &str = ".tmp";
const JOURNAL: &str = ".journal";

/// Bytes of a journal that are read: a change has at most some hundred files.
const MOST_BYTES: u64 = 1 << 20;

/// Entries of the root that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// The journal of one change. Dropped, it says that nothing is left.
#[derive(Debug)]
pub(super) struct Journal {
    /// `None` where the root cannot be written to: then a change goes on without.
    file: RefCell<Option<(File, OwnedFd, String)>>,
}

impl Journal {
    pub(super) fn begin(workspace: &Workspace) -> Journal {
        Journal { file: RefCell::new(make(workspace).ok()) }
    }

    /// A name nobody can guess for a file in this folder, which will be taken away if nobody does it before.
    pub(super) fn temporary(&self, folder: &Path) -> io::Result<String> {
        let name = secret_name(TEMPORARY)?;
        self.note(b't', &folder.join(&name));
        Ok(name)
    }

    /// A folder that is about to be made.
    pub(super) fn folder(&self, path: &Path) {
        self.note(b'd', path);
    }

    fn note(&self, kind: u8, path: &Path) {
        fault::point();
        if let Some((file, ..)) = self.file.borrow_mut().as_mut() {
            let entry = [&[kind], path.as_os_str().as_bytes(), b"\0"].concat();
            // Without room for it the change itself will fail.
            let _ = file.write_all(&entry);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Some((_, root, name)) = self.file.take() {
            fault::point();
            let _ = rustix::fs::unlinkat(root, name, AtFlags::empty());
        }
    }
}

fn make(workspace: &Workspace) -> io::Result<(File, OwnedFd, String)> {
    let root = workspace.root.try_clone()?;
    loop {
        let name = secret_name(JOURNAL)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&root, &name, flags, Mode::from_raw_mode(0o600))?);
        fault::point();
        // A file system without locks has journals that nobody reads.
        let _ = rustix::fs::flock(&file, FlockOperation::LockExclusive);
        // Somebody who opened the root just now may have taken it for one that was left.
        if rustix::fs::fstat(&file)?.st_nlink > 0 {
            return Ok((file, root, name));
        }
    }
}

fn secret_name(ending: &str) -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!(".toolfence-{:016x}{ending}", u64::from_ne_bytes(random)))
}

fn is_ours(name: &OsStr, ending: &str) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix(".toolfence-")?.strip_suffix(ending));
    middle.is_some_and(|middle| middle.len() == 16 && middle.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Takes away what changes left that were killed.
pub(super) fn clean(workspace: &Workspace) {
    let Ok((items, _)) = folder::items(workspace.root.as_fd(), MOST_ENTRIES) else { return };
    let journals: Vec<OsString> =
        items.into_iter().map(|item| item.name).filter(|name| is_ours(name, JOURNAL)).collect();
    for name in journals {
        clean_one(workspace, &name);
    }
}

fn clean_one(workspace: &Workspace, journal: &OsStr) -> Option<()> {
    let fd = rustix::fs::openat(&workspace.root, journal, LOOK | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let file = File::from(fd);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    // Whoever still works on it holds the lock.
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let mut entries = Vec::new();
    (&file).take(MOST_BYTES).read_to_end(&mut entries).ok()?;
    let left = entries.iter().rposition(|byte| *byte == 0).map_or(&[][..], |end| &entries[..end]);
    for entry in left.split(|byte| *byte == 0).rev() {
        take_away(workspace, entry);
    }
    rustix::fs::unlinkat(&workspace.root, journal, AtFlags::empty()).ok()
}

fn take_away(workspace: &Workspace, entry: &[u8]) -> Option<()> {
    let (kind, path) = entry.split_first()?;
    let path = Path::new(OsStr::from_bytes(path));
    let (above, name) = (path.parent()?, path.file_name()?);
    let flags = match kind {
        b't' if is_ours(name, TEMPORARY) => AtFlags::empty(),
        b'd' if workspace.refuse_unwritable(&names::text_of(path), path).is_ok() => AtFlags::REMOVEDIR,
        _ => return None,
    };
    let folder = resolve::open_exact(workspace.root.as_fd(), above).ok()?;
    tracing::debug!(path = %path.display(), "left by a change that was killed");
    rustix::fs::unlinkat(folder, name, flags).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PathRules;
    use std::fs;

    const NAME: &str = ".toolfence-0123456789abcdef.tmp";

    #[test]
    fn only_what_is_ours_goes() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let (root, beside) = (home.path().join("root"), home.path().join("beside"));
        for folder in ["root/a/made/deep", "root/full", "root/.git/refs", "beside"] {
            fs::create_dir_all(home.path().join(folder)).expect("a folder can be made");
        }
        let kept = ["root/a/main.rs", "root/full/x", "root/.toolfence-0123.tmp"];
        for file in [&kept[..], &["beside/.toolfence-0123456789abcdef.tmp"]].concat() {
            fs::write(home.path().join(file), "x").expect("it can be written");
        }
        fs::write(root.join("a").join(NAME), "left").expect("it can be written");
        std::os::unix::fs::symlink(&beside, root.join("link")).expect("a link can be made");
        let journal = format!(
            "ta/{NAME}\0ta/main.rs\0t../beside/{NAME}\0tlink/{NAME}\0t.toolfence-0123.tmp\0da/made\0da/made/deep\0dfull\0d.git/refs\0\
             d..\0d\0\0x\0ta/made/torn"
        );
        let name = ".toolfence-00000000000000aa.journal";
        fs::write(root.join(name), journal).expect("it can be written");
        Workspace::open(&root, PathRules::default()).expect("it is a folder");
        let there = |path: &str| home.path().join(path).exists();
        assert!(!there(&format!("root/{name}")) && !there(&format!("root/a/{NAME}")) && !there("root/a/made"));
        assert!(kept.iter().all(|path| there(path)) && there("root/.git/refs") && there(&format!("beside/{NAME}")));
    }

    #[test]
    fn what_somebody_works_on_stays() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        let journal = Journal::begin(&workspace);
        let name = journal.temporary(Path::new("")).expect("there is randomness");
        fs::write(home.path().join(&name), "half").expect("it can be written");
        Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        assert_eq!(fs::read_dir(home.path()).expect("it is there").count(), 2);
        drop(journal);
        assert_eq!(fs::read_dir(home.path()).expect("it is there").count(), 1);
    }
}
