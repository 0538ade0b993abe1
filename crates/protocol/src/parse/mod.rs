//! Chunks in, events out: finds the tool calls of a reply while it streams.
//!
//! The parser runs nothing, decides nothing and never fails: trouble is an event. It is a machine without input or
//! output of its own: [`push`](Parser::push) takes text, [`poll`](Parser::poll) does the work and gives events,
//! [`finish`](Parser::finish) says how the reply ended. Events borrow from the parser and copy nothing.
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
//! A fenced code block whose info string begins with `tool` counts exactly where CommonMark 0.31.2 says that a fenced code
//! block is, at document level or inside list items. Time is linear in the bytes of the reply; memory is bounded by the
//! open block, or by the line that is not decided yet, and by what was pushed and not polled.

mod block;
mod body;
mod call;
mod containers;
mod cursor;
mod ending;
mod event;
mod expect;
mod html;
mod ids;
mod ignored;
mod input;
mod line_gate;
mod link_definition;
mod preview;
mod prose;
mod queue;
mod read;
mod reasoning;
mod taught;
mod whole;

pub use event::{Event, Ignored, ReadError, Span};

use crate::{Catalog, FinishReason, ToolCall};
use block::Block;
use body::Piece;
use containers::Containers;
use expect::{Expects, Taken};
use ignored::IgnoredCalls;
use input::Input;
use line_gate::LineGate;
use queue::{Item, Queue};
use reasoning::Reasoning;
use std::borrow::Cow;
use std::sync::Arc;
use whole::Room;

/// How much of a reply is read before an event says that it is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one block, and of one line that is not decided yet. A character longer than that still counts as one line.
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
    /// Tell only what is settled: no `started` and no `progress`, for hosts that show no preview.
    pub settled_only: bool,
    /// The tools on offer: where arguments stand beside `name`, a tool's own argument wins over the envelope's key.
    /// Without it no tool is known; `tool::catalog()` of the crate `toolfence` gives the built-in ones.
    pub catalog: Option<Arc<Catalog>>,
}

/// The streaming parser.
#[derive(Debug)]
pub struct Parser {
    options: Options,
    input: Input,
    state: State,
    blocks: Containers,
    decoys: IgnoredCalls,
    /// Whether the beginning of the current line may be shown, and how many of its bytes were looked at.
    hold: LineGate,
    hold_seen: usize,
    /// The current line was longer than the limit: its rest is text.
    skipping: bool,
    /// What the open block has of the current line already.
    piece: Piece,
    /// The open block, and what the last one held.
    block: Block,
    room: Room,
    found: Queue,
    calls: usize,
    /// How often a block that was read past a doubtful closing fence had ended there after all.
    failed_speculations: u8,
    /// A block broke off: what follows may have been meant as its content.
    after_broken: bool,
    /// All that was pushed is read.
    all_read: bool,
    /// It is also told: nothing comes until there is more.
    idle: bool,
    /// What the next piece is tried as.
    expects: Expects,
}

#[derive(Debug)]
enum State {
    Prose,
    Block,
    Reasoning(Reasoning),
    /// All is said.
    Done,
}

/// Bytes that a whole reply is read by.
const PIECE: usize = 64 << 10;

/// After so many failed speculations the rest of a reply is read by CommonMark alone.
const MOST_SPECULATIONS: u8 = 3;

/// What is found outside of [`poll`](Parser::poll). By its own type the compiler sees that it is not the place where `poll`
/// answers: the events that `poll` makes itself then never go through memory. 17 instructions a piece of 4 bytes.
struct Apart<'a>(Option<Event<'a>>);

