//! The socket to a supervisor: sends the message to it, and reads its answer of one line.

use super::{CommandEnd, Message};
use crate::trouble;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// The most bytes of an answer.
const LONGEST: usize = 4096;

/// Our end of the socket to a supervisor. Dropping it ends the supervisor's processes.
pub(super) struct Supervisor {
    line: UnixStream,
    heard: Vec<u8>,
    silent: bool,
}

/// The answer of the supervisor.
#[derive(Debug)]
pub(super) enum Answer {
    Ended(CommandEnd),
    /// The command was killed because it used too much memory.
    Memory,
    Trouble(io::Error),
    None,
}

impl Supervisor {
    /// Returns our end, and the end that becomes the supervisor's stdin.
    pub(super) fn new() -> io::Result<(Supervisor, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let supervisor = Supervisor { line: UnixStream::from_std(ours)?, heard: Vec::new(), silent: false };
        Ok((supervisor, theirs.into()))
    }

    /// Sends a message, with the descriptor that becomes the command's stdin.
    pub(super) async fn send(&mut self, message: &Message, of_command: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let rest = message.begin(self.line.as_fd(), of_command)?;
        self.line.write_all(rest).await
    }

    /// Waits for the answer. Never completes if there is no supervisor, or if it will not answer any more. Nothing is
    /// lost if the future is dropped.
    pub(super) async fn wait_for_answer(supervisor: &mut Option<Supervisor>) {
        let Some(supervisor) = supervisor else { return std::future::pending().await };
        if !supervisor.read_until(|said| said.contains(&b'\n')).await {
            std::future::pending::<()>().await;
        }
    }

    /// Requests the end of all processes. The answer can still be read.
    pub(super) fn hang_up(&mut self) {
        // The error can be ignored: the helper ends everything when the socket is closed.
        let _ = rustix::net::shutdown(self.line.as_fd(), rustix::net::Shutdown::Write);
    }

    /// Waits for the last line of the supervisor. Returns `true` for `gone`, which means that no process is left, and
    /// `false` for `left`.
    pub(super) async fn wait_until_gone(supervisor: &mut Option<Supervisor>) -> bool {
        let Some(supervisor) = supervisor else { return std::future::pending().await };
        let is = |said: &[u8], word: &[u8]| said.split_inclusive(|&byte| byte == b'\n').any(|line| line == word);
        if !supervisor.read_until(|said| is(said, b"gone\n") || is(said, b"left\n")).await {
            return std::future::pending().await;
        }
        is(&supervisor.heard, b"gone\n")
    }

    /// Returns the answer. Call it after the supervisor has ended or has reported that all processes are gone, so that
    /// no answer can follow.
    pub(super) async fn answer(mut self) -> Answer {
        self.read_until(|said| said.contains(&b'\n')).await;
        let said = String::from_utf8_lossy(&self.heard);
        // The status of a command that exceeded its memory does not matter, so this line wins wherever it is.
        if said.lines().any(|line| line == "memory") {
            return Answer::Memory;
        }
        let line = said.lines().next().unwrap_or_default();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest.parse()) {
            ("status", Ok(code)) => Answer::Ended(CommandEnd { code: Some(code), signal: None, memory: false }),
            ("signal", Ok(signal)) => Answer::Ended(CommandEnd { code: None, signal: Some(signal), memory: false }),
            _ => trouble::parse_error_line(line).map_or(Answer::None, Answer::Trouble),
        }
    }

    /// Reads until `is_enough` returns `true`. Returns `false` if the socket is closed before.
    async fn read_until(&mut self, is_enough: impl Fn(&[u8]) -> bool) -> bool {
        while !is_enough(&self.heard) {
            if self.silent {
                return false;
            }
            let mut chunk = [0; 256];
            match self.line.read(&mut chunk).await {
                Ok(read) if read > 0 && self.heard.len() < LONGEST => self.heard.extend(&chunk[..read]),
                _ => self.silent = true,
            }
        }
        true
    }
}
