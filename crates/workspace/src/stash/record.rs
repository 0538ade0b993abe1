//! The stash of an exchange that the undo history covers.

use super::plan::{Side, Swap};
use super::remove::{DEEPEST, names, open};
use super::{ExchangeError, FOLDER, RECORD, Stash, remove_tree, stat_at};
use crate::digest::Digest;
use crate::fault;
use crate::root::Root;
use crate::root::twins::Twins;
use crate::state::{self, Change, State};
use crate::undo::is_protected;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use toolfence_protocol::Limits;

/// The maximum length of the path of a record in bytes.
const MOST_PATH: u64 = 4096;

/// The maximum number of entries of one exchange that are compared.
const MOST_ENTRIES: usize = 200_000;

/// The maximum size in bytes of all contents that are kept while exchanges are compared.
const MOST_BYTES: u64 = 256 << 20;

/// Returns the record in the undo history to which a stash belongs.
pub(super) fn record_of(folder: &OwnedFd) -> Option<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, RECORD, flags, Mode::empty()).ok()?);
    let mut path = Vec::new();
    file.take(MOST_PATH).read_to_end(&mut path).ok()?;
    Some(OsString::from_vec(path).into())
}

impl Stash {
    /// Opens the stash of the exchange in this record. Waits for its lock, which a starting session holds for a moment.
    ///
    /// # Errors
    /// Its plan cannot be read, or it does not belong to the record.
    pub(crate) fn open_recorded(path: &Path, record: &Path) -> io::Result<Stash> {
        let folder = rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?;
        rustix::fs::flock(&folder, FlockOperation::LockExclusive)?;
        if record_of(&folder).is_none_or(|path| path != record) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Stash::read(path.to_owned(), folder)
    }

    /// Returns an error if the exchange already has conflicts.
    pub(crate) fn refuse_conflicts(&mut self) -> Result<(), ExchangeError> {
        if self.conflicts.is_empty() {
            return Ok(());
        }
        Err(ExchangeError::Conflict(std::mem::take(&mut self.conflicts)))
    }

    /// Returns the number of planned swaps that undo covers, and the bytes of the files that they replace.
    pub(crate) fn amount(&self, undoable: &dyn Fn(&Path) -> bool) -> (u64, u64) {
        let covered = self.plan.swaps.iter().filter(|swap| undoable(&swap.path)).count() as u64;
        (covered, if covered == 0 { 0 } else { self.replaced_bytes })
    }

    /// Stores the path of the record that has this exchange, and marks the swaps that undo covers.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn set_record(&mut self, record: &Path, undoable: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        self.plan.swaps.iter_mut().for_each(|swap| swap.is_recorded = undoable(&swap.path));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fault::point();
        let mut file = File::from(rustix::fs::openat(&self.folder, RECORD, flags, Mode::RUSR | Mode::WUSR)?);
        fault::point();
        file.write_all(record.as_os_str().as_bytes())?;
        // If this file were lost in a power failure, recovery would delete the stash.
        file.sync_data()
    }

    /// Returns `true` if the project has the new side of any swap that undo covers.
    pub(crate) fn has_exchanged(&self) -> bool {
        self.plan.swaps.iter().any(|swap| swap.is_recorded && swap.is_exchanged)
    }

    /// Deletes the entries that undo does not need: those of swaps that it does not cover, and after a refused exchange
    /// those of swaps that were not made.
    pub(crate) fn delete_unrecorded(&mut self) {
        for (number, swap) in self.plan.swaps.iter_mut().enumerate() {
            swap.is_recorded &= swap.is_exchanged;
            let name = number.to_string();
            if swap.is_recorded || stat_at(self.entries.as_fd(), name.as_ref()).is_err() {
                continue;
            }
            fault::point();
            // An entry that cannot be deleted now is deleted with the stash.
            if rustix::fs::unlinkat(&self.entries, name.as_str(), AtFlags::empty()) == Err(Errno::ISDIR) {
                let _ = remove_tree(self.entries.as_fd(), name.as_ref());
            }
        }
        let _ = self.plan.write(&self.folder);
    }

    /// Returns the bytes of all files in the stash.
    pub(crate) fn bytes(&self) -> u64 {
        let mut bytes = 0;
        let mut add = |entry: super::remove::VisitedEntry<'_>| {
            bytes += u64::try_from(entry.stat.st_size).unwrap_or(0);
            true
        };
        let _ = super::remove::walk(self.folder.as_fd(), super::ENTRIES.as_ref(), &mut add);
        bytes
    }

    /// Returns the path of a recorded swap, and its effect in this direction.
    pub(crate) fn effect(&self, number: usize, is_forward: bool) -> (&Path, SwapEffect) {
        let Swap { path, before, after, .. } = &self.plan.swaps[number];
        let effect = match if is_forward { (before, after) } else { (after, before) } {
            (_, Side::Absent) => SwapEffect::Removed,
            (Side::Absent, _) => SwapEffect::Restored,
            (_, Side::Mode(mode)) => SwapEffect::Mode(mode & 0o7777),
            _ => SwapEffect::Replaced,
        };
        (path, effect)
    }

    /// Returns the paths that the exchange changed, with their states before it and now.
    pub(crate) fn changes(&self, root: &Root, contents: &mut Contents) -> Vec<StashedChange> {
        let mut survey = Survey { root, contents, twins: Twins::new(root), room: MOST_ENTRIES };
        let mut changes = Vec::new();
        for (number, swap) in self.plan.swaps.iter().enumerate() {
            if !swap.is_recorded || !swap.is_exchanged {
                continue;
            }
            let Ok(states) = survey.swap(self, number, swap) else { continue };
            for (name, [before, after]) in states {
                let put = swap.after.digest_below(name.strip_prefix(&swap.path).unwrap_or(&name));
                if put.is_none() && before == State::Nothing {
                    // Another process created it later.
                    continue;
                }
                let is_current = put.is_none_or(|digest| is_content(&after, digest));
                changes.push(StashedChange { change: Change::new(name, before, after), is_current });
            }
        }
        changes
    }
}

