//! A command that others observe while it runs: they take its output piece by piece, send it input, and stop it.

use super::overflow::{self, Overflow};
use rustix::fd::OwnedFd;
use std::io;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};
use toolfence_protocol::Language;
use toolfence_protocol::clip::{Clipped, HeadTail};

/// The handle of a command that runs. It belongs to one [`Job`](super::Job), and is shared with the code that observes
/// the command.
#[derive(Debug)]
pub struct Background {
    output: Mutex<HeadTail>,
    keep: usize,
    written: Notify,
    stop: watch::Sender<Ending>,
    input: Option<Input>,
    overflow: Option<Overflow<'static>>,
    language: Language,
}

/// Both ends of the pipe that is the command's stdin.
#[derive(Debug)]
struct Input {
    reading: OwnedFd,
    /// The writing end; `None` if all of the input is already there.
    writing: Option<OwnedFd>,
}

/// Whether and how a command is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// It runs to its end.
    ByItself,
    /// It gets SIGTERM, and is killed if it does not end soon after.
    Soon,
    /// It is killed at once with all processes that it has started.
    Now,
}

/// The outcome of an attempt to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteOutcome {
    /// The pipe took all of it.
    All,
    /// The pipe took this many bytes and is full: the command does not read.
    Some(usize),
    /// The command has no input.
    Nowhere,
}

impl Background {
    /// Returns a handle that keeps `keep` bytes of the output that was not taken yet, half from the beginning and half
    /// from the end. With `input`, the command has a stdin that can be written to.
    ///
    /// # Errors
    /// The system runs out of descriptors.
    pub fn new(keep: usize, input: bool) -> io::Result<Background> {
        let input = if input { Some(Input::new()?) } else { None };
        Ok(Background::with(keep, input))
    }

    /// Returns a handle for a command whose stdin is this text.
    ///
    /// # Errors
    /// The system runs out of descriptors or memory, or does not support files without a name.
    pub fn fed(keep: usize, text: &[u8]) -> io::Result<Background> {
        // A file takes all of the text at once; a pipe would block when it is full.
        let reading = memory_file(text)?;
        Ok(Background::with(keep, Some(Input { reading, writing: None })))
    }

    fn with(keep: usize, input: Option<Input>) -> Background {
        Background {
            output: Mutex::new(HeadTail::new(keep / 2, keep / 2)),
            keep,
            written: Notify::new(),
            stop: watch::Sender::new(Ending::ByItself),
            input,
            overflow: None,
            language: Language::default(),
        }
    }

    /// Adds a file for output that exceeds the kept bytes. It begins with the output that was not taken at that time.
    #[must_use]
    pub fn overflow(self, overflow: Overflow<'static>) -> Background {
        Background { overflow: Some(overflow), ..self }
    }

    /// Sets the language of the note about output that was left out. The default is English.
    #[must_use]
    pub fn language(self, language: Language) -> Background {
        Background { language, ..self }
    }

    /// Returns the name of the overflow file, and whether it has all of the output.
    pub fn file(&self) -> Option<(String, bool)> {
        self.overflow.as_ref()?.file()
    }

    /// Takes the output that was written since the last call.
    pub fn take(&self) -> Clipped {
        let fresh = HeadTail::new(self.keep / 2, self.keep / 2);
        let mut output = self.output();
        let (taken, rest) = std::mem::replace(&mut *output, fresh).finish_at_char(self.language);
        // The first bytes of an incomplete character belong to the next piece.
        output.push(&rest);
        taken
    }

    /// Returns at most `most` of the last bytes that were not taken yet, and the number of bytes since the last
    /// [`take`](Background::take).
    pub fn last(&self, most: usize) -> (Vec<u8>, u64) {
        let output = self.output();
        (output.last(most), output.total_bytes())
    }

    /// Returns `true` if there is output to take.
    pub fn has_output(&self) -> bool {
        self.output().total_bytes() > 0
    }

    /// Waits until there is output to take.
    pub async fn wrote(&self) {
        loop {
            let mut written = pin!(self.written.notified());
            // Registering before the check ensures that no later output is missed.
            written.as_mut().enable();
            if self.has_output() {
                return;
            }
            written.await;
        }
    }

