//! What an exchange is about to change, as the undo history records it.

use super::plan::{Side, Swap};
use super::remove::{DEEPEST, names, open};
use super::{ExchangeError, Stash};
use crate::changes::record::Recorder;
use crate::root::Root;
use crate::root::twins::Twins;
use crate::state::{self, Change, State};
use crate::undo::{Uncovered, is_protected};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Entries that one exchange records.
const MOST_ENTRIES: usize = 200_000;

/// Bytes of their paths. A path can be long, and a record has it once for each entry.
const MOST_BYTES: usize = 32 << 20;

/// Looks at the entries of the project and of a stash. The recorder keeps what the files hold.
pub(crate) struct Survey<'s> {
    root: &'s Root,
    recorder: &'s dyn Recorder,
    /// Bytes of a file whose content is kept.
    most: u64,
    undoable: &'s dyn Fn(&Path) -> bool,
    twins: Twins<'s>,
    /// Entries and bytes that still fit into the record.
    room: (usize, usize),
    /// Paths that undo will not restore.
    pub(crate) uncovered: Vec<(PathBuf, Uncovered)>,
}

/// Each path below a swap with its state before and after.
type States = BTreeMap<PathBuf, [State; 2]>;

impl<'s> Survey<'s> {
    pub(crate) fn new(
        root: &'s Root,
        recorder: &'s dyn Recorder,
        most: u64,
        undoable: &'s dyn Fn(&Path) -> bool,
    ) -> Survey<'s> {
        let room = (MOST_ENTRIES, MOST_BYTES);
        Survey { root, recorder, most, undoable, twins: Twins::of(root), room, uncovered: Vec::new() }
    }

    /// The changes that the exchange is about to make, each with the number of its swap.
    pub(crate) fn changes(&mut self, stash: &Stash) -> Vec<(usize, Change)> {
        let mut changes = Vec::new();
        for (number, swap) in stash.plan.swaps.iter().enumerate() {
            // A folder of which only a part is known is not covered at all: a part of it would come back.
            let (room, uncovered) = (self.room, self.uncovered.len());
            let Ok(states) = self.swap(stash, number, swap) else {
                self.room = room;
                self.uncovered.truncate(uncovered);
                self.uncovered.push((swap.path.clone(), Uncovered::NotKept));
                continue;
            };
            for (name, [before, after]) in states {
                if [&before, &after].iter().any(|state| matches!(state, State::Unkept { .. })) {
                    self.uncovered.push((name.clone(), Uncovered::NotKept));
                }
                if !before.is(&after) {
                    changes.push((number, Change::new(name, before, after)));
                }
            }
        }
        changes
    }

    fn swap(&mut self, stash: &Stash, number: usize, swap: &Swap) -> rustix::io::Result<States> {
        let mut states = States::new();
        let Swap { path, before, after, .. } = swap;
        let above = self.root.open_exact(path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().ok_or(Errno::INVAL)?;
        if let Side::Mode(mode) = after {
            if (self.undoable)(path) {
                let (state, _) = state::look(above.as_fd(), name, 0, &mut |content| self.recorder.keep(content))?;
                let State::Folder { attributes, .. } = &state else { return Err(Errno::STALE) };
                let after = State::Folder { mode: *mode, attributes: attributes.clone() };
                states.insert(path.clone(), [state, after]);
            }
            return Ok(states);
        }
        if before.is_entry() {
            self.enter(above.as_fd(), name, path.clone(), 0, &mut |path, state| set(&mut states, path, 0, state))?;
        }
        if after.is_entry() {
            let entry = number.to_string();
            let entries = stash.entries.as_fd();
            self.enter(entries, entry.as_ref(), path.clone(), 0, &mut |path, state| set(&mut states, path, 1, state))?;
        }
        Ok(states)
    }

    /// Looks at the entry `name` and all that is in it. `path` is what the project calls it.
    fn enter(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        path: PathBuf,
        depth: usize,
        found: &mut dyn FnMut(PathBuf, State),
    ) -> rustix::io::Result<()> {
        if !(self.undoable)(&path) {
            return Ok(());
        }
        if is_protected(self.root, &path) {
            self.uncovered.push((path, Uncovered::Blocked));
            return Ok(());
        }
        let (entries, bytes) = self.room;
        let left = (entries.checked_sub(1), bytes.checked_sub(path.as_os_str().len()));
        let (Some(entries), Some(bytes)) = left else { return Err(Errno::OVERFLOW) };
        self.room = (entries, bytes);
        // The history must not keep the content of a blocked file that has a second name.
        let stat = super::stat_at(folder, name)?;
        let may_keep = !Twins::possible(&stat) || matches!(self.twins.find(&stat), Ok(None));
        let most = if may_keep { self.most } else { 0 };
        let (state, _) = state::look(folder, name, most, &mut |content| self.recorder.keep(content))?;
        if !state.is_folder() {
            found(path, state);
            return Ok(());
        }
        if depth == DEEPEST {
            return Err(Errno::NAMETOOLONG);
        }
        let inner = open(folder, name)?;
        found(path.clone(), state);
        for name in names(inner.as_fd())? {
            self.enter(inner.as_fd(), &name, path.join(&name), depth + 1, found)?;
        }
        Ok(())
    }
}

fn set(states: &mut States, path: PathBuf, side: usize, state: State) {
    states.entry(path).or_insert([State::Nothing, State::Nothing])[side] = state;
}

impl Stash {
    /// Refuses an exchange that has conflicts already, so that nothing is read for it.
    pub(crate) fn refuse_conflicts(&mut self) -> Result<(), ExchangeError> {
        if self.conflicts.is_empty() {
            return Ok(());
        }
        Err(ExchangeError::Conflict(std::mem::take(&mut self.conflicts)))
    }

    /// Returns `true` if the project has the new side of this swap.
    pub(crate) fn is_exchanged(&self, number: usize) -> bool {
        self.plan.swaps[number].is_exchanged
    }
}
