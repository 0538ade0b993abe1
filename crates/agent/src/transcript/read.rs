//! Reads sessions from files.

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

/// The longest line that is read, in bytes. Replies and their results are shorter.
const LONGEST: u64 = 256 << 20;

/// A session read from its file.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoredSession {
    /// The description of the session.
    pub head: Head,
    /// The instructions of the model.
    pub instructions: String,
    /// The time when the session began: RFC 3339.
    pub began: String,
    /// All records after the head.
    pub records: Vec<Record>,
    /// The lines of these records, verbatim.
    pub lines: Vec<String>,
    /// The number of lines that are not records and were skipped.
    pub unreadable: usize,
}

impl StoredSession {
    /// Reads a whole session. A last line without a newline comes from a killed process and is dropped.
    ///
    /// # Errors
    /// Fails if the file cannot be read, does not begin with a head, or has lines of a newer version.
    pub fn read(path: &Path) -> Result<StoredSession> {
        StoredSession::read_with(path, true)
    }

    /// Reads a session to resume it, which needs no lines.
    ///
    /// # Errors
    /// Returns the errors of [`StoredSession::read`].
    pub(super) fn read_records(path: &Path) -> Result<StoredSession> {
        StoredSession::read_with(path, false)
    }

    fn read_with(path: &Path, keeps_lines: bool) -> Result<StoredSession> {
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
        let mut stored = StoredSession {
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

    /// Removes secrets from the session, including those that were not known as secrets when it was written.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.instructions = redactor.text(&self.instructions).into_owned();
        self.head.title = redactor.text(&self.head.title).into_owned();
        for record in &mut self.records {
            record.redact(redactor);
            // A transcript stores the state verbatim, because the backend could not use a redacted one.
            record.state = record.state.as_ref().map(|state| redactor.text(state).into_owned());
        }
    }
}

/// Returns the whole lines of a file. Text after the last newline is dropped.
///
/// # Errors
/// Fails if the file cannot be opened.
pub fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String>> + use<>> {
    let mut lines = Lines::open(path)?;
    Ok(std::iter::from_fn(move || {
        let line = lines.next()?;
        Some(line.map(|line| String::from_utf8_lossy(line).into_owned()))
    }))
}

/// Reads the whole lines of a file into one buffer.
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
        // `take` bounds the memory. A longer line is cut, has no line end within the bound, and ends the iteration.
        match self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.line) {
            Ok(_) => self.line.strip_suffix(b"\n").map(Ok),
            Err(cause) => Some(Err(Error::because(self.doing.clone(), cause))),
        }
    }
}

/// Returns the record of a line, or `None` if it is not a record.
fn record(line: &[u8], path: &Path) -> Result<Option<Record>> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let newer = |version: u32| {
        let message = text!(
            "{path} was written by a newer coder: its records have the version {version}, and this coder reads up to \
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
        // An unreadable line may be of a version with other fields.
        Err(_) => match serde_json::from_slice::<Versioned>(line) {
            Ok(Versioned { v }) if v > VERSION => newer(v),
            _ => Ok(None),
        },
    }
}

/// Returns the turns of a conversation.
pub(super) fn turns(records: &[Record]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    // The images of records, keyed by the ids of the records.
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
        // A note with the number of the open turn belongs to its last reply instead.
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
            turn.replies.push(Reply { text: record.sent_text().to_owned(), ..Reply::default() });
        } else if let (Some(result), Some(reply)) = (record.result(), turn.replies.last_mut()) {
            reply.calls.extend(record.tool_call.as_ref().and_then(RecordedCall::call));
            reply.results.push(result);
        }
    }
    turns
}

/// Returns the turns of a conversation that was replaced as a whole.
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
