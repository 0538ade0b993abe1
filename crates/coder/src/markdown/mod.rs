//! Renders Markdown as rows of a terminal while the model writes it.
//!
//! Printed rows never change: a row is returned once no further input can change it. A paragraph returns its rows as
//! they fill up, a list its items, a block of code its lines; only a table waits for its last row. The incomplete rest
//! is the [tail](Markdown::tail), a single row that the caller may redraw below the others. The rows depend only on the
//! text and the width, not on how the text is split into pieces.
//!
//! Blocks are parsed line by line as in CommonMark, and pulldown-cmark parses the text of a paragraph. Time per line
//! and memory are bounded, so constructs that never end are returned as text. Because printed rows cannot change, three
//! things differ from CommonMark: only a single line that fits in a row can be underlined as a heading, link
//! definitions are displayed as text, and a blank line appears wherever one was written. HTML is displayed as text.

mod code;
mod inline;
mod rows;
mod table;

use code::Highlighter;
use rows::{BREAK, Cell, Ink, columns, draw, is_odd, push, width, wrapped, written_out};
pub(crate) use rows::{Look, cut, in_parts, in_rows, line_in_rows, line_set_in, rows_of, rub_out, width_of};
use table::{Side, Table};

/// Maximum number of bytes of a paragraph that wait until an open construct is closed.
const MOST_OPEN: usize = 4 << 10;
/// Maximum number of bytes of a line whose kind depends on its end.
const MOST_LINE: usize = 16 << 10;
/// Maximum number of times that the incomplete beginning of a line is parsed.
const MOST_TRIES: usize = 8;
/// Maximum length of a displayed fence.
const MOST_FENCE: usize = 16;
/// Maximum nesting of quotes and list items.
const DEEPEST: usize = 12;
/// Minimum width of text in columns at any nesting.
const NARROWEST: usize = 12;

/// The state of a Markdown text that is being received.
pub(crate) struct Markdown {
    look: Look,
    /// The base style of the text.
    base: Ink,
    /// The current line until its kind is known.
    line: String,
    tries: usize,
    /// Whether the current line belongs to the open paragraph, which already contains its beginning.
    in_text: bool,
    containers: Vec<Container>,
    leaf: Leaf,
    /// Whether a blank line follows the last row.
    gap: bool,
    /// Whether any row was returned.
    begun: bool,
    /// The number of quotes around the last row.
    quotes: usize,
    /// The complete rows that the caller has not taken yet, each with a newline.
    out: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Container {
    Quote,
    Item(Item),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    /// The number of columns by which the item's lines must be indented.
    indent: usize,
    /// The mark before its first row.
    mark: String,
    /// Whether the mark has been printed.
    shown: bool,
    /// The number of an item in an ordered list, and the character after the number.
    number: Option<(u64, char)>,
}

/// The open block.
enum Leaf {
    Nothing,
    Paragraph(Paragraph),
    /// A block between fences.
    Fenced {
        fence: char,
        length: usize,
        indent: usize,
        code: Highlighter,
    },
    /// A block of indented code. Blank lines are held back until more code follows, because at the end of the block
    /// they do not belong to it (CommonMark, 4.4).
    Indented {
        blank: usize,
    },
    Html,
    Table(Table),
}

#[derive(Debug, Default)]
struct Paragraph {
    /// The text that has not been returned yet, with its lines joined.
    text: String,
    /// The number of complete lines.
    lines: usize,
    /// Whether a part of the text has been returned.
    given: bool,
    /// The length that the text must reach before it is examined again.
    next: usize,
    /// Whether the first line may be the head of a table.
    piped: bool,
}

/// A parsed line: the containers that continue, those that begin, and the content.
struct Reading<'l> {
    matched: usize,
    begins: Vec<Container>,
    kind: Kind<'l>,
}

