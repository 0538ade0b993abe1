//! How a tool block ends, and what becomes of it: calls, malformed, incomplete, forged.

use super::block::{Block, Candidate, Reader};
use super::body::Piece;
use super::envelope::Draft;
use super::event::{Event, ReadError, Span};
use super::{MOST_SPECULATIONS, Parser, State};
use crate::json::Problem;
use crate::{FinishReason, Repair, ToolCall};
use std::sync::Arc;

/// What ended a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its closing fence.
    Fence,
    /// The opening fence of the next tool block.
    NextFence,
    /// Its list item ended.
    Container,
    /// The reply ended.
    Reply(FinishReason),
}

impl Ending {
    /// Whether the block is known to be whole.
    fn closes(self) -> bool {
        self == Ending::Fence
    }

    fn misses_fence(self) -> bool {
        matches!(self, Ending::NextFence | Ending::Reply(FinishReason::Stop))
    }
}

impl Parser {
    /// The block ends at or before the line that ends at `line_end`.
    pub(super) fn end_block(&mut self, ending: Ending, line_end: usize) {
        let State::Block(block) = &self.state else { return };
        let by_itself = matches!(ending, Ending::Reply(FinishReason::Stop));
        if let Some(candidate) = block.candidate
            && (by_itself || matches!(ending, Ending::Container | Ending::NextFence))
        {
            return self.go_back(candidate);
        }
        let State::Block(mut block) = std::mem::replace(&mut self.state, State::Prose) else { return };
        self.piece = Piece::default();
        if ending.closes() {
            block.span.end = self.input.offset(line_end);
            self.pass_closing_line(line_end);
        }
        if ending != Ending::Container {
            self.blocks.close_fence();
        }
        self.judge(&mut block, ending);
        self.ids = std::mem::take(&mut block.track.ids);
        self.input.use_up(block.span.end);
        if matches!(ending, Ending::Reply(_)) {
            self.end();
        }
    }

    fn pass_closing_line(&mut self, line_end: usize) {
        if let Some(line) = self.input.next_line(usize::MAX)
            && line.end == line_end
        {
            self.input.pass(line);
        }
    }

    /// Emits what the block is.
    fn judge(&mut self, block: &mut Block, ending: Ending) {
        if block.forged {
            let body = std::mem::take(&mut block.body).into();
            return self.queue.push_back(Event::ForgedResult { body, span: block.span });
        }
        let cut = matches!(ending, Ending::Reply(FinishReason::Length | FinishReason::Cut));
        if cut && !self.options.bare && !block.is_spoiled() {
            return self.incomplete(block);
        }
        let reader = Reader {
            catalog: self.options.catalog.as_deref(),
            closed: ending.closes(),
            ends_at_fence: ending == Ending::NextFence,
        };
        let read = match ending {
            Ending::Container => Err(Problem::new(
                block.body.len(),
                "the list item ended before the block; indent every line of it alike",
            )),
            _ => block.read(&reader),
        };
        let readable = read.is_ok();
        let drafts = match read {
            Ok(drafts) => self.admit(drafts, block, ending),
            Err(problem) => Err(problem),
        };
        match drafts {
            Ok(drafts) => {
                let completed = block.is_unfinished() && drafts.iter().any(Draft::is_completed);
                self.after_broken |= completed || block.has_loose_end();
                self.emit_calls(drafts, block);
            }
            Err(_) if block.is_unfinished() && matches!(ending, Ending::Reply(_)) && !block.is_spoiled() => {
                self.incomplete(block);
            }
            Err(problem) => {
                self.after_broken |= problem.inside || (!readable && !block.is_complete());
                self.malformed(block, &problem);
            }
        }
    }

    fn incomplete(&mut self, block: &mut Block) {
        let id = block.track.first_id();
        let span = Span { end: self.input.offset(self.input.len()), ..block.span };
        block.span = span;
        let body = std::mem::take(&mut block.body).into();
        self.queue.push_back(Event::Incomplete { id, body, span });
    }

    fn malformed(&mut self, block: &mut Block, problem: &Problem) {
        let (line, column) = block.place(problem.at);
        let error = ReadError { message: problem.message.clone(), line, column };
        let id = block.track.first_id();
        let body = std::mem::take(&mut block.body).into();
        self.queue.push_back(Event::Malformed { id, body, error, span: block.span });
    }

    /// Adds the repairs the block itself needed; refuses too many calls, and in strict mode any repair.
    fn admit(&self, mut drafts: Vec<Draft>, block: &Block, ending: Ending) -> Result<Vec<Draft>, Problem> {
        for draft in &mut drafts {
            let more = [
                (block.drifted_word, Repair::InfoWord),
                (ending.misses_fence() && !self.options.bare, Repair::MissingFence),
                (self.after_broken, Repair::AfterBrokenBlock),
            ];
            draft.repairs.extend(more.into_iter().filter(|(needed, _)| *needed).map(|(_, repair)| repair));
        }
        let most = self.options.limits.calls;
        if self.calls + drafts.len() > most {
            return Err(Problem::new(0, format!("more than {most} calls in one reply; make fewer at once")));
        }
        let repair = drafts.iter().flat_map(|draft| &draft.repairs).next();
        match repair {
            Some(repair) if self.options.strict => {
                Err(Problem::new(0, format!("not written as taught ({}); write it exactly so", repair.name())))
            }
            _ => Ok(drafts),
        }
    }

    fn emit_calls(&mut self, drafts: Vec<Draft>, block: &mut Block) {
        self.calls += drafts.len();
        let body: Arc<str> = std::mem::take(&mut block.body).into();
        for (index, draft) in drafts.into_iter().enumerate() {
            let started = block.track.provisional(index);
            let ids = &mut block.track.ids;
            let wanted = draft.id.as_deref().filter(|id| started.as_deref() != Some(id));
            let own = ids.take(wanted);
            let replaces = own.as_ref().and(started.clone());
            let id = own.or(started).unwrap_or_else(|| ids.give());
            let call = ToolCall {
                id: id.as_ref().to_owned(),
                name: draft.name,
                args: draft.args,
                reason: draft.reason,
                repairs: draft.repairs,
            };
            self.queue.push_back(Event::Call { call, index, body: body.clone(), span: block.span, replaces });
        }
    }

    /// The doubtful closing fence was the end: the block is malformed and what follows it is read again.
    pub(super) fn go_back(&mut self, candidate: Candidate) {
        let State::Block(mut block) = std::mem::replace(&mut self.state, State::Prose) else { return };
        let at = candidate.body;
        let message = "the closing fence came inside a string or a verbatim body that was still open; \
                       write newlines in strings as \\n, or end the verbatim body with its TAG";
        block.body.truncate(at);
        block.span.end = candidate.end;
        self.malformed(&mut block, &Problem::new(at, message));
        self.ids = std::mem::take(&mut block.track.ids);
        self.blocks.close_fence();
        self.after_broken = true;
        self.failed_speculations = (self.failed_speculations + 1).min(MOST_SPECULATIONS);
        self.input.use_up(candidate.end);
        self.input.go_back(candidate.next, candidate.next_line);
        self.piece = Piece::default();
        self.skipping = false;
    }
}
