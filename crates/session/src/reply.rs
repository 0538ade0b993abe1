//! One reply while it comes: its raw text, what the parser finds in it, and where it has to be cut.
//!
//! This module decides nothing about calls; it only says what is there.

use super::ids::{Ids, ReplyIds};
use super::refusals::Refusal;
use super::repetition::Repetition;
use super::stitch::{Broken, Continuation, Look};
use toolfence_protocol::parse::{Event, Ignored, Options, Parser, Span};
use toolfence_protocol::reply::Summary;
use toolfence_protocol::{ErrorCode, FinishReason, Repair, ToolCall, ToolFailure, ToolResult};

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
    /// The last of the items is a block that broke off and can be taken up.
    pub(super) broken: Option<Broken>,
    /// It was to go on with a block, and neither does nor begins with a whole one. Its calls are not read: they may be content of
    /// the block that it was to go on with.
    pub(super) astray: bool,
    /// It was ended because its text repeated itself.
    pub(super) repeats: bool,
}

/// An item and where it stands: a call that the parser had held back comes after what stands behind it.
struct Placed {
    at: usize,
    /// It came over the backend's own channel.
    native: bool,
    item: Item,
}

/// A reply that was asked to go on with a block.
#[derive(Default)]
enum Continued {
    /// It was not asked to.
    #[default]
    No,
    /// It is not known yet whether it does.
    Undecided(Box<Continuation>),
    /// It does not.
    Astray,
    /// It does, and is read together with the reply before it.
    Joined {
        /// Where the block opens. What stands before it was done when the reply before ended.
        start: usize,
        /// How much of `raw` is of the reply before.
        before: usize,
        /// What this reply has repeated.
        repeated: String,
    },
}

/// A reply that is being received.
pub(super) struct IncomingReply {
    parser: Parser,
    /// What went through the parser: spans are ranges of it.
    raw: String,
    continued: Continued,
    /// Where the block opens that broke off last.
    broke_off: Option<usize>,
    /// Where the first prose stands.
    prose: Option<usize>,
    /// Calls of the backend's own channel, written down as blocks so that the history tells of them.
    native: String,
    /// What will be the items of `found`, in the order of the reply.
    placed: Vec<Placed>,
    found: Found,
    ids: ReplyIds,
    text: Repetition,
    thoughts: Repetition,
    /// No block of this reply is a call.
    text_only: bool,
    /// The backend is done.
    ended: bool,
    /// That no more is wanted was said already.
    stopped: bool,
}

