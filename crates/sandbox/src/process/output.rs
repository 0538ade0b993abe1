//! What a command writes: the reading end of its pipe.

use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A pipe is watched only while a reader waits: epoll is told of every single write to what it watches, and in a flood the
/// one who writes pays for it.
#[derive(Debug)]
pub(super) struct Output {
    /// Until its end.
    pipe: Option<OwnedFd>,
    /// The last look found nothing.
    dry: bool,
}

impl Output {
    /// Of a descriptor that does not block.
    pub(super) fn new(pipe: OwnedFd) -> Output {
        Output { pipe: Some(pipe), dry: true }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.pipe.is_none()
    }

    /// Waits until there is something to read. In a flood there is, and everybody else gets a turn.
    pub(super) async fn ready(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        if !self.dry {
            tokio::task::yield_now().await;
        } else if readable(pipe).await.is_err() {
            self.pipe = None;
        }
    }

    /// The next bytes; `None` where they have to be waited for, and at the end.
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

/// An error says that nothing more is waited for: the runtime ends.
#[allow(
    deprecated,
    reason = "the new way is unsafe; a borrowed descriptor stays the same for as long as it is registered"
)]
async fn readable(pipe: &OwnedFd) -> io::Result<()> {
    /// Between two looks at what the system cannot watch, for it has too much to watch already.
    const PAUSE: Duration = Duration::from_millis(5);
    match AsyncFd::with_interest(pipe.as_fd(), Interest::READABLE) {
        Ok(watched) => watched.readable().await.map(drop),
        Err(_) => {
            tokio::time::sleep(PAUSE).await;
            Ok(())
        }
    }
}

/// The next piece of a flood is a moment away; to be woken takes longer.
fn read_after_a_moment(pipe: &OwnedFd, chunk: &mut [u8]) -> Result<usize, Errno> {
    match rustix::io::read(pipe, &mut *chunk) {
        Err(Errno::AGAIN) => {
            std::thread::yield_now();
            rustix::io::read(pipe, chunk)
        }
        read => read,
    }
}