    /// Asks the command to end; see [`run`](super::run).
    pub fn stop(&self) {
        self.end(Ending::Soon);
    }

    /// Kills the command, for a caller that no longer waits for it.
    pub fn kill(&self) {
        self.end(Ending::Now);
    }

    fn end(&self, how: Ending) {
        // A later request to stop must not weaken an earlier one to kill.
        self.stop.send_modify(|ending| *ending = how.max(*ending));
    }

    /// Returns `true` if [`Background::kill`] was called.
    pub fn is_killed(&self) -> bool {
        *self.stop.borrow() == Ending::Now
    }

    /// Writes to the command's stdin as much as the pipe takes at once.
    ///
    /// # Errors
    /// The pipe is broken.
    pub fn send(&self, bytes: &[u8]) -> io::Result<WriteOutcome> {
        let Some(writing) = self.input.as_ref().and_then(|input| input.writing.as_ref()) else {
            return Ok(WriteOutcome::Nowhere);
        };
        let mut sent = 0;
        while sent < bytes.len() {
            match rustix::io::write(writing, &bytes[sent..]) {
                Ok(written) => sent += written,
                Err(rustix::io::Errno::AGAIN) => return Ok(WriteOutcome::Some(sent)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(WriteOutcome::All)
    }

    /// Waits until the command is to be ended in this way, or a harder one.
    pub(super) async fn wait_for_ending(live: Option<&Background>, how: Ending) {
        let Some(live) = live else { return std::future::pending().await };
        // This handle owns the sender, so the channel is open as long as a task waits.
        let _ = live.stop.subscribe().wait_for(|ending| *ending >= how).await;
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        overflow::keep(bytes, &mut self.output(), self.overflow.as_ref());
        // Several polls of one job can wait at a time, and all of them must wake up.
        self.written.notify_waiters();
    }

    /// Returns the file that becomes the command's stdin.
    pub(super) fn stdin(&self) -> Option<&OwnedFd> {
        self.input.as_ref().map(|input| &input.reading)
    }

    /// Locks the output. A push or a take is one call on the buffer, so the buffer is consistent even after a panic.
    fn output(&self) -> MutexGuard<'_, HeadTail> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Input {
    fn new() -> io::Result<Input> {
        let (reading, writing) = io::pipe()?;
        // A command that does not read must not block the caller of `send`.
        rustix::io::ioctl_fionbio(&writing, true)?;
        Ok(Input { reading: reading.into(), writing: Some(writing.into()) })
    }
}

/// Creates a file in memory with this content.
#[cfg(target_os = "linux")]
fn memory_file(text: &[u8]) -> io::Result<OwnedFd> {
    use std::io::{Seek, Write};
    let mut file = std::fs::File::from(rustix::fs::memfd_create("text", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    file.rewind()?;
    Ok(file.into())
}

#[cfg(not(target_os = "linux"))]
fn memory_file(_: &[u8]) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn output_is_taken_once_without_split_characters() {
        let live = Background::new(100, false).unwrap();
        live.push("aé".as_bytes().split_last().unwrap().1);
        assert_eq!(live.take().text, "a");
        live.push(&["é".as_bytes()[1], b'b']);
        assert_eq!((live.take().text.as_str(), live.has_output()), ("éb", false));
        assert_eq!(live.send(b"x").unwrap(), WriteOutcome::Nowhere);
    }

    #[tokio::test]
    async fn all_waiting_tasks_are_notified_of_output() {
        let live = Background::new(100, false).unwrap();
        let both = async { tokio::join!(live.wrote(), live.wrote(), async { live.push(b"x") }) };
        tokio::time::timeout(Duration::from_secs(5), both).await.expect("both are notified");
        // Output from before the call counts, too.
        tokio::time::timeout(Duration::from_secs(5), live.wrote()).await.expect("it is there already");
    }

    #[test]
    fn send_does_not_wait_for_a_full_pipe() {
        let live = Background::new(100, true).unwrap();
        assert_eq!(live.send(b"x").unwrap(), WriteOutcome::All);
        assert!(matches!(live.send(&vec![0; 1 << 20]).unwrap(), WriteOutcome::Some(most) if most < 1 << 20));
    }
}
