//! Why a hunk has no place, in words for the model.

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
        text!(
            "hunk {number} (line {line} of the patch) {why}",
            number = self.hunk,
            line = self.patch_line,
            why = self.why.text()
        )
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
    /// It must be at the end of the file and does not.
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
    /// Its old lines are indented differently from the file's, and the added lines can be read in two ways: as written, or
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
            Why::NotFound(None) => text!(
                "was not found: none of its old lines is in the file. Is it the right file? Read it and write the hunk \
                 again."
            ),
            Why::NotFound(Some(closest)) => text!("was not found. {explanation}", explanation = closest.text()),
            Why::NotUtf8 { line } => text!(
                "was not found: line {line} of the file contains bytes that are not UTF-8, displayed as U+FFFD, so \
                 that no text matches them. Leave the line out of the hunk, or change it with bash.",
                line = *line
            ),
            Why::LoneReturns => text!("was not found. {explanation}", explanation = lone_returns()),
            Why::Ambiguous { lines, total } => {
                text!(
                    "fits in {total} places: lines {lines}. Give more lines of context, or the right line number after \
                     @@ -.",
                    total = *total,
                    lines = named(lines, total.saturating_sub(lines.len()))
                )
            }
            Why::AlreadyApplied { line } => {
                text!("is already applied: its new lines are at line {line}. Leave it out.", line = *line)
            }
            Why::Overlap { with, line } => {
                text!("overlaps hunk {other} at line {line}. Make one hunk of both.", other = *with, line = *line)
            }
            Why::NotAtEnd { line, lines } => text!(
                "must be at the end of the file, but its lines are at line {line} of {lines}. Read the end of the file \
                 again.",
                line = *line,
                lines = *lines
            ),
            Why::AboveHeading { line, heading } => text!(
                "has its only place at line {line}, above its heading at line {heading}. Correct the heading or the \
                 lines.",
                line = *line,
                heading = *heading
            ),
            Why::Indentation { line } => text!(
                "is at line {line}, but its lines are indented differently from the file's, and the difference does \
                 not show whether the added lines are to be indented as written or moved. Read that part of the file \
                 again and copy its lines exactly: one blank, + or - in front, then the line with all of its own \
                 indentation.",
                line = *line
            ),
            Why::BehindEnd { lines } => text!(
                "adds lines after the end: the file has {lines} {lines|line|lines}. Correct the number after @@ -.",
                lines = *lines
            ),
            Why::NoPlace => {
                text!("only adds lines, and nothing says where. Give lines of context, a line number or a heading.")
            }
            Why::TooMuchWork => text!("was not looked for: too many hunks for so long a file. Send fewer at once."),
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
            (Some(found), Some(at)) => text!("  file, line {line}: {text}", line = at, text = told(found)),
            _ => text!("  file: has no such line"),
        };
        let advice = if self.lone_returns {
            lone_returns()
        } else {
            text!("Read that part of the file again and copy its lines exactly.")
        };
        text!(
            "It fits best at line {line}, where {matching} of its {of} old lines are; the first that \
             differs:\n  patch: {wanted}\n{found}\n{advice}",
            line = self.line,
            matching = self.matching,
            of = self.of,
            wanted = told(&self.wanted),
            found,
            advice
        )
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
    if more == N::default() {
        named.into()
    } else {
        text!("{lines} and {more} more", lines = named, more = Into::<Field>::into(more))
    }
}

/// A line that was made visible, for a message.
pub(super) fn told(visible: &str) -> Text {
    if visible.is_empty() { text!("(an empty line)") } else { visible.into() }
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

fn lone_returns() -> Text {
    text!(
        "The file ends its lines with carriage returns alone, and only a line feed ends a line here. Give it line \
         feeds with a command first."
    )
}

#[cfg(test)]
mod tests {
    use super::{told, visible};

    #[test]
    fn blanks_are_seen() {
        assert_eq!(visible(b"  a b \t\r"), "··a b·→␍");
        assert_eq!(visible(b" "), "·");
        assert_eq!((visible(b""), told("").to_string()), (String::new(), "(an empty line)".to_owned()));
        assert_eq!(visible("a\u{a0}b\u{202e}".as_bytes()), "a\\u{a0}b\\u{202e}");
        assert_eq!(visible("\u{2800}\u{3164}x\u{fe0f}".as_bytes()), "\\u{2800}\\u{3164}x\u{fe0f}");
        assert_eq!(visible(b"\xff\x1b["), "\\xff\\u{1b}[");
        assert_eq!(visible(&[b'x'; 500]).len(), 163);
    }
}