enum Kind<'l> {
    Blank,
    /// A line of a paragraph. A `lazy` line continues the paragraph without the marks of its containers.
    Text {
        text: &'l str,
        lazy: bool,
    },
    Heading(usize, &'l str),
    /// The line below a heading of this level.
    Underline(usize),
    Rule,
    Fence {
        fence: char,
        length: usize,
        indent: usize,
        info: &'l str,
    },
    FenceEnd,
    /// A line of code or HTML, which may be the first one.
    Code(&'l str),
    Html(&'l str),
    /// The delimiter row below the head of a table.
    Sides(Vec<Side>),
    Row(&'l str),
}

impl Markdown {
    /// Returns an empty text. With `dim`, the whole text is displayed dimmed.
    pub(crate) fn new(look: Look, dim: bool) -> Markdown {
        Markdown {
            look,
            base: if dim { Ink::DIM } else { Ink::PLAIN },
            line: String::new(),
            tries: 0,
            in_text: false,
            containers: Vec::new(),
            leaf: Leaf::Nothing,
            gap: false,
            begun: false,
            quotes: 0,
            out: String::new(),
        }
    }

    /// Processes the next piece and returns the rows that are now complete, each with a newline.
    pub(crate) fn feed(&mut self, look: Look, piece: &str) -> String {
        self.look = look;
        // One character at a time, so that the rows do not depend on the pieces.
        for c in piece.chars() {
            match c {
                '\n' => self.end_line(),
                c if self.in_text => self.push_text(c),
                c => self.push(c),
            }
        }
        std::mem::take(&mut self.out)
    }

    /// Ends the text, or interrupts it for other output, and returns the remaining rows. Later text begins a new
    /// document.
    pub(crate) fn finish(&mut self, look: Look) -> String {
        self.look = look;
        if self.in_text || !self.line.is_empty() {
            self.end_line();
        }
        self.close(0);
        let out = std::mem::take(&mut self.out);
        *self = Markdown { gap: false, ..Markdown::new(look, self.base.dim) };
        out
    }

    /// Renders the incomplete rest and returns its last row without a newline.
    pub(crate) fn tail(&self, look: Look) -> String {
        let mut out = String::new();
        let prefix = self.prefix(look);
        let room = look.width.saturating_sub(width(&prefix)).max(1);
        let cells = match &self.leaf {
            Leaf::Paragraph(paragraph) => {
                // Only the last row is needed, so limit the work for each piece.
                let mut text = end_of(&paragraph.text, 4 * room).to_owned();
                if !self.in_text {
                    text.push(' ');
                    text.push_str(end_of(self.line.trim_start(), 4 * room));
                }
                inline::read(text.trim_end(), look, self.base).cells
            }
            _ => {
                let mut cells = Vec::new();
                push(&mut cells, end_of(&self.line, 4 * room), self.base);
                cells
            }
        };
        let rows = wrapped(&cells, room);
        let Some((range, _)) = rows.last().filter(|(range, _)| !range.is_empty()) else { return out };
        draw(&prefix, look, &mut out);
        draw(&cells[range.clone()], look, &mut out);
        out
    }

    /// Returns the number of bytes that are kept of the text.
    #[cfg(test)]
    fn buffered_bytes(&self) -> usize {
        let leaf = match &self.leaf {
            Leaf::Paragraph(paragraph) => paragraph.text.capacity(),
            Leaf::Table(table) => table.buffered_bytes(),
            _ => 0,
        };
        leaf + self.line.capacity() + self.containers.len() * size_of::<Container>()
    }

    /// Adds a character to a line whose kind is unknown.
    fn push(&mut self, c: char) {
        let ends_word = c == ' ' && self.line.ends_with(|last: char| !last.is_whitespace());
        self.line.push(c);
        // Each attempt parses the line from its start, so it follows only whole words, and only a few times.
        if ends_word && self.tries < MOST_TRIES {
            self.tries += 1;
            self.try_text();
        } else if self.line.len() >= MOST_LINE {
            // Memory is bounded, so a line that does not end is processed as if it did.
            let line = std::mem::take(&mut self.line);
            self.take_line(&line);
        }
    }

    /// Passes on the beginning of a line early if the line can only belong to a paragraph.
    fn try_text(&mut self) {
        // In a table, a later `|` may still make this line a row.
        if matches!(self.leaf, Leaf::Table(_)) {
            return;
        }
        let line = expanded(&self.line);
        let reading = self.read(&line);
        let Kind::Text { text, .. } = &reading.kind else { return };
        let word = text.split(' ').next().unwrap_or_default();
        // Otherwise a later character could still make the line a heading, list item, table, fence or HTML.
        let is_certain = word.contains(char::is_alphanumeric)
            && !text.starts_with(['#', '<', '|', '`', '~', '=', '+'])
            && !(word.ends_with(['.', ')']) && word[..word.len() - 1].bytes().all(|byte| byte.is_ascii_digit()));
        if is_certain {
            let (matched, begins) = (reading.matched, reading.begins);
            let (text, lazy) = (text.trim_start().to_owned(), matches!(reading.kind, Kind::Text { lazy: true, .. }));
            self.line.clear();
            self.begin_text(matched, begins, lazy);
            self.in_text = true;
            text.chars().for_each(|c| self.push_text(c));
        }
    }

    fn end_line(&mut self) {
        self.tries = 0;
        if std::mem::take(&mut self.in_text) {
            return self.end_text();
        }
        let mut line = std::mem::take(&mut self.line);
        if line.ends_with('\r') {
            line.pop();
        }
        self.take_line(&line);
    }

    /// Classifies a line for the current state.
    fn read<'l>(&self, line: &'l str) -> Reading<'l> {
        let (mut rest, mut matched) = (line, 0);
        for container in &self.containers {
            match container {
                Container::Quote => match quoted(rest) {
                    Some(inner) => rest = inner,
                    None => break,
                },
                // A blank line continues an item without any indentation.
                Container::Item(_) if rest.trim().is_empty() => rest = "",
                Container::Item(item) if blanks(rest) >= item.indent => rest = &rest[item.indent..],
                Container::Item(_) => break,
            }
            matched += 1;
        }
        // The open block continues only in a line that continues all of its containers.
        let all = matched == self.containers.len();
        let mut reading = Reading { matched, begins: Vec::new(), kind: Kind::Blank };
        match &self.leaf {
            Leaf::Fenced { fence, length, indent, .. } if all => {
                let text = rest.trim();
                // A closing fence is at least as long as the opening one and has no info string (CommonMark, 4.5).
                let ends = blanks(rest) < 4 && text.len() >= *length && text.chars().all(|c| c == *fence);
                reading.kind = if ends { Kind::FenceEnd } else { Kind::Code(&rest[blanks(rest).min(*indent)..]) };
                return reading;
            }
            // A blank line ends HTML (CommonMark, 4.6, kinds 6 and 7).
            Leaf::Html if all && !rest.trim().is_empty() => {
                reading.kind = Kind::Html(rest);
                return reading;
            }
            _ => {}
        }
        let paragraph = if let Leaf::Paragraph(paragraph) = &self.leaf { Some(paragraph) } else { None };
        loop {
            let (indent, text) = (blanks(rest), rest.trim_start());
            let goes_on = paragraph.is_some() && reading.begins.is_empty();
            // Only a single line that has not been printed can still become a heading or the head of a table.
            let head = paragraph.filter(|paragraph| goes_on && all && paragraph.lines == 1 && !paragraph.given);
            if text.is_empty() {
                return reading;
            }
            // Indented code cannot interrupt a paragraph (CommonMark, 4.4).
            if indent >= 4 && !goes_on {
                reading.kind = Kind::Code(&rest[4..]);
                return reading;
            }
            if indent < 4 {
                if self.containers.len().max(matched + reading.begins.len()) < DEEPEST
                    && let Some(inner) = quoted(rest)
                {
                    reading.begins.push(Container::Quote);
                    rest = inner;
                    continue;
                }
                if let Some((level, text)) = heading(text) {
                    reading.kind = Kind::Heading(level, text);
                    return reading;
                }
                if let Some((fence, length, info)) = fence(text) {
                    reading.kind = Kind::Fence { fence, length, indent, info };
                    return reading;
                }
                if let Some(kind) = head.and_then(|head| below_head(head, text)) {
                    reading.kind = kind;
                    return reading;
                }
                // `* * *` is a rule and not a list, so rules precede list items (CommonMark, 4.1).
                if is_rule(text) {
                    reading.kind = Kind::Rule;
                    return reading;
                }
                if self.containers.len().max(matched + reading.begins.len()) < DEEPEST
                    && let Some((item, inner)) = self.item(rest, indent, matched, goes_on && all)
                {
                    reading.begins.push(Container::Item(item));
                    rest = inner;
                    continue;
                }
                // A line of a paragraph may begin with an inline tag (CommonMark, 4.6, kind 7).
                if !goes_on && is_html(text) {
                    reading.kind = Kind::Html(rest);
                    return reading;
                }
                if matches!(self.leaf, Leaf::Table(_)) && all && reading.begins.is_empty() && text.contains('|') {
                    reading.kind = Kind::Row(text);
                    return reading;
                }
            }
            // A paragraph continues even in a line without the marks of its containers (CommonMark, 5.1).
            reading.kind = Kind::Text { text, lazy: goes_on && !all };
            return reading;
        }
    }

    /// Parses a list item that begins here, and returns its content. With `interrupts`, the item would interrupt a
    /// paragraph, which only an unambiguous one may do.
    fn item<'l>(&self, rest: &'l str, indent: usize, matched: usize, interrupts: bool) -> Option<(Item, &'l str)> {
        let text = rest.trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (length, number) = match text.as_bytes().get(digits)? {
            b'-' | b'+' | b'*' if digits == 0 => (1, None),
            // A number has at most nine digits (CommonMark, 5.2).
            end @ (b'.' | b')') if (1..=9).contains(&digits) => {
                (digits + 1, Some((text[..digits].parse::<u64>().ok()?, char::from(*end))))
            }
            _ => return None,
        };
        let behind = &text[length..];
        // Only a blank separates the mark from the content; other white space is text, as in CommonMark.
        let inner = behind.trim_start_matches(' ');
        if !inner.is_empty() && !behind.starts_with(' ') {
            return None;
        }
        // Only an item with text, and in an ordered list only number 1, may interrupt a paragraph (CommonMark, 5.2).
        if interrupts && (inner.is_empty() || number.is_some_and(|(number, _)| number != 1)) {
            return None;
        }
        // With more than four blanks, the content is indented code (CommonMark, 5.2).
        let blank = if inner.is_empty() || blanks(behind) > 4 { 1.min(behind.len()) } else { blanks(behind) };
        // Items are numbered consecutively, whatever their numbers in the source, as in HTML.
        let number = number.map(|(first, end)| match self.containers.get(matched) {
            Some(Container::Item(Item { number: Some((before, same)), .. })) if *same == end => (before + 1, end),
            _ => (first, end),
        });
        let mark = match number {
            Some((number, end)) => format!("{number}{end} "),
            None => format!("{} ", if self.look.signs { "•" } else { "-" }),
        };
        let item = Item { indent: indent + length + blank.max(1), mark, shown: false, number };
        Some((item, &behind[blank..]))
    }

    /// Processes a complete line.
    fn take_line(&mut self, line: &str) {
        let is_code = matches!(self.leaf, Leaf::Fenced { .. });
        // A tab in code is kept, so that it can be copied, unless the mark of a container precedes it.
        let line = if is_code && self.containers.is_empty() { line.to_owned() } else { expanded(line) };
        let reading = self.read(&line);
        let Reading { matched, begins, kind } = reading;
        // First the lines that continue or complete the open block.
        match kind {
            Kind::Text { text, lazy } => {
                self.begin_text(matched, begins, lazy);
                text.chars().for_each(|c| self.push_text(c));
                return self.end_text();
            }
            Kind::Blank if begins.is_empty() => return self.blank(matched),
            Kind::FenceEnd => {
                if let Leaf::Fenced { fence, length, .. } = self.leaf {
                    self.give(vec![fence_cells(fence, length.min(MOST_FENCE), "")]);
                }
                self.leaf = Leaf::Nothing;
                return;
            }
            Kind::Code(text) if is_code && matched == self.containers.len() && begins.is_empty() => {
                if let Leaf::Fenced { code, .. } = &mut self.leaf {
                    let cells = code.line(text);
                    self.give(vec![cells]);
                }
                return;
            }
            Kind::Row(text) => {
                if let Leaf::Table(table) = &mut self.leaf
                    && table.push(text)
                {
                    self.give_table();
                }
                return;
            }
            Kind::Sides(sides) => {
                // The line above was read as a paragraph, but it waited for this one and was not printed.
                if let Leaf::Paragraph(paragraph) = std::mem::replace(&mut self.leaf, Leaf::Nothing) {
                    self.leaf = Leaf::Table(Table::new(table::cells(&paragraph.text), sides));
                }
                return;
            }
            Kind::Underline(level) => {
                if let Leaf::Paragraph(paragraph) = std::mem::replace(&mut self.leaf, Leaf::Nothing) {
                    self.heading(level, paragraph.text.trim());
                }
                return;
            }
            Kind::Html(text) if matches!(self.leaf, Leaf::Html) && matched == self.containers.len() => {
                return self.as_it_is(text, Ink::DIM);
            }
            Kind::Code(text)
                if matches!(self.leaf, Leaf::Indented { .. })
                    && matched == self.containers.len()
                    && begins.is_empty() =>
            {
                if let Leaf::Indented { blank } = &mut self.leaf {
                    let blank = std::mem::take(blank);
                    // These blank lines are rows of the code, so no gap precedes the next row.
                    self.gap = false;
                    self.give(vec![Vec::new(); blank]);
                }
                return self.as_it_is(text, Ink::PLAIN);
            }
            _ => {}
        }
        // All other lines close the open block and begin another one.
        self.close(matched);
        self.containers.extend(begins);
        match kind {
            Kind::Heading(level, text) => self.heading(level, text),
            Kind::Rule => self.rule(),
            Kind::Fence { fence, length, indent, info } => {
                self.give(vec![fence_cells(fence, length.min(MOST_FENCE), info)]);
                self.leaf = Leaf::Fenced { fence, length, indent, code: Highlighter::new(info) };
            }
            Kind::Code(text) => {
                self.as_it_is(text, Ink::PLAIN);
                self.leaf = Leaf::Indented { blank: 0 };
            }
            Kind::Html(text) => {
                self.as_it_is(text, Ink::DIM);
                self.leaf = Leaf::Html;
            }
            // The line only begins a container, or was handled above.
            _ => {}
        }
    }

    fn blank(&mut self, matched: usize) {
        match &mut self.leaf {
            Leaf::Indented { blank } if matched == self.containers.len() => *blank = (*blank + 1).min(MOST_TRIES),
            _ => self.close(matched),
        }
        self.gap = true;
    }

    /// Continues the open paragraph, or begins one.
    fn begin_text(&mut self, matched: usize, begins: Vec<Container>, lazy: bool) {
        let goes_on = begins.is_empty() && (lazy || matched == self.containers.len());
        if goes_on && let Leaf::Paragraph(paragraph) = &mut self.leaf {
            // This line would have been the delimiter row, so the paragraph is not a table.
            paragraph.piped = false;
            return;
        }
        self.close(matched);
        self.containers.extend(begins);
        self.leaf = Leaf::Paragraph(Paragraph::default());
    }

    fn push_text(&mut self, c: char) {
        let Leaf::Paragraph(paragraph) = &mut self.leaf else { return };
        match c {
            '\t' => paragraph.text.push(' '),
            // These characters are escaped, because `BREAK` has its own meaning in the text of a paragraph.
            c if !c.is_ascii() && is_odd(c) => paragraph.text.push_str(&written_out(c)),
            c => paragraph.text.push(c),
        }
        // A first line with `|` waits for the next line, which may make it the head of a table.
        paragraph.piped |= c == '|' && paragraph.lines == 0;
        let waits = paragraph.piped && !paragraph.given;
        if paragraph.text.len() >= MOST_OPEN {
            // A construct that is open for so long is treated as text.
            let rest = std::mem::take(&mut paragraph.text);
            (paragraph.given, paragraph.next) = (true, 0);
            let cells = inline::read(&rest, self.look, self.base).cells;
            self.give(vec![cells]);
        } else if c == ' ' && !waits && paragraph.text.len() > paragraph.next {
            self.write_final_rows();
        }
    }

    /// Writes the rows of the paragraph that no further text can change.
    fn write_final_rows(&mut self) {
        let room = self.room();
        let Leaf::Paragraph(paragraph) = &mut self.leaf else { return };
        // A text with fewer bytes than columns seldom fills a row, so it is not parsed yet.
        if paragraph.text.len() <= room {
            return;
        }
        let inline = inline::read(&paragraph.text, self.look, self.base);
        let rows = wrapped(&inline.cells, room);
        // The last row may still be filled up. The others are complete up to the last one that does not end inside an
        // open construct.
        let whole = rows.iter().take(rows.len() - 1).rposition(|(range, next)| {
            let last = range.end.max(*next) - 1;
            !inline.cells[last].inside && inline.cells[last].at <= inline.settled
        });
        // The text is parsed again only after it has grown by an eighth, which bounds the total work.
        paragraph.next = paragraph.text.len() + paragraph.text.len() / 8;
        if let Some(whole) = whole {
            let next = rows[whole].1;
            paragraph.text.drain(..inline.cells[next - 1].at);
            paragraph.given = true;
            paragraph.next = paragraph.text.len() + paragraph.text.len() / 8;
            let cells = inline.cells[..next].to_vec();
            self.give(vec![cells]);
        }
    }

    fn end_text(&mut self) {
        let Leaf::Paragraph(Paragraph { text, lines, .. }) = &mut self.leaf else { return };
        *lines += 1;
        if text.ends_with('\r') {
            text.pop();
        }
        // A backslash or two blanks at its end break a line (CommonMark, 6.7), but an escaped backslash does not.
        let is_signed = text.ends_with('\\') && !text.ends_with("\\\\");
        let is_hard = is_signed || text.ends_with("  ");
        if is_signed {
            text.pop();
        }
        text.truncate(text.trim_end_matches(' ').len());
        if !text.is_empty() && !text.ends_with(BREAK) {
            text.push(if is_hard { BREAK } else { ' ' });
        }
    }

    /// Closes the open block and all containers that the line does not continue.
    fn close(&mut self, matched: usize) {
        match std::mem::replace(&mut self.leaf, Leaf::Nothing) {
            Leaf::Paragraph(paragraph) => {
                // A line break at the end of a paragraph has no effect (CommonMark, 6.7).
                let text = paragraph.text.trim_end_matches([' ', BREAK]);
                if !text.is_empty() {
                    let cells = inline::read(text, self.look, self.base).cells;
                    self.give(vec![cells]);
                }
            }
            table @ Leaf::Table(_) => {
                // `give_table` expects the table in `self.leaf`.
                self.leaf = table;
                self.give_table();
                self.leaf = Leaf::Nothing;
            }
            _ => {}
        }
        // An item without content still needs a row for its mark.
        let empty = |container: &Container| matches!(container, Container::Item(item) if !item.shown);
        if self.containers.iter().skip(matched).any(empty) {
            self.give(vec![Vec::new()]);
        }
        self.containers.truncate(matched);
    }

    fn heading(&mut self, level: usize, text: &str) {
        let base = Ink { bold: true, underline: level == 1, ..self.base };
        let mut cells = Vec::new();
        if !self.look.colour {
            // Without styles, only its marks show that this row is a heading.
            push(&mut cells, &format!("{} ", "#".repeat(level)), base);
        }
        cells.extend(inline::read(text, self.look, base).cells);
        self.give(vec![cells]);
    }

    fn rule(&mut self) {
        let mut cells = Vec::new();
        push(&mut cells, &if self.look.signs { "─" } else { "-" }.repeat(self.room().min(60)), Ink::DIM);
        self.give(vec![cells]);
    }

    /// Writes a row without wrapping it, so that the user can copy it. The terminal wraps it.
    fn as_it_is(&mut self, text: &str, ink: Ink) {
        let mut cells = Vec::new();
        // Here U+2028 is a character of the text and not the mark of a line break.
        push(&mut cells, &text.replace(BREAK, "\\u{2028}"), ink);
        self.row(&cells);
    }

    fn give_table(&mut self) {
        let room = self.room();
        let look = Look { width: room, ..self.look };
        if let Leaf::Table(table) = &mut self.leaf {
            for row in table.drawn(look) {
                self.begin_row();
                let row = row.trim_end();
                self.out.push_str(row);
                self.out.push('\n');
            }
        }
    }

    /// Writes lines and wraps them, except lines of code.
    fn give(&mut self, lines: Vec<Vec<Cell>>) {
        for cells in lines {
            if matches!(self.leaf, Leaf::Fenced { .. }) {
                self.row(&cells);
                continue;
            }
            for (range, _) in wrapped(&cells, self.room()) {
                self.row(&cells[range]);
            }
        }
    }

    fn row(&mut self, cells: &[Cell]) {
        self.begin_row();
        draw(cells, self.look, &mut self.out);
        let blank = self.out.len() - self.out.trim_end_matches(' ').len();
        self.out.truncate(self.out.len() - blank);
        self.out.push('\n');
    }

    /// Writes a pending blank row and the prefix of the next row.
    fn begin_row(&mut self) {
        let quotes = self.containers.iter().filter(|container| **container == Container::Quote).count();
        if std::mem::take(&mut self.gap) && self.begun {
            // The blank row has only the marks of quotes that surround both rows.
            let mark: Vec<Cell> = (0..quotes.min(self.quotes)).flat_map(|_| quote_cells(self.look)).collect();
            let mut row = String::new();
            draw(&mark, self.look, &mut row);
            self.out.push_str(row.trim_end());
            self.out.push('\n');
        }
        let prefix = self.prefix(self.look);
        draw(&prefix, self.look, &mut self.out);
        for container in &mut self.containers {
            if let Container::Item(item) = container {
                // The next rows of the item are indented instead of marked.
                item.shown = true;
            }
        }
        (self.begun, self.quotes) = (true, quotes);
    }

    /// Returns the prefix of the next row: quote marks, and marks or indentation of items.
    fn prefix(&self, look: Look) -> Vec<Cell> {
        let mut cells = Vec::new();
        for container in &self.containers {
            match container {
                Container::Quote => cells.extend(quote_cells(look)),
                Container::Item(item) if item.shown => {
                    let blank = item.mark.chars().map(columns).sum();
                    push(&mut cells, &" ".repeat(blank), Ink::PLAIN);
                }
                Container::Item(item) => push(&mut cells, &item.mark, self.base),
            }
        }
        cells
    }

    /// Returns the number of columns available for text in the current containers.
    fn room(&self) -> usize {
        let before: usize = self.containers.iter().map(Container::columns).sum();
        self.look.width.saturating_sub(before).max(NARROWEST)
    }
}

