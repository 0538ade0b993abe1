//! What the driver tells a transcript: from actions and the history of a session to records.
//!
//! Results and the user's words are written down when they come, replies when they are over. Everything else that the model is sent is found
//! by comparing the history with what was written. A history that is no longer what it was
//! (it was made shorter, say) is written down as a whole, so that a resumed session sends what this one would have sent.

use super::Transcript;
use super::record::{
    HistoryImage, Kind, Record, RecordedAnswer, RecordedCall, RecordedDecision, RecordedResult, RecordedTimes, Role,
    Tokens,
};
use crate::backend::Usage;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use toolfence_policy::{Cleared, Decision, Pending};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Error, ErrorCode, Image, Message, ToolResult, format};
use toolfence_session::{Action, Answer, Session, StopReason};

/// The most calls of a reply that are remembered until they have their answer.
const MOST_CALLS: usize = 1000;

/// What is known of a session that is under way.
#[derive(Debug, Default)]
pub(super) struct Recording {
    /// The history as far as it is written down.
    marks: Vec<Mark>,
    reply: ReplySoFar,
    /// The calls of the reply that have no answer yet, in its order.
    calls: VecDeque<RecordedCall>,
    decisions: HashMap<String, RecordedDecision>,
    /// What was answered to questions about calls that are not written down yet.
    answers: HashMap<String, Vec<RecordedAnswer>>,
    /// Results that were written down and are not in a message yet.
    results: Vec<ToolResult>,
    /// What the user said, was written down, and is in no message yet; and how many images it shows.
    typed: Option<(String, usize)>,
    /// The images that were written down, with the record of each and its place there.
    images: Vec<(Image, String, usize)>,
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

/// A message by which its text is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    role: toolfence_protocol::Role,
    length: usize,
    hash: u64,
}

impl Mark {
    fn of(message: &Message) -> Mark {
        Mark { role: message.role, length: message.content.len(), hash: hash(&message.content) }
    }

    /// What was added to the message of this mark, where something was.
    fn behind<'m>(&self, message: &'m Message) -> Option<&'m str> {
        let (before, behind) = message.content.split_at_checked(self.length)?;
        (self.role == message.role && hash(before) == self.hash).then_some(behind)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The messages of a session without its instructions.
fn messages(session: &Session) -> &[Message] {
    match session.history() {
        [first, rest @ ..] if first.role == toolfence_protocol::Role::System => rest,
        all => all,
    }
}

/// What of a message is neither the results in front of it nor the user's words at its end.
fn between<'m>(text: &'m str, front: &str, end: &str) -> Option<&'m str> {
    let text = text.strip_prefix("\n\n").unwrap_or(text);
    let text = text.strip_prefix(front)?;
    let text = text.strip_suffix(end)?;
    Some(text.trim_matches('\n'))
}

impl Transcript {
    /// The session begins with what it has in its history.
    #[doc(hidden)]
    pub fn attach(&mut self, session: &Session) {
        self.recording.marks = messages(session).iter().map(Mark::of).collect();
        let images = self.stored().iter().flat_map(|record| {
            let images = record.images.iter().enumerate();
            images.map(|(at, image)| (image.clone(), record.id.clone(), at)).collect::<Vec<_>>()
        });
        self.recording.images = images.collect();
        self.forget_stored();
    }

    /// The user says this, and the session knows it by now.
    #[doc(hidden)]
    pub fn user(&mut self, words: &str, images: &[Image], session: &Session) {
        let instructions = session.history().first().filter(|first| first.role == toolfence_protocol::Role::System);
        self.begin_turn(words, instructions.map_or("", |message| &message.content));
        self.recording.typed = Some((words.to_owned(), images.len()));
        self.follow(session);
        let mut record = Record::new(Role::User, words);
        record.images = images.to_vec();
        self.append_showing(record, images);
    }

