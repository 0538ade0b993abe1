//! The queue of pending events.
//!
//! An entry is small: prose and reasoning are ranges of the reply, the strings of provisional events stand in one
//! buffer that is emptied whenever everything is delivered. The `Event` is built when it is polled, so that it can
//! borrow.

use super::Reasoning;
use super::event::{Event, Ignored, Span};
use super::ids::Ids;
use std::collections::VecDeque;
use std::ops::Range;

/// A pending event. Ranges without a type of their own are ranges of the queue's strings.
#[derive(Debug)]
pub(super) enum Queued {
    /// This part of the reply is prose.
    Text(Span),
    /// `text` is the part of the reply between the tags.
    Reasoning { text: Span, span: Span, closed: Option<bool> },
    /// The closing tag that stands here shows that all before it was thought.
    Unopened(Span),
    /// A call has begun.
    Started { id: Range<usize>, name: Range<usize> },
    /// More text of an argument.
    Progress { id: Range<usize>, arg: Range<usize>, text: Range<usize> },
    /// A call that was held back, or an ignored one if it was only thought.
    Held(HeldCall),
    /// Any other event. Where it is about the last tool block its body is left empty: it is filled in on delivery.
    Final(Event<'static>),
}

/// A call that waits until it is certain that it was not thought.
#[derive(Debug)]
pub(super) struct HeldCall {
    /// Its body is left empty.
    pub(super) event: Event<'static>,
    /// The body of its block in the queue's bodies.
    pub(super) body: Range<usize>,
}

/// Events that were found and not delivered yet, and the ids that were given in them.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) ids: Ids,
    entries: VecDeque<Queued>,
    /// What the provisional events say.
    strings: String,
    /// Provisional events are dropped.
    settled_only: bool,
    /// Calls are held back while this is [`Reasoning::Unknown`].
    reasoning: Reasoning,
    /// Calls that are held back. The events behind them overtake them.
    held: Vec<HeldCall>,
    /// The bodies of the blocks that calls were held back of, one behind the other. The calls of a block share one, so that
    /// its length is at most that of the reply.
    bodies: String,
}

impl Queue {
    /// With [`Reasoning::Unknown`], calls are held back until they are [released](Queue::release).
    pub(super) fn new(settled_only: bool, reasoning: Reasoning) -> Queue {
        Queue {
            ids: Ids::default(),
            entries: VecDeque::new(),
            strings: String::new(),
            settled_only,
            reasoning,
            held: Vec::new(),
            bodies: String::new(),
        }
    }

    /// Whether calls are held back.
    pub(super) fn holds(&self) -> bool {
        self.reasoning == Reasoning::Unknown
    }

    /// Whether a call is held back.
    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds back the event of a call of the block with this body. `is_first`: it is the first one of its block.
    pub(super) fn hold(&mut self, event: Event<'static>, is_first: bool, body: &str) {
        // The calls of a block are held back one after the other, and all have its body.
        let body = match self.held.last() {
            Some(last) if !is_first => last.body.clone(),
            _ => {
                self.bodies.push_str(body);
                self.bodies.len() - body.len()..self.bodies.len()
            }
        };
        self.held.push(HeldCall { event, body });
    }

    /// Queues the calls that were held back, and holds back no more. `thought`: none of them counts.
    pub(super) fn release(&mut self, thought: bool) {
        self.reasoning = Reasoning::Known;
        for HeldCall { mut event, body } in std::mem::take(&mut self.held) {
            if let (Event::Call { call, span, .. }, true) = (&event, thought) {
                let (id, name) = (Some(call.id.clone().into()), Some(call.name.clone().into()));
                event = Event::Ignored { why: Ignored::Reasoning, id, name, body: "".into(), span: *span };
            }
            self.push(Queued::Held(HeldCall { event, body }));
        }
    }

    /// The body of a call that was held back.
    pub(super) fn body(&self, range: Range<usize>) -> &str {
        &self.bodies[range]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn push(&mut self, entry: Queued) {
        self.entries.push_back(entry);
    }

    pub(super) fn push_event(&mut self, event: Event<'static>) {
        self.push(Queued::Final(event));
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        let entry = self.entries.pop_front();
        if entry.is_none() && !self.holds() {
            self.bodies = String::new();
        }
        entry
    }

    /// A string of an entry that was delivered last, or is still waiting.
    pub(super) fn str(&self, range: Range<usize>) -> &str {
        &self.strings[range]
    }

    /// A call has begun. Provisional.
    pub(super) fn started(&mut self, id: &str, name: &str) {
        if self.settled_only {
            return;
        }
        self.recycle();
        let (id, name) = (self.keep(id), self.keep(name));
        self.push(Queued::Started { id, name });
    }

    /// More text of an argument. Provisional.
    pub(super) fn progress(&mut self, id: &str, arg: &str, text: &str) {
        if self.settled_only || text.is_empty() {
            return;
        }
        self.recycle();
        // The lexer gives a long run of escapes in many small pieces. One entry takes them all, or the queue would need
        // many times the memory of the text.
        if let Some(Queued::Progress { id: last_id, arg: last_arg, text: last }) = self.entries.back_mut()
            && &self.strings[last_id.clone()] == id
            && &self.strings[last_arg.clone()] == arg
        {
            self.strings.push_str(text);
            last.end = self.strings.len();
            return;
        }
        let (id, arg, text) = (self.keep(id), self.keep(arg), self.keep(text));
        self.push(Queued::Progress { id, arg, text });
    }

    /// Empties the strings where everything is delivered. Not on delivery: the event that was polled last still borrows
    /// them.
    fn recycle(&mut self) {
        if self.entries.is_empty() {
            self.strings.clear();
        }
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.strings.len();
        self.strings.push_str(text);
        start..self.strings.len()
    }
}
