//! Emphasis, code, links and the like within one paragraph, by pulldown-cmark.

use super::rows::{BREAK, Cell, Ink, Look, push};
use crate::theme::Tint;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Stands before a text so that nothing in it begins a block. A word and a blank: what stands behind them is read as it is at the
/// beginning of a line.
const BEFORE: &str = "a ";

#[cfg(test)]
thread_local! {
    /// Bytes that were read on this thread.
    pub(super) static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A text as it looks.
pub(super) struct Inline {
    pub(super) cells: Vec<Cell>,
    /// The byte of the text up to which nothing that may follow can change how it looks.
    pub(super) settled: usize,
}

/// Reads the text of a paragraph, with its line ends replaced by blanks or [`BREAK`].
pub(super) fn read(text: &str, look: Look, base: Ink) -> Inline {
    #[cfg(test)]
    READ.with(|read| read.set(read.get() + text.len()));
    let source = format!("{BEFORE}{text}");
    let mut reader = InlineReader { look, inks: vec![base], cells: Vec::new(), links: Vec::new(), depth: 0 };
    let closed = closed_brackets(&source);
    let mut settled = text.len();
    for (event, range) in Parser::new_ext(&source, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        if let Event::Text(_) = &event
            && let Some(open) = first_open(&source, range.clone(), &closed)
        {
            settled = settled.min(open.saturating_sub(BEFORE.len()));
        }
        let skipped = BEFORE.len().saturating_sub(range.start);
        reader.event(event, range.end.saturating_sub(BEFORE.len()), skipped);
    }
    Inline { cells: reader.cells, settled }
}

/// For each bracket that opens, whether it is closed and no target of a link can follow. Ordered by their places.
fn closed_brackets(source: &str) -> Vec<(usize, bool)> {
    let bytes = source.as_bytes();
    let (mut found, mut open): (Vec<(usize, bool)>, Vec<usize>) = Default::default();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'[' => {
                open.push(found.len());
                found.push((at, false));
            }
            b']' => {
                let is_closed = bytes.get(at + 1).is_some_and(|next| *next != b'(');
                if let Some(index) = open.pop() {
                    // One that stands in another is a text as long as the other may be a link.
                    found[index].1 = is_closed;
                }
            }
            _ => {}
        }
    }
    found
}

/// The first character of a piece of plain text that something behind it could still give a meaning.
fn first_open(source: &str, range: Range<usize>, closed: &[(usize, bool)]) -> Option<usize> {
    let mut at = range.start;
    // A run may go beyond the piece.
    while let Some(found) = source.get(at..range.end).and_then(|rest| rest.find(['*', '~', '_', '`', '<', '['])) {
        at += found;
        let rest = &source[at..];
        let c = rest.as_bytes()[0];
        // All marks of a run have one meaning; brackets have no runs, so that each is looked at once.
        let length = if matches!(c, b'[' | b'<') { 1 } else { rest.bytes().take_while(|byte| *byte == c).count() };
        let next = rest[length..].chars().next();
        let before = source[..at].chars().next_back();
        let opens = next.is_none_or(|next| !next.is_whitespace());
        let is_open = match c {
            b'_' => opens && !before.is_some_and(char::is_alphanumeric),
            b'`' => true,
            b'<' => next.is_none_or(|next| next.is_alphabetic() || matches!(next, '/' | '!' | '?')),
            b'[' => !closed.binary_search_by_key(&at, |(at, _)| *at).is_ok_and(|index| closed[index].1),
            _ => opens,
        };
        // A backslash before it says that it is a text.
        if is_open && before != Some('\\') {
            return Some(at);
        }
        at += length;
    }
    None
}

struct InlineReader {
    look: Look,
    /// The looks under way; the last one counts.
    inks: Vec<Ink>,
    cells: Vec<Cell>,
    /// The links and images under way: the target, and where the text began.
    links: Vec<(String, usize)>,
    depth: usize,
}

