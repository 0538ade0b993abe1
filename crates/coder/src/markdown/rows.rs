//! Rows of a terminal: characters with their styles, wrapped between words by display width.

use crate::shown::steers;
use crate::theme::{self, Tint};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use toolfence_protocol::invisible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Represents a line break of the author. Text of a model never contains it, because it is escaped there.
pub(super) const BREAK: char = '\u{2028}';

/// The properties of the terminal for which a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Maximum number of columns of a row.
    pub(crate) width: usize,
    /// Whether colours and styles are enabled. Without them, the Markdown marks remain visible.
    pub(crate) colour: bool,
    /// Whether the terminal displays characters beyond ASCII correctly.
    pub(crate) signs: bool,
}

/// The style of a character if colours are enabled.
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

    pub(super) const fn from_tint(colour: Tint) -> Ink {
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
    /// The byte offset in the source text after the character. A paragraph is cut there when its rows are settled.
    pub(super) at: usize,
    /// Whether the following text belongs to a construct that began earlier, such as an emphasis.
    pub(super) inside: bool,
}

/// Selects the coloured form of the character before it (variation selector 16).
const SELECTOR: char = '\u{fe0f}';
/// Joins the characters on both sides into one picture (zero width joiner).
const JOINER: char = '\u{200d}';

/// Returns the maximum width of a character. The selector of coloured pictures may widen the character before it, and a
/// letter of a flag is as wide as the flag if it is displayed alone.
pub(super) fn columns(c: char) -> usize {
    match c {
        SELECTOR => 1,
        c if is_flag(c) => 2,
        c => c.width().unwrap_or(0),
    }
}

/// Returns the maximum width of the cells: a terminal without joined pictures displays their parts next to each other.
/// Text is wrapped by this measure, so that no row is wider than the terminal.
pub(super) fn width(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| columns(cell.c)).sum()
}

/// Returns the width of the cells by the current Unicode rules (UAX #11, UTS #51), which most terminals follow.
pub(super) fn unicode_width(cells: &[Cell]) -> usize {
    let (mut at, mut total) = (0, 0);
    while at < cells.len() {
        let end = at + sign(&cells[at..]);
        total += match &cells[at..end] {
            [cell] => cell.c.width().unwrap_or(0),
            parts => parts.iter().map(|cell| cell.c).collect::<String>().width(),
        };
        at = end;
    }
    total
}

/// Decides which characters a reader sees as one sign: a letter with its accents, a flag, a picture with a skin tone,
/// or a sequence of joined pictures.
struct Joining {
    before: char,
    /// The number of adjacent flag letters before the next character. Two of them are a flag.
    flags: usize,
}

impl Joining {
    fn after(first: char) -> Joining {
        Joining { before: first, flags: usize::from(is_flag(first)) }
    }

    /// Processes the next character. Returns `true` if it is part of the previous sign.
    fn extend(&mut self, c: char) -> bool {
        let joined = if is_flag(c) && is_flag(self.before) { self.flags % 2 == 1 } else { joins(self.before, c) };
        self.flags = if is_flag(c) { self.flags + 1 } else { 0 };
        self.before = c;
        joined
    }
}

fn is_flag(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Returns `true` for a skin tone, which modifies the picture before it.
fn is_skin(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

/// Returns `true` if a character belongs to the sign before it. The caller handles flag letters.
fn joins(before: char, c: char) -> bool {
    let is_apart = |c| matches!(c, ' ' | '\n' | BREAK);
    !is_apart(before) && !is_apart(c) && (before == JOINER || c == SELECTOR || is_skin(c) || columns(c) == 0)
}

/// Returns the number of cells of the first sign. There must be at least one cell.
fn sign(cells: &[Cell]) -> usize {
    let mut joining = Joining::after(cells[0].c);
    1 + cells[1..].iter().take_while(|cell| joining.extend(cell.c)).count()
}

/// Splits a text into signs of one or several characters.
fn signs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut joining = Joining::after(rest.chars().next()?);
        let end = rest.char_indices().skip(1).find(|(_, c)| !joining.extend(*c)).map_or(rest.len(), |(at, _)| at);
        let (sign, after) = rest.split_at(end);
        rest = after;
        Some(sign)
    })
}

