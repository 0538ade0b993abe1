//! How a tool block ends, and what becomes of it: calls, malformed, incomplete, forged.

use super::block::Candidate;
use super::body::Piece;
use super::call::Draft;
use super::event::ReadError;
use super::queue::Item;
use super::read::Reader;
use super::{MOST_SPECULATIONS, Parser, State};
use crate::json::Problem;
use crate::{FinishReason, Repair, ToolCall};

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
        let by_itself = matches!(ending, Ending::Reply(FinishReason::Stop));
        if let Some(candidate) = self.block.candidate
            && (by_itself || matches!(ending, Ending::Container | Ending::NextFence))
        {
            return self.go_back(candidate);
        }
        self.state = State::Prose;
        self.piece = Piece::default();
        if ending.closes() {
            self.block.span.end = self.input.offset(line_end);
            self.pass_closing_line(line_end);
        }
        if ending != Ending::Container {
            self.blocks.close_fence();
        }
        self.judge(ending);
        self.input.use_up(self.block.span.end);
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

    /// Says what the block is.
    fn judge(&mut self, ending: Ending) {
        if self.block.forged {
            return self.found.push(Item::ForgedResult(self.block.span));
        }
        let cut = matches!(ending, Ending::Reply(reason) if reason.is_early());
        if cut && !self.options.bare && !self.block.is_spoiled() {
            return self.incomplete();
        }
        let reader = Reader {
            catalog: self.options.catalog.as_deref(),
            closed: ending.closes(),
            ends_at_fence: ending == Ending::NextFence,
        };
        let read = match ending {
            Ending::Container => Err(Problem::new(
                self.block.body.len(),
                "the list item ended before the block; indent every line of it alike",
            )),
            _ => self.block.read(&reader),
        };
        let readable = read.is_ok();
        // Whether or not strict mode takes what was read: what follows may have been meant as the rest of it.
        let broke_off = read.as_ref().is_ok_and(|drafts| {
            self.block.is_unfinished() && drafts.iter().any(Draft::is_completed) || self.block.has_loose_end()
        });
        match read.and_then(|drafts| self.admit(drafts, ending)) {
            Ok(drafts) => {
                self.after_broken |= broke_off;
                self.emit_calls(drafts);
            }
            Err(_) if self.block.is_unfinished() && matches!(ending, Ending::Reply(_)) && !self.block.is_spoiled() => {
                self.incomplete();
            }
            Err(problem) => {
                self.after_broken |= broke_off || problem.inside || (!readable && !self.block.is_complete());
                self.malformed(&problem);
            }
        }
    }

    fn incomplete(&mut self) {
        self.block.span.end = self.input.offset(self.input.len());
        let id = self.block.track.first_id();
        self.found.push(Item::Incomplete { id, span: self.block.span });
    }

    fn malformed(&mut self, problem: &Problem) {
        let (line, column) = self.block.place(problem.at);
        let error = Some(Box::new(ReadError { message: problem.message.clone(), line, column }));
        let id = self.block.track.first_id();
        self.found.push(Item::Malformed { id, error, span: self.block.span });
    }

    /// Adds the repairs the block itself needed; refuses too many calls, and in strict mode any repair.
    fn admit(&self, mut drafts: Vec<Draft>, ending: Ending) -> Result<Vec<Draft>, Problem> {
        for draft in &mut drafts {
            let more = [
                (self.block.drifted_word, Repair::InfoWord),
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

    fn emit_calls(&mut self, drafts: Vec<Draft>) {
        self.calls += drafts.len();
        let span = self.block.span;
        for (index, draft) in drafts.into_iter().enumerate() {
            let started = self.block.track.take_provisional(index);
            let ids = &mut self.block.track.ids;
            let wanted = draft.id.as_deref().filter(|id| started.as_deref() != Some(id));
            let own = ids.take(wanted);
            let (id, replaces) = match (own, started) {
                // Only the first call of a block was told.
                (Some(own), started) => (own, started.filter(|_| index == 0)),
                (None, Some(started)) => (started, None),
                (None, None) => (ids.give(), None),
            };
            let Draft { name, args, reason, repairs, .. } = draft;
            let call = Some(Box::new(ToolCall { id, name, args, reason, repairs }));
            self.found.push(Item::Call { call, index, span, replaces });
        }
    }

    /// The doubtful closing fence was the end: the block is malformed and what follows it is read again.
    pub(super) fn go_back(&mut self, candidate: Candidate) {
        self.state = State::Prose;
        let at = candidate.body;
        let message = "the closing fence came inside a string or a verbatim body that was still open; \
                       write newlines in strings as \\n, or end the verbatim body with its TAG";
        self.block.body.truncate(at);
        self.block.span.end = candidate.end;
        self.malformed(&Problem::new(at, message));
        self.blocks.close_fence();
        self.after_broken = true;
        self.failed_speculations = (self.failed_speculations + 1).min(MOST_SPECULATIONS);
        self.input.use_up(candidate.end);
        self.input.go_back(candidate.next, candidate.next_line);
        self.piece = Piece::default();
        self.skipping = false;
    }
}
