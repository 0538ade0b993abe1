//! Tables with columns aligned by display width.

use super::inline;
use super::rows::{Cell, Ink, Look, draw, push, unicode_width, wrapped, wrapped_by_unicode};

/// Maximum number of rows, and of their bytes, that are kept before the widths of the columns are fixed.
const MOST_ROWS: usize = 200;
const MOST_BYTES: usize = 32 << 10;
/// Maximum number of columns of a table; the rest of a row stays in the last one.
const MOST_COLUMNS: usize = 32;
/// Minimum width of a column. If the room is too small, each row is drawn as a list.
const NARROWEST: usize = 6;

/// The alignment of the text in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// A table that is being received.
#[derive(Debug)]
pub(super) struct Table {
    head: Vec<String>,
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
    bytes: usize,
    /// The widths of the columns; set when the first rows are drawn.
    widths: Option<Vec<usize>>,
}

/// Splits a row into cells.
pub(super) fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut out, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            // An escaped `|` belongs to the cell, without its backslash (GFM, 4.10).
            '|' if escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' if out.len() + 1 < MOST_COLUMNS => out.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    // A `|` at the end of a row does not begin another cell.
    if !cell.trim().is_empty() {
        out.push(cell);
    }
    out.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Parses the alignments in the delimiter row of a table; `None` for any other row.
pub(super) fn sides(line: &str) -> Option<Vec<Side>> {
    // Dashes alone are an underline or a rule (CommonMark, 4.1 and 4.3).
    if !line.contains('-') || !line.contains(['|', ':']) || line.chars().any(|c| !matches!(c, '|' | '-' | ':' | ' ')) {
        return None;
    }
    let side = |cell: &String| {
        let middle = cell.trim_start_matches(':').trim_end_matches(':');
        if middle.is_empty() || middle.contains([':', ' ']) {
            return None;
        }
        Some(match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Side::Middle,
            (false, true) => Side::Right,
            _ => Side::Left,
        })
    };
    cells(line).iter().map(side).collect()
}

impl Table {
    pub(super) fn new(head: Vec<String>, sides: Vec<Side>) -> Table {
        Table { head, sides, rows: Vec::new(), bytes: 0, widths: None }
    }

    /// Adds a row. Returns `true` if the rows must be drawn because no more can be kept.
    pub(super) fn push(&mut self, line: &str) -> bool {
        let mut row = cells(line);
        // Surplus cells are dropped and missing ones are empty (GFM, 4.10).
        row.truncate(self.head.len());
        row.resize(self.head.len(), String::new());
        self.bytes += line.len();
        self.rows.push(row);
        self.rows.len() >= MOST_ROWS || self.bytes >= MOST_BYTES
    }

    /// Returns the number of bytes that are kept of the rows.
    #[cfg(test)]
    pub(super) fn buffered_bytes(&self) -> usize {
        self.rows.iter().chain([&self.head]).flatten().map(String::capacity).sum()
    }

    /// Draws the rows that were not drawn yet.
    pub(super) fn drawn(&mut self, look: Look) -> Vec<String> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let read = |row: &Vec<String>, base: Ink| -> Vec<Vec<Cell>> {
            row.iter().map(|cell| inline::read(cell, look, base).cells).collect()
        };
        let head = read(&self.head, Ink { bold: true, ..Ink::PLAIN });
        let body: Vec<_> = rows.iter().map(|row| read(row, Ink::PLAIN)).collect();
        let begins = self.widths.is_none();
        // A separator takes three columns: a line and a blank on each side.
        let room = look.width.saturating_sub(3 * self.head.len().saturating_sub(1));
        let widths = self.widths.get_or_insert_with(|| fitted(&head, &body, room)).clone();
        // A width of 0 means that the columns have no room.
        if widths.contains(&0) {
            let lists = body.iter().enumerate();
            return lists.flat_map(|(at, row)| as_list(&head, row, begins && at == 0, look)).collect();
        }
        let mut out = Vec::new();
        if begins {
            out.extend(self.row(&head, &widths, look));
            let (line, cross) = if look.signs { ("─", "─┼─") } else { ("-", "-+-") };
            let line: Vec<String> = widths.iter().map(|width| line.repeat(*width)).collect();
            out.push(dim(&line.join(cross), look));
        }
        out.extend(body.iter().flat_map(|row| self.row(row, &widths, look)));
        out
    }

    fn row(&self, row: &[Vec<Cell>], widths: &[usize], look: Look) -> Vec<String> {
        // The columns are aligned in terminals that follow Unicode's widths; in others a row may be misaligned.
        let parts: Vec<_> = row.iter().zip(widths).map(|(cells, width)| wrapped_by_unicode(cells, *width)).collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(0);
        let between = dim(if look.signs { " │ " } else { " | " }, look);
        let line = |at: usize| {
            let mut out = String::new();
            for (column, (cells, parts)) in row.iter().zip(&parts).enumerate() {
                let part = parts.get(at).map_or(&[][..], |(range, _)| &cells[range.clone()]);
                let blank = widths[column].saturating_sub(unicode_width(part));
                let before = match self.sides[column] {
                    Side::Left => 0,
                    Side::Middle => blank / 2,
                    Side::Right => blank,
                };
                if column > 0 {
                    out.push_str(&between);
                }
                out.push_str(&" ".repeat(before));
                draw(part, look, &mut out);
                if column + 1 < row.len() {
                    out.push_str(&" ".repeat(blank - before));
                }
            }
            out
        };
        (0..height).map(line).collect()
    }
}

fn dim(text: &str, look: Look) -> String {
    let (mut cells, mut out) = (Vec::new(), String::new());
    push(&mut cells, text, Ink::DIM);
    draw(&cells, look, &mut out);
    out
}

/// Computes the widths of the columns. If the room is too small, the widest columns shrink; if even the minimum width
/// does not fit, all widths are 0.
fn fitted(head: &[Vec<Cell>], body: &[Vec<Vec<Cell>>], room: usize) -> Vec<usize> {
    let needs = |column: usize| {
        let rows = body.iter().map(|row| &row[column]).chain([&head[column]]);
        rows.map(|cells| unicode_width(cells)).max().unwrap_or(0).max(1)
    };
    let mut widths: Vec<usize> = (0..head.len()).map(needs).collect();
    if widths.iter().map(|width| (*width).min(NARROWEST)).sum::<usize>() > room {
        return vec![0; head.len()];
    }
    // All columns that are wider than the room allows get the same maximum width.
    let fits = |most: usize| widths.iter().map(|width| (*width).min(most)).sum::<usize>() <= room;
    let most = (NARROWEST..=room.max(NARROWEST)).rev().find(|most| fits(*most)).unwrap_or(NARROWEST);
    widths.iter_mut().for_each(|width| *width = (*width).min(most));
    widths
}

/// Draws a row as a list, in which each cell follows the head of its column. An empty row precedes every row but the
/// first.
fn as_list(head: &[Vec<Cell>], row: &[Vec<Cell>], is_first: bool, look: Look) -> Vec<String> {
    let mut out = if is_first { Vec::new() } else { vec![String::new()] };
    for (name, cells) in head.iter().zip(row) {
        let mut line = name.clone();
        push(&mut line, if name.is_empty() { "" } else { ": " }, Ink::PLAIN);
        line.extend(cells);
        for (part, (range, _)) in wrapped(&line, look.width.saturating_sub(2)).into_iter().enumerate() {
            let mut drawn = if part == 0 { String::new() } else { "  ".to_owned() };
            draw(&line[range], look, &mut drawn);
            out.push(drawn);
        }
    }
    out
}
