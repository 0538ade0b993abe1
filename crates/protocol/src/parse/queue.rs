//! The queue of pending events.
//!
//! Entries are small: prose and reasoning are ranges of the reply, and the strings of provisional events share one
//! buffer that is cleared whenever everything is delivered. An `Event` is built when it is polled, so that it can
//! borrow.

use super::Reasoning;
use super::event::{Event, Ignored, Span};
use super::ids::Ids;
use std::collections::VecDeque;
use std::ops::Range;

/// A pending event. Plain ranges refer to the queue's strings.
#[derive(Debug)]
pub(super) enum Queued {
    /// Prose: a part of the reply.
    Text(Span),
    /// Reasoning: `text` is the part of the reply between the tags.
    Reasoning { text: Span, span: Span, closed: Option<bool> },
    /// A closing tag without an opening one: everything before it was reasoning.
    Unopened(Span),
    /// A call has begun.
    Started { id: Range<usize>, name: Range<usize> },
    /// The next text of an argument.
    Progress { id: Range<usize>, arg: Range<usize>, text: Range<usize> },
    /// A call that was held back, or the ignored call that it became because it was reasoning.
    Held(HeldCall),
    /// Any other event. The body in an event about the last tool block stays empty until delivery.
    Final(Event<'static>),
}

/// A call that waits until it is certain that it is not reasoning.
#[derive(Debug)]
pub(super) struct HeldCall {
    /// The event, with an empty body.
    pub(super) event: Event<'static>,
    /// The range of its block's body in the queue's bodies.
    pub(super) body: Range<usize>,
}

/// Events that were found and not delivered yet, and the ids used in them.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) ids: Ids,
    entries: VecDeque<Queued>,
    /// The strings of the provisional events.
    strings: String,
    /// Whether provisional events are dropped.
    settled_only: bool,
    /// Calls are held back while this is [`Reasoning::Unknown`].
    reasoning: Reasoning,
    /// The calls that are held back. Later events overtake them.
    held: Vec<HeldCall>,
    /// The bodies of the held calls' blocks, concatenated. The calls of a block share one body, so the length is at
    /// most that of the reply.
    bodies: String,
}

impl Queue {
    /// Creates a queue. With [`Reasoning::Unknown`], calls are held back until they are [released](Queue::release).
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

    /// Returns `true` if calls are being held back.
    pub(super) fn is_holding(&self) -> bool {
        self.reasoning == Reasoning::Unknown
    }

    /// Returns `true` if at least one call is held back.
    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds back the event of a call whose block has this body. `is_first`: it is the first call of its block.
    pub(super) fn hold(&mut self, event: Event<'static>, is_first: bool, body: &str) {
        // The calls of a block are held back consecutively and share its body.
        let body = match self.held.last() {
            Some(last) if !is_first => last.body.clone(),
            _ => {
                self.bodies.push_str(body);
                self.bodies.len() - body.len()..self.bodies.len()
            }
        };
        self.held.push(HeldCall { event, body });
    }

    /// Queues the held calls and stops holding back calls. With `thought`, none of them counts.
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

    /// Returns the body of a call that was held back.
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
        // Freed only now, because the event that was polled last may still have borrowed a body.
        if entry.is_none() && !self.is_holding() {
            self.bodies = String::new();
        }
        entry
    }

    /// Returns a string of the entry that was delivered last or of a pending one.
    pub(super) fn str(&self, range: Range<usize>) -> &str {
        &self.strings[range]
    }

    /// Queues the provisional event that a call has begun.
    pub(super) fn push_started(&mut self, id: &str, name: &str) {
        if self.settled_only {
            return;
        }
        self.recycle();
        let (id, name) = (self.store(id), self.store(name));
        self.push(Queued::Started { id, name });
    }

    /// Queues the provisional event with more text of an argument.
    pub(super) fn push_progress(&mut self, id: &str, arg: &str, text: &str) {
        if self.settled_only || text.is_empty() {
            return;
        }
        self.recycle();
        // The lexer splits a long run of escapes into many small pieces. They are merged into one entry, or the queue
        // would need many times the memory of the text.
        if let Some(Queued::Progress { id: last_id, arg: last_arg, text: last }) = self.entries.back_mut()
            && &self.strings[last_id.clone()] == id
            && &self.strings[last_arg.clone()] == arg
        {
            self.strings.push_str(text);
            last.end = self.strings.len();
            return;
        }
        let (id, arg, text) = (self.store(id), self.store(arg), self.store(text));
        self.push(Queued::Progress { id, arg, text });
    }

    /// Clears the strings once everything is delivered. It does not run on delivery, because the last polled event
    /// still borrows them.
    fn recycle(&mut self) {
        if self.entries.is_empty() {
            self.strings.clear();
        }
    }

    fn store(&mut self, text: &str) -> Range<usize> {
        let start = self.strings.len();
        self.strings.push_str(text);
        start..self.strings.len()
    }
}
