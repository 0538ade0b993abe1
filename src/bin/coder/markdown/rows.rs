//! Rows of a terminal: characters with their looks, broken between words by the columns they take.

use crate::shown::steers;
use crate::theme::{self, Tint};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use toolfence::program::invisible;
use unicode_width::UnicodeWidthChar;

/// Stands in a text where its author ended a line. A text of a model never holds it: it is written out.
pub(super) const BREAK: char = '\u{2028}';

/// What a row is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// The columns of a row at most.
    pub(crate) width: usize,
    /// Whether there are colours and the like. Without them the marks of Markdown stay.
    pub(crate) colour: bool,
    /// Whether signs beyond ASCII are shown as they should.
    pub(crate) signs: bool,
}

/// How a character looks where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ink {
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
    pub(super) struck: bool,
    pub(super) colour: Option<Tint>,
}

impl Ink {
    pub(super) const DIM: Ink = Ink { dim: true, ..Ink::PLAIN };
    pub(super) const PLAIN: Ink =
        Ink { bold: false, dim: false, italic: false, underline: false, struck: false, colour: None };

    pub(super) const fn of(colour: Tint) -> Ink {
        Ink { colour: Some(colour), ..Ink::PLAIN }
    }

    fn begin(self, out: &mut String) {
        let attributes = [(self.bold, 1), (self.italic, 3), (self.underline, 4), (self.struck, 9)];
        for (_, code) in attributes.into_iter().filter(|(on, _)| *on) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\x1b[{code}m");
        }
        out.push_str(if self.dim { theme::dim() } else { "" });
        out.push_str(self.colour.map(theme::tint).unwrap_or_default());
    }
}

/// A character of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) c: char,
    pub(super) ink: Ink,
    /// The byte behind it in the text that it is from.
    pub(super) at: usize,
    /// Whether what stands behind it belongs to something that began before it, such as an emphasis.
    pub(super) inside: bool,
}

/// Columns of a character. The selector of coloured pictures may make what it follows wider.
pub(super) fn columns(c: char) -> usize {
    match c {
        '\u{fe0f}' => 1,
        c => c.width().unwrap_or(0),
    }
}

/// Columns of all of these.
pub(super) fn width(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| columns(cell.c)).sum()
}

/// Appends the characters of a text, with what could steer the terminal written out.
pub(super) fn push(cells: &mut Vec<Cell>, text: &str, ink: Ink) {
    let cell = |c| Cell { c, ink, at: 0, inside: false };
    for (at, c) in text.char_indices() {
        match c {
            BREAK => cells.push(cell(c)),
            '\n' | '\t' => cells.push(cell(' ')),
            // Alone or in front of a line feed, which becomes a blank here: it would go back to the first column.
            c if c == '\r' || steers(c, &text[at..]) => cells.extend(written_out(c).chars().map(cell)),
            c => cells.push(cell(c)),
        }
    }
}

/// `\u{1b}`.
pub(super) fn written_out(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}

/// Whether the look of a character says nothing of it.
pub(super) fn is_odd(c: char) -> bool {
    c == BREAK || c == '\u{2029}' || invisible::kind(c).is_some_and(|kind| kind == invisible::Invisible::Separator)
}

/// A part of the cells for each row, and the cell with which the next one begins.
pub(super) fn wrapped(cells: &[Cell], width: usize) -> Vec<(Range<usize>, usize)> {
    broken(cells, width, false)
}

/// As [`wrapped`], but for words that are longer than a row where they shall stay `whole`: the terminal breaks them, and whoever
/// copies one gets it in one piece.
fn broken(cells: &[Cell], width: usize, whole: bool) -> Vec<(Range<usize>, usize)> {
    /// What stands behind a wide character and never begins a row.
    const CLOSING: &str = "、。，．」』）］｝！？：；…";
    let mut rows = Vec::new();
    let (mut start, mut column, mut at) = (0, 0, 0);
    // Where the row may end, and where the next one begins then.
    let mut rest: Option<(usize, usize)> = None;
    while let Some(cell) = cells.get(at) {
        if cell.c == BREAK {
            rows.push((trimmed(cells, start..at), at + 1));
            (start, column, at, rest) = (at + 1, 0, at + 1, None);
            continue;
        }
        let wide = columns(cell.c);
        if cell.c == ' ' {
            if at == start {
                start += 1;
            } else {
                rest = Some((at, at + 1));
                column += 1;
            }
            at += 1;
            continue;
        }
        if column + wide > width && at > start && !(whole && rest.is_none()) {
            let (end, next) = rest.unwrap_or((at, at));
            rows.push((trimmed(cells, start..end), next));
            (start, column, at, rest) = (next, 0, next, None);
            continue;
        }
        column += wide;
        at += 1;
        let joined = cells.get(at).is_some_and(|next| columns(next.c) == 0 || CLOSING.contains(next.c));
        if wide == 2 && !joined {
            rest = Some((at, at));
        }
    }
    if start < cells.len() || rows.is_empty() {
        rows.push((trimmed(cells, start..cells.len()), cells.len()));
    }
    rows
}

