//! Connections of a server of HTTP/1: how many there are at a time, how long each may be silent, and how all of them end.
//!
//! It knows no route and no body.

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
use tokio::time::{Sleep, sleep, timeout};

/// How long it takes at most until it is noticed that a client went away behind something that nobody reads.
const LOOKS_AGAIN: Duration = Duration::from_secs(1);

/// What connections may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at a time; more have to wait.
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
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut end = pin!(end);
    loop {
        tokio::select! {
            () = &mut end => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < limits.connections => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_one(limits, stream, answer.clone(), stopping.clone()));
                }
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

async fn serve_one<S, F, B>(limits: Limits, stream: TcpStream, answer: S, mut stopping: watch::Receiver<bool>)
where
    S: Fn(Request<Incoming>) -> F,
    F: Future<Output = Result<Response<B>, Infallible>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    // Pieces are small and must not wait for each other.
    let _ = stream.set_nodelay(true);
    let (reads, writes) = stream.into_split();
    let reads = Arc::new(reads);
    let stream = TokioIo::new(Patient { reads: Shared(reads.clone()), writes, stalled: limits.stalled, waits: None });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let mut connection = pin!(builder.serve_connection(stream, service_fn(answer)));
    let ended = tokio::select! {
        // First what can be answered at once.
        biased;
        ended = connection.as_mut() => ended,
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
