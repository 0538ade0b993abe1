//! The project as it is at one moment, so that what a command did can be told afterwards.
//!
//! What git ignores is left out, with `.git` itself, blocked and protected names, and whatever is over the limits; nothing is
//! followed. A file whose stamp is that of an earlier look is not read again.
//!
//! Coverage does not shrink in a session. Names in an index of git are never ignored, nor is a file of patterns; patterns count
//! only if they were there when the session first looked; a name that was covered stays so. Where the limits are too small,
//! what was covered before comes first, then what is in an index. Names that are left out are only asked for their times, some
//! of those below an ignored folder too, so that it can be told that something changed there.

use crate::attributes::Attributes;
use crate::digest::Digest;
use crate::encoding::as_text;
use crate::names;
use crate::root::Root;
use crate::root::folder::{self, Item};
use crate::root::hops::Hop;
use crate::root::ignores::{Ignores, Remembered};
use crate::root::twins::Twins;
use crate::stat::{Stamp, mode_of};
use crate::state::{self, Change, State};
use crate::stop::Stop;
use crate::undo::Limits;
use crate::undo::restore;
use crate::undo::tracked::Indexes;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Stat};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

const IGNORE_FILE: &str = ".gitignore";

/// Names below those that are left out that are asked for their times: of one of them, and of all.
const MOST_ASIDE_EACH: usize = 1_000;
const MOST_ASIDE: usize = 5_000;

/// Bytes of all attributes, which are held in memory.
const MOST_ATTRIBUTES: usize = 4 << 20;

/// What of a `.git` tells that history was made or settings were changed. The index is not among it: looking at the state of
/// the repository writes that too.
const HISTORY: &[&str] = &["HEAD", "config", "packed-refs", "logs/HEAD", "refs/heads", "refs/tags", "refs/stash"];

/// What of a project a snapshot does not cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LeftOut {
    /// Names that git ignores, a folder with all that is in it as one.
    pub ignored: u64,
    /// Repositories of git: each `.git`.
    pub repositories: u64,
    /// Names that are blocked or protected, a folder with all that is in it as one.
    pub blocked: u64,
    /// Files that are too large, or could not be read.
    pub large: u64,
    /// Files and folders whose access control lists and extended attributes are too large, or could not be read.
    pub attributes: u64,
    /// Whether the project has more files or bytes than are looked at.
    pub more: bool,
}

/// The project at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    seen: BTreeMap<PathBuf, Seen>,
    /// Folders of which all entries were seen, with what was ignored in them; `None` where that is not known any more.
    listed: HashMap<PathBuf, Option<Arc<Ignores>>>,
    /// What is not covered.
    pub left_out: LeftOut,
    /// The names that were left out, as far as they were asked for their times.
    aside: BTreeMap<PathBuf, Aside>,
    /// Ignored folders in which every name is either covered or left out.
    read_aside: HashSet<PathBuf>,
}

/// Why undo does not cover what a command did to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uncovered {
    /// Git ignores it.
    Ignored,
    /// A path rule blocks or protects it.
    Blocked,
    /// It is the data of a git repository.
    Repository,
    /// Its content is over a limit, or cannot be read.
    NotKept,
}

/// What tells that something below a name that was left out has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Aside {
    why: Uncovered,
    own: u64,
    /// Of all that is below it; `None` where that is too much to look at.
    below: Option<u64>,
}

/// What a session remembers so that what is covered does not shrink in it.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    remembered: Remembered,
    indexes: Indexes,
}

