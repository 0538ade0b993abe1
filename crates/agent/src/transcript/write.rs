//! Writes the file of one session.

use super::read::StoredSession;
use super::record::{Fork, Head, Kind, Record, Role};
use super::recording::Recording;
use super::rfc3339;
use crate::redact::Redactor;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toolfence_protocol::clip::middle;
use toolfence_protocol::format::Format;
use toolfence_protocol::{Error, ErrorKind, Result, Text, text};
use toolfence_sandbox::project::random_name;
use toolfence_session::{Turn, render};

/// The maximum number of characters in a title.
const LONGEST_TITLE: usize = 120;

/// The number of bytes read at a time while searching backwards for the last newline.
const TAIL: u64 = 64 << 10;

/// Records one session as JSON lines while an [`Agent`](crate::agent::Agent) drives it.
///
/// The first message of the user creates the file, which only its owner can read. The file is locked until the
/// transcript is dropped. If the model never replied, dropping the transcript removes the file. A failed write does not
/// stop the session; [`trouble`](Transcript::trouble) reports it.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    head: Head,
    model: Option<String>,
    redactor: Option<Redactor>,
    /// The open, locked file with the length of its whole lines, or `None` until there is something to write.
    file: Option<(LockedFile, u64)>,
    /// Whether the file has a reply. A file without one is removed.
    has_reply: bool,
    /// The number of the next record.
    next: u64,
    /// The turn under way.
    turn: u64,
    trouble: Option<Text>,
    /// The records that were read from the file before it was opened.
    stored: Vec<Record>,
    /// The instructions in the head of the stored file.
    instructions: String,
    /// The number of lines of the stored file that are not records and were skipped.
    unreadable: usize,
    pub(super) recording: Recording,
}

impl Transcript {
    /// Creates a session about the project at `root` in a folder of sessions. Nothing is written until the first
    /// message of the user.
    ///
    /// # Errors
    /// Fails if there is no randomness for the name of the session.
    pub fn create(folder: &Path, root: &Path) -> Result<Transcript> {
        let id = random_name().map_err(|cause| Error::because(text!("name the session"), cause))?;
        let head = Head { id, root: root.display().to_string(), ..Head::default() };
        Ok(Transcript::new(folder.join(format!("{}.jsonl", head.id)), head))
    }

    /// Resumes the session in this file. An incomplete last line of a killed process is removed.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a transcript or has a newer version, or if another process has it open
    /// ([`ErrorKind::Busy`]).
    pub fn resume(path: &Path) -> Result<Transcript> {
        let doing = || text!("open the session {path}", path = path.display().to_string());
        let failed = |cause: io::Error| Error::because(doing(), cause);
        // Locked before it is read, so that no other process appends a record in between.
        let mut file = lock(OpenOptions::new().read(true).append(true).open(path).map_err(failed)?, path)?;
        let length = whole_lines(&mut file.0).map_err(failed)?;
        let stored = StoredSession::read_records(path)?;
        // The next record must not continue the partial line of a killed process.
        if file.0.metadata().map_err(failed)?.len() > length {
            file.0.set_len(length).map_err(failed)?;
        }
        let mut transcript = Transcript::new(path.to_owned(), stored.head);
        transcript.file = Some((file, length));
        transcript.next = next_id(&stored.records);
        transcript.turn = stored.records.last().map_or(0, |record| record.turn);
        // A file of an earlier run is not removed.
        transcript.has_reply = true;
        transcript.stored = stored.records;
        transcript.instructions = stored.instructions;
        transcript.unreadable = stored.unreadable;
        Ok(transcript)
    }

