//! The reading end of the pipe for a command's output.

use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The reading end of the pipe. It is watched only while a reader waits: epoll is notified of every single write to a
/// watched pipe, which slows down a process that writes much.
#[derive(Debug)]
pub(super) struct Output {
    /// The pipe until its end.
    pipe: Option<OwnedFd>,
    /// Whether the last read found no output.
    dry: bool,
}

impl Output {
    /// Wraps a descriptor in non-blocking mode.
    pub(super) fn new(pipe: OwnedFd) -> Output {
        Output { pipe: Some(pipe), dry: true }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.pipe.is_none()
    }

    /// Waits until there is output. If the last read found output, returns at once, after other tasks have had a turn.
    pub(super) async fn ready(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        if !self.dry {
            tokio::task::yield_now().await;
        } else if readable(pipe).await.is_err() {
            self.pipe = None;
        }
    }

    /// Reads the next bytes. Returns `None` if the pipe is empty, and at the end.
    pub(super) fn read(&mut self, chunk: &mut [u8]) -> Option<usize> {
        let read = read_after_a_moment(self.pipe.as_ref()?, chunk);
        self.dry = read == Err(Errno::AGAIN);
        match read {
            Ok(read) if read > 0 => return Some(read),
            Err(Errno::AGAIN) => {}
            _ => self.pipe = None,
        }
        None
    }
}

/// Waits until the pipe is readable. An error means that the runtime is shutting down.
#[allow(
    deprecated,
    reason = "the new function is unsafe; a borrowed descriptor stays the same for as long as it is registered"
)]
async fn readable(pipe: &OwnedFd) -> io::Result<()> {
    /// The polling interval if the system has no more room for watched descriptors.
    const PAUSE: Duration = Duration::from_millis(5);
    match AsyncFd::with_interest(pipe.as_fd(), Interest::READABLE) {
        Ok(watched) => watched.readable().await.map(drop),
        Err(_) => {
            tokio::time::sleep(PAUSE).await;
            Ok(())
        }
    }
}

/// Reads, and tries once more after a moment if the pipe is empty: more output usually follows at once, and a wake-up
/// takes longer.
fn read_after_a_moment(pipe: &OwnedFd, chunk: &mut [u8]) -> Result<usize, Errno> {
    match rustix::io::read(pipe, &mut *chunk) {
        Err(Errno::AGAIN) => {
            std::thread::yield_now();
            rustix::io::read(pipe, chunk)
        }
        read => read,
    }
}