impl Coverage {
    /// A tool is about to change this name, whose content of before is given where it was kept. If it is a file of patterns
    /// and the session has not looked yet, the session remembers that content of it.
    pub(crate) fn changing(&mut self, change: &Change, content: impl FnOnce(Digest, u64) -> Option<Vec<u8>>) {
        if change.name.file_name() == Some(OsStr::new(IGNORE_FILE)) {
            let content = change.before.content().and_then(|(digest, bytes)| content(digest, bytes));
            self.remembered.was(&change.name, content.as_deref());
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    state: State,
    /// `None` where the same stamp could belong to another content.
    stamp: Option<Stamp>,
    /// Whether it found room only beyond the limits, so that it comes after all others the next time.
    is_extra: bool,
}

/// One name of a snapshot, as it is kept for the next start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotLine {
    #[serde(with = "as_text")]
    name: PathBuf,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stamp: Option<Stamp>,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    listed: bool,
}

impl SnapshotLine {
    /// Forgets the attributes of the state, for a line that was written before attributes were kept.
    pub(crate) fn forget_attributes(&mut self) {
        self.state.forget_attributes();
    }
}

impl Snapshot {
    /// Looks at the project. What `known` has seen of a file that is still the same is taken from there; other contents go
    /// through `keep`. `coverage` is one for all looks of a session. When it is stopped it is incomplete, and says so.
    pub(super) fn take(
        root: &Root,
        limits: Limits,
        known: &Snapshot,
        coverage: &mut Coverage,
        keep: &mut dyn FnMut(&[u8]) -> Digest,
        stop: &Stop,
    ) -> Snapshot {
        let is_first = !coverage.remembered.is_complete();
        let mut looking = Looking::new(root, limits, known, coverage, keep, stop);
        if !known.left_out.more {
            looking.all();
        }
        if (known.left_out.more || looking.snapshot.left_out.more) && !stop.is_stopped() {
            // Somebody may have filled the project so that what matters is over the limits: that comes first then.
            looking = Looking::new(root, limits, known, coverage, keep, stop);
            // What an earlier session has seen matters less than what its user gave to git.
            for tracked in if is_first { [true, false] } else { [false, true] } {
                if tracked { looking.tracked_first() } else { looking.known_first() }
            }
            looking.most = limits.snapshot_entries.saturating_add(limits.snapshot_entries / 4);
            looking.all();
        }
        let snapshot = looking.snapshot;
        coverage.remembered.complete();
        snapshot
    }

    /// What is not in a later snapshot as it was in this one. What the later one did not meet is looked at again, since it may
    /// only be ignored by now; and what this one did not look at is never taken for new.
    pub(super) fn changes_until(
        &self,
        root: &Root,
        after: &Snapshot,
        limits: Limits,
        keep: &mut dyn FnMut(&[u8]) -> Digest,
    ) -> Vec<Change> {
        let mut changes = BTreeMap::new();
        let rules_known = self.listed.values().all(Option::is_some);
        let is_rules = |name: &Path| name.file_name() == Some(OsStr::new(IGNORE_FILE));
        // After a crash it is not known what was ignored: where that changed, nothing counts as new.
        let rules_changed =
            !rules_known && after.seen.iter().any(|(name, seen)| is_rules(name) && self.seen.get(name) != Some(seen));
        for (name, now) in &after.seen {
            let was = match self.seen.get(name) {
                Some(seen) if seen.state.is(&now.state) => continue,
                Some(seen) => seen.state.clone(),
                None if !rules_changed && self.knows_none(name, now.state.is_folder(), &changes) => State::Nothing,
                None => continue,
            };
            changes.insert(name.clone(), Change { name: name.clone(), before: was, after: now.state.clone() });
        }
        for (name, was) in self.seen.iter().filter(|(name, _)| !after.seen.contains_key(*name)) {
            let now = restore::state(root, name, limits.snapshot_file_bytes, keep);
            if let Some(after) = now.filter(|now| !now.is(&was.state)) {
                changes.insert(name.clone(), Change { name: name.clone(), before: was.state.clone(), after });
            }
        }
        changes.into_values().collect()
    }

    /// The lines that keep this snapshot: one for each name, the root as "".
    pub(crate) fn lines(&self) -> impl Iterator<Item = SnapshotLine> {
        let root = SnapshotLine {
            name: PathBuf::new(),
            state: State::Nothing,
            stamp: None,
            listed: self.is_listed("".as_ref()),
        };
        let line = |(name, seen): (&PathBuf, &Seen)| SnapshotLine {
            name: name.clone(),
            state: seen.state.clone(),
            stamp: seen.stamp,
            listed: self.is_listed(name),
        };
        std::iter::once(root).chain(self.seen.iter().map(line))
    }

