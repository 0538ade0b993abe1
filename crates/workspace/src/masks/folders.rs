//! The parts of one folder that matter for masks, and a cache of them between two walks.

use crate::git::made::looks_bare;
use crate::names;
use crate::root::hops::Hop;
use crate::root::{Root, folder};
use crate::stat::Stamp;
use rustix::fd::AsFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Two changes within this time may have equal timestamps. It is a little more than the tick of the slowest kernel
/// clock.
const TICK: Duration = Duration::from_millis(12);

/// The age that the last change of a folder must have when it is read, so that its timestamp proves later that it is
/// unchanged. Some file systems count seconds.
const SETTLED: Duration = Duration::from_secs(2);

/// The maximum number of entries of one folder. A larger folder counts as unreadable.
const MOST_ENTRIES: usize = 1_000_000;

/// The maximum number of cached folders, and the maximum length in bytes of a cached path. The limits protect memory
/// from a hostile tree.
const MOST_REMEMBERED: usize = 200_000;
const LONGEST_REMEMBERED: usize = 512;

/// The entries of a folder that matter for masks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Folder {
    pub(super) folders: Vec<OsString>,
    pub(super) hidden: Vec<OsString>,
    pub(super) frozen: Vec<OsString>,
    /// The kind of the entry `.git`.
    pub(super) repository: Option<FileType>,
    /// Whether git would treat the folder itself as a repository.
    pub(super) is_bare: bool,
    /// Files that are hidden depending on their content, with their stamps when they were read.
    content_dependent: Vec<(OsString, Stamp)>,
}

/// A cache of folders.
#[derive(Debug, Default)]
pub(super) struct Memory {
    folders: Mutex<HashMap<PathBuf, (Stamp, Arc<Folder>)>>,
}

impl Memory {
    /// Returns the content of a folder, and whether it was read from the disk. `calm` means that no process changes the
    /// folder meanwhile.
    pub(super) fn folder(&self, root: &Root, hop: &Hop, at: &Path, calm: bool) -> (Result<Arc<Folder>, Errno>, bool) {
        // The path may now lead through a link to another folder, which has another stamp.
        let now = hop.split(root.fd(), at).and_then(|(base, rest)| {
            let here = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
            Ok(Stamp::new(&rustix::fs::statat(base, here, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?))
        });
        let remembered = at.as_os_str().len() <= LONGEST_REMEMBERED;
        if let (true, Ok(now)) = (remembered, now)
            && let Some((then, folder)) = self.lock().get(at)
            && now == *then
            && folder.content_dependent.iter().all(|(name, then)| content_stamp(root, &at.join(name)) == Some(*then))
        {
            return (Ok(Arc::clone(folder)), false);
        }
        (self.read(root, hop, at, calm), true)
    }

    fn read(&self, root: &Root, hop: &Hop, at: &Path, calm: bool) -> Result<Arc<Folder>, Errno> {
        let (found, steady) = read_until_stable(root, hop, at, calm)?;
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

    /// The map is consistent even if a thread panicked while it held the lock, because each change is a single call.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, (Stamp, Arc<Folder>)>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a folder. Also returns its stamp if that proves later that the folder is unchanged.
///
/// An entry that is renamed while a folder is read may be missed under both names. So a folder that changes meanwhile
/// is read again. A folder that changes all the time, such as a compiler's output, is accepted if it looks the same
/// several times.
fn read_until_stable(root: &Root, hop: &Hop, at: &Path, calm: bool) -> Result<(Folder, Option<Stamp>), Errno> {
    const TRIES: u32 = 50;
    const ALIKE: u32 = 4;
    let (mut last, mut alike) = (None, 0);
    for _ in 0..TRIES {
        let opened = hop.open(root.fd(), at)?;
        let before = rustix::fs::fstat(&opened)?;
        let (items, complete) = folder::items(opened.as_fd(), MOST_ENTRIES)?;
        if !complete {
            return Err(Errno::TOOBIG);
        }
        let (found, rested) = classify(root, at, items);
        let after = Stamp::new(&rustix::fs::fstat(&opened)?);
        // A change within a tick of the reading may have left the timestamp as it was.
        if calm || Stamp::new(&before) == after && Stamp::new(&before).has_rested(TICK) {
            return Ok((found, Some(after).filter(|_| rested && Stamp::new(&before).has_rested(SETTLED))));
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

/// Returns the entries that matter for masks, and whether a change of a file whose content was read would show in its
/// timestamps.
fn classify(root: &Root, at: &Path, items: Vec<folder::Item>) -> (Folder, bool) {
    let is_bare = looks_bare(items.iter().map(|item| item.name.as_encoded_bytes()));
    let (mut found, mut rested) = (Folder { is_bare, ..Folder::default() }, true);
    for item in items {
        let name = at.join(&item.name);
        // The stamp is taken before the content is read, so that a change in between makes it outdated.
        let stat = || root.stat_exact(&name);
        let before = item.name.as_encoded_bytes().to_ascii_lowercase().ends_with(b"pem").then(stat);
        let (blocked, by_content) = root.is_blocked(&names::text_of(&name));
        if by_content && item.kind == FileType::RegularFile {
            match before {
                Some(Ok(stat)) if Stamp::new(&stat).has_rested(SETTLED) => {
                    found.content_dependent.push((item.name.clone(), Stamp::new(&stat)));
                }
                _ => rested = false,
            }
        }
        if item.name == ".git" {
            found.repository = Some(item.kind);
            // A history contains the files that the list leaves out.
            if root.rules().leaves_out(&names::text_of(&name)) {
                found.hidden.push(item.name);
            }
        } else if item.kind == FileType::Socket || blocked {
            found.hidden.push(item.name);
        } else {
            if is_protected(root, &item.name) {
                found.frozen.push(item.name.clone());
            }
            if item.kind == FileType::Directory {
                found.folders.push(item.name);
            }
        }
    }
    (found, rested)
}

fn content_stamp(root: &Root, file: &Path) -> Option<Stamp> {
    root.stat_exact(file).ok().map(|stat| Stamp::new(&stat))
}

/// Returns `true` for settings of this program and of git, which are protected by their own name. Everything in them is
/// frozen with them.
fn is_protected(root: &Root, name: &OsStr) -> bool {
    root.rules().protects(&names::text_of(Path::new(name))).is_some()
}
