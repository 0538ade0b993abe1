//! One folder as the walls must know it, and what is remembered of it between two walks.

use super::super::{Workspace, folder, names, resolve};
use rustix::fd::AsFd;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How old the last change of a folder must be when it is read for its time to say that nothing has changed since: two
/// changes within the tick of a clock have the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// Entries of one folder; what has more is taken for one that cannot be read.
const MOST_ENTRIES: usize = 1_000_000;

/// Folders remembered.
const MOST_REMEMBERED: usize = 200_000;

/// What matters of a folder.
#[derive(Debug, Clone, Default)]
pub(super) struct Folder {
    pub(super) folders: Vec<OsString>,
    pub(super) hidden: Vec<OsString>,
    pub(super) frozen: Vec<OsString>,
    /// What `.git` is here.
    pub(super) repository: Option<FileType>,
}

/// When a folder was last changed, and which one it is.
type Stamp = (u64, u64, i64, i64, i64, i64);

/// Folders as they were when they were read.
#[derive(Debug, Default)]
pub(in super::super) struct Memory(Mutex<HashMap<PathBuf, (Stamp, Arc<Folder>)>>);

impl Memory {
    /// What is in a folder, and whether it had to be read.
    pub(super) fn folder(&self, workspace: &Workspace, at: &Path) -> (Result<Arc<Folder>, Errno>, bool) {
        // The path may lead through a link that was put there: then it leads to another folder, whose stamp is another.
        let here = if at.as_os_str().is_empty() { Path::new(".") } else { at };
        let now =
            rustix::fs::statat(&workspace.root, here, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).map(|stat| stamp(&stat));
        if let (Ok(now), Some((then, folder))) = (now, self.lock().get(at))
            && now == *then
        {
            return (Ok(Arc::clone(folder)), false);
        }
        (self.read(workspace, at), true)
    }

    fn read(&self, workspace: &Workspace, at: &Path) -> Result<Arc<Folder>, Errno> {
        let opened = resolve::open_exact(workspace.root.as_fd(), at)?;
        let before = rustix::fs::fstat(&opened)?;
        let (items, complete) = folder::items(opened.as_fd(), MOST_ENTRIES)?;
        if !complete {
            return Err(Errno::TOOBIG);
        }
        let found = Arc::new(sorted(workspace, at, items));
        let mut remembered = self.lock();
        remembered.remove(at);
        if is_settled(&before) && remembered.len() < MOST_REMEMBERED {
            remembered.insert(at.to_owned(), (stamp(&before), Arc::clone(&found)));
        }
        Ok(found)
    }

    /// A thread that died while it wrote left a map that is whole: every step of a change is one call.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, (Stamp, Arc<Folder>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sorted(workspace: &Workspace, at: &Path, items: Vec<folder::Item>) -> Folder {
    let mut found = Folder::default();
    for item in items {
        let name = at.join(&item.name);
        if item.name == ".git" {
            found.repository = Some(item.kind);
        } else if item.kind == FileType::Socket || workspace.blocks(&names::text_of(&name)).is_some() {
            found.hidden.push(item.name);
        } else {
            if is_protected(workspace, &item.name) {
                found.frozen.push(item.name.clone());
            }
            if item.kind == FileType::Directory {
                found.folders.push(item.name);
            }
        }
    }
    found
}

/// Settings of this crate and of git, by their own name: what is below them is frozen with them.
fn is_protected(workspace: &Workspace, name: &OsStr) -> bool {
    workspace.rules.protects(&names::text_of(Path::new(name))).is_some()
}

#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
fn stamp(stat: &Stat) -> Stamp {
    let (changed, renamed) =
        ((stat.st_mtime as i64, stat.st_mtime_nsec as i64), (stat.st_ctime as i64, stat.st_ctime_nsec as i64));
    (stat.st_dev as u64, stat.st_ino as u64, changed.0, changed.1, renamed.0, renamed.1)
}

#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
fn is_settled(stat: &Stat) -> bool {
    let changed = u64::try_from(stat.st_ctime.max(stat.st_mtime) as i64).unwrap_or(0);
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(changed);
    SystemTime::now().duration_since(changed).is_ok_and(|age| age >= SETTLED)
}
