//! Replaces a passage of a text that occurs exactly once.

mod find;
mod flat;
mod nearest;
mod reindent;

pub use nearest::Nearest;
pub use reindent::Indentation;

use super::miss::list_lines;
use super::text::Text;
use flat::Flat;
use std::fmt;
use toolfence_protocol::{self as protocol, text};

/// Maximum number of lines listed in a message. The number of the others follows.
const MOST_NAMED: usize = 100;

/// The result of replacing a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replaced {
    /// The new text.
    pub text: Vec<u8>,
    /// The line where the passage begins, from 1.
    pub line: u64,
    /// Whether the passages were indented with another unit than the file, and both were converted to the file's unit.
    pub reindented: bool,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassageProblem {
    /// The old passage is empty.
    Empty,
    /// The new passage equals the old one, ignoring line ends.
    Same,
    /// It occurs several times; occurrences may overlap.
    Several {
        /// The lines where the first hundred occurrences begin, from 1. A line where two of them begin is listed twice.
        lines: Vec<u64>,
        /// The number of occurrences.
        total: u64,
    },
    /// It occurs nowhere.
    NotFound {
        /// The part of the text that is most like it.
        nearest: Option<Nearest>,
        /// The line where the new passage already occurs.
        already: Option<u64>,
        /// The unit of the file's indentation, if the passage uses another one.
        indentation: Option<Indentation>,
    },
    /// It has U+FFFD where the file has bytes that are not UTF-8.
    NotUtf8 {
        /// The first line with such bytes, from 1.
        line: u64,
    },
    /// The text has 4 GB or more.
    TooLong,
}

impl PassageProblem {
    /// Returns the cause and what to do about it, translatable.
    pub fn text(&self) -> protocol::Text {
        match self {
            PassageProblem::Empty => text!("old is empty. Give the passage that shall be replaced."),
            PassageProblem::Same => text!(
                "old and new are the same, so there is nothing to replace. (Ends of lines are kept as the file has \
                 them.)"
            ),
            PassageProblem::Several { lines, total } => {
                text!(
                    "old occurs {total} times, at lines {lines}; it must occur exactly once. Give more of the \
                     surrounding lines.",
                    total = *total,
                    lines = list_lines(lines, total.saturating_sub(lines.len() as u64))
                )
            }
            PassageProblem::NotFound { nearest, already, indentation } => {
                not_found(nearest.as_ref(), *already, *indentation)
            }
            PassageProblem::NotUtf8 { line } => text!(
                "line {line} contains bytes that are not UTF-8, displayed as U+FFFD, so that no text matches them. \
                 Give a part of the line without them, or change the line with bash.",
                line = *line
            ),
            PassageProblem::TooLong => text!("the text is too long."),
        }
    }
}

impl fmt::Display for PassageProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}

fn not_found(nearest: Option<&Nearest>, already: Option<u64>, indentation: Option<Indentation>) -> protocol::Text {
    let there = already.map(|line| text!("new is there already, at line {line}: perhaps nothing is left to do.", line));
    let indented = indentation.map(|indentation| match indentation {
        Indentation::Tabs => text!("The file indents with tabs, old with spaces."),
        Indentation::Spaces => text!("The file indents with spaces, old with tabs."),
    });
    let like = nearest.map_or_else(
        || text!("Nothing in the file is like it. Is it the right file? Read it and copy the passage exactly."),
        Nearest::text,
    );
    let sentences = [Some(text!("old does not occur in the file.")), there, indented, Some(like)];
    protocol::Text::join(sentences.into_iter().flatten(), " ")
}

