//! A turn while it is under way: what is about to change is written down first.

use crate::changes::record::Recorder;
use crate::digest::Digest;
use crate::root::Root;
use crate::state::{Change, State};
use crate::stop::Stop;
use crate::undo::Limits;
use crate::undo::alive::{self, Heart, Moment};
use crate::undo::apply::moves;
use crate::undo::format::{self, Begin, End, Kind, Line, Note, VERSION, lines, net, path_of};
use crate::undo::objects::{made, settled};
use crate::undo::retention::{self, Index};
use crate::undo::snapshot::{Coverage, LeftOut, Snapshot, Uncovered};
use crate::undo::{History, Lock, now, restore};
use crate::{fault, messages, names};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// Contents that are known to be on the disk; more are asked about again.
const MOST_SETTLED: usize = 100_000;

/// What a history knows while it is open.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) open: Option<Open>,
    /// Commands that run.
    pub(crate) running: usize,
    /// The last look at the project.
    seen: Option<Index>,
    /// Contents that are on the disk, whatever becomes of the machine.
    settled: HashSet<Digest>,
    pub(crate) notes: Vec<Text>,
    /// What this session's looks have to cover.
    coverage: Coverage,
    /// Whether it was said that the project is over the limits.
    told_more: bool,
    /// Names that commands changed and that undo does not cover, until they are asked for.
    uncovered: Vec<(PathBuf, Uncovered)>,
    /// Beats while commands run whose end has still to be looked at.
    heart: Option<Heart>,
}

/// The turn that is under way.
#[derive(Debug)]
pub(crate) struct Open {
    kind: Kind,
    title: String,
    writing: Writing,
    next: u64,
    /// Bytes of contents that were kept for it.
    stored: u64,
    /// What was there when commands began to run, and the number of the next change then.
    before: Option<(Index, u64)>,
    /// What the turn left last under each name, and by which change.
    left: HashMap<PathBuf, (u64, State)>,
    left_out: LeftOut,
    notes: Vec<Note>,
    /// Names that are not covered, and that changed while commands ran.
    aside: BTreeSet<PathBuf>,
    /// Whether commands changed anything that is covered.
    by_commands: bool,
    /// When it was last seen to be alive, of one that was cut short.
    last_sign: Option<Moment>,
}

#[derive(Debug)]
enum Writing {
    /// Nothing has changed yet.
    Ahead,
    On(Writer),
    /// It cannot be recorded.
    Off,
}

/// The record while it is written.
#[derive(Debug)]
struct Writer {
    number: u64,
    path: PathBuf,
    file: File,
    /// Whether its name is on the disk.
    is_named: bool,
    /// Whether a line could not be written, so that no more must follow but the end.
    is_broken: bool,
    _lock: Lock,
}

/// How a line gets to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// It is there before anything else is done.
    Now,
    /// When the system finds time.
    Later,
}

impl Writer {
    fn write(&mut self, text: &[u8], sync: Sync) -> io::Result<()> {
        fault::point();
        self.file.write_all(text)?;
        fault::point();
        match sync {
            Sync::Later => Ok(()),
            Sync::Now if self.is_named => {
                self.file.sync_data()?;
                fault::settled(&self.path);
                Ok(())
            }
            Sync::Now => {
                self.is_named = true;
                settled(&self.file, &self.path)
            }
        }
    }
}

impl Open {
    pub(crate) fn new(kind: Kind, title: &str) -> Open {
        Open {
            kind,
            title: line_of(title),
            writing: Writing::Ahead,
            next: 0,
            stored: 0,
            before: None,
            left: HashMap::new(),
            left_out: LeftOut::default(),
            notes: Vec::new(),
            aside: BTreeSet::new(),
            by_commands: false,
            last_sign: None,
        }
    }

    fn write(&mut self, line: &Line, sync: Sync) -> io::Result<()> {
        let Writing::On(writer) = &mut self.writing else { return Ok(()) };
        if writer.is_broken {
            return Ok(());
        }
        let text = [serde_json::to_vec(line)?.as_slice(), b"\n"].concat();
        let written = writer.write(&text, sync);
        writer.is_broken = written.is_err();
        written
    }

