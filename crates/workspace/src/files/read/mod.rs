//! Reads a range of lines of one file with one buffer.

mod lines;

use crate::names;
use crate::root::opened::OpenEntry;
use crate::root::path_arg::{invalid, quoted};
use crate::root::{Root, of_io};
use crate::stop::Stop;
use crate::text::refuse_no_text;
use crate::version::Version;
use lines::{Lines, TextLine};
use toolfence_protocol::limits::size;
use toolfence_protocol::{Language, Limits, ToolFailure, text};

/// The options of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// The path, relative to the root, or absolute and inside it.
    pub path: String,
    /// The first line, from 1; by default the first of the file.
    pub start_line: Option<u64>,
    /// The last line, inclusive; by default the last of the file.
    pub end_line: Option<u64>,
    /// The number of lines. If `end_line` is given too, the nearer end counts.
    pub lines: Option<u64>,
    /// Counts all lines of a file even if it is larger than [`ReadLimits::counted`].
    pub count_lines: bool,
    /// The limits of the result.
    pub limits: ReadLimits,
    /// The language of the note in a line that was cut.
    pub language: Language,
}

impl ReadFile {
    /// Returns options for the whole file within the limits.
    pub fn new(path: impl Into<String>) -> ReadFile {
        ReadFile {
            path: path.into(),
            start_line: None,
            end_line: None,
            lines: None,
            count_lines: false,
            limits: ReadLimits::default(),
            language: Language::default(),
        }
    }
}

/// The limits of one read. The first line is always returned, however short the rest must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadLimits {
    /// Lines.
    pub lines: u64,
    /// Bytes of text.
    pub bytes: usize,
    /// Characters of text, if the backend counts those.
    pub chars: Option<usize>,
    /// Characters of one line. A longer line is cut.
    pub line_chars: usize,
    /// Bytes of a file whose lines are always counted.
    pub counted: u64,
    /// Bytes of a file that can be edited. Its version is computed.
    pub edited: u64,
}

impl From<&Limits> for ReadLimits {
    fn from(limits: &Limits) -> ReadLimits {
        ReadLimits {
            lines: limits.read_lines,
            bytes: size(limits.read_bytes),
            chars: Some(size(limits.read_chars)),
            line_chars: size(limits.line_chars),
            counted: limits.count_bytes,
            edited: limits.file_bytes,
        }
    }
}

impl Default for ReadLimits {
    fn default() -> ReadLimits {
        ReadLimits::from(&Limits::default())
    }
}

/// The lines that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileText {
    /// The real name relative to the root.
    pub path: String,
    /// The lines, each ended by one LF. Invalid UTF-8 becomes U+FFFD.
    pub text: String,
    /// The first line in the text; 0 if the file is empty.
    pub start_line: u64,
    /// The last line in the text; 0 if the file is empty.
    pub end_line: u64,
    /// The number of lines in the file.
    pub total: Total,
    /// Requested lines that exceed the limits. There may be more if `total` is not exact.
    pub left_out: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Whether a byte order mark was removed.
    pub bom: bool,
    /// Whether CRLF line endings were converted to LF.
    pub crlf: bool,
    /// Whether some bytes are not UTF-8 text.
    pub lossy: bool,
    /// Lines that were cut.
    pub cut_lines: u64,
    /// The version of the whole content, so that an edit can detect a conflict; `None` for a file too large to be
    /// edited.
    pub version: Option<Version>,
}

/// The number of lines in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Total {
    /// All lines were counted.
    Exact(u64),
    /// The count stopped at this number of lines.
    AtLeast(u64),
}

impl Total {
    /// Returns the number, exact or not.
    pub fn count(self) -> u64 {
        match self {
            Total::Exact(count) | Total::AtLeast(count) => count,
        }
    }
}

/// Reads a range of lines of a text file.
pub(super) fn read(root: &Root, wanted: &ReadFile, stop: &Stop) -> Result<FileText, ToolFailure> {
    let range = Range::resolve(wanted)?;
    let opened = root.open_file(&wanted.path)?;
    let bytes = opened.size();
    let counted = wanted.limits.counted;
    let budget = (bytes > counted && !wanted.count_lines).then_some(counted);
    let name = names::text_of(&opened.name);
    let broken = |error: std::io::Error| of_io(&error, &wanted.path);
    let mut lines = start(opened, stop, wanted)?;
    let skipped = lines.skip(range.first - 1).map_err(broken)?;
    refuse_beyond(&range, skipped, &lines, &wanted.path)?;
    let mut taken = TextBuilder::new(wanted);
    // The limit begins here, so that a late `start_line` is reached in a large file, too.
    lines.limit(budget);
    taken.take(&mut lines, &range).map_err(broken)?;
    // A large file is not read to its end only to count its lines.
    let rest = if budget.is_some() { lines.count_buffered() } else { lines.count_rest().map_err(broken)? };
    Ok(taken.into_text(name, bytes, &range, &lines, rest))
}