impl Parser {
    /// A parser at the beginning of a reply.
    pub fn new(options: Options) -> Parser {
        let mut parser = Parser {
            input: Input::default(),
            state: State::Prose,
            blocks: Containers::new(),
            decoys: IgnoredCalls::new(options.limits.block),
            hold: LineGate::default(),
            hold_seen: 0,
            skipping: false,
            piece: Piece::default(),
            block: Block::new(),
            room: Room::default(),
            found: Queue::new(options.settled_only),
            calls: 0,
            failed_speculations: 0,
            after_broken: false,
            all_read: false,
            idle: false,
            expects: Expects::default(),
            options,
        };
        if parser.options.in_reasoning {
            parser.options.bare = false;
            parser.state = State::Reasoning(Reasoning::opened_before());
        } else if parser.options.bare {
            parser.open_block(Span::default(), 1);
        }
        parser
    }

    /// Takes the next piece of the reply. Cheap: the work is done in [`poll`](Parser::poll), so poll after every push.
    /// What comes after [`finish`](Parser::finish) is ignored.
    #[inline]
    pub fn push(&mut self, chunk: &str) {
        self.all_read = false;
        self.idle = false;
        self.input.push(chunk, self.found.is_empty());
    }

    /// Says that the reply is over, and how it ended.
    pub fn finish(&mut self, reason: FinishReason) {
        self.all_read = false;
        self.idle = false;
        self.expects = Expects::Anything;
        self.input.finish(reason);
    }