    /// Parts the changes of a turn that was cut short into its own and those that another process may have made after it. What a tool was about
    /// to leave is known to be its work.
    fn told_apart(&self, root: &Root, changes: Vec<Change>) -> (Vec<Change>, Vec<Change>) {
        let Some(last) = &self.last_sign else { return (changes, Vec::new()) };
        let is_own = |change: &Change| self.left.get(&change.name).is_some_and(|(_, left)| left.is(&change.after));
        let before = |change: &Change| {
            let changed = restore::changed_at(root, &change.name);
            changed.is_some_and(|(changed, tick)| changed + tick < last.nanoseconds())
        };
        let (own, mut later): (Vec<Change>, Vec<Change>) =
            changes.into_iter().partition(|change| is_own(change) || before(change));
        // Only now, for it changes the time of the root. Of no use are times by a clock that was set, or by another.
        if own.is_empty() || last.leads_to(&Moment::now(), restore::file_time(root)) {
            return (own, later);
        }
        let (own, doubtful): (Vec<Change>, Vec<Change>) = own.into_iter().partition(is_own);
        later.extend(doubtful);
        (own, later)
    }

    /// The last line, also where others could not be written: what is torn must not be taken for its beginning.
    fn write_end(&mut self, end: End) -> io::Result<()> {
        // Without its end an undo counts as cut short, and could not be redone.
        let sync = if self.kind == Kind::Turn { Sync::Later } else { Sync::Now };
        let Writing::On(writer) = &mut self.writing else { return Ok(()) };
        let torn = if writer.is_broken { &b"\n"[..] } else { b"" };
        let text = [torn, &serde_json::to_vec(&Line::End(end))?, b"\n"].concat();
        writer.write(&text, sync)
    }

    pub(crate) fn entitle(&mut self, title: &str) {
        if self.title.is_empty() && matches!(self.writing, Writing::Ahead) {
            self.title = line_of(title);
        }
    }

    fn is_recorded(&self) -> bool {
        matches!(&self.writing, Writing::On(writer) if !writer.is_broken)
    }

    fn say(&mut self, note: Note, to: &mut Vec<Text>) {
        if !self.notes.contains(&note) {
            to.push(note.text());
            self.notes.push(note);
        }
    }
}

impl History {
    /// Opens a record for the turn, if there is none yet; `false` where nothing can be recorded.
    fn ready(&self, inner: &mut Inner) -> bool {
        let Some(open) = &mut inner.open else { return false };
        if matches!(open.writing, Writing::Ahead) {
            open.writing = match self.started(open) {
                Ok(Some(writing)) => writing,
                Ok(None) => {
                    inner.notes.push(messages::not_recorded());
                    Writing::Off
                }
                Err(error) => {
                    inner.notes.push(self.trouble(&error).text());
                    Writing::Off
                }
            };
        }
        open.is_recorded()
    }

