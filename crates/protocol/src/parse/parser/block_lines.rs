//! The lines of an open tool block: what of them is content, and which one ends the block.

use super::{FedPrefix, MOST_SPECULATIONS, Parser, ParserState, Trust, is_tool};
use crate::clip::floor_boundary;
use crate::fence;
use crate::parse::block::{Block, BlockForm, Ending, Stage};
use crate::parse::containers::{Containers, LineKind};
use crate::parse::cursor::Content;
use crate::parse::event::Span;
use crate::parse::input::InputLine;
use crate::parse::outline::Tag;
use crate::parse::read::takes_body;
use crate::parse::reasoning::{self, TagPair};
use crate::parse::spans::closing_tags;

/// Bytes of a line that are given to a block at once. What is found in them waits in the queue and may take many times
/// their room.
const MOST_AT_ONCE: usize = 16 * 1024;

impl Parser {
    /// Opens a tool block whose fence begins at `span`, with the body from line `first_line` of the reply on.
    pub(super) fn open_block(&mut self, span: Span, first_line: usize, form: BlockForm) {
        let speculates = self.trust < Trust::AfterBroken { failed: MOST_SPECULATIONS } && !self.options.bare;
        self.block.open(span, first_line, form, speculates);
        self.state = ParserState::Block(FedPrefix::Undecided(0));
    }

    pub(super) fn advance_block(&mut self) -> bool {
        let ParserState::Block(before) = self.state else { return false };
        match (self.input.next_line(self.options.limits.block), self.input.finished) {
            (Some(line), _) => {
                if let FedPrefix::Part(seen) | FedPrefix::Undecided(seen) = before {
                    // Of a long line a part at a time, so that what is found in it is delivered before the next one.
                    let text = self.input.slice(self.input.at, line.end);
                    if text.len() > seen + MOST_AT_ONCE {
                        self.give(floor_boundary(text, seen + MOST_AT_ONCE));
                    }
                }
                if matches!(self.state, ParserState::Block(given) if given == before) {
                    self.block_line(line, before);
                }
                true
            }
            (None, Some(reason)) => {
                self.end_block(Ending::Reply(reason), self.input.len());
                true
            }
            (None, None) => {
                self.give(self.input.rest().len());
                self.settle()
            }
        }
    }

    /// The ending of the line is not there yet, or far. Gives the block what is certainly content of the line's first
    /// `length` bytes.
    fn give(&mut self, length: usize) {
        let ParserState::Block(given) = &mut self.state else { return };
        if length == 0 || !self.block.takes_parts() {
            return;
        }
        let rest = self.input.slice(self.input.at, self.input.at + length);
        let Content { pad, text } = match *given {
            FedPrefix::Part(seen) => Content { pad: 0, text: &rest[seen..] },
            FedPrefix::Undecided(_) if self.options.bare => Content { pad: 0, text: rest },
            FedPrefix::Undecided(seen) => {
                if rest.bytes().skip(seen).all(|byte| matches!(byte, b' ' | b'\t' | b'`' | b'~')) {
                    *given = FedPrefix::Undecided(rest.len());
                    return;
                }
                match self.containers.certain_content(rest) {
                    Some(content) => content,
                    None => {
                        *given = FedPrefix::Withheld;
                        return;
                    }
                }
            }
            FedPrefix::Withheld | FedPrefix::Rest => return,
        };
        self.block.content(pad, text, &mut self.queue);
        *given = FedPrefix::Part(rest.len());
    }