impl InlineReader {
    /// `end` is the byte behind the event, and the first bytes of a text are skipped.
    fn event(&mut self, event: Event<'_>, end: usize, skipped: usize) {
        match event {
            Event::Text(text) => self.text(text.get(skipped..).unwrap_or_default(), end),
            Event::Code(code) => {
                self.mark("`", end);
                let ink = Ink { colour: Some(Tint::Cyan), ..self.ink() };
                let begin = self.cells.len();
                push(&mut self.cells, &code, ink);
                self.placed(begin, end);
                self.mark("`", end);
                self.closes(end);
            }
            Event::InlineHtml(text) | Event::Html(text) => {
                let ink = Ink { dim: true, ..self.ink() };
                let begin = self.cells.len();
                push(&mut self.cells, &text, ink);
                self.placed(begin, end);
                self.closes(end);
            }
            Event::Start(Tag::Emphasis) => self.opens("*", Ink { italic: true, ..self.ink() }, end),
            Event::Start(Tag::Strong) => self.opens("**", Ink { bold: true, ..self.ink() }, end),
            Event::Start(Tag::Strikethrough) => self.opens("~~", Ink { struck: true, ..self.ink() }, end),
            Event::End(TagEnd::Emphasis) => self.ends("*", end),
            Event::End(TagEnd::Strong) => self.ends("**", end),
            Event::End(TagEnd::Strikethrough) => self.ends("~~", end),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.links.push((dest_url.into_string(), self.cells.len()));
                self.opens("", Ink { underline: true, ..self.ink() }, end);
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.end_link(end),
            Event::SoftBreak | Event::HardBreak => self.text(" ", end),
            // The paragraph itself, and what only extensions have that are off.
            _ => {}
        }
    }

    fn ink(&self) -> Ink {
        self.inks.last().copied().unwrap_or_default()
    }

    fn text(&mut self, text: &str, end: usize) {
        let begin = self.cells.len();
        let ink = self.ink();
        push(&mut self.cells, text, ink);
        // Where each character is one of the source, a row may end behind any of them.
        let mut at = end.saturating_sub(text.len());
        let exact = self.cells.len() - begin == text.chars().count();
        for cell in &mut self.cells[begin..] {
            at += cell.c.len_utf8();
            cell.at = if exact { at.min(end) } else { end };
            cell.inside = self.depth > 0 || !exact;
        }
        if let Some(last) = self.cells[begin..].last_mut() {
            (last.at, last.inside) = (end, self.depth > 0);
        }
    }

    /// What was written from a cell on is one piece that ends here.
    fn placed(&mut self, begin: usize, end: usize) {
        self.cells[begin..].iter_mut().for_each(|cell| (cell.at, cell.inside) = (end, true));
    }

    /// A mark of Markdown, where nothing else shows what it means.
    fn mark(&mut self, mark: &str, end: usize) {
        if !self.look.colour {
            let begin = self.cells.len();
            let ink = self.ink();
            push(&mut self.cells, mark, ink);
            self.placed(begin, end);
        }
    }

    fn opens(&mut self, mark: &str, ink: Ink, end: usize) {
        self.mark(mark, end);
        self.inks.push(ink);
        self.depth += 1;
    }

    fn ends(&mut self, mark: &str, end: usize) {
        self.inks.pop();
        self.depth = self.depth.saturating_sub(1);
        self.mark(mark, end);
        self.closes(end);
    }

    /// Something is over: the last cell is its last one.
    fn closes(&mut self, end: usize) {
        if let Some(last) = self.cells.last_mut() {
            (last.at, last.inside) = (end, self.depth > 0);
        }
    }

    /// The target stands behind the text of a link, but for one whose text it is.
    fn end_link(&mut self, end: usize) {
        let (target, begin) = self.links.pop().unwrap_or_default();
        let text: String = self.cells[begin.min(self.cells.len())..].iter().map(|cell| cell.c).collect();
        self.ends("", end);
        let is_text = text == target || target.strip_prefix("mailto:") == Some(&text);
        if !is_text && !target.is_empty() {
            let begin = self.cells.len();
            let told = if text.is_empty() { target } else { format!(" ({target})") };
            let ink = Ink { dim: true, ..self.ink() };
            push(&mut self.cells, &told.replace(BREAK, " "), ink);
            self.placed(begin, end);
            self.closes(end);
        }
    }
}
