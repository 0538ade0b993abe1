//! Lines outside of tool blocks: what is shown at once, and what opens a block.

use super::containers::LineKind;
use super::event::{Ignored, Span};
use super::input::Line;
use super::line_gate::LineGate;
use super::queue::Item;
use super::reasoning;
use super::{Parser, State};
use crate::fence::{self, Opening};

/// What the first word of an info string makes of a fenced code block.
pub(super) enum Word {
    Tool { drifted: bool },
    Result,
    Other,
}

#[inline]
pub(super) fn word(opening: &Opening<'_>) -> Word {
    match opening.word().strip_prefix("tool") {
        Some("") => Word::Tool { drifted: false },
        Some("_call" | "_code") => Word::Tool { drifted: true },
        Some("_result") => Word::Result,
        _ => Word::Other,
    }
}

impl Parser {
    pub(super) fn advance_prose(&mut self) -> bool {
        if self.input.offset(self.input.at) == 0 && self.input.rest().starts_with('\u{feff}') {
            self.input.pass_within('\u{feff}'.len_utf8(), 1);
        }
        loop {
            if self.plain_lines() && self.input.is_large() {
                self.show(self.input.at);
            }
            let Some(line) = self.input.next_line(self.options.limits.block) else { break };
            self.prose_line(line);
            if !self.found.is_empty() || !matches!(self.state, State::Prose) {
                return true;
            }
        }
        if self.input.finished.is_none() {
            return self.beginning_of_line();
        }
        let ignored = self.decoys.over();
        self.show(self.input.len());
        self.found.extend(ignored);
        self.end()
    }

    /// The ending of the line is not there yet: show what can be nothing but text, open reasoning at once.
    fn beginning_of_line(&mut self) -> bool {
        if self.skipping {
            self.show(self.input.len());
            return false;
        }
        self.hold_more(self.input.rest().len());
        let rest = self.input.rest();
        if let Some((indent, tag)) = reasoning::opening(rest)
            && reasoning::opens(&self.blocks, rest, indent, tag, false)
        {
            self.open_reasoning(indent, tag);
            return true;
        }
        let held = if self.hold == LineGate::Free { self.hold_seen } else { 0 };
        self.show(self.input.at + held);
        false
    }

    /// Looks at what was not looked at of the first bytes of the line: whether it may be shown.
    pub(super) fn hold_more(&mut self, length: usize) {
        let seen = self.hold_seen.min(length);
        let at = self.input.at;
        self.hold = self.hold.feed(self.input.bytes(at + seen, at + length));
        self.hold_seen = length;
    }

    fn prose_line(&mut self, line: Line) {
        self.hold = LineGate::default();
        self.hold_seen = 0;
        let passes = self.skipping;
        self.skipping = line.cut;
        if !passes {
            let text = self.input.slice(self.input.at, line.end);
            if let Some((indent, tag)) = reasoning::opening(text)
                && reasoning::opens(&self.blocks, text, indent, tag, true)
            {
                self.skipping = false;
                return self.open_reasoning(indent, tag);
            }
            self.block_structure(line);
        }
        let in_block = matches!(self.state, State::Block);
        self.input.pass(line);
        if in_block {
            self.whole_block();
        } else if self.skipping || self.input.is_large() {
            self.show(self.input.at);
        }
    }

    /// Takes the lines that can be neither a fence nor anything that is watched: nearly all. Whether there were any.
    pub(super) fn plain_lines(&mut self) -> bool {
        if self.skipping || !self.decoys.is_quiet() {
            return false;
        }
        let before = self.input.at;
        self.input.pass_lines(self.options.limits.block, |line| self.blocks.plain_line(line));
        let passed = self.input.at > before;
        if passed {
            self.hold = LineGate::default();
            self.hold_seen = 0;
        }
        passed
    }

    /// What the line is to CommonMark.
    fn block_structure(&mut self, line: Line) {
        let at = self.input.at;
        let text = self.input.slice(at, line.end);
        let span = self.input.span(at, line.end);
        let kind = self.blocks.line(text);
        let over = match kind {
            LineKind::Inside(_) | LineKind::Closes(_) => None,
            LineKind::Opens(..) => self.decoys.over(),
            _ => self.decoys.fence_ends(None),
        };
        let found = match kind {
            LineKind::Inside(content) => self.decoys.inside(content.text, span),
            LineKind::Closes(_) => self.decoys.fence_ends(Some(span)),
            LineKind::Html(rest) => self.decoys.draw(Ignored::Html, rest, span),
            LineKind::Indented(rest) => self.decoys.draw(Ignored::Indentation, rest, span),
            LineKind::Prose if fence::is_blank(text) => None,
            LineKind::Prose => self.decoys.prose(),
            LineKind::Opens(opening, offset) => {
                let word = word(&opening);
                let span = Span { start: span.start + offset, end: span.end };
                if self.opens_block(&word) {
                    self.announce(over, at);
                    return self.open_tool_block(&word, at + offset, span);
                }
                let why = if self.blocks.in_quote() { Ignored::Quote } else { Ignored::InfoWord };
                self.decoys.fence(why, opening, span);
                None
            }
        };
        self.announce(over.or(found), line.end);
    }

    fn opens_block(&self, word: &Word) -> bool {
        !matches!(word, Word::Other) && !self.blocks.in_quote()
    }

    /// Notes what was found, behind the text up to `at`: the end of a line, for its beginning may be shown already.
    fn announce(&mut self, item: Option<Item>, at: usize) {
        if item.is_some() {
            self.show(at);
            self.found.extend(item);
        }
    }

    fn open_tool_block(&mut self, word: &Word, at: usize, span: Span) {
        self.show(at);
        self.open_block(span, self.input.line + 1);
        self.block.forged = matches!(word, Word::Result);
        self.block.drifted_word = matches!(word, Word::Tool { drifted: true });
    }
}
