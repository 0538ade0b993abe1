//! A backend with what is known about it: no system role, a grammar that it obeys.

use super::{Backend, Request, Sink};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Message, Role};

/// A backend that is talked to as it was found to want it.
pub struct Adapted {
    backend: Arc<dyn Backend>,
    /// `backend` with a further member in each of its requests, such as a grammar. None where the backend takes no members.
    held: Option<Arc<dyn Backend>>,
    /// Whether the server has refused that member.
    given_up: AtomicBool,
    without_system: bool,
}

impl Adapted {
    /// Nothing is different yet.
    pub fn new(backend: Arc<dyn Backend>) -> Adapted {
        Adapted { backend, held: None, given_up: AtomicBool::new(false), without_system: false }
    }

    /// What a system message says goes with the first message of the user.
    #[must_use]
    pub fn without_system(self) -> Adapted {
        Adapted { without_system: true, ..self }
    }

    /// A member goes with each request, where the backend takes one. Where the server refuses the request with it and not without
    /// it, none goes with those that follow.
    #[must_use]
    pub fn member(self, member: &str, value: Value) -> Adapted {
        let members: Map<String, Value> = [(member.to_owned(), value)].into_iter().collect();
        let held = self.backend.with_members(&members);
        Adapted { held, ..self }
    }

    async fn ask(&self, request: Request<'_>, sink: &mut dyn Sink) -> Result<FinishReason, Error> {
        let free = request.goes_on || self.given_up.load(Ordering::Relaxed);
        let Some(held) = self.held.as_ref().filter(|_| !free) else {
            return self.backend.answer(request, sink).await;
        };
        match held.answer(request, sink).await {
            // Nothing of the reply has come: an error comes before it.
            Err(error) if error.kind() == ErrorKind::Rejected => {
                let ended = self.backend.answer(request, sink).await?;
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
                    // Two messages have become one.
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