    /// The next event; `None` when more input is needed, or after [`finish`](Parser::finish) when all is said.
    // Inlined whatever its size: for the usual chunk the event is made where it is used, and never goes through memory.
    #[must_use]
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Event<'_>> {
        if self.idle {
            return None;
        }
        debug_assert!(self.expects == Expects::Anything || self.found.is_empty(), "what was found is told first");
        match self.expects {
            Expects::Words => {
                if let Some(span) = self.take_words() {
                    self.idle = true;
                    return Some(Event::Text { text: self.input.last(span.end - span.start).into(), span });
                }
            }
            Expects::Argument => {
                if let Some(bytes) = self.take_argument() {
                    self.idle = true;
                    return Some(self.progress(self.input.last(bytes)));
                }
            }
            _ => {}
        }
        if !self.found.is_empty() {
            return self.next_found().0;
        }
        self.read_on().0
    }

    /// Reads on until something is found, and tells it. Not part of `poll`, so that the usual chunk pays nothing for it.
    #[inline(never)]
    fn read_on(&mut self) -> Apart<'_> {
        let taken = self.take_expected();
        self.all_read = !matches!(taken, Taken::Other);
        match taken {
            Taken::Text(span) => {
                self.all_told();
                return Apart(Some(self.text(span)));
            }
            Taken::Argument => {
                self.all_told();
                return Apart(self.more_progress(self.found.all_words()));
            }
            Taken::Kept(from) => {
                self.all_told();
                return Apart(self.more_progress(&self.block.kept()[from..]));
            }
            Taken::All => {}
            Taken::Other => self.work(),
        }
        self.next_found()
    }

    /// What was found, if anything was. By itself, so that what was found at once is told without the room that work wants.
    #[inline(never)]
    fn next_found(&mut self) -> Apart<'_> {
        let item = self.found.next();
        if self.all_read && self.found.is_empty() {
            self.all_told();
        }
        Apart(item.and_then(|item| self.tell(item)))
    }

    fn more_progress<'a>(&'a self, text: &'a str) -> Option<Event<'a>> {
        (!text.is_empty() && !self.options.settled_only).then(|| self.progress(text))
    }

    /// Reads on until something is found.
    #[inline(never)]
    fn work(&mut self) {
        while !self.all_read && self.found.is_empty() {
            self.all_read = !self.advance();
        }
    }

    /// Nothing is left to do until more is pushed.
    #[inline(never)]
    fn all_told(&mut self) {
        self.idle = true;
        self.expects = self.expected();
    }

    /// Whether what was told of the open block came from strict reading, and nothing suggests yet that it could be read in
    /// another way: no repair, no verbatim body, no doubtful closing fence, and no block before it that broke off.
    ///
    /// For hosts that pass provisional events on and cannot take them back. It may turn out to be malformed still. Where it
    /// holds after an event was polled, it holds for that event and all of its block before it.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.after_broken && self.block.is_exact()
    }

    /// Back to the beginning of a reply, with the same options.
    pub fn reset(&mut self) {
        *self = Parser::new(self.options.clone());
    }

    /// The event that an item stands for, which is read where it stands; once, for it gives away what it owns.
    #[inline]
    fn tell(&mut self, at: usize) -> Option<Event<'_>> {
        let body = Cow::Borrowed(self.block.body.as_str());
        Some(match self.found.item(at) {
            Item::Text(span) => Event::Text { text: self.input.text(*span).into(), span: *span },
            Item::Argument { id, arg, text, .. } => {
                let (id, arg, text) = (*id, *arg, *text);
                let words = |range| self.found.words(range).into();
                Event::Progress { id: words(id), arg: words(arg), text: words(text) }
            }
            Item::Whole { id, arg, text } => {
                let (id, arg, text) = (*id, self.input.text(*arg), *text);
                let text = text.map_or_else(|| self.found.text_in_call(arg), |text| self.input.text(text));
                Event::Progress { id: self.found.words(id).into(), arg: arg.into(), text: text.into() }
            }
            Item::Progress(text) => {
                let text = *text;
                self.progress(self.found.words(text))
            }
            Item::Reasoning { text, span, closed } => {
                Event::Reasoning { text: self.input.text(*text).into(), span: *span, closed: *closed }
            }
            Item::Started { id, name } => {
                let (id, name) = (*id, *name);
                Event::Started { id: self.found.words(id).into(), name: self.found.words(name).into() }
            }
            Item::Call { call, index, span, replaces } => {
                let body = self.block.lent.map_or(body, |lent| Cow::Borrowed(self.input.text(lent)));
                Event::Call { call: call.take()?, index: *index, body, span: *span, replaces: replaces.take() }
            }
            Item::Malformed { id, error, span } => {
                Event::Malformed { id: std::mem::take(id).into(), body, error: error.take()?, span: *span }
            }
            Item::Incomplete { id, span } => Event::Incomplete { id: std::mem::take(id).into(), body, span: *span },
            Item::ForgedResult(span) => Event::ForgedResult { body, span: *span },
            Item::Ignored { why, body, span } => {
                Event::Ignored { why: *why, body: std::mem::take(body).into(), span: *span }
            }
        })
    }

    #[inline(always)]
    fn text(&self, span: Span) -> Event<'_> {
        Event::Text { text: self.input.text(span).into(), span }
    }

    #[inline(always)]
    fn progress<'a>(&'a self, text: &'a str) -> Event<'a> {
        let (id, arg) = self.found.growing();
        Event::Progress { id: id.into(), arg: arg.into(), text: text.into() }
    }

    /// One step; whether there may be more to do.
    fn advance(&mut self) -> bool {
        match self.state {
            State::Prose => self.advance_prose(),
            State::Block => self.advance_block(),
            State::Reasoning(_) => self.advance_reasoning(),
            State::Done => false,
        }
    }

    /// Notes the text up to `end`, an index of the input, that was not told yet.
    fn show(&mut self, end: usize) {
        if let Some(text) = self.input.take_text(end) {
            self.found.push_made(|| Item::Text(text));
        }
    }

    /// Opens a tool block whose fence begins at `span`, with the body from line `first_line` of the reply on.
    fn open_block(&mut self, span: Span, first_line: usize) {
        let speculates = self.failed_speculations < MOST_SPECULATIONS && !self.options.bare;
        self.block.open(span, first_line, &self.options.limits, speculates);
        self.state = State::Block;
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

/// Reads a whole reply and tells its events, as [`Parser`] does. It is read in pieces of 64 KB that stay in the processor's
/// caches: memory is that of the longest block, or of a line that is not decided yet, however long the reply is.
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
