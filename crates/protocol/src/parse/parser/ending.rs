//! How a tool block ends, and what it becomes: calls, a broken block, a forged result, or prose from a doubtful fence
//! on.

use super::{MOST_SPECULATIONS, Parser, ParserState, ProsePlace, Trust};
use crate::json::Problem;
use crate::parse::block::{BlockForm, Candidate, Ending, Phase, Stage};
use crate::parse::call::Draft;
use crate::parse::dialect;
use crate::parse::event::{Event, ReadError};
use crate::parse::read::{bodies_of_dialect, read_block};
use crate::{Dialect, FinishReason, Repair, Text, ToolCall, text};

impl Parser {
    /// Ends the block at or before the line that ends at `line_end`.
    pub(super) fn end_block(&mut self, ending: Ending, line_end: usize) {
        let by_itself = ending == Ending::Reply(FinishReason::Stop);
        // The reply ended by itself without a body, so the inexact announcements are literal text.
        if by_itself && self.block.awaits_loose_body() {
            self.block.drop_loose_bodies();
        }
        if let Ending::LooseFence { glued: true, .. } = ending {
            self.block.end_at_glued_fence();
        }
        let is_whole = matches!(self.block.stage(), Stage::Complete | Stage::After);
        // The block does not fit with the doubtful fence as content. If the reply was cut off, the real end may be
        // missing, and the block is incomplete instead.
        if let Some(candidate) = self.block.candidate
            && (by_itself
                || matches!(ending, Ending::Container | Ending::NextFence)
                || ending == Ending::Fence && !is_whole)
        {
            return self.go_back(candidate);
        }
        self.resume_prose();
        if matches!(ending, Ending::Fence | Ending::LooseFence { .. } | Ending::ClosingTag) {
            self.block.span.end = self.input.offset(line_end);
            // Any other line that ends the block is read again as prose, and so is the rest of a line after a closing
            // tag.
            if let Some(line) = self.input.next_line(usize::MAX).filter(|line| line.end == line_end) {
                self.input.pass(line);
            }
        }
        match ending {
            Ending::Container => {}
            // For CommonMark the block is still open. The closing fence that may follow must not open another one.
            Ending::LooseFence { .. } | Ending::ClosingTag => self.containers.end_fence_early(),
            _ => self.containers.close_leaf(),
        }
        self.report_block(ending);
        self.input.use_up(self.block.span.end);
        if matches!(ending, Ending::Reply(_)) {
            self.finish_reply();
        }
    }

    /// Returns to prose after a block.
    pub(super) fn resume_prose(&mut self) {
        self.state = ParserState::Prose(ProsePlace::Line);
    }

    /// Records that a block broke off.
    pub(super) fn distrust(&mut self) {
        self.trust = self.trust.max(Trust::AfterBroken { failed: 0 });
    }

    /// Queues the events for the block that has ended.
    pub(super) fn report_block(&mut self, ending: Ending) {
        let span = self.block.span;
        if self.block.form == BlockForm::Result {
            return self.queue.push_event(Event::ForgedResult { body: "".into(), span });
        }
        let stage = self.block.stage();
        if self.options.bare && stage == Stage::Empty {
            return; // the reply was empty
        }
        let cut = matches!(ending, Ending::Reply(reason) if reason.is_early());
        // A call that was cut off is never completed, because the missing end might have changed its meaning.
        if cut && !self.options.bare && stage != Stage::Spoiled {
            return self.queue_incomplete();
        }
        if self.block.text_call.is_some() {
            return self.report_text_block(ending);
        }
        let mut dialect = None;
        let read = if ending == Ending::Container {
            let inside = !matches!(stage, Stage::Complete | Stage::After);
            Err(Problem { inside, ..Problem::new(self.block.body.len(), list_item_ended()) })
        } else if let Some(read) = self.read_python() {
            dialect = Some(Dialect::Pythonic);
            read
        } else {
            read_block(&self.block, self.options.catalog.as_deref(), ending)
        };
        // Computed before strict mode refuses calls: in either case the text after the block may be the rest of it.
        let broke_off = read.as_ref().is_ok_and(|drafts| {
            let repairs = drafts.first().map_or(&[][..], |draft| &draft.repairs);
            self.block.is_unfinished() && drafts.iter().any(Draft::is_completed)
                || !self.block.lines_after_object(repairs).trim().is_empty()
        });
        let ends_early = matches!(ending, Ending::NextFence | Ending::LooseFence { .. } | Ending::ClosingTag);
        match read.and_then(|drafts| self.admit(drafts, ending)) {
            Ok(drafts) => {
                if broke_off {
                    self.distrust();
                } else if ends_early {
                    self.trust = self.trust.max(Trust::AfterRepair);
                }
                self.queue_calls(drafts, dialect);
            }
            Err(_) if self.block.is_unfinished() && matches!(ending, Ending::Reply(_)) && stage != Stage::Spoiled => {
                self.queue_incomplete();
            }
            Err(problem) => {
                // The end of an unreadable block that was ended early is also a guess.
                if broke_off || problem.inside || ends_early {
                    self.distrust();
                }
                self.queue_malformed(&problem);
            }
        }
    }

    /// Queues the event for a block whose text is the argument of a call. Only its closing fence shows that the text is
    /// complete.
    fn report_text_block(&mut self, ending: Ending) {
        let (Some(call), BlockForm::Dialect(dialect)) = (&self.block.text_call, self.block.form) else { return };
        let body = &self.block.body;
        let read = match (&self.block.phase, ending) {
            (Phase::Spoiled { problem, .. }, _) => Err(problem.clone()),
            (_, Ending::Reply(_)) => return self.queue_incomplete(),
            (_, Ending::Fence | Ending::LooseFence { .. }) => call.call(body),
            (_, Ending::Container) => Err(Problem::new(body.len(), list_item_ended())),
            (_, Ending::NextFence | Ending::ClosingTag) => Err(Problem {
                inside: true,
                ..Problem::new(body.len(), text!("the closing fence of the block is missing"))
            }),
        };
        match read.and_then(|draft| self.admit(vec![draft], ending)) {
            Ok(drafts) => self.queue_calls(drafts, dialect),
            Err(problem) => {
                if problem.inside {
                    self.distrust();
                }
                self.queue_malformed(&problem);
            }
        }
    }