    /// Creates a new session in the same folder with the records of this file up to `message`, or with all of them. The
    /// original session is only read.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if it has no such message, or if the new file cannot be written.
    pub fn fork(path: &Path, message: Option<&str>) -> Result<Transcript> {
        let stored = StoredSession::read(path)?;
        let last = match message {
            None => stored.records.len(),
            Some(wanted) => match stored.records.iter().position(|record| record.id == wanted) {
                Some(at) => at + 1,
                None => {
                    let (first, last) = (stored.records.first(), stored.records.last());
                    let id = |record: Option<&Record>| record.map_or("0", |record| record.id.as_str()).to_owned();
                    let message = text!(
                        "The session {session} has no message {message}; its messages are {first} to {last}, and \
                         `coder export {session}` shows them.",
                        session = &stored.head.id,
                        message = wanted,
                        first = id(first),
                        last = id(last)
                    );
                    return Err(Error::with_kind(ErrorKind::NotFound, message));
                }
            },
        };
        let id = random_name().map_err(|cause| Error::because(text!("name the session"), cause))?;
        let from = stored.records[..last].last().map_or("0", |record| record.id.as_str()).to_owned();
        let fork = Some(Fork { session: stored.head.id.clone(), message: from });
        let head = Head { id, fork, ..stored.head };
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut transcript = Transcript::new(folder.join(format!("{}.jsonl", head.id)), head);
        let mut text = transcript.head_line(&stored.instructions);
        // Lines are copied verbatim, to keep fields that this version does not know.
        for line in &stored.lines[..last] {
            text.push_str(line);
            text.push('\n');
        }
        transcript.create_file(&text).map_err(|cause| {
            Error::because(
                text!("write down the session in {path}", path = transcript.path.display().to_string()),
                cause,
            )
        })?;
        transcript.stored = stored.records;
        transcript.stored.truncate(last);
        transcript.next = next_id(&transcript.stored);
        transcript.has_reply = true;
        transcript.turn = transcript.stored.last().map_or(0, |record| record.turn);
        Ok(transcript)
    }

    /// Records that the user cleared the conversation, and returns the transcript of the next one in the same folder. A
    /// transcript without messages is returned itself.
    pub(crate) fn start_next(mut self) -> Transcript {
        if self.file.is_none() {
            return self;
        }
        // If there is no randomness, the process id and the time make the name unique.
        let id = random_name().unwrap_or_else(|_| format!("{}-{}", std::process::id(), rfc3339::now()));
        let mut record = Record::new(Role::Note, "");
        record.kind = Some(Kind::Cleared);
        self.append(record);
        self.sync_file();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let head = Head { id, root: self.head.root.clone(), ..Head::default() };
        let mut next = Transcript::new(folder.join(format!("{}.jsonl", head.id)), head);
        next.model = self.model.take();
        next.redactor = self.redactor.take();
        next.trouble = self.trouble.take();
        next
    }

    fn new(path: PathBuf, head: Head) -> Transcript {
        Transcript {
            path,
            head,
            model: None,
            redactor: Some(Redactor::new()),
            file: None,
            has_reply: false,
            next: 1,
            turn: 0,
            trouble: None,
            stored: Vec::new(),
            instructions: String::new(),
            unreadable: 0,
            recording: Recording::default(),
        }
    }

    /// Sets the redactor that removes secrets from each record before it is written. Without one, records are written
    /// verbatim. A new transcript has a redactor that recognises secrets by their shape.
    #[must_use]
    pub fn redactor(mut self, redactor: Option<Redactor>) -> Transcript {
        self.redactor = redactor;
        self
    }

    /// Sets the name of the model for the replies that are written from here on.
    #[must_use]
    pub fn model(mut self, model: Option<String>) -> Transcript {
        self.model = model;
        self
    }