    /// A piece of a reply as the backend sent it.
    #[doc(hidden)]
    pub fn chunk(&mut self, text: &str) {
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
    #[doc(hidden)]
    pub fn action(&mut self, action: &Action, session: &Session) {
        match action {
            Action::Show(event) => self.event(event),
            Action::Answered(result) => {
                self.replied(session);
                self.answered(result, session);
            }
            Action::Run(cleared) => {
                self.replied(session);
                self.running(cleared);
            }
            Action::CallModel | Action::Stop(_) => self.follow(session),
            // A question may stand for hours: the reply is written down before it.
            Action::Ask(_) => self.replied(session),
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
    #[doc(hidden)]
    pub fn asked(&mut self, pending: &Pending, answer: &Answer, ms: u64) {
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
        // Of two calls with one id the session renames the second, and calls are answered in their order.
        let at = recording.calls.iter().position(|call| call.id == result.id);
        let at = at.or_else(|| recording.calls.iter().position(|call| call.name == result.tool));
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
        recording.results.push(result.clone());
        self.append_showing(record, &result.images);
    }

    /// Writes down a record with these images, which later ones may name.
    fn append_showing(&mut self, record: Record, images: &[Image]) {
        if let Some(id) = self.append(record) {
            let written = images.iter().enumerate().map(|(at, image)| (image.clone(), id.clone(), at));
            self.recording.images.extend(written);
        }
    }

    /// How a turn ended.
    #[doc(hidden)]
    pub fn ended(&mut self, ended: &Result<StopReason, Error>) {
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

    /// Writes down the reply that has become part of the history, if one has. What the user is about to be told is not looked at:
    /// not all of its results were told yet.
    fn replied(&mut self, session: &Session) {
        let history = messages(session);
        let known = self.recording.marks.len();
        if let Some(message) = history.get(known)
            && message.role == toolfence_protocol::Role::Assistant
        {
            self.reply(&message.content);
            self.recording.marks.push(Mark::of(message));
        }
    }

    /// Writes down everything that the history has become.
    pub(crate) fn follow(&mut self, session: &Session) {
        let history = messages(session);
        let marks = &self.recording.marks;
        let same = marks.iter().zip(history).take_while(|(mark, message)| **mark == Mark::of(message)).count();
        let behind = match (marks.get(same), history.get(same)) {
            (None, _) => None,
            (Some(mark), Some(message))
                if same + 1 == marks.len() && message.role == toolfence_protocol::Role::User =>
            {
                match mark.behind(message) {
                    Some(behind) => Some(behind),
                    None => return self.replaced(history),
                }
            }
            _ => return self.replaced(history),
        };
        self.recording.marks.truncate(same);
        for (number, message) in history[same..].iter().enumerate() {
            let told = match (message.role, behind.filter(|_| number == 0)) {
                (toolfence_protocol::Role::Assistant, _) => {
                    self.reply(&message.content);
                    true
                }
                (_, Some(behind)) => self.told(behind, session),
                (_, None) => self.told(&message.content, session),
            };
            if !told {
                return self.replaced(history);
            }
            self.recording.marks.push(Mark::of(message));
        }
    }

    /// The model is told this. Says whether it is what was written down, with notes between.
    fn told(&mut self, text: &str, session: &Session) -> bool {
        let recording = &mut self.recording;
        let front = match recording.results.is_empty() {
            true => String::new(),
            false => format::results(&recording.results, session.format()),
        };
        let end = recording.typed.as_ref().map_or("", |(words, _)| words).to_owned();
        let Some(note) = between(text, &front, &end) else { return false };
        recording.results.clear();
        recording.typed = None;
        if !note.is_empty() {
            let mut record = Record::new(Role::Note, note);
            record.kind = Some(Kind::Told);
            self.append(record);
        }
        true
    }

    /// The model wrote this, as the history has it.
    fn reply(&mut self, kept: &str) {
        let ReplySoFar { raw, prose, thoughts, tokens, times, state } = std::mem::take(&mut self.recording.reply);
        let mut record = Record::new(Role::Assistant, prose);
        record.model = self.answers();
        record.tokens = tokens;
        record.times = times;
        record.state = state;
        record.thoughts = Some(thoughts).filter(|thoughts| !thoughts.trim().is_empty());
        record.raw = Some(raw).filter(|raw| *raw != record.content);
        if kept != record.written() {
            record.kept = Some(kept.to_owned());
        }
        self.append(record);
    }

    /// What goes to the model is another history from here on.
    fn replaced(&mut self, history: &[Message]) {
        let recording = &mut self.recording;
        recording.results.clear();
        let typed = recording.typed.take();
        recording.marks = history.iter().map(Mark::of).collect();
        let unwritten = !recording.reply.raw.is_empty();
        if unwritten {
            let raw = recording.reply.raw.clone();
            self.reply(&raw);
        }
        let mut record = Record::new(Role::Note, "");
        record.kind = Some(Kind::History);
        let mut history = history.to_vec();
        // The user's words get a record of their own behind this one.
        if let (Some((typed, images)), Some(last)) = (typed, history.last_mut())
            && let Some(before) = last.content.strip_suffix(&typed)
        {
            last.images.truncate(last.images.len().saturating_sub(images));
            last.content = before.trim_end_matches('\n').to_owned();
            if last.content.is_empty() {
                history.pop();
            }
        }
        let known = &self.recording.images;
        for (message, said) in history.iter_mut().enumerate() {
            for shown in std::mem::take(&mut said.images) {
                // A host may have begun with a history of its own; then the image is written down with it.
                match known.iter().find(|(image, ..)| *image == shown) {
                    Some((_, record_id, image)) => {
                        record.history_images.push(HistoryImage { message, record: record_id.clone(), image: *image });
                    }
                    None => said.images.push(shown),
                }
            }
        }
        record.history = Some(history);
        self.append(record);
    }
}
