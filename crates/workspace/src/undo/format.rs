//! What is written of a turn: JSON lines in a file of its own, that is only added to.

use crate::messages;
use crate::state::{Change, State};
use crate::undo::alive::Moment;
use crate::undo::snapshot::LeftOut;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use toolfence_protocol::Text;

/// The version of a line's form. Since 2 the states have attributes.
pub(crate) const VERSION: u32 = 2;

/// Bytes of a record that are read. Ours is over at the limits of its snapshots.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes at the end of a record in which its last line stands.
const TAIL: u64 = 64 << 10;

/// What a record is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A turn of the model.
    Turn,
    /// The undoing of a turn.
    Undo(u64),
    /// The redoing of what an undo took back.
    Redo(u64),
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first one.
    Begin(Begin),
    /// Names that are about to change together.
    Change { number: u64, changes: Vec<Change> },
    /// The names of the change with this number did not change.
    Unchanged { number: u64 },
    /// Commands may change anything from here on; the index of this name holds what was there.
    Running {
        since: u64,
        #[serde(default)]
        index: String,
        /// When; `None` in a record of before that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moment: Option<Moment>,
    },
    /// What they changed.
    Commands {
        since: u64,
        changes: Vec<Change>,
        left_out: LeftOut,
        /// What is not as it was before them either, and was changed after the turn was cut short, or too shortly before that
        /// to tell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        later: Vec<Change>,
    },
    /// The last one.
    End(End),
}

/// How a record begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begin {
    pub(crate) v: u32,
    pub(crate) kind: Kind,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) session: String,
    pub(crate) title: String,
}

/// How a record ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct End {
    /// Names that are not as they were.
    pub(crate) names: u64,
    /// Whether the program was killed before the end, which was found when it was started again.
    pub(crate) killed: bool,
    /// What is to be said when it is undone.
    pub(crate) notes: Vec<Note>,
    /// What its commands were not looked at for.
    pub(crate) left_out: LeftOut,
    /// Whether commands changed anything that is covered.
    pub(crate) by_commands: bool,
    /// Names that are not covered, and that changed while commands ran.
    pub(crate) aside: u64,
}

/// What is to be said of a turn. The record keeps it as data and not as a sentence, since whoever reads it may do so in
/// another language than that of the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Note {
    /// The folder of the history could not be written, with this error.
    NotAllRecorded { folder: String, error: String },
    /// More than so many MiB changed.
    TooMuchChanged { most: u64 },
    /// A job of the turn went on after it.
    JobWentOn,
    /// These names changed and are not covered, and so many more.
    ChangedAside { names: Vec<String>, more: u64 },
    /// A sentence, as records of before had them.
    #[serde(untagged)]
    Sentence(String),
}

impl Note {
    /// The note in words.
    pub(crate) fn text(&self) -> Text {
        match self {
            Note::NotAllRecorded { folder, error } => messages::not_all_recorded(folder, error),
            Note::TooMuchChanged { most } => messages::too_much_changed(*most),
            Note::JobWentOn => messages::job_went_on(),
            Note::ChangedAside { names, more: 0 } => messages::changed_aside(names.join(", ")),
            Note::ChangedAside { names, more } => messages::changed_aside(messages::and_more(names.join(", "), *more)),
            Note::Sentence(sentence) => sentence.as_str().into(),
        }
    }
}

impl End {
    /// Whether nothing of it can be undone: all that changed is not covered.
    pub(crate) fn is_bare(&self) -> bool {
        self.names == 0 && self.aside > 0
    }
}

/// A record without what changed.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    pub(crate) begin: Begin,
    pub(crate) end: Option<End>,
}

/// What came of a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Net {
    /// Each name that is not as it was.
    pub(crate) changes: BTreeMap<PathBuf, (State, State)>,
    /// Paths that another process changed during the turn. Undo restores the state that process left.
    pub(crate) by_others: BTreeSet<PathBuf>,
    /// Each name that another process may have changed after the turn was cut short, as it was before and is by now. It is in
    /// `changes` no more.
    pub(crate) later: BTreeMap<PathBuf, (State, State)>,
}

impl Net {
    /// Each name with its state before and after.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&Path, &State, &State)> + Clone {
        self.changes.iter().map(|(name, (before, after))| (name.as_path(), before, after))
    }
}

/// The records of a folder, oldest first. What is none is passed over.
pub(crate) fn heads(folder: &Path) -> Vec<Head> {
    numbered(folder).into_iter().filter_map(|(number, path)| head(number, path)).collect()
}

/// The files of records with their numbers, oldest first, those among them that are none.
pub(crate) fn numbered(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbered: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| Some((number_of(&entry.path())?, entry.path()))).collect();
    numbered.sort_unstable();
    numbered
}

/// The file of a record.
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

/// The last line, where it ends the record.
fn tail(file: &mut File) -> io::Result<Option<End>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    let Some(text) = text.strip_suffix(b"\n") else { return Ok(None) };
    let start = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    Ok(match serde_json::from_slice(&text[start..]) {
        Ok(Line::End(end)) => Some(end),
        _ => None,
    })
}

