//! Records a turn while it is under way: every change is recorded before it is made.

use crate::changes::record::Recorder;
use crate::digest::Digest;
use crate::fault;
use crate::root::Root;
use crate::stash::Stash;
use crate::state::{Change, State};
use crate::undo::format::{self, Begin, End, Kind, Line, Note, RecordPart, VERSION, lines, parts, path_of};
use crate::undo::objects::{create_folders, sync_file};
use crate::undo::{History, Lock, now, restore, retention};
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// The maximum number of contents that are remembered as synced. Any further content is synced again.
const MOST_SETTLED: usize = 100_000;

/// The state of an open history.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) open: Option<Open>,
    /// The contents that are synced, so that they survive a power failure.
    settled: HashSet<Digest>,
    pub(crate) notes: Vec<Text>,
    /// Whether the records of earlier versions of this program were already searched for and deleted.
    has_dropped_outdated: bool,
}

/// The turn that is under way.
#[derive(Debug)]
pub(crate) struct Open {
    kind: Kind,
    title: String,
    writing: Writing,
    next: u64,
    /// Bytes of contents that were stored for this turn.
    stored: u64,
    /// Bytes of files that were moved into stashes for this turn; `None` if that is unknown.
    stashed: Option<u64>,
    /// The last state that the turn left at each name, and the number of that change.
    left: HashMap<PathBuf, (u64, State)>,
    notes: Vec<Note>,
}

#[derive(Debug)]
enum Writing {
    /// Nothing has changed yet.
    Ahead,
    On(Writer),
    /// The turn cannot be recorded.
    Off,
}

/// The open record.
#[derive(Debug)]
struct Writer {
    number: u64,
    path: PathBuf,
    file: File,
    /// Whether the directory entry of the file is synced.
    is_named: bool,
    /// Whether a line could not be written, so that only the end may follow.
    is_broken: bool,
    _lock: Lock,
}

/// When a line is written to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// Before anything else is done.
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
            // The first sync also syncs the folder, which has the directory entry.
            Sync::Now => {
                self.is_named = true;
                sync_file(&self.file, &self.path)
            }
        }
    }
}