/// Removes the last sign, as Backspace does in an editor.
pub(crate) fn rub_out(text: &mut String) {
    /// Maximum number of flag letters to inspect before the end. A user does not type longer runs.
    const MOST_FLAGS: usize = 64;
    let mut kept = text.len();
    let mut before = text.char_indices().rev().peekable();
    while let Some((at, c)) = before.next() {
        kept = at;
        let joined = before.peek().is_some_and(|(_, previous)| match is_flag(c) && is_flag(*previous) {
            // Two letters make a flag, so a letter is joined to the one before it if an odd number of letters precedes
            // it.
            true => text[..at].chars().rev().take(MOST_FLAGS).take_while(|c| is_flag(*c)).count() % 2 == 1,
            false => joins(*previous, c),
        });
        if !joined {
            break;
        }
    }
    text.truncate(kept);
}

/// Appends the characters of a text. Characters that would control the terminal are escaped.
pub(super) fn push(cells: &mut Vec<Cell>, text: &str, ink: Ink) {
    let cell = |c| Cell { c, ink, at: 0, inside: false };
    for (at, c) in text.char_indices() {
        match c {
            BREAK => cells.push(cell(c)),
            '\n' | '\t' => cells.push(cell(' ')),
            // Escape a CR too: it would move the cursor to the first column, and the LF after it is only a blank here.
            c if c == '\r' || steers(c, &text[at..]) => cells.extend(written_out(c).chars().map(cell)),
            c => cells.push(cell(c)),
        }
    }
}

/// Returns the escaped form of a character, such as `\u{1b}`.
pub(super) fn written_out(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}

/// Returns `true` for the line and paragraph separators of Unicode. One of them has its own meaning here: [`BREAK`].
pub(super) fn is_odd(c: char) -> bool {
    c == BREAK || c == '\u{2029}' || invisible::kind(c).is_some_and(|kind| kind == invisible::Invisible::Separator)
}

/// Wraps the cells between words. Returns the range of each row, and the index at which the next row begins.
pub(super) fn wrapped(cells: &[Cell], width: usize) -> Vec<(Range<usize>, usize)> {
    broken(cells, width, false, self::width)
}

/// Wraps as [`wrapped`] does, but by the widths that most terminals use. In other terminals a row may be too wide.
pub(super) fn wrapped_by_unicode(cells: &[Cell], width: usize) -> Vec<(Range<usize>, usize)> {
    broken(cells, width, false, unicode_width)
}

/// Wraps as [`wrapped`] does. With `whole`, words longer than a row are left to the terminal to break, so that they can
/// be copied in one piece. `columns_of` measures a sign, which is never split.
fn broken(cells: &[Cell], width: usize, whole: bool, columns_of: fn(&[Cell]) -> usize) -> Vec<(Range<usize>, usize)> {
    /// Characters that follow a wide character and never begin a row.
    const CLOSING: &str = "、。，．」』）］｝！？：；…";
    let mut rows = Vec::new();
    let (mut start, mut column, mut at) = (0, 0, 0);
    // The last possible end of the row, and the start of the next row in that case.
    let mut rest: Option<(usize, usize)> = None;
    while let Some(cell) = cells.get(at) {
        if cell.c == BREAK {
            rows.push((trimmed(cells, start..at), at + 1));
            (start, column, at, rest) = (at + 1, 0, at + 1, None);
            continue;
        }
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
        let mut end = at + sign(&cells[at..]);
        if at == start && columns_of(&cells[at..end]) > width {
            // Split a sign that is wider than a row.
            let mut taken = 0;
            let fits = |cell: &&Cell| {
                taken += columns(cell.c);
                taken <= width
            };
            end = at + cells[at..end].iter().take_while(fits).count().max(1);
        }
        let wide = columns_of(&cells[at..end]);
        if column + wide > width && at > start && !(whole && rest.is_none()) {
            let (end, next) = rest.unwrap_or((at, at));
            rows.push((trimmed(cells, start..end), next));
            (start, column, at, rest) = (next, 0, next, None);
            continue;
        }
        column += wide;
        at = end;
        let joined = cells.get(at).is_some_and(|next| columns(next.c) == 0 || CLOSING.contains(next.c));
        // Scripts with wide characters have no blanks between words, so a row may end after each of them.
        if wide >= 2 && !joined {
            rest = Some((at, at));
        }
    }
    if start < cells.len() || rows.is_empty() {
        rows.push((trimmed(cells, start..cells.len()), cells.len()));
    }
    rows
}