    /// The snapshot that these lines keep.
    pub(crate) fn of_lines(lines: impl Iterator<Item = SnapshotLine>) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for SnapshotLine { name, state, stamp, listed } in lines {
            if listed {
                snapshot.listed.insert(name.clone(), None);
            }
            if !name.as_os_str().is_empty() {
                snapshot.seen.insert(name, Seen { state, stamp, is_extra: false });
            }
        }
        snapshot
    }

    /// Whether another snapshot says the same.
    pub(crate) fn is_same(&self, other: &Snapshot) -> bool {
        self.seen == other.seen && self.listed.len() == other.listed.len()
    }

    /// The contents that it takes to put back what it saw.
    pub(crate) fn contents(&self) -> impl Iterator<Item = Digest> {
        self.seen.values().filter_map(|seen| Some(seen.state.content()?.0))
    }

    /// Names that this snapshot and a later one left out, and that are not as they were.
    pub(crate) fn changed_aside<'s>(&'s self, later: &'s Snapshot) -> impl Iterator<Item = (&'s Path, Uncovered)> {
        let differ = |one: &Aside, other: &Aside| {
            one.own != other.own || one.below.zip(other.below).is_some_and(|(one, other)| one != other)
        };
        let changed = self.aside.iter().filter(move |(name, was)| match later.aside.get(*name) {
            Some(now) => differ(was, now),
            // What nobody looked at tells nothing.
            None => !later.seen.contains_key(*name) && name.parent().is_some_and(|above| later.has_read(above)),
        });
        let new = later.aside.iter().filter(|(name, _)| {
            !self.aside.contains_key(*name)
                && !self.seen.contains_key(*name)
                && name.parent().is_some_and(|above| self.has_read(above))
        });
        changed.chain(new).map(|(name, aside)| (name.as_path(), aside.why))
    }

    fn has_read(&self, folder: &Path) -> bool {
        self.is_listed(folder) || self.read_aside.contains(folder)
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

struct Looking<'l> {
    root: &'l Root,
    limits: Limits,
    /// Names that find room. More than the limits say where what was known came first, so that new ones find some.
    most: usize,
    known: &'l Snapshot,
    /// Whether the session has seen what is known.
    is_known_now: bool,
    coverage: &'l mut Coverage,
    keep: &'l mut dyn FnMut(&[u8]) -> Digest,
    stop: &'l Stop,
    twins: Twins<'l>,
    /// Nanoseconds since 1970.
    now: i128,
    bytes: u64,
    /// Bytes of attributes.
    attributes: usize,
    /// Names that were met in folders.
    met: usize,
    /// Folders still to be read.
    pending: VecDeque<(PathBuf, FolderFacts)>,
    /// Folders that are left out and still to be asked for times, each with the name that was left out.
    aside: VecDeque<(PathBuf, PathBuf)>,
    met_aside: usize,
    /// The folder that was opened last by its name.
    opened: Option<(PathBuf, OwnedFd)>,
    snapshot: Snapshot,
}

/// What holds in a folder.
#[derive(Clone)]
struct FolderFacts {
    ignores: Arc<Ignores>,
    /// The folder of the repository that it belongs to, or the root.
    repository: Arc<Path>,
    /// Whether it is ignored itself, so that only what is tracked or known is covered in it.
    is_ignored: bool,
    /// The folder it is reached from.
    hop: Hop,
}

