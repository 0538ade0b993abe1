//! A turn while it is under way: what is about to change is written down first.

use super::objects::{Sync, made};
use super::record::{Begin, End, Kind, Line, VERSION, lines, net, path_of};
use super::{History, Lock, keep, now, record};
use crate::workspace::{Change, Digest, LeftOut, Recorder, Snapshot, Stop, Workspace, fault};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What a history knows while it is open.
#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) open: Option<Open>,
    /// Commands that run.
    pub(super) running: usize,
    /// The last look at the project.
    seen: Option<Snapshot>,
    pub(super) notes: Vec<String>,
}

/// The turn that is under way.
#[derive(Debug)]
pub(super) struct Open {
    kind: Kind,
    title: String,
    writing: Writing,
    next: u64,
    /// Bytes of contents that were kept for it.
    stored: u64,
    /// What was there when commands began to run, and the number of the next change then.
    before: Option<(Snapshot, u64)>,
    left_out: LeftOut,
    notes: Vec<String>,
}

#[derive(Debug)]
enum Writing {
    /// Nothing has changed yet.
    Ahead,
    On {
        number: u64,
        file: File,
        _lock: Lock,
    },
    /// It cannot be recorded.
    Off,
}

impl Open {
    pub(super) fn new(kind: Kind, title: &str) -> Open {
        let title = title.lines().next().unwrap_or_default().chars().take(200).collect();
        let (writing, left_out) = (Writing::Ahead, LeftOut::default());
        Open { kind, title, writing, next: 0, stored: 0, before: None, left_out, notes: Vec::new() }
    }