/// Replaces the only occurrence of a passage.
///
/// Carriage returns before line feeds are ignored: the new lines get the line ends of the lines around them. A byte
/// order mark stays. If the passage ends with a line feed and the text does not, the end of the text counts as one. A
/// passage that does not occur is also tried in the unit of the file's indentation, if it uses another unit. Bytes that
/// are not UTF-8 are kept. Time and memory are linear in the three texts, whatever their content.
///
/// # Errors
/// Fails if the passage is empty, equals the new one, or does not occur exactly once.
///
/// ```
/// use toolfence_patch::{PassageProblem, replace_passage};
///
/// let done = replace_passage(b"one\r\ntwo\r\n", "one\ntwo", "1\n2").unwrap();
/// assert_eq!((done.text.as_slice(), done.line), (&b"1\r\n2\r\n"[..], 1));
/// let several = replace_passage(b"aaa", "aa", "b").unwrap_err();
/// assert_eq!(several, PassageProblem::Several { lines: vec![1, 1], total: 2 });
/// ```
pub fn replace_passage(text: &[u8], old: &str, new: &str) -> Result<Replaced, PassageProblem> {
    let text = Text::new(text).ok_or(PassageProblem::TooLong)?;
    let (old, new) = (flat::flattened(old, &text), flat::flattened(new, &text));
    if old.is_empty() {
        return Err(PassageProblem::Empty);
    }
    if old == new {
        return Err(PassageProblem::Same);
    }
    let flat = Flat::new(&text, old.ends_with('\n'));
    match find::find_two(flat.bytes(), old.as_bytes()) {
        (Some(at), None) => Ok(replace_at(&text, &flat, at, &old, &new)),
        (Some(_), Some(_)) => {
            let (lines, total) = find::all_lines(flat.bytes(), old.as_bytes(), MOST_NAMED);
            Err(PassageProblem::Several { lines, total })
        }
        (None, _) => {
            // Only after the passage as written was not found, so that a conversion never competes with an exact place.
            if let Some(found) = reindent::find(flat.bytes(), &old, &new) {
                let replaced = replace_at(&text, &flat, found.at, &found.old, &found.new);
                return Ok(Replaced { reindented: true, ..replaced });
            }
            if let Some(line) = not_utf8(flat.bytes(), &old) {
                return Err(PassageProblem::NotUtf8 { line });
            }
            let nearest = nearest::nearest(&text, &old);
            let already = find::find_existing(flat.bytes(), new.as_bytes());
            let wanted = Indentation::detect(old.lines().map(str::as_bytes));
            let indentation = wanted.and(Indentation::detect(text.lines())).filter(|own| wanted != Some(*own));
            Err(PassageProblem::NotFound { nearest, already, indentation })
        }
    }
}

/// Returns the first line, from 1, with bytes that are not UTF-8, at the place where the passage occurs if such bytes
/// are displayed as U+FFFD.
fn not_utf8(flat: &[u8], passage: &str) -> Option<u64> {
    if !passage.contains('\u{FFFD}') {
        return None;
    }
    let displayed = String::from_utf8_lossy(flat);
    let at = displayed.find(passage)?;
    let first = memchr::memchr_iter(b'\n', &displayed.as_bytes()[..at]).count();
    let mut lines = flat.split(|byte| *byte == b'\n').enumerate().skip(first);
    lines.find(|(_, line)| std::str::from_utf8(line).is_err()).map(|(line, _)| line as u64 + 1)
}

/// Returns a function that maps each new line to the old line whose line end it gets: the same line, else the one that
/// it replaces, else the one that it follows.
fn ends_of(old: &str, new: &str) -> impl Fn(usize) -> usize {
    let [old_ends, new_ends] = [old, new].map(|text| memchr::memchr_iter(b'\n', text.as_bytes()).count());
    let above = old.split_inclusive('\n').zip(new.split_inclusive('\n')).take_while(|(one, other)| one == other);
    let above = above.count().min(old_ends).min(new_ends);
    let below = old.rsplit('\n').zip(new.rsplit('\n')).take_while(|(one, other)| one == other).count();
    let below = below.saturating_sub(1).min(old_ends - above).min(new_ends - above);
    move |at| match new_ends - at {
        left if left <= below => old_ends - left,
        _ => at.min((old_ends - below).saturating_sub(1)),
    }
}

fn replace_at(text: &Text<'_>, flat: &Flat<'_>, at: usize, old: &str, new: &str) -> Replaced {
    let body = text.body();
    // `min`: the line feed that `Flat` added is not in the original.
    let (from, to) = (flat.to_original(at), flat.to_original(at + old.len()).min(body.len()));
    // The line feed at the end of the passage matched the end of the text, which has none and gets none.
    let new = if flat.ends_for_feed(at + old.len()) { new.strip_suffix('\n').unwrap_or(new) } else { new };
    let line = text.line_at(from);
    let mut out = Vec::with_capacity(text.mark().len() + body.len() + new.len());
    out.extend_from_slice(text.mark());
    out.extend_from_slice(&body[..from]);
    let ended_as = ends_of(old, new);
    for (number, piece) in new.split('\n').enumerate() {
        if number > 0 {
            out.extend_from_slice(text.end_near(line + ended_as(number - 1)));
        }
        out.extend_from_slice(piece.as_bytes());
    }
    out.extend_from_slice(&body[to..]);
    Replaced { text: out, line: line as u64 + 1, reindented: false }
}
