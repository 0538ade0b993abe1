//! A session that is read back.

use super::VERSION;
use super::record::{Head, HistoryImage, Kind, Record, Role};
use crate::messages;
use crate::redact::Redactor;
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use toolfence_protocol::format::{self, Format};
use toolfence_protocol::{Error, ErrorKind, Image, Message, Result, Text, ToolResult};

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
            let message = messages::not_a_session(path.display().to_string());
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
        let doing = messages::read_session(path.display().to_string());
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
        let message = messages::session_is_newer(path.display().to_string(), version, VERSION);
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

/// The conversation as it goes to the model: user and assistant in turn.
pub(super) fn history(records: &[Record], format: &Format) -> Vec<Message> {
    let mut history = History { messages: Vec::new(), results: Vec::new(), shown: HashMap::new(), format };
    for record in records {
        if !record.images.is_empty() {
            history.shown.insert(&record.id, &record.images);
        }
        match (record.role, record.kind) {
            (Role::User, _) | (Role::Note, Some(Kind::Told)) => history.user(record),
            (Role::Note, Some(Kind::History)) => {
                history.results.clear();
                history.messages = record.history.clone().unwrap_or_default();
                history.show(record);
            }
            (Role::Assistant, _) => history.assistant(record.sent()),
            (Role::Tool, _) => history.results.extend(record.result()),
            (Role::Head | Role::Note, _) => {}
        }
    }
    history.flush();
    history.messages
}

struct History<'a> {
    messages: Vec<Message>,
    results: Vec<ToolResult>,
    /// The images of records, by the names of these.
    shown: HashMap<&'a str, &'a [Image]>,
    format: &'a Format,
}

impl History<'_> {
    /// The results that no message has yet.
    fn flush(&mut self) {
        if !self.results.is_empty() {
            let results = std::mem::take(&mut self.results);
            self.tell(&format::results(&results, self.format));
            if let Some(last) = self.messages.last_mut() {
                last.images.extend(results.into_iter().flat_map(|result| result.images).take(Image::MOST));
            }
        }
    }

    fn user(&mut self, record: &Record) {
        self.flush();
        self.tell(&record.content);
        if let Some(last) = self.messages.last_mut() {
            last.images.extend_from_slice(&record.images);
        }
    }

    /// Puts the images into a history that was replaced as a whole.
    fn show(&mut self, note: &Record) {
        for HistoryImage { message, record, image } in &note.history_images {
            let written = self.shown.get(record.as_str()).and_then(|images| images.get(*image));
            if let (Some(message), Some(image)) = (self.messages.get_mut(*message), written) {
                message.images.push(image.clone());
            }
        }
    }

    fn tell(&mut self, text: &str) {
        match self.messages.last_mut() {
            Some(last) if last.role == toolfence_protocol::Role::User => {
                last.content.push_str("\n\n");
                last.content.push_str(text);
            }
            _ => self.messages.push(Message::new(toolfence_protocol::Role::User, text)),
        }
    }

    fn assistant(&mut self, text: &str) {
        self.flush();
        match self.messages.last_mut() {
            // A reply went on where the one before it broke off.
            Some(last) if last.role == toolfence_protocol::Role::Assistant => last.content.push_str(text),
            _ => self.messages.push(Message::new(toolfence_protocol::Role::Assistant, text)),
        }
    }
}
