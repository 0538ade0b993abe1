//! Chunks in, events out: finds the tool calls of a reply while it streams.
//!
//! The parser never fails: trouble is an event. It does not run or judge a call, and it knows no tool but those of the
//! catalog it is given. It has no input or output of its own: [`push`](Parser::push) takes text, [`poll`](Parser::poll)
//! does the work and gives events, [`finish`](Parser::finish) says how the reply ended. Events borrow from the parser
//! and copy nothing.
//!
//! ```
//! # use toolfence_protocol as toolfence;
//! use toolfence::{FinishReason, parse::{Event, Options, Parser}};
//!
//! let mut parser = Parser::new(Options::default());
//! let mut calls = Vec::new();
//! for chunk in ["I look.\n```to", "ol\n{\"name\": \"list_files\"}\n``", "`\n"] {
//!     parser.push(chunk);
//!     while let Some(event) = parser.poll() {
//!         if let Event::Call { call, .. } = event {
//!             calls.push(call.name);
//!         }
//!     }
//! }
//! parser.finish(FinishReason::Stop);
//! while parser.poll().is_some() {}
//! assert_eq!(calls, ["list_files"]);
//! ```
//!
//! A fenced code block whose info string begins with `tool` counts exactly where CommonMark 0.31.2 says that a fenced
//! code block is, at document level or inside list items. Time is linear in the bytes of the reply; memory is bounded
//! by the open block, or by the line that is not decided yet, and by what was pushed and not polled.

mod block;
mod call;
mod containers;
mod cursor;
mod dialect;
mod event;
mod fast;
mod html;
mod ids;
mod ignored;
mod input;
mod line_gate;
mod link_definition;
mod other_reading;
mod parser;
mod preview;
mod queue;
mod read;
mod reasoning;
mod section;
mod spans;
mod tag;

pub use event::{Event, Ignored, ReadError, Span};
pub use parser::Parser;

use crate::{Catalog, Dialect, Dialects, FinishReason, ToolCall};
use std::sync::Arc;

/// How much of a reply is read before an event says that it is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one block, and of one line that is not decided yet. A character longer than that still counts as one
    /// line.
    pub block: usize,
    /// Nesting of JSON, at most 128.
    pub nesting: usize,
    /// Calls of one reply.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { block: 8 << 20, nesting: 128, calls: 64 }
    }
}

/// How a reply is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// How much is read.
    pub limits: Limits,
    /// Accept no repair: a call that is not in the canonical form is malformed.
    pub strict: bool,
    /// The reply begins inside reasoning, for backends whose template has opened it.
    pub in_reasoning: bool,
    /// The reply is one bare JSON call, for backends constrained by a schema. Not together with `in_reasoning`, which
    /// wins.
    pub bare: bool,
    /// Deliver only final events: no `started` and no `progress`, for hosts that show no preview.
    pub settled_only: bool,
    /// The tools on offer: where arguments stand beside `name`, a tool's own argument wins over the envelope's key.
    /// Without it no tool is known; `tool::catalog()` of the crate `toolfence` gives the built-in ones.
    pub catalog: Option<Arc<Catalog>>,
    /// The dialects in which calls are read beside the blocks of the protocol. Not in strict mode and not where `bare` is set.
    pub dialects: Dialects,
    /// The dialect that the model behind this backend is known to write. Calls in other dialects are lossy then.
    pub dialect: Option<Dialect>,
}

/// Bytes that a whole reply is read by: they stay in the processor's caches.
const PIECE: usize = 64 << 10;

/// A whole reply, read at once.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Parsed {
    /// The calls in order.
    pub calls: Vec<ToolCall>,
    /// The reply without its calls and reasoning.
    pub text: String,
    /// Everything, pieces joined.
    pub events: Vec<Event<'static>>,
}

/// Reads a whole reply that ended by itself.
pub fn parse(reply: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let options = Options { settled_only: true, ..Options::default() };
    for_each(reply, options, FinishReason::Stop, |event| {
        match &event {
            Event::Call { call, .. } => parsed.calls.push(ToolCall::clone(call)),
            Event::Text { text, .. } => parsed.text.push_str(text),
            _ => {}
        }
        let apart = match parsed.events.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        parsed.events.extend(apart.map(Event::into_owned));
    });
    parsed
}

/// Reads a whole reply and hands its events to `tell`. The reply is read in pieces of 64 KB, so the memory is that of
/// the longest block, or of a line that is not decided yet, however long the reply is.
///
/// ```
/// # use toolfence_protocol as toolfence;
/// use toolfence::{FinishReason, parse::{self, Event, Options}};
///
/// let mut names = Vec::new();
/// parse::for_each("```tool\n{\"name\": \"list_files\"}\n```\n", Options::default(), FinishReason::Stop, |event| {
///     if let Event::Call { call, .. } = event {
///         names.push(call.name.clone());
///     }
/// });
/// assert_eq!(names, ["list_files"]);
/// ```
pub fn for_each(reply: &str, options: Options, reason: FinishReason, mut tell: impl FnMut(Event<'_>)) {
    let mut parser = Parser::new(options);
    let mut rest = reply;
    while !rest.is_empty() {
        let end = (PIECE..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        parser.push(&rest[..end]);
        while let Some(event) = parser.poll() {
            tell(event);
        }
        rest = &rest[end..];
    }
    parser.finish(reason);
    while let Some(event) = parser.poll() {
        tell(event);
    }
}
