//! The body of an answer: whole, or in pieces as they come. Whoever gives pieces notices when nobody takes them any more.

use hyper::body::{Bytes, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// What the client reads.
#[derive(Debug)]
pub(crate) enum Body {
    Whole(Option<Bytes>),
    Pieces(mpsc::Receiver<Result<Bytes, BrokeOff>>),
}

/// Where pieces go.
pub(crate) type Pieces = mpsc::Sender<Result<Bytes, BrokeOff>>;

/// The answer ends before its end: the connection is closed, so that nobody takes it for whole.
#[derive(Debug)]
pub(crate) struct BrokeOff;

impl fmt::Display for BrokeOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl std::error::Error for BrokeOff {}

impl Body {
    /// A body of pieces, of which so many wait for a slow reader; then whoever makes them waits too.
    pub(crate) fn pieces(most_waiting: usize) -> (Pieces, Body) {
        let (sender, receiver) = mpsc::channel(most_waiting);
        (sender, Body::Pieces(receiver))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Body {
        Body::Whole(Some(text.into()))
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Body {
        Body::Whole(Some(Bytes::from_static(text.as_bytes())))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BrokeOff;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokeOff>>> {
        match self.get_mut() {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Pieces(pieces) => pieces.poll_recv(context).map(|piece| piece.map(|bytes| bytes.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Body::Pieces(_) => SizeHint::default(),
        }
    }
}
