//! What a model thinks aloud, between tags: never a call.

use super::containers::{Containers, Place};
use super::event::Span;
use super::ignored::IgnoredCalls;
use super::line_gate::LineGate;
use super::queue::Item;
use super::{Parser, State};

/// A pair of tags.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) open: &'static str,
    close: &'static str,
}

/// The tags that are known, in the case they are written in.
pub(super) static TAGS: [Tag; 3] = [
    Tag { open: "<think>", close: "</think>" },
    Tag { open: "<thinking>", close: "</thinking>" },
    Tag { open: "<reasoning>", close: "</reasoning>" },
];

/// An open section.
#[derive(Debug)]
pub(super) struct Reasoning {
    /// The opening tag; none when the backend's template has opened the section: then any closing tag ends it.
    tag: Option<&'static Tag>,
    /// Where the next piece of its span begins, in the reply.
    start: usize,
}

impl Reasoning {
    pub(super) fn opened_before() -> Reasoning {
        Reasoning { tag: None, start: 0 }
    }

    /// The first closing tag in `text`, and its end.
    fn closing(&self, text: &str) -> Option<(usize, usize)> {
        let closes = |tag: &&Tag| self.tag.is_none_or(|own| own == *tag);
        memchr::memmem::find_iter(text.as_bytes(), "</").find_map(|at| {
            let tag = TAGS.iter().filter(closes).find(|tag| text[at..].starts_with(tag.close))?;
            Some((at, at + tag.close.len()))
        })
    }

    /// Where the end of `text` could be the beginning of a closing tag, or of a line ending.
    fn undecided(text: &str) -> usize {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let from = text.len().saturating_sub("</reasoning".len());
        let tail = &text.as_bytes()[from..];
        let starts = memchr::memchr_iter(b'<', tail)
            .find(|at| TAGS.iter().any(|tag| tag.close.as_bytes().starts_with(&tail[*at..])));
        starts.map_or(text.len(), |at| from + at)
    }
}

/// The tag a line begins with, behind at most three spaces: its bytes of indentation and which it is.
pub(super) fn opening(line: &str) -> Option<(usize, &'static Tag)> {
    let indent = line.bytes().take(4).take_while(|byte| *byte == b' ').count();
    if line.as_bytes().get(indent) != Some(&b'<') {
        return None; // nearly every line
    }
    let tag = TAGS.iter().find(|tag| line[indent..].starts_with(tag.open))?;
    (indent < 4).then_some((indent, tag))
}

/// Whether a section opens here. `whole` says that the line is known to its end.
pub(super) fn opens(blocks: &Containers, line: &str, indent: usize, tag: &Tag, whole: bool) -> bool {
    match blocks.place(line) {
        Place::Start => true,
        Place::Continuation => whole && line[indent + tag.open.len()..].trim_matches([' ', '\t']).is_empty(),
        Place::Elsewhere => false,
    }
}

impl Parser {
    /// A section opens at the beginning of the current line, behind `indent` spaces.
    pub(super) fn open_reasoning(&mut self, indent: usize, tag: &'static Tag) {
        let at = self.input.at + indent;
        let ignored = self.decoys.over();
        self.show(at);
        self.found.extend(ignored);
        let start = self.input.offset(at);
        self.input.pass_within(at + tag.open.len(), indent + tag.open.len());
        self.state = State::Reasoning(Reasoning { tag: Some(tag), start });
    }

    /// Emits what there is of the section, and goes on behind it when it ends.
    pub(super) fn advance_reasoning(&mut self) -> bool {
        let State::Reasoning(section) = &self.state else { return false };
        let text = self.input.slice(self.input.at, self.input.len());
        let finished = self.input.finished.is_some();
        let closing = section.closing(text);
        let (length, next, closed) = match closing {
            Some((length, next)) => (length, next, Some(true)),
            None if finished => (text.len(), text.len(), Some(false)),
            None => (Reasoning::undecided(text), Reasoning::undecided(text), None),
        };
        if next == 0 && closed.is_none() {
            return false;
        }
        self.take_reasoning(length, next, closed);
        if closed == Some(false) {
            return self.end();
        }
        closed.is_some()
    }

    /// Emits `length` bytes from here and passes over `next` bytes.
    fn take_reasoning(&mut self, length: usize, next: usize, closed: Option<bool>) {
        let at = self.input.at;
        let passed = self.input.slice(at, at + next);
        let (lines, chars) = count_lines(passed);
        let text = self.input.span(at, at + length);
        let end = self.input.offset(at + next);
        if let State::Reasoning(section) = &mut self.state {
            let start = std::mem::replace(&mut section.start, end);
            self.found.push(Item::Reasoning { text, span: Span { start, end }, closed });
        }
        self.input.line += lines;
        if lines > 0 {
            self.input.column = 0;
        }
        self.input.pass_within(at + next, chars);
        self.input.use_up(end);
        if closed == Some(true) {
            self.begin_document();
        }
    }

    /// What follows is read as the start of a new document.
    fn begin_document(&mut self) {
        self.state = State::Prose;
        self.blocks = Containers::new();
        self.decoys = IgnoredCalls::new(self.options.limits.block);
        self.hold = LineGate::default();
        self.hold_seen = 0;
    }
}

/// Line endings in `text`, and characters behind the last one.
fn count_lines(text: &str) -> (usize, usize) {
    let bytes = text.as_bytes();
    let ends = |at: &usize| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n');
    let lines = memchr::memchr2_iter(b'\n', b'\r', bytes).filter(ends).count();
    let last = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    (lines, text[last..].chars().count())
}
