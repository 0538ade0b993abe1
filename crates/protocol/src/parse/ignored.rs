//! Readable calls that do not count where they stand: quoted, fenced in, commented out, indented, under another info
//! word.
//!
//! What is found here is never a call. It is reported so that the session can remind the model of the right form.

use super::call;
use super::event::{Event, Ignored, Span};
use crate::fence::{self, Opening};
use crate::json::{self, Lexer, MOST_NESTING, Status};
use serde_json::Value;

/// A block that may hold a call.
#[derive(Debug)]
struct Suspect {
    why: Ignored,
    mark: u8,
    length: usize,
    body: String,
    span: Span,
    hope: Hope,
}

/// Whether the body can still be a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hope {
    /// There were only blank lines so far.
    Open,
    /// It began with a bracket.
    Object,
    /// It began otherwise, or is too long: nothing of it is kept.
    None,
}

/// Watches what is no tool block.
#[derive(Debug)]
pub(super) struct IgnoredCalls {
    /// The open fenced code block, when it is no tool block.
    fence: Option<Suspect>,
    /// A tool block drawn inside of something else.
    drawn: Option<Suspect>,
    /// Bytes of a body that are kept; a longer one is not looked at.
    limit: usize,
}

impl IgnoredCalls {
    pub(super) fn new(limit: usize) -> IgnoredCalls {
        IgnoredCalls { fence: None, drawn: None, limit }
    }

    /// Whether nothing is being watched.
    pub(super) fn is_idle(&self) -> bool {
        self.fence.is_none() && self.drawn.is_none()
    }

    /// A fenced code block opens that is no tool block.
    pub(super) fn fence(&mut self, why: Ignored, opening: Opening<'_>, span: Span) {
        self.fence = Some(Suspect::new(why, opening, span));
    }

    /// A line of the open fenced code block; `span` is the line's without its ending.
    pub(super) fn inside(&mut self, line: &str, span: Span) -> Option<Event<'static>> {
        if let Some(suspect) = &mut self.fence {
            suspect.push(line, span, self.limit);
        }
        self.drawn(Ignored::OuterFence, line, span)
    }

    /// The open fenced code block ends with the line of this span.
    pub(super) fn fence_ends(&mut self, span: Option<Span>) -> Option<Event<'static>> {
        let mut suspect = self.fence.take()?;
        let drawn = self.drawn.take().and_then(Suspect::judge);
        suspect.span.end = span.map_or(suspect.span.end, |span| span.end);
        suspect.judge().or(drawn)
    }

    /// A line in a place where no fence counts.
    pub(super) fn drawn(&mut self, why: Ignored, line: &str, span: Span) -> Option<Event<'static>> {
        let first = line.bytes().find(|byte| !matches!(byte, b' ' | b'\t'));
        if self.drawn.is_none() && !matches!(first, Some(b'`' | b'~')) {
            return None; // nearly every line
        }
        let line = line.trim_start_matches([' ', '\t']);
        let Some(suspect) = &mut self.drawn else {
            let opening = fence::opening(line).filter(|opening| opening.word() == "tool")?;
            let start = span.end - line.len();
            self.drawn = Some(Suspect::new(why, opening, Span { start, end: span.end }));
            return None;
        };
        if fence::closes(line, suspect.mark, suspect.length) {
            let mut suspect = self.drawn.take()?;
            suspect.span.end = span.end;
            return suspect.judge();
        }
        suspect.push(line, span, self.limit);
        None
    }

    /// What was watched is over, wherever it stood.
    pub(super) fn end_all(&mut self) -> Option<Event<'static>> {
        self.fence_ends(None).or_else(|| self.prose())
    }

    /// A line of prose: what was drawn ends.
    pub(super) fn prose(&mut self) -> Option<Event<'static>> {
        self.drawn.take().and_then(Suspect::judge)
    }
}

impl Suspect {
    fn new(why: Ignored, opening: Opening<'_>, span: Span) -> Suspect {
        Suspect { why, mark: opening.mark, length: opening.length, body: String::new(), span, hope: Hope::Open }
    }

    fn push(&mut self, line: &str, span: Span, limit: usize) {
        self.span.end = span.end;
        if self.hope == Hope::None {
            return; // nearly every line
        }
        let begins = line.trim_start().chars().next();
        match self.hope {
            Hope::Open if begins.is_none() => return,
            Hope::Open if matches!(begins, Some('{' | '[')) => self.hope = Hope::Object,
            Hope::Object if self.body.len() + line.len() < limit => {}
            Hope::Open | Hope::Object | Hope::None => {
                self.hope = Hope::None;
                self.body = String::new();
                return;
            }
        }
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn judge(self) -> Option<Event<'static>> {
        if self.hope != Hope::Object {
            return None;
        }
        let call = match json::read(&self.body, true) {
            Ok(reading) => call::is_call(&reading.values),
            Err(_) => before_bodies(&self.body).is_some_and(|value| call::is_call(&[value])),
        };
        call.then_some(Event::Ignored { why: self.why, body: self.body.into(), span: self.span })
    }
}

/// The object that stands before other lines: they may be its verbatim bodies.
fn before_bodies(body: &str) -> Option<Value> {
    let mut lexer = Lexer::new(MOST_NESTING);
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        lexer.feed(line, &mut ());
        end += line.len();
        match lexer.status() {
            Status::Between { values: 1.. } => return json::strict(&body[..end]).ok(),
            Status::Broken { .. } => return None,
            _ => {}
        }
    }
    None
}