    /// Reads a line of the open block. `given` is what the block has of it already.
    fn block_line(&mut self, line: InputLine, given: FedPrefix) {
        self.state = ParserState::Block(if line.cut { FedPrefix::Rest } else { FedPrefix::Undecided(0) });
        if given == FedPrefix::Rest {
            self.block.span.end = self.input.offset(line.end);
            return self.pass_in_block(line);
        }
        let text = self.input.slice(self.input.at, line.end);
        if self.block.awaits_loose_body() && ends_before_body(&self.containers, text) {
            self.block.drop_loose_bodies();
        }
        let watches_tags = self.queue.holds() && !line.cut;
        let content = if self.options.bare {
            Ok((Content { pad: 0, text }, false))
        } else {
            content_or_ending(&self.containers, text, matches!(given, FedPrefix::Part(_)), &self.block)
        };
        let (content, doubtful) = match content {
            Ok(content) => content,
            Err((ending, after_fence)) => {
                let tag = closing_tags(after_fence).next().filter(|_| watches_tags);
                let tag = tag.map(|(at, tag)| (text.len() - after_fence.len() + at, tag));
                return self.end_at_line(ending, line, tag);
            }
        };
        let block = &mut self.block;
        if doubtful {
            let (end, next) = (self.input.offset(line.end), self.input.offset(line.next));
            block.doubt(end, next, self.input.line + 1);
        }
        match given {
            FedPrefix::Part(seen) => block.content(0, &text[seen..], &mut self.queue),
            _ => block.content(content.pad, content.text, &mut self.queue),
        }
        if let Some(at) = block.glued_fence().filter(|_| !line.cut)
            && let Some(after_fence) = loose_closing(&self.containers, &block.body[at..])
        {
            let tag = closing_tags(after_fence).next().filter(|_| watches_tags);
            let tag = tag.map(|(at, tag)| (place_of_tail(text, &after_fence[at..]), tag));
            let is_text = !fence::is_blank(after_fence);
            return self.end_at_line(Ending::LooseFence { glued: true, text: is_text }, line, tag);
        }
        if watches_tags
            && block.candidate.is_none()
            && reasoning::has_closing_tag(text)
            && let Some((end, at, tag)) = block.tag_after_call(self.options.catalog.as_deref())
        {
            let offset = place_of_tail(text, &block.body[at..]);
            // The lines before the tag may be content that lost its quotes, and so may what follows it.
            let is_followed = !block.lines_behind(&[]).trim().is_empty();
            block.end_after_call(end);
            if is_followed {
                self.distrust();
            }
            return self.end_at_line(Ending::ClosingTag, line, Some((offset, tag)));
        }
        if line.cut {
            block.overflow();
        } else if line.ended {
            let prefix = &text[..text.len() - content.text.len()];
            let indent = self.containers.fence_indent(text);
            block.end_line(prefix.chars().count(), content.pad, indent, &mut self.queue);
            let catalog = self.options.catalog.as_deref();
            let takes_one = |tag: &Tag| takes_body(catalog, block.outline.tool(&tag.token), &tag.token.arg);
            if block.awaits_loose_body() && block.bodies[0].is_empty() && !block.outline.tags.iter().any(takes_one) {
                block.drop_loose_bodies();
            }
        }
        block.span.end = self.input.offset(line.end);
        self.pass_in_block(line);
        self.settle();
    }

