//! A range of lines of one file, in one buffer and the memory of the answer.

mod lines;

use crate::names;
use crate::root::opened::Opened;
use crate::root::path_arg::{invalid, shown};
use crate::root::{Root, of_io};
use crate::stop::Stop;
use crate::text::refuse_no_text;
use crate::version::Version;
use lines::{Lines, TextLine};
use toolfence_protocol::limits::size;
use toolfence_protocol::{Language, Limits, ToolFailure, text};

/// Which lines of which file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// Relative to the root, or absolute and inside it.
    pub path: String,
    /// The first line, from 1; the first of the file when absent.
    pub start_line: Option<u64>,
    /// The last line, itself included; the last of the file when absent.
    pub end_line: Option<u64>,
    /// How many lines from the first one; where `end_line` is given too, the nearer end holds.
    pub lines: Option<u64>,
    /// Count all lines of a file that is too large to be counted without being asked to.
    pub count_lines: bool,
    /// How much is read at once.
    pub limits: ReadLimits,
    /// In which language it is told that a line was cut.
    pub language: Language,
}

impl ReadFile {
    /// The whole file, as far as the limits go.
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

/// How much is read at once. The first line is always given, however short the rest must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadLimits {
    /// Lines.
    pub lines: u64,
    /// Bytes of text.
    pub bytes: usize,
    /// Characters of text, where a backend counts those.
    pub chars: Option<usize>,
    /// Characters of one line; what is longer is cut.
    pub line_chars: usize,
    /// Bytes of a file whose lines are all counted without being asked to.
    pub counted: u64,
    /// Bytes of a file that can be edited, whose content is remembered.
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

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileText {
    /// The real name relative to the root.
    pub path: String,
    /// The lines, each ended by one LF. Bytes that are no text are U+FFFD.
    pub text: String,
    /// The first line given; 0 where the file is empty.
    pub start_line: u64,
    /// The last line given; 0 where the file is empty.
    pub end_line: u64,
    /// How many lines the file has.
    pub total: Total,
    /// Wanted lines that were not given because of the limits; they may be more where `total` is not exact.
    pub left_out: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Whether a byte order mark was hidden.
    pub bom: bool,
    /// Whether lines ended by CRLF were given as if by LF.
    pub crlf: bool,
    /// Whether some bytes are not UTF-8 text.
    pub lossy: bool,
    /// Lines that were cut.
    pub cut_lines: u64,
    /// The whole content, for an edit that must not meet another one; `None` for a file too large to be edited.
    pub version: Option<Version>,
}

/// How many lines a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Total {
    /// All were counted.
    Exact(u64),
    /// Counting stopped here.
    AtLeast(u64),
}

impl Total {
    /// The number, exact or not.
    pub fn count(self) -> u64 {
        match self {
            Total::Exact(count) | Total::AtLeast(count) => count,
        }
    }
}

/// Reads a range of lines of a text file.
pub(super) fn read(root: &Root, wanted: &ReadFile, stop: &Stop) -> Result<FileText, ToolFailure> {
    let range = Range::of(wanted)?;
    let opened = root.open_file(&wanted.path)?;
    let bytes = opened.size();
    let counted = wanted.limits.counted;
    let budget = (bytes > counted && !wanted.count_lines).then_some(counted);
    let name = names::text_of(&opened.name);
    let broken = |error: std::io::Error| of_io(&error, &wanted.path);
    let mut lines = start(opened, stop, wanted)?;
    let skipped = lines.skip(range.first - 1).map_err(broken)?;
    refuse_beyond(&range, skipped, &lines, &wanted.path)?;
    let mut taken = Taken::new(wanted);
    lines.limit(budget);
    taken.take(&mut lines, &range).map_err(broken)?;
    let rest = if budget.is_some() { lines.count_buffered() } else { lines.count_rest().map_err(broken)? };
    Ok(taken.into_text(name, bytes, &range, &lines, rest))
}

/// The lines that are wanted.
struct Range {
    first: u64,
    last: u64,
}

impl Range {
    fn of(wanted: &ReadFile) -> Result<Range, ToolFailure> {
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

/// The first buffer says whether this is text at all.
fn start<'s>(opened: Opened, stop: &'s Stop, wanted: &ReadFile) -> Result<Lines<'s>, ToolFailure> {
    let (path, size) = (&wanted.path, opened.size());
    let mut lines = Lines::new(opened.fd.into(), stop);
    // Where the limit was lowered, an edit that meets another one is still noticed.
    if size <= wanted.limits.edited.max(Limits::default().file_bytes) {
        lines.hash();
    }
    let first = lines.first().map_err(|error| of_io(&error, path))?;
    let bom = refuse_no_text(first, size, path)?;
    lines.drop_front(bom);
    Ok(lines)
}

fn refuse_beyond(range: &Range, skipped: u64, lines: &Lines<'_>, path: &str) -> Result<(), ToolFailure> {
    let wants_something_missing = range.first > 1 && lines.at_end();
    if !wants_something_missing {
        return Ok(());
    }
    Err(invalid(text!(
        "{path} has {lines} {lines|line|lines}; start_line {start} is beyond the end. Give a start_line in the file.",
        path = shown(path),
        lines = skipped,
        start = range.first
    )))
}

/// The answer as it grows.
struct Taken<'a> {
    limits: &'a ReadLimits,
    language: Language,
    text: String,
    chars: usize,
    count: u64,
    /// Lines that were read and did not fit.
    unfit: u64,
    crlf: bool,
    lossy: bool,
    cut_lines: u64,
}

impl<'a> Taken<'a> {
    fn new(wanted: &'a ReadFile) -> Taken<'a> {
        let (limits, language, text) = (&wanted.limits, wanted.language, String::new());
        Taken { limits, language, text, chars: 0, count: 0, unfit: 0, crlf: false, lossy: false, cut_lines: 0 }
    }

    fn take(&mut self, lines: &mut Lines<'_>, range: &Range) -> std::io::Result<()> {
        while self.count < self.limits.lines && self.count <= range.last - range.first {
            let Some(line) = lines.next(self.limits.line_chars, self.language)? else { break };
            if !self.fits(&line) {
                self.unfit = 1;
                break;
            }
            self.add(&line);
        }
        Ok(())
    }

    fn fits(&self, line: &TextLine) -> bool {
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
        // What was not looked at is not nothing.
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
