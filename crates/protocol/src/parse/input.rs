//! The part of the reply that is still needed, split into lines as CommonMark defines them.

use super::event::Span;
use crate::FinishReason;

/// Text that was pushed and is not consumed. Indices refer to the kept text; offsets refer to the whole reply.
#[derive(Debug)]
pub(super) struct Input {
    text: String,
    /// The offset of the first kept byte.
    base: usize,
    /// The index of the current line.
    pub(super) at: usize,
    /// The index up to which the current line has no line ending.
    searched: usize,
    /// The index up to which text is consumed: delivered, or part of a completed block.
    shown: usize,
    /// The number of the current line.
    pub(super) line: usize,
    /// Characters of the current line before `at`; not zero only after a closing tag of reasoning or a token.
    pub(super) column: usize,
    pub(super) finished: Option<FinishReason>,
}

/// The next line.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputLine {
    /// One past its last byte, without its ending.
    pub(super) end: usize,
    /// The index of the line after it.
    pub(super) next: usize,
    /// Whether its ending has arrived.
    pub(super) ended: bool,
    /// Whether it was cut because of its length.
    pub(super) cut: bool,
}

impl Default for Input {
    fn default() -> Input {
        Input { text: String::new(), base: 0, at: 0, searched: 0, shown: 0, line: 1, column: 0, finished: None }
    }
}

impl Input {
    /// Appends a chunk. `drained`: all events were delivered, so the consumed prefix may be discarded.
    pub(super) fn push(&mut self, chunk: &str, drained: bool) {
        if self.finished.is_some() {
            return;
        }
        // Done only if appending would move the text anyway, so that each byte is moved a bounded number of times.
        if drained && self.text.capacity() - self.text.len() < chunk.len() {
            self.discard_consumed();
        }
        self.text.push_str(chunk);
    }

    pub(super) fn finish(&mut self, reason: FinishReason) {
        self.finished.get_or_insert(reason);
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &str {
        &self.text[from..to]
    }

    /// Returns the available part of the current line if its ending has not arrived. A final carriage return is
    /// withheld, because it may be half of a line ending.
    pub(super) fn rest(&self) -> &str {
        let rest = &self.text[self.at..];
        rest.strip_suffix('\r').unwrap_or(rest)
    }

    pub(super) fn offset(&self, index: usize) -> usize {
        self.base + index
    }

    pub(super) fn span(&self, from: usize, to: usize) -> Span {
        Span { start: self.base + from, end: self.base + to }
    }

    /// Returns the index of a byte that is still kept.
    pub(super) fn index(&self, offset: usize) -> usize {
        offset.saturating_sub(self.base).min(self.text.len())
    }

    /// Returns the next line if it is complete or the reply is over. A line of more than `most` bytes is cut there,
    /// regardless of the chunks, but never before its first character.
    pub(super) fn next_line(&mut self, most: usize) -> Option<InputLine> {
        let mut searched = self.searched;
        let line = self.line_at(self.at, &mut searched, most);
        self.searched = searched;
        line
    }

    /// Returns the line that begins at `start`, as [`next_line`](Input::next_line) does. It has no line ending before
    /// `searched`.
    pub(super) fn line_at(&self, start: usize, searched: &mut usize, most: usize) -> Option<InputLine> {
        let bytes = self.text.as_bytes();
        let found = memchr::memchr2(b'\n', b'\r', &bytes[*searched..]);
        let end = found.map_or(bytes.len(), |at| *searched + at);
        *searched = end;
        if end - start > most {
            let boundary = |at: &usize| self.text.is_char_boundary(*at);
            let cut = (start + 1..=start + most).rev().find(boundary);
            let cut = cut.or_else(|| (start + 1..end).find(boundary)).unwrap_or(end);
            return Some(InputLine { end: cut, next: cut, ended: false, cut: true });
        }
        let next = match (bytes.get(end), bytes.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => end + 2,
            // The line feed of this ending may not have arrived yet.
            (Some(b'\r'), None) if self.finished.is_none() => return None,
            (Some(_), _) => end + 1,
            (None, _) if self.finished.is_some() && start < end => end,
            (None, _) => return None,
        };
        Some(InputLine { end, next, ended: next > end, cut: false })
    }

    /// Continues after the line.
    pub(super) fn pass(&mut self, line: InputLine) {
        self.at = line.next;
        self.searched = line.next;
        if line.ended {
            self.line += 1;
            self.column = 0;
        }
    }

    /// Continues at `at` within the line, after `chars` more characters of it.
    pub(super) fn pass_within(&mut self, at: usize, chars: usize) {
        self.at = at;
        self.searched = self.searched.max(at);
        self.column += chars;
    }

    /// Goes back to an offset that is still kept, the beginning of line number `line`.
    pub(super) fn go_back(&mut self, offset: usize, line: usize) {
        self.at = self.index(offset);
        self.searched = self.at;
        self.line = line;
        self.column = 0;
    }

    /// Returns how many bytes of the current line, from the parser's place on, were delivered.
    pub(super) fn shown_of_line(&self) -> usize {
        self.shown.saturating_sub(self.at)
    }

    /// Returns the span of the text up to `end` that was not taken yet, and marks it as taken.
    pub(super) fn take_text(&mut self, end: usize) -> Option<Span> {
        if end <= self.shown {
            return None;
        }
        let span = self.span(self.shown, end);
        self.shown = end;
        Some(span)
    }

    /// Returns text that is still kept.
    pub(super) fn text(&self, span: Span) -> &str {
        &self.text[span.start - self.base..span.end - self.base]
    }

    /// Marks everything up to the offset as consumed, whether it was delivered or not.
    pub(super) fn use_up(&mut self, offset: usize) {
        self.shown = self.index(offset).max(self.shown);
    }

    /// Discards the consumed prefix when it is more than half of the text.
    fn discard_consumed(&mut self) {
        let used = self.shown.min(self.at);
        if used == self.text.len() {
            self.text.clear();
        } else if used > self.text.len() / 2 {
            self.text.drain(..used);
        } else {
            return;
        }
        self.base += used;
        self.at -= used;
        self.searched -= used;
        self.shown -= used;
    }
}
