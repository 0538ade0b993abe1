//! Readable calls that do not count where they stand: quoted, fenced in, commented out, indented, under another info
//! word.
//!
//! What is found here is never a call. It is reported so that the session can remind the model of the right form.

use super::call;
use super::event::{Event, Ignored, Span};
use crate::fence::{self, Opening};
use crate::json::{self, Unique};
use serde_json::{Deserializer, Value};

/// A block that may hold a call.
#[derive(Debug)]
struct Suspect {
    why: Ignored,
    mark: u8,
    length: usize,
    /// Empty while there were only blank lines.
    body: String,
    span: Span,
    /// It did not begin with a bracket, or is too long: it is no call, and nothing of it is kept.
    hopeless: bool,
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
        Suspect { why, mark: opening.mark, length: opening.length, body: String::new(), span, hopeless: false }
    }

    fn push(&mut self, line: &str, span: Span, limit: usize) {
        self.span.end = span.end;
        if self.hopeless {
            return; // nearly every line
        }
        if self.body.is_empty() {
            let content = line.trim_start();
            if content.is_empty() {
                return;
            }
            self.hopeless = !content.starts_with(['{', '[']);
        } else if self.body.len() + line.len() >= limit {
            self.hopeless = true;
            self.body = String::new();
        }
        if !self.hopeless {
            self.body.push_str(line);
            self.body.push('\n');
        }
    }

    fn judge(self) -> Option<Event<'static>> {
        if self.body.is_empty() {
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
    let mut values = Deserializer::from_str(body).into_iter::<Unique>();
    let Unique(value) = values.next()?.ok()?;
    let behind = body[values.byte_offset()..].lines().next().unwrap_or_default();
    fence::is_blank(behind).then_some(value)
}
