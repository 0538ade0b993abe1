//! Parses emphasis, code, links and other inline markup of a paragraph with pulldown-cmark.

use super::rows::{BREAK, Cell, Ink, Look, push};
use crate::theme::Tint;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Precedes a text so that it cannot begin a block. pulldown-cmark parses inline markup after a word and a blank as at
/// the beginning of a line.
const BEFORE: &str = "a ";

#[cfg(test)]
thread_local! {
    /// Number of bytes that were parsed on this thread.
    pub(super) static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The styled text of a paragraph.
pub(super) struct Inline {
    pub(super) cells: Vec<Cell>,
    /// The byte offset up to which further text cannot change the result.
    pub(super) settled: usize,
}

/// Parses the text of a paragraph, whose line ends were replaced by blanks or [`BREAK`].
pub(super) fn read(text: &str, look: Look, base: Ink) -> Inline {
    #[cfg(test)]
    READ.with(|read| read.set(read.get() + text.len()));
    let source = format!("{BEFORE}{text}");
    let mut reader = InlineReader { look, inks: vec![base], cells: Vec::new(), links: Vec::new(), depth: 0 };
    // All brackets are matched in one pass: a search for each of them would take quadratic time.
    let closed = closed_brackets(&source);
    let mut settled = text.len();
    for (event, range) in Parser::new_ext(&source, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        if let Event::Text(_) = &event
            && let Some(open) = first_open(&source, range.clone(), &closed)
        {
            // Later text could make this mark the beginning of a construct.
            settled = settled.min(open.saturating_sub(BEFORE.len()));
        }
        let skipped = BEFORE.len().saturating_sub(range.start);
        reader.event(event, range.end.saturating_sub(BEFORE.len()), skipped);
    }
    Inline { cells: reader.cells, settled }
}

/// Returns the offset of each opening bracket, and whether its closing bracket has arrived without a link target after
/// it.
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
                    // A nested bracket stays open as long as the outer one may be a link.
                    found[index].1 = is_closed;
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the offset of the first mark in a plain text whose meaning may depend on later text.
fn first_open(source: &str, range: Range<usize>, closed: &[(usize, bool)]) -> Option<usize> {
    let mut at = range.start;
    // A run of marks may extend beyond this range.
    while let Some(found) = source.get(at..range.end).and_then(|rest| rest.find(['*', '~', '_', '`', '<', '['])) {
        at += found;
        let rest = &source[at..];
        let c = rest.as_bytes()[0];
        // A run of equal marks is examined as a whole; brackets do not form runs.
        let length = if matches!(c, b'[' | b'<') { 1 } else { rest.bytes().take_while(|byte| *byte == c).count() };
        let next = rest[length..].chars().next();
        let before = source[..at].chars().next_back();
        let opens = next.is_none_or(|next| !next.is_whitespace());
        let is_open = match c {
            // An underscore within a word opens nothing (CommonMark, 6.2).
            b'_' => opens && !before.is_some_and(char::is_alphanumeric),
            b'`' => true,
            b'<' => next.is_none_or(|next| next.is_alphabetic() || matches!(next, '/' | '!' | '?')),
            b'[' => !closed.binary_search_by_key(&at, |(at, _)| *at).is_ok_and(|index| closed[index].1),
            _ => opens,
        };
        // A mark after a backslash is plain text.
        if is_open && before != Some('\\') {
            return Some(at);
        }
        at += length;
    }
    None
}

struct InlineReader {
    look: Look,
    /// The active styles; the last one applies.
    inks: Vec<Ink>,
    cells: Vec<Cell>,
    /// The open links and images: the target, and the index of the first cell.
    links: Vec<(String, usize)>,
    depth: usize,
}

impl InlineReader {
    /// Handles an event. `end` is the byte offset after it. The first `skipped` bytes of a text belong to [`BEFORE`].
    fn event(&mut self, event: Event<'_>, end: usize, skipped: usize) {
        match event {
            Event::Text(text) => self.text(text.get(skipped..).unwrap_or_default(), end),
            Event::Code(code) => {
                self.mark("`", end);
                let ink = Ink { colour: Some(Tint::Cyan), ..self.ink() };
                let begin = self.cells.len();
                push(&mut self.cells, &code, ink);
                self.mark_cells(begin, end);
                self.mark("`", end);
                self.closes(end);
            }
            Event::InlineHtml(text) | Event::Html(text) => {
                let ink = Ink { dim: true, ..self.ink() };
                let begin = self.cells.len();
                push(&mut self.cells, &text, ink);
                self.mark_cells(begin, end);
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
            // The paragraph itself, and events of extensions that are not enabled.
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
        // A row may end after each character only if the cells correspond to the characters of the source.
        let mut at = end.saturating_sub(text.len());
        let exact = self.cells.len() - begin == text.chars().count();
        for cell in &mut self.cells[begin..] {
            at += cell.c.len_utf8();
            cell.at = if exact { at.min(end) } else { end };
            cell.inside = self.depth > 0 || !exact;
        }
        // After the last character, the end is exact even if the source has escapes or entities.
        if let Some(last) = self.cells[begin..].last_mut() {
            (last.at, last.inside) = (end, self.depth > 0);
        }
    }

    /// Marks the cells from index `begin` as one piece of the source that ends at byte `end`.
    fn mark_cells(&mut self, begin: usize, end: usize) {
        self.cells[begin..].iter_mut().for_each(|cell| (cell.at, cell.inside) = (end, true));
    }

    /// Writes a Markdown mark if there are no colours or styles to display its meaning.
    fn mark(&mut self, mark: &str, end: usize) {
        if !self.look.colour {
            let begin = self.cells.len();
            let ink = self.ink();
            push(&mut self.cells, mark, ink);
            self.mark_cells(begin, end);
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

    /// Ends a construct after the last cell.
    fn closes(&mut self, end: usize) {
        if let Some(last) = self.cells.last_mut() {
            (last.at, last.inside) = (end, self.depth > 0);
        }
    }

    /// Writes the target after the text of a link, unless both are equal.
    fn end_link(&mut self, end: usize) {
        let (target, begin) = self.links.pop().unwrap_or_default();
        let text: String = self.cells[begin.min(self.cells.len())..].iter().map(|cell| cell.c).collect();
        self.ends("", end);
        // The target of an autolinked mail address has a scheme that the text lacks (CommonMark, 6.5).
        let is_text = text == target || target.strip_prefix("mailto:") == Some(&text);
        if !is_text && !target.is_empty() {
            let begin = self.cells.len();
            let suffix = if text.is_empty() { target } else { format!(" ({target})") };
            let ink = Ink { dim: true, ..self.ink() };
            push(&mut self.cells, &suffix.replace(BREAK, " "), ink);
            self.mark_cells(begin, end);
            self.closes(end);
        }
    }
}
