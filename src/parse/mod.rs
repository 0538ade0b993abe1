//! Chunks in, events out.

mod blocks;
mod cursor;
mod event;
mod html;
mod linkdef;

pub use event::{Event, Ignored, ReadError, Span};

use crate::{Catalog, FinishReason, ToolCall};
use std::sync::Arc;

/// How much of a reply is read before an event says that it is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one block.
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
    /// Accept no repair: what is not written as taught is malformed.
    pub strict: bool,
    /// The reply begins inside reasoning, for backends whose template has opened it.
    pub in_reasoning: bool,
    /// The reply is one bare JSON call, for backends constrained by a schema.
    pub bare: bool,
    /// The tools on offer: where arguments stand beside `name`, a tool's own argument wins over the envelope's key.
    pub catalog: Option<Arc<Catalog>>,
}

/// The streaming parser.
#[derive(Debug)]
pub struct Parser {}

impl Parser {
    /// A parser at the beginning of a reply.
    pub fn new(_options: Options) -> Parser {
        Parser {}
    }

    /// Takes the next piece of the reply. Cheap: the work is done in [`poll`](Parser::poll).
    pub fn push(&mut self, _chunk: &str) {}

    /// Says that the reply is over, and how it ended.
    pub fn finish(&mut self, _reason: FinishReason) {}

    /// The next event; `None` when more input is needed, or after [`finish`](Parser::finish) when all is said.
    #[must_use]
    pub fn poll(&mut self) -> Option<Event> {
        None
    }

    /// Back to the beginning of a reply, with the same options.
    pub fn reset(&mut self) {}
}

/// A whole reply, read at once.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Parsed {
    /// The calls in order.
    pub calls: Vec<ToolCall>,
    /// The reply without its calls and reasoning.
    pub text: String,
    /// Everything, pieces joined.
    pub events: Vec<Event>,
}

/// Reads a whole reply that ended by itself.
pub fn parse(_reply: &str) -> Parsed {
    Parsed::default()
}
