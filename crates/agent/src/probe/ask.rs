//! Sends one request of the probe and reads its reply within limits.

use super::{Options, Step};
use crate::backend::{Backend, Chunk, Sink};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tokio::time;
use toolfence_protocol::parse::{self, Event};
use toolfence_protocol::reply::Summary;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Language, Message, Role, Text, ToolCall, text};

/// The maximum number of bytes of a reply that are read. The answers to all questions are shorter.
const MOST_BYTES: usize = 32 << 10;

/// The maximum number of bytes of a reply under a grammar that are read. Some models do not stop under one.
const MOST_BYTES_WITH_GRAMMAR: usize = 400;

/// The maximum number of calls of the server's own channel that are read.
const MOST_CALLS: usize = 64;

/// The reason why a request got no reply.
pub(super) enum Failure {
    /// The backend reported an error.
    Backend(Error),
    /// The request took longer than this limit.
    TimedOut(Duration),
    /// The reply had neither text nor reasoning nor calls.
    Empty,
    /// The time for all requests was over.
    NoTimeLeft,
    /// The first question got no answer.
    NotAsked,
}

impl Failure {
    pub(super) fn text(&self) -> Text {
        match self {
            Failure::Backend(error) => error.text(),
            Failure::TimedOut(limit) => {
                text!("the reply took longer than {seconds} s", seconds = limit.as_secs_f32().to_string())
            }
            Failure::Empty => text!("the reply was empty"),
            Failure::NoTimeLeft => text!("the time for all questions was over"),
            Failure::NotAsked => text!("not asked, because the first question got no answer"),
        }
    }

    /// Returns `true` if the server has read the request and refuses it.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Failure::Backend(error) if matches!(error.kind(), ErrorKind::Rejected | ErrorKind::TooLong { .. }))
    }
}

/// The reply to one request.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) reasoning: String,
    /// Calls in the server's own channel.
    pub(super) native: Vec<ToolCall>,
    /// The number of pieces of text.
    pub(super) pieces: usize,
    most_bytes: usize,
}

/// How a reply marked its reasoning. The later variant wins if replies differ, because a call in reasoning must not
/// run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Marks {
    None,
    Field,
    Tags,
    Opened,
}

/// Sends the requests, counts them, and keeps the time.
pub(super) struct Asker<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) language: Language,
    /// How the replies so far marked their reasoning; `None` before the first reply.
    pub(super) marks: Option<Marks>,
    watch: &'a mut (dyn FnMut(&Step) + Send),
    limit: Duration,
    end: Instant,
    requests: usize,
    closed: bool,
}

impl<'a> Asker<'a> {
    pub(super) fn new(
        backend: &'a dyn Backend,
        options: &Options,
        watch: &'a mut (dyn FnMut(&Step) + Send),
    ) -> Asker<'a> {
        Asker {
            backend,
            language: options.language,
            marks: None,
            watch,
            limit: options.request,
            end: Instant::now() + options.whole,
            requests: 0,
            closed: false,
        }
    }

    /// Makes every later request fail with [`Failure::NotAsked`] without being sent.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Sends one request to the backend of the probe, with a system message if there is one.
    pub(super) async fn ask(&mut self, question: Text, system: Option<String>, user: &str) -> Result<Reply, Failure> {
        let reply = self.send(self.backend, question, system, user, MOST_BYTES).await?;
        self.marks = self.marks.max(Some(marks_of(&reply)));
        Ok(reply)
    }

    /// Sends one request to the backend of the probe with a grammar, and reads the beginning of the reply.
    pub(super) async fn ask_with_grammar(
        &mut self,
        backend: &dyn Backend,
        question: Text,
        user: &str,
    ) -> Result<Reply, Failure> {
        self.send(backend, question, None, user, MOST_BYTES_WITH_GRAMMAR).await
    }

    async fn send(
        &mut self,
        backend: &dyn Backend,
        question: Text,
        system: Option<String>,
        user: &str,
        most_bytes: usize,
    ) -> Result<Reply, Failure> {
        if self.closed {
            return Err(Failure::NotAsked);
        }
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::NoTimeLeft);
        }
        self.requests += 1;
        (self.watch)(&Step { number: self.requests, question });
        let mut messages = Vec::new();
        messages.extend(system.map(|system| Message::new(Role::System, system)));
        messages.push(Message::new(Role::User, user));
        let mut reply = Reply { most_bytes, ..Reply::default() };
        // The last request must not exceed the time for all of them.
        let limit = self.limit.min(left);
        match time::timeout(limit, backend.stream(&messages, &mut reply)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(Failure::Backend(error)),
            Err(_) => return Err(Failure::TimedOut(limit)),
        }
        let is_empty = reply.text.trim().is_empty() && reply.reasoning.is_empty() && reply.native.is_empty();
        if is_empty { Err(Failure::Empty) } else { Ok(reply) }
    }
}

impl Sink for Reply {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        match chunk {
            Chunk::Text(text) => {
                self.pieces += 1;
                self.text.push_str(text);
            }
            Chunk::Reasoning(text) => self.reasoning.push_str(text),
            Chunk::Call(call) => self.native.push(call),
            Chunk::Usage(_) | Chunk::Kept(_) | Chunk::Waits { .. } | Chunk::BrokeOff(_) => {}
        }
        if self.text.len().max(self.reasoning.len()) > self.most_bytes || self.native.len() > MOST_CALLS {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

fn marks_of(reply: &Reply) -> Marks {
    let mut summary = Summary::default();
    let mut has_tags = false;
    parse::for_each(&reply.text, parse::Options::default(), FinishReason::Stop, |event| {
        has_tags |= matches!(event, Event::Reasoning { .. });
        summary.note(&event);
    });
    match () {
        () if summary.opened.is_some() => Marks::Opened,
        () if has_tags => Marks::Tags,
        () if !reply.reasoning.is_empty() => Marks::Field,
        () => Marks::None,
    }
}
