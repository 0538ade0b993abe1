//! Chunks in, events out: finds the tool calls of a reply while it streams.
//!
//! The parser never fails: trouble is an event. It does not run or judge a call, and it knows no tool but those of the
//! catalog it is given. It has no input or output of its own: [`push`](Parser::push) takes text, [`poll`](Parser::poll)
//! does the work and gives events, [`finish`](Parser::finish) says how the reply ended. Events borrow from the parser
//! and copy nothing.
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
//! A fenced code block whose info string begins with `tool` counts exactly where CommonMark 0.31.2 says that a fenced
//! code block is, at document level or inside list items. Time is linear in the bytes of the reply; memory is bounded
//! by the open block, or by the line that is not decided yet, by what was pushed and not polled, and by the calls that are
//! held back under [`Reasoning::Unknown`].

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

/// How much of a reply is read before an event says that it is too much. A session takes these from its own
/// [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParserLimits {
    /// Bytes of one block, and of one line that is not decided yet. A character longer than that still counts as one
    /// line.
    pub block: usize,
    /// Nesting of JSON, at most 128.
    pub nesting: usize,
    /// Calls of one reply.
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

/// How a reply is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// How much is read.
    pub limits: ParserLimits,
    /// Accept no repair: a call that is not in the canonical form is malformed.
    pub strict: bool,
    /// Whether the template of the backend opens reasoning, so that the reply begins inside it.
    pub reasoning: Reasoning,
    /// The reply is one bare JSON call, for backends constrained by a schema. Not together with [`Reasoning::Opened`], which
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

/// What is known of a backend whose model thinks aloud: whether its template writes the opening tag into the prompt, so that
/// the reply has only the closing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Reasoning {
    /// The template opens no reasoning: a section has both its tags, and a closing tag by itself is text. Calls are delivered
    /// at once. Those in a dialect whose arguments are raw texts wait with what follows them for the end of the reply: a closing
    /// tag may show that such a text was longer.
    Known,
    /// It is not known. A closing tag without an opening one means that everything before it was reasoning. It counts alone on its
    /// line, first in a paragraph of the document, after the call in a tool block, on the line of a closing fence and, elsewhere
    /// in prose outside of code, if a readable call precedes it, or if a call or the end of the line follows it; in HTML only if a
    /// readable call precedes it. Calls before it become [`Event::Ignored`], and an [`Event::Reasoning`] that is
    /// `unopened` says so. Until such a tag or an opening one was met, or the reply is over, calls are held back, for
    /// [`Event::Call`] is final. The texts behind a call are delivered before it; its span tells where it stood.
    #[default]
    Unknown,
    /// The template opens the reasoning: the reply begins inside it, and any closing tag ends it. A reply that has none is
    /// reasoning to its end.
    Opened,
}

/// Bytes that a whole reply is read by: they stay in the processor's caches.
const PIECE: usize = 64 << 10;

/// A whole reply, read at once. Nothing counts from the first result on that the model wrote itself.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Parsed {
    /// The calls in order.
    pub calls: Vec<ToolCall>,
    /// The blocks that were to be calls and cannot be read. [`ReadError::answer`] is the answer for the model.
    pub malformed: Vec<ReadError>,
    /// Whether the model wrote a result itself. What followed it is in the events alone, without its calls.
    pub forged: bool,
    /// The reply without its calls and reasoning.
    pub text: String,
    /// Everything but calls that do not count, pieces joined.
    pub events: Vec<Event<'static>>,
}

/// Reads a whole reply that ended by itself.
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
        let counts = !summary.is_behind_forgery(&event);
        if counts {
            summary.note(&event);
        }
        match &event {
            Event::Call { .. } if !counts => return,
            _ if !counts => {}
            Event::Call { call, .. } => parsed.calls.push(ToolCall::clone(call)),
            Event::Malformed { error, .. } => parsed.malformed.push(ReadError::clone(error)),
            Event::Text { text, .. } => parsed.text.push_str(text),
            Event::Reasoning { unopened: true, .. } => {
                parsed.malformed.clear();
                parsed.text.clear();
            }
            _ => {}
        }
        let apart = match parsed.events.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        parsed.events.extend(apart.map(Event::into_owned));
    });
    parsed.forged = summary.forged.is_some();
    parsed
}

/// Reads a whole reply and hands its events to `tell`. The reply is read in pieces of 64 KB, so the memory is that of
/// the longest block, or of a line that is not decided yet, and of the calls that are held back, however long the rest of the
/// reply is.
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
