//! Lines of an open tool block: content, the closing fence, a fence that may be either.

use super::Parser;
use super::block::Block;
use super::containers::{Containers, LineKind};
use super::cursor::Content;
use super::ending::Ending;
use super::input::Line;
use super::prose::{Word, word};
use crate::fence;

/// What the open block has of the line that is still coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// Nothing: so many of its bytes are only blanks and marks of fences.
    Undecided(usize),
    /// So many of its bytes: it is content for certain.
    Given(usize),
    /// Nothing, whatever comes: it does not continue the block's container.
    Withheld,
}

impl Default for Piece {
    fn default() -> Piece {
        Piece::Undecided(0)
    }
}

/// Bytes of a line that are read at once: what is found in them waits in memory, and may take many times their room.
pub(super) const MOST_AT_ONCE: usize = 16 * 1024;

/// What to do with a line.
enum Step {
    /// Content from this byte of the line on; `doubtful`: it may be the closing fence.
    Content { from: usize, pad: usize, doubtful: bool },
    /// The block ends. Where it ends before the line, the line is read again as prose.
    Ends(Ending),
}

impl Parser {
    pub(super) fn advance_block(&mut self) -> bool {
        match self.input.next_line(self.options.limits.block) {
            Some(line) if self.gives_part_of(line) => {}
            Some(line) => self.block_line(line),
            None => match self.input.finished {
                Some(reason) => self.end_block(Ending::Reply(reason), self.input.len()),
                None => {
                    let rest = self.input.rest().len();
                    self.piece_of_line(rest);
                    return self.settle();
                }
            },
        }
        true
    }

    /// Gives the block a part of a long line, so that what is found in it can be told before the next part is read.
    fn gives_part_of(&mut self, line: Line) -> bool {
        let (Piece::Given(seen) | Piece::Undecided(seen)) = self.piece else { return false };
        let mut end = self.input.at + seen + MOST_AT_ONCE;
        if line.end <= end {
            return false;
        }
        while !self.input.is_boundary(end) {
            end -= 1;
        }
        let before = self.piece;
        self.piece_of_line(end - self.input.at);
        self.piece != before
    }

    /// The ending of the line is not there yet, or far: give the block what is certainly content of its first `length` bytes.
    pub(super) fn piece_of_line(&mut self, length: usize) {
        if length == 0 || !self.block.takes_pieces() || self.skipping {
            return;
        }
        let rest = self.input.slice(self.input.at, self.input.at + length);
        let (pad, text) = match self.piece {
            Piece::Given(bytes) => (0, &rest[bytes..]),
            Piece::Undecided(_) if self.options.bare => (0, rest),
            Piece::Undecided(seen) => {
                if rest.bytes().skip(seen).all(|byte| matches!(byte, b' ' | b'\t' | b'`' | b'~')) {
                    self.piece = Piece::Undecided(rest.len());
                    return;
                }
                let Some(Content { pad, text }) = self.blocks.certain_content(rest) else {
                    self.piece = Piece::Withheld;
                    return;
                };
                (pad, text)
            }
            Piece::Withheld => return,
        };
        self.block.content(pad, text, &mut self.found);
        self.piece = Piece::Given(rest.len());
    }

    fn block_line(&mut self, line: Line) {
        if std::mem::replace(&mut self.skipping, line.cut) {
            self.block.span.end = self.input.offset(line.end);
            return self.pass_in_block(line);
        }
        let text = self.input.slice(self.input.at, line.end);
        let step = if self.options.bare {
            Step::Content { from: 0, pad: 0, doubtful: false }
        } else {
            step(&self.blocks, text, self.piece, &self.block)
        };
        match step {
            Step::Ends(ending @ (Ending::Fence | Ending::NextFence)) if !line.ended => {
                match self.input.finished.filter(|reason| reason.is_early()) {
                    Some(reason) => self.end_block(Ending::Reply(reason), self.input.len()),
                    None => self.end_block(ending, line.end),
                }
            }
            Step::Ends(ending) => self.end_block(ending, line.end),
            Step::Content { from, pad, doubtful } => {
                let block = &mut self.block;
                if doubtful {
                    let (end, next) = (self.input.offset(line.end), self.input.offset(line.next));
                    block.doubt(end, next, self.input.line + 1);
                }
                match std::mem::take(&mut self.piece) {
                    Piece::Given(bytes) => block.content(0, &text[bytes..], &mut self.found),
                    _ => block.content(pad, &text[from..], &mut self.found),
                }
                if line.cut {
                    block.overflow();
                } else if line.ended {
                    block.line_indent = self.blocks.fence_indent(text);
                    block.end_line((text[..from].chars().count(), pad), &mut self.found);
                }
                block.span.end = self.input.offset(line.end);
                self.pass_in_block(line);
            }
        }
        self.settle();
    }

    /// Goes on behind a line of the open block. Of a block that is too large nothing is kept, unless its candidate is.
    fn pass_in_block(&mut self, line: Line) {
        if self.block.is_too_large() && self.block.candidate.is_none() {
            self.input.use_up(self.block.span.end);
        }
        self.input.pass(line);
    }

    /// Goes back to a doubtful closing fence when what followed it does not fit; whether it did.
    fn settle(&mut self) -> bool {
        let Some(candidate) = self.block.candidate.filter(|_| self.block.candidate_was_right()) else { return false };
        self.go_back(candidate);
        true
    }
}

/// What a line is to the block, where `blocks` say what it is to CommonMark. Where a piece of it was given, it was content
/// then: how far the block is now must not matter.
fn step(blocks: &Containers, text: &str, piece: Piece, block: &Block) -> Step {
    let (content, closes) = match blocks.in_fence(text) {
        Some(LineKind::Closes(content)) => (content, true),
        Some(LineKind::Inside(content)) => (content, false),
        _ => return Step::Ends(Ending::Container),
    };
    let from = text.len() - content.text.len();
    if closes && !block.doubts_fence() {
        return Step::Ends(Ending::Fence);
    }
    let indent = content.text.len() - content.text.trim_start_matches(' ').len();
    let opens = indent + content.pad < 4
        && fence::opening(&content.text[indent..])
            .is_some_and(|opening| blocks.is_like_open(&opening) && matches!(word(&opening), Word::Tool { .. }));
    let given = matches!(piece, Piece::Given(_));
    if opens && !given && block.is_complete_object() && block.candidate.is_none() {
        return Step::Ends(Ending::NextFence);
    }
    Step::Content { from, pad: content.pad, doubtful: closes }
}
