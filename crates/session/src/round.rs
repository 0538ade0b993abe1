//! Runs the rounds of a turn: ends replies, records them in the history, and decides whether the model is called again.

use super::announce::announces_action;
use super::guard::Guard;
use super::refusals::Refusal;
use super::reply::{IncomingReply, Item, ReplyContents};
use super::stitch::Broken;
use super::work::{Step, Work};
use super::{Action, Note, Reply, Session, State, StopReason, Turn};
use toolfence_protocol::format;
use toolfence_protocol::limits::size;
use toolfence_protocol::{FinishReason, Image, Language, Text, ToolResult, fence, prompt, text};

/// Returns the note about calls that were only in the reasoning, if there are any.
fn note_about_thought_calls(found: &ReplyContents) -> Option<Text> {
    let thought = &found.summary.thought;
    let names: Vec<&str> = thought.iter().take(MOST_NAMED).map(String::as_str).collect();
    (!thought.is_empty()).then(|| {
        text!(
            "Note: your reply closed a reasoning section that it had not opened, so everything before the closing tag \
             was read as reasoning. {count} {count|call|calls} in it {count|was|were} not run: {names}. If you meant \
             to make {count|it|them}, send {count|it|them} again after your reasoning.",
            count = thought.len(),
            names = format!("{names:?}")
        )
    })
}

/// The maximum number of names in a note to the model about calls in reasoning or about images that are not shown.
const MOST_NAMED: usize = 8;

/// Counters of one turn.
#[derive(Default)]
pub(super) struct Counters {
    rounds: u64,
    bad: u64,
    guard: Guard,
    /// Whether the reminder was sent in this turn.
    reminded: bool,
    noted_unclosed: bool,
    /// Whether the next reply is the last one, whose calls do not run.
    last: bool,
    /// The block that the next reply should continue.
    broken: Option<Broken>,
}

impl Session {
    /// Begins a turn with a message of the user.
    pub(super) fn begin(&mut self, text: &str) {
        let mut user = std::mem::take(&mut self.owed);
        user.push(Note::User(text.to_owned()));
        self.turns.push(Turn { user, images: std::mem::take(&mut self.images), replies: Vec::new() });
        self.counters = Counters::default();
        self.call_model();
    }

    /// Queues the next event of the reply, or ends the reply. Returns `None` if it needs more input.
    pub(super) fn read(&mut self) -> Option<()> {
        let State::Streaming(reply) = &mut self.state else { return None };
        let event = reply.next(&mut self.ids);
        // Ask after `next`: the event that it records may be the reason to stop.
        let stops = reply.wants_stop();
        if event.is_some() || stops {
            self.actions.extend(event.map(Action::Show));
            self.actions.extend(stops.then_some(Action::StopModel));
            return Some(());
        }
        // A stopped reply also waits for its `End`, so that its last chunks do not reach the next reply.
        if !reply.is_ended() {
            return None;
        }
        if let State::Streaming(reply) = std::mem::replace(&mut self.state, State::Idle) {
            self.close_reply(*reply);
        }
        Some(())
    }

    /// Queues the next step of the calls. Returns `None` if a result or an answer must arrive first.
    pub(super) fn work(&mut self) -> Option<()> {
        let State::Working(work, _) = &mut self.state else { return None };
        let action = match work.step(&mut self.judge, size(self.options.limits.side_by_side)) {
            Step::Run(cleared) => Action::Run(cleared),
            Step::Ask(pending) => Action::Ask(pending),
            Step::Answered(result) => Action::Answered(result),
            Step::Wait => return None,
            Step::Done => {
                self.finish_work();
                return Some(());
            }
        };
        self.actions.push_back(action);
        Some(())
    }

    /// Ends the calls of a reply once all are answered. Changes may break the project, so it is checked after them.
    fn finish_work(&mut self) {
        let State::Working(work, notes) = std::mem::replace(&mut self.state, State::Idle) else { return };
        if self.options.checks && work.has_changed() {
            self.state = State::Checking(work, notes);
            self.actions.push_back(Action::Check);
        } else {
            self.close_round(work, None, notes);
        }
    }

