//! A session that is read back.

use super::VERSION;
use super::record::{Head, HistoryImage, Kind, Record, RecordedCall, Role};
use crate::redact::Redactor;
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use toolfence_protocol::{Error, ErrorKind, Image, Result, Text, text};
use toolfence_session::{Note, Reply, Turn};

/// The longest line that is read: a reply is never longer, nor are the results of one.
const LONGEST: u64 = 256 << 20;

/// A session as it stands on the disk.
#[derive(Debug)]
#[non_exhaustive]
pub struct Stored {
    /// What it is.
    pub head: Head,
    /// What the model was told to be.
    pub instructions: String,
    /// When it began.
    pub began: String,
    /// Everything below the head.
    pub records: Vec<Record>,
    /// The lines of these records, as they are written.
    pub lines: Vec<String>,
    /// How many lines are no records, and were left out.
    pub unreadable: usize,
}

impl Stored {
    /// Reads a whole session. A last line without a newline is what a killed process left, and is left out.
    ///
    /// # Errors
    /// The file cannot be read, does not begin with a head, or holds lines of a newer version.
    pub fn read(path: &Path) -> Result<Stored> {
        Stored::read_with(path, true)
    }

    /// Reads a session to go on with it, which takes no lines.
    ///
    /// # Errors
    /// As for [`Stored::read`].
    pub(super) fn read_records(path: &Path) -> Result<Stored> {
        Stored::read_with(path, false)
    }

    fn read_with(path: &Path, keeps_lines: bool) -> Result<Stored> {
        let mut lines = Lines::open(path)?;
        let not_one = || {
            let message = text!(
                "{path} is not a transcript: its first line is not the head of a session.",
                path = path.display().to_string()
            );
            Error::with_kind(ErrorKind::InvalidInput, message)
        };
        let first = lines.next().ok_or_else(not_one)??;
        let head = record(first, path)?.filter(|record| record.role == Role::Head).ok_or_else(not_one)?;
        let mut stored = Stored {
            head: head.session.ok_or_else(not_one)?,
            instructions: head.content,
            began: head.timestamp,
            records: Vec::new(),
            lines: Vec::new(),
            unreadable: 0,
        };
        while let Some(line) = lines.next() {
            let line = line?;
            match record(line, path)? {
                Some(record) => {
                    stored.records.push(record);
                    stored.lines.extend(keeps_lines.then(|| String::from_utf8_lossy(line).into_owned()));
                }
                None => stored.unreadable += 1,
            }
        }
        Ok(stored)
    }

    /// Takes secrets out of what was read, those that are only known as such by now.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.instructions = redactor.text(&self.instructions).into_owned();
        self.head.title = redactor.text(&self.head.title).into_owned();
        for record in &mut self.records {
            record.redact(redactor);
            // Written as it is, for the backend could do nothing with another one.
            record.state = record.state.as_ref().map(|state| redactor.text(state).into_owned());
        }
    }
}

/// The whole lines of a file; what stands behind the last newline is left out.
///
/// # Errors
/// The file cannot be opened.
pub fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String>> + use<>> {
    let mut lines = Lines::open(path)?;
    Ok(std::iter::from_fn(move || {
        let line = lines.next()?;
        Some(line.map(|line| String::from_utf8_lossy(line).into_owned()))
    }))
}

/// The whole lines of a file, each in the place of the one before.
struct Lines {
    reader: BufReader<File>,
    line: Vec<u8>,
    doing: Text,
}

impl Lines {
    fn open(path: &Path) -> Result<Lines> {
        let doing = text!("read the session {path}", path = path.display().to_string());
        let file = File::open(path).map_err(|cause| Error::because(doing.clone(), cause))?;
        Ok(Lines { reader: BufReader::with_capacity(256 << 10, file), line: Vec::new(), doing })
    }

    fn next(&mut self) -> Option<Result<&[u8]>> {
        self.line.clear();
        match self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.line) {
            Ok(_) => self.line.strip_suffix(b"\n").map(Ok),
            Err(cause) => Some(Err(Error::because(self.doing.clone(), cause))),
        }
    }
}

/// The record of a line; none where it is no record.
fn record(line: &[u8], path: &Path) -> Result<Option<Record>> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let newer = |version: u32| {
        let message = text!(
            "{path} was written by a newer coder: its records have the version {version}, and this one reads up to \
             {known}. Update coder to read it.",
            path = path.display().to_string(),
            version,
            known = VERSION
        );
        Err(Error::with_kind(ErrorKind::InvalidInput, message))
    };
    match serde_json::from_slice::<Record>(line) {
        Ok(record) if record.v > VERSION => newer(record.v),
        Ok(record) => Ok(Some(record)),
        // What cannot be read may be of a version whose fields are others.
        Err(_) => match serde_json::from_slice::<Versioned>(line) {
            Ok(Versioned { v }) if v > VERSION => newer(v),
            _ => Ok(None),
        },
    }
}

/// The turns of a conversation.
pub(super) fn turns(records: &[Record]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    // The images of records, by the names of these.
    let mut images: HashMap<&str, &[Image]> = HashMap::new();
    let mut number = 0;
    for record in records {
        if !record.images.is_empty() {
            images.insert(&record.id, &record.images);
        }
        if record.kind == Some(Kind::History) {
            turns = replaced(record, &images);
            continue;
        }
        if record.kind == Some(Kind::TakenBack) {
            turns.pop();
            continue;
        }
        let note = match (record.role, record.kind) {
            (Role::User, _) => Some(Note::User(record.content.clone())),
            (Role::Note, Some(Kind::Told)) => Some(Note::Session(record.content.clone())),
            _ => None,
        };
        if turns.is_empty() || note.is_some() && record.turn != number {
            turns.push(Turn::default());
            number = record.turn;
        }
        let Some(turn) = turns.last_mut() else { continue };
        if let Some(note) = note {
            match turn.replies.last_mut() {
                Some(reply) => reply.notes.push(note),
                None => turn.user.push(note),
            }
            if record.role == Role::User {
                turn.images.extend_from_slice(&record.images);
            }
        } else if record.role == Role::Assistant {
            turn.replies.push(Reply { text: record.sent().to_owned(), ..Reply::default() });
        } else if let (Some(result), Some(reply)) = (record.result(), turn.replies.last_mut()) {
            reply.calls.extend(record.tool_call.as_ref().and_then(RecordedCall::call));
            reply.results.push(result);
        }
    }
    turns
}

/// The turns of a conversation that was replaced as a whole.
fn replaced(record: &Record, images: &HashMap<&str, &[Image]>) -> Vec<Turn> {
    let mut messages = record.history.clone().unwrap_or_default();
    for HistoryImage { message, record, image } in &record.history_images {
        let written = images.get(record.as_str()).and_then(|images| images.get(*image));
        if let (Some(message), Some(image)) = (messages.get_mut(*message), written) {
            message.images.push(image.clone());
        }
    }
    Turn::from_messages(messages)
}
