//! The project as it is at one moment, so that what a command did can be told afterwards.
//!
//! What git ignores is left out, with `.git` itself, blocked and protected names, and whatever is over the limits; nothing is
//! followed. A file whose stamp is that of an earlier look is not read again.

use super::folder::{self, Item};
use super::ignores::Ignores;
use super::links::Twins;
use super::state::{self, Change, Digest, Stamp, State, as_text, mode_of};
use super::{Stop, Workspace, names, resolve};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Stat};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A change so soon after a look has the same time as what was looked at: the clock of files ticks every 10 ms at most, or
/// every 2 s on file systems that keep only seconds.
const TICK: i128 = 50_000_000;
const SLOW_TICK: i128 = 2_000_000_000;

/// How much of a project a snapshot covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotLimits {
    /// Files and folders; those nearest to the top come first.
    pub entries: usize,
    /// Bytes of all contents.
    pub bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
}

impl Default for SnapshotLimits {
    /// 20,000 files and folders, 64 MiB of contents, 4 MiB a file.
    fn default() -> SnapshotLimits {
        SnapshotLimits { entries: 20_000, bytes: 64 << 20, file_bytes: 4 << 20 }
    }
}

/// What of a project a snapshot does not cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LeftOut {
    /// Names that git ignores, a folder with all that is in it as one, and `.git`.
    pub ignored: u64,
    /// Names that are blocked or protected, likewise.
    pub blocked: u64,
    /// Files that are too large, or could not be read.
    pub large: u64,
    /// Whether the project has more files or bytes than are looked at.
    pub more: bool,
}

/// The project at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    seen: BTreeMap<PathBuf, Seen>,
    /// Folders of which all entries were seen, with what was ignored in them; `None` where that is not known any more.
    listed: HashMap<PathBuf, Option<Arc<Ignores>>>,
    /// What is not covered.
    pub left_out: LeftOut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    state: State,
    /// `None` where the same stamp could belong to another content.
    stamp: Option<Stamp>,
}

/// One name of a snapshot, as it is kept for the next start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    #[serde(with = "as_text")]
    name: PathBuf,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stamp: Option<Stamp>,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    listed: bool,
}

impl Line {
    /// Its attributes are not known: it was written before they were kept.
    pub(crate) fn forget_attributes(&mut self) {
        self.state.forget_attributes();
    }
}

impl Snapshot {
    /// Its names, the root among them as "".
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line> {
        let root =
            Line { name: PathBuf::new(), state: State::Nothing, stamp: None, listed: self.is_listed("".as_ref()) };
        let line = |(name, seen): (&PathBuf, &Seen)| Line {
            name: name.clone(),
            state: seen.state.clone(),
            stamp: seen.stamp,
            listed: self.is_listed(name),
        };
        std::iter::once(root).chain(self.seen.iter().map(line))
    }

    /// From such lines.
    pub(crate) fn of_lines(lines: impl Iterator<Item = Line>) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for Line { name, state, stamp, listed } in lines {
            if listed {
                snapshot.listed.insert(name.clone(), None);
            }
            if !name.as_os_str().is_empty() {
                snapshot.seen.insert(name, Seen { state, stamp });
            }
        }
        snapshot
    }

    /// Whether another one says the same.
    pub(crate) fn is_same(&self, other: &Snapshot) -> bool {
        self.seen == other.seen && self.listed.len() == other.listed.len()
    }

    /// The contents that it takes to put back what it saw.
    pub(crate) fn contents(&self) -> impl Iterator<Item = Digest> {
        self.seen.values().filter_map(|seen| Some(seen.state.content()?.0))
    }

    fn is_listed(&self, folder: &Path) -> bool {
        self.listed.contains_key(folder)
    }

    /// Whether something that was not seen was certainly not there: everything in its folder was.
    fn knows_none(&self, name: &Path, is_folder: bool, created: &BTreeMap<PathBuf, Change>) -> bool {
        let Some(above) = name.parent() else { return false };
        match self.listed.get(above) {
            Some(Some(ignores)) => !ignores.matches(name, is_folder),
            Some(None) => true,
            // A folder that is new itself.
            None => created.get(above).is_some_and(|change| !change.before.is_folder()),
        }
    }
}

impl Workspace {
    /// Looks at the project. What `known` has seen of a file that is still the same is taken from there; other contents go
    /// through `keep`. When it is stopped it is incomplete, and says so.
    pub fn snapshot(
        &self,
        limits: SnapshotLimits,
        known: &Snapshot,
        keep: &mut dyn FnMut(&[u8]) -> Digest,
        stop: &Stop,
    ) -> Snapshot {
        let mut looking = Looking {
            workspace: self,
            limits,
            known,
            keep,
            stop,
            twins: Twins::of(self).until(stop),
            now: nanoseconds(SystemTime::now()),
            bytes: 0,
            pending: VecDeque::new(),
            snapshot: Snapshot::default(),
        };
        looking.pending.push_back((PathBuf::new(), Ignores::above(self, Path::new(""))));
        while let Some((folder, ignores)) = looking.pending.pop_front() {
            looking.folder(&folder, &ignores);
        }
        looking.snapshot
    }