/// The requested lines.
struct Range {
    first: u64,
    last: u64,
}

impl Range {
    fn resolve(wanted: &ReadFile) -> Result<Range, ToolFailure> {
        let first = wanted.start_line.unwrap_or(1);
        let by_count = wanted.lines.map_or(u64::MAX, |lines| first.saturating_add(lines).saturating_sub(1));
        let last = wanted.end_line.unwrap_or(u64::MAX).min(by_count);
        if first == 0 {
            return Err(invalid(text!("start_line is 0; lines are counted from 1.")));
        }
        if last < first {
            return Err(invalid(text!(
                "end_line {last} is before start_line {first}. Give a later end_line.",
                last,
                first
            )));
        }
        Ok(Range { first, last })
    }
}

/// Opens the file and checks by its beginning that it is text.
fn start<'s>(opened: OpenEntry, stop: &'s Stop, wanted: &ReadFile) -> Result<Lines<'s>, ToolFailure> {
    let (path, size) = (&wanted.path, opened.size());
    let mut lines = Lines::new(opened.fd.into(), stop);
    // A project may lower the limit; conflicting edits must still be detected up to the default.
    if size <= wanted.limits.edited.max(Limits::default().file_bytes) {
        lines.hash();
    }
    let first = lines.first().map_err(|error| of_io(&error, path))?;
    let bom = refuse_no_text(first, size, path)?;
    lines.drop_front(bom);
    Ok(lines)
}

fn refuse_beyond(range: &Range, skipped: u64, lines: &Lines<'_>, path: &str) -> Result<(), ToolFailure> {
    // The first line may be requested of an empty file, too.
    let wants_something_missing = range.first > 1 && lines.at_end();
    if !wants_something_missing {
        return Ok(());
    }
    Err(invalid(text!(
        "{path} has {lines} {lines|line|lines}; start_line {start} is beyond the end. Give a start_line in the file.",
        path = quoted(path),
        lines = skipped,
        start = range.first
    )))
}

/// The result while it is built.
struct TextBuilder<'a> {
    limits: &'a ReadLimits,
    language: Language,
    text: String,
    chars: usize,
    count: u64,
    /// Lines that were read and exceed the limits.
    unfit: u64,
    crlf: bool,
    lossy: bool,
    cut_lines: u64,
}

impl<'a> TextBuilder<'a> {
    fn new(wanted: &'a ReadFile) -> TextBuilder<'a> {
        let (limits, language, text) = (&wanted.limits, wanted.language, String::new());
        TextBuilder { limits, language, text, chars: 0, count: 0, unfit: 0, crlf: false, lossy: false, cut_lines: 0 }
    }

    fn take(&mut self, lines: &mut Lines<'_>, range: &Range) -> std::io::Result<()> {
        while self.count < self.limits.lines && self.count <= range.last - range.first {
            let Some(line) = lines.next(self.limits.line_chars, self.language)? else { break };
            if !self.has_room(&line) {
                self.unfit = 1;
                break;
            }
            self.add(&line);
        }
        Ok(())
    }

    fn has_room(&self, line: &TextLine) -> bool {
        let bytes = self.text.len() + line.text.len() < self.limits.bytes;
        let chars = self.limits.chars.is_none_or(|most| self.chars + line.shown_chars < most);
        self.count == 0 || (bytes && chars)
    }

    fn add(&mut self, line: &TextLine) {
        self.text.push_str(&line.text);
        self.text.push('\n');
        self.chars += line.shown_chars + 1;
        self.count += 1;
        self.crlf |= line.crlf;
        self.lossy |= line.lossy;
        self.cut_lines += u64::from(line.cut);
    }

    fn into_text(self, path: String, bytes: u64, range: &Range, lines: &Lines<'_>, rest: u64) -> FileText {
        let end_line = range.first - 1 + self.count;
        let known = end_line + self.unfit + rest;
        let exact = lines.at_end();
        // The unread rest has at least one line.
        let known = if exact { known } else { known.max(end_line + 1) };
        FileText {
            path,
            text: self.text,
            start_line: if self.count == 0 { 0 } else { range.first },
            end_line: if self.count == 0 { 0 } else { end_line },
            total: if exact { Total::Exact(known) } else { Total::AtLeast(known) },
            left_out: known.min(range.last).saturating_sub(end_line),
            bytes,
            bom: lines.had_bom(),
            crlf: self.crlf,
            lossy: self.lossy,
            cut_lines: self.cut_lines,
            version: lines.version(),
        }
    }
}
