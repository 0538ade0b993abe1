//! One reply while it comes: its raw text, what the parser finds in it, and where it has to be cut.
//!
//! This module decides nothing about calls; it only says what is there.

use super::messages;
use toolfence_protocol::parse::{Event, Options, Parser, Span};
use toolfence_protocol::reply::Summary;
use toolfence_protocol::{FinishReason, ToolCall, ToolResult};

/// Unreadable blocks of one reply that are answered one by one; a reply with more is noise, and answers cost memory.
const MOST_BROKEN: usize = 64;

/// What a reply asks for, in its order.
#[derive(Debug)]
pub(super) enum Item {
    /// A call that was read.
    Call(ToolCall),
    /// A block that could not be: its answer is known already.
    Broken(ToolResult),
}

/// What was found in a whole reply.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) items: Vec<Item>,
    /// Unreadable blocks beyond those in `items`.
    pub(super) unanswered: usize,
    /// All of it was thought, or all but whitespace.
    pub(super) says_nothing: bool,
    /// What else has to be said about it.
    pub(super) summary: Summary,
    /// How what was read of it ended; `None` where a forgery ended it.
    pub(super) end: Option<FinishReason>,
}

/// An item and where it stands: a call that the parser had held back comes after what stands behind it.
struct Placed {
    at: usize,
    /// It came over the backend's own channel.
    native: bool,
    item: Item,
}

/// A reply that is being received.
pub(super) struct Reply {
    parser: Parser,
    /// What went through the parser: spans are ranges of it.
    raw: String,
    /// Calls of the backend's own channel, written down as blocks so that the history tells of them.
    native: String,
    /// What will be the items of `found`, in the order of the reply.
    placed: Vec<Placed>,
    found: Found,
    /// No block of this reply is a call: it is shown as it is written.
    text_only: bool,
    shown: usize,
    /// The backend is done.
    ended: bool,
    /// That no more is wanted was said already.
    stopped: bool,
}

impl Reply {
    pub(super) fn new(options: Options, text_only: bool) -> Reply {
        Reply {
            parser: Parser::new(options),
            raw: String::new(),
            native: String::new(),
            placed: Vec::new(),
            found: Found::default(),
            text_only,
            shown: 0,
            ended: false,
            stopped: false,
        }
    }

    /// How many bytes came so far.
    pub(super) fn len(&self) -> usize {
        self.raw.len() + self.native.len()
    }

    /// Whether more of it is wanted.
    pub(super) fn is_open(&self) -> bool {
        self.found.end.is_none() && !self.is_over()
    }

    /// Whether the backend is done with it.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether nothing that follows can count. What follows a forged result does not, but as long as it is undecided
    /// whether all of it is only thought, the reply is read on.
    fn is_over(&self) -> bool {
        self.found.summary.forged.is_some() && !self.parser.is_undecided()
    }

    /// Whether the model is to be stopped now. Says so once.
    pub(super) fn wants_stop(&mut self) -> bool {
        self.is_over() && self.found.end.is_none() && !std::mem::replace(&mut self.stopped, true)
    }

    pub(super) fn push(&mut self, chunk: &str) {
        self.raw.push_str(chunk);
        self.parser.push(chunk);
    }