    /// What is not as it was in the earlier of two snapshots. What the later one did not meet is looked at again, since it may
    /// only be ignored by now; and what the earlier one did not look at is never taken for new.
    pub fn changes(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        limits: SnapshotLimits,
        keep: &mut dyn FnMut(&[u8]) -> Digest,
    ) -> Vec<Change> {
        let mut changes = BTreeMap::new();
        let rules_known = before.listed.values().all(Option::is_some);
        let is_rules = |name: &Path| name.file_name() == Some(OsStr::new(".gitignore"));
        // After a crash it is not known what was ignored: where that changed, nothing counts as new.
        let rules_changed =
            !rules_known && after.seen.iter().any(|(name, seen)| is_rules(name) && before.seen.get(name) != Some(seen));
        for (name, now) in &after.seen {
            let was = match before.seen.get(name) {
                Some(seen) if seen.state.is(&now.state) => continue,
                Some(seen) => seen.state.clone(),
                None if !rules_changed && before.knows_none(name, now.state.is_folder(), &changes) => State::Nothing,
                None => continue,
            };
            changes.insert(name.clone(), Change { name: name.clone(), before: was, after: now.state.clone() });
        }
        for (name, was) in before.seen.iter().filter(|(name, _)| !after.seen.contains_key(*name)) {
            let now = self.state(name, limits.file_bytes, keep);
            if let Some(after) = now.filter(|now| !now.is(&was.state)) {
                changes.insert(name.clone(), Change { name: name.clone(), before: was.state.clone(), after });
            }
        }
        changes.into_values().collect()
    }
}

struct Looking<'l> {
    workspace: &'l Workspace,
    limits: SnapshotLimits,
    known: &'l Snapshot,
    keep: &'l mut dyn FnMut(&[u8]) -> Digest,
    stop: &'l Stop,
    twins: Twins<'l>,
    /// Nanoseconds since 1970.
    now: i128,
    bytes: u64,
    /// Folders still to be read, each with what is ignored above it.
    pending: VecDeque<(PathBuf, Arc<Ignores>)>,
    snapshot: Snapshot,
}

impl Looking<'_> {
    fn folder(&mut self, name: &Path, ignores: &Arc<Ignores>) {
        let room = self.limits.entries.saturating_sub(self.snapshot.seen.len());
        let Ok(folder) = resolve::open_exact(self.workspace.root.as_fd(), name) else { return };
        let listing = folder.try_clone().map_err(drop);
        let listing = listing.and_then(|fd| folder::items_until(fd, room, self.stop).map_err(drop));
        let Ok((items, complete)) = listing else { return };
        self.stop.saw(items.len());
        self.snapshot.left_out.more |= !complete;
        let ignores = Ignores::below(ignores, self.workspace, name, &items);
        for item in items {
            self.item(&folder, name.join(&item.name), &item, &ignores);
        }
        if complete {
            self.snapshot.listed.insert(name.to_owned(), Some(ignores));
        }
    }

    fn item(&mut self, folder: &OwnedFd, name: PathBuf, item: &Item, ignores: &Arc<Ignores>) {
        let left_out = &mut self.snapshot.left_out;
        if item.name == ".git" || ignores.matches(&name, item.kind == FileType::Directory) {
            left_out.ignored += 1;
            return;
        }
        if item.name.as_encoded_bytes().starts_with(b".toolfence") {
            return; // our own: output, temporary files, settings
        }
        let text = names::text_of(&name);
        if self.workspace.blocks(&text).is_some() || self.workspace.rules.protects(&text).is_some() {
            left_out.blocked += 1;
            return;
        }
        let Ok(stat) = rustix::fs::statat(folder, &item.name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let Some(seen) = self.look(folder, &name, &item.name, stat) else { return };
        if seen.state.is_folder() {
            self.pending.push_back((name.clone(), Arc::clone(ignores)));
        }
        self.snapshot.seen.insert(name, seen);
    }

    fn look(&mut self, folder: &OwnedFd, name: &Path, last: &OsStr, stat: Stat) -> Option<Seen> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory | FileType::Symlink => {
                let (state, _) = state::look(folder.as_fd(), last, 0, self.keep).ok()?;
                return Some(Seen { state, stamp: None });
            }
            _ => return None,
        }
        let stamp = Stamp::of(&stat);
        let known = self.known.seen.get(name).filter(|seen| seen.stamp == Some(stamp));
        if Twins::possible(&stat) && !matches!(self.twins.find(&stat), Ok(None)) {
            self.snapshot.left_out.blocked += 1;
            return None;
        }
        let room = self.limits.file_bytes.min(self.limits.bytes.saturating_sub(self.bytes));
        let state = match known.and_then(|seen| seen.state.content()) {
            // A change of the attributes would show in the stamp too.
            Some((content, bytes)) if bytes <= room && known.is_some_and(|seen| seen.state.attributes().is_some()) => {
                let attributes = known.and_then(|seen| seen.state.attributes().cloned());
                State::File { content, bytes, mode: mode_of(&stat), attributes }
            }
            _ => state::look_into(folder.as_fd(), last, stat, room, self.keep).ok()?.0,
        };
        let Some((_, bytes)) = state.content() else {
            self.snapshot.left_out.large += 1;
            self.snapshot.left_out.more |= stamp.bytes() <= self.limits.file_bytes && stamp.bytes() > room;
            return Some(Seen { state, stamp: None });
        };
        self.bytes += bytes;
        Some(Seen { state, stamp: self.is_settled(&stamp).then_some(stamp) })
    }

    /// Whether any change from now on would show in the stamp.
    fn is_settled(&self, stamp: &Stamp) -> bool {
        let (changed, tick) = changed_at(stamp);
        changed + tick < self.now
    }
}

/// When something was last changed in any way, in nanoseconds since 1970, and the length of the tick of that clock.
pub(super) fn changed_at(stamp: &Stamp) -> (i128, i128) {
    let (seconds, nanos) = stamp.changed();
    (i128::from(seconds) * 1_000_000_000 + i128::from(nanos), if nanos == 0 { SLOW_TICK } else { TICK })
}

fn nanoseconds(time: SystemTime) -> i128 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}
