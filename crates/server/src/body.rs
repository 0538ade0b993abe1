//! Request bodies with size and time limits, and response bodies that are sent in pieces.

pub(crate) use axum::body::Body;
use axum::body::{Bytes, HttpBody as _};
use futures_util::stream::poll_fn;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::fmt;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Why the body of a request could not be read.
#[derive(Debug)]
pub(crate) enum BodyProblem {
    TooLarge,
    TooSlow,
    BrokeOff(String),
}

/// Reads the body of a request of at most `limit` bytes. The whole body must arrive within `within`.
pub(crate) async fn read(body: Body, limit: usize, within: Duration) -> Result<Bytes, BodyProblem> {
    // Refuses by the Content-Length header before the body arrives.
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyProblem::TooLarge);
    }
    match timeout(within, Limited::new(body, limit).collect()).await {
        Err(_) => Err(BodyProblem::TooSlow),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyProblem::TooLarge),
        Ok(Err(error)) => Err(BodyProblem::BrokeOff(error.to_string())),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

/// The sender for the pieces of a response. Sending fails once the client has disconnected.
pub(crate) type Pieces = mpsc::Sender<Result<Bytes, BrokeOff>>;

/// The error that ends a response early. The server closes the connection, so that a client does not mistake it for
/// complete.
#[derive(Debug)]
pub(crate) struct BrokeOff;

impl fmt::Display for BrokeOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl std::error::Error for BrokeOff {}

/// Returns a response body and the sender for its pieces. At most `most_waiting` pieces are queued; then the sender
/// waits.
pub(crate) fn pieces(most_waiting: usize) -> (Pieces, Body) {
    let (sender, mut receiver) = mpsc::channel(most_waiting);
    (sender, Body::from_stream(poll_fn(move |context| receiver.poll_recv(context))))
}
