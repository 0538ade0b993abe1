//! Explains to the model why a hunk has no place.

use super::model::Hunk;
use std::borrow::Cow;
use std::fmt;
use toolfence_protocol::invisible::{self, Invisible};
use toolfence_protocol::text::Field;
use toolfence_protocol::{Text, text};

/// Maximum number of candidate lines listed in a message. The number of the others follows.
const MOST_NAMED: usize = 20;

/// Maximum number of characters of a line that a message shows.
const MOST_SHOWN: usize = 160;

/// A hunk that could not be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Miss {
    /// The number of the hunk in its file, from 1.
    pub hunk: usize,
    /// The line of the patch where the hunk begins, from 1.
    pub patch_line: usize,
    /// The cause.
    pub why: Why,
}

impl Miss {
    pub(super) fn new(number: usize, hunk: &Hunk<'_>, why: Why) -> Miss {
        Miss { hunk: number, patch_line: hunk.line, why }
    }

    /// Returns the hunk and the cause, translatable.
    pub fn text(&self) -> Text {
        text!(
            "hunk {number} (line {line} of the patch) {why}",
            number = self.hunk,
            line = self.patch_line,
            why = self.why.text()
        )
    }
}

/// Why a hunk has no place. Line numbers are those of the file, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The old lines of the hunk do not occur. Contains the closest place, if any of the lines occurs.
    NotFound(Option<Closest>),
    /// The hunk has U+FFFD where the file has bytes that are not UTF-8.
    NotUtf8 {
        /// The first line of the file with such bytes.
        line: usize,
    },
    /// The file ends its lines with carriage returns alone, so that it counts as one line, in which nothing can be
    /// changed.
    LoneReturns,
    /// The old lines of the hunk occur in several places.
    Ambiguous {
        /// The first of these places.
        lines: Vec<usize>,
        /// The number of places.
        total: usize,
    },
    /// The new lines of the hunk are already in the file.
    AlreadyApplied {
        /// The line where the new lines begin.
        line: usize,
    },
    /// Another hunk changes the same lines.
    Overlap {
        /// The number of the other hunk in the file.
        with: usize,
        /// The line where the changes of both meet.
        line: usize,
    },
    /// The hunk must be at the end of the file, but its old lines occur elsewhere.
    NotAtEnd {
        /// The line where its old lines occur.
        line: usize,
        /// The number of lines in the file.
        lines: usize,
    },
    /// The only place of the hunk is above its heading.
    AboveHeading {
        /// The line where its old lines occur.
        line: usize,
        /// The line of the heading.
        heading: usize,
    },
    /// The old lines of the hunk are indented differently from those of the file, and the added lines can be read in
    /// two ways: as written, or shifted like the old ones. Or the file is indented so much deeper that the lines would
    /// get more than 1 MB of blanks.
    Indentation {
        /// The line where its old lines occur.
        line: usize,
    },
    /// The hunk only adds lines, and its line number is after the end of the file.
    BehindEnd {
        /// The number of lines in the file.
        lines: usize,
    },
    /// The hunk only adds lines, and neither a line number nor a heading gives the place.
    NoPlace,
    /// There are too many hunks for a file of this length.
    TooMuchWork,
}

impl Why {
    /// Returns the problem for these places, which are counted from 0.
    pub(super) fn ambiguous(all: &[usize]) -> Why {
        Why::Ambiguous { lines: all.iter().take(MOST_NAMED).map(|at| at + 1).collect(), total: all.len() }
    }

    /// Returns the text after the number of the hunk.
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
                    lines = list_lines(lines, total.saturating_sub(lines.len()))
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
                text!("only adds lines, without a position. Give lines of context, a line number or a heading.")
            }
            Why::TooMuchWork => text!(
                "was not searched for: there are too many hunks for such a long file. Send fewer \
                                       at once."
            ),
        }
    }
}

/// The place of the file that is most like a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closest {
    /// The line of the file where the hunk would begin.
    pub line: usize,
    /// How many of its old lines match, ignoring blanks around them.
    pub matching: usize,
    /// The number of its old lines.
    pub of: usize,
    /// The first line of the file that differs; `None` if the file has no such line.
    pub differs_at: Option<usize>,
    /// That line in the patch, with blanks made visible; empty if the line is.
    pub wanted: String,
    /// That line in the file, with blanks made visible; `None` if the file has no such line.
    pub found: Option<String>,
    /// Whether the file ends its lines with carriage returns alone, so that many lines count as one.
    pub lone_returns: bool,
}

impl Closest {
    /// Returns the place and the line that differs, translatable.
    pub fn text(&self) -> Text {
        let found = match (&self.found, self.differs_at) {
            (Some(found), Some(at)) => text!("  file, line {line}: {text}", line = at, text = quote_line(found)),
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
            wanted = quote_line(&self.wanted),
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

/// Lists line numbers for a message, and how many more there are.
pub(super) fn list_lines<N: ToString + Default + PartialEq + Into<Field>>(lines: &[N], more: N) -> Text {
    let named = lines.iter().map(N::to_string).collect::<Vec<_>>().join(", ");
    if more == N::default() {
        named.into()
    } else {
        text!("{lines} and {more} more", lines = named, more = Into::<Field>::into(more))
    }
}

/// Quotes a line for a message.
pub(super) fn quote_line(visible: &str) -> Text {
    if visible.is_empty() { text!("(an empty line)") } else { visible.into() }
}

/// Formats a line for a message: shortened, with blanks at its edges, tabs and other blanks in it made visible.
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
            // The model must see why two lines that look the same differ.
            c if c.is_control() || (c.is_whitespace() && c != ' ') || is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns the line as text, with bytes that are not UTF-8 as `\xe9`, so that it differs from a line that has U+FFFD.
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

/// Returns whether a character is invisible or changes the direction of text. Selectors of emoji do not count.
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
    use super::{quote_line, visible};

    #[test]
    fn blanks_are_visible() {
        assert_eq!(visible(b"  a b \t\r"), "··a b·→␍");
        assert_eq!(visible(b" "), "·");
        assert_eq!((visible(b""), quote_line("").to_string()), (String::new(), "(an empty line)".to_owned()));
        assert_eq!(visible("a\u{a0}b\u{202e}".as_bytes()), "a\\u{a0}b\\u{202e}");
        assert_eq!(visible("\u{2800}\u{3164}x\u{fe0f}".as_bytes()), "\\u{2800}\\u{3164}x\u{fe0f}");
        assert_eq!(visible(b"\xff\x1b["), "\\xff\\u{1b}[");
        assert_eq!(visible(&[b'x'; 500]).len(), 163);
    }
}
