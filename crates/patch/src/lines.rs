//! Replaces ranges of lines in a text, all or none.

use super::text::{self, Text};
use std::fmt;
use toolfence_protocol as protocol;

/// A range of lines and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit<'a> {
    /// The first line to remove, from 1.
    pub start: u64,
    /// The last line to remove; `start - 1` removes no line and inserts before `start`.
    pub end: u64,
    /// The new lines. One line feed at the end is ignored, so that `"a"` and `"a\n"` are one line; `""` is no line.
    pub replacement: &'a str,
}

/// Why no edit was made. Edits are counted from 1, in the order they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineProblem {
    /// There are no edits.
    None,
    /// `start` is 0.
    Zero {
        /// The number of the edit.
        edit: usize,
    },
    /// `end` is before `start - 1`.
    Backwards {
        /// The number of the edit.
        edit: usize,
        /// The first line of the edit.
        start: u64,
        /// The last line of the edit.
        end: u64,
    },
    /// The text has no such lines.
    Beyond {
        /// The number of the edit.
        edit: usize,
        /// The first line of the edit.
        start: u64,
        /// The last line of the edit.
        end: u64,
        /// The number of lines in the text.
        lines: u64,
    },
    /// Two edits change the same lines, insert at the same place, or one inserts in the middle of the other.
    Overlap {
        /// The edit that begins first.
        one: usize,
        /// The other edit.
        other: usize,
        /// The line where they meet.
        line: u64,
    },
    /// The text has 4 GB or more.
    TooLong,
}

impl LineProblem {
    /// Returns the cause and what to do about it, translatable.
    pub fn text(&self) -> protocol::Text {
        match *self {
            LineProblem::None => protocol::text!("edits is empty. Give at least one edit."),
            LineProblem::Zero { edit } => {
                protocol::text!("edit {edit} has start_line 0; lines are counted from 1.", edit)
            }
            LineProblem::Backwards { edit, start, end } => {
                protocol::text!(
                    "edit {edit} ends at line {end}, before its start_line {start}. Give a later end_line, or {before} \
                     to insert before line {start}.",
                    edit,
                    start,
                    end,
                    before = start.saturating_sub(1)
                )
            }
            LineProblem::Beyond { edit, start, end, lines } => {
                protocol::text!(
                    "edit {edit} is of lines {start} to {end}, but the last line of the file is {lines}. Read it \
                     again; to append, give start_line {next} and end_line {lines}.",
                    edit,
                    start,
                    end,
                    lines,
                    next = lines + 1
                )
            }
            LineProblem::Overlap { one, other, line } => {
                protocol::text!("edits {one} and {other} meet at line {line}. Make one edit of both.", one, other, line)
            }
            LineProblem::TooLong => protocol::text!("the text is too long."),
        }
    }
}

impl fmt::Display for LineProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}

/// Replaces ranges of lines in a text, all or none. All line numbers refer to the original text.
///
/// Only a line feed ends a line. New lines get the line ends of their neighbours, a byte order mark stays, and the last
/// line ends with a line feed afterwards if it did before. Bytes that are not UTF-8 are kept. Time is linear in the
/// text and the edits, except for sorting the edits.
///
/// # Errors
/// Fails if there are no edits, if the text does not have the lines of one, or if edits overlap. Two insertions at one
/// place overlap, because their order is unknown.
///
/// ```
/// use toolfence_patch::{LineEdit, edit_lines};
///
/// let edits = [LineEdit { start: 2, end: 2, replacement: "2\n2b" }, LineEdit { start: 1, end: 0, replacement: "0" }];
/// assert_eq!(edit_lines(b"one\r\ntwo\r\n", &edits).unwrap(), b"0\r\none\r\n2\r\n2b\r\n");
/// ```
pub fn edit_lines(text: &[u8], edits: &[LineEdit<'_>]) -> Result<Vec<u8>, LineProblem> {
    let text = Text::new(text).ok_or(LineProblem::TooLong)?;
    if edits.is_empty() {
        return Err(LineProblem::None);
    }
    let mut cuts =
        edits.iter().enumerate().map(|(at, edit)| cut(at + 1, edit, &text)).collect::<Result<Vec<_>, _>>()?;
    // All numbers refer to the original text, so edits may be in any order.
    cuts.sort_by_key(|cut| (cut.from, cut.to, cut.number));
    refuse_overlaps(&cuts)?;
    Ok(build(&text, &cuts))
}

/// An edit as the range of lines it removes, from 0.
struct Cut<'a> {
    number: usize,
    from: usize,
    to: usize,
    replacement: &'a str,
}

