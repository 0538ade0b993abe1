//! Receives one reply: its raw text, the events of the parser, and the place where it must be cut.
//!
//! This module makes no decision about calls; it only reports the contents of the reply.

use super::ids::{Ids, ReplyIds};
use super::refusals::Refusal;
use super::repetition::Repetition;
use super::stitch::{Broken, Continuation, SeamMatch};
use toolfence_protocol::parse::{Event, Ignored, Options, Parser, Span};
use toolfence_protocol::reply::Summary;
use toolfence_protocol::{ErrorCode, FinishReason, Repair, ToolCall, ToolFailure, ToolResult};

/// The maximum number of unreadable blocks of one reply that get an answer. A reply with more is noise, and answers
/// cost memory.
const MOST_BROKEN: usize = 64;

/// A call or an unreadable block of a reply.
#[derive(Debug)]
pub(super) enum Item {
    /// A parsed call.
    Call(ToolCall),
    /// An unreadable block, with its answer.
    Broken(ToolResult),
}

/// The contents of a whole reply.
#[derive(Debug, Default)]
pub(super) struct ReplyContents {
    pub(super) items: Vec<Item>,
    /// Unreadable blocks beyond those in `items`.
    pub(super) unanswered: usize,
    /// Whether the whole reply is reasoning or whitespace.
    pub(super) is_only_reasoning: bool,
    /// The parser's summary of the reply.
    pub(super) summary: Summary,
    /// How the reply ended; `None` if a forged result ended it.
    pub(super) end: Option<FinishReason>,
    /// The last item, if it is a block that broke off and can be continued.
    pub(super) broken: Option<Broken>,
    /// Whether the reply should have continued a block, but does not and does not begin with a whole block either. Its
    /// calls are not run, because they may be content of the block that it should have continued.
    pub(super) not_continued: bool,
    /// Whether the session ended the reply because its text repeated itself.
    pub(super) repeats: bool,
}

/// An item with its position in the reply. The parser may deliver a call after items that follow it in the text.
struct PositionedItem {
    at: usize,
    /// Whether it is a call of the backend's native function calling.
    native: bool,
    item: Item,
}

/// Whether a reply continues the block that broke off before it.
#[derive(Default)]
enum Continued {
    /// The reply was not asked to continue a block.
    #[default]
    No,
    /// Too little was received to decide.
    Undecided(Box<Continuation>),
    /// The reply does not continue the block.
    Unrelated,
    /// The reply continues the block and is parsed together with the reply before it.
    Joined {
        /// The offset at which the block opens. Everything before it was handled when the previous reply ended.
        start: usize,
        /// The number of bytes in `raw` that belong to the previous reply.
        before: usize,
        /// The text that this reply repeated.
        repeated: String,
    },
}

/// A reply that is being received.
pub(super) struct IncomingReply {
    parser: Parser,
    /// The text given to the parser; spans are ranges of it.
    raw: String,
    continued: Continued,
    /// The offset at which the last incomplete block opens.
    broke_off: Option<usize>,
    /// The offset of the first prose.
    prose: Option<usize>,
    /// Native calls, written as blocks so that the history contains them.
    native: String,
    /// The items for `found`, in the order of the reply.
    placed: Vec<PositionedItem>,
    found: ReplyContents,
    ids: ReplyIds,
    text: Repetition,
    thoughts: Repetition,
    /// Whether blocks of this reply are text and not calls.
    text_only: bool,
    /// Whether the backend has ended the reply.
    ended: bool,
    /// Whether the request to stop the model was returned already.
    stopped: bool,
}

impl IncomingReply {
    /// Creates a reply, which should continue `broken` if that is given.
    pub(super) fn new(options: Options, text_only: bool, broken: Option<Broken>) -> IncomingReply {
        let reasoning = options.reasoning;
        let undecided = |broken| Continued::Undecided(Box::new(Continuation::new(broken, reasoning)));
        IncomingReply {
            parser: Parser::new(options),
            raw: String::new(),
            continued: broken.map_or(Continued::No, undecided),
            broke_off: None,
            prose: None,
            native: String::new(),
            placed: Vec::new(),
            found: ReplyContents::default(),
            ids: ReplyIds::default(),
            text: Repetition::default(),
            thoughts: Repetition::default(),
            text_only,
            ended: false,
            stopped: false,
        }
    }

