//! Bodies of requests, which have limits, and bodies of responses that are sent in pieces.

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

/// Reads the body of a request of at most `limit` bytes. All of it has to arrive within the time `within`.
pub(crate) async fn read(body: Body, limit: usize, within: Duration) -> Result<Bytes, BodyProblem> {
    // A length in the head is refused before the body arrives.
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

/// The sender of the pieces of a response. It notices when no client reads them any more.
pub(crate) type Pieces = mpsc::Sender<Result<Bytes, BrokeOff>>;

/// The response ends early. The server closes the connection, so that no client takes the response for a whole one.
#[derive(Debug)]
pub(crate) struct BrokeOff;

impl fmt::Display for BrokeOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl std::error::Error for BrokeOff {}

/// The body of a response in pieces. `most_waiting` of them wait for a slow reader, and then the sender waits too.
pub(crate) fn pieces(most_waiting: usize) -> (Pieces, Body) {
    let (sender, mut receiver) = mpsc::channel(most_waiting);
    (sender, Body::from_stream(poll_fn(move |context| receiver.poll_recv(context))))
}
