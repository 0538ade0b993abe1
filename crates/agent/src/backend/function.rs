//! A backend made from a closure.

use super::{Backend, Chunk, Sink};
use futures_util::{Stream, StreamExt};
use std::pin::pin;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, FinishReason, Message};

/// Creates a backend from a closure that sends the conversation and returns the reply as a stream of pieces.
///
/// The reply ends with the stream. An error before the first piece fails the request; a later one cuts the reply off.
///
/// ```
/// use futures_util::stream;
/// use toolfence_agent::backend::backend_fn;
///
/// let echo = backend_fn(|messages| {
///     let last = messages.last().map(|message| message.content.clone()).unwrap_or_default();
///     stream::iter([Ok("You said: ".to_owned()), Ok(last)])
/// });
/// # let _ = echo;
/// ```
pub fn backend_fn<F, S>(answer: F) -> impl Backend + use<F, S>
where
    F: Fn(Vec<Message>) -> S + Send + Sync,
    S: Stream<Item = Result<String, Error>> + Send,
{
    FnBackend(answer)
}

struct FnBackend<F>(F);

impl<F, S> Backend for FnBackend<F>
where
    F: Fn(Vec<Message>) -> S + Send + Sync,
    S: Stream<Item = Result<String, Error>> + Send,
{
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(async move {
            let mut pieces = pin!((self.0)(messages.to_vec()));
            let mut has_begun = false;
            while let Some(piece) = pieces.next().await {
                match piece {
                    Ok(text) if sink.chunk(Chunk::Text(&text)).is_break() => return Ok(FinishReason::Cut),
                    Ok(_) => has_begun = true,
                    Err(error) if !has_begun => return Err(error),
                    Err(error) => {
                        // The reply ends either way.
                        let _ = sink.chunk(Chunk::BrokeOff(&error.text()));
                        return Ok(FinishReason::Cut);
                    }
                }
            }
            Ok(FinishReason::Stop)
        })
    }
}