    /// Returns the bytes received so far.
    pub(super) fn len(&self) -> usize {
        let held = if let Continued::Undecided(undecided) = &self.continued { undecided.received.len() } else { 0 };
        self.raw.len() + self.native.len() + held
    }

    /// Returns `true` while it is undecided whether the reply continues the block that broke off.
    pub(super) fn may_continue_block(&self) -> bool {
        matches!(self.continued, Continued::Undecided(_))
    }

    /// Returns `true` if the reply accepts more text.
    pub(super) fn is_open(&self) -> bool {
        self.found.end.is_none() && !self.is_over()
    }

    /// Returns `true` if the backend has ended the reply.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Returns `true` if all later text is ignored. Text after a forged result is ignored, but parsing continues as
    /// long as everything so far may turn out to be reasoning.
    fn is_over(&self) -> bool {
        self.found.summary.forged.is_some() && !self.parser.is_undecided()
    }

    /// Returns `true` once if the model must be stopped now.
    pub(super) fn wants_stop(&mut self) -> bool {
        if self.found.repeats && self.is_open() {
            self.cut(FinishReason::Length);
            return !std::mem::replace(&mut self.stopped, true);
        }
        self.is_over() && self.found.end.is_none() && !std::mem::replace(&mut self.stopped, true)
    }

    pub(super) fn push(&mut self, chunk: &str) {
        match &mut self.continued {
            Continued::Undecided(undecided) => match undecided.push(chunk) {
                SeamMatch::Undecided => {}
                decision => self.decide(&decision),
            },
            _ => self.parse(chunk),
        }
    }

    fn parse(&mut self, chunk: &str) {
        self.raw.push_str(chunk);
        self.parser.push(chunk);
    }

    /// Starts parsing once it is known whether the reply continues the block. If it does, the parser reads both replies
    /// as one from the beginning of the first, because the meaning of a block depends on all text before it.
    fn decide(&mut self, decision: &SeamMatch) {
        let Continued::Undecided(undecided) = std::mem::take(&mut self.continued) else { return };
        let Continuation { broken, mut received, .. } = *undecided;
        self.continued = Continued::Unrelated;
        if let SeamMatch::EndsAt(end) = *decision {
            let start = broken.start();
            self.parse(&broken.into_text());
            let rest = received.split_off(end);
            self.continued = Continued::Joined { start, before: self.raw.len(), repeated: received };
            received = rest;
        }
        self.parse(&received);
    }

