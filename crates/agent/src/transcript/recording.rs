//! Writes a session to its transcript: from actions and the turns of a session to records.
//!
//! Results are written when they arrive, so that a killed process loses none; replies, notes and the words of the user when they are part
//! of the session's turns.

use super::Transcript;
use super::record::{
    Kind, Record, RecordedAnswer, RecordedCall, RecordedDecision, RecordedResult, RecordedTimes, Role, Tokens,
};
use crate::backend::Usage;
use std::collections::{HashMap, VecDeque};
use toolfence_policy::{Cleared, Decision, Pending};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Error, ErrorCode, Image, ToolResult};
use toolfence_session::{Action, Answer, Note, Session, StopReason, Turn};

/// The most calls of a reply that are remembered until they have their answer.
const MOST_CALLS: usize = 1000;

/// What is known of a session that is under way.
#[derive(Debug, Default)]
pub(super) struct Recording {
    written: Written,
    reply: ReplySoFar,
    /// The calls of the reply that have no answer yet, in its order.
    calls: VecDeque<RecordedCall>,
    decisions: HashMap<String, RecordedDecision>,
    /// What was answered to questions about calls that are not written down yet.
    answers: HashMap<String, Vec<RecordedAnswer>>,
}

/// How much of a session is written. Turns only grow at their end.
#[derive(Debug, Clone, Copy, Default)]
struct Written {
    turns: usize,
    /// The replies of the last of these turns.
    replies: usize,
    /// The notes of the last of these replies.
    notes: usize,
}

impl Written {
    fn all(turns: &[Turn]) -> Written {
        let replies = turns.last().map_or(&[][..], |turn| &turn.replies);
        let notes = replies.last().map_or(0, |reply| reply.notes.len());
        Written { turns: turns.len(), replies: replies.len(), notes }
    }
}

/// A reply that comes in.
#[derive(Debug, Default)]
struct ReplySoFar {
    raw: String,
    prose: String,
    thoughts: String,
    tokens: Option<Tokens>,
    times: Option<RecordedTimes>,
    state: Option<String>,
}

/// The name of an answer in a record.
fn answer_word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::Always(_) => "always",
        Answer::No(_) | Answer::Skip(_) => "no",
        Answer::Nobody(_) => "nobody",
        Answer::Edit(_) => "edit",
        // What a later version of the session may add.
        _ => "other",
    }
}

impl Transcript {
    /// Starts to record a session whose turns are in the transcript already.
    pub(crate) fn attach(&mut self, session: &Session) {
        self.recording.written = Written::all(session.turns());
        self.forget_stored();
    }

    /// Records the turn that the session has just begun with a message of the user.
    pub(crate) fn user(&mut self, words: &str, session: &Session) {
        self.begin_turn(words, session.instructions());
        self.follow(session);
    }

    /// A piece of a reply as the backend sent it.
    pub(crate) fn chunk(&mut self, text: &str) {
        self.recording.reply.raw.push_str(text);
    }

    /// What the reply cost that is over, and how long it took.
    pub(crate) fn cost(&mut self, usage: Usage, times: RecordedTimes) {
        self.recording.reply.times = Some(times);
        let Usage { input, cached, output, estimated, .. } = usage;
        self.recording.reply.tokens = Some(Tokens { input, output, cached, estimated: estimated > 0 });
    }

    /// The backend of the reply that is over wants this back with the next request.
    pub(crate) fn kept(&mut self, state: &str) {
        self.recording.reply.state = Some(state.to_owned());
    }

    /// What comes out of the session, before anything is done about it.
    pub(crate) fn action(&mut self, action: &Action, session: &Session) {
        match action {
            Action::Show(event) => self.event(event),
            Action::Answered(result) => {
                self.write_reply_with_calls(session);
                self.answered(result, session);
            }
            Action::Run(cleared) => {
                self.write_reply_with_calls(session);
                self.running(cleared);
            }
            Action::CallModel | Action::Stop(_) => {
                self.follow(session);
                // Calls that were found to be thoughts have no answer.
                self.recording.calls.clear();
            }
            // A question may be open for hours: the reply is written before it.
            Action::Ask(_) => self.write_reply_with_calls(session),
            _ => {}
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let recording = &mut self.recording;
        let known = match event {
            Event::Text { text, .. } => return recording.reply.prose.push_str(text),
            Event::Reasoning { unopened: true, .. } => {
                // All before it was thought.
                let prose = std::mem::take(&mut recording.reply.prose);
                return recording.reply.thoughts.push_str(&prose);
            }
            Event::Reasoning { text, .. } => return recording.reply.thoughts.push_str(text),
            Event::Call { call, .. } => RecordedCall::of(call),
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                RecordedCall { id: id.to_string(), ..RecordedCall::default() }
            }
            _ => return,
        };
        if recording.calls.len() < MOST_CALLS {
            recording.calls.push_back(known);
        }
    }

