//! Why a hunk has no place, in words for the model.

use super::messages;
use super::model::Hunk;
use std::borrow::Cow;
use std::fmt;
use toolfence_protocol::invisible::{self, Invisible};
use toolfence_protocol::text::Field;
use toolfence_protocol::{Text, text};

/// Candidates that are named; how many more there are is said.
const MOST_NAMED: usize = 20;

/// Characters of a line that are shown.
const MOST_SHOWN: usize = 160;

/// A hunk that could not be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Miss {
    /// Which hunk of its file, from 1.
    pub hunk: usize,
    /// The line of the patch where it begins, from 1.
    pub patch_line: usize,
    /// The cause.
    pub why: Why,
}

impl Miss {
    pub(super) fn new(number: usize, hunk: &Hunk<'_>, why: Why) -> Miss {
        Miss { hunk: number, patch_line: hunk.line, why }
    }

    /// Which hunk and why, in any language.
    pub fn text(&self) -> Text {
        messages::hunk(self.hunk, self.patch_line, self.why.text())
    }
}

/// Why a hunk has no place. Lines are those of the file, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Its old lines are nowhere; where they would stand best, if any of them is there at all.
    NotFound(Option<Closest>),
    /// It has U+FFFD where the file has bytes that are not UTF-8.
    NotUtf8 {
        /// The first line of the file with such bytes.
        line: usize,
    },
    /// The file ends its lines with carriage returns alone, so that it is one line here, in which nothing can be changed.
    LoneReturns,
    /// Its old lines are in several places.
    Ambiguous {
        /// The first of them.
        lines: Vec<usize>,
        /// How many there are.
        total: usize,
    },
    /// Its new lines are there.
    AlreadyApplied {
        /// Where they begin.
        line: usize,
    },
    /// Another hunk changes the same lines.
    Overlap {
        /// Which hunk of the file.
        with: usize,
        /// Where.
        line: usize,
    },
    /// It must stand at the end of the file and does not.
    NotAtEnd {
        /// Where it stands.
        line: usize,
        /// Lines of the file.
        lines: usize,
    },
    /// Its only place is above its heading.
    AboveHeading {
        /// Where it stands.
        line: usize,
        /// Where the heading stands.
        heading: usize,
    },
    /// Its old lines are indented otherwise than the file's, and the added lines can be read in two ways: as written, or
    /// moved as the old ones are; or the file is so much deeper that they would get more than 1 MB of blanks.
    Indentation {
        /// Where it stands.
        line: usize,
    },
    /// It only adds, and its number is behind the end.
    BehindEnd {
        /// Lines of the file.
        lines: usize,
    },
    /// It only adds, and neither number nor heading says where.
    NoPlace,
    /// There are too many hunks for so long a file.
    TooMuchWork,
}

impl Why {
    /// Of places from 0.
    pub(super) fn ambiguous(all: &[usize]) -> Why {
        Why::Ambiguous { lines: all.iter().take(MOST_NAMED).map(|at| at + 1).collect(), total: all.len() }
    }

    /// What follows the number of the hunk.
    fn text(&self) -> Text {
        match self {
            Why::NotFound(None) => messages::no_line_found(),
            Why::NotFound(Some(closest)) => messages::not_found(closest.text()),
            Why::NotUtf8 { line } => text!(
                "was not found: line {line} of the file contains bytes that are not UTF-8, displayed as U+FFFD, so \
                 that no text matches them. Leave the line out of the hunk, or change it with bash.",
                line = *line
            ),
            Why::LoneReturns => messages::not_found(messages::lone_returns()),
            Why::Ambiguous { lines, total } => {
                messages::several_places(*total, named(lines, total.saturating_sub(lines.len())))
            }
            Why::AlreadyApplied { line } => messages::already_applied(*line),
            Why::Overlap { with, line } => messages::overlaps(*with, *line),
            Why::NotAtEnd { line, lines } => messages::not_at_end(*line, *lines),
            Why::AboveHeading { line, heading } => messages::above_heading(*line, *heading),
            Why::Indentation { line } => messages::indented_otherwise(*line),
            Why::BehindEnd { lines } => messages::behind_end(*lines),
            Why::NoPlace => messages::no_place(),
            Why::TooMuchWork => messages::too_much_work(),
        }
    }
}

