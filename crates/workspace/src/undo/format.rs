//! The format of a turn's record: JSON lines in a file of its own, which is only appended to.

use crate::encoding::as_text;
use crate::state::{Change, State};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// The version of the format. Since version 3, records have exchanges, and no changes that were found by comparing the
/// project.
pub(crate) const VERSION: u32 = 3;

/// The maximum number of bytes of a record that are read.
const MOST_BYTES: u64 = 256 << 20;

/// The number of bytes at the end of a record that are searched for its last line.
const TAIL: u64 = 64 << 10;

/// The operation that a record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A turn of the model.
    Turn,
    /// The undo of a turn.
    Undo(u64),
    /// The redo of an undone turn.
    Redo(u64),
}

/// A line of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first line.
    Begin(Begin),
    /// Names that are about to change together.
    Change { number: u64, changes: Vec<Change> },
    /// The change or the exchange with this number was not made.
    Unchanged { number: u64 },
    /// The entries of this stash are about to be exchanged with those of the project at `names` paths.
    Exchange {
        number: u64,
        #[serde(with = "as_text")]
        stash: PathBuf,
        names: u64,
        /// Whether the project gets the command's entries, rather than the previous ones.
        is_forward: bool,
    },
    /// The last line.
    End(End),
}

/// The first line of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begin {
    pub(crate) v: u32,
    pub(crate) kind: Kind,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) session: String,
    pub(crate) title: String,
}

/// The last line of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct End {
    /// The number of changed names.
    pub(crate) names: u64,
    /// Whether the process was killed before the end, which the next start detected.
    pub(crate) killed: bool,
    /// Notes that are displayed when the turn is undone.
    pub(crate) notes: Vec<Note>,
}

/// A note about a turn. The record stores it as data and not as a sentence, because the language may be another one
/// when it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Note {
    /// The folder of the history could not be written, with this error.
    NotAllRecorded { folder: String, error: String },
    /// More than this many MiB changed.
    TooMuchChanged { most: u64 },
}

impl Note {
    /// Returns the note as a sentence.
    pub(crate) fn text(&self) -> Text {
        match self {
            Note::NotAllRecorded { folder, error } => text!(
                "Some changes of this turn cannot be undone: {folder} cannot be written ({error}).",
                folder,
                error
            ),
            Note::TooMuchChanged { most } => {
                text!("More than {most} MiB changed in this turn; the rest of it cannot be undone.", most = *most)
            }
        }
    }
}

/// A record without its changes.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    pub(crate) begin: Begin,
    pub(crate) end: Option<End>,
}

/// The net changes of a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Net {
    /// Each changed name with its old and new state.
    pub(crate) changes: BTreeMap<PathBuf, (State, State)>,
    /// Paths that another process changed during the turn. Undo restores that process's version.
    pub(crate) by_others: BTreeSet<PathBuf>,
}

/// A part of a record.
#[derive(Debug, Clone)]
pub(crate) enum RecordPart {
    /// The net changes between two exchanges.
    Names(Net),
    /// An exchange: the folder of the stash, and whether the project got the command's entries.
    Exchange(PathBuf, bool),
}

/// Returns the records in a folder, oldest first. Skips other files and the records of other versions.
pub(crate) fn heads(folder: &Path) -> Vec<Head> {
    let heads = numbered(folder).into_iter().filter_map(|(number, path)| head(number, path));
    heads.filter(|head| head.begin.v == VERSION).collect()
}

/// Returns the records of earlier versions.
pub(crate) fn outdated(folder: &Path) -> Vec<PathBuf> {
    let heads = numbered(folder).into_iter().filter_map(|(number, path)| head(number, path));
    heads.filter(|head| head.begin.v < VERSION).map(|head| head.path).collect()
}

/// Returns the numbered files of a folder, oldest first, whether they are records or not.
pub(crate) fn numbered(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbered: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| Some((number_of(&entry.path())?, entry.path()))).collect();
    numbered.sort_unstable();
    numbered
}

/// Returns the file of a record.
pub(crate) fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.jsonl"))
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".jsonl")?.parse().ok()
}

