//! What the next piece of a reply most likely is: tried first, so that the usual piece is taken without a look at what is
//! open.
//!
//! A short way, never another reading. It is chosen when everything before is read and told; a piece that is something
//! else is left to the long way, and what was done by then the long way would have done too.

use super::body::{MOST_AT_ONCE, Piece};
use super::event::Span;
use super::line_gate::LineGate;
use super::{Parser, State};
use std::ops::Range;

/// Bytes of a piece of a string that is worth keeping.
const LONG: usize = 256;

/// What the next piece is tried as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Expects {
    /// Nothing is known of it.
    #[default]
    Anything,
    /// More of a line that is known to be text.
    Words,
    /// Prose, at the beginning of a line or where it is not known yet what the line is.
    Line,
    /// More of the text of an argument that is told as it comes.
    Argument,
    /// More of a line of an open tool block.
    Content,
}

/// What a piece turned out to be.
pub(super) enum Taken {
    /// Text that was not told yet.
    Text(Span),
    /// More of the text of an argument: the words that were found.
    Argument,
    /// The same: what is kept of it from here on.
    Kept(usize),
    /// All of it is read: nothing is left but what was found in it.
    All,
    /// Something else.
    Other,
}

impl Parser {
    /// What comes next, where all that came is read and told.
    pub(super) fn expected(&self) -> Expects {
        if self.input.finished.is_some() || self.skipping {
            return Expects::Anything;
        }
        match (&self.state, self.piece) {
            (State::Prose, _) if self.hold == LineGate::Free => Expects::Words,
            // A byte order mark is no part of the first line.
            (State::Prose, _) if self.input.offset(self.input.at) > 0 => Expects::Line,
            (State::Block, Piece::Given(_)) if self.block.candidate.is_none() => {
                if self.block.tells_text() {
                    Expects::Argument
                } else {
                    Expects::Content
                }
            }
            _ => Expects::Anything,
        }
    }

    /// Takes what came, where it is nothing but more of a line that is known to be text. Where it was told is said.
    #[inline(always)]
    pub(super) fn take_words(&mut self) -> Option<Span> {
        if !self.input.only_words(self.options.limits.block) {
            return None;
        }
        self.input.take_text(self.input.len())
    }

    /// Takes what came, where it is nothing but text of the open argument that stands for itself; says how long it is.
    #[inline(always)]
    pub(super) fn take_argument(&mut self) -> Option<usize> {
        let part = self.part_of_line()?;
        let length = part.len();
        let taken = !self.options.settled_only && self.block.plain_text(self.input.slice(part.start, part.end));
        taken.then(|| {
            self.part_taken();
            length
        })
    }

    /// What came of the line of the open block, where it is not much.
    #[inline(always)]
    fn part_of_line(&self) -> Option<Range<usize>> {
        let Piece::Given(seen) = self.piece else { return None };
        let part = self.input.at + seen..self.input.len();
        let usual = !part.is_empty() && part.len() <= MOST_AT_ONCE;
        (usual && self.input.goes_on(self.options.limits.block)).then_some(part)
    }

    /// The block has all that came of its line, and no line ending is in it.
    #[inline(always)]
    fn part_taken(&mut self) {
        self.input.searched_all();
        self.piece = Piece::Given(self.input.len() - self.input.at);
    }

    /// Takes what came, where it is nearly what was expected: a line of prose begins or ends in it, or text of an argument
    /// has escapes.
    #[inline(never)]
    pub(super) fn take_expected(&mut self) -> Taken {
        match std::mem::take(&mut self.expects) {
            Expects::Anything => Taken::Other,
            Expects::Words | Expects::Line => self.take_prose(),
            Expects::Argument => self.take_escaped().unwrap_or_else(|| self.take_content()),
            Expects::Content => self.take_content(),
        }
    }

    /// Whole lines that can be nothing else than prose, and the beginning of one.
    fn take_prose(&mut self) -> Taken {
        let most = self.options.limits.block;
        if !self.input.only_words(most) {
            self.plain_lines();
            if !self.input.only_words(most) {
                return Taken::Other;
            }
        }
        let length = self.input.len() - self.input.at;
        if self.hold != LineGate::Free && length > 0 {
            self.hold_more(length);
            if self.hold != LineGate::Free {
                return Taken::Other;
            }
        }
        self.input.take_text(self.input.len()).map_or(Taken::All, Taken::Text)
    }

    /// Text of the open argument with escapes of two bytes.
    fn take_escaped(&mut self) -> Option<Taken> {
        let part = self.part_of_line()?;
        let text = self.input.slice(part.start, part.end);
        let taken = if self.options.settled_only && self.block.plain_text(text) {
            Taken::All
        } else if text.len() >= LONG && self.block.keeps() {
            Taken::Kept(self.block.kept_text(text)?)
        } else {
            self.block.escaped_text(text, self.found.fresh_words()).then_some(Taken::Argument)?
        };
        self.part_taken();
        Some(taken)
    }

    /// More of a line of the open block, whatever it says.
    fn take_content(&mut self) -> Taken {
        let Some(part) = self.part_of_line() else { return Taken::Other };
        if !self.block.takes_pieces() || !self.input.only_words(self.options.limits.block) {
            return Taken::Other;
        }
        self.block.content(0, self.input.slice(part.start, part.end), &mut self.found);
        self.part_taken();
        Taken::All
    }
}
