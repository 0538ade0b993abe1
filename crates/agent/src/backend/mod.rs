//! Whoever answers: one trait, and the backends that come with the house.
//!
//! A backend sends text and brings text back as it comes. It knows no tools, no blocks and no policy.

#[cfg(feature = "http")]
pub mod http;
pub mod replay;
mod usage;

use serde_json::{Map, Value};
use std::ops::ControlFlow;
use std::sync::Arc;
use toolfence_protocol::{Error, FinishReason, Message, Text, ToolCall};
use toolfence_toolbox::BoxFuture;

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
    /// Why the reply breaks off here, for the person. The last piece of a reply that ends with [`FinishReason::Cut`].
    BrokeOff(&'a Text),
}