    fn running(&mut self, cleared: &Cleared) {
        let by = if cleared.is_approved() { "person" } else { "policy" };
        let call = cleared.call();
        self.decided(&call.id, cleared.decision(), by);
        // The call under the names that are taught, with its arguments as they are run.
        if let Some(known) = self.recording.calls.iter_mut().find(|known| known.id == call.id) {
            known.name.clone_from(&call.name);
            known.args.clone_from(&call.args);
        }
    }

    /// There was a question, and an answer. What was allowed is written down when it runs.
    pub(crate) fn asked(&mut self, pending: &Pending, answer: &Answer, ms: u64) {
        let why = match answer {
            Answer::No(why) | Answer::Skip(why) | Answer::Nobody(why) => Some(why.to_string()),
            _ => None,
        };
        let answered = RecordedAnswer { answer: answer_word(answer).to_owned(), ms, why };
        self.recording.answers.entry(pending.call().id.clone()).or_default().push(answered);
        match answer {
            Answer::No(_) | Answer::Skip(_) => self.decided(&pending.call().id, pending.decision(), "person"),
            Answer::Nobody(_) => self.decided(&pending.call().id, pending.decision(), "nobody"),
            _ => {}
        }
    }

    fn decided(&mut self, id: &str, decision: &Decision, by: &str) {
        let verdict = serde_json::to_value(decision.judgement).ok();
        let decision = RecordedDecision {
            rule: Some(decision.rule.clone()),
            reason: Some(decision.reason.to_string()),
            verdict: verdict.as_ref().and_then(|verdict| verdict.as_str()).unwrap_or_default().to_owned(),
            by: by.to_owned(),
        };
        self.recording.decisions.insert(id.to_owned(), decision);
    }

    fn answered(&mut self, result: &ToolResult, session: &Session) {
        let recording = &mut self.recording;
        let at = recording.calls.iter().position(|call| call.id == result.id);
        let mut call = at
            .and_then(|at| recording.calls.remove(at))
            .unwrap_or_else(|| RecordedCall { name: result.tool.clone(), ..RecordedCall::default() });
        call.id.clone_from(&result.id);
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
        record.tool_result = Some(RecordedResult::of(result, session.language()));
        record.images.clone_from(&result.images);
        self.append(record);
    }

    /// How a turn ended.
    pub(crate) fn ended(&mut self, ended: &Result<StopReason, Error>) {
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
        self.settle();
    }

    /// Writes the last reply, whose calls are being answered, if it is not written. Its notes follow when all are answered.
    fn write_reply_with_calls(&mut self, session: &Session) {
        let Some(turn) = session.turns().last() else { return };
        if let Some(reply) = turn.replies.get(self.recording.written.replies) {
            self.write_reply(&reply.text, true);
        }
    }

    /// Writes everything that was added to the turns of the session, or taken back from them.
    pub(crate) fn follow(&mut self, session: &Session) {
        let turns = session.turns();
        for _ in turns.len()..self.recording.written.turns {
            let mut record = Record::new(Role::Note, "");
            record.kind = Some(Kind::TakenBack);
            self.append(record);
            // What is left of the conversation was written before.
            self.recording.written = Written::all(turns);
        }
        loop {
            let written = self.recording.written.turns;
            if let Some(turn) = written.checked_sub(1).and_then(|last| turns.get(last)) {
                self.follow_replies(turn);
            }
            let Some(turn) = turns.get(written) else { return };
            self.notes(&turn.user, &turn.images);
            self.recording.written = Written { turns: written + 1, replies: 0, notes: 0 };
        }
    }

    fn follow_replies(&mut self, turn: &Turn) {
        loop {
            let Written { replies, notes, .. } = self.recording.written;
            if let Some(reply) = replies.checked_sub(1).and_then(|last| turn.replies.get(last)) {
                self.notes(reply.notes.get(notes..).unwrap_or_default(), &[]);
                self.recording.written.notes = reply.notes.len();
            }
            let Some(reply) = turn.replies.get(replies) else { return };
            self.write_reply(&reply.text, false);
        }
    }

    /// Writes notes. The last one, which are the words of the user, shows these images.
    fn notes(&mut self, notes: &[Note], images: &[Image]) {
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

    /// Writes the reply that is over, of which the session keeps this text.
    fn write_reply(&mut self, kept: &str, has_calls: bool) {
        self.recording.written.replies += 1;
        self.recording.written.notes = 0;
        let ReplySoFar { raw, prose, thoughts, tokens, times, state } = std::mem::take(&mut self.recording.reply);
        if kept.trim().is_empty() && raw.trim().is_empty() {
            return;
        }
        let mut record = Record::new(Role::Assistant, prose);
        record.model = self.answers();
        record.tokens = tokens;
        record.times = times;
        record.state = state;
        record.has_calls = has_calls;
        record.thoughts = Some(thoughts).filter(|thoughts| !thoughts.trim().is_empty());
        record.raw = Some(raw).filter(|raw| *raw != record.content);
        if kept != record.written() {
            record.kept = Some(kept.to_owned());
        }
        self.append(record);
    }
}
