//! The block structure of CommonMark 0.31.2, line by line: which containers a line continues, and what it opens.
//!
//! It covers only what decides whether a line opens, continues or closes a fenced code block. This module knows no
//! calls and keeps no text, except for a paragraph that may consist of link reference definitions. The time for a line
//! is linear in its bytes, however many containers are open.

use super::cursor::{Content, Cursor};
use super::{dialect, html, link_definition};
use crate::fence::{self, Opening};

/// The maximum number of bytes of a paragraph that are kept to see whether it consists of link reference definitions; a
/// longer one counts as having text.
const MOST_DEFINITIONS: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Quote,
    /// A list item: the indentation of its content in columns, and whether it is still empty.
    Item {
        indent: usize,
        empty: bool,
    },
}

#[derive(Debug)]
enum Leaf {
    None,
    /// The text so far, if it begins with `[`.
    Paragraph(Option<String>),
    Fence {
        mark: u8,
        length: usize,
        indent: usize,
    },
    Html(html::BlockEnd),
    Indented,
    /// The parser ended a fenced code block early, which for CommonMark is still open. The first line that is not blank
    /// may be its closing fence.
    LateFence {
        mark: u8,
        length: usize,
    },
}

/// The kind of a line.
#[derive(Debug, Clone, Copy)]
pub(super) enum LineKind<'a> {
    /// A paragraph, a heading, a thematic break, a blank line.
    Prose,
    /// Opens a fenced code block; the fence run begins at this byte of the line.
    Opens(Opening<'a>, usize),
    /// Content of a fenced code block.
    Inside(Content<'a>),
    /// The closing fence, with the content that it would be otherwise.
    Closes(Content<'a>),
    /// Part of an HTML block. `raw`: the block has an end of its own, such as a comment or `<pre>`.
    Html { text: &'a str, raw: bool },
    /// Indented by four columns or more: code, or the continuation of a paragraph.
    Indented(&'a str),
}

/// The blocks that are open between two lines.
#[derive(Debug)]
pub(super) struct Containers {
    containers: Vec<Container>,
    /// Indices of the quotes among the containers, up to which a blank line continues them.
    quotes: Vec<usize>,
    leaf: Leaf,
}

impl Containers {
    pub(super) fn new() -> Containers {
        Containers { containers: Vec::new(), quotes: Vec::new(), leaf: Leaf::None }
    }

    /// Returns `true` if the open leaf is in a block quote.
    pub(super) fn in_quote(&self) -> bool {
        !self.quotes.is_empty()
    }

    fn in_empty_item(&self) -> bool {
        matches!(self.containers.last(), Some(Container::Item { empty: true, .. }))
    }

    /// Returns the text after a run of fence characters that is long enough to close the open fenced code block.
    /// CommonMark sees a closing fence only if that text is blank.
    pub(super) fn after_closing_run<'a>(&self, rest: &'a str) -> Option<&'a str> {
        let Leaf::Fence { mark, length, .. } = self.leaf else { return None };
        let after = rest.trim_start_matches(mark as char);
        (rest.len() - after.len() >= length).then_some(after)
    }

    /// Returns a line of the open fenced code block from its first visible character on, if its indentation allows a
    /// fence.
    pub(super) fn at_fence<'a>(&self, line: &'a str) -> Option<&'a str> {
        let mut cursor = Cursor::new(line);
        let matched = self.match_containers(&mut cursor);
        (matched == self.containers.len() && cursor.indent() < 4).then(|| cursor.rest())
    }

    /// Ends the open leaf, at a closing fence that the caller accepted or at a call in the place of a paragraph.
    pub(super) fn close_leaf(&mut self) {
        self.leaf = Leaf::None;
    }

    /// Begins a new document. The closing fence of a block that was ended early may still follow.
    pub(super) fn begin_document(&mut self) {
        let leaf = std::mem::replace(&mut self.leaf, Leaf::None);
        self.truncate(0);
        if let Leaf::LateFence { .. } = leaf {
            self.leaf = leaf;
        }
    }

    /// Ends the open fenced code block where CommonMark sees no end. The closing fence may still follow.
    pub(super) fn end_fence_early(&mut self) {
        if let Leaf::Fence { mark, length, .. } = self.leaf {
            self.leaf = Leaf::LateFence { mark, length };
        }
    }

    /// Reads a line while a fenced code block is open; `None` if the line does not continue the containers. It changes
    /// nothing, because the caller decides about closing.
    pub(super) fn in_fence<'a>(&self, line: &'a str) -> Option<LineKind<'a>> {
        let mut cursor = Cursor::new(line);
        let matched = self.match_containers(&mut cursor);
        if matched < self.containers.len() {
            return None;
        }
        self.fence_line(&mut cursor)
    }

    /// Reads a line that continues the containers of the open fenced code block.
    fn fence_line<'a>(&self, cursor: &mut Cursor<'a>) -> Option<LineKind<'a>> {
        let Leaf::Fence { mark, length, indent } = self.leaf else { return None };
        let closes = cursor.indent() < 4 && fence::closes(cursor.rest(), mark, length);
        cursor.skip(indent);
        let content = cursor.content();
        Some(if closes { LineKind::Closes(content) } else { LineKind::Inside(content) })
    }

    /// Returns how many columns of the open fence's indentation a line has, and how many columns the fence is indented.
    /// `None` if the fence is not indented or the line is blank.
    pub(super) fn fence_indent(&self, line: &str) -> Option<(usize, usize)> {
        let Leaf::Fence { indent: indent @ 1.., .. } = self.leaf else { return None };
        let mut cursor = Cursor::new(line);
        self.match_containers(&mut cursor);
        (!cursor.is_blank()).then(|| (cursor.indent().min(indent), indent))
    }

    /// Returns the content of an incomplete line, once the line is certainly content of the open fenced code block and
    /// ends neither the block nor its container.
    pub(super) fn certain_content<'a>(&self, beginning: &'a str) -> Option<Content<'a>> {
        let Leaf::Fence { mark, length, indent } = self.leaf else { return None };
        let mut cursor = Cursor::new(beginning);
        let matched = self.match_containers(&mut cursor);
        let decided = !cursor.is_blank() && matched == self.containers.len();
        if !decided || (cursor.indent() < 4 && fence::may_close(cursor.rest(), mark, length)) {
            return None;
        }
        cursor.skip(indent);
        Some(cursor.content())
    }

    /// Returns `true` if a tag at the beginning of this line, after at most three spaces, would begin a paragraph of
    /// the document, or continue one if it is `alone` on its line. `lazily` also allows a paragraph in a container that
    /// the line itself does not continue.
    pub(super) fn takes_tag(&self, line: &str, alone: bool, lazily: bool) -> bool {
        if self.match_containers(&mut Cursor::new(line)) > 0 {
            return false;
        }
        match (&self.leaf, self.containers.is_empty()) {
            (Leaf::Paragraph(_), at_top) => alone && (at_top || lazily),
            (Leaf::Fence { .. } | Leaf::Html(_), true) => false,
            _ => true,
        }
    }

    /// Returns the position on this line at which a token of a dialect may begin it: at document level or in a list
    /// item, after at most three columns of whitespace. The second value is whether that is in a list item.
    pub(super) fn token_place(&self, line: &str) -> Option<(usize, bool)> {
        let mut cursor = Cursor::new(line);
        let matched = self.match_containers(&mut cursor);
        let open_leaf = matches!(self.leaf, Leaf::Fence { .. } | Leaf::Html(_));
        if open_leaf && matched == self.containers.len() {
            return None;
        }
        // A lazy continuation belongs to the open paragraph, even if that is in a quote or a list item.
        let lazy = matched < self.containers.len() && self.in_paragraph();
        let (held, ..) = self.quotes.split_at(self.quotes.partition_point(|quote| lazy || *quote < matched));
        if !held.is_empty() {
            return None;
        }
        let mut in_item = matched > 0 || lazy;
        let mut interrupts = self.in_paragraph();
        loop {
            if cursor.indent() > 3 {
                return None;
            }
            let marker = match cursor.peek() {
                None | Some(b'>') => return None,
                Some(byte) if dialect::may_begin(byte) => return Some((cursor.offset(), in_item)),
                Some(_) => list_marker(cursor.rest(), interrupts)?,
            };
            cursor.consume(marker);
            cursor.skip(1);
            in_item = true;
            // Only the first marker meets the paragraph that was open before the line.
            interrupts = false;
        }
    }

    /// Returns `true` if the line continues a paragraph in a block quote without the mark of any quote (CommonMark
    /// 0.31.2, section 5.1: laziness).
    pub(super) fn continues_lazily(&self, line: &str) -> bool {
        let Some(outermost) = self.quotes.first().filter(|_| self.in_paragraph()) else { return false };
        self.match_containers(&mut Cursor::new(line)) <= *outermost && continues_paragraph(line)
    }

    /// Returns `true` if a paragraph is open.
    pub(super) fn in_paragraph(&self) -> bool {
        matches!(self.leaf, Leaf::Paragraph(_))
    }

    /// Returns `true` if an HTML block is open.
    pub(super) fn in_html(&self) -> bool {
        matches!(self.leaf, Leaf::Html(_))
    }

    /// Reads a line and returns its kind.
    pub(super) fn line<'a>(&mut self, line: &'a str) -> LineKind<'a> {
        let mut cursor = Cursor::new(line);
        let matched = self.match_containers(&mut cursor);
        if matched == self.containers.len()
            && let Some(kind) = self.continue_leaf(&mut cursor)
        {
            return kind;
        }
        Opener { blocks: self, cursor: &mut cursor, depth: matched, thematic_fails: None }.open()
    }

    /// Returns how many containers the line continues, and moves over their delimiters.
    fn match_containers(&self, cursor: &mut Cursor<'_>) -> usize {
        for (index, container) in self.containers.iter().enumerate() {
            match container {
                Container::Quote if cursor.indent() < 4 && cursor.peek() == Some(b'>') => consume_quote(cursor),
                Container::Quote => return index,
                // A list item can begin with at most one blank line (CommonMark 0.31.2, section 5.2).
                Container::Item { empty: true, .. } if cursor.is_blank() => return index,
                Container::Item { indent, .. } if cursor.indent() >= *indent => cursor.skip(*indent),
                Container::Item { .. } if cursor.is_blank() => return self.blank_reaches(index, cursor),
                Container::Item { .. } => return index,
            }
        }
        self.containers.len()
    }

    /// Returns how many containers a blank line continues that has reached the item `index`: all up to the next quote,
    /// except for an item that is still empty. It does not walk over them: a blank line may be one byte, whatever the
    /// number of containers, and each line must take time linear in its bytes.
    fn blank_reaches(&self, index: usize, cursor: &mut Cursor<'_>) -> usize {
        cursor.skip(usize::MAX / 2);
        let next_quote = self.quotes.partition_point(|quote| *quote < index);
        let reached = self.quotes.get(next_quote).copied().unwrap_or(self.containers.len());
        reached - usize::from(self.in_empty_item() && reached == self.containers.len())
    }

    /// Reads the line as a continuation of the open code or HTML block; `None` if it is not one.
    fn continue_leaf<'a>(&mut self, cursor: &mut Cursor<'a>) -> Option<LineKind<'a>> {
        match self.leaf {
            Leaf::Fence { .. } => {
                let kind = self.fence_line(cursor)?;
                if matches!(kind, LineKind::Closes(_)) {
                    self.leaf = Leaf::None;
                }
                Some(kind)
            }
            Leaf::Html(end) if end != html::BlockEnd::Blank || !cursor.is_blank() => {
                if end.is_in_line(cursor.rest()) {
                    self.leaf = Leaf::None;
                }
                Some(LineKind::Html { text: cursor.rest(), raw: end != html::BlockEnd::Blank })
            }
            Leaf::LateFence { .. } if cursor.is_blank() => Some(LineKind::Prose),
            Leaf::LateFence { mark, length } => {
                self.leaf = Leaf::None;
                let closes = cursor.indent() < 4 && fence::closes(cursor.rest(), mark, length);
                closes.then_some(LineKind::Prose)
            }
            Leaf::Indented if cursor.indent() > 3 && !cursor.is_blank() => Some(LineKind::Indented(cursor.rest())),
            _ => None,
        }
    }

    /// Closes the containers from `depth` on, with their contents.
    fn truncate(&mut self, depth: usize) {
        self.containers.truncate(depth);
        while self.quotes.last().is_some_and(|quote| *quote >= depth) {
            self.quotes.pop();
        }
        self.leaf = Leaf::None;
    }

    /// Opens a leaf in the deepest container.
    fn set_leaf(&mut self, leaf: Leaf) {
        if let Some(Container::Item { empty, .. }) = self.containers.last_mut() {
            *empty = false;
        }
        self.leaf = leaf;
    }

    fn push(&mut self, container: Container) {
        self.set_leaf(Leaf::None);
        if container == Container::Quote {
            self.quotes.push(self.containers.len());
        }
        self.containers.push(container);
    }

    /// Adds a line to the open paragraph.
    fn continue_paragraph(&mut self, text: &str) {
        if let Leaf::Paragraph(kept @ Some(_)) = &mut self.leaf {
            let lines = kept.get_or_insert_default();
            lines.push_str(text);
            lines.push('\n');
            if lines.len() > MOST_DEFINITIONS {
                *kept = None;
            }
        }
    }

    /// Returns `true` if the open paragraph has text in addition to definitions, which are removed.
    fn paragraph_has_text(&mut self) -> bool {
        let Leaf::Paragraph(Some(lines)) = &self.leaf else { return true };
        !link_definition::strip(lines).is_empty()
    }
}