impl Container {
    fn columns(&self) -> usize {
        match self {
            Container::Quote => 2,
            Container::Item(item) => item.mark.chars().map(columns).sum(),
        }
    }
}

fn quote_cells(look: Look) -> Vec<Cell> {
    let mut cells = Vec::new();
    push(&mut cells, if look.signs { "│ " } else { "> " }, Ink::DIM);
    cells
}

/// Returns the cells of a fence. Fences are displayed, so that code is recognizable without colours and can be copied
/// with its language.
fn fence_cells(fence: char, length: usize, info: &str) -> Vec<Cell> {
    let mut cells = Vec::new();
    push(&mut cells, &format!("{}{info}", fence.to_string().repeat(length)), Ink::DIM);
    cells
}

/// Returns at most `most` bytes from the end of a text, beginning with a word.
fn end_of(text: &str, most: usize) -> &str {
    let mut at = text.len().saturating_sub(most);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let end = &text[at..];
    if at == 0 { end } else { end.split_once([' ', BREAK]).map_or(end, |(_, words)| words) }
}

/// Counts the blanks at the beginning of a line.
fn blanks(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// Replaces the tabs of a line by blanks up to the next tab stop.
fn expanded(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            // `out.len()` equals the column only within the indentation, where tabs matter.
            '\t' => out.push_str(&"    "[out.len() % 4..]),
            c => out.push(c),
        }
    }
    out
}