    /// A call of the backend's own channel. Gives what to show for it.
    pub(super) fn native(&mut self, call: ToolCall) -> Event<'static> {
        let body = serde_json::to_string(&call).unwrap_or_default();
        let block = format!("```tool\n{body}\n```\n");
        self.native.push_str(&block);
        let span = Span::default();
        if self.text_only {
            return Event::Text { text: block.into(), span };
        }
        self.place(self.raw.len(), true, Item::Call(call.clone()));
        Event::Call { call: Box::new(call), index: 0, body: body.into(), span, replaces: None }
    }

    /// The backend says that it is done.
    pub(super) fn finish(&mut self, reason: FinishReason) {
        self.cut(reason);
        self.ended = true;
    }

    /// Nothing more is read, whether or not the backend is done. The first reason counts.
    pub(super) fn cut(&mut self, reason: FinishReason) {
        if self.is_open() {
            self.found.end = Some(reason);
            self.parser.finish(reason);
        }
    }

    /// The next thing to show. Nothing that stands behind a forged result is shown.
    pub(super) fn next(&mut self) -> Option<Event<'static>> {
        loop {
            let Some(event) = self.parser.poll().map(Event::into_owned) else { return self.rest() };
            if self.found.summary.is_behind_forgery(&event) {
                continue;
            }
            self.note(&event);
            if let Some(event) = self.as_shown(event) {
                return Some(event);
            }
        }
    }

    /// The text for the history, cut where a forgery begins, and what was found.
    pub(super) fn close(mut self) -> (String, Found) {
        self.found.items = self.placed.into_iter().map(|placed| placed.item).collect();
        let behind = self.found.summary.opened.and_then(|end| self.raw.get(end..));
        self.found.says_nothing = behind.is_some_and(|text| text.trim().is_empty());
        if let Some(start) = self.found.summary.forged {
            self.raw.truncate(start);
            self.found.end = None;
        }
        if !self.native.is_empty() {
            let gap = if self.raw.is_empty() || self.raw.ends_with('\n') { "" } else { "\n\n" };
            self.raw.extend([gap, &self.native]);
        }
        (self.raw, self.found)
    }

    fn note(&mut self, event: &Event<'_>) {
        let tool = self.found.summary.note(event).unwrap_or_default();
        match event {
            Event::Call { call, span, .. } => self.place(span.start, false, Item::Call(ToolCall::clone(call))),
            Event::Malformed { id, error, span, .. } => self.broken(*span, || messages::malformed(id, &tool, error)),
            Event::Incomplete { id, span, .. } => self.broken(*span, || messages::incomplete(id, &tool)),
            Event::Reasoning { unopened: true, .. } => {
                self.placed.retain(|placed| placed.native);
                self.found.unanswered = 0;
            }
            // What is only shown, or in the summary.
            _ => {}
        }
    }

    fn place(&mut self, at: usize, native: bool, item: Item) {
        let index = self.placed.partition_point(|placed| placed.at <= at);
        self.placed.insert(index, Placed { at, native, item });
    }

    fn broken(&mut self, span: Span, answer: impl FnOnce() -> ToolResult) {
        let known = self.placed.iter().filter(|placed| matches!(placed.item, Item::Broken(_))).count();
        if known < MOST_BROKEN {
            self.place(span.start, false, Item::Broken(answer()));
        } else {
            self.found.unanswered += 1;
        }
    }

    /// Where blocks are not calls everything but reasoning is shown as it was written.
    fn as_shown(&mut self, event: Event<'static>) -> Option<Event<'static>> {
        if !self.text_only {
            return Some(event);
        }
        match event {
            Event::Text { span, .. } | Event::Call { span, .. } => self.as_text(span.end),
            Event::Malformed { span, .. } | Event::Incomplete { span, .. } => self.as_text(span.end),
            Event::Reasoning { span, .. } => {
                self.shown = self.shown.max(span.end);
                Some(event)
            }
            Event::ForgedResult { .. } => Some(event),
            // What was started, how far it is and what was passed over, and what a later version of the parser may add.
            _ => None,
        }
    }

    /// What stands behind the last event of a reply that is shown as text.
    fn rest(&mut self) -> Option<Event<'static>> {
        let over = self.text_only && self.found.end.is_some() && self.found.summary.forged.is_none();
        over.then(|| self.as_text(self.raw.len()))?
    }

    fn as_text(&mut self, end: usize) -> Option<Event<'static>> {
        let span = Span { start: self.shown, end };
        let text = self.raw.get(span.start..end)?.to_owned();
        self.shown = end;
        (!text.is_empty()).then_some(Event::Text { text: text.into(), span })
    }
}
