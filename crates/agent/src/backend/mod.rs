//! The `Backend` trait and the built-in backends.
//!
//! A backend sends a conversation and streams the reply. It has no notion of tools, blocks or policies.

mod adapted;
pub mod command;
mod function;
#[cfg(feature = "http")]
pub mod http;
pub mod replay;
mod usage;

use serde_json::{Map, Value};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, FinishReason, Message, Text, ToolCall};

pub use adapted::Adapted;
pub use command::{Command, CommandOptions};
pub use function::backend_fn;
#[cfg(feature = "http")]
pub use http::Http;
pub use replay::Replay;
pub use usage::Usage;

/// Answers conversations.
pub trait Backend: Send + Sync {
    /// Sends the conversation and passes the reply to `sink` piece by piece. Dropping the future ends the reply.
    ///
    /// `messages` is an optional system message, followed by alternating messages of user and assistant, the last of
    /// them the user's. If the sink breaks, the backend ends the stream and returns [`FinishReason::Cut`].
    ///
    /// # Errors
    /// Fails only before the first piece. A reply that breaks off later returns [`FinishReason::Cut`], and its text so
    /// far counts. After an error of the kind [`ErrorKind::TooLong`](toolfence_protocol::ErrorKind::TooLong), a driver
    /// retries once with a shorter conversation.
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>>;

    /// Does what [`stream`](Backend::stream) does, for a backend that keeps the conversation by itself and needs to
    /// know its position. Drivers call this method.
    ///
    /// # Errors
    /// Returns the errors of [`stream`](Backend::stream).
    fn answer<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        self.stream(request.messages, sink)
    }

    /// Returns `true` if images reach the model, as far as is known. By default they do not. A driver sends no images
    /// to a backend without them: it refuses new ones, and replaces each one in the conversation by a line.
    fn takes_images(&self) -> bool {
        false
    }

    /// Returns the model's window in tokens, if it can be found out quickly. A driver asks once, when a conversation
    /// has become long.
    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(async { None })
    }

    /// Returns this backend with additional members in the body of every request, such as the `grammar` of llama.cpp.
    /// Returns `None` if requests have no such body.
    fn with_members(&self, _members: &Map<String, Value>) -> Option<Arc<dyn Backend>> {
        None
    }
}

/// A conversation to answer, and its position in the session.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The whole conversation, as for [`Backend::stream`].
    pub messages: &'a [Message],
    /// The name of the session: that of its transcript, if it has one.
    pub session: &'a str,
    /// The turn of the user, counted from 1. A turn may need several replies.
    pub turn: u64,
    /// The number of first messages that the backend has in its own conversation, as it reported with [`Chunk::Kept`];
    /// the last of them is its own reply. 0 if it keeps no conversation, or if the session's conversation was
    /// compacted, forked or undone since.
    pub known: usize,
    /// Whether the backend has the instructions of `messages` in that conversation. A resumed session may have others.
    pub knows_instructions: bool,
    /// The text of the backend's last [`Chunk::Kept`], if `known` is not 0.
    pub state: &'a str,
    /// Whether the reply must continue the previous one, which broke off inside a call. Constraints on a whole reply,
    /// such as a grammar, do not apply to such a piece.
    pub goes_on: bool,
}

impl<'a> Request<'a> {
    /// Creates a request in the first turn, for a backend that keeps nothing of the conversation.
    pub fn new(messages: &'a [Message]) -> Request<'a> {
        Request { messages, session: "", turn: 1, known: 0, knows_instructions: false, state: "", goes_on: false }
    }
}

impl fmt::Debug for Request<'_> {
    /// Leaves out the texts of the messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { messages, session, turn, known, .. } = self;
        f.debug_struct("Request")
            .field("messages", &messages.len())
            .field("session", session)
            .field("turn", turn)
            .field("known", known)
            .finish_non_exhaustive()
    }
}

/// Receives a streamed reply. Implementations must act on each piece at once, or nothing streams.
pub trait Sink: Send {
    /// Receives a piece. Returns `Break` if no more is wanted.
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()>;
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// Text of the answer.
    Text(&'a str),
    /// Text of a separate reasoning channel.
    Reasoning(&'a str),
    /// A whole call of a separate channel, for backends that have one.
    Call(ToolCall),
    /// The usage of the reply as the server counts it: at most once per reply, after its last text.
    Usage(Usage),
    /// The backend keeps the conversation by itself, with this reply as its last message, and needs this text again
    /// with the next request, also from another process that resumes the session. It may be the name of its own
    /// conversation. The transcript stores it verbatim. At most once per reply, after its last text.
    Kept(&'a str),
    /// The backend has no part of the reply, for this reason, and retries after the wait. For display.
    Waits {
        /// The reason.
        why: &'a Text,
        /// The wait.
        wait: Duration,
    },
    /// The reason why the reply breaks off here, for display. The last piece of a reply that ends with
    /// [`FinishReason::Cut`].
    BrokeOff(&'a Text),
}
