//! Client connections on which a router answers HTTP/1 requests.
//!
//! `axum::serve` has no deadline for a slow request and none for a client that does not read. The accept loop in this
//! module adds both. It does not depend on the routes.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, Interest, ReadBuf, Ready, join};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;

/// How long the head of a request may take, and how long a connection may be open between two requests.
const HEAD: Duration = Duration::from_secs(30);

/// Replaces [`HEAD`] and the time limit of a request body while more than half of the connections are in use.
const HURRY: Duration = Duration::from_secs(2);

/// How often a connection checks whether its client has disconnected.
const LOOK: Duration = Duration::from_secs(1);

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    free: Arc<Semaphore>,
    stalled: Duration,
    grace: Duration,
}

impl Connections {
    /// Allows at most `most` connections at a time. The server closes a connection whose client reads nothing for
    /// `stalled`, and gives responses in progress the time `grace` when it shuts down.
    pub(crate) fn new(most: usize, stalled: Duration, grace: Duration) -> Connections {
        let most = most.min(Semaphore::MAX_PERMITS);
        Connections { most, free: Arc::new(Semaphore::new(most)), stalled, grace }
    }

    /// Returns how long a client may take to send a part of its request: `usual`, or less if few connections are free.
    ///
    /// Slow clients could otherwise take all connections. They can hold half of them for the usual time; the other half
    /// is soon free again.
    pub(crate) fn patience(&self, usual: Duration) -> Duration {
        if self.free.available_permits() < self.most / 2 { usual.min(HURRY) } else { usual }
    }

    /// Answers requests until `end` is ready. Then it accepts no more connections and waits for the responses in
    /// progress. Dropping the future closes all connections.
    pub(crate) async fn serve(&self, listener: TcpListener, router: Router, end: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        let mut end = pin!(end);
        loop {
            let (stream, permit) = tokio::select! {
                () = &mut end => break,
                // Remove the tasks that have ended, or the set would grow as long as the server runs.
                Some(_) = connections.join_next() => continue,
                accepted = self.accept(&listener) => accepted,
            };
            let (head, stalled) = (self.patience(HEAD), self.stalled);
            let (router, watcher) = (router.clone(), graceful.watcher());
            connections.spawn(async move {
                serve_one(stream, router, watcher, head, stalled).await;
                drop(permit);
            });
        }
        drop(listener);
        // Dropping the set aborts the remaining connections.
        let _ = timeout(self.grace, graceful.shutdown()).await;
    }

    /// Waits for a client and for a free connection. Further clients wait in the operating system's accept queue.
    async fn accept(&self, listener: &TcpListener) -> (TcpStream, OwnedSemaphorePermit) {
        loop {
            if let Ok(permit) = self.free.clone().acquire_owned().await
                && let Ok((stream, _)) = listener.accept().await
            {
                return (stream, permit);
            }
            // For example, too many files are open. Retry: each connection that ends frees a descriptor.
            sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn serve_one(stream: TcpStream, router: Router, watcher: Watcher, head: Duration, stalled: Duration) {
    // Events are small: without TCP_NODELAY, Nagle's algorithm would delay them.
    let _ = stream.set_nodelay(true);
    let (reads, writes) = stream.into_split();
    let reads = Arc::new(reads);
    let mut writes = TimeoutWriter::new(writes);
    writes.set_timeout(Some(stalled));
    let stream = TokioIo::new(Box::pin(join(SharedReader(reads.clone()), writes)));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head);
    let connection = watcher.watch(builder.serve_connection(stream, TowerToHyperService::new(router)));
    tokio::select! {
        biased;
        ended = connection => if let Err(error) = ended {
            tracing::debug!(target: "toolfence", %error, "a connection broke off");
        },
        () = wait_for_disconnect(&reads) => tracing::debug!(target: "toolfence", "a client went away"),
    }
}

/// Waits until the client has closed its half of the connection.
///
/// Hyper notices a disconnect only by reading. It does not read while it prepares a response and has unread bytes after
/// the request, so a single newline after the body would keep the turn of a disconnected client alive.
async fn wait_for_disconnect(stream: &OwnedReadHalf) {
    while !stream.ready(Interest::READABLE).await.is_ok_and(Ready::is_read_closed) {
        // Bytes that hyper has not read yet make the stream ready at once.
        sleep(LOOK).await;
    }
}

/// The half of a stream that hyper reads while [`wait_for_disconnect`] watches it.
struct SharedReader(Arc<OwnedReadHalf>);

impl AsyncRead for SharedReader {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream: &TcpStream = (*self.0).as_ref();
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                // The readiness was out of date, and the attempt has cleared it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}