impl IncomingReply {
    /// A reply that goes on with a block that broke off, if there is one.
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
            found: Found::default(),
            ids: ReplyIds::default(),
            text: Repetition::default(),
            thoughts: Repetition::default(),
            text_only,
            ended: false,
            stopped: false,
        }
    }

    /// How many bytes came so far.
    pub(super) fn len(&self) -> usize {
        let held = if let Continued::Undecided(undecided) = &self.continued { undecided.said.len() } else { 0 };
        self.raw.len() + self.native.len() + held
    }

    /// Whether it has yet to go on with a block that broke off.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.continued, Continued::Undecided(_))
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
        if self.found.repeats && self.is_open() {
            self.cut(FinishReason::Length);
            return !std::mem::replace(&mut self.stopped, true);
        }
        self.is_over() && self.found.end.is_none() && !std::mem::replace(&mut self.stopped, true)
    }

    pub(super) fn push(&mut self, chunk: &str) {
        match &mut self.continued {
            Continued::Undecided(undecided) => match undecided.push(chunk) {
                Look::Undecided => {}
                look => self.decide(&look),
            },
            _ => self.take(chunk),
        }
    }

    fn take(&mut self, chunk: &str) {
        self.raw.push_str(chunk);
        self.parser.push(chunk);
    }

    /// Where the reply goes on with the block that broke off, the parser reads both replies as one, from the beginning of the
    /// first: what a block is depends on all that stands before it.
    fn decide(&mut self, look: &Look) {
        let Continued::Undecided(undecided) = std::mem::take(&mut self.continued) else { return };
        let Continuation { broken, mut said, .. } = *undecided;
        self.continued = Continued::Astray;
        if let Look::GoesOn(end) = *look {
            let start = broken.start();
            self.take(&broken.into_text());
            let behind = said.split_off(end);
            self.continued = Continued::Joined { start, before: self.raw.len(), repeated: said };
            said = behind;
        }
        self.take(&said);
    }

    /// A call of the backend's own channel. Gives what to show for it.
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
        self.place(self.raw.len(), true, Item::Call(call.clone()));
        Event::Call { call: Box::new(call), index: 0, body: body.into(), span }
    }

    /// The backend says that it is done.
    pub(super) fn finish(&mut self, reason: FinishReason) {
        self.cut(reason);
        self.ended = true;
    }

    /// Nothing more is read, whether or not the backend is done. The first reason counts.
    pub(super) fn cut(&mut self, reason: FinishReason) {
        if self.is_open() {
            if matches!(self.continued, Continued::Undecided(_)) {
                self.decide(&Look::Other);
            }
            self.found.end = Some(reason);
            self.parser.finish(reason);
        }
    }

    /// The next thing to show. Nothing that stands behind a forged result is shown.
    pub(super) fn next(&mut self, ids: &mut Ids) -> Option<Event<'static>> {
        loop {
            let event = self.parser.poll()?.into_owned();
            if self.found.summary.is_behind_forgery(&event) {
                continue;
            }
            let event = match self.continued {
                Continued::Joined { start, .. } => stitched(event, start),
                _ => Some(event),
            };
            let Some(event) = event else { continue };
            let event = self.with_unique_ids(event, ids);
            self.note(&event);
            if let Some(event) = self.as_shown(event) {
                return Some(event);
            }
        }
    }

    /// The text for the history, cut where a forgery begins, and what was found.
    pub(super) fn close(mut self) -> (String, Found) {
        let first = self.placed.iter().find(|placed| !placed.native);
        let whole = first.is_some_and(|first| {
            // An object with text around it may stand in a block whose first lines are content of the one that broke off.
            let exact = |call: &ToolCall| !call.is_lossy() && !call.repairs.contains(&Repair::SurroundingText);
            let begins = self.prose.is_none_or(|prose| prose > first.at);
            begins && matches!(&first.item, Item::Call(call) if exact(call))
        });
        self.found.astray = matches!(self.continued, Continued::Astray) && !whole;
        self.found.broken = self.taken_up();
        let astray = self.found.astray;
        let item = |placed: Placed| match placed.item {
            Item::Call(call) if astray && !placed.native => {
                Item::Broken(Refusal::NotContinued.answer(&call.id, &call.name))
            }
            item => item,
        };
        self.found.items = self.placed.into_iter().map(item).collect();
        let behind = self.found.summary.opened.and_then(|end| self.raw.get(end..));
        self.found.says_nothing = behind.is_some_and(|text| text.trim().is_empty());
        if let Some(start) = self.found.summary.forged {
            self.raw.truncate(start);
            self.found.end = None;
        }
        if let Continued::Joined { before, repeated, .. } = self.continued {
            self.raw.replace_range(..before.min(self.raw.len()), &repeated);
        }
        if !self.native.is_empty() {
            let gap = if self.raw.is_empty() || self.raw.ends_with('\n') { "" } else { "\n\n" };
            self.raw.extend([gap, &self.native]);
        }
        (self.raw, self.found)
    }

    /// The event with the ids of the conversation in place of those of the parser.
    fn with_unique_ids(&mut self, mut event: Event<'static>, ids: &mut Ids) -> Event<'static> {
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

    fn note(&mut self, event: &Event<'_>) {
        let repeats = match event {
            Event::Text { text, .. } => self.text.push(text),
            Event::Reasoning { text, .. } => self.thoughts.push(text),
            _ => false,
        };
        self.found.repeats |= repeats && self.is_open();
        let tool = self.found.summary.note(event).unwrap_or_default();
        match event {
            Event::Call { call, span, .. } => self.place(span.start, false, Item::Call(ToolCall::clone(call))),
            Event::Malformed { id, error, span, .. } => {
                let failure = ToolFailure::new(ErrorCode::MalformedCall, error.answer());
                self.broken(*span, || ToolResult::refused(&**id, &*tool, failure));
            }
            Event::Incomplete { id, span, .. } => {
                let again = matches!(self.continued, Continued::Joined { start, .. } if start == span.start);
                self.broke_off = (!again).then_some(span.start);
                let why = if again { Refusal::BrokeOffAgain } else { Refusal::BrokeOff };
                self.broken(*span, || why.answer(id, &tool));
            }
            Event::Text { text, span } if !text.trim().is_empty() => {
                let prose = span.start + (text.len() - text.trim_start().len());
                self.prose = Some(self.prose.map_or(prose, |first| first.min(prose)));
            }
            Event::Reasoning { unopened: true, .. } => {
                self.placed.retain(|placed| placed.native);
                self.found.unanswered = 0;
                (self.broke_off, self.prose) = (None, None);
            }
            // What is only shown, or in the summary.
            _ => {}
        }
    }

    /// The block at the end of the reply, where the backend's limit or a broken stream ended it inside of one.
    fn taken_up(&self) -> Option<Broken> {
        let start = self.broke_off?;
        let ended = matches!(self.found.end, Some(FinishReason::Length | FinishReason::Cut));
        let is_last = self.placed.last().is_some_and(|last| last.at == start && !last.native);
        if !ended || !is_last || self.found.astray {
            return None;
        }
        Broken::new(&self.raw, start)
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

    /// Where blocks are not calls, each of them is reported as ignored.
    fn as_shown(&self, event: Event<'static>) -> Option<Event<'static>> {
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
            // Further calls of a block, what was started, how far it is and what was ignored anyway.
            _ => None,
        }
    }
}

/// An event of two replies that are read as one; `None` where it is of the first alone. The calls of the block that opens at
/// `start`, which stands in both, say so.
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