/// Returns `true` if a line after a paragraph continues it, in any container. Returns `false` for a line with the mark
/// of a quote, which may continue a quote.
pub(super) fn continues_paragraph(line: &str) -> bool {
    let mut blocks = Containers { leaf: Leaf::Paragraph(None), ..Containers::new() };
    blocks.line(line);
    blocks.containers.is_empty() && blocks.in_paragraph()
}

/// Moves over `>` and the space that belongs to it.
fn consume_quote(cursor: &mut Cursor<'_>) {
    cursor.consume(1);
    cursor.skip(1);
}

/// Opens the blocks of one line, from the outside in.
struct Opener<'b, 'a> {
    blocks: &'b mut Containers,
    cursor: &'b mut Cursor<'a>,
    /// The number of containers that the line is in so far.
    depth: usize,
    /// No thematic break of this character can begin before this byte, as an earlier try on this line has shown.
    thematic_fails: Option<(u8, usize)>,
}

impl<'a> Opener<'_, 'a> {
    fn open(mut self) -> LineKind<'a> {
        let continued = self.depth == self.blocks.containers.len();
        let paragraph = matches!(self.blocks.leaf, Leaf::Paragraph(_));
        // Only the first block on a line can meet a paragraph that was open before it.
        let mut meets = paragraph && !self.cursor.is_blank();
        let first_depth = self.depth;
        while let Some(byte) = self.cursor.peek() {
            if self.cursor.indent() > 3 {
                // Indented code cannot interrupt a paragraph (CommonMark 0.31.2, section 4.4).
                if meets {
                    break;
                }
                self.open_leaf(Leaf::Indented);
                return LineKind::Indented(self.cursor.rest());
            }
            // Before the containers: `* * *` is a thematic break, not a list item (CommonMark 0.31.2, section 4.1).
            if let Some(kind) = self.leaf_block(byte, meets, meets && continued) {
                return kind;
            }
            if !self.open_container(byte, meets && continued) {
                break;
            }
            meets = false;
        }
        // Text continues the open paragraph, even lazily, unless the line opened a container (CommonMark 0.31.2,
        // section 5.1).
        let joins = paragraph && self.depth == first_depth;
        self.read_text(joins)
    }

    /// Opens a leaf block, if the line has one. `meets`: a paragraph is open before it; `interrupts`: the line is also
    /// in that paragraph.
    fn leaf_block(&mut self, byte: u8, meets: bool, interrupts: bool) -> Option<LineKind<'a>> {
        let rest = self.cursor.rest();
        match byte {
            b'#' if is_heading(rest) => self.open_leaf(Leaf::None),
            b'`' | b'~' => {
                let opening = fence::opening(rest)?;
                let indent = self.cursor.indent();
                self.open_leaf(Leaf::Fence { mark: opening.mark, length: opening.length, indent });
                return Some(LineKind::Opens(opening, self.cursor.offset()));
            }
            b'<' => {
                let end = html::start(rest, !meets)?;
                self.open_leaf(if end.is_in_line(rest) { Leaf::None } else { Leaf::Html(end) });
                return Some(LineKind::Html { text: rest, raw: end != html::BlockEnd::Blank });
            }
            // Before the thematic break: below a paragraph, `---` is an underline (CommonMark 0.31.2, section 4.1). A
            // paragraph of definitions has no text to underline.
            b'=' | b'-' if interrupts && is_underline(rest) && self.blocks.paragraph_has_text() => {
                self.open_leaf(Leaf::None);
            }
            b'*' | b'-' | b'_' if self.is_thematic_break(byte) => self.open_leaf(Leaf::None),
            _ => return None,
        }
        Some(LineKind::Prose)
    }

    /// Opens a block quote or a list item; returns `false` if the line has none.
    fn open_container(&mut self, byte: u8, interrupts: bool) -> bool {
        if byte == b'>' {
            consume_quote(self.cursor);
            self.nest(Container::Quote);
            return true;
        }
        let Some(width) = list_marker(self.cursor.rest(), interrupts) else { return false };
        let offset = self.cursor.indent();
        self.cursor.consume(width);
        let blanks = self.cursor.indent();
        // With five spaces or more, the item begins with indented code, and only one space belongs to the marker
        // (CommonMark 0.31.2, section 5.2).
        let padding = if self.cursor.is_blank() || blanks > 4 { 1 } else { blanks };
        self.cursor.skip(padding);
        self.nest(Container::Item { indent: offset + width + padding, empty: true });
        true
    }

    fn nest(&mut self, container: Container) {
        if self.depth < self.blocks.containers.len() {
            self.blocks.truncate(self.depth);
        }
        self.blocks.push(container);
        self.depth += 1;
    }

    /// Closes the containers that the line does not continue and opens a leaf.
    fn open_leaf(&mut self, leaf: Leaf) {
        self.blocks.truncate(self.depth);
        self.blocks.set_leaf(leaf);
    }

    /// Reads the rest of the line, which is text or blank. `joins`: it continues the open paragraph, lazily or not.
    fn read_text(mut self, joins: bool) -> LineKind<'a> {
        let rest = self.cursor.rest();
        if self.cursor.is_blank() {
            self.blocks.truncate(self.depth);
        } else if joins {
            self.blocks.continue_paragraph(rest);
        } else {
            self.open_leaf(Leaf::Paragraph(rest.starts_with('[').then(String::new)));
            self.blocks.continue_paragraph(rest);
        }
        if self.cursor.indent() > 3 && !rest.is_empty() { LineKind::Indented(rest) } else { LineKind::Prose }
    }

    fn is_thematic_break(&mut self, mark: u8) -> bool {
        let start = self.cursor.offset();
        if self.thematic_fails.is_some_and(|(failed, before)| failed == mark && start < before) {
            return false;
        }
        let bytes = self.cursor.rest().as_bytes();
        let other = bytes.iter().position(|byte| *byte != mark && *byte != b' ' && *byte != b'\t');
        self.thematic_fails = other.map(|at| (mark, start + at));
        other.is_none() && bytes.iter().filter(|byte| **byte == mark).take(3).count() == 3
    }
}

