//! Records a session in its transcript by converting actions and turns to records.
//!
//! Results are written when they arrive, so that a killed process loses none. Replies, notes and messages of the user
//! are written once they are part of the session's turns.

use super::Transcript;
use super::record::{
    Kind, Record, RecordedAnswer, RecordedCall, RecordedDecision, RecordedResult, RecordedTimes, Role, Tokens,
};
use crate::backend::Usage;
use std::collections::{HashMap, VecDeque};
use toolfence_policy::{ClearedCall, Decision, Pending};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Error, ErrorCode, Image, ToolResult};
use toolfence_session::{Action, Answer, Note, Session, StopReason, Turn};

/// The maximum number of calls of a reply that are remembered until they are answered.
const MOST_CALLS: usize = 1000;

/// The recorded state of a running session.
#[derive(Debug, Default)]
pub(super) struct Recording {
    written: RecordedCounts,
    reply: ReplySoFar,
    /// The unanswered calls of the reply, in its order.
    calls: VecDeque<RecordedCall>,
    decisions: HashMap<String, RecordedDecision>,
    /// The answers to questions about calls that are not recorded yet.
    answers: HashMap<String, Vec<RecordedAnswer>>,
}

/// How much of a session is recorded. Counts are enough, because turns only grow at their end.
#[derive(Debug, Clone, Copy, Default)]
struct RecordedCounts {
    turns: usize,
    /// The number of replies in the last of these turns.
    replies: usize,
    /// The number of notes of the last of these replies.
    notes: usize,
}

impl RecordedCounts {
    fn all(turns: &[Turn]) -> RecordedCounts {
        let replies = turns.last().map_or(&[][..], |turn| &turn.replies);
        let notes = replies.last().map_or(0, |reply| reply.notes.len());
        RecordedCounts { turns: turns.len(), replies: replies.len(), notes }
    }
}

/// A reply that is being received.
#[derive(Debug, Default)]
struct ReplySoFar {
    raw: String,
    prose: String,
    thoughts: String,
    tokens: Option<Tokens>,
    times: Option<RecordedTimes>,
    state: Option<String>,
}

/// Returns the name of an answer in a record.
fn answer_word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::Always(_) => "always",
        Answer::No(_) | Answer::Skip(_) => "no",
        Answer::Nobody(_) => "nobody",
        Answer::Edit(_) => "edit",
        // A later version of the session may add answers.
        _ => "other",
    }
}

impl Transcript {
    /// Starts to record a session whose turns are in the transcript already.
    pub(crate) fn attach(&mut self, session: &Session) {
        self.recording.written = RecordedCounts::all(session.turns());
        self.forget_stored();
    }

    /// Records the turn that the session has just begun with a message of the user.
    pub(crate) fn record_user(&mut self, words: &str, session: &Session) {
        self.begin_turn(words, session.instructions());
        self.record_turns(session);
    }

    /// Adds a piece of a reply as the backend sent it.
    pub(crate) fn add_chunk(&mut self, text: &str) {
        self.recording.reply.raw.push_str(text);
    }

    /// Sets the usage and the duration of the reply that has ended.
    pub(crate) fn set_usage(&mut self, usage: Usage, times: RecordedTimes) {
        self.recording.reply.times = Some(times);
        let Usage { input, cached, output, estimated, .. } = usage;
        self.recording.reply.tokens = Some(Tokens { input, output, cached, estimated: estimated > 0 });
    }

    /// Sets the state that the backend of the ended reply needs with the next request.
    pub(crate) fn set_backend_state(&mut self, state: &str) {
        self.recording.reply.state = Some(state.to_owned());
    }

    /// Records an action of the session before it is performed.
    pub(crate) fn record_action(&mut self, action: &Action, session: &Session) {
        match action {
            Action::Show(event) => self.record_event(event),
            Action::Answered(result) => {
                self.write_reply_with_calls(session);
                self.record_result(result, session);
            }
            Action::Run(cleared) => {
                self.write_reply_with_calls(session);
                self.update_running_call(cleared);
            }
            Action::CallModel | Action::Stop(_) => {
                self.record_turns(session);
                // Calls in reasoning get no answer, so they would remain here.
                self.recording.calls.clear();
            }
            // The user may take hours to answer, and the process may be killed before. So the reply is written now.
            Action::Ask(_) => self.write_reply_with_calls(session),
            _ => {}
        }
    }

