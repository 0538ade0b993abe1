//! The Markdown of a model while it comes, as rows of a terminal.
//!
//! What was printed is never changed: a row is given once nothing that may follow can change it. A paragraph gives its rows as
//! they fill up, a list its items, a block of code its lines, and only a table waits for its last row. What is not settled yet is
//! the [tail](Markdown::tail), one row that whoever prints it may draw again and again below the others. The rows depend on the
//! text and the width alone, and on no division into pieces.
//!
//! Blocks are found line by line, as CommonMark does it; what stands in a paragraph is pulldown-cmark's. Each line is looked at a
//! bounded number of times, and what is kept is bounded: what never ends is given as it is. Three things differ from CommonMark,
//! for a row that was given cannot be changed: a heading that is underlined has one line that fits a row, definitions of
//! links are texts, and a blank line stands where one was written. HTML is shown as it is.

mod code;
mod inline;
mod rows;
mod table;

use code::Highlighter;
use rows::{BREAK, Cell, Ink, columns, draw, is_odd, push, width, wrapped, written_out};
pub(crate) use rows::{Look, cut, in_parts, in_rows, line_in_rows, line_set_in, rows_of, rub_out, width_of};
use table::{Side, Table};

/// Bytes of a paragraph that wait for something that is open to be closed.
const MOST_OPEN: usize = 4 << 10;
/// Bytes of a line whose end has to be awaited to know what it is.
const MOST_LINE: usize = 16 << 10;
/// How often the beginning of a line is looked at before its end.
const MOST_TRIES: usize = 8;
/// Marks of a fence that are shown.
const MOST_FENCE: usize = 16;
/// Quotes and items that stand in each other.
const DEEPEST: usize = 12;
/// The fewest columns of a text, however deep it stands.
const NARROWEST: usize = 12;

/// A text of a model under way.
pub(crate) struct Markdown {
    look: Look,
    /// The look of all of it.
    base: Ink,
    /// The line under way, where it is not known yet what it is.
    line: String,
    tries: usize,
    /// The line under way is known to be one of the paragraph that is open, and stands there.
    in_text: bool,
    containers: Vec<Container>,
    leaf: Leaf,
    /// A blank line came since the last row.
    gap: bool,
    /// Whether there are rows.
    begun: bool,
    /// The quotes around the last row.
    quotes: usize,
    /// The rows that were not taken yet, each ended.
    out: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Container {
    Quote,
    Item(Item),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    /// Columns by which its lines are indented.
    indent: usize,
    /// What is shown before its first row, and only there.
    mark: String,
    shown: bool,
    /// The number of an item in an ordered list, and what stands behind the number.
    number: Option<(u64, char)>,
}

/// What is open.
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
    /// A block of indented code, and the blank lines of it that may be its last ones.
    Indented {
        blank: usize,
    },
    Html,
    Table(Table),
}

#[derive(Debug, Default)]
struct Paragraph {
    /// What was not given yet, its lines joined.
    text: String,
    /// Lines that have ended.
    lines: usize,
    /// Something of it was given.
    given: bool,
    /// So long has the text to be before it is looked at again.
    next: usize,
    /// It may be the head of a table.
    piped: bool,
}

/// A line: the containers that go on, those that begin, and what is in them.
struct Reading<'l> {
    matched: usize,
    begins: Vec<Container>,
    kind: Kind<'l>,
}

