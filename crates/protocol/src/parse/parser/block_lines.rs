//! The lines of an open tool block: which of them are content, and which line ends the block.

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

/// The maximum number of bytes of a line that are fed to a block at once. The events from them wait in the queue and
/// may take many times their size.
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
                    // A long line is fed in parts, so that the events of each part are delivered before the next.
                    let text = self.input.slice(self.input.at, line.end);
                    if text.len() > seen + MOST_AT_ONCE {
                        self.feed_block(floor_boundary(text, seen + MOST_AT_ONCE));
                    }
                }
                // Nothing was fed: the rest of the line is short, or only the whole line can be judged.
                if matches!(self.state, ParserState::Block(fed) if fed == before) {
                    self.block_line(line, before);
                }
                true
            }
            (None, Some(reason)) => {
                self.end_block(Ending::Reply(reason), self.input.len());
                true
            }
            (None, None) => {
                self.feed_block(self.input.rest().len());
                self.resolve_candidate()
            }
        }
    }

    /// Feeds the block the certain content among the first `length` bytes of a line whose ending has not arrived or is
    /// far away.
    fn feed_block(&mut self, length: usize) {
        let ParserState::Block(fed) = &mut self.state else { return };
        if length == 0 || !self.block.takes_parts() {
            return;
        }
        let rest = self.input.slice(self.input.at, self.input.at + length);
        let Content { pad, text } = match *fed {
            FedPrefix::Part(seen) => Content { pad: 0, text: &rest[seen..] },
            // No line of a bare reply is a fence, and no container precedes its content.
            FedPrefix::Undecided(_) if self.options.bare => Content { pad: 0, text: rest },
            FedPrefix::Undecided(seen) => {
                // This may still become a closing fence. Each byte is examined once.
                if rest.bytes().skip(seen).all(|byte| matches!(byte, b' ' | b'\t' | b'`' | b'~')) {
                    *fed = FedPrefix::Undecided(rest.len());
                    return;
                }
                match self.containers.certain_content(rest) {
                    Some(content) => content,
                    None => {
                        *fed = FedPrefix::Withheld;
                        return;
                    }
                }
            }
            FedPrefix::Withheld | FedPrefix::Rest => return,
        };
        self.block.push_content(pad, text, &mut self.queue);
        *fed = FedPrefix::Part(rest.len());
    }

    /// Reads a line of the open block. `fed` is the part that the block already has.
    fn block_line(&mut self, line: InputLine, fed: FedPrefix) {
        self.state = ParserState::Block(if line.cut { FedPrefix::Rest } else { FedPrefix::Undecided(0) });
        if fed == FedPrefix::Rest {
            self.block.span.end = self.input.offset(line.end);
            return self.consume_block_line(line);
        }
        let text = self.input.slice(self.input.at, line.end);
        if self.block.awaits_loose_body() && ends_before_body(&self.containers, text) {
            self.block.drop_loose_bodies();
        }
        let watches_tags = self.queue.is_holding() && !line.cut;
        let content = if self.options.bare {
            Ok((Content { pad: 0, text }, false))
        } else {
            content_or_ending(&self.containers, text, matches!(fed, FedPrefix::Part(_)), &self.block)
        };
        let (content, doubtful) = match content {
            Ok(content) => content,
            Err((ending, after_fence)) => {
                // A closing tag after the fence makes the block part of the reasoning before it.
                let tag = closing_tags(after_fence).next().filter(|_| watches_tags);
                let tag = tag.map(|(at, tag)| (text.len() - after_fence.len() + at, tag));
                return self.end_at_line(ending, line, tag);
            }
        };
        let block = &mut self.block;
        if doubtful {
            let (end, next) = (self.input.offset(line.end), self.input.offset(line.next));
            block.note_candidate(end, next, self.input.line + 1);
        }
        match fed {
            FedPrefix::Part(seen) => block.push_content(0, &text[seen..], &mut self.queue),
            _ => block.push_content(content.pad, content.text, &mut self.queue),
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
            // The lines before the tag may be content that lost its quotes, and so may the text after it.
            let is_followed = !block.lines_after_object(&[]).trim().is_empty();
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
            // A path or a pattern never has a body, so `<<eof` in it is literal text.
            let takes_one = |tag: &Tag| takes_body(catalog, block.outline.tool(&tag.token), &tag.token.arg);
            if block.awaits_loose_body() && block.bodies[0].is_empty() && !block.outline.tags.iter().any(takes_one) {
                block.drop_loose_bodies();
            }
        }
        block.span.end = self.input.offset(line.end);
        self.consume_block_line(line);
        self.resolve_candidate();
    }

    /// Ends the block at or before a line. `tag` is the position of a closing tag of reasoning that follows the block
    /// on the line.
    fn end_at_line(&mut self, ending: Ending, line: InputLine, tag: Option<(usize, &'static TagPair)>) {
        if let Some((offset, tag)) = tag {
            self.end_block(ending, self.input.at + offset);
            return self.close_unopened(offset, tag);
        }
        // A fence in the last line of the reply, without a line ending, may have been cut off.
        let cut = self.input.finished.filter(|reason| reason.is_early() && !line.ended);
        match (cut, ending) {
            (Some(reason), Ending::Fence | Ending::LooseFence { .. } | Ending::NextFence) => {
                self.end_block(Ending::Reply(reason), self.input.len());
            }
            _ => self.end_block(ending, line.end),
        }
    }

    /// Consumes a line of the open block. Input of an oversized block is discarded, unless its candidate may need it.
    fn consume_block_line(&mut self, line: InputLine) {
        if self.block.is_full() && self.block.candidate.is_none() {
            self.input.use_up(self.block.span.end);
        }
        self.input.pass(line);
    }

    /// Goes back to a doubtful closing fence if the text after it does not fit. Returns `true` if it did.
    fn resolve_candidate(&mut self) -> bool {
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

/// Classifies a whole line of the open block. `Ok` is content, with whether the line may also be the closing fence.
/// `Err` is the end of the block, with the text after its closing fence. With `fed`, the block already has a part of
/// the line: it was content when it arrived, so the current state of the block must not matter.
fn content_or_ending<'a>(
    containers: &Containers,
    text: &'a str,
    fed: bool,
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
    // From here on, the line is content for CommonMark, but may end the block nevertheless.
    if fed || closes || !block.speculates || block.form == BlockForm::Result {
        return Ok((content, closes));
    }
    if let Some(tag) = block.last_tag() {
        let after = content.text.strip_prefix(tag).map(|rest| rest.trim_start_matches([' ', '\t']));
        let run = after.filter(|_| content.pad == 0);
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

/// Returns `true` if a line after an object with inexact announcements shows that no body follows: it is a closing
/// fence, or opens the next tool block.
fn ends_before_body(containers: &Containers, line: &str) -> bool {
    let opens_tool = |rest| fence::opening(rest).is_some_and(|opening| is_tool(&opening));
    let ends = |rest| loose_closing(containers, rest).is_some() || opens_tool(rest);
    containers.at_fence(line).is_some_and(ends)
}

/// Returns the position in a line of its last characters, as many as `tail` has. The bytes of a body differ from those
/// of the line if a NUL was replaced.
fn place_of_tail(line: &str, tail: &str) -> usize {
    let last = tail.chars().count().checked_sub(1);
    last.and_then(|last| line.char_indices().rev().nth(last)).map_or(line.len(), |(at, _)| at)
}

/// Returns the text after a run of fence characters that closes the open block. `None` if the run does not close it: it
/// is too short, or the text is an info string, which makes it an opening fence.
fn loose_closing<'a>(containers: &Containers, run: &'a str) -> Option<&'a str> {
    let after = containers.after_closing_run(run)?;
    let text = after.trim_matches([' ', '\t']);
    // An info string begins with a word or with attributes in braces. If it is separated from the run it is one word,
    // whereas prose has several.
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '.'));
    let is_prose = after.starts_with([' ', '\t']) && text.contains([' ', '\t']);
    (!begins || is_prose).then_some(after)
}
