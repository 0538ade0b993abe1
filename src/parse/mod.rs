//! Chunks in, events out: finds the tool calls of a reply while it streams.
//!
//! The parser runs nothing, decides nothing and never fails: trouble is an event. It is a machine without input or
//! output of its own: [`push`](Parser::push) takes text, [`poll`](Parser::poll) does the work and gives events,
//! [`finish`](Parser::finish) says how the reply ended.
//!
//! ```
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
//! A fenced code block whose info string begins with `tool` counts exactly where CommonMark 0.31.2 says that a fenced code
//! block is, at document level or inside list items. Time is linear in the bytes of the reply; memory is bounded by the
//! open block, or by the line that is not decided yet, and by what was pushed and not polled.

mod block;
mod blocks;
mod body;
mod cursor;
mod decoy;
mod ending;
mod envelope;
mod event;
mod hold;
mod html;
mod ids;
mod input;
mod linkdef;
mod prose;
mod reasoning;
mod track;

pub use event::{Event, Ignored, ReadError, Span};

use crate::{Catalog, FinishReason, ToolCall};
use block::Block;
use blocks::Blocks;
use body::Piece;
use decoy::Decoys;
use hold::Hold;
use ids::Ids;
use input::Input;
use reasoning::Reasoning;
use std::collections::VecDeque;
use std::sync::Arc;

/// How much of a reply is read before an event says that it is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one block, and of one line that is not decided yet.
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
    /// The reply is one bare JSON call, for backends constrained by a schema. Not together with `in_reasoning`, which wins.
    pub bare: bool,
    /// The tools on offer: where arguments stand beside `name`, a tool's own argument wins over the envelope's key.
    /// Without it the built-in tools are known.
    pub catalog: Option<Arc<Catalog>>,
}

/// The streaming parser.
#[derive(Debug)]
pub struct Parser {
    options: Options,
    input: Input,
    state: State,
    blocks: Blocks,
    decoys: Decoys,
    /// Whether the beginning of the current line may be shown, and how many of its bytes were looked at.
    hold: Hold,
    hold_seen: usize,
    /// The current line was longer than the limit: its rest is text.
    skipping: bool,
    /// What the open block has of the current line already.
    piece: Piece,
    queue: VecDeque<Event>,
    ids: Ids,
    calls: usize,
    /// How often a block that was read past a doubtful closing fence had ended there after all.
    failed_speculations: u8,
    /// A block broke off: what follows may have been meant as its content.
    after_broken: bool,
}

#[derive(Debug)]
enum State {
    Prose,
    Block(Box<Block>),
    Reasoning(Reasoning),
    /// All is said.
    Done,
}

/// After so many failed speculations the rest of a reply is read by CommonMark alone.
const MOST_SPECULATIONS: u8 = 3;

impl Parser {
    /// A parser at the beginning of a reply.
    pub fn new(options: Options) -> Parser {
        let mut parser = Parser {
            input: Input::default(),
            state: State::Prose,
            blocks: Blocks::new(),
            decoys: Decoys::new(options.limits.block),
            hold: Hold::default(),
            hold_seen: 0,
            skipping: false,
            piece: Piece::default(),
            queue: VecDeque::new(),
            ids: Ids::default(),
            calls: 0,
            failed_speculations: 0,
            after_broken: false,
            options,
        };
        if parser.options.in_reasoning {
            parser.state = State::Reasoning(Reasoning::opened_before());
        } else if parser.options.bare {
            parser.open_block(Span::default(), 1);
        }
        parser
    }

    /// Takes the next piece of the reply. Cheap: the work is done in [`poll`](Parser::poll), so poll after every push.
    /// What comes after [`finish`](Parser::finish) is ignored.
    pub fn push(&mut self, chunk: &str) {
        self.input.push(chunk);
    }

    /// Says that the reply is over, and how it ended.
    pub fn finish(&mut self, reason: FinishReason) {
        self.input.finish(reason);
    }

    /// The next event; `None` when more input is needed, or after [`finish`](Parser::finish) when all is said.
    #[must_use]
    pub fn poll(&mut self) -> Option<Event> {
        if self.queue.is_empty()
            && let Some(event) = self.middle_of_line()
        {
            return event;
        }
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if !self.advance() {
                self.input.compact();
                return self.queue.pop_front();
            }
        }
    }

    /// Back to the beginning of a reply, with the same options.
    pub fn reset(&mut self) {
        *self = Parser::new(self.options.clone());
    }

    /// The usual chunk: more of a line that is known to be text, or content of the open block. `None` when it is anything
    /// else; what it gives is what [`poll`](Parser::poll) gives.
    fn middle_of_line(&mut self) -> Option<Option<Event>> {
        match &self.state {
            State::Prose if self.hold == Hold::Free => {
                let more = self
                    .input
                    .has_only_words(self.options.limits.block)
                    .then(|| self.input.take_text(self.input.len()));
                more.map(|text| text.map(|(text, span)| Event::Text { text, span }))
            }
            State::Block(block) if block.candidate.is_none() && matches!(self.piece, Piece::Given(_)) => {
                self.input.has_only_words(self.options.limits.block).then(|| {
                    self.piece_of_line();
                    self.queue.pop_front()
                })
            }
            _ => None,
        }
    }

    /// One step; whether there may be more to do.
    fn advance(&mut self) -> bool {
        match self.state {
            State::Prose => self.advance_prose(),
            State::Block(_) => self.advance_block(),
            State::Reasoning(_) => self.advance_reasoning(),
            State::Done => false,
        }
    }

    /// Emits the text up to `end`, an index of the input, that was not emitted yet.
    fn show(&mut self, end: usize) {
        if let Some((text, span)) = self.input.take_text(end) {
            self.queue.push_back(Event::Text { text, span });
        }
    }

    /// Opens a tool block whose fence begins at `span`, with the body from line `first_line` of the reply on.
    fn open_block(&mut self, span: Span, first_line: usize) {
        let Limits { block, nesting, .. } = self.options.limits;
        let speculates = self.failed_speculations < MOST_SPECULATIONS && !self.options.bare;
        let ids = std::mem::take(&mut self.ids);
        self.state = State::Block(Box::new(Block::new(span, first_line, ids, block, nesting, speculates)));
    }

    /// The input is used up and finished.
    fn end(&mut self) -> bool {
        self.show(self.input.len());
        self.state = State::Done;
        true
    }
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
pub fn parse(reply: &str) -> Parsed {
    let mut parser = Parser::new(Options::default());
    parser.push(reply);
    parser.finish(FinishReason::Stop);
    let mut parsed = Parsed::default();
    while let Some(event) = parser.poll() {
        match &event {
            Event::Call { call, .. } => parsed.calls.push(call.clone()),
            Event::Text { text, .. } => parsed.text.push_str(text),
            Event::Started { .. } | Event::Progress { .. } => continue,
            _ => {}
        }
        let apart = match parsed.events.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        parsed.events.extend(apart);
    }
    parsed
}