/// Classifies a line below a single line of text: the delimiter row of a table, or the underline of a heading.
fn below_head<'l>(head: &Paragraph, text: &'l str) -> Option<Kind<'l>> {
    // A delimiter row must have as many cells as the head (GFM, 4.10).
    if head.piped
        && let Some(sides) = table::sides(text)
        && sides.len() == table::cells(&head.text).len()
    {
        return Some(Kind::Sides(sides));
    }
    // Below a paragraph, `---` is an underline and not a rule (CommonMark, 4.1).
    underline(text).map(Kind::Underline)
}

/// Removes a quote mark from a line; `None` if the line does not begin with one.
fn quoted(line: &str) -> Option<&str> {
    // At most three blanks may precede the mark (CommonMark, 5.1).
    let inner = line.trim_start_matches(' ').strip_prefix('>').filter(|_| blanks(line) < 4)?;
    Some(inner.strip_prefix(' ').unwrap_or(inner))
}

fn heading(text: &str) -> Option<(usize, &str)> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let title = &text[level..];
    if !(1..=6).contains(&level) || !title.is_empty() && !title.starts_with(' ') {
        return None;
    }
    let title = title.trim();
    // A closing sequence of `#` is not part of the title, unless it directly follows a word (CommonMark, 4.2).
    let closed = title.trim_end_matches('#');
    Some((level, if closed.is_empty() || closed.ends_with(' ') { closed.trim_end() } else { title }))
}

