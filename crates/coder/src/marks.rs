//! Renders a command for a question: completely, with hidden characters visible, and with the parts marked that caused
//! the question.

use crate::shown::steers;
use std::ops::Range;
use toolfence_protocol::invisible;

/// Number of columns of a row after its mark in a terminal with 80 columns.
pub(crate) const ROOM: usize = 74;
/// Number of columns of the terminal that a row does not use: its mark, and the last columns.
const BESIDE: usize = 6;
/// Minimum and maximum number of columns of a row after its mark.
const ROOMS: (usize, usize) = (20, 120);
/// The prefix of a continuation row.
pub(crate) const FOLDED: &str = "  \\ ";

/// The prefixes of the first line of a command and of the others.
const FIRST: &str = "  $ ";
const OTHERS: &str = "  > ";
/// The prefix of a row of carets.
const BELOW: &str = "    ";

/// Returns the number of columns of a row after its mark. Rows are wrapped here, so that the model cannot choose where
/// a row breaks.
pub(crate) fn room(columns: usize) -> usize {
    columns.saturating_sub(BESIDE).clamp(ROOMS.0, ROOMS.1)
}

/// A character as it is displayed.
struct Cell {
    text: String,
    /// The maximum number of columns of the text.
    columns: usize,
    marked: bool,
}

/// Returns the rows of a command, each with a newline. The parts in `asks`, which are byte ranges, are underlined if
/// `colour`, and otherwise marked by `^` in the row below. Nothing is marked if they cover the whole command.
pub(crate) fn rows(command: &str, asks: &[Range<usize>], colour: bool, room: usize) -> Vec<String> {
    let asks = if covers_all(command, asks) { &[] } else { asks };
    let mut out = Vec::new();
    let mut start = 0;
    for (index, line) in command.split_inclusive('\n').enumerate() {
        let cells = cells(line.strip_suffix('\n').unwrap_or(line), start, asks);
        let first = if index == 0 { FIRST } else { OTHERS };
        for (part, row) in folded(&cells, room).enumerate() {
            let before = if part == 0 { first } else { FOLDED };
            out.push(format!("{before}{}\n", drawn(row, colour)));
            let carets = if colour { String::new() } else { carets(row) };
            if !carets.is_empty() {
                out.push(format!("{BELOW}{carets}\n"));
            }
        }
        start += line.len();
    }
    out
}

/// Returns `true` if the ranges cover everything except separators between commands.
fn covers_all(command: &str, asks: &[Range<usize>]) -> bool {
    let between = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|');
    command.char_indices().all(|(at, c)| between(c) || asks.iter().any(|ask| ask.contains(&at)))
}

fn cells(line: &str, start: usize, asks: &[Range<usize>]) -> Vec<Cell> {
    let cell = |(at, c): (usize, char)| {
        let marked = asks.iter().any(|ask| ask.contains(&(start + at)));
        if steers(c, &line[at..]) || hides(c) {
            let text = format!("\\u{{{:x}}}", u32::from(c));
            return Cell { columns: text.len(), text, marked };
        }
        Cell { text: c.to_string(), columns: columns(c), marked }
    };
    line.char_indices().map(cell).collect()
}

/// Returns `true` for a character that is invisible or looks like a blank.
pub(crate) fn hides(c: char) -> bool {
    match c {
        ' '..='~' | '\t' => false,
        _ if c.is_whitespace() => true,
        _ => invisible::kind(c).is_some(),
    }
}

/// Returns the maximum width of a character. A tab and characters of ambiguous width count as wide.
pub(crate) fn columns(c: char) -> usize {
    match c {
        '\t' => 8,
        '\u{300}'..='\u{36f}' => 0,
        c if c < '\u{1100}' => 1,
        _ => 2,
    }
}

/// Splits cells into pieces that fit in a row. Without cells, there is one empty piece.
fn folded(cells: &[Cell], room: usize) -> impl Iterator<Item = &[Cell]> {
    let mut rest = Some(cells);
    std::iter::from_fn(move || {
        let cells = rest?;
        let mut column = 0;
        let over = cells.iter().position(|cell| {
            column += cell.columns;
            column > room
        });
        // At least one cell fits, because none is as wide as a row.
        let (row, after) = cells.split_at(over.unwrap_or(cells.len()));
        rest = (!after.is_empty()).then_some(after);
        Some(row)
    })
}

fn drawn(row: &[Cell], colour: bool) -> String {
    let mut out = String::new();
    let mut on = false;
    for cell in row {
        if colour && cell.marked != on {
            on = cell.marked;
            out.push_str(if on { "\x1b[4m" } else { "\x1b[24m" });
        }
        out.push_str(&cell.text);
    }
    if on {
        out.push_str("\x1b[24m");
    }
    out
}

/// Returns `^` below each marked character. A tab stays a tab, so that the columns match.
fn carets(row: &[Cell]) -> String {
    let mut out = String::new();
    for cell in row {
        match (cell.text.as_str(), cell.marked) {
            ("\t", _) => out.push('\t'),
            (_, marked) => out.extend(std::iter::repeat_n(if marked { '^' } else { ' ' }, cell.columns)),
        }
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the byte ranges of these parts of a text.
    fn parts(text: &str, wanted: &[&str]) -> Vec<Range<usize>> {
        let range = |part: &&str| text.find(part).map(|at| at..at + part.len());
        wanted.iter().filter_map(range).collect()
    }

    #[test]
    fn parts_that_need_approval_are_marked() {
        let text = "ls é; touch a && \tmake\nrm x";
        let asks = parts(text, &["touch a", "make", "rm x"]);
        let shown = rows(text, &asks, false, ROOM).concat();
        assert_eq!(shown, "  $ ls é; touch a && \tmake\n          ^^^^^^^    \t^^^^\n  > rm x\n    ^^^^\n");
        let shown = rows(text, &asks, true, ROOM).concat();
        assert_eq!(shown, "  $ ls é; \x1b[4mtouch a\x1b[24m && \t\x1b[4mmake\x1b[24m\n  > \x1b[4mrm x\x1b[24m\n");
        assert_eq!(rows("make; rm x\n", &[0..4, 6..10], false, ROOM), ["  $ make; rm x\n"], "all of it needs no mark");
    }

    #[test]
    fn marks_go_on_in_the_next_row() {
        let text = format!("ls; {}", "x".repeat(100));
        let shown = rows(&text, &parts(&text, &[&"x".repeat(100)]), false, ROOM);
        let wanted = [
            format!("  $ ls; {}\n", "x".repeat(70)),
            format!("        {}\n", "^".repeat(70)),
            format!("  \\ {}\n", "x".repeat(30)),
            format!("    {}\n", "^".repeat(30)),
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn invisible_and_control_characters_are_escaped() {
        let shown = rows("a\u{a0}b\u{200b}c\r\nd\u{1b}[31m\u{202e}\u{e0041}\u{3000}e", &[], true, ROOM).concat();
        assert_eq!(shown, "  $ a\\u{a0}b\\u{200b}c\\u{d}\n  > d\\u{1b}[31m\\u{202e}\\u{e0041}\\u{3000}e\n");
    }
}
