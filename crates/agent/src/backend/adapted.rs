//! Wraps a backend and adapts requests to it: no system message, or a grammar that the server obeys.

use super::{Backend, Request, Sink};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Message, Role};

/// A backend whose requests are adapted to it.
pub struct Adapted {
    backend: Arc<dyn Backend>,
    /// `backend` with an additional member in each request, such as a grammar. `None` if the backend accepts no
    /// members.
    with_member: Option<Arc<dyn Backend>>,
    /// Whether the server has refused that member.
    given_up: AtomicBool,
    without_system: bool,
}

impl Adapted {
    /// Wraps a backend without any adaptation.
    pub fn new(backend: Arc<dyn Backend>) -> Adapted {
        Adapted { backend, with_member: None, given_up: AtomicBool::new(false), without_system: false }
    }

    /// Moves the text of a system message into the first message of the user.
    #[must_use]
    pub fn without_system(self) -> Adapted {
        Adapted { without_system: true, ..self }
    }

    /// Adds a member to each request, if the backend accepts members. If the server refuses a request with the member
    /// but not without it, later requests leave the member out.
    #[must_use]
    pub fn member(self, member: &str, value: Value) -> Adapted {
        let members: Map<String, Value> = [(member.to_owned(), value)].into_iter().collect();
        let with_member = self.backend.with_members(&members);
        Adapted { with_member, ..self }
    }

    async fn ask(&self, request: Request<'_>, sink: &mut dyn Sink) -> Result<FinishReason, Error> {
        // The grammar describes a whole reply, which the rest of an interrupted one would not match.
        let free = request.goes_on || self.given_up.load(Ordering::Relaxed);
        let Some(constrained) = self.with_member.as_ref().filter(|_| !free) else {
            return self.backend.answer(request, sink).await;
        };
        match constrained.answer(request, sink).await {
            // An error comes before any part of the reply.
            Err(error) if error.kind() == ErrorKind::Rejected => {
                let ended = self.backend.answer(request, sink).await?;
                // Only after this success is the member the cause: a request that is refused either way has another
                // fault.
                tracing::warn!(%error, "the server refuses the grammar and is asked without it");
                self.given_up.store(true, Ordering::Relaxed);
                Ok(ended)
            }
            ended => ended,
        }
    }
}

impl Backend for Adapted {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        self.answer(Request::new(messages), sink)
    }

    fn answer<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(async move {
            match request.messages {
                [system, user, rest @ ..] if self.without_system && system.role == Role::System => {
                    let mut first =
                        Message::new(user.role, format!("{}\n\n{}", system.content.trim_end(), user.content));
                    first.images.clone_from(&user.images);
                    let messages: Vec<Message> = [first].into_iter().chain(rest.iter().cloned()).collect();
                    // The system message and the first one are one message now, so the backend knows one message less.
                    let known = request.known.saturating_sub(1);
                    self.ask(Request { messages: &messages, known, ..request }, sink).await
                }
                _ => self.ask(request, sink).await,
            }
        })
    }

    fn takes_images(&self) -> bool {
        self.backend.takes_images()
    }

    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        self.backend.window()
    }

    fn with_members(&self, members: &Map<String, Value>) -> Option<Arc<dyn Backend>> {
        self.backend.with_members(members)
    }
}
