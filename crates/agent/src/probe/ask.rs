//! One question and what came of it, within bounds.

use super::{Options, Step};
use crate::backend::{Backend, Chunk, Sink};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tokio::time;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Message, Role, Text, ToolCall};

/// Bytes of a reply that are read; what goes on is no answer to a short question.
const LONGEST_REPLY: usize = 32 << 10;

/// Why a question has no answer.
pub(super) enum Trouble {
    /// The backend said so.
    Failed(Error),
    /// It took longer than a question may.
    Slow(Duration),
    /// The time of all questions is over.
    Over,
}

impl Trouble {
    pub(super) fn text(&self) -> Text {
        match self {
            Trouble::Failed(error) => error.text(),
            Trouble::Slow(limit) => super::messages::took_too_long(limit.as_secs()),
            Trouble::Over => super::messages::time_is_over(),
        }
    }

    /// Whether the server has read the question and will not answer it, today or tomorrow.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Trouble::Failed(error) if matches!(error.kind(), ErrorKind::Rejected | ErrorKind::TooLong { .. }))
    }
}

/// An answer.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) native: Vec<ToolCall>,
    pub(super) pieces: usize,
    /// Until the first piece, and from there to the end.
    pub(super) first: Duration,
    pub(super) rest: Duration,
    /// How it ended; `Cut` too where it was longer than what is read.
    pub(super) finish: Option<FinishReason>,
}

/// Asks, counts what was asked, and keeps the time.
pub(super) struct Asker<'a> {
    backend: &'a dyn Backend,
    watch: &'a mut (dyn FnMut(&Step) + Send),
    question: Duration,
    end: Instant,
    pub(super) requests: usize,
}

impl<'a> Asker<'a> {
    pub(super) fn new(
        backend: &'a dyn Backend,
        options: &Options,
        watch: &'a mut (dyn FnMut(&Step) + Send),
    ) -> Asker<'a> {
        Asker { backend, watch, question: options.question, end: Instant::now() + options.whole, requests: 0 }
    }

    /// Asks with a system message, where there is one.
    pub(super) async fn ask(&mut self, about: Text, system: Option<String>, user: &str) -> Result<Asked, Trouble> {
        let backend = self.backend;
        self.ask_of(backend, about, system, user, LONGEST_REPLY).await
    }

    /// Asks another backend than the one that is probed, and reads so much of its reply.
    pub(super) async fn ask_of(
        &mut self,
        backend: &dyn Backend,
        about: Text,
        system: Option<String>,
        user: &str,
        longest: usize,
    ) -> Result<Asked, Trouble> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Trouble::Over);
        }
        self.requests += 1;
        (self.watch)(&Step { number: self.requests, about });
        let mut messages = Vec::new();
        messages.extend(system.map(|system| Message::new(Role::System, system)));
        messages.push(Message::new(Role::User, user));
        let mut taking = Taking { asked: Asked::default(), began: Instant::now(), longest };
        let limit = self.question.min(left);
        let ended = time::timeout(limit, backend.stream(&messages, &mut taking)).await;
        let Taking { mut asked, began, .. } = taking;
        match ended {
            Ok(Ok(finish)) => asked.finish = Some(finish),
            Ok(Err(error)) => return Err(Trouble::Failed(error)),
            Err(_) => return Err(Trouble::Slow(limit)),
        }
        if asked.pieces == 0 {
            asked.first = began.elapsed();
        }
        asked.rest = began.elapsed().saturating_sub(asked.first);
        Ok(asked)
    }
}

struct Taking {
    asked: Asked,
    began: Instant,
    longest: usize,
}

impl Sink for Taking {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        let asked = &mut self.asked;
        match chunk {
            Chunk::Text(text) => {
                if asked.pieces == 0 {
                    asked.first = self.began.elapsed();
                }
                asked.pieces += 1;
                asked.text.push_str(text);
            }
            Chunk::Reasoning(text) => asked.reasoning.push_str(text),
            Chunk::Call(call) => asked.native.push(call),
            Chunk::Usage(_) | Chunk::Kept(_) | Chunk::Waits { .. } | Chunk::BrokeOff(_) => {}
        }
        if asked.text.len().max(asked.reasoning.len()) > self.longest || asked.native.len() > 64 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