/// Wraps plain text between words into rows of `columns`. Continuation rows are aligned with the text after the mark of
/// the line or after a gap of two blanks.
pub(crate) fn in_rows(text: &str, columns: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (first, body) = line.split_at(before_words(line, columns / 2));
        line_in_rows(first, body, width_of(first), columns)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Wraps a line as [`in_rows`] does: `first` precedes its first row, and `blanks` blanks precede the others.
pub(crate) fn line_in_rows(first: &str, body: &str, blanks: usize, columns: usize) -> String {
    line_broken(first, body, blanks, columns, true)
}

/// Wraps a line as [`line_in_rows`] does, but also breaks words that are longer than a row. The terminal would continue
/// such a word in its first column, where a model could use it to imitate a row of the program.
pub(crate) fn line_set_in(first: &str, body: &str, blanks: usize, columns: usize) -> String {
    line_broken(first, body, blanks, columns, false)
}

fn line_broken(first: &str, body: &str, blanks: usize, columns: usize, whole: bool) -> String {
    let mut cells = Vec::new();
    push(&mut cells, body, Ink::PLAIN);
    let room = columns.saturating_sub(blanks.max(width_of(first))).max(1);
    let mut out = first.to_owned();
    for (index, (range, _)) in broken(&cells, room, whole, width).into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', blanks));
        }
        out.extend(cells[range].iter().map(|cell| cell.c));
    }
    // Keep the blanks at the end: the user types after a prompt.
    out.push_str(&body[body.trim_end_matches(' ').len()..]);
    out
}

/// Returns the length of the prefix of a line: its indentation and a mark of one character, or a first column that ends
/// at a gap of two blanks within `most` columns.
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

/// Cuts a text to at most `most` columns; dots mark the cut.
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

/// Returns the maximum width of a text in columns.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Returns the number of rows that a text takes in a terminal that wraps it at `most` columns, as the minimum of all
/// terminals, and whether all terminals put every sign into the same row.
pub(crate) fn rows_of(text: &str, most: usize) -> (usize, bool) {
    let step = |(row, column): (usize, usize), wide: usize| match column + wide > most && column > 0 {
        true => (row + 1, wide),
        false => (row, column + wide),
    };
    let (mut fewest, mut widest, mut agree) = ((1, 0), (1, 0), true);
    for sign in signs(text) {
        let joined = match sign.contains(SELECTOR) {
            // Some terminals ignore the selector.
            true => sign.replace(SELECTOR, "").width(),
            false => sign.width(),
        };
        fewest = step(fewest, joined);
        widest = sign.chars().map(columns).fold(widest, step);
        agree &= fewest.0 == widest.0;
    }
    (fewest.0, agree)
}

/// Replaces joined pictures by their parts, whose width all terminals agree on. Each character keeps its length in
/// bytes, so that positions in the text stay valid.
pub(crate) fn in_parts(text: &str) -> String {
    let part = |c| match c {
        // The zero width non-joiner has the same length, joins nothing and has no width.
        JOINER | SELECTOR => '\u{200c}',
        // A skin tone by itself is displayed as a coloured square.
        c if is_skin(c) => '\u{1f7eb}',
        // The same letter in bold (Mathematical Alphanumeric Symbols).
        c if is_flag(c) => char::from_u32(0x1d400 + u32::from(c) - 0x1f1e6).unwrap_or(c),
        c => c,
    };
    text.chars().map(part).collect()
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