    /// Returns the name of the session.
    pub fn id(&self) -> &str {
        &self.head.id
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the conversation so far for [`SessionOptions::history`](toolfence_session::SessionOptions). Empty for a
    /// new session.
    pub fn history(&self) -> Vec<Turn> {
        super::read::turns(&self.stored)
    }

    /// Returns the number of lines of the file that are not records and were skipped.
    #[doc(hidden)]
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// Returns the description of the session.
    #[doc(hidden)]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the records without the head, as they were when the session was opened. Empty once an agent has the
    /// transcript.
    #[doc(hidden)]
    pub fn stored_records(&self) -> &[Record] {
        &self.stored
    }

    /// Frees the records that were read.
    pub(super) fn forget_stored(&mut self) {
        self.stored = Vec::new();
        self.instructions = String::new();
    }

    /// Returns the state that the backend of the last reply needs, and how many messages it keeps, without the
    /// instructions. `None` if it keeps nothing, because the conversation was replaced since then or this session is a
    /// fork of the one that the backend keeps.
    pub(crate) fn stored_state(&self, format: &Format) -> Option<(usize, String)> {
        let last = self.stored.iter().rposition(|record| record.state.is_some())?;
        let state = self.stored[last].state.clone()?;
        let number = |id: &str| id.parse::<u64>().unwrap_or(0);
        let of_fork =
            self.head.fork.as_ref().is_some_and(|fork| number(&self.stored[last].id) <= number(&fork.message));
        // The backend's part of a turn without an answer is unknown.
        let is_change = |record: &Record| matches!(record.kind, Some(Kind::History | Kind::TakenBack | Kind::End));
        let replaced = self.stored[last..].iter().any(is_change);
        if of_fork || replaced {
            return None;
        }
        Some((render(&super::read::turns(&self.stored[..=last]), format).len(), state))
    }

    /// Returns `true` if the session began with these instructions.
    pub(crate) fn has_instructions(&self, instructions: &str) -> bool {
        self.redact_text(instructions) == self.instructions
    }

    /// Returns the number of the last turn, or 0 before the first one.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns why a record could not be written. The same failure is returned only once.
    pub fn trouble(&mut self) -> Option<Text> {
        self.trouble.take()
    }

    /// Sets the model that answers from here on.
    #[doc(hidden)]
    pub fn answered_by(&mut self, model: Option<String>) {
        self.model = model;
    }

    /// Returns the name of the current model, for the record of a reply.
    pub(super) fn current_model(&self) -> Option<String> {
        self.model.clone()
    }

    /// Begins a turn with a message of the user. The first turn creates the file.
    pub(super) fn begin_turn(&mut self, words: &str, instructions: &str) {
        if self.file.is_none() {
            let first = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            self.head.title = middle(self.redact_text(first.trim()).as_str(), LONGEST_TITLE).into_owned();
            self.head.model = self.model.clone();
            let line = self.head_line(instructions);
            if let Err(error) = self.create_file(&line) {
                self.note_failure(&error);
            }
        }
        self.turn += 1;
    }

    fn head_line(&self, instructions: &str) -> String {
        let mut record = Record::new(Role::Head, self.redact_text(instructions));
        record.id = "0".to_owned();
        record.timestamp = rfc3339::now();
        record.session = Some(self.head.clone());
        line(&record)
    }

    /// Appends a record and returns its id. After a failure the next record is still tried.
    pub(super) fn append(&mut self, mut record: Record) -> Option<String> {
        record.id = self.next.to_string();
        record.parent = Some((self.next - 1).to_string());
        record.timestamp = rfc3339::now();
        record.turn = self.turn;
        self.has_reply |= matches!(record.role, Role::Assistant | Role::Tool);
        self.redact(&mut record);
        let text = line(&record);
        let (file, length) = self.file.as_mut()?;
        // One write for the whole line, so that a killed process leaves at most one partial line.
        match file.0.write_all(text.as_bytes()) {
            Ok(()) => {
                *length += text.len() as u64;
                self.next += 1;
                Some(record.id)
            }
            Err(error) => {
                // A partial line must not precede the next one.
                let _ = file.0.set_len(*length);
                self.note_failure(&error);
                None
            }
        }
    }

    /// Synchronises the file at the end of a turn, so that it survives a power failure.
    pub(super) fn sync_file(&mut self) {
        if let Some((file, _)) = &self.file
            && let Err(error) = file.0.sync_data()
        {
            self.note_failure(&error);
        }
    }

    fn note_failure(&mut self, error: &io::Error) {
        tracing::warn!(path = %self.path.display(), %error, "the transcript cannot be written");
        let doing = text!("write down the session in {path}", path = self.path.display().to_string());
        self.trouble = Some(Error::because(doing, io::Error::from(error.kind())).text());
    }

    /// Creates the file with these first lines.
    fn create_file(&mut self, text: &str) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&self.path)?;
        // No other process knows the name yet, so none can hold the lock.
        let mut file = LockedFile::new(file).unwrap_or_else(LockedFile);
        file.0.write_all(text.as_bytes())?;
        self.file = Some((file, text.len() as u64));
        Ok(())
    }

    fn redact_text(&self, text: &str) -> String {
        self.redactor.as_ref().map_or_else(|| text.to_owned(), |redactor| redactor.text(text).into_owned())
    }

    fn redact(&self, record: &mut Record) {
        let Some(redactor) = &self.redactor else { return };
        record.redact(redactor);
    }
}

