//! One folder as the walls must know it, and what is remembered of it between two walks.

use crate::root::hops::Hop;
use crate::root::{folder, resolve};
use crate::{Workspace, names};
use rustix::fd::AsFd;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use toolfence_git::made::looks_bare;
use toolfence_sandbox::walls::Identity;

/// Two changes within it may have the same time: a little more than the tick of the slowest kernel clock.
const TICK: Duration = Duration::from_millis(12);

/// How old the last change of a folder must be when it is read for its time to be relied on later. Some file systems count
/// seconds.
const SETTLED: Duration = Duration::from_secs(2);

/// Entries of one folder; what has more is taken for one that cannot be read.
const MOST_ENTRIES: usize = 1_000_000;

/// Folders remembered, and the bytes of the longest path that is: a hostile tree must not fill the memory with its names.
const MOST_REMEMBERED: usize = 200_000;
const LONGEST_REMEMBERED: usize = 512;

/// What matters of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Folder {
    pub(crate) folders: Vec<OsString>,
    pub(crate) hidden: Vec<OsString>,
    pub(crate) frozen: Vec<OsString>,
    /// What `.git` is here.
    pub(crate) repository: Option<FileType>,
    /// Whether git would take the folder itself for a repository.
    pub(crate) is_bare: bool,
    /// Files of which the content says whether they are hidden, as they were when it was read.
    weighed: Vec<(OsString, Stamp)>,
}

/// When a folder was last changed, and which one it is.
type Stamp = (u64, u64, i64, i64, i64, i64);

/// Folders as they were when they were read.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    folders: Mutex<HashMap<PathBuf, (Stamp, Arc<Folder>)>>,
    /// Files that were hidden from a command. A command can move a folder with one in it to where its name would be that of
    /// an installed package's file; it stays hidden there.
    hidden: Mutex<HashSet<Identity>>,
}

impl Memory {
    /// What is in a folder, and whether it had to be read. `calm` says that nobody changes it meanwhile.
    pub(crate) fn folder(
        &self,
        workspace: &Workspace,
        hop: &Hop,
        at: &Path,
        calm: bool,
    ) -> (Result<Arc<Folder>, Errno>, bool) {
        // The path may lead through a link that was put there: then it leads to another folder, whose stamp is another.
        let now = hop.split(workspace.root.as_fd(), at).and_then(|(base, rest)| {
            let here = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
            Ok(stamp(&rustix::fs::statat(base, here, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?))
        });
        let remembered = at.as_os_str().len() <= LONGEST_REMEMBERED;
        if let (true, Ok(now)) = (remembered, now)
            && let Some((then, folder)) = self.lock().get(at)
            && now == *then
            && folder.weighed.iter().all(|(name, then)| weight(workspace, &at.join(name)) == Some(*then))
        {
            return (Ok(Arc::clone(folder)), false);
        }
        (self.read(workspace, hop, at, calm), true)
    }

    fn read(&self, workspace: &Workspace, hop: &Hop, at: &Path, calm: bool) -> Result<Arc<Folder>, Errno> {
        let (found, steady) = steadily(workspace, hop, at, calm)?;
        let found = Arc::new(found);
        if at.as_os_str().len() > LONGEST_REMEMBERED {
            return Ok(found);
        }
        let mut remembered = self.lock();
        remembered.remove(at);
        if let Some(stamp) = steady.filter(|_| remembered.len() < MOST_REMEMBERED) {
            remembered.insert(at.to_owned(), (stamp, Arc::clone(&found)));
        }
        Ok(found)
    }

    /// A thread that died while it wrote left a map that is whole: every step of a change is one call.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, (Stamp, Arc<Folder>)>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a file that is hidden from a command.
    pub(crate) fn hide(&self, file: Identity) {
        let mut hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if hidden.len() < MOST_REMEMBERED {
            hidden.insert(file);
        }
    }

    /// Whether this file was hidden from a command before.
    pub(crate) fn was_hidden(&self, file: &Identity) -> bool {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner).contains(file)
    }
}

/// What is in a folder, and its stamp if that can be relied on.
///
/// An entry that is renamed while a folder is read may be missed under both names. So a folder that changes meanwhile is
/// read again; one that always changes, as where a compiler writes, is taken when it looks the same several times.
fn steadily(workspace: &Workspace, hop: &Hop, at: &Path, calm: bool) -> Result<(Folder, Option<Stamp>), Errno> {
    const TRIES: u32 = 50;
    const ALIKE: u32 = 4;
    let (mut last, mut alike) = (None, 0);
    for _ in 0..TRIES {
        let opened = hop.open(workspace.root.as_fd(), at)?;
        let before = rustix::fs::fstat(&opened)?;
        let (items, complete) = folder::items(opened.as_fd(), MOST_ENTRIES)?;
        if !complete {
            return Err(Errno::TOOBIG);
        }
        let (found, rested) = sorted(workspace, at, items);
        let after = stamp(&rustix::fs::fstat(&opened)?);
        if calm || stamp(&before) == after && has_rested(&before, TICK) {
            return Ok((found, Some(after).filter(|_| rested && has_rested(&before, SETTLED))));
        }
        alike = if last.as_ref() == Some(&found) { alike + 1 } else { 0 };
        if alike >= ALIKE {
            return Ok((found, None));
        }
        last = Some(found);
        std::thread::sleep(TICK / 8);
    }
    Err(Errno::AGAIN)
}

/// What matters of these entries, and whether a change of a file that was weighed would show in its times.
fn sorted(workspace: &Workspace, at: &Path, items: Vec<folder::Item>) -> (Folder, bool) {
    let is_bare = looks_bare(items.iter().map(|item| item.name.as_encoded_bytes()));
    let (mut found, mut rested) = (Folder { is_bare, ..Folder::default() }, true);
    for item in items {
        let name = at.join(&item.name);
        // The stamp is taken before the content is read: what changes meanwhile has another one later.
        let stat = || resolve::stat_exact(workspace.root.as_fd(), &name);
        let before = item.name.as_encoded_bytes().to_ascii_lowercase().ends_with(b"pem").then(stat);
        let (blocked, by_content) = workspace.is_blocked(&names::text_of(&name));
        if by_content && item.kind == FileType::RegularFile {
            match before {
                Some(Ok(stat)) if has_rested(&stat, SETTLED) => found.weighed.push((item.name.clone(), stamp(&stat))),
                _ => rested = false,
            }
        }
        if item.name == ".git" {
            found.repository = Some(item.kind);
        } else if item.kind == FileType::Socket || blocked {
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
    (found, rested)
}

fn weight(workspace: &Workspace, file: &Path) -> Option<Stamp> {
    resolve::stat_exact(workspace.root.as_fd(), file).ok().map(|stat| stamp(&stat))
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

/// Whether the last change is at least so long ago.
#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
fn has_rested(stat: &Stat, long: Duration) -> bool {
    let last = (stat.st_ctime as i64, stat.st_ctime_nsec as i64).max((stat.st_mtime as i64, stat.st_mtime_nsec as i64));
    let since_epoch = Duration::new(u64::try_from(last.0).unwrap_or(0), u32::try_from(last.1).unwrap_or(0));
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + since_epoch).is_ok_and(|age| age >= long)
}