fn head(number: u64, path: PathBuf) -> Option<Head> {
    let mut file = BufReader::new(File::open(&path).ok()?);
    let mut first = Vec::new();
    file.by_ref().take(TAIL).read_until(b'\n', &mut first).ok()?;
    let Ok(Line::Begin(begin)) = serde_json::from_slice(&first) else { return None };
    let end = tail(file.get_mut()).ok()?;
    Some(Head { number, path, begin, end })
}

/// Returns the last line, if the record is complete.
fn tail(file: &mut File) -> io::Result<Option<End>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    // Without a line ending, the last line is torn.
    let Some(text) = text.strip_suffix(b"\n") else { return Ok(None) };
    let start = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    Ok(match serde_json::from_slice(&text[start..]) {
        Ok(Line::End(end)) => Some(end),
        _ => None,
    })
}

/// Returns the lines of a record. Skips those that cannot be parsed, such as a torn one.
pub(crate) fn lines(path: &Path) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut reader = BufReader::new(File::open(path)?.take(MOST_BYTES));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line.ends_with(b"\n") {
            lines.extend(serde_json::from_slice::<Line>(&line).ok());
        }
        line.clear();
    }
    Ok(lines)
}

/// Returns the parts of a record in their order. Each exchange is between two parts of names, which can be empty.
pub(crate) fn parts(lines: &[Line]) -> Vec<RecordPart> {
    let undone = undone(lines);
    let mut parts = Vec::new();
    let mut changes: Vec<&Change> = Vec::new();
    for line in lines {
        match line {
            Line::Change { number, changes: more } if !undone.contains(number) => changes.extend(more),
            Line::Exchange { number, stash, is_forward, .. } if !undone.contains(number) => {
                parts.push(RecordPart::Names(net(&std::mem::take(&mut changes))));
                parts.push(RecordPart::Exchange(stash.clone(), *is_forward));
            }
            _ => {}
        }
    }
    parts.push(RecordPart::Names(net(&changes)));
    parts
}

/// Returns the exchanges of a record: the folder of each stash, and the number of its paths.
pub(crate) fn exchanges(lines: &[Line]) -> impl Iterator<Item = (&Path, u64)> {
    let undone = undone(lines);
    lines.iter().filter_map(move |line| match line {
        Line::Exchange { number, stash, names, .. } if !undone.contains(number) => Some((stash.as_path(), *names)),
        _ => None,
    })
}

/// Returns the numbers of changes and exchanges that were not made.
fn undone(lines: &[Line]) -> HashSet<u64> {
    let number = |line: &Line| if let Line::Unchanged { number } = line { Some(*number) } else { None };
    lines.iter().filter_map(number).collect()
}

/// Combines changes into net changes.
fn net(changes: &[&Change]) -> Net {
    let mut held: BTreeMap<&Path, (State, State)> = BTreeMap::new();
    let mut by_others = BTreeSet::new();
    for change in changes {
        let both = || (change.before.clone(), change.after.clone());
        match held.get_mut(change.name.as_path()) {
            None => drop(held.insert(&change.name, both())),
            Some((_, after)) if after.equals(&change.before) => *after = change.after.clone(),
            // Another process changed the name in between.
            Some(known) => {
                by_others.insert(change.name.clone());
                *known = both();
            }
        }
    }
    let changed = held.into_iter().filter(|(_, (before, after))| !before.equals(after));
    Net { changes: changed.map(|(name, states)| (name.to_owned(), states)).collect(), by_others }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::Language;

    #[test]
    fn a_note_is_kept_as_data_and_read_in_any_language() {
        let notes =
            [Note::NotAllRecorded { folder: "/s".into(), error: "full".into() }, Note::TooMuchChanged { most: 512 }];
        let end = End { notes: notes.to_vec(), ..End::default() };
        let text = serde_json::to_string(&Line::End(end.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), Line::End(end));
        let rendered = |language| notes.each_ref().map(|note| note.text().render(language));
        let (english, portuguese) = (rendered(Language::English), rendered(Language::Portuguese));
        assert_eq!(english[1], "More than 512 MiB changed in this turn; the rest of it cannot be undone.");
        assert!(english.iter().zip(&portuguese).all(|(english, portuguese)| english != portuguese));
    }
}