fn is_heading(rest: &str) -> bool {
    let marks = rest.bytes().take_while(|byte| *byte == b'#').count();
    marks <= 6 && matches!(rest.as_bytes().get(marks), None | Some(b' ' | b'\t'))
}

fn is_underline(rest: &str) -> bool {
    let mark = rest.as_bytes()[0];
    fence::is_blank(rest.trim_start_matches(mark as char))
}

/// Returns the width of a list marker. One that interrupts a paragraph must have content and, if it is a number, be
/// `1`.
fn list_marker(rest: &str, interrupts: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let width = match bytes[0] {
        b'*' | b'-' | b'+' => 1,
        b'0'..=b'9' => {
            // A marker has at most nine digits (CommonMark 0.31.2, section 5.2).
            let digits = bytes.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
            let one = bytes[..digits].iter().rev().skip(1).all(|byte| *byte == b'0') && bytes[digits - 1] == b'1';
            let closed = digits < 10 && matches!(bytes.get(digits), Some(b'.' | b')'));
            (closed && (one || !interrupts)).then_some(digits + 1)?
        }
        _ => return None,
    };
    let spaced = matches!(bytes.get(width), None | Some(b' ' | b'\t'));
    (spaced && !(interrupts && fence::is_blank(&rest[width..]))).then_some(width)
}