enum Kind<'l> {
    Blank,
    /// Of a paragraph. `lazy` says that it goes on with one although the containers of that do not.
    Text {
        text: &'l str,
        lazy: bool,
    },
    Heading(usize, &'l str),
    /// The line below a heading.
    Underline(usize),
    Rule,
    Fence {
        fence: char,
        length: usize,
        indent: usize,
        info: &'l str,
    },
    FenceEnd,
    /// A line of the code or the HTML that is open, or that begins.
    Code(&'l str),
    Html(&'l str),
    /// The row below the head of a table.
    Sides(Vec<Side>),
    Row(&'l str),
}

impl Markdown {
    /// The beginning of a text; `dim` where all of it matters less.
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

    /// Takes the next piece; gives the rows that are settled by now, each with its end.
    pub(crate) fn feed(&mut self, look: Look, piece: &str) -> String {
        self.look = look;
        for c in piece.chars() {
            match c {
                '\n' => self.end_line(),
                c if self.in_text => self.push_text(c),
                c => self.push(c),
            }
        }
        std::mem::take(&mut self.out)
    }

    /// The text is over, or something else stands in it; gives the rest of its rows. What comes then begins anew.
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

    /// What is not settled yet, as one row without an end: the last of the rows that it would be now.
    pub(crate) fn tail(&self, look: Look) -> String {
        let mut out = String::new();
        let prefix = self.prefix(look);
        let room = look.width.saturating_sub(width(&prefix)).max(1);
        let cells = match &self.leaf {
            Leaf::Paragraph(paragraph) => {
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

    /// Bytes that are kept of the text.
    #[cfg(test)]
    fn kept(&self) -> usize {
        let leaf = match &self.leaf {
            Leaf::Paragraph(paragraph) => paragraph.text.capacity(),
            Leaf::Table(table) => table.kept(),
            _ => 0,
        };
        leaf + self.line.capacity() + self.containers.len() * size_of::<Container>()
    }

    /// The next character of a line of which it is not known what it is.
    fn push(&mut self, c: char) {
        let ends_word = c == ' ' && self.line.ends_with(|last: char| !last.is_whitespace());
        self.line.push(c);
        if ends_word && self.tries < MOST_TRIES {
            self.tries += 1;
            self.try_text();
        } else if self.line.len() >= MOST_LINE {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line);
        }
    }

    /// Where the line can only be one of a paragraph, its words are given while they come.
    fn try_text(&mut self) {
        // A row of a table may have its first line between two cells later.
        if matches!(self.leaf, Leaf::Table(_)) {
            return;
        }
        let line = expanded(&self.line);
        let reading = self.read(&line);
        let Kind::Text { text, .. } = &reading.kind else { return };
        let word = text.split(' ').next().unwrap_or_default();
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

    /// What a line is, in the state that is open.
    fn read<'l>(&self, line: &'l str) -> Reading<'l> {
        let (mut rest, mut matched) = (line, 0);
        for container in &self.containers {
            match container {
                Container::Quote => match quoted(rest) {
                    Some(inner) => rest = inner,
                    None => break,
                },
                Container::Item(_) if rest.trim().is_empty() => rest = "",
                Container::Item(item) if blanks(rest) >= item.indent => rest = &rest[item.indent..],
                Container::Item(_) => break,
            }
            matched += 1;
        }
        let all = matched == self.containers.len();
        let mut reading = Reading { matched, begins: Vec::new(), kind: Kind::Blank };
        match &self.leaf {
            Leaf::Fenced { fence, length, indent, .. } if all => {
                let text = rest.trim();
                let ends = blanks(rest) < 4 && text.len() >= *length && text.chars().all(|c| c == *fence);
                reading.kind = if ends { Kind::FenceEnd } else { Kind::Code(&rest[blanks(rest).min(*indent)..]) };
                return reading;
            }
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
            let head = paragraph.filter(|paragraph| goes_on && all && paragraph.lines == 1 && !paragraph.given);
            if text.is_empty() {
                return reading;
            }
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
                if let Some(head) = head {
                    if head.piped
                        && let Some(sides) = table::sides(text)
                        && sides.len() == table::cells(&head.text).len()
                    {
                        reading.kind = Kind::Sides(sides);
                        return reading;
                    }
                    if let Some(level) = underline(text) {
                        reading.kind = Kind::Underline(level);
                        return reading;
                    }
                }
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
                if !goes_on && is_html(text) {
                    reading.kind = Kind::Html(rest);
                    return reading;
                }
                if matches!(self.leaf, Leaf::Table(_)) && all && reading.begins.is_empty() && text.contains('|') {
                    reading.kind = Kind::Row(text);
                    return reading;
                }
            }
            reading.kind = Kind::Text { text, lazy: goes_on && !all };
            return reading;
        }
    }

    /// The item of a list that begins here, and what stands in it. `interrupts` a paragraph only where it can be nothing else.
    fn item<'l>(&self, rest: &'l str, indent: usize, matched: usize, interrupts: bool) -> Option<(Item, &'l str)> {
        let text = rest.trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (length, number) = match text.as_bytes().get(digits)? {
            b'-' | b'+' | b'*' if digits == 0 => (1, None),
            end @ (b'.' | b')') if (1..=9).contains(&digits) => {
                (digits + 1, Some((text[..digits].parse::<u64>().ok()?, char::from(*end))))
            }
            _ => return None,
        };
        let behind = &text[length..];
        // Other white space is text, as CommonMark has it.
        let inner = behind.trim_start_matches(' ');
        if !inner.is_empty() && !behind.starts_with(' ') {
            return None;
        }
        if interrupts && (inner.is_empty() || number.is_some_and(|(number, _)| number != 1)) {
            return None;
        }
        // What is indented further is code in the item.
        let blank = if inner.is_empty() || blanks(behind) > 4 { 1.min(behind.len()) } else { blanks(behind) };
        // The numbers of a list go up by one, whatever the others are.
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

    /// Takes a whole line.
    fn take_line(&mut self, line: &str) {
        let is_code = matches!(self.leaf, Leaf::Fenced { .. });
        // A tab of code stays one where no container has to be taken off before it.
        let line = if is_code && self.containers.is_empty() { line.to_owned() } else { expanded(line) };
        let reading = self.read(&line);
        let Reading { matched, begins, kind } = reading;
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
                    self.gap = false;
                    self.give(vec![Vec::new(); blank]);
                }
                return self.as_it_is(text, Ink::PLAIN);
            }
            _ => {}
        }
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
            // A container with nothing in it, or what was dealt with above.
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

    /// Makes the paragraph that is open the place of what comes, or begins one.
    fn begin_text(&mut self, matched: usize, begins: Vec<Container>, lazy: bool) {
        let goes_on = begins.is_empty() && (lazy || matched == self.containers.len());
        if goes_on && let Leaf::Paragraph(paragraph) = &mut self.leaf {
            // It is no table, for this line would have said so.
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
            c if !c.is_ascii() && is_odd(c) => paragraph.text.push_str(&written_out(c)),
            c => paragraph.text.push(c),
        }
        paragraph.piped |= c == '|' && paragraph.lines == 0;
        let waits = paragraph.piped && !paragraph.given;
        if paragraph.text.len() >= MOST_OPEN {
            let rest = std::mem::take(&mut paragraph.text);
            (paragraph.given, paragraph.next) = (true, 0);
            let cells = inline::read(&rest, self.look, self.base).cells;
            self.give(vec![cells]);
        } else if c == ' ' && !waits && paragraph.text.len() > paragraph.next {
            self.settle();
        }
    }

    /// Gives the rows of the paragraph that are settled.
    fn settle(&mut self) {
        let room = self.room();
        let Leaf::Paragraph(paragraph) = &mut self.leaf else { return };
        if paragraph.text.len() <= room {
            return;
        }
        let inline = inline::read(&paragraph.text, self.look, self.base);
        let rows = wrapped(&inline.cells, room);
        // The last row is not full yet. A row ends where nothing goes on that began before.
        let whole = rows.iter().take(rows.len() - 1).rposition(|(range, next)| {
            let last = range.end.max(*next) - 1;
            !inline.cells[last].inside && inline.cells[last].at <= inline.settled
        });
        // A text that does not settle is looked at again when it is longer by a part of it, so that all looks together are few.
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
        // Two backslashes are one that is shown.
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

    /// Closes what is open, and the containers from this one on.
    fn close(&mut self, matched: usize) {
        match std::mem::replace(&mut self.leaf, Leaf::Nothing) {
            Leaf::Paragraph(paragraph) => {
                let text = paragraph.text.trim_end_matches([' ', BREAK]);
                if !text.is_empty() {
                    let cells = inline::read(text, self.look, self.base).cells;
                    self.give(vec![cells]);
                }
            }
            table @ Leaf::Table(_) => {
                self.leaf = table;
                self.give_table();
                self.leaf = Leaf::Nothing;
            }
            _ => {}
        }
        // An item in which nothing stands is there all the same.
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

    /// A row of what is not wrapped: the terminal does that, so that it can be copied.
    fn as_it_is(&mut self, text: &str, ink: Ink) {
        let mut cells = Vec::new();
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

    /// Gives these lines, each in rows. Lines of code are whole.
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

    /// What stands before a row, with the blank row that was written.
    fn begin_row(&mut self) {
        let quotes = self.containers.iter().filter(|container| **container == Container::Quote).count();
        if std::mem::take(&mut self.gap) && self.begun {
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
                item.shown = true;
            }
        }
        (self.begun, self.quotes) = (true, quotes);
    }

    /// What stands before the next row.
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

    /// Columns that a text has.
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

/// A fence stays, so that code can be told from text without colours, and copied with what it is.
fn fence_cells(fence: char, length: usize, info: &str) -> Vec<Cell> {
    let mut cells = Vec::new();
    push(&mut cells, &format!("{}{info}", fence.to_string().repeat(length)), Ink::DIM);
    cells
}

/// The end of a text, so many bytes at most, from the beginning of a word.
fn end_of(text: &str, most: usize) -> &str {
    let mut at = text.len().saturating_sub(most);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let end = &text[at..];
    if at == 0 { end } else { end.split_once([' ', BREAK]).map_or(end, |(_, words)| words) }
}

/// Blanks at the beginning.
fn blanks(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// A line with its tabs as blanks.
fn expanded(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            // Beyond the beginning it does not matter how wide one is.
            '\t' => out.push_str(&"    "[out.len() % 4..]),
            c => out.push(c),
        }
    }
    out
}

/// What stands behind the mark of a quote.
fn quoted(line: &str) -> Option<&str> {
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
    let closed = title.trim_end_matches('#');
    Some((level, if closed.is_empty() || closed.ends_with(' ') { closed.trim_end() } else { title }))
}

fn fence(text: &str) -> Option<(char, usize, &str)> {
    let fence = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == fence).count();
    let info = text[length..].trim();
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
    inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
        && !inner.contains("://")
        && !inner.split('>').next().is_some_and(|inner| inner.contains('@'))
}

#[cfg(test)]
mod tests;
