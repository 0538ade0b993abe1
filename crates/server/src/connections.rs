//! Connections of a server of HTTP/1: how many there are at a time, how long each may be silent, and how all of them end.
//!
//! It knows no route and no body.

use crate::slots::{Answering, Arriving, Owes, Slot, Slots};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, sleep_until, timeout};

/// How long it takes at most until it is noticed that a client went away behind something that nobody reads.
const LOOKS_AGAIN: Duration = Duration::from_secs(1);

/// How long a connection may owe a request before it can be closed for another one: of many clients that come at once, none loses its
/// connection before the server has read what it sent.
const GRACE: Duration = Duration::from_secs(1);

/// What connections may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at a time. Where there are so many, one that owes a request is closed for a new one, and where none does, that one waits.
    pub(crate) connections: usize,
    /// How long the head of a request may take, and a connection be open between two requests.
    pub(crate) head: Duration,
    /// How long a client may not read before it is given up.
    pub(crate) stalled: Duration,
    /// How long answers that are under way may take when the server ends.
    pub(crate) grace: Duration,
}

/// Answers requests until `end` is ready; then answers that are under way get their time to end. Dropping the future ends everything
/// at once.
pub(crate) async fn serve<S, F, B>(listener: TcpListener, limits: Limits, answer: S, end: impl Future<Output = ()>)
where
    S: Fn(Request<Arriving>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin + Send + 'static,
{
    let (stop, stopping) = watch::channel(false);
    let slots = Slots::new(limits.connections, GRACE);
    let mut connections = JoinSet::new();
    // The one that waits for room. Those behind it wait in the system's queue.
    let mut next: Option<TcpStream> = None;
    let mut end = pin!(end);
    loop {
        let mut room_at = None;
        if let Some(stream) = next.take() {
            match slots.take() {
                Ok(slot) => {
                    connections.spawn(serve_one(limits, stream, slot, answer.clone(), stopping.clone()));
                }
                Err(at) => (next, room_at) = (Some(stream), at),
            }
        }
        let room = async {
            match room_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = &mut end => break,
            Some(_) = connections.join_next() => {}
            () = slots.changed(), if next.is_some() => {}
            () = room, if next.is_some() => {}
            accepted = listener.accept(), if next.is_none() => match accepted {
                Ok((stream, _)) => next = Some(stream),
                // No more files can be open, for example: one that is closed makes room.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop(listener);
    stop.send_replace(true);
    // What is not done by then is aborted with the set.
    let _ = timeout(limits.grace, async { while connections.join_next().await.is_some() {} }).await;
}

async fn serve_one<S, F, B>(
    limits: Limits,
    stream: TcpStream,
    slot: Arc<Slot>,
    answer: S,
    mut stopping: watch::Receiver<bool>,
) where
    S: Fn(Request<Arriving>) -> F,
    F: Future<Output = Result<Response<B>, Infallible>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + Unpin + 'static,
{
    // Pieces are small and must not wait for each other.
    let _ = stream.set_nodelay(true);
    let (reads, writes) = stream.into_split();
    let reads = Arc::new(reads);
    let stream = TokioIo::new(Patient { reads: Shared(reads.clone()), writes, stalled: limits.stalled, waits: None });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let asked = slot.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let slot = asked.clone();
        let owes = Owes(slot.clone());
        let comes = !request.body().is_end_stream();
        // Another connection may have got the room in this moment. The connection ends at once then, and its request must not begin.
        let answered = (comes || slot.claim())
            .then(|| answer(request.map(|body| Arriving::new(body, comes.then(|| slot.clone())))));
        async move {
            let Some(answered) = answered else { return std::future::pending().await };
            Ok::<_, Infallible>(answered.await?.map(|body| Answering { body, _owes: owes }))
        }
    });
    let mut connection = pin!(builder.serve_connection(stream, service));
    let ended = tokio::select! {
        // First what can be answered at once.
        biased;
        ended = connection.as_mut() => ended,
        () = slot.closed() => return tracing::debug!(target: "toolfence", "a connection without a request made room for another"),
        () = left(&reads) => return tracing::debug!(target: "toolfence", "a client went away"),
        () = async { drop(stopping.wait_for(|stop| *stop).await) } => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                biased;
                ended = connection => ended,
                () = left(&reads) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(target: "toolfence", %error, "a connection broke off");
    }
}

/// Until the client has closed its half of the connection. Hyper notices that where it reads, and it does not read while an answer is
/// made and something that stands behind the request waits: one byte too many would keep a turn alive whose client is gone.
async fn left(stream: &OwnedReadHalf) {
    while !stream.ready(Interest::READABLE).await.is_ok_and(Ready::is_read_closed) {
        // What waits to be read makes it ready again at once.
        sleep(LOOKS_AGAIN).await;
    }
}

/// The half that reads, beside whoever watches it.
struct Shared(Arc<OwnedReadHalf>);

impl AsyncRead for Shared {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream: &TcpStream = (*self.0).as_ref();
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                // It was ready for somebody else; the next look waits.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// A stream that fails where its other end has read nothing for too long. Hyper has a deadline for what it reads and none for what it
/// writes.
struct Patient<R, W> {
    reads: R,
    writes: W,
    stalled: Duration,
    /// While something waits to be written.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<R, W: Unpin> Patient<R, W> {
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut W>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.writes), context);
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(self.stalled)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<R: AsyncRead + Unpin, W: Unpin> AsyncRead for Patient<R, W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reads).poll_read(context, buffer)
    }
}

impl<R: Unpin, W: AsyncWrite + Unpin> AsyncWrite for Patient<R, W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.written(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.written(context, |stream, context| stream.poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        self.writes.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.written(context, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.written(context, AsyncWrite::poll_shutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[test]
    fn a_reader_that_stands_still_is_given_up_and_a_slow_one_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = duplex(8);
            let (reads, writes) = tokio::io::split(near);
            let mut patient = Patient { reads, writes, stalled: Duration::from_millis(400), waits: None };
            let slow = async {
                for _ in 0..8 {
                    sleep(Duration::from_millis(100)).await;
                    far.read_exact(&mut [0; 8]).await.unwrap();
                }
            };
            let (written, ()) = tokio::join!(patient.write_all(&[0; 64]), slow);
            written.unwrap();
            patient.write_all(&[0; 8]).await.unwrap();
            let failed = patient.write_all(b"more").await.unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        });
    }
}
