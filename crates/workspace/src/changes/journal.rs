//! Lists the temporary entries of a change before they are created, so that they can be removed if the process is
//! killed.
//!
//! A journal is a locked file in the root, and is removed when its change is done. The next process that opens the root
//! and finds a journal that is not locked removes the entries that it lists. A hostile project may contain a journal,
//! so only files that are named like our temporary files are removed, and empty folders that tools may write to. A
//! journal that exceeds the limits of ours is left alone.

use crate::root::resolve::LOOK;
use crate::root::{Root, folder};
use crate::{fault, names};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use toolfence_sandbox::project::random_name;

const TEMPORARY: &str = ".tmp";
const JOURNAL: &str = ".journal";

/// The maximum size of a journal in bytes. A longer file is not a journal of this program.
const MOST_BYTES: usize = 1 << 20;

/// The maximum number of entries of a journal. A change has at most some hundred files, and the folders above them.
const MOST_ENTRIES: usize = 4096;

/// The length in bytes from which a path is ignored (`PATH_MAX`, path_resolution(7)). The kernel opens no such path,
/// and matching it with the rules would take time.
const LONGEST: usize = 4096;

/// The maximum number of journals that one start reads. The next start reads the rest.
const MOST_JOURNALS: usize = 64;

/// The maximum number of entries of the root that are read.
const MOST_NAMES: usize = 100_000;

/// The journal of one change. Dropping it removes the file, because the temporary entries are gone by then.
#[derive(Debug)]
pub(crate) struct Journal {
    /// `None` if the root is read-only. The change is then made without a journal.
    file: RefCell<Option<(File, OwnedFd, String)>>,
    room: Cell<Room>,
}

/// Entries and bytes that still fit.
#[derive(Debug, Clone, Copy)]
struct Room {
    entries: usize,
    bytes: usize,
}

impl Room {
    const WHOLE: Room = Room { entries: MOST_ENTRIES, bytes: MOST_BYTES };

    fn without(self, entries: usize, bytes: usize) -> Option<Room> {
        Some(Room { entries: self.entries.checked_sub(entries)?, bytes: self.bytes.checked_sub(bytes)? })
    }
}

impl Journal {
    pub(crate) fn begin(root: &Root) -> Journal {
        Journal { file: RefCell::new(create(root).ok()), room: Cell::new(Room::WHOLE) }
    }

    /// Returns a name for a file in this folder that cannot be guessed, and adds it to the journal.
    pub(crate) fn temporary(&self, folder: &Path) -> io::Result<String> {
        let name = random_file_name(TEMPORARY)?;
        self.append(b't', &folder.join(&name));
        Ok(name)
    }

    /// Adds a folder that is about to be created.
    pub(crate) fn folder(&self, path: &Path) {
        self.append(b'd', path);
    }

    fn append(&self, kind: u8, path: &Path) {
        fault::point();
        if let Some((file, ..)) = self.file.borrow_mut().as_mut() {
            let entry = [&[kind], path.as_os_str().as_bytes(), b"\0"].concat();
            // An entry over the limits is skipped: some leftovers would stay, but a journal over the limits would leave
            // all of them.
            if self.reserve(entry.len()) {
                // If the disk is full, the change itself will fail.
                let _ = file.write_all(&entry);
            }
        }
    }

    fn reserve(&self, bytes: usize) -> bool {
        self.room.get().without(1, bytes).map(|left| self.room.set(left)).is_some()
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

fn create(root: &Root) -> io::Result<(File, OwnedFd, String)> {
    let root = root.fd().try_clone_to_owned()?;
    loop {
        let name = random_file_name(JOURNAL)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&root, &name, flags, Mode::from_raw_mode(0o600))?);
        fault::point();
        // On a file system without locks, `clean` cannot lock a journal and therefore ignores it.
        let _ = rustix::fs::flock(&file, FlockOperation::LockExclusive);
        // Another process may have removed the journal before it was locked.
        if rustix::fs::fstat(&file)?.st_nlink > 0 {
            return Ok((file, root, name));
        }
    }
}

