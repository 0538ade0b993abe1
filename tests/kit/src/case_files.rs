//! Reads the files in `tests/cases`, in their four formats. Each expectation keeps its position in the file, so that it
//! can be reported and rewritten.

use crate::signs;
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A case file as it was read.
#[derive(Debug)]
pub(crate) struct CaseFile {
    pub(crate) path: PathBuf,
    /// The path relative to the root of the repository.
    name: String,
    pub(crate) text: String,
}

/// The case files of one folder, in the order of their names, or one file.
#[derive(Debug, Clone)]
pub struct CaseFiles(pub(crate) Vec<Arc<CaseFile>>);

/// A range of a case file, which usually contains an expectation.
#[derive(Debug, Clone)]
pub struct Expected {
    pub(crate) file: Arc<CaseFile>,
    pub(crate) range: Range<usize>,
    pub(crate) form: Form,
}

/// The form of an expectation in its file, which determines how it is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A part of a line.
    Cell,
    /// Whole lines.
    Lines,
    /// The lines below the head of a part.
    Part,
    /// The lines below the head of an optional part, which begins with this word. The head exists only if there are
    /// lines.
    OptionalPart(&'static str),
}

/// A case of the parser: `%%% title | options`, the reply, a line `%%%`, and one event per line.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The name of the file and the title of the case.
    pub title: String,
    /// The words after the title.
    pub options: String,
    /// The model's reply, with its signs replaced.
    pub reply: String,
    /// The expected events, one per line.
    pub events: Expected,
}

/// A case that begins with `=== title`. Each of its parts begins with `#### ` and ends before the next one.
#[derive(Debug, Clone)]
pub struct Section {
    /// The title of the case.
    pub title: String,
    /// The parts in their order.
    pub parts: Vec<Part>,
    end: Expected,
}

/// A part of a section.
#[derive(Debug, Clone)]
pub struct Part {
    /// The first word of the head, which identifies the part.
    pub word: String,
    /// The rest of the head.
    pub rest: String,
    /// The lines below the head, without an empty line before the next part or case.
    pub body: Expected,
}

/// A line of cells, separated by tabs. Lines that begin with `#` are comments.
#[derive(Debug, Clone)]
pub struct Row(pub Vec<Expected>);

/// A case of the JSON reader: the lines `in`, `want` and `is`, below a `## section`.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The title of the section.
    pub section: String,
    /// The text to read, with its signs replaced.
    pub text: String,
    /// The intended values, or `nothing`.
    pub want: String,
    /// The expected outcome: `valid`, `refused` or the repairs.
    pub is: Expected,
}

/// Returns the root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the kit is in `tests/kit`")
}

impl CaseFiles {
    /// Reads the files of a folder in `tests/cases`, or one file there.
    pub fn of(name: &str) -> CaseFiles {
        let path = root().join("tests/cases").join(name);
        let mut paths = vec![path.clone()];
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("the folder can be read");
            paths = entries.map(|entry| entry.expect("the entry can be read").path()).collect();
            paths.sort();
        }
        CaseFiles(paths.iter().map(|path| CaseFile::read(path)).collect())
    }

    /// Reads one file.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> CaseFiles {
        CaseFiles(vec![CaseFile::read(path)])
    }

    /// Returns the full text of each file.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|file| &*file.text)
    }

    /// Returns the cases of files that contain replies.
    pub fn replies(&self) -> Vec<Reply> {
        self.0.iter().flat_map(replies).collect()
    }

    /// Returns the cases of files that contain sections.
    pub fn sections(&self) -> Vec<Section> {
        self.0.iter().flat_map(sections).collect()
    }

    /// Returns the cases of files that contain rows.
    pub fn rows(&self) -> Vec<Row> {
        self.0.iter().flat_map(rows).collect()
    }

    /// Returns the cases of files that contain rows of two cells, a verdict and a command. The second cell may contain
    /// tabs.
    pub fn pairs(&self) -> Vec<(Expected, Expected)> {
        let rows = self.rows().into_iter();
        let pairs = rows.map(|Row(cells)| {
            let [first, second, ..] = &cells[..] else { panic!("{}: two cells with a tab between them", cells[0]) };
            let end = cells[cells.len() - 1].range.end;
            (first.clone(), Expected { range: second.range.start..end, ..second.clone() })
        });
        pairs.collect()
    }

    /// Returns the cases of files that contain entries.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.iter().flat_map(entries).collect()
    }
}

impl CaseFile {
    fn read(path: &Path) -> Arc<CaseFile> {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Arc::new(CaseFile::of(path, text))
    }

    pub(crate) fn of(path: &Path, text: String) -> CaseFile {
        let below = path.strip_prefix(root()).expect("the file is in the repository");
        CaseFile { path: path.to_owned(), name: below.display().to_string(), text }
    }

    /// Returns the name of the file without folder and extension.
    fn stem(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name")
    }