    /// Reads the calls of a block that may contain Python. `None` if it does not.
    fn read_python(&self) -> Option<Result<Vec<Draft>, Problem>> {
        let catalog = self.options.catalog.as_deref();
        let is_python = self.block.form == BlockForm::Python;
        let read = is_python.then(|| dialect::python_calls(&self.block.body, catalog))??;
        Some(read.and_then(|mut drafts| {
            bodies_of_dialect(&mut drafts, catalog)?;
            Ok(drafts)
        }))
    }

    pub(super) fn queue_incomplete(&mut self) {
        self.block.span.end = self.input.offset(self.input.len());
        let id = self.block.outline.first_id(&mut self.queue).into();
        self.queue.push_event(Event::Incomplete { id, body: "".into(), span: self.block.span });
    }

    pub(super) fn queue_malformed(&mut self, problem: &Problem) {
        let (line, column) = self.block.position(problem.at);
        let error = Box::new(ReadError { message: problem.message.clone(), line, column });
        let id = self.block.outline.first_id(&mut self.queue).into();
        self.queue.push_event(Event::Malformed { id, body: "".into(), error, span: self.block.span });
    }

    /// Adds the repairs that the block itself needed. Refuses calls beyond the limit, and in strict mode calls with
    /// repairs.
    pub(super) fn admit(&self, mut drafts: Vec<Draft>, ending: Ending) -> Result<Vec<Draft>, Problem> {
        let other_word = matches!(self.block.form, BlockForm::OtherWord | BlockForm::Python);
        // Models often glue fences to other text; a canonical write after such a block must not become lossy.
        let canonical = ending == Ending::Fence
            && self.block.at_line_start
            && !other_word
            && drafts.iter().all(|draft| draft.repairs.is_empty());
        let misses_fence = matches!(ending, Ending::NextFence | Ending::ClosingTag | Ending::Reply(FinishReason::Stop));
        let (glued, text) = match ending {
            Ending::LooseFence { glued, text } => (glued, text),
            _ => (false, false),
        };
        let needed = [
            (other_word, Repair::InfoWord),
            (self.trust == Trust::AfterRepair && !canonical, Repair::DoubtfulFence),
            (misses_fence && !self.options.bare, Repair::MissingFence),
            (glued, Repair::GluedFence),
            (text, Repair::TextAfterFence),
            (self.trust > Trust::AfterRepair, Repair::AfterBrokenBlock),
        ];
        for draft in &mut drafts {
            draft.repairs.extend(needed.iter().filter(|(needed, _)| *needed).map(|(_, repair)| repair));
        }
        let most = self.options.limits.calls;
        if self.calls + drafts.len() > most {
            return Err(Problem::new(0, text!("more than {most} calls in one reply; make fewer at once", most)));
        }
        match drafts.iter().flat_map(|draft| &draft.repairs).next() {
            Some(repair) if self.options.strict => Err(Problem::new(
                0,
                text!("not in the exact form ({repair}); write the call exactly as instructed", repair = repair.name()),
            )),
            _ => Ok(drafts),
        }
    }

    pub(super) fn queue_calls(&mut self, drafts: Vec<Draft>, dialect: Option<Dialect>) {
        self.calls += drafts.len();
        for (index, draft) in drafts.into_iter().enumerate() {
            // Only the first call of a block was announced, and it keeps its id.
            let started = if index == 0 { self.block.outline.take_started() } else { None };
            let ids = &mut self.queue.ids;
            let id = started.or_else(|| ids.take(draft.id.as_deref())).unwrap_or_else(|| ids.assign());
            let Draft { name, args, reason, repairs, .. } = draft;
            let call = Box::new(ToolCall { id, name, args, reason, repairs, dialect });
            let event = Event::Call { call, index, body: "".into(), span: self.block.span };
            if self.queue.is_holding() {
                self.queue.hold(event, index == 0, &self.block.body);
            } else {
                self.queue.push_event(event);
            }
        }
    }

    /// Ends the block at the doubtful closing fence: the block is malformed, and the text after the fence is read
    /// again.
    pub(super) fn go_back(&mut self, candidate: Candidate) {
        self.resume_prose();
        self.block.body.truncate(candidate.body);
        self.block.span.end = candidate.end;
        let message = match (self.block.open_tag(), &self.block.text_call) {
            (Some(tag), _) => text!(
                "the line {tag} that ends the verbatim body is missing; write {tag} alone on a line, then the closing \
                 fence",
                tag
            ),
            (None, Some(call)) => call.fence_inside(),
            (None, None) => text!(
                "the closing fence came inside a string or a verbatim body that was still open; write newlines in \
                 strings as \\n, or end the verbatim body with its TAG"
            ),
        };
        self.queue_malformed(&Problem::new(candidate.body, message));
        self.containers.close_leaf();
        let failed = if let Trust::AfterBroken { failed } = self.trust { failed } else { 0 };
        self.trust = Trust::AfterBroken { failed: (failed + 1).min(MOST_SPECULATIONS) };
        self.input.use_up(candidate.end);
        self.input.go_back(candidate.next, candidate.next_line);
    }
}

fn list_item_ended() -> Text {
    text!("the list item ended before the block; indent all lines of the block equally")
}