    /// Records the result of the project's checks and closes the round.
    pub(super) fn finish_check(&mut self, found: ToolResult) {
        if let State::Checking(work, notes) = std::mem::replace(&mut self.state, State::Idle) {
            self.actions.push_back(Action::Answered(found.clone()));
            self.close_round(work, Some(found), notes);
        }
    }

    /// Ends the turn in any state and leaves a history in which user and assistant alternate.
    pub(super) fn abandon(&mut self, reason: StopReason) {
        if matches!(self.state, State::Idle) {
            return;
        }
        // Drop queued calls and questions: they must not run after the cancellation. Events and answers are still
        // shown.
        self.actions.retain(|action| matches!(action, Action::Show(_) | Action::Answered(_) | Action::Compacted(_)));
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => {}
            State::Streaming(reply) => self.abandon_reply(*reply),
            State::Working(work, notes) | State::Checking(work, notes) => self.abandon_work(work, notes),
        }
        self.actions.push_back(Action::Stop(reason));
    }

    fn abandon_reply(&mut self, mut reply: IncomingReply) {
        if !reply.is_ended() {
            self.actions.push_back(Action::StopModel);
        }
        reply.finish(FinishReason::Cut);
        while let Some(event) = reply.next(&mut self.ids) {
            self.actions.push_back(Action::Show(event));
        }
        let (text, found) = reply.close();
        let is_empty = text.trim().is_empty() && found.items.is_empty();
        if !is_empty {
            self.push_reply(text);
        }
        self.learn(&found);
        if self.counters.last {
            // Calls of the last round never run, so they get no results, only a note for the next turn.
            return self.owe_note_about_calls(&found);
        }
        let notes = self.notes(&found);
        if !found.items.is_empty() {
            self.abandon_work(Work::new(found.items), notes);
        }
    }

    fn abandon_work(&mut self, mut work: Work, notes: Vec<Text>) {
        self.actions.extend(work.cancel().into_iter().map(Action::Answered));
        self.record_results(work, None, notes);
    }

    fn close_reply(&mut self, reply: IncomingReply) {
        let (text, mut found) = reply.close();
        let announces = announces_action(&text);
        let empty = text.trim().is_empty();
        self.push_reply(text);
        self.learn(&found);
        if self.counters.last {
            self.owe_note_about_calls(&found);
            return self.stop(StopReason::RoundLimit);
        }
        let mut notes = self.notes(&found);
        if announces && notes.is_empty() {
            notes.extend(self.remind_of_announced_call(&found));
        }
        self.request_continuation(&mut found, &mut notes);
        if found.repeats {
            let note = text!("Note: your reply repeated the same text again and again, so it was ended.");
            if found.items.is_empty() {
                notes.push(note);
                // The notes are about this reply, so they precede messages that have arrived since.
                self.owed.splice(0..0, notes.iter().map(|note| session_note(note, self.options.language)));
                return self.stop(StopReason::Loop);
            }
            notes.push(note);
        }
        if !found.items.is_empty() {
            self.state = State::Working(Work::new(found.items), notes);
        } else if !notes.is_empty() {
            self.continue_turn(
                Work::new(Vec::new()),
                None,
                notes,
                // Such a reply counts as unreadable, so that a model that only writes such replies does not use up all
                // rounds.
                found.summary.forged.is_some() || found.not_continued,
            );
        } else {
            // Messages and notes that arrived during the reply are sent at once, without a `Stop` in between.
            let continues = !self.owed.is_empty();
            // The model has answered and needs no other round for a note about calls in its reasoning.
            let note = note_about_thought_calls(&found).map(|note| session_note(&note, self.options.language));
            self.owed.splice(0..0, note);
            if continues {
                self.record_results(Work::new(Vec::new()), None, Vec::new());
                // They count as a new turn, so the limits of a turn start again.
                self.counters = Counters::default();
                return self.call_model();
            }
            self.stop(match found.end {
                Some(end @ (FinishReason::Length | FinishReason::Cut)) => StopReason::Unfinished(end),
                _ if empty => StopReason::Empty,
                _ => StopReason::Answered,
            });
        }
    }

    /// Asks the model to continue a block that broke off: once per block, and not if the next reply is the last. The
    /// other calls of the reply run first.
    fn request_continuation(&mut self, found: &mut ReplyContents, notes: &mut Vec<Text>) {
        if found.not_continued && found.items.is_empty() {
            notes.push(text!(
                "Note: the block that broke off was not run, because your reply does not begin with the text that it had to repeat. Send the whole call again as the first thing of your reply, from its opening fence; if it is long, split the work into several smaller calls. If you no longer need it, answer in plain text."
            ));
        }
        // In the last round no call runs, so a continued block could not run either.
        let may_continue = self.counters.rounds + 1 < self.options.limits.rounds;
        let (Some(broken), Some(Item::Broken(answer))) =
            (found.broken.take().filter(|_| may_continue), found.items.last_mut())
        else {
            return;
        };
        *answer = Refusal::ToBeContinued.answer(&answer.id, &answer.tool);
        notes.push(continuation_note(broken.repeated()));
        self.counters.broken = Some(broken);
    }

    /// Learns traits of the backend from a reply.
    fn learn(&mut self, found: &ReplyContents) {
        let dialects = found.items.iter().filter_map(|item| match item {
            Item::Call(call) => call.dialect,
            Item::Broken(_) => None,
        });
        self.learning.note(&self.options.parser, &found.summary, found.end, dialects);
    }

    fn close_round(&mut self, work: Work, checked: Option<ToolResult>, mut notes: Vec<Text>) {
        let (bad, repeated) = (work.is_bad(), self.most_repeated_call(&work));
        if let Some((tool, times)) = repeated {
            notes.push(repetition_note(&tool, times));
            if times >= self.options.limits.loop_stop {
                self.record_results(work, checked, notes);
                return self.stop(StopReason::Loop);
            }
        }
        self.continue_turn(work, checked, notes, bad);
    }

    /// Records the answers to a reply and calls the model again, unless a limit is reached.
    fn continue_turn(&mut self, work: Work, checked: Option<ToolResult>, mut notes: Vec<Text>, bad: bool) {
        self.counters.rounds += 1;
        self.counters.bad = if bad { self.counters.bad + 1 } else { 0 };
        if self.counters.bad >= self.options.limits.bad_replies {
            self.record_results(work, checked, notes);
            return self.stop(StopReason::FormatErrors);
        }
        if self.counters.rounds >= self.options.limits.rounds {
            self.counters.last = true;
            notes.push(text!(
                "Note: this was round {limit} of {limit}; no more calls will be run. Answer now in plain text: what is \
                 done, what is left, and what to do next.",
                limit = self.options.limits.rounds
            ));
        }
        self.record_results(work, checked, notes);
        self.call_model();
    }

    /// Returns the tool of the call that had the same result most often in a row, and how often. `None` if no call
    /// reached the limit for a warning.
    fn most_repeated_call(&mut self, work: &Work) -> Option<(String, u64)> {
        let mut most: Option<(String, u64)> = None;
        for outcome in work.outcomes() {
            let Some(call) = outcome.call else { continue };
            // Calls that poll progress are meant to be repeated.
            if self.judge.catalog.find(&call.name).is_some_and(|spec| spec.is_poll(&call.args)) {
                continue;
            }
            let times = self.counters.guard.note(call, outcome.effect, outcome.ran, outcome.result);
            let known = most.as_ref().map_or(self.options.limits.loop_warning.saturating_sub(1), |(_, times)| *times);
            if times > known {
                most = Some((outcome.result.tool.clone(), times));
            }
        }
        most
    }

    /// Returns the notes about a reply that the model gets in addition to the results.
    fn notes(&mut self, found: &ReplyContents) -> Vec<Text> {
        let mut notes = Vec::new();
        if found.summary.forged.is_some() {
            notes.push(text!(
                "Note: your reply contained a `tool_result` block. Only the host writes results; that block and \
                 everything after it were dropped and not run. Write your calls, end the reply, and wait for the \
                 results."
            ));
        }
        if found.unanswered > 0 {
            notes.push(text!(
                "Note: {count} more blocks of your reply could not be read either. Send one call at a time.",
                count = found.unanswered
            ));
        }
        if found.summary.unclosed && !std::mem::replace(&mut self.counters.noted_unclosed, true) {
            notes.push(text!(
                "Note: the reasoning in your reply was never closed, so nothing after its opening tag was read as an \
                 answer or a call. Close it first, then give the answer or the call."
            ));
        }
        let no_call = found.items.is_empty();
        // After an answer in plain text, this note waits for the next turn; `close_reply` adds it.
        if !no_call || found.is_only_reasoning {
            notes.extend(note_about_thought_calls(found));
        }
        if no_call && found.summary.misplaced && !std::mem::replace(&mut self.counters.reminded, true) {
            let example = found.summary.meant_call(&self.judge.catalog);
            notes.push(prompt::reminder(self.options.language, example.as_ref()).into());
        }
        notes
    }

    /// Returns the note for a reply that only announces an action, once per turn.
    fn remind_of_announced_call(&mut self, found: &ReplyContents) -> Option<Text> {
        let can_call = !self.judge.catalog.specs().is_empty();
        if !found.items.is_empty() || found.end != Some(FinishReason::Stop) || !can_call || self.counters.reminded {
            return None;
        }
        self.counters.reminded = true;
        Some(text!(
            "Your reply announces an action but contains no call. Write the call now, or give your answer if there is \
             nothing left to do."
        ))
    }

    /// Queues a note for the next turn that the calls in the last reply did not run. The user sees these calls as text.
    fn owe_note_about_calls(&mut self, found: &ReplyContents) {
        if !found.items.is_empty() {
            let note = text!(
                "Note: the calls in your last reply were not run, because the limit of {limit} rounds was reached.",
                limit = self.options.limits.rounds
            );
            self.owed.push(session_note(&note, self.options.language));
        }
    }

    fn stop(&mut self, reason: StopReason) {
        self.actions.push_back(Action::Stop(reason));
    }

    fn call_model(&mut self) {
        self.compact_if_near_limit();
        let mut parser = self.options.parser.clone();
        self.learning.apply(&mut parser);
        let broken = self.counters.broken.take();
        self.state = State::Streaming(Box::new(IncomingReply::new(parser, self.counters.last, broken)));
        self.actions.push_back(Action::CallModel);
    }

    /// Adds a reply to the turn.
    fn push_reply(&mut self, text: String) {
        if let Some(turn) = self.turns.last_mut() {
            turn.replies.push(Reply { text, ..Reply::default() });
        }
    }

    /// Adds the answers and the messages that the user sent meanwhile to the last reply.
    fn record_results(&mut self, work: Work, checked: Option<ToolResult>, mut notes: Vec<Text>) {
        let (calls, mut results) = work.into_calls_and_results(&self.judge.catalog);
        results.extend(checked);
        let mut room = Image::MOST;
        let mut left_out = Vec::new();
        for result in &mut results {
            left_out.extend(result.images.split_off(result.images.len().min(room)));
            room -= result.images.len();
        }
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.iter().map(Image::name).take(MOST_NAMED).collect();
            notes.push(text!(
                "{count} {count|image is|images are} not shown, because a message shows {most} at most: {names}. Call \
                 the tool again for one that you need.",
                count = left_out.len(),
                names = names.join(", "),
                most = Image::MOST as u64
            ));
        }
        let mut format = self.options.format.clone();
        format.message_limit = self.room_for_results();
        let results = format::fit(results, &format);
        let language = self.options.language;
        let Some(reply) = self.turns.last_mut().and_then(|turn| turn.replies.last_mut()) else { return };
        reply.calls.extend(calls);
        reply.results.extend(results);
        reply.notes.extend(notes.iter().map(|note| session_note(note, language)));
        reply.notes.append(&mut self.owed);
    }
}

fn session_note(note: &Text, language: Language) -> Note {
    Note::Session(note.render(language))
}

/// Returns the note that asks the model to continue a block that broke off, beginning with the text to repeat.
fn continuation_note(repeated: &str) -> Text {
    text!(
        "Note: your reply broke off inside its last block. Continue that block now. Begin your reply by repeating \
         exactly the text below, without a fence around it, then write at once what comes next, and finish the \
         block:\n\n{fence}\n{repeated}\n{fence}",
        fence = "`".repeat(fence::safe_length(repeated)),
        repeated
    )
}

/// Returns the note about a call that had the same result again.
fn repetition_note(tool: &str, times: u64) -> Text {
    let shown: String = tool.chars().take(64).collect();
    text!(
        "Note: this is the same {tool} call with the same result, {times} times in a row. Repeating it will not help: \
         do something else, or answer with what you know.",
        tool = format!("{shown:?}"),
        times
    )
}
