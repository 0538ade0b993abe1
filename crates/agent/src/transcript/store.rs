//! Lists and finds the sessions of a person's projects.

use super::record::{Fork, Kind, Record, Role};
use super::write::LockedFile;
use std::fs::{DirEntry, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use toolfence_protocol::{Error, ErrorKind, Result, text};
use toolfence_workspace::undo::History;

/// The maximum number of bytes of a session's first line that are read to list it.
const MOST_OF_HEAD: u64 = 1 << 20;

/// The number of bytes that are read first from the end of a file to find its last record. If they do not contain a
/// whole record, four times as many are read.
const TAIL: u64 = 16 << 10;

/// The folders of all sessions.
#[derive(Debug, Clone)]
pub struct Store {
    /// The host's state folder.
    state: PathBuf,
}

/// A session in a list, from the first and the last line of its file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The name of the session.
    pub id: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The root of the session's project.
    pub root: String,
    /// The first words of the user.
    pub title: String,
    /// The time when the session began: RFC 3339.
    pub began: String,
    /// When the file was last written.
    pub changed: SystemTime,
    /// The number of turns of the user.
    pub turns: u64,
    /// Whether the user cleared the conversation and has sent no message since.
    pub cleared: bool,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The model at the beginning of the session.
    pub model: Option<String>,
    /// The session that this one was forked from.
    pub fork: Option<Fork>,
}

impl Store {
    /// Returns the sessions in a host's state folder.
    pub fn new(state: &Path) -> Store {
        Store { state: state.to_owned() }
    }

    /// Returns the folder of the sessions of the project at this root.
    pub fn folder(&self, root: &Path) -> PathBuf {
        let undo = History::folder(&self.state, root);
        undo.parent().unwrap_or(&self.state).join("sessions")
    }

    /// Returns the folder of the runs that are not continued: a pasted reply, a pipe, a single request.
    pub fn runs(&self, root: &Path) -> PathBuf {
        self.folder(root).with_file_name("runs")
    }

    /// Returns the files of all sessions and runs of all projects.
    pub fn all_files(&self) -> Vec<PathBuf> {
        let state = self.state.join("projects");
        let folders =
            entries(&state).flat_map(|project| ["sessions", "runs"].map(|folder| project.path().join(folder)));
        folders.flat_map(|folder| files(&folder)).collect()
    }

    /// Returns the sessions of the project at this root, or of all projects, the last written first. Unreadable ones
    /// are skipped.
    pub fn list(&self, root: Option<&Path>) -> Vec<Summary> {
        let mut found: Vec<Summary> =
            self.folders(root).iter().flat_map(|folder| files(folder)).filter_map(|file| summary(&file).ok()).collect();
        // If two were written within a tick of the file system's clock, the one that began later is newer.
        let newest = |one: &Summary, other: &Summary| {
            other
                .changed
                .cmp(&one.changed)
                .then_with(|| other.began.cmp(&one.began))
                .then_with(|| one.id.cmp(&other.id))
        };
        found.sort_by(newest);
        found
    }

    /// Returns the session whose name begins with `beginning`, in the project at this root or else in any project.
    ///
    /// # Errors
    /// Fails if there is no such session, or if there are several.
    pub fn find(&self, root: &Path, beginning: &str) -> Result<Summary> {
        for root in [Some(root), None] {
            let mut found = self.list(root);
            found.retain(|session| session.id.starts_with(beginning));
            match found.len() {
                0 => {}
                1 => return Ok(found.remove(0)),
                count => {
                    let message =
                        text!("{count} sessions begin with {beginning}; write more of the name.", beginning, count);
                    return Err(Error::with_kind(ErrorKind::InvalidInput, message));
                }
            }
        }
        Err(Error::with_kind(
            ErrorKind::NotFound,
            text!("No session begins with {beginning}; `coder sessions` lists them.", beginning),
        ))
    }

    /// Deletes the sessions and runs of the project at this root that were not written to for this long. Open ones
    /// stay.
    pub fn drop_older(&self, root: &Path, age: Duration) {
        let Some(before) = SystemTime::now().checked_sub(age) else { return };
        for path in [self.folder(root), self.runs(root)].iter().flat_map(|folder| files(folder)) {
            let old = std::fs::metadata(&path).and_then(|meta| meta.modified()).is_ok_and(|changed| changed < before);
            if old && let Ok(Ok(_locked)) = File::open(&path).map(LockedFile::new) {
                // The lock shows that no program has the session open. If another program deleted the file first,
                // nothing is left to do.
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    fn folders(&self, root: Option<&Path>) -> Vec<PathBuf> {
        match root {
            Some(root) => vec![self.folder(root)],
            None => entries(&self.state.join("projects")).map(|project| project.path().join("sessions")).collect(),
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Returns the files of sessions in a folder. Links and pipes are skipped.
fn files(folder: &Path) -> Vec<PathBuf> {
    let plain = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let paths = entries(folder).filter(plain).map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

/// Summarises a session from its first and last line.
fn summary(path: &Path) -> io::Result<Summary> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    let mut first = Vec::new();
    BufReader::new(&file).take(MOST_OF_HEAD).read_until(b'\n', &mut first)?;
    let head: Record = serde_json::from_slice(&first)?;
    let session = head.session.filter(|_| head.role == Role::Head).ok_or(io::ErrorKind::InvalidData)?;
    let last = last_record(&mut file, meta.len())?;
    let turns = last.as_ref().map_or(0, |record| record.turn);
    Ok(Summary {
        id: session.id,
        path: path.to_owned(),
        root: session.root,
        title: session.title,
        began: head.timestamp,
        changed: meta.modified()?,
        turns,
        cleared: last.is_some_and(|record| record.kind == Some(Kind::Cleared)),
        bytes: meta.len(),
        model: session.model,
        fork: session.fork,
    })
}

/// Returns the last whole line of a file, read from its end.
fn last_record(file: &mut File, length: u64) -> io::Result<Option<Record>> {
    let mut most = TAIL;
    loop {
        let start = length.saturating_sub(most);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length - start).read_to_end(&mut bytes)?;
        // Only text before the last newline counts: a killed process may have left a partial line.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[..end]);
        if let Some(before) = whole.iter().rposition(|byte| *byte == b'\n') {
            return Ok(serde_json::from_slice(&whole[before + 1..]).ok());
        }
        if start == 0 {
            return Ok(None);
        }
        most = most.saturating_mul(4);
    }
}