    fn write(&mut self, line: &Line, sync: Sync) -> io::Result<()> {
        let Writing::On { file, .. } = &mut self.writing else { return Ok(()) };
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        fault::point();
        file.write_all(&text)?;
        fault::point();
        if sync == Sync::Now { file.sync_data() } else { Ok(()) }
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
                    inner.notes.push("Another program records what it changes in this project now, so what this turn changes cannot be undone.".into());
                    Writing::Off
                }
                Err(error) => {
                    inner.notes.push(self.trouble(&error));
                    Writing::Off
                }
            };
        }
        matches!(open.writing, Writing::On { .. })
    }

    fn started(&self, open: &Open) -> io::Result<Option<Writing>> {
        made(&self.turns())?;
        let Some(lock) = self.lock()? else { return Ok(None) };
        let number = record::numbered(&self.turns()).last().map_or(1, |(number, _)| number.saturating_add(1));
        let begin =
            Begin { v: VERSION, kind: open.kind, at: now(), session: self.session.clone(), title: open.title.clone() };
        let mut text = serde_json::to_vec(&Line::Begin(begin))?;
        text.push(b'\n');
        let mut file = appending(&path_of(&self.turns(), number), true)?;
        fault::point();
        file.write_all(&text)?;
        Ok(Some(Writing::On { number, file, _lock: lock }))
    }

    /// Begins the record of an undo or a redo.
    ///
    /// # Errors
    /// Somebody else records, or nothing can be written: then nothing must be undone either.
    pub(super) fn begin_at_once(&self, kind: Kind, title: &str) -> crate::Result<()> {
        let mut inner = self.inner();
        inner.open = Some(Open::new(kind, title));
        if self.ready(&mut inner) {
            return Ok(());
        }
        inner.open = None;
        let why = inner.notes.pop().unwrap_or_default();
        Err(crate::Error::new(format!("nothing was changed: {why}")))
    }

    fn trouble(&self, error: &io::Error) -> String {
        let folder = self.folder.display();
        format!("What this turn changes cannot all be undone: {folder} cannot be written ({error}).")
    }

    /// Writes a line of the turn. Where that fails, changes go on and it is said once.
    fn write(&self, inner: &mut Inner, line: &Line, sync: Sync) {
        let Some(open) = &mut inner.open else { return };
        if let Err(error) = open.write(line, sync) {
            // What is not written down must not be followed by what is.
            open.writing = Writing::Off;
            inner.notes.push(self.trouble(&error));
        }
    }

    fn stored(&self, inner: &mut Inner, content: &[u8], sync: Sync) -> Digest {
        let digest = Digest::of(content);
        let Some(open) = &mut inner.open else { return digest };
        if matches!(open.writing, Writing::Off) {
            return digest;
        }
        let note = match self.objects.put(digest, content, sync) {
            _ if open.stored > self.limits.bytes => format!(
                "More than {} MiB changed in this turn; the rest of it cannot be undone.",
                self.limits.bytes >> 20
            ),
            Ok(bytes) => {
                open.stored += bytes;
                return digest;
            }
            Err(error) => self.trouble(&error),
        };
        if !open.notes.contains(&note) {
            open.notes.push(note.clone());
            inner.notes.push(note);
        }
        digest
    }

    /// What is there when commands begin to run.
    pub(super) fn look_before(&self, inner: &mut Inner, workspace: &Workspace, stop: &Stop) {
        if !self.ready(inner) || inner.open.as_ref().is_none_or(|open| open.before.is_some()) {
            return;
        }
        let index = self.folder.join("index");
        let known = inner.seen.take().or_else(|| keep::read_index(&index)).unwrap_or_default();
        let snapshot = self.look(inner, workspace, &known, stop);
        // After a crash it is what tells what the commands did.
        let written = keep::write_index(&index, &snapshot, &known);
        if let Err(error) = written {
            inner.notes.push(self.trouble(&error));
        }
        let Some(open) = &mut inner.open else { return };
        let since = open.next;
        open.before = Some((snapshot, since));
        self.write(inner, &Line::Running { since }, Sync::Later);
    }

    /// What is there when they have ended.
    fn look_after(&self, inner: &mut Inner, workspace: &Workspace, stop: &Stop) {
        let Some((before, since)) = inner.open.as_mut().and_then(|open| open.before.take()) else { return };
        let after = self.look(inner, workspace, &before, stop);
        let changes = workspace
            .changes(&before, &after, self.limits.snapshot, &mut |content| self.stored(inner, content, Sync::Later));
        let left_out = after.left_out;
        if let Some(open) = &mut inner.open {
            open.left_out = left_out;
        }
        self.write(inner, &Line::Commands { since, changes, left_out }, Sync::Later);
        inner.seen = Some(after);
    }

    fn look(&self, inner: &mut Inner, workspace: &Workspace, known: &Snapshot, stop: &Stop) -> Snapshot {
        let mut keep = |content: &[u8]| self.stored(inner, content, Sync::Later);
        workspace.snapshot(self.limits.snapshot, known, &mut keep, stop)
    }

    /// Ends the turn that is under way, if one is.
    pub(super) fn end(&self, workspace: &Workspace) {
        let mut inner = self.inner();
        self.look_after(&mut inner, workspace, &Stop::default());
        let running = inner.running > 0;
        if let Some(open) = inner.open.as_mut().filter(|_| running) {
            open.notes.push("A job went on after it; what that did later is not covered.".into());
        }
        self.close(&mut inner, false, false);
    }

    /// Ends an undo or a redo; one that did nothing may still have found all as it should be.
    pub(super) fn end_applied(&self, was_empty_right: bool) {
        self.close(&mut self.inner(), false, was_empty_right);
    }

    fn close(&self, inner: &mut Inner, killed: bool, keep_empty: bool) {
        let Some(mut open) = inner.open.take() else { return };
        let Writing::On { number, .. } = open.writing else { return };
        let path = path_of(&self.turns(), number);
        let names = lines(&path).map_or(0, |lines| net(&lines).changes.len() as u64);
        if names == 0 && !keep_empty {
            // It ends nothing that can be redone.
            let _ = std::fs::remove_file(path);
            return;
        }
        let end = End { names, killed, notes: std::mem::take(&mut open.notes), left_out: open.left_out };
        if let Err(error) = open.write(&Line::End(end), Sync::Later) {
            inner.notes.push(self.trouble(&error));
        }
        keep::retain(self, if killed { None } else { Some(open.stored) });
    }

    /// Ends a turn whose program was killed. What commands that ran then have changed is told by what is there now.
    pub(super) fn recover(&self, inner: &mut Inner, workspace: &Workspace) {
        if inner.open.is_some() {
            return;
        }
        let cut_short = || record::heads(&self.turns()).pop().filter(|head| head.end.is_none());
        if cut_short().is_none() {
            return;
        }
        // Whoever holds the lock may be at work on it.
        let Ok(Some(lock)) = self.lock() else { return };
        let Some(head) = cut_short() else { return };
        let Ok(lines) = lines(&head.path) else { return };
        let Ok(mut file) = appending(&head.path, false) else { return };
        // What was torn off must not be taken for the beginning of what comes.
        let _ = file.write_all(b"\n");
        let mut open = Open::new(head.begin.kind, &head.begin.title);
        open.writing = Writing::On { number: head.number, file, _lock: lock };
        open.next = lines.iter().filter(|line| matches!(line, Line::Change { .. })).count() as u64;
        let running = lines.iter().rev().find_map(|line| match line {
            Line::Running { since } => Some(Some(*since)),
            Line::Commands { .. } => Some(None),
            _ => None,
        });
        let index = || keep::read_index(&self.folder.join("index"));
        open.before = running.flatten().and_then(|since| Some((index()?, since)));
        self.revoke_undone(&mut open, &lines, workspace);
        inner.open = Some(open);
        self.look_after(inner, workspace, &Stop::default());
        self.close(inner, true, false);
    }

    /// A change that was told of last may not have been made.
    fn revoke_undone(&self, open: &mut Open, lines: &[Line], workspace: &Workspace) {
        let last = lines.iter().rev().find_map(|line| match line {
            Line::Change { number, changes } => Some((*number, changes)),
            _ => None,
        });
        let Some((number, changes)) = last else { return };
        let is = |change: &Change| workspace.state(&change.name, u64::MAX, &mut |content| Digest::of(content));
        let made: Vec<Change> =
            changes.iter().filter(|change| is(change).as_ref() != Some(&change.before)).cloned().collect();
        if made.len() < changes.len() {
            let _ = open.write(&Line::Unchanged { number }, Sync::Later);
            let _ = open.write(&Line::Change { number: open.next, changes: made }, Sync::Later);
            open.next += 1;
        }
    }
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
        self.stored(&mut self.inner(), content, Sync::Now)
    }

    fn changing(&self, changes: Vec<Change>) -> u64 {
        let mut inner = self.inner();
        let Some(open) = &mut inner.open else { return 0 };
        let number = open.next;
        open.next += 1;
        self.write(&mut inner, &Line::Change { number, changes }, Sync::Now);
        number
    }

    fn unchanged(&self, number: u64) {
        self.write(&mut self.inner(), &Line::Unchanged { number }, Sync::Later);
    }

    fn command_begins(&self, workspace: &Workspace, stop: &Stop) {
        let mut inner = self.inner();
        inner.running += 1;
        self.look_before(&mut inner, workspace, stop);
    }

    fn command_ended(&self, workspace: &Workspace, stop: &Stop) {
        let mut inner = self.inner();
        inner.running = inner.running.saturating_sub(1);
        if inner.running == 0 {
            self.look_after(&mut inner, workspace, stop);
        }
    }

    fn command_dropped(&self) {
        let mut inner = self.inner();
        inner.running = inner.running.saturating_sub(1);
    }
}