    /// Returns each line, without its line feed, with its offset in the file.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut at = 0;
        self.text.split_inclusive('\n').map(move |line| {
            at += line.len();
            (at - line.len(), line.strip_suffix('\n').unwrap_or(line))
        })
    }
}

impl Expected {
    fn new(file: &Arc<CaseFile>, range: Range<usize>, form: Form) -> Expected {
        Expected { file: Arc::clone(file), range, form }
    }

    /// Returns the expected text as written in the file.
    pub fn text(&self) -> &str {
        &self.file.text[self.range.clone()]
    }

    /// Returns the lines that are not empty.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text().lines().filter(|line| !line.is_empty())
    }

    /// Returns the name of the file without folder and extension.
    pub fn stem(&self) -> &str {
        self.file.stem()
    }
}

/// Formats the file and the line of the expectation.
impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = 1 + self.file.text[..self.range.start].matches('\n').count();
        write!(f, "{}:{line}", self.file.name)
    }
}

impl Section {
    /// Returns the part of this word, if there is one.
    pub fn part(&self, word: &str) -> Option<&Expected> {
        self.parts.iter().find(|part| part.word == word).map(|part| &part.body)
    }

    /// Returns the part of this word, or an empty range at the end of the case if the case has no such part. Rewriting
    /// adds or removes the part's head.
    pub fn optional_part(&self, word: &'static str) -> Expected {
        let place = self.part(word).unwrap_or(&self.end);
        Expected { form: Form::OptionalPart(word), ..place.clone() }
    }
}

fn replies(file: &Arc<CaseFile>) -> Vec<Reply> {
    let mut cases: Vec<Reply> = Vec::new();
    let mut head: Option<(&str, usize)> = None;
    for (at, line) in file.lines() {
        let below = (at + line.len() + 1).min(file.text.len());
        if let Some(title) = line.strip_prefix("%%% ") {
            assert!(head.is_none(), "{}: {title}: the case before has no events", file.name);
            head = Some((title, below));
        } else if line == "%%%" {
            let (title, start) = head.take().unwrap_or_else(|| panic!("{}: events without a reply", file.name));
            let (title, options) = title.split_once(" | ").unwrap_or((title, ""));
            cases.push(Reply {
                title: format!("{}: {title}", file.stem()),
                options: options.to_owned(),
                reply: signs::read_reply(&file.text[start..at]),
                events: Expected::new(file, below..below, Form::Lines),
            });
        } else if let (None, Some(case)) = (head, cases.last_mut())
            && !line.is_empty()
        {
            case.events.range.end = below;
        }
    }
    assert!(head.is_none(), "{}: the last case has no events", file.name);
    cases
}

fn sections(file: &Arc<CaseFile>) -> Vec<Section> {
    let mut cases: Vec<Section> = Vec::new();
    // Text before the first case describes the file.
    for (at, line) in file.lines() {
        let below = (at + line.len() + 1).min(file.text.len());
        if let Some(title) = line.strip_prefix("=== ") {
            let end = Expected::new(file, below..below, Form::Part);
            cases.push(Section { title: title.to_owned(), parts: Vec::new(), end });
        } else if let Some(case) = cases.last_mut() {
            if let Some(head) = line.strip_prefix("#### ") {
                let (word, rest) = head.split_once(' ').unwrap_or((head, ""));
                let body = Expected::new(file, below..below, Form::Part);
                case.parts.push(Part { word: word.to_owned(), rest: rest.to_owned(), body });
            } else if let Some(part) = case.parts.last_mut() {
                part.body.range.end = below;
            }
        }
    }
    for case in &mut cases {
        for part in &mut case.parts {
            let text = part.body.text();
            if text.ends_with("\n\n") || text == "\n" {
                part.body.range.end -= 1;
            }
            let end = part.body.range.end;
            case.end.range = end..end;
        }
    }
    cases
}

fn rows(file: &Arc<CaseFile>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, line) in file.lines().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let mut start = at;
        let cells = line.split('\t').map(|cell| {
            let range = start..start + cell.len();
            start = range.end + 1;
            Expected::new(file, range, Form::Cell)
        });
        rows.push(Row(cells.collect()));
    }
    rows
}

fn entries(file: &Arc<CaseFile>) -> Vec<Entry> {
    let mut section = "";
    let mut cases: Vec<Entry> = Vec::new();
    for (at, line) in file.lines() {
        let Some((word, rest)) = line.split_once(' ') else { continue };
        let range = at + word.len() + 1..at + line.len();
        match (word, cases.last_mut()) {
            ("##", _) => section = rest,
            ("in", _) => cases.push(Entry {
                section: section.to_owned(),
                text: signs::read_line(rest),
                want: String::new(),
                is: Expected::new(file, range.end..range.end, Form::Cell),
            }),
            ("want", Some(case)) => case.want = rest.to_owned(),
            ("is", Some(case)) => case.is.range = range,
            _ => {}
        }
    }
    cases
}
