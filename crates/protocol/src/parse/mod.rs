//! Finds the tool calls of a reply while it streams: chunks in, events out.
//!
//! The parser never fails: it reports every problem as an event. It does not run or judge calls, and it knows no tools
//! except those in the catalog of its options. It does no I/O: [`push`](Parser::push) appends text,
//! [`poll`](Parser::poll) does the work and returns events, and [`finish`](Parser::finish) sets how the reply ended.
//! Events borrow from the parser and copy nothing.
//!
//! ```
//! use toolfence_protocol::{FinishReason, parse::{Event, Options, Parser}};
//!
//! let mut parser = Parser::new(Options::default());
//! let (mut shown, mut calls) = (String::new(), Vec::new());
//! let mut take = |parser: &mut Parser| {
//!     while let Some(event) = parser.poll() {
//!         match event {
//!             Event::Text { text, .. } => shown.push_str(&text),
//!             Event::Call { call, .. } => calls.push(call.name),
//!             _ => {}
//!         }
//!     }
//! };
//! for chunk in ["I look.\n```to", "ol\n{\"name\": \"list_files\"}\n``", "`\n"] {
//!     parser.push(chunk);
//!     take(&mut parser);
//! }
//! parser.finish(FinishReason::Stop);
//! take(&mut parser);
//! assert_eq!((shown.as_str(), calls), ("I look.\n\n", vec!["list_files".to_owned()]));
//! ```
//!
//! A fenced code block whose info string begins with `tool` is a call wherever CommonMark 0.31.2 recognises a fenced
//! code block at document level or inside list items. Time is linear in the bytes of the reply. Memory is bounded by
//! the open block or the undecided line, by the input that was pushed and not yet polled, and by the calls held back
//! under [`Reasoning::Unknown`].

mod block;
mod call;
mod certain_text;
mod containers;
mod cursor;
mod dialect;
mod event;
mod html;
mod ids;
mod ignored;
mod input;

mod link_definition;
mod meant;
mod outline;
mod parser;
mod queue;
mod read;
pub(crate) mod reasoning;
mod spans;
mod tag;
mod wrong_form;

pub(crate) use dialect::python_literal;
pub use event::{Event, Ignored, ReadError, Span};
pub(crate) use meant::meant_call;
pub use parser::Parser;

use crate::limits::size;
use crate::reply::Summary;
use crate::{Catalog, Dialect, Dialects, FinishReason, Limits, ToolCall};
use std::sync::Arc;

/// Bounds on what the parser reads of a reply. It reports exceeding them as events. A session derives these from its
/// own [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParserLimits {
    /// Bytes of one block, and of one undecided line. A line always holds at least one character, even a longer one.
    pub block: usize,
    /// Nesting depth of JSON, at most 128.
    pub nesting: usize,
    /// Number of calls in one reply.
    pub calls: usize,
}

impl Default for ParserLimits {
    fn default() -> ParserLimits {
        ParserLimits::from(&Limits::default())
    }
}

impl From<&Limits> for ParserLimits {
    fn from(limits: &Limits) -> ParserLimits {
        ParserLimits { block: size(limits.block_bytes), nesting: size(limits.nesting), calls: size(limits.calls) }
    }
}

/// Options for reading a reply.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Bounds on what is read.
    pub limits: ParserLimits,
    /// Accepts no repairs: a call that is not in the canonical form is malformed.
    pub strict: bool,
    /// Whether the template of the backend opens reasoning, so that the reply begins inside it.
    pub reasoning: Reasoning,
    /// Reads the reply as one bare JSON call, for backends constrained by a schema. [`Reasoning::Opened`] overrides it.
    pub bare: bool,
    /// Delivers only final events, without `started` and `progress`, for hosts that show no preview.
    pub settled_only: bool,
    /// The tools on offer. If arguments are next to `name`, a tool's own argument takes precedence over the envelope's
    /// key. Without a catalog no tool is known; `tool::catalog()` of the crate `toolfence` returns the built-in ones.
    pub catalog: Option<Arc<Catalog>>,
    /// The dialects in which calls are read in addition to the blocks of the protocol. Ignored in strict mode and if
    /// `bare` is set.
    pub dialects: Dialects,
    /// The dialect that the backend's model is known to write. Calls in other dialects are then lossy.
    pub dialect: Option<Dialect>,
}

