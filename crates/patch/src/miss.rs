//! Why a hunk has no place, in words for the model.

use super::model::Hunk;
use std::fmt;
use toolfence_protocol::invisible::{self, Invisible};

/// Candidates that are named; how many more there are is said.
const MOST_NAMED: usize = 20;

/// Characters of a line that are shown.
const MOST_SHOWN: usize = 160;

/// What is said of a file that nothing here can see the lines of.
const LONE_RETURNS: &str = "The file ends its lines with carriage returns alone, and only a line feed ends a line here. Give it \
                            line feeds with a command first.";

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
}

/// Why a hunk has no place. Lines are those of the file, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Its old lines are nowhere; where they would stand best, if any of them is there at all.
    NotFound(Option<Closest>),
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
    /// That line as the patch has it, with blanks made visible.
    pub wanted: String,
    /// The same of the file.
    pub found: Option<String>,
    /// Whether the file ends its lines with carriage returns alone, so that a line is many.
    pub lone_returns: bool,
}

impl fmt::Display for Miss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "hunk {} (line {} of the patch) ", self.hunk, self.patch_line)?;
        match &self.why {
            Why::NotFound(None) => out.write_str(
                "was not found: none of its old lines is in the file. Is it the right file? Read it and write the hunk again.",
            ),
            Why::NotFound(Some(closest)) => write!(out, "was not found. {closest}"),
            Why::LoneReturns => write!(out, "was not found. {LONE_RETURNS}"),
            Why::Ambiguous { lines, total } => {
                let named: Vec<String> = lines.iter().map(usize::to_string).collect();
                let more = if *total > lines.len() { format!(" and {} more", total - lines.len()) } else { String::new() };
                write!(
                    out,
                    "fits in {total} places: lines {}{more}. Give more lines of context, or the right line number behind @@ -.",
                    named.join(", ")
                )
            }
            Why::AlreadyApplied { line } => {
                write!(out, "is already applied: its new lines are at line {line}. Leave it out.")
            }
            Why::Overlap { with, line } => {
                write!(out, "overlaps hunk {with} at line {line}. Make one hunk of both.")
            }
            Why::NotAtEnd { line, lines } => write!(
                out,
                "must stand at the end of the file, but its lines are at line {line} of {lines}. Read the end of the file again."
            ),
            Why::AboveHeading { line, heading } => write!(
                out,
                "has its only place at line {line}, above its heading at line {heading}. Correct the heading or the lines."
            ),
            Why::Indentation { line } => write!(
                out,
                "stands at line {line}, but its lines are indented otherwise than the file's, and not in one way that tells \
                 how the added lines are to be: as written or moved. Read that part of the file again and copy its lines \
                 exactly: one blank, + or - in front, then the line with all of its own indentation."
            ),
            Why::BehindEnd { lines } => {
                write!(out, "adds lines behind the end: the file has {lines} lines. Correct the number behind @@ -.")
            }
            Why::NoPlace => out.write_str(
                "only adds lines, and nothing says where. Give lines of context, a line number or a heading.",
            ),
            Why::TooMuchWork => out.write_str("was not looked for: too many hunks for so long a file. Send fewer at once."),
        }
    }
}

impl fmt::Display for Closest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Closest { line, matching, of, wanted, .. } = self;
        writeln!(
            out,
            "It fits best at line {line}, where {matching} of its {of} old lines are; the first that differs:"
        )?;
        writeln!(out, "  patch: {wanted}")?;
        match (&self.found, self.differs_at) {
            (Some(found), Some(at)) => write!(out, "  file, line {at}: {found}"),
            _ => out.write_str("  file: has no such line"),
        }?;
        if self.lone_returns {
            return write!(out, "\n{LONE_RETURNS}");
        }
        out.write_str("\nRead that part of the file again and copy its lines exactly.")
    }
}

/// A line for a message: blanks at its edges, tabs and other blanks in it made visible, and not too long.
pub(super) fn visible(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
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
    if shown.is_empty() { "(an empty line)".into() } else { shown }
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
    use super::visible;

    #[test]
    fn blanks_are_seen() {
        assert_eq!(visible(b"  a b \t\r"), "··a b·→␍");
        assert_eq!(visible(b" "), "·");
        assert_eq!(visible(b""), "(an empty line)");
        assert_eq!(visible("a\u{a0}b\u{202e}".as_bytes()), "a\\u{a0}b\\u{202e}");
        assert_eq!(visible("\u{2800}\u{3164}x\u{fe0f}".as_bytes()), "\\u{2800}\\u{3164}x\u{fe0f}");
        assert_eq!(visible(b"\xff\x1b["), "\u{fffd}\\u{1b}[");
        assert_eq!(visible(&[b'x'; 500]).len(), 163);
    }
}