    fn started(&self, open: &Open) -> io::Result<Option<Writing>> {
        made(&self.turns())?;
        let Some(lock) = self.lock()? else { return Ok(None) };
        let number = format::numbered(&self.turns()).last().map_or(1, |(number, _)| number.saturating_add(1));
        let begin =
            Begin { v: VERSION, kind: open.kind, at: now(), session: self.session.clone(), title: open.title.clone() };
        let mut text = serde_json::to_vec(&Line::Begin(begin))?;
        text.push(b'\n');
        let path = path_of(&self.turns(), number);
        let mut file = appending(&path, true)?;
        fault::point();
        if let Err(error) = file.write_all(&text) {
            // Without its first line it is no record, and its number would be taken.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(Some(Writing::On(Writer { number, path, file, is_named: false, is_broken: false, _lock: lock })))
    }

    /// Begins the record of an undo or a redo.
    ///
    /// # Errors
    /// Another program records, or nothing can be written: then nothing must be undone either.
    pub(crate) fn begin_at_once(&self, kind: Kind, title: &str) -> toolfence_protocol::Result<()> {
        let mut open = Open::new(kind, title);
        open.writing = match self.started(&open) {
            Ok(Some(writing)) => writing,
            Ok(None) => {
                return Err(toolfence_protocol::Error::with_kind(
                    toolfence_protocol::ErrorKind::Busy,
                    messages::another_records(),
                ));
            }
            Err(error) => {
                let doing = messages::write_folder(self.folder.display().to_string());
                return Err(toolfence_protocol::Error::because(doing, error));
            }
        };
        self.inner().open = Some(open);
        Ok(())
    }

    fn trouble(&self, error: &io::Error) -> Note {
        Note::NotAllRecorded { folder: self.folder.display().to_string(), error: error.to_string() }
    }

    /// Writes a line of the turn. Where that fails, changes go on and it is said once.
    fn write(&self, inner: &mut Inner, line: &Line, sync: Sync) {
        let Some(open) = &mut inner.open else { return };
        if let Err(error) = open.write(line, sync) {
            open.say(self.trouble(&error), &mut inner.notes);
        }
    }

    /// Keeps a content. Whether it is on the disk is asked when something depends on it.
    fn stored(&self, inner: &mut Inner, content: &[u8], enough: bool) -> Digest {
        let (digest, bytes) = (Digest::of(content), content.len() as u64);
        let Inner { open: Some(open), settled, notes, .. } = inner else { return digest };
        if !open.is_recorded() {
            return digest;
        }
        let most = self.limits.bytes;
        if open.stored.saturating_add(bytes) > most && !self.objects.has(digest, bytes) {
            open.say(Note::TooMuchChanged { most: most >> 20 }, notes);
            return digest;
        }
        match self.objects.put(digest, content, enough || settled.contains(&digest)) {
            Ok(0) => {}
            Ok(bytes) => {
                open.stored += bytes;
                settled.remove(&digest);
            }
            Err(error) => self.not_kept(open, &error, notes),
        }
        digest
    }

    /// A turn goes on without. An undo must not: what it takes away could not be had back.
    fn not_kept(&self, open: &mut Open, error: &io::Error, notes: &mut Vec<Text>) {
        open.say(self.trouble(error), notes);
        if let (Kind::Undo(_) | Kind::Redo(_), Writing::On(writer)) = (open.kind, &mut open.writing) {
            writer.is_broken = true;
        }
    }

    /// Waits until what it takes to undo these changes is on the disk. What the turn itself left under a name is not among it:
    /// an undo goes back to what was there before.
    fn settle(&self, inner: &mut Inner, changes: &[Change]) {
        let Inner { open: Some(open), settled, notes, .. } = inner else { return };
        if !open.is_recorded() {
            return;
        }
        let mut unsettled = HashSet::new();
        for change in changes {
            let is_own = open.left.get(&change.name).is_some_and(|(_, left)| left.is(&change.before));
            let Some((digest, bytes)) = change.before.content().filter(|_| !is_own) else { continue };
            // One that does not exist was not kept, which has a note already.
            if !settled.contains(&digest) && self.objects.has(digest, bytes) {
                unsettled.insert(digest);
            }
        }
        match self.objects.settle(&unsettled) {
            Ok(()) if settled.len() < MOST_SETTLED => settled.extend(unsettled),
            Ok(()) => {}
            Err(error) => self.not_kept(open, &error, notes),
        }
    }

    /// What is there when commands begin to run.
    pub(crate) fn look_before(&self, inner: &mut Inner, root: &Root, stop: &Stop) {
        if !self.ready(inner) || inner.open.as_ref().is_none_or(|open| open.before.is_some()) {
            return;
        }
        let path = self.folder.join("index");
        let known = inner.seen.take().or_else(|| retention::read_index(&path)).unwrap_or_default();
        let mut index = known.followed_by(self.look(inner, root, &known.snapshot, stop));
        // After a crash it is what tells what the commands did.
        let written = index.keep(&path);
        let Some(open) = &mut inner.open else { return };
        let (since, index_id) = (open.next, index.id.clone());
        open.before = Some((index, since));
        match written {
            Ok(()) => {
                let moment = Some(Moment::now());
                self.write(inner, &Line::Running { since, index: index_id, moment }, Sync::Later);
                // Without it the moment above is the last that is known.
                inner.heart = Heart::start(&alive::file(&self.folder), &self.session).ok();
            }
            // Without that line a crash leaves what the commands did to nobody.
            Err(error) => open.say(self.trouble(&error), &mut inner.notes),
        }
    }

    /// What is there when they have ended.
    fn look_after(&self, inner: &mut Inner, root: &Root, stop: &Stop) {
        let Some((before, since)) = inner.open.as_mut().and_then(|open| open.before.take()) else { return };
        let after = self.look(inner, root, &before.snapshot, stop);
        let mut keep = |content: &[u8]| self.stored(inner, content, true);
        let changes = before.snapshot.changes_until(root, &after, self.limits, &mut keep);
        // To its end, since what is told now is told by what was there before.
        inner.heart = None;
        let (changes, later) = match inner.open.as_ref() {
            Some(open) => open.told_apart(root, changes),
            None => (changes, Vec::new()),
        };
        let left_out = after.left_out;
        if let Some(open) = &mut inner.open {
            open.left_out = left_out;
            let aside = before.snapshot.changed_aside(&after).map(|(name, why)| (name.to_owned(), why));
            let new: Vec<(PathBuf, Uncovered)> = aside.filter(|(name, _)| open.aside.insert(name.clone())).collect();
            // Undo neither restores nor removes a file whose content was not kept: it only moves it back.
            let moves = moves(changes.iter().map(|change| (change.name.as_path(), &change.after, &change.before)));
            let moved: HashSet<&Path> = moves.iter().flat_map(|(old, (new, _))| [*old, *new]).collect();
            let is_lost = |change: &&Change| {
                let is_unkept = |state: &State| matches!(state, State::Unkept { .. });
                (is_unkept(&change.before) || is_unkept(&change.after)) && !moved.contains(change.name.as_path())
            };
            let lost = changes.iter().filter(is_lost).map(|change| (change.name.clone(), Uncovered::NotKept));
            inner.uncovered.extend(new.into_iter().chain(lost));
            open.by_commands |= !changes.is_empty();
            // Now and then they left what a tool had left before them.
            changes.iter().for_each(|change| drop(open.left.remove(&change.name)));
        }
        self.write(inner, &Line::Commands { since, changes, left_out, later }, Sync::Later);
        inner.seen = Some(before.followed_by(after));
    }

    fn look(&self, inner: &mut Inner, root: &Root, known: &Snapshot, stop: &Stop) -> Snapshot {
        let mut coverage = std::mem::take(&mut inner.coverage);
        let mut keep = |content: &[u8]| self.stored(inner, content, true);
        let snapshot = Snapshot::take(root, self.limits, known, &mut coverage, &mut keep, stop);
        inner.coverage = coverage;
        if snapshot.left_out.more && !std::mem::replace(&mut inner.told_more, true) {
            let Limits { snapshot_entries: entries, snapshot_bytes: bytes, .. } = self.limits;
            inner.notes.push(messages::project_too_big(entries, bytes >> 20));
        }
        snapshot
    }

    /// Ends the turn that is under way, if one is.
    pub(crate) fn end(&self, root: &Root) {
        let mut inner = self.inner();
        self.look_after(&mut inner, root, &Stop::default());
        let running = inner.running > 0;
        if let Some(open) = inner.open.as_mut().filter(|_| running) {
            open.notes.push(Note::JobWentOn);
        }
        self.close(&mut inner, false, false);
    }

    /// Ends an undo or a redo; one that did nothing may still have found all as it should be.
    pub(crate) fn end_applied(&self, was_empty_right: bool) {
        self.close(&mut self.inner(), false, was_empty_right);
    }

    fn close(&self, inner: &mut Inner, killed: bool, keep_empty: bool) {
        let Some(mut open) = inner.open.take() else { return };
        let Writing::On(Writer { number, .. }) = open.writing else { return };
        let path = path_of(&self.turns(), number);
        let names = lines(&path).map(|lines| net(&lines));
        let names = names.map_or(0, |net| (net.changes.len() + net.later.len()) as u64);
        if names == 0 && open.aside.is_empty() && !keep_empty {
            // It ends nothing that can be redone.
            let _ = std::fs::remove_file(path);
            return;
        }
        let mut notes = std::mem::take(&mut open.notes);
        notes.extend(aside_note(&open.aside));
        let (left_out, by_commands) = (open.left_out, open.by_commands);
        let end = End { names, killed, notes, left_out, by_commands, aside: open.aside.len() as u64 };
        // One without an end is ended by the next that begins.
        let _ = open.write_end(end);
        retention::retain(self, if killed { None } else { Some(open.stored) });
    }

    /// Ends a turn whose program was killed. What commands that ran then have changed is told by what is there now, as far as
    /// that is clearly older than the last sign of life.
    pub(crate) fn recover(&self, inner: &mut Inner, root: &Root) {
        if inner.open.is_some() {
            return;
        }
        let cut_short = || format::heads(&self.turns()).pop().filter(|head| head.end.is_none());
        if cut_short().is_none() {
            return;
        }
        // Whoever holds the lock may be at work on it.
        let Ok(Some(lock)) = self.lock() else { return };
        let Some(head) = cut_short() else { return };
        let Ok(lines) = lines(&head.path) else { return };
        let Ok(mut file) = appending(&head.path, false) else { return };
        // What was torn off must not be taken for the beginning of what comes.
        if file.write_all(b"\n").is_err() {
            return;
        }
        let mut open = Open::new(head.begin.kind, &head.begin.title);
        let (number, path) = (head.number, head.path.clone());
        let writer = Writer { number, path, file, is_named: false, is_broken: false, _lock: lock };
        open.writing = Writing::On(writer);
        open.next = lines.iter().filter(|line| matches!(line, Line::Change { .. })).count() as u64;
        let running = lines.iter().rev().find_map(|line| match line {
            Line::Running { since, index, moment } => Some(Some((*since, index, moment))),
            Line::Commands { .. } => Some(None),
            _ => None,
        });
        let index = || retention::read_index(&self.folder.join("index"));
        let running = running.flatten();
        open.before = running.and_then(|(since, id, _)| Some((index().filter(|index| index.id == *id)?, since)));
        let began = running.and_then(|(_, _, moment)| moment.clone());
        let began = began.unwrap_or_else(|| Moment::of_milliseconds(head.begin.at));
        let sign = alive::last(&alive::file(&self.folder), &head.begin.session);
        open.last_sign = Some(sign.filter(|sign| sign.nanoseconds() > began.nanoseconds()).unwrap_or(began));
        self.revoke_undone(&mut open, &lines, root);
        for (number, change) in format::made(&lines) {
            open.left.insert(change.name.clone(), (number, change.after.clone()));
        }
        inner.open = Some(open);
        self.look_after(inner, root, &Stop::default());
        self.close(inner, true, false);
    }

    /// A sign of life at once.
    #[cfg(test)]
    pub(crate) fn beat(&self) {
        self.inner().heart.iter().for_each(Heart::beat);
    }

    /// Writes down that the last recorded change, or a part of it, was not made.
    fn revoke_undone(&self, open: &mut Open, lines: &[Line], root: &Root) {
        let last = lines.iter().rev().find_map(|line| match line {
            Line::Change { number, changes } => Some((*number, changes)),
            _ => None,
        });
        let Some((number, changes)) = last else { return };
        let made: Vec<Change> =
            changes.iter().filter(|change| !restore::is_still(root, &change.name, &change.before)).cloned().collect();
        if made.len() < changes.len() {
            let _ = open.write(&Line::Unchanged { number }, Sync::Later);
            let _ = open.write(&Line::Change { number: open.next, changes: made }, Sync::Later);
            open.next += 1;
        }
    }
}

/// Names that changed and do not come back.
fn aside_note(aside: &BTreeSet<PathBuf>) -> Option<Note> {
    /// So many are named.
    const MOST: usize = 5;
    let named: Vec<String> = aside.iter().take(MOST).map(|name| names::shown(name)).collect();
    let more = aside.len().saturating_sub(MOST) as u64;
    (!named.is_empty()).then_some(Note::ChangedAside { names: named, more })
}

/// What undo will not take back of a command.
pub(crate) fn uncovered_text(uncovered: &[(PathBuf, Uncovered)]) -> Option<Text> {
    /// So many are named.
    const MOST: usize = 10;
    let reason = |(name, why): &(PathBuf, Uncovered)| {
        let name = names::shown(name);
        match why {
            Uncovered::Ignored => text!("{name} (git ignores it)", name),
            Uncovered::Blocked => text!("{name} (blocked)", name),
            Uncovered::Repository => name.into(),
            Uncovered::NotKept => text!("{name} (too large, or unreadable)", name),
        }
    };
    let named = Text::join(uncovered.iter().take(MOST).map(reason), ", ");
    let names = match uncovered.len().saturating_sub(MOST) {
        0 => named,
        more => messages::and_more(named, more as u64),
    };
    (!uncovered.is_empty()).then(|| text!("Undo does not cover what the command changed here: {names}.", names))
}

/// So much of a title as is kept.
fn line_of(title: &str) -> String {
    title.lines().next().unwrap_or_default().chars().take(200).collect()
}

fn appending(path: &Path, new: bool) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(new).mode(0o600).open(path)
}

