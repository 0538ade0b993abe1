//! What was found and is not told yet: cheap to note, made into an event when it is asked for.
//!
//! Nothing here is a text of its own. Prose is a range of the reply, and so is what an argument says as it stands there; a
//! block's content stands in the block. What arguments say otherwise stands in one buffer that is emptied whenever
//! everything is told.

use super::event::{Ignored, ReadError, Span};
use crate::ToolCall;
use serde_json::Value;

/// A range of the words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    start: usize,
    end: usize,
}

/// One thing found.
#[derive(Debug)]
pub(super) enum Item {
    /// Prose: so much of the reply.
    Text(Span),
    /// `text` is what stands between the tags.
    Reasoning {
        text: Span,
        span: Span,
        closed: Option<bool>,
    },
    /// Ranges of the words.
    Started {
        id: Words,
        name: Words,
    },
    /// The first text of an argument, or all of it where no more can follow.
    Argument {
        id: Words,
        arg: Words,
        text: Words,
        grows: bool,
    },
    /// The whole text of an argument, where it stands: in the reply, or in the call that is the last thing found.
    Whole {
        id: Words,
        arg: Span,
        text: Option<Span>,
    },
    /// More text of the same argument.
    Progress(Words),
    /// A call of the last block, and so are the next three: its content stands there.
    Call {
        call: Option<Box<ToolCall>>,
        index: usize,
        span: Span,
        replaces: Option<String>,
    },
    Malformed {
        id: String,
        error: Option<Box<ReadError>>,
        span: Span,
    },
    Incomplete {
        id: String,
        span: Span,
    },
    ForgedResult(Span),
    Ignored {
        why: Ignored,
        body: String,
        span: Span,
    },
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    items: Vec<Item>,
    /// How many of them are told.
    told: usize,
    /// Nothing provisional is noted.
    settled_only: bool,
    /// What the provisional items say.
    words: String,
    /// The id of the call that is growing and, from `arg` on, the argument, as far as it is told.
    growing: String,
    arg: usize,
}

/// How much was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    items: usize,
    words: usize,
}

impl Queue {
    pub(super) fn new(settled_only: bool) -> Queue {
        Queue { settled_only, ..Queue::default() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.told == self.items.len()
    }

    #[inline]
    pub(super) fn push(&mut self, item: Item) {
        self.forget_told();
        self.items.push(item);
    }

    /// The same for what is found often: it is made where it stays, not copied there.
    #[inline(always)]
    pub(super) fn push_made(&mut self, make: impl FnOnce() -> Item) {
        self.forget_told();
        self.add(make);
    }

    #[inline(always)]
    fn add(&mut self, make: impl FnOnce() -> Item) {
        if self.items.len() < self.items.capacity() { self.items.push(make()) } else { self.add_slowly(make()) }
    }

    #[cold]
    fn add_slowly(&mut self, item: Item) {
        self.items.push(item);
    }

    pub(super) fn extend(&mut self, item: Option<Item>) {
        if let Some(item) = item {
            self.push(item);
        }
    }

    /// Where the next item stands, for [`item`](Queue::item).
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        if let Item::Argument { id, arg, grows: true, .. } = *self.items.get(self.told)? {
            self.grow(id, arg);
        }
        self.told += 1;
        Some(self.told - 1)
    }

    /// More may follow of the argument that is told next.
    #[inline(never)]
    fn grow(&mut self, id: Words, arg: Words) {
        self.growing.clear();
        self.growing.reserve(id.end - id.start + arg.end - arg.start);
        self.growing.push_str(&self.words[id.start..id.end]);
        self.arg = self.growing.len();
        self.growing.push_str(&self.words[arg.start..arg.end]);
    }

    /// An item that was told, until another one is found.
    #[inline]
    pub(super) fn item(&mut self, at: usize) -> &mut Item {
        &mut self.items[at]
    }

    /// When nothing waits, all items and words are told.
    #[inline]
    fn forget_told(&mut self) {
        if self.is_empty() {
            self.items.clear();
            self.told = 0;
            self.words.clear();
        }
    }

    #[inline]
    pub(super) fn words(&self, range: Words) -> &str {
        &self.words[range.start..range.end]
    }

    /// Room for words, where nothing waits.
    pub(super) fn fresh_words(&mut self) -> &mut String {
        debug_assert!(self.is_empty(), "what waits is said in the words");
        self.words.clear();
        &mut self.words
    }

    pub(super) fn all_words(&self) -> &str {
        &self.words
    }

    /// The id and the argument that are growing.
    #[inline]
    pub(super) fn growing(&self) -> (&str, &str) {
        self.growing.split_at(self.arg)
    }

    pub(super) fn started(&mut self, id: &str, name: &str) {
        if self.settled_only {
            return;
        }
        self.forget_told();
        let id = self.say(id);
        self.started_as(id, name);
    }

    /// The same, where the id was said behind a [`mark`](Queue::mark).
    #[inline]
    pub(super) fn started_as(&mut self, id: Words, name: &str) {
        let name = self.say(name);
        self.add(|| Item::Started { id, name });
    }

    /// The first text of an argument.
    pub(super) fn argument(&mut self, id: &str, arg: &str, text: &str) {
        if self.settled_only {
            return;
        }
        self.forget_told();
        let (id, arg, text) = (self.say(id), self.say(arg), self.say(text));
        self.add(|| Item::Argument { id, arg, text, grows: true });
    }

    /// The whole text of an argument, where the id was said behind a [`mark`](Queue::mark).
    #[inline]
    pub(super) fn whole_argument(&mut self, id: Words, arg: &str, text: &str) {
        let (arg, text) = (self.say(arg), self.say(text));
        self.add(|| Item::Argument { id, arg, text, grows: false });
    }

    /// The same, where it need not be copied: it stands in the reply, or in the call, which is found next and last.
    #[inline]
    pub(super) fn whole_in_place(&mut self, id: Words, arg: Span, text: Option<Span>) {
        self.add(|| Item::Whole { id, arg, text });
    }

    /// The text of an argument of the call that was found last.
    pub(super) fn text_in_call(&self, arg: &str) -> &str {
        match self.items.last() {
            Some(Item::Call { call: Some(call), .. }) => call.args.get(arg).and_then(Value::as_str).unwrap_or_default(),
            _ => "",
        }
    }

    /// More text of the same argument.
    pub(super) fn progress(&mut self, text: &str) {
        if self.settled_only {
            return;
        }
        self.forget_told();
        let more = self.say(text);
        match self.items.last_mut() {
            Some(Item::Argument { text, .. } | Item::Progress(text)) => text.end = more.end,
            _ => self.add(|| Item::Progress(more)),
        }
    }

    /// What was found so far, for [`forget`](Queue::forget). Makes room for a call of so many bytes.
    #[inline]
    pub(super) fn mark(&mut self, bytes: usize) -> Mark {
        const USUAL_ITEMS: usize = 8;
        const USUAL_WORDS: usize = 1024;
        self.forget_told();
        self.items.reserve(USUAL_ITEMS);
        self.words.reserve((2 * bytes).min(USUAL_WORDS));
        Mark { items: self.items.len(), words: self.words.len() }
    }

    /// Forgets what was found since; nothing of it may have been told.
    pub(super) fn forget(&mut self, mark: Mark) {
        self.items.truncate(mark.items);
        self.words.truncate(mark.words);
    }

    #[inline]
    pub(super) fn say(&mut self, text: &str) -> Words {
        let start = self.words.len();
        self.words.push_str(text);
        Words { start, end: self.words.len() }
    }
}