impl Open {
    pub(crate) fn new(kind: Kind, title: &str) -> Open {
        Open {
            kind,
            title: shorten_title(title),
            writing: Writing::Ahead,
            next: 0,
            stored: 0,
            stashed: Some(0),
            left: HashMap::new(),
            notes: Vec::new(),
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

    /// Writes the last line, even if others could not be written. A line break separates it from a torn line.
    fn write_end(&mut self, end: End) -> io::Result<()> {
        // An undo without an end counts as cut short, and could not be redone.
        let sync = if self.kind == Kind::Turn { Sync::Later } else { Sync::Now };
        let Writing::On(writer) = &mut self.writing else { return Ok(()) };
        let torn = if writer.is_broken { &b"\n"[..] } else { b"" };
        let text = [torn, &serde_json::to_vec(&Line::End(end))?, b"\n"].concat();
        writer.write(&text, sync)
    }

    pub(crate) fn entitle(&mut self, title: &str) {
        if self.title.is_empty() && matches!(self.writing, Writing::Ahead) {
            self.title = shorten_title(title);
        }
    }

    fn is_recorded(&self) -> bool {
        matches!(&self.writing, Writing::On(writer) if !writer.is_broken)
    }

    fn add_note(&mut self, note: Note, to: &mut Vec<Text>) {
        if !self.notes.contains(&note) {
            to.push(note.text());
            self.notes.push(note);
        }
    }
}

impl History {
    /// Opens the record of the turn unless it is open. Returns `false` if nothing can be recorded.
    fn ready(&self, inner: &mut Inner) -> bool {
        let Some(open) = &mut inner.open else { return false };
        if matches!(open.writing, Writing::Ahead) {
            open.writing = match self.started(open) {
                Ok(Some(writing)) => writing,
                Ok(None) => {
                    inner.notes.push(text!(
                        "Another program is recording its changes in this project, so the changes of this turn cannot \
                         be undone."
                    ));
                    Writing::Off
                }
                Err(error) => {
                    inner.notes.push(self.write_failure_note(&error).text());
                    Writing::Off
                }
            };
        }
        open.is_recorded()
    }

    fn started(&self, open: &Open) -> io::Result<Option<Writing>> {
        create_folders(&self.turns())?;
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
            // A file without its first line is not a record, but would occupy its number.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(Some(Writing::On(Writer { number, path, file, is_named: false, is_broken: false, _lock: lock })))
    }

    /// Begins the record of an undo or a redo.
    ///
    /// # Errors
    /// Another program records in this project, or the record cannot be written. Nothing may be undone then.
    pub(crate) fn begin_at_once(&self, kind: Kind, title: &str) -> toolfence_protocol::Result<()> {
        let mut open = Open::new(kind, title);
        open.writing = match self.started(&open) {
            Ok(Some(writing)) => writing,
            Ok(None) => {
                return Err(toolfence_protocol::Error::with_kind(
                    toolfence_protocol::ErrorKind::Busy,
                    text!("nothing was changed: another program records in this project now"),
                ));
            }
            Err(error) => {
                let doing = text!("write {folder}, so nothing was changed", folder = self.folder.display().to_string());
                return Err(toolfence_protocol::Error::because(doing, error));
            }
        };
        self.inner().open = Some(open);
        Ok(())
    }

    fn write_failure_note(&self, error: &io::Error) -> Note {
        Note::NotAllRecorded { folder: self.folder.display().to_string(), error: error.to_string() }
    }

    /// Writes a line of the turn. If that fails, changes continue, and one note reports it.
    fn write(&self, inner: &mut Inner, line: &Line, sync: Sync) {
        let Some(open) = &mut inner.open else { return };
        if let Err(error) = open.write(line, sync) {
            open.add_note(self.write_failure_note(&error), &mut inner.notes);
        }
    }

    /// Stores a content. It is synced when a change depends on it.
    fn store_content(&self, inner: &mut Inner, content: &[u8]) -> Digest {
        let (digest, bytes) = (Digest::compute(content), content.len() as u64);
        let Inner { open: Some(open), settled, notes, .. } = inner else { return digest };
        if !open.is_recorded() {
            return digest;
        }
        let most = self.limits.bytes;
        // A content that is already stored takes no more space.
        if open.stored.saturating_add(bytes) > most && !self.objects.contains(digest, bytes) {
            open.add_note(Note::TooMuchChanged { most: most >> 20 }, notes);
            return digest;
        }
        match self.objects.store(digest, content, settled.contains(&digest)) {
            Ok(0) => {}
            Ok(bytes) => {
                open.stored += bytes;
                // The content was missing, so its new copy must be synced.
                settled.remove(&digest);
            }
            Err(error) => self.not_kept(open, &error, notes),
        }
        digest
    }

    /// Writes the line of an exchange that is about to be made. Returns its number and the file of the record.
    pub(crate) fn write_exchange(
        &self,
        stash: &Path,
        names: u64,
        bytes: u64,
        is_forward: bool,
    ) -> Option<(u64, PathBuf)> {
        let mut inner = self.inner();
        if !self.ready(&mut inner) {
            return None;
        }
        let open = inner.open.as_mut()?;
        let number = open.next;
        open.next += 1;
        // An undo puts other files into the stash than were counted.
        open.stashed = open.stashed.filter(|_| open.kind == Kind::Turn).map(|stashed| stashed.saturating_add(bytes));
        // The exchange can change names that a tool changed before.
        open.left.clear();
        let stash = stash.to_owned();
        self.write(&mut inner, &Line::Exchange { number, stash, names, is_forward }, Sync::Now);
        let open = inner.open.as_ref()?;
        match &open.writing {
            Writing::On(writer) if !writer.is_broken => Some((number, writer.path.clone())),
            _ => None,
        }
    }

    /// Reports that a content could not be stored. A turn continues without a record. An undo must not, because its
    /// changes could not be reverted.
    fn not_kept(&self, open: &mut Open, error: &io::Error, notes: &mut Vec<Text>) {
        open.add_note(self.write_failure_note(error), notes);
        if let (Kind::Undo(_) | Kind::Redo(_), Writing::On(writer)) = (open.kind, &mut open.writing) {
            writer.is_broken = true;
        }
    }

    /// Waits until the contents that are needed to undo these changes are on the disk. States that the turn itself left
    /// are not needed: an undo restores those before it.
    fn sync_old_contents(&self, inner: &mut Inner, changes: &[Change]) {
        let Inner { open: Some(open), settled, notes, .. } = inner else { return };
        if !open.is_recorded() {
            return;
        }
        let mut unsettled = HashSet::new();
        for change in changes {
            let is_own = open.left.get(&change.name).is_some_and(|(_, left)| left.equals(&change.before));
            let Some((digest, bytes)) = change.before.content().filter(|_| !is_own) else { continue };
            // A missing content was not stored, which already has a note.
            if !settled.contains(&digest) && self.objects.contains(digest, bytes) {
                unsettled.insert(digest);
            }
        }
        match self.objects.sync(&unsettled) {
            Ok(()) if settled.len() < MOST_SETTLED => settled.extend(unsettled),
            Ok(()) => {}
            Err(error) => self.not_kept(open, &error, notes),
        }
    }

    /// Ends the turn that is under way, if there is one.
    pub(crate) fn end(&self) {
        self.close(&mut self.inner(), false, false);
    }

    /// Ends an undo or a redo. If `is_whole`, it counts even if it changed nothing because everything was already
    /// restored.
    pub(crate) fn end_applied(&self, is_whole: bool) {
        self.close(&mut self.inner(), false, is_whole);
    }

    fn close(&self, inner: &mut Inner, killed: bool, keep_empty: bool) {
        let Some(mut open) = inner.open.take() else { return };
        let Writing::On(Writer { number, .. }) = open.writing else { return };
        let path = path_of(&self.turns(), number);
        // Counted in the record, because changes can have been revoked or can cancel each other out.
        let names = lines(&path).map_or(0, |lines| {
            let names =
                |part: &RecordPart| if let RecordPart::Names(net) = part { net.changes.len() as u64 } else { 0 };
            let exchanged: u64 = format::exchanges(&lines).map(|(_, names)| names).sum();
            parts(&lines).iter().map(names).sum::<u64>() + exchanged
        });
        if names == 0 && !keep_empty {
            // An empty record would count as a turn after the last undo, and prevent a redo.
            let _ = std::fs::remove_file(path);
            return;
        }
        let notes = std::mem::take(&mut open.notes);
        // If the end cannot be written, the next turn that begins ends this one.
        let _ = open.write_end(End { names, killed, notes });
        // The bytes of a turn that was cut short are unknown.
        let stored = open.stashed.filter(|_| !killed).map(|stashed| stashed.saturating_add(open.stored));
        retention::retain(self, stored);
    }

    /// Ends a turn whose process was killed. Its last change or exchange may not have been made.
    pub(crate) fn recover(&self, inner: &mut Inner, root: &Root) {
        if inner.open.is_some() {
            return;
        }
        self.drop_outdated(inner);
        let cut_short = || format::heads(&self.turns()).pop().filter(|head| head.end.is_none());
        if cut_short().is_none() {
            return;
        }
        // The process that holds the lock may be writing this record.
        let Ok(Some(lock)) = self.lock() else { return };
        // The process that held the lock may have ended the turn.
        let Some(head) = cut_short() else { return };
        let Ok(lines) = lines(&head.path) else { return };
        let Ok(mut file) = appending(&head.path, false) else { return };
        // A torn line must not become the beginning of the next one.
        if file.write_all(b"\n").is_err() {
            return;
        }
        let mut open = Open::new(head.begin.kind, &head.begin.title);
        let (number, path) = (head.number, head.path.clone());
        let writer = Writer { number, path, file, is_named: false, is_broken: false, _lock: lock };
        open.writing = Writing::On(writer);
        let numbers = lines.iter().map(|line| match line {
            Line::Change { number, .. } | Line::Exchange { number, .. } => number + 1,
            _ => 0,
        });
        open.next = numbers.max().unwrap_or(0);
        self.revoke_undone(&mut open, &lines, root);
        inner.open = Some(open);
        self.close(inner, true, false);
    }

    /// Deletes the records of earlier versions of this program, once. Those versions found changes by comparing the
    /// project, and their records have another format.
    fn drop_outdated(&self, inner: &mut Inner) {
        if std::mem::replace(&mut inner.has_dropped_outdated, true) {
            return;
        }
        let outdated = format::outdated(&self.turns());
        if outdated.is_empty() {
            return;
        }
        let Ok(Some(_lock)) = self.lock() else { return };
        for path in
            outdated.iter().map(PathBuf::as_path).chain([&*self.folder.join("index"), &*self.folder.join("alive")])
        {
            let _ = std::fs::remove_file(path);
        }
        retention::retain(self, None);
        inner.notes.push(text!(
            "The turns that an earlier version of this program recorded can no longer be undone; their records were \
             deleted."
        ));
    }

    /// Records that the last change, or a part of it, was not made.
    fn revoke_undone(&self, open: &mut Open, lines: &[Line], root: &Root) {
        let is_change = |line: &&Line| matches!(line, Line::Change { .. } | Line::Exchange { .. });
        match lines.iter().rev().find(is_change) {
            Some(Line::Change { number, changes }) => {
                let was_made = |change: &&Change| !restore::is_still(root, &change.name, &change.before);
                let made: Vec<Change> = changes.iter().filter(was_made).cloned().collect();
                if made.len() < changes.len() {
                    let _ = open.write(&Line::Unchanged { number: *number }, Sync::Later);
                    let _ = open.write(&Line::Change { number: open.next, changes: made }, Sync::Later);
                    open.next += 1;
                }
            }
            // An exchange of an undo that was not made can be made by the next undo.
            Some(Line::Exchange { number, stash, .. }) if open.kind == Kind::Turn => {
                let Writing::On(Writer { path: record, .. }) = &open.writing else { return };
                let stash = Stash::open_recorded(stash, record);
                if stash.as_ref().is_ok_and(Stash::has_exchanged) {
                    return;
                }
                let _ = open.write(&Line::Unchanged { number: *number }, Sync::Later);
                let _ = stash.map(Stash::delete);
            }
            _ => {}
        }
    }
}

/// Shortens a title to the length that is stored.
fn shorten_title(title: &str) -> String {
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
        self.store_content(&mut self.inner(), content)
    }

    fn changing(&self, changes: Vec<Change>) -> u64 {
        let mut inner = self.inner();
        let Some(open) = &mut inner.open else { return 0 };
        let number = open.next;
        open.next += 1;
        // The record may refer to an old content only after that content is on the disk.
        self.sync_old_contents(&mut inner, &changes);
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

    fn exchanging(&self, stash: &Path, names: u64, bytes: u64) -> Option<(u64, PathBuf)> {
        self.write_exchange(stash, names, bytes, true)
    }
}