impl Recorder for History {
    fn is_recording(&self) -> bool {
        let mut inner = self.inner();
        self.ready(&mut inner)
    }

    fn keep(&self, content: &[u8]) -> Digest {
        self.stored(&mut self.inner(), content, false)
    }

    fn changing(&self, changes: Vec<Change>) -> u64 {
        let mut inner = self.inner();
        for change in &changes {
            inner.coverage.changing(change, |digest, bytes| self.objects.get(digest, bytes));
        }
        let Some(open) = &mut inner.open else { return 0 };
        let number = open.next;
        open.next += 1;
        self.settle(&mut inner, &changes);
        if let Some(open) = &mut inner.open {
            let left = changes.iter().map(|change| (change.name.clone(), (number, change.after.clone())));
            open.left.extend(left);
        }
        self.write(&mut inner, &Line::Change { number, changes }, Sync::Now);
        number
    }

    fn unchanged(&self, number: u64) {
        let mut inner = self.inner();
        if let Some(open) = &mut inner.open {
            open.left.retain(|_, (change, _)| *change != number);
        }
        self.write(&mut inner, &Line::Unchanged { number }, Sync::Later);
    }

    fn command_begins(&self, root: &Root, stop: &Stop) {
        let mut inner = self.inner();
        inner.running += 1;
        self.look_before(&mut inner, root, stop);
    }

    fn command_ended(&self, root: &Root, stop: &Stop) {
        let mut inner = self.inner();
        inner.running = inner.running.saturating_sub(1);
        if inner.running == 0 {
            self.look_after(&mut inner, root, stop);
        }
    }

    fn take_uncovered(&self) -> Option<Text> {
        let mut uncovered = std::mem::take(&mut self.inner().uncovered);
        uncovered.sort_by(|one, other| one.0.cmp(&other.0));
        uncovered_text(&uncovered)
    }

    fn command_dropped(&self) {
        let mut inner = self.inner();
        inner.running = inner.running.saturating_sub(1);
    }
}