/// Returns `true` if a state has the content with this digest, if there is one.
fn is_content(state: &State, digest: Option<Digest>) -> bool {
    match (state, digest) {
        (State::File { content, .. }, Some(digest)) => *content == digest,
        (State::Link { target }, Some(digest)) => Digest::compute(target.as_os_str().as_bytes()) == digest,
        (State::File { .. } | State::Link { .. } | State::Nothing, None) => false,
        (_, digest) => digest.is_none(),
    }
}

/// The effect of a swap on a path of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwapEffect {
    Removed,
    Restored,
    Replaced,
    Mode(u32),
}

/// A path that an exchange changed.
pub(crate) struct StashedChange {
    pub(crate) change: Change,
    /// Whether the project still has what the exchange put there.
    pub(crate) is_current: bool,
}

/// The contents of files that are compared.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    kept: HashMap<Digest, Vec<u8>>,
    bytes: u64,
}

impl Contents {
    fn keep(&mut self, content: &[u8]) -> Digest {
        let digest = Digest::compute(content);
        if self.bytes.saturating_add(content.len() as u64) <= MOST_BYTES && !self.kept.contains_key(&digest) {
            self.bytes += content.len() as u64;
            self.kept.insert(digest, content.to_owned());
        }
        digest
    }

    pub(crate) fn get(&self, digest: Digest) -> Option<&[u8]> {
        self.kept.get(&digest).map(Vec::as_slice)
    }
}

/// Looks at the entries of the project and of a stash.
struct Survey<'s> {
    root: &'s Root,
    contents: &'s mut Contents,
    twins: Twins<'s>,
    /// Entries that may still be read.
    room: usize,
}

/// Each path below a swap with its state before and after.
type States = BTreeMap<PathBuf, [State; 2]>;

impl Survey<'_> {
    fn swap(&mut self, stash: &Stash, number: usize, swap: &Swap) -> rustix::io::Result<States> {
        let mut states = States::new();
        let Swap { path, before, after, .. } = swap;
        let above = self.root.open_exact(path.parent().unwrap_or(Path::new("")));
        let name = path.file_name().ok_or(Errno::INVAL)?;
        if let (Side::Mode(before), Side::Mode(after)) = (before, after) {
            let folder = |mode: u32| State::Folder { mode, attributes: None };
            states.insert(path.clone(), [folder(*before), folder(*after)]);
            return Ok(states);
        }
        if before.is_entry() {
            let entry = number.to_string();
            self.enter(stash.entries.as_fd(), entry.as_ref(), path, 0, &mut |path, state| {
                set(&mut states, path, 0, state);
            })?;
        }
        if after.is_entry()
            && let Ok(above) = above
        {
            self.enter(above.as_fd(), name, path, 0, &mut |path, state| {
                set(&mut states, path, 1, state);
            })?;
        }
        Ok(states)
    }

    /// Records the state of the entry `name` and of everything in it. `path` is its path in the project.
    fn enter(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        depth: usize,
        found: &mut dyn FnMut(&Path, State),
    ) -> rustix::io::Result<()> {
        if is_protected(self.root, path) {
            return Ok(());
        }
        self.room = self.room.checked_sub(1).ok_or(Errno::OVERFLOW)?;
        let stat = match stat_at(folder, name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        };
        // The content of a blocked file must not be shown under its second name.
        let may_read = !Twins::possible(&stat) || matches!(self.twins.find(&stat), Ok(None));
        let most = if may_read { Limits::default().file_bytes } else { 0 };
        let (state, _) = state::look(folder, name, most, &mut |content| self.contents.keep(content))?;
        if !state.is_folder() {
            found(path, state);
            return Ok(());
        }
        if depth == DEEPEST {
            return Err(Errno::NAMETOOLONG);
        }
        let inner = open(folder, name)?;
        found(path, state);
        for name in names(inner.as_fd())? {
            self.enter(inner.as_fd(), &name, &path.join(&name), depth + 1, found)?;
        }
        Ok(())
    }
}

fn set(states: &mut States, path: &Path, side: usize, state: State) {
    states.entry(path.to_owned()).or_insert([State::Nothing, State::Nothing])[side] = state;
}