fn cut<'a>(number: usize, edit: &LineEdit<'a>, text: &Text<'_>) -> Result<Cut<'a>, LineProblem> {
    let LineEdit { start, end, replacement } = *edit;
    let lines = text.len() as u64;
    if start == 0 {
        return Err(LineProblem::Zero { edit: number });
    }
    if end < start - 1 {
        return Err(LineProblem::Backwards { edit: number, start, end });
    }
    if end > lines || start - 1 > lines {
        return Err(LineProblem::Beyond { edit: number, start, end, lines });
    }
    // Both are at most the number of lines, so they fit into a `usize`.
    Ok(Cut { number, from: (start - 1) as usize, to: end as usize, replacement })
}

/// Refuses edits that overlap. They are sorted: an insertion precedes a range that begins at the same line.
fn refuse_overlaps(cuts: &[Cut<'_>]) -> Result<(), LineProblem> {
    for pair in cuts.windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        let both_insert = one.from == one.to && other.from == other.to && one.from == other.from;
        if both_insert || other.from < one.to {
            let line = other.from as u64 + 1;
            return Err(LineProblem::Overlap { one: one.number, other: other.number, line });
        }
    }
    Ok(())
}

fn build(text: &Text<'_>, cuts: &[Cut<'_>]) -> Vec<u8> {
    let mark = text.mark().len();
    let mut out = text.mark().to_vec();
    let (mut at, mut last_end) = (0, 0);
    for cut in cuts {
        if at < cut.from {
            keep(&mut out, text, at, cut.from);
            last_end = text.end_near(cut.from - 1).len();
        }
        at = cut.to;
        for (number, line) in lines_of(cut.replacement).enumerate() {
            // Each line gets the line end of the one it replaces, or else of the one it follows.
            let near = (cut.from + number).min(cut.to.saturating_sub(1));
            end_line(&mut out, mark, text.end_near(near));
            // The byte order mark of the file is there already, so that of the replacement is dropped.
            let line = if out.len() == mark && mark > 0 { text::strip_mark(line) } else { line.as_bytes() };
            out.extend_from_slice(line);
            out.extend_from_slice(text.end_near(near));
            last_end = text.end_near(near).len();
        }
    }
    if at < text.len() {
        keep(&mut out, text, at, text.len());
        last_end = 0;
    }
    finish(out, mark, text, last_end)
}

/// Returns the lines of a replacement without their ends. A carriage return before a line feed is part of the end.
pub(super) fn lines_of(replacement: &str) -> impl Iterator<Item = &str> {
    let inner = replacement.strip_suffix('\n').unwrap_or(replacement);
    let lines = (!replacement.is_empty()).then(|| inner.split('\n')).into_iter().flatten();
    let ended = replacement.len() > inner.len();
    let last = inner.matches('\n').count();
    lines.enumerate().map(move |(at, line)| {
        // A carriage return that no line feed follows is content.
        if at < last || ended { line.strip_suffix('\r').unwrap_or(line) } else { line }
    })
}

fn keep(out: &mut Vec<u8>, text: &Text<'_>, from: usize, to: usize) {
    if from < to {
        end_line(out, text.mark().len(), text.end_near(from));
        out.extend_from_slice(text.range(from, to));
    }
}

/// Ends the last line written, which may lack a line feed, before more text follows.
fn end_line(out: &mut Vec<u8>, mark: usize, end: &[u8]) {
    if out.len() > mark && !out.ends_with(b"\n") {
        out.extend_from_slice(end);
    }
}

/// Ends the text as it ended before. `last_end` is the length of the last line end, because a carriage return before it
/// is content.
fn finish(mut out: Vec<u8>, mark: usize, text: &Text<'_>, last_end: usize) -> Vec<u8> {
    if text.is_ended() {
        end_line(&mut out, mark, text.end_near(text.len()));
    } else if has_open_end(&out[mark..]) {
        out.truncate(out.len() - last_end);
    }
    out
}

/// Returns whether the line end at the end of the text can be removed without removing the line.
fn has_open_end(out: &[u8]) -> bool {
    // Without its line end, an empty last line would not be a line.
    let Some(line) = out.strip_suffix(b"\n") else { return false };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    !line.is_empty() && !line.ends_with(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_replacement() {
        let lines = |text: &'static str| lines_of(text).collect::<Vec<_>>();
        assert_eq!(lines(""), Vec::<&str>::new());
        assert_eq!(lines("\n"), [""]);
        assert_eq!((lines("a"), lines("a\n"), lines("a\n\n")), (vec!["a"], vec!["a"], vec!["a", ""]));
        assert_eq!((lines("a\r\nb\r\n"), lines("a\r\nb\r")), (vec!["a", "b"], vec!["a", "b\r"]));
    }
}
