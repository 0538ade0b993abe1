//! What a command writes: the reading end of its pipe.

use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use tokio::net::unix::pipe::Receiver;

/// A pipe is watched only while somebody waits: epoll is told of every single write to what it watches, and in a flood the
/// one who writes pays for it.
#[derive(Debug)]
pub(super) enum Output {
    Watched(Receiver),
    Read(OwnedFd),
    Ended,
}

impl Output {
    /// Of a descriptor that does not block.
    pub(super) fn new(pipe: OwnedFd) -> io::Result<Output> {
        Ok(Output::Watched(Receiver::from_owned_fd(pipe)?))
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self, Output::Ended)
    }

    /// Waits until there is something to read. In a flood there is, and everybody else gets a turn.
    pub(super) async fn ready(&mut self) {
        match self {
            Output::Watched(pipe) => {
                let ready = pipe.readable().await;
                self.change(|pipe| match pipe {
                    Output::Watched(pipe) => ready.and_then(|()| pipe.into_nonblocking_fd()).map(Output::Read),
                    other => Ok(other),
                });
            }
            Output::Read(_) => tokio::task::yield_now().await,
            Output::Ended => {}
        }
    }

    /// The next bytes; `None` where they have to be waited for, and at the end.
    pub(super) fn read(&mut self, chunk: &mut [u8]) -> Option<usize> {
        let Output::Read(pipe) = self else { return None };
        match read_after_a_moment(pipe, chunk) {
            Ok(read) if read > 0 => return Some(read),
            Err(Errno::AGAIN) => self.change(|pipe| match pipe {
                Output::Read(pipe) => Output::new(pipe),
                other => Ok(other),
            }),
            _ => *self = Output::Ended,
        }
        None
    }

    /// What cannot be watched has ended.
    fn change(&mut self, to: impl FnOnce(Output) -> io::Result<Output>) {
        *self = to(std::mem::replace(self, Output::Ended)).unwrap_or(Output::Ended);
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
