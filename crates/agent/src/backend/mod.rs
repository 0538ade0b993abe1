//! Whoever answers: one trait, and the backends that come with the house.
//!
//! A backend sends text and brings text back as it comes. It knows no tools, no blocks and no policy.

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

/// Somebody who answers a conversation.
pub trait Backend: Send + Sync {
    /// Sends the conversation and gives the reply to `sink` piece by piece. Dropping the future ends the reply.
    ///
    /// `messages` is an optional system message, then user and assistant in turn, the last of them the user's.
    /// Where the sink breaks, the stream is ended and the answer is [`FinishReason::Cut`].
    ///
    /// # Errors
    /// Only before the first piece. A reply that broke off later is [`FinishReason::Cut`]: what came of it counts. An error of the
    /// kind [`ErrorKind::TooLong`](toolfence_protocol::ErrorKind::TooLong) is answered by a driver with a shorter conversation, once.
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>>;

    /// Does what [`stream`](Backend::stream) does, for a backend that wants to know where the conversation stands: one that keeps it by
    /// itself. A driver calls this.
    ///
    /// # Errors
    /// The errors of [`stream`](Backend::stream).
    fn answer<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        self.stream(request.messages, sink)
    }

    /// Whether the images of a message reach the model, as far as is known. By default they do not. A driver sends a backend that
    /// takes none no image: it refuses a new one, and a line stands for each that the conversation has.
    fn takes_images(&self) -> bool {
        false
    }

    /// Tokens that the model can read, if that can be found out soon. A driver asks once, when a conversation has become long.
    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(async { None })
    }

    /// This backend with further members in the body of every request, such as the `grammar` of llama.cpp. `None` where there
    /// is no such body.
    fn with_members(&self, _members: &Map<String, Value>) -> Option<Arc<dyn Backend>> {
        None
    }
}

/// What a backend is asked for: a conversation to answer, and where it stands.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The whole conversation, as [`Backend::stream`] gets it.
    pub messages: &'a [Message],
    /// The name of the session: that of its transcript, where it has one.
    pub session: &'a str,
    /// The turn of the user, counted from 1. A turn may need several replies.
    pub turn: u64,
    /// So many of the first messages the backend has in the conversation that it keeps by itself, as it said with [`Chunk::Kept`];
    /// the last of them is its own reply. 0 where it keeps none, or the conversation is no longer what it keeps: it was
    /// compacted, forked or taken back.
    pub known: usize,
    /// Whether it has the instructions of `messages` in that conversation. A session that is resumed may have others.
    pub knows_instructions: bool,
    /// What the backend said with [`Chunk::Kept`], where `known` is not 0.
    pub state: &'a str,
    /// Whether the reply is to go on in the middle of the one before, which broke off in a call: what a whole reply may be, by a
    /// grammar say, does not hold for such a piece.
    pub goes_on: bool,
}

impl<'a> Request<'a> {
    /// A conversation of which the backend keeps nothing, in its first turn.
    pub fn new(messages: &'a [Message]) -> Request<'a> {
        Request { messages, session: "", turn: 1, known: 0, knows_instructions: false, state: "", goes_on: false }
    }
}

impl fmt::Debug for Request<'_> {
    /// Without what was said.
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

/// Where a reply goes while it comes. Whoever implements it acts on every piece at once, or nothing streams.
pub trait Sink: Send {
    /// Takes a piece; breaks when no more is wanted.
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()>;
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// Of the answer.
    Text(&'a str),
    /// Of a reasoning channel apart from the answer.
    Reasoning(&'a str),
    /// A whole call of a channel apart from the answer, for backends that have one.
    Call(ToolCall),
    /// What the reply has cost, as the server counts it: at most once a reply, behind its last text.
    Usage(Usage),
    /// The backend keeps the conversation by itself, with this reply as its last message, and wants this text back with the next
    /// request, also from another process that resumes the session: the name of its own conversation, say. It is written down in
    /// the transcript as it is. At most once a reply, behind its last text.
    Kept(&'a str),
    /// Nothing of the reply has come, for this reason; the backend asks again after the wait. For the person.
    Waits {
        /// Why.
        why: &'a Text,
        /// How long.
        wait: Duration,
    },
    /// Why the reply breaks off here, for the person. The last piece of a reply that ends with [`FinishReason::Cut`].
    BrokeOff(&'a Text),
}