fn fence(text: &str) -> Option<(char, usize, &str)> {
    let fence = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == fence).count();
    let info = text[length..].trim();
    // Text with a backtick after the fence is a code span in a paragraph (CommonMark, 4.5).
    (length >= 3 && !(fence == '`' && info.contains('`'))).then_some((fence, length, info))
}

fn underline(text: &str) -> Option<usize> {
    let text = text.trim_end();
    match text.as_bytes().first()? {
        b'=' if text.bytes().all(|byte| byte == b'=') => Some(1),
        b'-' if text.bytes().all(|byte| byte == b'-') => Some(2),
        _ => None,
    }
}

fn is_rule(text: &str) -> bool {
    let mut marks = text.chars().filter(|c| *c != ' ');
    let Some(mark @ ('-' | '*' | '_')) = marks.next() else { return false };
    let mut count = 1;
    marks.all(|c| {
        count += 1;
        c == mark
    }) && count >= 3
}

fn is_html(text: &str) -> bool {
    let inner = text.strip_prefix('<').unwrap_or_default();
    // Autolinks such as `<https://a.example>` and `<a@b.example>` begin like HTML.
    inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
        && !inner.contains("://")
        && !inner.split('>').next().is_some_and(|inner| inner.contains('@'))
}

#[cfg(test)]
mod tests;
