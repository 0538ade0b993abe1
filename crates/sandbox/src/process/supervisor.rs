//! The line to a supervisor: the message to it, and the one line that it answers.

use super::{Message, OwnEnd};
use crate::trouble;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// The longest answer in bytes.
const LONGEST: usize = 4096;

/// Our end of the line. Dropping it ends what the supervisor keeps.
pub(super) struct Supervisor {
    line: UnixStream,
    heard: Vec<u8>,
    silent: bool,
}

/// What the supervisor said.
#[derive(Debug)]
pub(super) enum Answer {
    Ended(OwnEnd),
    /// It was ended, for it used too much memory.
    Memory,
    Trouble(io::Error),
    None,
}

impl Supervisor {
    /// Our end, and the one that becomes the supervisor's stdin.
    pub(super) fn new() -> io::Result<(Supervisor, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let supervisor = Supervisor { line: UnixStream::from_std(ours)?, heard: Vec::new(), silent: false };
        Ok((supervisor, theirs.into()))
    }

    /// Sends a message, with the descriptor that becomes the command's stdin.
    pub(super) async fn tell(&mut self, told: &Message, of_command: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let rest = told.begin(self.line.as_fd(), of_command)?;
        self.line.write_all(rest).await
    }

    /// Waits for the answer; for ever where there is no supervisor, or it will not answer any more. Nothing is lost if the
    /// future is dropped.
    pub(super) async fn answered(supervisor: &mut Option<Supervisor>) {
        let Some(supervisor) = supervisor else { return std::future::pending().await };
        if !supervisor.hear(|said| said.contains(&b'\n')).await {
            std::future::pending::<()>().await;
        }
    }

    /// Says that everything shall end. The answer can still be heard.
    pub(super) fn hang_up(&mut self) {
        // A line that is broken already says the same.
        let _ = rustix::net::shutdown(self.line.as_fd(), rustix::net::Shutdown::Write);
    }

    /// Waits until it says, with its last line, that nothing is left of what it kept: `gone`, or else `left`, which is `false`.
    pub(super) async fn gone(supervisor: &mut Option<Supervisor>) -> bool {
        let Some(supervisor) = supervisor else { return std::future::pending().await };
        let is = |said: &[u8], word: &[u8]| said.split_inclusive(|&byte| byte == b'\n').any(|line| line == word);
        if !supervisor.hear(|said| is(said, b"gone\n") || is(said, b"left\n")).await {
            return std::future::pending().await;
        }
        is(&supervisor.heard, b"gone\n")
    }

    /// The answer, after the supervisor has ended or said that all is gone: then it is there or will never be.
    pub(super) async fn answer(mut self) -> Answer {
        self.hear(|said| said.contains(&b'\n')).await;
        let said = String::from_utf8_lossy(&self.heard);
        if said.lines().any(|line| line == "memory") {
            return Answer::Memory;
        }
        let line = said.lines().next().unwrap_or_default();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest.parse()) {
            ("status", Ok(code)) => Answer::Ended(OwnEnd { code: Some(code), signal: None, memory: false }),
            ("signal", Ok(signal)) => Answer::Ended(OwnEnd { code: None, signal: Some(signal), memory: false }),
            _ => trouble::heard(line).map_or(Answer::None, Answer::Trouble),
        }
    }

    /// Reads on until enough was heard; `false` if there is no more.
    async fn hear(&mut self, is_enough: impl Fn(&[u8]) -> bool) -> bool {
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