/// The lines of a record that can be read; a torn last one is dropped, and nothing else.
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
    if matches!(lines.first(), Some(Line::Begin(begin)) if begin.v < 2) {
        let changes = lines.iter_mut().flat_map(|line| match line {
            Line::Change { changes, .. } | Line::Commands { changes, .. } => changes.as_mut_slice(),
            _ => &mut [],
        });
        changes.flat_map(|change| [&mut change.before, &mut change.after]).for_each(State::forget_attributes);
    }
    Ok(lines)
}

/// What a name was and is, while the lines are gone through.
struct BothStates {
    before: State,
    after: State,
    /// The numbers of its first and last change.
    first: u64,
    last: u64,
}

/// The numbers of changes that came to nothing.
fn undone(lines: &[Line]) -> HashSet<u64> {
    let number = |line: &Line| if let Line::Unchanged { number } = line { Some(*number) } else { None };
    lines.iter().filter_map(number).collect()
}

/// What tools changed, in its order, each with the number of its change.
pub(crate) fn made(lines: &[Line]) -> impl Iterator<Item = (u64, &Change)> {
    let undone = undone(lines);
    let made = lines.iter().filter_map(move |line| match line {
        Line::Change { number, changes } if !undone.contains(number) => Some((*number, changes)),
        _ => None,
    });
    made.flat_map(|(number, changes)| changes.iter().map(move |change| (number, change)))
}

/// What the lines come to.
pub(crate) fn net(lines: &[Line]) -> Net {
    let undone = undone(lines);
    let mut held: BTreeMap<&Path, BothStates> = BTreeMap::new();
    let mut by_others = BTreeSet::new();
    for line in lines {
        let (number, changes, since) = match line {
            Line::Change { number, changes } if !undone.contains(number) => (*number, changes, None),
            Line::Commands { since, changes, .. } => (u64::MAX, changes, Some(*since)),
            _ => continue,
        };
        for change in changes {
            let new = || BothStates {
                before: change.before.clone(),
                after: change.after.clone(),
                first: number,
                last: number,
            };
            let Some(known) = held.get_mut(change.name.as_path()) else {
                held.insert(&change.name, new());
                continue;
            };
            match since {
                // A tool changed it while commands ran: they saw what was before that, and what is now.
                Some(since) if known.first >= since && known.first != u64::MAX => *known = new(),
                Some(since) if known.last >= since && known.last != u64::MAX => known.after = change.after.clone(),
                _ if known.after.is(&change.before) => known.after = change.after.clone(),
                _ => {
                    by_others.insert(change.name.clone());
                    *known = new();
                }
            }
            known.last = number;
        }
    }
    let mut later = BTreeMap::new();
    for change in
        lines.iter().flat_map(|line| if let Line::Commands { later, .. } = line { later.as_slice() } else { &[] })
    {
        let before = held.remove(change.name.as_path()).map_or_else(|| change.before.clone(), |held| held.before);
        later.insert(change.name.clone(), (before, change.after.clone()));
    }
    let changed = held.into_iter().filter(|(_, held)| !held.before.is(&held.after));
    let changes = changed.map(|(name, held)| (name.to_owned(), (held.before, held.after))).collect();
    Net { changes, by_others, later }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::Language;

    #[test]
    fn a_note_is_kept_as_data_and_read_in_any_language() {
        let notes = [
            Note::NotAllRecorded { folder: "/s".into(), error: "full".into() },
            Note::TooMuchChanged { most: 512 },
            Note::JobWentOn,
            Note::ChangedAside { names: vec!["a".into(), "b".into()], more: 0 },
            Note::ChangedAside { names: vec!["a".into()], more: 2 },
            Note::Sentence("As it was.".into()),
        ];
        let end = End { notes: notes.to_vec(), ..End::default() };
        let text = serde_json::to_string(&Line::End(end.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), Line::End(end));
        let rendered = |language| notes.each_ref().map(|note| note.text().render(language));
        let (english, portuguese) = (rendered(Language::English), rendered(Language::Portuguese));
        assert_eq!(english[3], "Changed while its commands ran, and not covered: a, b.");
        assert_eq!(english[4], "Changed while its commands ran, and not covered: a and 2 more.");
        assert_eq!(portuguese[4], "Mudaram durante a execução dos comandos dele e não estão cobertos: a e mais 2.");
        assert!(english.iter().zip(&portuguese).take(5).all(|(english, portuguese)| english != portuguese));
        assert_eq!(english[5], portuguese[5]);
    }

    /// As records had them before notes were data.
    #[test]
    fn a_sentence_of_an_older_record_is_a_note() {
        let end: End = serde_json::from_str(r#"{"names": 1, "notes": ["A job went on."]}"#).unwrap();
        assert_eq!(end.notes, [Note::Sentence("A job went on.".into())]);
    }
}
