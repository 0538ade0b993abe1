//! What an agent tells its metrics, and the events that go with it.

use super::Metrics;
use crate::backend::Usage;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use toolfence_policy::Pending;
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Error, ErrorCode, FinishReason, ToolResult};
use toolfence_session::{Action, Answer, StopReason};

/// Counts and times what an agent does.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) metrics: Metrics,
    /// Of the reply: blocks that are no call, by the id under which they are answered.
    unreadable: HashSet<String>,
    /// Of the reply: calls that a person, or nobody, said no to.
    refused: HashMap<String, &'static str>,
    /// Of the reply: calls that ran.
    ran: HashSet<String>,
    /// Whether a call of the reply was answered.
    answered: bool,
    /// Since when the turn is under way.
    turn: Option<Instant>,
}

/// A reply that comes in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyClock {
    began: Instant,
    first: Option<Duration>,
}

/// How long a reply took, and how long it was until its first piece, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyTimes {
    pub(crate) ms: u64,
    pub(crate) first_ms: Option<u64>,
}

impl ReplyClock {
    pub(crate) fn start() -> ReplyClock {
        ReplyClock { began: Instant::now(), first: None }
    }

    /// A piece of the reply has come.
    pub(crate) fn piece(&mut self) {
        if self.first.is_none() {
            self.first = Some(self.began.elapsed());
        }
    }

    pub(crate) fn stop(self) -> ReplyTimes {
        ReplyTimes { ms: milliseconds(self.began.elapsed()), first_ms: self.first.map(milliseconds) }
    }
}

impl Meter {
    pub(crate) fn turn_began(&mut self, session: &str, turn: u64) {
        self.metrics.turns += 1;
        self.turn = Some(Instant::now());
        tracing::info!(name: "turn_began", target: "toolfence", session, turn);
    }

    pub(crate) fn turn_ended(&mut self, session: &str, turn: u64, ended: &Result<StopReason, Error>) {
        let ms = self.turn.take().map_or(0, |began| milliseconds(began.elapsed()));
        let reason = ended.as_ref().map_or("failed", StopReason::name);
        tracing::info!(name: "turn_ended", target: "toolfence", session, turn, reason, ms);
    }

    /// The model is called: what is known of the reply before is of no use any more.
    pub(crate) fn calling(&mut self) -> ReplyClock {
        self.unreadable.clear();
        self.refused.clear();
        self.ran.clear();
        self.answered = false;
        ReplyClock::start()
    }

    pub(crate) fn replied(
        &mut self,
        (session, turn): (&str, u64),
        usage: Usage,
        times: ReplyTimes,
        end: Option<&FinishReason>,
    ) {
        self.metrics.usage += usage;
        self.metrics.model.add(times.ms);
        times.first_ms.into_iter().for_each(|ms| self.metrics.first_byte.add(ms));
        let Usage { input, cached, output, estimated, .. } = usage;
        tracing::info!(
            name: "reply_ended",
            target: "toolfence",
            session,
            turn,
            ms = times.ms,
            first_ms = times.first_ms,
            input,
            cached,
            output,
            counted = estimated == 0,
            end = end_word(end),
        );
    }

    /// What comes out of the session, before anything is done about it.
    pub(crate) fn action(&mut self, action: &Action) {
        match action {
            Action::Show(Event::Call { call, .. }) => {
                call.repairs.iter().for_each(|repair| self.metrics.count_repair(repair.name()));
            }
            Action::Show(Event::Malformed { id, .. } | Event::Incomplete { id, .. }) => {
                self.metrics.malformed += 1;
                self.unreadable.insert(id.to_string());
            }
            Action::Run(cleared) => {
                let call = cleared.call();
                self.ran.insert(call.id.clone());
                tracing::info!(
                    name: "call_began",
                    target: "toolfence",
                    id = call.id,
                    tool = call.name,
                    by = if cleared.is_approved() { "person" } else { "policy" },
                    rule = cleared.decision().rule,
                );
            }
            Action::Answered(result) => self.answered(result),
            _ => {}
        }
    }

    /// A question was answered; it was withdrawn where there is no answer.
    pub(crate) fn asked(&mut self, pending: &Pending, answer: Option<&Answer>, ms: u64) {
        let word = answer.map(answer_word);
        self.metrics.count_answer(word, ms);
        let call = pending.call();
        if let Some(by) =
            word.and_then(|word| [("no", "person"), ("nobody", "nobody")].into_iter().find(|(no, _)| *no == word))
        {
            self.refused.insert(call.id.clone(), by.1);
        }
        tracing::info!(
            name: "person_asked",
            target: "toolfence",
            id = call.id,
            tool = call.name,
            rule = pending.decision().rule,
            answer = word,
            ms,
        );
    }

    fn answered(&mut self, result: &ToolResult) {
        if !std::mem::replace(&mut self.answered, true) {
            self.metrics.rounds += 1;
        }
        let ran = self.ran.remove(&result.id);
        let ms = result.execution_time_ms;
        if !self.unreadable.remove(&result.id) {
            self.metrics.count_call(&result.tool, result.success, ran.then_some(ms));
        }
        let code = result.error.as_ref().map(|error| error.code);
        let word = code.and_then(|code| serde_json::to_value(code).ok());
        let word = word.as_ref().and_then(|word| word.as_str());
        word.into_iter().for_each(|word| self.metrics.count_failure(word));
        match (self.refused.remove(&result.id), code) {
            (Some(by), Some(ErrorCode::Denied)) => self.metrics.count_denial(by),
            (None, Some(ErrorCode::Denied | ErrorCode::PermissionDenied)) if !ran => {
                self.metrics.count_denial("policy");
            }
            _ => {}
        }
        tracing::info!(
            name: "call_answered",
            target: "toolfence",
            id = result.id,
            tool = result.tool,
            success = result.success,
            code = word,
            ran,
            ms,
            bytes = result.output_bytes,
            truncated = result.truncated,
        );
    }
}

/// What was answered, in a word.
pub(crate) fn answer_word(answer: &Answer) -> &'static str {
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

/// How a reply ended, in a word. `None`: it was stopped.
fn end_word(end: Option<&FinishReason>) -> &'static str {
    match end {
        None => "cancelled",
        Some(FinishReason::Length) => "length",
        Some(FinishReason::Cut) => "cut",
        Some(_) => "stop",
    }
}

/// A time in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