/// What is known about how a backend's model reasons: whether the template writes the opening tag into the prompt, so
/// that the reply contains only the closing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Reasoning {
    /// The template does not open reasoning: every section has both tags, and a closing tag by itself is text. Calls
    /// are delivered at once, except for those in a dialect whose arguments are raw text: these, and everything after
    /// them, wait for the end of the reply, since a closing tag may show that such a text was longer.
    Known,
    /// It is not known whether the template opens reasoning. A closing tag without an opening one means that everything
    /// before it was reasoning. It counts alone on its line, first in a paragraph of the document, after the call in a
    /// tool block and on the line of a closing fence. Elsewhere in prose outside of code it counts if a readable call
    /// precedes it, or if a call or the end of the line follows it; in HTML only if a readable call precedes it. Calls
    /// before it become [`Event::Ignored`], and an [`Event::Reasoning`] with `unopened` reports the tag. Calls are held
    /// back until such a tag, an opening tag or the end of the reply, because [`Event::Call`] is final. Text after a
    /// held call is delivered before the call; the call's span gives its position.
    #[default]
    Unknown,
    /// The template opens the reasoning: the reply begins inside it, and any closing tag ends it. A reply without one
    /// is reasoning to its end.
    Opened,
}

/// Bytes of a whole reply that are pushed at a time, small enough for the processor's caches.
const PIECE: usize = 64 << 10;

/// A whole reply that was read at once. Everything after the first result that the model wrote itself is excluded.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Parsed {
    /// The calls in order.
    pub calls: Vec<ToolCall>,
    /// The blocks that were meant as calls and cannot be read. [`ReadError::answer`] is the answer for the model.
    pub malformed: Vec<ReadError>,
    /// Whether the model wrote a result itself. What follows that result is only in `events`, without its calls.
    pub forged: bool,
    /// The reply without its calls and reasoning.
    pub text: String,
    /// All events except calls that do not count, with adjacent pieces joined.
    pub events: Vec<Event<'static>>,
}

/// Reads a whole reply that ended with [`FinishReason::Stop`].
///
/// ```
/// let call = |name| format!("```tool\n{{\"name\": \"{name}\"}}\n```\n");
/// let reply = format!("{}```tool_result\n{{}}\n```\n{}", call("list_files"), call("undo"));
///
/// let parsed = toolfence_protocol::parse::parse(&reply);
/// assert_eq!((parsed.calls.len(), parsed.forged), (1, true));
/// assert_eq!(parsed.calls[0].name, "list_files");
/// ```
pub fn parse(reply: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut summary = Summary::default();
    let options = Options { settled_only: true, ..Options::default() };
    for_each(reply, options, FinishReason::Stop, |event| {
        let counts = !summary.follows_forgery(&event);
        if counts {
            summary.note(&event);
        }
        match &event {
            Event::Call { .. } if !counts => return,
            _ if !counts => {}
            Event::Call { call, .. } => parsed.calls.push(ToolCall::clone(call)),
            Event::Malformed { error, .. } => parsed.malformed.push(ReadError::clone(error)),
            Event::Text { text, .. } => parsed.text.push_str(text),
            // Everything before this tag was reasoning, not part of the answer. Its calls were held back.
            Event::Reasoning { unopened: true, .. } => {
                parsed.malformed.clear();
                parsed.text.clear();
            }
            _ => {}
        }
        let separate = match parsed.events.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        parsed.events.extend(separate.map(Event::into_owned));
    });
    parsed.forged = summary.forged.is_some();
    parsed
}

/// Reads a whole reply and passes its events to `on_event`. The reply is read in pieces of 64 KB, so memory is bounded
/// by the longest block or undecided line and by the calls that are held back, whatever the length of the reply.
///
/// ```
/// use toolfence_protocol::{FinishReason, parse::{self, Event, Options}};
///
/// let mut names = Vec::new();
/// parse::for_each("```tool\n{\"name\": \"list_files\"}\n```\n", Options::default(), FinishReason::Stop, |event| {
///     if let Event::Call { call, .. } = event {
///         names.push(call.name.clone());
///     }
/// });
/// assert_eq!(names, ["list_files"]);
/// ```
pub fn for_each(reply: &str, options: Options, reason: FinishReason, mut on_event: impl FnMut(Event<'_>)) {
    let mut parser = Parser::new(options);
    let mut rest = reply;
    while !rest.is_empty() {
        let end = (PIECE..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        parser.push(&rest[..end]);
        while let Some(event) = parser.poll() {
            on_event(event);
        }
        rest = &rest[end..];
    }
    parser.finish(reason);
    while let Some(event) = parser.poll() {
        on_event(event);
    }
}