    /// Adds a native call and returns the event to show for it.
    pub(super) fn native(&mut self, mut call: ToolCall, ids: &mut Ids) -> Event<'static> {
        call.id = ids.unique(&call.id);
        let body = serde_json::to_string(&call).unwrap_or_default();
        let block = format!("```tool\n{body}\n```\n");
        self.native.push_str(&block);
        let span = Span::default();
        if self.text_only {
            let (id, name) = (Some(call.id.into()), Some(call.name.into()));
            return Event::Ignored { why: Ignored::LastRound, id, name, body: body.into(), span };
        }
        self.insert_item(self.raw.len(), true, Item::Call(call.clone()));
        Event::Call { call: Box::new(call), index: 0, body: body.into(), span }
    }

    /// Records that the backend ended the reply.
    pub(super) fn finish(&mut self, reason: FinishReason) {
        self.cut(reason);
        self.ended = true;
    }

    /// Stops parsing, whether or not the backend has ended the reply. Only the first reason is recorded.
    pub(super) fn cut(&mut self, reason: FinishReason) {
        if self.is_open() {
            if matches!(self.continued, Continued::Undecided(_)) {
                self.decide(&SeamMatch::NoMatch);
            }
            self.found.end = Some(reason);
            self.parser.finish(reason);
        }
    }

    /// Returns the next event to show. Events after a forged result are dropped.
    pub(super) fn next(&mut self, ids: &mut Ids) -> Option<Event<'static>> {
        loop {
            let event = self.parser.poll()?.into_owned();
            if self.found.summary.follows_forgery(&event) {
                continue;
            }
            let event = match self.continued {
                Continued::Joined { start, .. } => stitched(event, start),
                _ => Some(event),
            };
            let Some(event) = event else { continue };
            let event = self.assign_unique_ids(event, ids);
            self.record(&event);
            if let Some(event) = self.event_to_show(event) {
                return Some(event);
            }
        }
    }

    /// Returns the text for the history, cut where a forged result begins, and the contents of the reply.
    pub(super) fn close(mut self) -> (String, ReplyContents) {
        // Instead of continuing, a reply may send the whole block again as its first part, and then its calls run.
        let first = self.placed.iter().find(|placed| !placed.native);
        let whole = first.is_some_and(|first| {
            // An object surrounded by text may be in a block whose first lines are content of the block that broke off.
            let exact = |call: &ToolCall| !call.is_lossy() && !call.repairs.contains(&Repair::SurroundingText);
            let begins = self.prose.is_none_or(|prose| prose > first.at);
            begins && matches!(&first.item, Item::Call(call) if exact(call))
        });
        self.found.not_continued = matches!(self.continued, Continued::Unrelated) && !whole;
        self.found.broken = self.broken_block();
        let not_continued = self.found.not_continued;
        let item = |placed: PositionedItem| match placed.item {
            Item::Call(call) if not_continued && !placed.native => {
                Item::Broken(Refusal::NotContinued.answer(&call.id, &call.name))
            }
            item => item,
        };
        self.found.items = self.placed.into_iter().map(item).collect();
        let answer = self.found.summary.opened.and_then(|end| self.raw.get(end..));
        self.found.is_only_reasoning = answer.is_some_and(|text| text.trim().is_empty());
        if let Some(start) = self.found.summary.forged {
            // Text after a forged result is not sent back to the model, which based it on a result that does not exist.
            self.raw.truncate(start);
            self.found.end = None;
        }
        if let Continued::Joined { before, repeated, .. } = self.continued {
            // The history already has the previous reply, so only the part that this reply repeated stays.
            self.raw.replace_range(..before.min(self.raw.len()), &repeated);
        }
        if !self.native.is_empty() {
            // A fence opens a block only at the beginning of a line.
            let gap = if self.raw.is_empty() || self.raw.ends_with('\n') { "" } else { "\n\n" };
            self.raw.extend([gap, &self.native]);
        }
        (self.raw, self.found)
    }

    /// Replaces the parser's ids in the event with those of the conversation.
    fn assign_unique_ids(&mut self, mut event: Event<'static>, ids: &mut Ids) -> Event<'static> {
        match &mut event {
            Event::Started { id, .. }
            | Event::Progress { id, .. }
            | Event::Malformed { id, .. }
            | Event::Incomplete { id, .. }
            | Event::Ignored { id: Some(id), .. } => *id = self.ids.unique(id, ids).into(),
            Event::Call { call, .. } => call.id = self.ids.unique(&call.id, ids),
            _ => {}
        }
        event
    }

    fn record(&mut self, event: &Event<'_>) {
        let repeats = match event {
            Event::Text { text, .. } => self.text.push(text),
            Event::Reasoning { text, .. } => self.thoughts.push(text),
            _ => false,
        };
        self.found.repeats |= repeats && self.is_open();
        let tool = self.found.summary.note(event).unwrap_or_default();
        match event {
            Event::Call { call, span, .. } => self.insert_item(span.start, false, Item::Call(ToolCall::clone(call))),
            Event::Malformed { id, error, span, .. } => {
                let failure = ToolFailure::new(ErrorCode::MalformedCall, error.answer());
                self.add_broken(*span, || ToolResult::refused(&**id, &*tool, failure));
            }
            Event::Incomplete { id, span, .. } => {
                let again = matches!(self.continued, Continued::Joined { start, .. } if start == span.start);
                // A block is continued only once. If it breaks off again, the model must split the work.
                self.broke_off = (!again).then_some(span.start);
                let why = if again { Refusal::BrokeOffAgain } else { Refusal::BrokeOff };
                self.add_broken(*span, || why.answer(id, &tool));
            }
            Event::Text { text, span } if !text.trim().is_empty() => {
                let prose = span.start + (text.len() - text.trim_start().len());
                self.prose = Some(self.prose.map_or(prose, |first| first.min(prose)));
            }
            Event::Reasoning { unopened: true, .. } => {
                // Everything so far was reasoning, so calls in it do not run. Native calls are not part of the text and
                // stay.
                self.placed.retain(|placed| placed.native);
                self.found.unanswered = 0;
                (self.broke_off, self.prose) = (None, None);
            }
            // The other events are only shown, or are in the summary.
            _ => {}
        }
    }

    /// Returns the block at the end of the reply if the backend's limit or a broken stream ended the reply inside it.
    fn broken_block(&self) -> Option<Broken> {
        let start = self.broke_off?;
        let ended = matches!(self.found.end, Some(FinishReason::Length | FinishReason::Cut));
        let is_last = self.placed.last().is_some_and(|last| last.at == start && !last.native);
        if !ended || !is_last || self.found.not_continued {
            return None;
        }
        Broken::new(&self.raw, start)
    }

    fn insert_item(&mut self, at: usize, native: bool, item: Item) {
        // All calls of one block have the same offset. `<=` keeps them in the order of the block.
        let index = self.placed.partition_point(|placed| placed.at <= at);
        self.placed.insert(index, PositionedItem { at, native, item });
    }

    fn add_broken(&mut self, span: Span, answer: impl FnOnce() -> ToolResult) {
        let known = self.placed.iter().filter(|placed| matches!(placed.item, Item::Broken(_))).count();
        if known < MOST_BROKEN {
            self.insert_item(span.start, false, Item::Broken(answer()));
        } else {
            self.found.unanswered += 1;
        }
    }

    /// If blocks are not calls, reports each of them as ignored.
    fn event_to_show(&self, event: Event<'static>) -> Option<Event<'static>> {
        if !self.text_only {
            return Some(event);
        }
        let why = Ignored::LastRound;
        match event {
            Event::Text { .. } | Event::Reasoning { .. } | Event::ForgedResult { .. } => Some(event),
            Event::Call { call, index: 0, body, span, .. } => {
                let call = *call;
                Some(Event::Ignored { why, id: Some(call.id.into()), name: Some(call.name.into()), body, span })
            }
            Event::Malformed { id, body, span, .. } | Event::Incomplete { id, body, span } => {
                Some(Event::Ignored { why, id: Some(id), name: None, body, span })
            }
            // Drop further calls of a block, started calls, progress, and calls that were ignored for another reason.
            _ => None,
        }
    }
}

/// Returns an event of two replies that are read as one, or `None` if it belongs only to the first reply. Calls of the
/// block that opens at `start`, which is in both replies, are marked as stitched.
fn stitched(mut event: Event<'static>, start: usize) -> Option<Event<'static>> {
    match &mut event {
        Event::Call { call, span, .. } if span.start == start => call.repairs.push(Repair::Stitched),
        Event::Text { span, .. }
        | Event::Reasoning { span, .. }
        | Event::Call { span, .. }
        | Event::Malformed { span, .. }
        | Event::Incomplete { span, .. }
        | Event::Ignored { span, .. }
        | Event::ForgedResult { span, .. }
            if span.start < start =>
        {
            return None;
        }
        _ => {}
    }
    Some(event)
}