fn random_file_name(ending: &str) -> io::Result<String> {
    Ok(format!(".toolfence-{}{ending}", random_name()?))
}

fn is_ours(name: &OsStr, ending: &str) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix(".toolfence-")?.strip_suffix(ending));
    middle.is_some_and(|middle| middle.len() == 16 && middle.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Removes what killed processes left of their changes. The amount of work is limited, so that a hostile project cannot
/// hold up the start.
pub(crate) fn clean(root: &Root) {
    let Ok((items, _)) = folder::items(root.fd(), MOST_NAMES) else { return };
    let names = items.into_iter().map(|item| item.name).filter(|name| is_ours(name, JOURNAL));
    // Files that cannot be our journals do not count towards the limit.
    let left = names.filter_map(|name| Some((open_abandoned(root, &name)?, name)));
    let mut room = Room::WHOLE;
    for (file, name) in left.take(MOST_JOURNALS) {
        clean_journal(root, &file, &name, &mut room);
    }
}

/// Opens and locks a journal whose process has ended.
fn open_abandoned(root: &Root, journal: &OsStr) -> Option<File> {
    let fd = rustix::fs::openat(root.fd(), journal, LOOK | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let file = File::from(fd);
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.len() > MOST_BYTES as u64 {
        return None;
    }
    // A running process holds the lock of its journal.
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

fn clean_journal(root: &Root, file: &File, journal: &OsStr, room: &mut Room) -> Option<()> {
    let mut text = Vec::new();
    file.take(MOST_BYTES as u64).read_to_end(&mut text).ok()?;
    // The journals of one start share the limits of a single one: the first always fits, and the next start reads the
    // rest.
    *room = room.without(text.iter().filter(|byte| **byte == 0).count(), text.len())?;
    // The last entry is torn if it has no NUL at its end.
    let whole = text.iter().rposition(|byte| *byte == 0).map_or(&[][..], |end| &text[..end]);
    // A folder precedes its entries in the journal, so they are removed in reverse order.
    for entry in whole.split(|byte| *byte == 0).rev() {
        remove_entry(root, entry);
    }
    rustix::fs::unlinkat(root.fd(), journal, AtFlags::empty()).ok()
}

fn remove_entry(root: &Root, entry: &[u8]) -> Option<()> {
    let (kind, path) = entry.split_first().filter(|(_, path)| path.len() < LONGEST)?;
    let path = Path::new(OsStr::from_bytes(path));
    let (above, name) = (path.parent()?, path.file_name()?);
    // We write only names below the root. `open_exact` refuses paths that leave it, too.
    if !path.components().all(|step| matches!(step, Component::Normal(_))) {
        return None;
    }
    let flags = match kind {
        b't' if is_ours(name, TEMPORARY) => AtFlags::empty(),
        b'd' if root.refuse_unwritable(&names::text_of(path), path).is_ok() => AtFlags::REMOVEDIR,
        _ => return None,
    };
    let folder = root.open_exact(above).ok()?;
    tracing::debug!(path = %path.display(), "left by a change that was killed");
    rustix::fs::unlinkat(folder, name, flags).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workspace;
    use std::fs;
    use toolfence_policy::rules::PathRules;

    const NAME: &str = ".toolfence-0123456789abcdef.tmp";

    #[test]
    fn only_our_leftovers_are_removed() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let (root, outside) = (home.path().join("root"), home.path().join("outside"));
        for folder in ["root/a/made/deep", "root/full", "root/.git/refs", "outside/empty"] {
            fs::create_dir_all(home.path().join(folder)).expect("a folder can be made");
        }
        let kept = ["root/a/main.rs", "root/full/x", "root/.toolfence-0123.tmp"];
        for file in [&kept[..], &["outside/.toolfence-0123456789abcdef.tmp"]].concat() {
            fs::write(home.path().join(file), "x").expect("it can be written");
        }
        fs::write(root.join("a").join(NAME), "left").expect("it can be written");
        std::os::unix::fs::symlink(&outside, root.join("link")).expect("a link can be made");
        let journal = format!(
            "ta/{NAME}\0ta/main.rs\0t../outside/{NAME}\0tlink/{NAME}\0t.toolfence-0123.tmp\0da/made\0da/made/deep\0dfull\0d.git/refs\0\
             d..\0d\0\0x\0t{0}/{NAME}\0d{0}/empty\0d../outside/empty\0ta/../../outside/{NAME}\0ta/made/torn",
            outside.display()
        );
        let name = ".toolfence-00000000000000aa.journal";
        fs::write(root.join(name), journal).expect("it can be written");
        Workspace::open(&root, PathRules::default()).expect("it is a folder");
        let there = |path: &str| home.path().join(path).exists();
        assert!(!there(&format!("root/{name}")) && !there(&format!("root/a/{NAME}")) && !there("root/a/made"));
        assert!(kept.iter().all(|path| there(path)) && there("root/.git/refs") && there(&format!("outside/{NAME}")));
        assert!(there("outside/empty"));
    }

    #[test]
    fn journals_in_use_stay() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        let journal = Journal::begin(workspace.root());
        let name = journal.temporary(Path::new("")).expect("there is randomness");
        fs::write(home.path().join(&name), "half").expect("it can be written");
        Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        assert_eq!(fs::read_dir(home.path()).expect("it is there").count(), 2);
        drop(journal);
        assert_eq!(fs::read_dir(home.path()).expect("it is there").count(), 1);
    }

    /// Opens a root with journals of this content and returns how many are left.
    fn count_left(count: usize, content: &[u8], opened: usize) -> usize {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        for number in 0..count {
            let name = format!(".toolfence-{number:016x}{JOURNAL}");
            fs::write(home.path().join(name), content).expect("it can be written");
        }
        for _ in 0..opened {
            Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        }
        fs::read_dir(home.path()).expect("it is there").count()
    }

    #[test]
    fn one_start_cleans_a_limited_number_of_journals() {
        let (full, over) = (b"da\0".repeat(4096), b"da\0".repeat(4097));
        let (large, larger) = ([vec![b'x'; (1 << 20) - 1], vec![0]].concat(), [vec![b'x'; 1 << 20], vec![0]].concat());
        for (case, count, content, opened, left) in [
            ("many", 70, &b"da\0"[..], 1, 6),
            ("many, twice", 70, b"da\0", 2, 0),
            ("full", 3, &full, 1, 2),
            ("full, twice", 3, &full, 2, 1),
            ("one entry more", 3, &over, 1, 3),
            ("as large as it may be", 3, &large, 1, 2),
            ("larger", 3, &larger, 1, 3),
        ] {
            assert_eq!(count_left(count, content, opened), left, "{case}");
        }
    }

    #[test]
    fn foreign_journals_do_not_count_towards_the_limit() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        for number in 0..70 {
            let file = fs::File::create(home.path().join(format!(".toolfence-{number:016x}{JOURNAL}")));
            file.and_then(|file| file.set_len(1 << 40)).expect("it can be made");
        }
        let ours = home.path().join(format!(".toolfence-{}{JOURNAL}", "f".repeat(16)));
        fs::write(home.path().join(NAME), "left").expect("it can be written");
        fs::write(&ours, format!("t{NAME}\0")).expect("it can be written");
        Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        assert!(!ours.exists() && !home.path().join(NAME).exists());
        assert_eq!(fs::read_dir(home.path()).expect("it is there").count(), 70);
    }

    #[test]
    fn our_journals_keep_the_limits() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        for path in ["a".to_owned(), "a/".repeat(2000)] {
            let journal = Journal::begin(workspace.root());
            for _ in 0..5000 {
                journal.folder(Path::new(&path));
            }
            let name = fs::read_dir(home.path()).expect("it is there").next().expect("it is written").expect("it is");
            let text = fs::read(name.path()).expect("it can be read");
            let entries = text.iter().filter(|byte| **byte == 0).count();
            assert!(entries <= 4096 && text.len() <= 1 << 20 && entries > 200, "{entries} {}", text.len());
        }
    }
}