impl<'l> Looking<'l> {
    fn new(
        root: &'l Root,
        limits: Limits,
        known: &'l Snapshot,
        coverage: &'l mut Coverage,
        keep: &'l mut dyn FnMut(&[u8]) -> Digest,
        stop: &'l Stop,
    ) -> Looking<'l> {
        Looking {
            root,
            limits,
            most: limits.snapshot_entries,
            known,
            is_known_now: coverage.remembered.is_complete(),
            coverage,
            keep,
            stop,
            twins: Twins::of(root).until(stop),
            now: nanoseconds(SystemTime::now()),
            bytes: 0,
            attributes: 0,
            met: 0,
            pending: VecDeque::new(),
            aside: VecDeque::new(),
            met_aside: 0,
            opened: None,
            snapshot: Snapshot::default(),
        }
    }

    /// Folder after folder, those nearest to the top first.
    fn all(&mut self) {
        let place = self.repository(Path::new(""));
        self.pending.push_back((PathBuf::new(), place));
        loop {
            if let Some((folder, place)) = self.pending.pop_front() {
                self.folder(&folder, place);
            } else if let Some((top, folder)) = self.aside.pop_front() {
                self.folder_aside(top, &folder);
            } else {
                return;
            }
        }
    }

    fn known_first(&mut self) {
        let known = self.known;
        let mut known: Vec<(&PathBuf, &Seen)> = known.seen.iter().collect();
        known.sort_by_key(|(_, seen)| seen.is_extra);
        for (name, _) in known {
            if !self.has_room() {
                return;
            }
            self.by_name(name);
        }
    }

    fn tracked_first(&mut self) {
        let tracked = self.coverage.indexes.of(self.root, Path::new(""));
        for name in tracked.names() {
            if !self.has_room() {
                return;
            }
            let is_name = name.components().all(|part| matches!(part, Component::Normal(_)));
            if is_name && name.components().all(|part| !self.is_never_seen(part.as_os_str())) {
                self.by_name(name);
            }
        }
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.snapshot.seen.len() < self.limits.snapshot_entries && !self.stop.is_stopped();
        self.snapshot.left_out.more |= !has_room;
        has_room
    }

    /// One name, after the folders that it stands in.
    fn by_name(&mut self, name: &Path) -> bool {
        if self.snapshot.seen.contains_key(name) {
            return true;
        }
        let (Some(above), Some(last)) = (name.parent(), name.file_name()) else { return true };
        if !self.by_name(above) || self.is_blocked(name) {
            return false;
        }
        let folder = match self.opened.take() {
            Some((opened, folder)) if opened == above => folder,
            _ => match self.root.open_exact(above) {
                Ok(folder) => folder,
                Err(_) => return false,
            },
        };
        let seen = rustix::fs::statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW).ok();
        let seen = seen.and_then(|stat| self.look(&folder, name, last, stat));
        self.opened = Some((above.to_owned(), folder));
        let is_folder = seen.as_ref().is_some_and(|seen| seen.state.is_folder());
        seen.into_iter().for_each(|seen| drop(self.snapshot.seen.insert(name.to_owned(), seen)));
        is_folder
    }

    /// What holds in a repository, or in the root.
    fn repository(&mut self, folder: &Path) -> FolderFacts {
        let ignores = Ignores::of_repository(self.root, folder, Some(&mut self.coverage.remembered));
        FolderFacts { ignores, repository: folder.into(), is_ignored: false, hop: Hop::default() }
    }

    fn folder(&mut self, name: &Path, mut place: FolderFacts) {
        // Twice as many, for what was seen before comes up again.
        let room = self.limits.snapshot_entries.saturating_mul(2).saturating_sub(self.met);
        let Ok(folder) = place.hop.open(self.root.fd(), name) else { return };
        let listing = folder.try_clone().map_err(drop);
        let listing = listing.and_then(|fd| folder::items_until(fd, room, self.stop).map_err(drop));
        let Ok((items, mut complete)) = listing else { return };
        self.stop.saw(items.len());
        self.met += items.len();
        self.snapshot.left_out.more |= !complete;
        let is_repository = items.iter().any(|item| item.name == ".git");
        if is_repository && !name.as_os_str().is_empty() {
            place = FolderFacts { hop: place.hop, ..self.repository(name) };
        }
        place.hop = place.hop.towards(self.root.fd(), name);
        let remembered = Some(&mut self.coverage.remembered);
        place.ignores = Ignores::below(&place.ignores, self.root, name, &items, remembered);
        for item in items {
            complete &= self.item(&folder, name.join(&item.name), &item, &place);
        }
        match (complete, place.is_ignored) {
            (true, false) => drop(self.snapshot.listed.insert(name.to_owned(), Some(place.ignores))),
            // What is new in an ignored folder may only be covered by now.
            (true, true) => drop(self.snapshot.read_aside.insert(name.to_owned())),
            (false, _) => {}
        }
    }

    fn is_never_seen(&self, last: &OsStr) -> bool {
        // The second are our own: output, temporary files, settings.
        last == ".git" || last.as_encoded_bytes().starts_with(b".toolfence")
    }

    fn is_blocked(&self, name: &Path) -> bool {
        let text = names::text_of(name);
        self.root.blocks(&text).is_some() || self.root.rules().protects(&text).is_some()
    }

    /// One name of a folder; `false` where there is no room for it.
    fn item(&mut self, folder: &OwnedFd, name: PathBuf, item: &Item, place: &FolderFacts) -> bool {
        let is_folder = item.kind == FileType::Directory;
        if self.is_never_seen(&item.name) {
            if item.name == ".git" {
                self.snapshot.left_out.repositories += 1;
                self.history_aside(folder, name);
            }
            return true;
        }
        let is_ignored = place.is_ignored || place.ignores.matches(&name, is_folder);
        if is_ignored && !self.is_covered_all_the_same(folder, &name, item, place) {
            self.snapshot.left_out.ignored += 1;
            self.item_aside(folder, name, &item.name, is_folder, Uncovered::Ignored);
            return true;
        }
        if self.is_blocked(&name) {
            self.snapshot.left_out.blocked += 1;
            self.item_aside(folder, name, &item.name, false, Uncovered::Blocked);
            return true;
        }
        if !self.snapshot.seen.contains_key(&name) {
            if self.snapshot.seen.len() >= self.most {
                self.snapshot.left_out.more = true;
                return false;
            }
            let Ok(stat) = rustix::fs::statat(folder, &item.name, AtFlags::SYMLINK_NOFOLLOW) else { return true };
            if let Some(known) = self.known.aside.get(&name) {
                // It is covered only now: what became of it in between is still to be told.
                let own = hash_of(0, &item.name, &stat);
                self.snapshot.aside.insert(name.clone(), Aside { why: known.why, own, below: None });
            }
            let Some(seen) = self.look(folder, &name, &item.name, stat) else { return true };
            let is_extra = self.snapshot.seen.len() >= self.limits.snapshot_entries;
            self.snapshot.seen.insert(name.clone(), Seen { is_extra, ..seen });
        }
        if self.snapshot.seen.get(&name).is_some_and(|seen| seen.state.is_folder()) {
            self.pending.push_back((name, FolderFacts { is_ignored, ..place.clone() }));
        }
        true
    }

    /// Whether a name that is ignored is covered: it is in an index, or leads to what is; the session has covered it before;
    /// it is a repository of its own; it is a file of patterns.
    fn is_covered_all_the_same(&mut self, folder: &OwnedFd, name: &Path, item: &Item, place: &FolderFacts) -> bool {
        let is_folder = item.kind == FileType::Directory;
        let is_repository = || {
            let git = Path::new(&item.name).join(".git");
            rustix::fs::statat(folder, git, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        };
        if self.snapshot.seen.contains_key(name)
            || self.is_known_now && self.known.seen.contains_key(name)
            || item.name == IGNORE_FILE && !place.is_ignored
            || is_folder && is_repository()
        {
            return true;
        }
        let tracked = self.coverage.indexes.of(self.root, &place.repository);
        let name = name.strip_prefix(&place.repository).unwrap_or(name);
        if is_folder { tracked.has_below(name) } else { tracked.has(name) }
    }

    /// A name that is left out. Its times are asked for, and later those of what is below it.
    fn item_aside(&mut self, folder: &OwnedFd, name: PathBuf, last: &OsStr, is_folder: bool, why: Uncovered) {
        if self.snapshot.aside.len() >= MOST_ASIDE {
            return;
        }
        let Ok(stat) = rustix::fs::statat(folder, last, AtFlags::SYMLINK_NOFOLLOW) else { return };
        self.snapshot.aside.insert(name.clone(), Aside { why, own: hash_of(0, last, &stat), below: Some(0) });
        if is_folder {
            self.aside.push_back((name.clone(), name));
        }
    }

    fn history_aside(&mut self, folder: &OwnedFd, name: PathBuf) {
        let own = HISTORY.iter().fold(0, |hash, part| {
            let stat = rustix::fs::statat(folder, Path::new(".git").join(part), AtFlags::SYMLINK_NOFOLLOW);
            stat.map_or(hash, |stat| hash_of(hash, OsStr::new(part), &stat))
        });
        self.snapshot.aside.insert(name, Aside { why: Uncovered::Repository, own, below: Some(0) });
    }

    /// What is in a folder that is left out. A repository in it is not left out.
    fn folder_aside(&mut self, top: PathBuf, folder: &Path) {
        let room = MOST_ASIDE_EACH.min(MOST_ASIDE.saturating_sub(self.met_aside));
        let Some(below) = self.snapshot.aside.get(&top).and_then(|aside| aside.below) else { return };
        let mut hash = below;
        let mut is_whole = room > 0;
        let opened = is_whole.then(|| self.root.open_exact(folder).ok()).flatten();
        if let Some(opened) = opened {
            let listing = opened.try_clone().ok().and_then(|fd| folder::items_until(fd, room, self.stop).ok());
            let (items, complete) = listing.unwrap_or_default();
            is_whole &= complete;
            self.met_aside += items.len();
            if items.iter().any(|item| item.name == ".git") && self.by_name(folder) {
                let place = self.repository(folder);
                self.pending.push_back((folder.to_owned(), place));
            } else {
                for item in items {
                    let Ok(stat) = rustix::fs::statat(&opened, &item.name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                    hash = hash_of(hash, &item.name, &stat);
                    if item.kind == FileType::Directory {
                        self.aside.push_back((top.clone(), folder.join(&item.name)));
                    }
                }
            }
        }
        if let Some(aside) = self.snapshot.aside.get_mut(&top) {
            aside.below = is_whole.then_some(hash);
        }
    }

    fn look(&mut self, folder: &OwnedFd, name: &Path, last: &OsStr, stat: Stat) -> Option<Seen> {
        let mut seen = self.looked(folder, name, last, stat)?;
        if matches!(seen.state, State::File { .. } | State::Folder { .. }) {
            self.attributes += seen.state.attributes().map_or(0, Attributes::bytes);
            if seen.state.attributes().is_none() || self.attributes > MOST_ATTRIBUTES {
                seen.state.forget_attributes();
                self.snapshot.left_out.attributes += 1;
            }
        }
        Some(seen)
    }

    fn looked(&mut self, folder: &OwnedFd, name: &Path, last: &OsStr, stat: Stat) -> Option<Seen> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory | FileType::Symlink => {
                let (state, _) = state::look(folder.as_fd(), last, 0, self.keep).ok()?;
                return Some(Seen { state, stamp: None, is_extra: false });
            }
            _ => return None,
        }
        let stamp = Stamp::of(&stat);
        let known = self.known.seen.get(name).filter(|seen| seen.stamp == Some(stamp));
        if Twins::possible(&stat) && !matches!(self.twins.find(&stat), Ok(None)) {
            self.snapshot.left_out.blocked += 1;
            return None;
        }
        let room = self.limits.snapshot_file_bytes.min(self.limits.snapshot_bytes.saturating_sub(self.bytes));
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
            self.snapshot.left_out.more |= stamp.bytes() <= self.limits.snapshot_file_bytes && stamp.bytes() > room;
            return Some(Seen { state, stamp: None, is_extra: false });
        };
        self.bytes += bytes;
        Some(Seen { state, stamp: self.is_settled(&stamp).then_some(stamp), is_extra: false })
    }

    /// Whether any change from now on would show in the stamp.
    fn is_settled(&self, stamp: &Stamp) -> bool {
        let (changed, tick) = stamp.changed_at();
        changed + tick < self.now
    }
}

/// Goes on from a hash with what a name was found to be.
fn hash_of(hash: u64, name: &OsStr, stat: &Stat) -> u64 {
    let mut hasher = DefaultHasher::new();
    (hash, name, Stamp::of(stat)).hash(&mut hasher);
    hasher.finish()
}

fn nanoseconds(time: SystemTime) -> i128 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}
