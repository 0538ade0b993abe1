//! Lines of an open tool block: content, the closing fence, a fence that may be either.

use super::block::Block;
use super::blocks::Kind;
use super::cursor::Content;
use super::ending::Ending;
use super::input::Line;
use super::{Parser, State};
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
            Some(line) => self.block_line(line),
            None => match self.input.finished {
                Some(reason) => self.end_block(Ending::Reply(reason), self.input.len()),
                None => {
                    self.piece_of_line();
                    return self.settle();
                }
            },
        }
        true
    }

    /// The ending of the line is not there yet: give the block what is certainly content.
    pub(super) fn piece_of_line(&mut self) {
        let State::Block(block) = &mut self.state else { return };
        if !block.takes_pieces() || self.skipping {
            return;
        }
        let rest = self.input.rest();
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
        block.content(pad, text, &mut self.queue);
        self.piece = Piece::Given(rest.len());
    }

    fn block_line(&mut self, line: Line) {
        let State::Block(block) = &mut self.state else { return };
        if std::mem::replace(&mut self.skipping, line.cut) {
            block.span.end = self.input.offset(line.end);
            return self.pass_in_block(line);
        }
        let text = self.input.slice(self.input.at, line.end);
        let step = if self.options.bare {
            Step::Content { from: 0, pad: 0, doubtful: false }
        } else {
            step(self.blocks.in_fence(text), text, block)
        };
        match step {
            Step::Ends(ending) => self.end_block(ending, line.end),
            Step::Content { from, pad, doubtful } => {
                if doubtful {
                    let (end, next) = (self.input.offset(line.end), self.input.offset(line.next));
                    block.doubt(end, next, self.input.line + 1);
                }
                match std::mem::take(&mut self.piece) {
                    Piece::Given(bytes) => block.content(0, &text[bytes..], &mut self.queue),
                    _ => block.content(pad, &text[from..], &mut self.queue),
                }
                if line.cut {
                    block.overflow();
                } else if line.ended {
                    block.end_line(text[..from].chars().count(), &mut self.queue);
                }
                block.span.end = self.input.offset(line.end);
                self.pass_in_block(line);
            }
        }
        self.settle();
    }

    /// Goes on behind a line of the open block. Of a block that is too large nothing is kept, unless its candidate is.
    fn pass_in_block(&mut self, line: Line) {
        if let State::Block(block) = &self.state
            && block.is_too_large()
            && block.candidate.is_none()
        {
            self.input.use_up(block.span.end);
        }
        self.input.pass(line);
    }

    /// Goes back to a doubtful closing fence when what followed it does not fit; whether it did.
    fn settle(&mut self) -> bool {
        let State::Block(block) = &self.state else { return false };
        let Some(candidate) = block.candidate.filter(|_| block.candidate_was_right()) else { return false };
        self.go_back(candidate);
        true
    }
}

/// What a line is to the block; `kind` is what it is to CommonMark.
fn step(kind: Option<Kind<'_>>, text: &str, block: &Block) -> Step {
    let (content, closes) = match kind {
        Some(Kind::Closes(content)) => (content, true),
        Some(Kind::Inside(content)) => (content, false),
        _ => return Step::Ends(Ending::Container),
    };
    let from = text.len() - content.text.len();
    if closes && !block.doubts_fence() {
        return Step::Ends(Ending::Fence);
    }
    let indent = content.text.len() - content.text.trim_start_matches(' ').len();
    let opens = indent + content.pad < 4
        && fence::opening(&content.text[indent..]).is_some_and(|opening| opening.word() == "tool");
    if opens && block.is_complete() && block.candidate.is_none() {
        return Step::Ends(Ending::NextFence);
    }
    Step::Content { from, pad: content.pad, doubtful: closes }
}
