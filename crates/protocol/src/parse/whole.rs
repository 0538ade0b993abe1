//! A tool block that is wholly there when it opens, on one line, and written as taught: read in one pass.
//!
//! A short way, never another reading. What does not fit it in every point is left to the long way as if nothing had
//! been looked at, and what it finds is what the long way would find.

use super::Parser;
use super::State;
use super::containers::LineKind;
use super::event::Span;
use super::input::Line;
use super::queue::{Item, Queue, Words};
use super::taught::{self, Parts, Telling};
use crate::json::{Listen, MOST_NESTING, Member};
use crate::{Args, ToolCall};
use std::fmt::Write;

/// Bytes of a line that are read this way.
const MOST_LINE: usize = 1 << 20;

/// Room for a string that is kept from one block to the next.
const USUAL_STRING: usize = 64 * 1024;

/// Strings of a call that are told this way: they wait in memory.
const MOST_TOLD: usize = 256;

/// Bytes of a body that is lent where it stands. A shorter one is copied, which is less work.
const LONG: usize = 1024;

/// Bytes of the path to an argument. The long way cuts longer ones; here they are left to it.
const MOST_PATH: usize = 128;

/// Room that each block uses again.
#[derive(Debug, Default)]
pub(super) struct Room {
    path: String,
    /// For a string with escapes in it.
    decoded: String,
}

impl Parser {
    /// Reads the block that opened with the line before, and passes it; whether it did.
    pub(super) fn whole_block(&mut self) -> bool {
        let limits = &self.options.limits;
        let usual = !self.block.forged && !self.block.drifted_word && !self.after_broken && !self.skipping;
        if !usual || self.calls >= limits.calls || limits.nesting < MOST_NESTING {
            return false;
        }
        let start = self.input.offset(self.input.at);
        let Some(line) = self.input.next_line(limits.block.min(MOST_LINE)).filter(|line| line.ended) else {
            return false;
        };
        if self.input.bytes(self.input.at, line.end).last() != Some(&b'}') {
            return false;
        }
        let number = self.input.line;
        let from = self.input.at;
        self.input.pass(line);
        let read = self.closing_fence().is_some_and(|closing| self.read_whole(from, line, closing));
        if !read {
            self.input.go_back(start, number);
        }
        read
    }

    /// The next line, where it closes the block.
    fn closing_fence(&mut self) -> Option<Line> {
        let line = self.input.next_line(MOST_LINE).filter(|line| line.ended)?;
        let text = self.input.slice(self.input.at, line.end);
        matches!(self.blocks.in_fence(text), Some(LineKind::Closes(_))).then_some(line)
    }

    /// The line from index `from` on is the block's only one.
    fn read_whole(&mut self, from: usize, line: Line, closing: Line) -> bool {
        let text = self.input.slice(from, line.end);
        let Some(LineKind::Inside(content)) = self.blocks.in_fence(text) else { return false };
        if content.pad > 0 || content.text.len() >= self.options.limits.block {
            return false;
        }
        let ids = &mut self.block.track.ids;
        let before = ids.given();
        let id = ids.give();
        let mut call =
            Box::new(ToolCall { id, name: String::new(), args: Args::new(), reason: None, repairs: Vec::new() });
        let ToolCall { id, name, args, reason, .. } = &mut *call;
        let parts = Parts { id: &mut None, name, args, reason };
        let read = if self.options.settled_only {
            taught::read_into(parts, content.text, &mut self.room.decoded, &mut Settled)
        } else {
            let from = self.input.offset(line.end - content.text.len());
            tell_and_read(parts, &mut self.found, id, (content.text, from), &mut self.room)
        };
        self.room.decoded.shrink_to(USUAL_STRING);
        if !read {
            self.block.track.ids.give_back(before);
            return false;
        }
        let at = self.input.span(line.end - content.text.len(), line.next);
        if content.text.len() >= LONG && self.input.text(at).strip_prefix(content.text) == Some("\n") {
            self.block.lent = Some(at);
        } else {
            self.block.body.push_str(content.text);
            self.block.body.push('\n');
        }
        self.block.span.end = self.input.offset(closing.end);
        let span = self.block.span;
        self.found.push_made(|| Item::Call { call: Some(call), index: 0, span, replaces: None });
        self.calls += 1;
        self.state = State::Prose;
        self.blocks.close_fence();
        self.input.pass(closing);
        self.input.use_up(self.block.span.end);
        true
    }
}

/// Reads the call and notes what is told of it before it is whole, but nothing where it cannot be read this way; whether
/// it can. `from` is where the text begins in the reply.
fn tell_and_read(parts: Parts<'_>, found: &mut Queue, id: &str, (text, from): (&str, usize), room: &mut Room) -> bool {
    let mark = found.mark(text.len());
    let id = found.say(id);
    room.path.clear();
    let mut teller = Teller { found, id, from, path: &mut room.path, told: 0 };
    let read = taught::read_into(parts, text, &mut room.decoded, &mut teller);
    if !read {
        found.forget(mark);
    }
    read
}

/// Nothing is told before the call is whole.
struct Settled;

impl Listen for Settled {
    fn text(&mut self, text: &str) -> bool {
        !text.starts_with("<<")
    }
}

impl Telling for Settled {
    fn has_id(&mut self) -> bool {
        false
    }
}

/// Notes what is told of the call before it is whole.
struct Teller<'a> {
    found: &'a mut Queue,
    /// The id, in the words.
    id: Words,
    /// Where the text begins in the reply.
    from: usize,
    /// The keys and indices that lead to the current value, joined by `/`.
    path: &'a mut String,
    told: usize,
}

impl Listen for Teller<'_> {
    fn enter(&mut self) -> usize {
        if !self.path.is_empty() {
            self.path.push('/');
        }
        self.path.len()
    }

    fn key(&mut self, container: usize, key: &str) -> bool {
        self.path.truncate(container);
        self.path.push_str(key);
        !key.is_empty() && self.path.len() <= MOST_PATH
    }

    fn element(&mut self, container: usize, index: usize) {
        self.path.truncate(container);
        let _ = write!(self.path, "{index}");
    }

    fn leave(&mut self, container: usize) {
        self.path.truncate(container.saturating_sub(1));
    }

    /// The path to an argument of the tool is its key: nearly every one, and not worth a path.
    fn member(&mut self, container: usize, member: &Member<'_>) -> bool {
        let &Member { key, key_at, text, text_at } = member;
        if container > 0 {
            return self.key(container, key) && self.text(text);
        }
        let Some(key_at) = key_at.filter(|_| !key.is_empty() && key.len() <= MOST_PATH) else { return false };
        if !text.is_empty() {
            let span = |at: usize, text: &str| Span { start: self.from + at, end: self.from + at + text.len() };
            self.found.whole_in_place(self.id, span(key_at, key), text_at.map(|at| span(at, text)));
            self.told += 1;
        }
        self.goes_on(text)
    }

    fn text(&mut self, text: &str) -> bool {
        if !text.is_empty() {
            self.found.whole_argument(self.id, self.path, text);
            self.told += 1;
        }
        self.goes_on(text)
    }
}

impl Teller<'_> {
    /// Whether the call is told this way, behind this text of an argument.
    fn goes_on(&self, text: &str) -> bool {
        !text.starts_with("<<") && self.told <= MOST_TOLD
    }
}

impl Telling for Teller<'_> {
    fn begins(&mut self, tool: Option<&str>) -> bool {
        if let Some(name) = tool {
            self.found.started_as(self.id, name);
        }
        tool.is_some()
    }

    fn has_id(&mut self) -> bool {
        false
    }
}