    /// The block ends at a line, or before it; where a closing tag of reasoning follows the block on the line, at that `tag`.
    fn end_at_line(&mut self, ending: Ending, line: InputLine, tag: Option<(usize, &'static TagPair)>) {
        if let Some((offset, tag)) = tag {
            self.end_block(ending, self.input.at + offset);
            return self.close_unopened(offset, tag);
        }
        // A fence that is the reply's last line and has no line ending may have been cut off.
        let cut = self.input.finished.filter(|reason| reason.is_early() && !line.ended);
        match (cut, ending) {
            (Some(reason), Ending::Fence | Ending::LooseFence { .. } | Ending::NextFence) => {
                self.end_block(Ending::Reply(reason), self.input.len());
            }
            _ => self.end_block(ending, line.end),
        }
    }

    /// Passes a line of the open block. Of a block that is too large nothing is kept, unless its candidate is.
    fn pass_in_block(&mut self, line: InputLine) {
        if self.block.is_full() && self.block.candidate.is_none() {
            self.input.use_up(self.block.span.end);
        }
        self.input.pass(line);
    }

    /// Goes back to a doubtful closing fence when what followed it does not fit. Returns whether it did.
    fn settle(&mut self) -> bool {
        let Some(candidate) = self.block.candidate else { return false };
        // The rest of the line decides whether a closing fence is glued to the object.
        let at_line_start = matches!(self.state, ParserState::Block(FedPrefix::Undecided(0)));
        let misfit = match self.block.stage() {
            Stage::Broken { .. } => at_line_start || self.block.glued_fence().is_none(),
            stage => stage == Stage::Spoiled,
        };
        if misfit {
            self.go_back(candidate);
        }
        misfit
    }
}

/// What a whole line of the open block is: content, and whether it may be the closing fence too; or the end of the
/// block, with the text after its closing fence. `given`: the block has a part of the line, so it was content when that came,
/// and how far the block is now must not matter.
fn content_or_ending<'a>(
    containers: &Containers,
    text: &'a str,
    given: bool,
    block: &Block,
) -> Result<(Content<'a>, bool), (Ending, &'a str)> {
    let (content, closes) = match containers.in_fence(text) {
        Some(LineKind::Closes(content)) => (content, true),
        Some(LineKind::Inside(content)) => (content, false),
        _ => return Err((Ending::Container, "")),
    };
    if closes && !block.doubts_fence() {
        return Err((Ending::Fence, ""));
    }
    if given || closes || !block.speculates || block.form == BlockForm::Result {
        return Ok((content, closes));
    }
    if let Some(tag) = block.last_tag() {
        let behind = content.text.strip_prefix(tag).map(|rest| rest.trim_start_matches([' ', '\t']));
        let run = behind.filter(|_| content.pad == 0);
        if let Some(after) = run.and_then(|run| loose_closing(containers, run)) {
            return Err((Ending::LooseFence { glued: true, text: !fence::is_blank(after) }, after));
        }
    } else if let stage @ (Stage::Complete | Stage::After) = block.stage()
        && let Some(rest) = containers.at_fence(text)
    {
        let opens_tool = fence::opening(rest).is_some_and(|opening| is_tool(&opening));
        if stage == Stage::Complete && block.candidate.is_none() && opens_tool {
            return Err((Ending::NextFence, ""));
        }
        if let Some(after) = loose_closing(containers, rest).filter(|after| !fence::is_blank(after)) {
            return Err((Ending::LooseFence { glued: false, text: true }, after));
        }
    }
    Ok((content, false))
}

/// Whether a line after an object whose announcements are not exact shows that no body follows: it is a closing fence, or
/// opens the next tool block.
fn ends_before_body(containers: &Containers, line: &str) -> bool {
    let opens_tool = |rest| fence::opening(rest).is_some_and(|opening| is_tool(&opening));
    let ends = |rest| loose_closing(containers, rest).is_some() || opens_tool(rest);
    containers.at_fence(line).is_some_and(ends)
}

/// The place in a line where its last characters begin, as many as `tail` has. A body has other bytes than the line where NUL is
/// replaced.
fn place_of_tail(line: &str, tail: &str) -> usize {
    let last = tail.chars().count().checked_sub(1);
    last.and_then(|last| line.char_indices().rev().nth(last)).map_or(line.len(), |(at, _)| at)
}

/// The text after a run of fence characters that closes the open block. `None` if the run does not close it: it is too short, or
/// the text is an info string and makes an opening fence of it.
fn loose_closing<'a>(containers: &Containers, run: &'a str) -> Option<&'a str> {
    let after = containers.behind_closing_run(run)?;
    let text = after.trim_matches([' ', '\t']);
    // An info string begins with a word, or with attributes in braces. Apart from the run it is one word: prose has several.
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '.'));
    let is_prose = after.starts_with([' ', '\t']) && text.contains([' ', '\t']);
    (!begins || is_prose).then_some(after)
}