impl Drop for Transcript {
    /// Removes the file of a conversation without a reply, so that a failed request is not the last conversation.
    fn drop(&mut self) {
        if self.file.is_some() && !self.has_reply {
            // The file is still locked, so no other process is resuming it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Serialises a record as its line.
fn line(record: &Record) -> String {
    // A record contains nothing that JSON cannot represent.
    serde_json::to_string(record).unwrap_or_default() + "\n"
}

fn next_id(records: &[Record]) -> u64 {
    records.last().and_then(|record| record.id.parse::<u64>().ok()).unwrap_or(0) + 1
}

/// A file with its lock. The lock is released explicitly, not only by closing the file: a child that another thread is
/// just starting has inherited the file and would hold the lock until `exec`.
#[derive(Debug)]
pub(super) struct LockedFile(File);

impl LockedFile {
    /// Locks the file, or returns it if another process holds the lock.
    pub(super) fn new(file: File) -> std::result::Result<LockedFile, File> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(file),
            // On a file system without locks no other process has one either.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(LockedFile(file)),
        }
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Locks the file against other writers.
fn lock(mut file: File, path: &Path) -> Result<LockedFile> {
    /// The number of attempts. A process that was just killed holds its locks for a moment.
    const MOMENTS: u32 = 10;
    const MOMENT: Duration = Duration::from_millis(20);
    for _ in 0..MOMENTS {
        match LockedFile::new(file) {
            Ok(locked) => return Ok(locked),
            Err(held) => file = held,
        }
        std::thread::sleep(MOMENT);
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let message = match holder(&file) {
        Some(process) => text!(
            "The session {session} is open in another coder, process {process}. End that one, or fork the session: \
             `coder resume {session} --fork`.",
            session = name,
            process
        ),
        None => text!(
            "The session {session} is open in another coder. End that one, or fork the session: `coder resume \
             {session} --fork`.",
            session = name
        ),
    };
    Err(Error::with_kind(ErrorKind::Busy, message))
}

/// Returns the process that holds the lock of a file, from a line of `/proc/locks`:
/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF`.
fn holder(file: &File) -> Option<u32> {
    let meta = file.metadata().ok()?;
    let inode = format!(":{}", meta.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // A line about a waiting process has an additional `->` after its number: see proc_locks(5).
        let mut words = line.split_whitespace().filter(|word| *word != "->").skip(1);
        let (kind, _, _) = (words.next()?, words.next()?, words.next()?);
        let (process, place) = (words.next()?.parse::<u32>().ok()?, words.next()?);
        (kind == "FLOCK" && place.ends_with(&inode) && process != 0).then_some(process)
    })
}

/// Returns the length of a file up to its last newline.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(TAIL);
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        (&*file).take(end - start).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::LockedFile;
    use std::fs::File;

    /// Dropping the lock releases it although another descriptor of the file stays open: a child process has such a
    /// descriptor between `fork` and `exec`.
    #[test]
    fn a_lock_ends_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let file = File::create(&path).unwrap();
        let inherited = file.try_clone().unwrap();
        let locked = LockedFile::new(file).unwrap();
        assert!(LockedFile::new(File::open(&path).unwrap()).is_err());
        drop(locked);
        assert!(LockedFile::new(File::open(&path).unwrap()).is_ok());
        drop(inherited);
    }
}