/// The lines of a plain text in rows of so many columns, broken between words. What continues a line stands below the first word
/// behind its mark, or below what blanks set apart from the words before.
pub(crate) fn in_rows(text: &str, columns: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (first, body) = line.split_at(before_words(line, columns / 2));
        line_in_rows(first, body, width_of(first), columns)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line in rows as [`in_rows`] has it: `first` stands before its first row, and so many blanks before the others.
pub(crate) fn line_in_rows(first: &str, body: &str, blanks: usize, columns: usize) -> String {
    let mut cells = Vec::new();
    push(&mut cells, body, Ink::PLAIN);
    let room = columns.saturating_sub(blanks.max(width_of(first))).max(1);
    let mut out = first.to_owned();
    for (index, (range, _)) in broken(&cells, room, true).into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', blanks));
        }
        out.extend(cells[range].iter().map(|cell| cell.c));
    }
    // What is typed behind a line keeps its distance.
    out.push_str(&body[body.trim_end_matches(' ').len()..]);
    out
}

/// Bytes before the words of a line: blanks, a mark of one sign, and what two blanks set apart in the first `most` columns.
fn before_words(line: &str, most: usize) -> usize {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let words = &line[blanks..];
    let mut signs = words.char_indices();
    if signs.next().is_some_and(|(_, c)| !c.is_alphanumeric()) && signs.next().is_some_and(|(_, c)| c == ' ') {
        return blanks + words.find(' ').map_or(0, |at| at + 1);
    }
    let apart = words.find("  ").map(|at| blanks + at);
    let end = apart.map(|at| line.len() - line[at..].trim_start_matches(' ').len());
    end.filter(|end| *end < line.len() && width_of(&line[..*end]) <= most).unwrap_or(blanks)
}

/// A text that takes so many columns at most; dots stand where it was cut.
pub(crate) fn cut(text: &str, most: usize, signs: bool) -> Cow<'_, str> {
    if width_of(text) <= most {
        return text.into();
    }
    let dots = if signs { "…" } else { "..." };
    let room = most.saturating_sub(width_of(dots));
    let mut column = 0;
    let over = text.char_indices().find(|(_, c)| {
        column += columns(*c);
        column > room
    });
    format!("{}{dots}", text[..over.map_or(text.len(), |(at, _)| at)].trim_end()).into()
}

/// Columns of a text.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Rows that a text takes which a terminal of so many columns wraps by itself.
pub(crate) fn rows_of(text: &str, most: usize) -> usize {
    let (mut rows, mut column) = (1, 0);
    for wide in text.chars().map(columns) {
        if column + wide > most && column > 0 {
            (rows, column) = (rows + 1, 0);
        }
        column += wide;
    }
    rows
}

fn trimmed(cells: &[Cell], range: Range<usize>) -> Range<usize> {
    let blank = cells[range.clone()].iter().rev().take_while(|cell| cell.c == ' ').count();
    range.start..range.end - blank
}

/// Appends the cells as they are written to the terminal.
pub(super) fn draw(cells: &[Cell], look: Look, out: &mut String) {
    let mut on = Ink::PLAIN;
    for cell in cells {
        if look.colour && cell.ink != on {
            if on != Ink::PLAIN {
                out.push_str("\x1b[0m");
            }
            cell.ink.begin(out);
            on = cell.ink;
        }
        out.push(cell.c);
    }
    if on != Ink::PLAIN {
        out.push_str("\x1b[0m");
    }
}