    fn record_event(&mut self, event: &Event<'_>) {
        let recording = &mut self.recording;
        let call = match event {
            Event::Text { text, .. } => return recording.reply.prose.push_str(text),
            Event::Reasoning { unopened: true, .. } => {
                // The closing tag had no opening tag, so all text before it was reasoning.
                let prose = std::mem::take(&mut recording.reply.prose);
                return recording.reply.thoughts.push_str(&prose);
            }
            Event::Reasoning { text, .. } => return recording.reply.thoughts.push_str(text),
            Event::Call { call, .. } => RecordedCall::from_call(call),
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                RecordedCall { id: id.to_string(), ..RecordedCall::default() }
            }
            _ => return,
        };
        if recording.calls.len() < MOST_CALLS {
            recording.calls.push_back(call);
        }
    }

    fn update_running_call(&mut self, cleared: &ClearedCall) {
        let by = if cleared.is_approved() { "person" } else { "policy" };
        let call = cleared.call();
        self.record_decision(&call.id, cleared.decision(), by);
        // A cleared call has canonical names and its final arguments, which the user may have edited.
        if let Some(known) = self.recording.calls.iter_mut().find(|known| known.id == call.id) {
            known.name.clone_from(&call.name);
            known.args.clone_from(&call.args);
        }
    }

    /// Records an answer to a question. An approved call is recorded when it runs.
    pub(crate) fn record_answer(&mut self, pending: &Pending, answer: &Answer, ms: u64) {
        let why = match answer {
            Answer::No(why) | Answer::Skip(why) | Answer::Nobody(why) => Some(why.to_string()),
            _ => None,
        };
        let answered = RecordedAnswer { answer: answer_word(answer).to_owned(), ms, why };
        self.recording.answers.entry(pending.call().id.clone()).or_default().push(answered);
        match answer {
            Answer::No(_) | Answer::Skip(_) => self.record_decision(&pending.call().id, pending.decision(), "person"),
            Answer::Nobody(_) => self.record_decision(&pending.call().id, pending.decision(), "nobody"),
            _ => {}
        }
    }

    fn record_decision(&mut self, id: &str, decision: &Decision, by: &str) {
        let verdict = serde_json::to_value(decision.judgement).ok();
        let decision = RecordedDecision {
            rule: Some(decision.rule.clone()),
            reason: Some(decision.reason.to_string()),
            verdict: verdict.as_ref().and_then(|verdict| verdict.as_str()).unwrap_or_default().to_owned(),
            by: by.to_owned(),
        };
        self.recording.decisions.insert(id.to_owned(), decision);
    }

    fn record_result(&mut self, result: &ToolResult, session: &Session) {
        let recording = &mut self.recording;
        let at = recording.calls.iter().position(|call| call.id == result.id);
        let mut call = at
            .and_then(|at| recording.calls.remove(at))
            .unwrap_or_else(|| RecordedCall { name: result.tool.clone(), ..RecordedCall::default() });
        call.id.clone_from(&result.id);
        // A refused call did not run, so its execution time is 0. A tool that ran may return the same codes.
        let denied = result.error.as_ref().is_some_and(|error| {
            matches!(error.code, ErrorCode::Denied | ErrorCode::PermissionDenied) && result.execution_time_ms == 0
        });
        let by_result = || {
            denied.then(|| RecordedDecision { rule: None, reason: None, verdict: "deny".into(), by: "policy".into() })
        };
        call.asked = recording.answers.remove(&result.id).unwrap_or_default();
        call.decision = recording.decisions.remove(&result.id).or_else(by_result);
        let mut record = Record::new(Role::Tool, "");
        record.tool_call = Some(call);
        record.tool_result = Some(RecordedResult::from_result(result, session.language()));
        record.images.clone_from(&result.images);
        self.append(record);
    }

    /// Records the end of a turn.
    pub(crate) fn record_end(&mut self, ended: &Result<StopReason, Error>) {
        let how = match ended {
            Ok(StopReason::Answered) => None,
            Ok(reason) => Some(match serde_json::to_value(reason) {
                Ok(serde_json::Value::String(word)) => word,
                Ok(other) => other.to_string(),
                Err(_) => String::new(),
            }),
            Err(error) => Some(error.to_string()),
        };
        if let Some(how) = how {
            let mut record = Record::new(Role::Note, how);
            record.kind = Some(Kind::End);
            self.append(record);
        }
        self.sync_file();
    }

    /// Writes the last reply, whose calls are being answered, unless it was written before. Its notes follow when all
    /// calls are answered.
    fn write_reply_with_calls(&mut self, session: &Session) {
        let Some(turn) = session.turns().last() else { return };
        if let Some(reply) = turn.replies.get(self.recording.written.replies) {
            self.write_reply(&reply.text, true);
        }
    }

    /// Writes all additions to the turns of the session, and removals from them.
    pub(crate) fn record_turns(&mut self, session: &Session) {
        let turns = session.turns();
        for _ in turns.len()..self.recording.written.turns {
            let mut record = Record::new(Role::Note, "");
            record.kind = Some(Kind::TakenBack);
            self.append(record);
            // The turns that remain were recorded when they happened.
            self.recording.written = RecordedCounts::all(turns);
        }
        loop {
            let written = self.recording.written.turns;
            if let Some(turn) = written.checked_sub(1).and_then(|last| turns.get(last)) {
                self.record_replies(turn);
            }
            let Some(turn) = turns.get(written) else { return };
            self.write_notes(&turn.user, &turn.images);
            self.recording.written = RecordedCounts { turns: written + 1, replies: 0, notes: 0 };
        }
    }

    fn record_replies(&mut self, turn: &Turn) {
        loop {
            let RecordedCounts { replies, notes, .. } = self.recording.written;
            if let Some(reply) = replies.checked_sub(1).and_then(|last| turn.replies.get(last)) {
                self.write_notes(reply.notes.get(notes..).unwrap_or_default(), &[]);
                self.recording.written.notes = reply.notes.len();
            }
            let Some(reply) = turn.replies.get(replies) else { return };
            self.write_reply(&reply.text, false);
        }
    }

    /// Writes notes. `images` belong to the last one, which has the words of the user.
    fn write_notes(&mut self, notes: &[Note], images: &[Image]) {
        for (index, note) in notes.iter().enumerate() {
            let record = match note {
                Note::User(text) => {
                    let mut record = Record::new(Role::User, text);
                    if index + 1 == notes.len() {
                        record.images = images.to_vec();
                    }
                    record
                }
                Note::Session(text) => {
                    let mut record = Record::new(Role::Note, text);
                    record.kind = Some(Kind::Told);
                    record
                }
            };
            self.append(record);
        }
    }

    /// Writes the reply that has ended. `kept` is its text in the session.
    fn write_reply(&mut self, kept: &str, has_calls: bool) {
        self.recording.written.replies += 1;
        self.recording.written.notes = 0;
        let ReplySoFar { raw, prose, thoughts, tokens, times, state } = std::mem::take(&mut self.recording.reply);
        // A reply without text is counted above, but needs no record.
        if kept.trim().is_empty() && raw.trim().is_empty() {
            return;
        }
        let mut record = Record::new(Role::Assistant, prose);
        record.model = self.current_model();
        record.tokens = tokens;
        record.times = times;
        record.state = state;
        record.has_calls = has_calls;
        record.thoughts = Some(thoughts).filter(|thoughts| !thoughts.trim().is_empty());
        record.raw = Some(raw).filter(|raw| *raw != record.content);
        if kept != record.written_text() {
            record.kept = Some(kept.to_owned());
        }
        self.append(record);
    }
}
