//! Tells the first call of a section while it comes.
//!
//! The reader of the dialect says what stands where ([`Sketch`]). From there on the follower needs no reader: it takes JSON to the
//! end of its first value, or a raw text to what may be its closing token. What is told depends on the text alone and not on
//! when the reader was asked, for everything that is known is told before the section is decided.

use super::MOST_AT_ONCE;
use crate::Dialect;
use crate::clip::floor_boundary;
use crate::parse::block::Block;
use crate::parse::dialect::python::{self, EscapeStep};
use crate::parse::dialect::sketch::{Literal, Sketch};
use crate::parse::queue::Queue;

/// How often the reader is asked only to learn what can be told. After that a section is read when there is twice as much of it.
const MOST_LOOKS: u32 = 64;

#[derive(Debug, Default)]
pub(super) struct Follower {
    sketch: Sketch,
    /// The parser knows that a call begins.
    begun: bool,
    /// The name was told, or the JSON is being followed.
    started: bool,
    /// Up to here the JSON was followed, and whether more of it may come.
    fed: usize,
    json_ended: bool,
    /// So many texts were told whole.
    texts: usize,
    /// Up to here the next one was told.
    told: usize,
    /// Up to here stands no closing token of it.
    searched: usize,
    /// It begins as the announcement of a body does: what it is in the end is not its text.
    silent: bool,
    /// The literals before it that are one text with it are empty.
    empty: bool,
    looks: u32,
    /// Up to here bytes were looked for that make it worth to ask the reader.
    looked: usize,
}

impl Follower {
    /// The dialect, where it has just become certain that a call begins.
    pub(super) fn begins(&mut self) -> Option<Dialect> {
        let begins = self.sketch.begun && !std::mem::replace(&mut self.begun, self.sketch.begun);
        self.sketch.dialect.filter(|_| begins)
    }

    /// Whether it is certain that a call has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether some argument of the section is raw text.
    pub(super) fn is_raw(&self) -> bool {
        self.sketch.raw
    }

    /// Takes what the reader says of the text so far.
    pub(super) fn take(&mut self, sketch: Sketch) {
        self.sketch = sketch;
    }

    /// Queues what is known and was not told yet, some of it at a time. Returns whether there may be more.
    pub(super) fn tell(&mut self, text: &str, block: &mut Block, queue: &mut Queue) -> bool {
        if !self.begun {
            return self.sketch.begun;
        }
        block.guessed |= self.sketch.guessed;
        if !std::mem::replace(&mut self.started, true) {
            block.preview.begin(self.sketch.name.as_deref(), self.sketch.id.as_deref(), queue);
            return true;
        }
        match self.sketch.json {
            Some(start) => {
                // A name may have been told long before it was known that JSON follows it.
                block.preview.form = self.sketch.form;
                self.follow_json(start, text, block, queue)
            }
            None => self.follow_texts(text, block, queue),
        }
    }

    fn follow_json(&mut self, start: usize, text: &str, block: &mut Block, queue: &mut Queue) -> bool {
        let from = self.fed.max(start);
        let end = floor_boundary(text, from + MOST_AT_ONCE);
        if self.json_ended || end <= from {
            return false;
        }
        self.json_ended = !block.follow(&text[from..end], queue);
        self.fed = end;
        true
    }

    fn follow_texts(&mut self, text: &str, block: &mut Block, queue: &mut Queue) -> bool {
        let Some(raw) = self.sketch.texts.get(self.texts) else { return false };
        if let Some(literal) = raw.literal {
            return self.follow_literal(literal, text, block, queue);
        }
        let limit = raw.end.unwrap_or_else(|| {
            let from = self.searched.max(raw.from);
            let close = raw.close.as_bytes();
            let found = memchr::memmem::find(&text.as_bytes()[from..], close).map(|at| from + at);
            // What may become the closing token is looked at again with what follows it.
            let beginning = (1..close.len().min(text.len() - from + 1)).rev();
            let cut = || beginning.clone().find(|length| text.as_bytes().ends_with(&close[..*length])).unwrap_or(0);
            let limit = found.unwrap_or_else(|| text.len() - cut());
            self.searched = limit;
            limit
        });
        let (start, end) = raw.certain(text, limit);
        if start < end && self.told <= start {
            let certain = &text[start..end];
            if certain == "<" && raw.end.is_none() {
                return false;
            }
            self.silent = certain.starts_with("<<");
            block.preview.saw_mark |= self.silent;
        }
        let piece = text.get(self.told.max(start)..end).unwrap_or_default();
        if !piece.is_empty() {
            self.told = end;
            if !self.silent {
                block.preview.tell(&raw.arg, piece, queue);
            }
        }
        if raw.end.is_some() {
            (self.told, self.searched, self.silent) = (0, 0, false);
            self.texts += 1;
            return true;
        }
        false
    }

    /// Tells a piece of a string literal, in which escapes stand for what is told.
    fn follow_literal(&mut self, literal: Literal, text: &str, block: &mut Block, queue: &mut Queue) -> bool {
        let Some(raw) = self.sketch.texts.get(self.texts) else { return false };
        let begins = self.told <= raw.start;
        let mut at = self.told.max(raw.start);
        let mut piece = String::new();
        while let EscapeStep::On(next) = python::step(text, at, &raw.close, literal.raw, &mut piece) {
            at = next;
        }
        // Of several literals that are one text the first that is not empty says how it begins.
        let before = self.texts.checked_sub(1).and_then(|last| self.sketch.texts.get(last));
        let first = self.empty || before.is_none_or(|before| before.arg != raw.arg);
        if begins {
            if piece == "<" && raw.end.is_none() && first {
                return false;
            }
            if first {
                self.silent = piece == "<" || piece.starts_with("<<");
                block.preview.saw_mark |= self.silent;
            }
        }
        (self.told, self.searched) = (at, at);
        if !piece.is_empty() && !self.silent {
            block.preview.tell(&raw.arg, &piece, queue);
        }
        if raw.end.is_some() {
            self.empty = first && raw.end == Some(raw.start);
            (self.told, self.searched) = (0, 0);
            self.texts += 1;
            return true;
        }
        false
    }

    /// Whether bytes came that make it worth to ask the reader what can be told.
    pub(super) fn wants_reading(&mut self, text: &str) -> bool {
        let from = match self.sketch.texts.get(self.texts) {
            _ if self.sketch.whole || self.begun && self.sketch.json.is_some() || self.looks >= MOST_LOOKS => {
                return false;
            }
            // Nothing but its closing token ends an open text.
            Some(raw) if !text[self.searched..].starts_with(raw.close.as_str()) => return false,
            Some(_) => self.looked.max(self.searched),
            None => self.looked,
        };
        let bytes = text.as_bytes();
        let wants = if self.sketch.python {
            // Whether a quote is one of three shows what follows it.
            let near = &bytes[from.saturating_sub(2)..];
            text.len() > self.looked && memchr::memchr3(b'"', b'\'', b')', near).is_some()
        } else {
            memchr::memchr2(b'>', b'{', &bytes[from..]).is_some()
        };
        self.looked = text.len();
        self.looks += u32::from(wants);
        wants
    }
}