/// Where a hunk would stand best.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closest {
    /// The line of the file where it would begin.
    pub line: usize,
    /// How many of its old lines are there, blanks around them aside.
    pub matching: usize,
    /// Of how many.
    pub of: usize,
    /// The line of the file that differs first; `None` where the file has no such line.
    pub differs_at: Option<usize>,
    /// That line as the patch has it, with blanks made visible; empty where the line is.
    pub wanted: String,
    /// That line as the file has it, with blanks made visible; `None` where the file has no such line.
    pub found: Option<String>,
    /// Whether the file ends its lines with carriage returns alone, so that a line is many.
    pub lone_returns: bool,
}

impl Closest {
    /// The place and the line that differs, in any language.
    pub fn text(&self) -> Text {
        let found = match (&self.found, self.differs_at) {
            (Some(found), Some(at)) => messages::line_of_file(at, told(found)),
            _ => messages::no_line_of_file(),
        };
        let advice = if self.lone_returns { messages::lone_returns() } else { messages::copy_lines_exactly() };
        messages::closest(self.line, self.matching, self.of, told(&self.wanted), found, advice)
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}

impl fmt::Display for Closest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}

/// Numbers of lines for a message, and how many more there are.
pub(super) fn named<N: ToString + Default + PartialEq + Into<Field>>(lines: &[N], more: N) -> Text {
    let named = lines.iter().map(N::to_string).collect::<Vec<_>>().join(", ");
    if more == N::default() { named.into() } else { messages::and_more(named, more) }
}

/// A line that was made visible, for a message.
pub(super) fn told(visible: &str) -> Text {
    if visible.is_empty() { messages::empty_line() } else { visible.into() }
}

/// A line for a message: blanks at its edges, tabs and other blanks in it made visible, and not too long.
pub(super) fn visible(line: &[u8]) -> String {
    let text = printable(line);
    let edge = |c: char| c == ' ' || c == '\t' || c == '\r';
    let inside = text.trim_matches(edge);
    let before = text.len() - text.trim_start_matches(edge).len();
    let inner = before..before + inner_length(inside, before, text.len());
    let mut shown = String::new();
    for (count, (at, c)) in text.char_indices().enumerate() {
        if count == MOST_SHOWN {
            shown.push_str("...");
            break;
        }
        match c {
            ' ' if !inner.contains(&at) => shown.push('·'),
            '\t' => shown.push('→'),
            '\r' => shown.push('␍'),
            c if c.is_control() || (c.is_whitespace() && c != ' ') || is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// The line as text, with bytes that are not UTF-8 as `\xe9`, so that it differs from a line that has U+FFFD.
fn printable(line: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(line) {
        return text.into();
    }
    let mut out = String::new();
    for chunk in line.utf8_chunks() {
        out.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out.into()
}

fn inner_length(inside: &str, before: usize, whole: usize) -> usize {
    if before == whole { 0 } else { inside.len() }
}

/// What cannot be seen or turns text around, but for the selectors of emoji.
pub(super) fn is_hidden(c: char) -> bool {
    invisible::kind(c).is_some_and(|kind| kind != Invisible::Selector)
}

#[cfg(test)]
mod tests {
    use super::{messages, told, visible};

    #[test]
    fn blanks_are_seen() {
        assert_eq!(visible(b"  a b \t\r"), "··a b·→␍");
        assert_eq!(visible(b" "), "·");
        assert_eq!((visible(b""), told("")), (String::new(), messages::empty_line()));
        assert_eq!(visible("a\u{a0}b\u{202e}".as_bytes()), "a\\u{a0}b\\u{202e}");
        assert_eq!(visible("\u{2800}\u{3164}x\u{fe0f}".as_bytes()), "\\u{2800}\\u{3164}x\u{fe0f}");
        assert_eq!(visible(b"\xff\x1b["), "\\xff\\u{1b}[");
        assert_eq!(visible(&[b'x'; 500]).len(), 163);
    }
}
