//! A program that runs with pipes: its stdin is written, and its stdout and stderr are read separately while it runs.

use super::child::Leader;
use super::supervisor::Supervisor;
use super::{CommandEnd, LINGER, Message, Running};
use rustix::fd::{AsFd, OwnedFd};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, sleep_until};

/// Bytes of stdout that are read at once: the size of a pipe.
const CHUNK: usize = 64 << 10;

/// Bytes of stderr that are read at once. Programs write little to it.
const SMALL_CHUNK: usize = 4 << 10;

/// A program with its input.
#[derive(Debug)]
pub struct Program<'a> {
    /// An absolute path, or a name that is searched in the caller's PATH. If `message` is set, this is the supervisor.
    pub program: &'a OsStr,
    /// The arguments of the program.
    pub args: &'a [OsString],
    /// The working folder; `None` for the caller's own.
    pub folder: Option<&'a Path>,
    /// Variables that are added to those of the caller, or removed if they have no value.
    pub environment: &'a [(&'a str, Option<OsString>)],
    /// Whether the program inherits the variables of the caller.
    pub inherits: bool,
    /// The text on its stdin. The caller does not block if the program does not read it.
    pub input: Vec<u8>,
    /// Whether stdin stays open after `input`, so that [`Piped::send`] can add to it.
    pub converses: bool,
    /// The message to a supervisor, which starts the program and ends all processes that it started, even if the caller
    /// dies. Without it, only processes in the group of the program are ended, and only while the caller lives.
    pub message: Option<&'a Message>,
}

/// A program that runs. Dropping it ends the program and the processes that it started.
pub struct Piped {
    running: Running,
    stdin: Option<Sender>,
    input: Vec<u8>,
    /// Bytes of the input that were written.
    sent: usize,
    /// Whether more input may be sent.
    converses: bool,
    stdout: Stream,
    stderr: Stream,
    /// The time when the program ended.
    ended: Option<Instant>,
}

/// A piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heard<'a> {
    /// A piece of stdout.
    Output(&'a [u8]),
    /// A piece of stderr.
    Errors(&'a [u8]),
}

/// The exit status of a program; empty if it was killed, or if the status is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Exit {
    /// Its status.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// The reading end of a pipe until its end, and the last piece that was read from it.
#[derive(Debug)]
struct Stream {
    pipe: Option<Receiver>,
    piece: Box<[u8]>,
}

impl fmt::Debug for Piped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Piped").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Stream {
    fn new(pipe: OwnedFd, size: usize) -> io::Result<Stream> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let pipe = Receiver::from_owned_fd(pipe)?;
        Ok(Stream { pipe: Some(pipe), piece: vec![0; size].into_boxed_slice() })
    }

    /// Reads a piece and returns its length, or 0 once at the end. Later calls never complete. Nothing is lost if the
    /// future is dropped.
    async fn read(&mut self) -> usize {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        match pipe.read(&mut self.piece).await {
            Ok(read) if read > 0 => read,
            _ => {
                self.pipe = None;
                0
            }
        }
    }
}

impl Piped {
    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be started, or the system runs out of descriptors.
    pub async fn start(program: Program<'_>) -> io::Result<Piped> {
        let Program { program, args, folder, environment, inherits, input, converses, message } = program;
        let (stdin, writing) = io::pipe()?;
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(args).stdout(out).stderr(err).process_group(0);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        if !inherits {
            command.env_clear();
        }
        for (name, value) in environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let running = match message {
            None => {
                command.stdin(stdin);
                Running::led_by(Leader::start(command)?, None)?
            }
            Some(message) => {
                let (supervisor, theirs) = Supervisor::new()?;
                command.stdin(theirs);
                let mut running = Running::led_by(Leader::start(command)?, Some(supervisor))?;
                // The supervisor's own stdin is the socket, so the program's stdin is sent with the message.
                running.send(message, Some(stdin.as_fd())).await?;
                running
            }
        };
        let writing = OwnedFd::from(writing);
        // The program may read slowly or not at all, and `next` must still return its output.
        rustix::io::ioctl_fionbio(&writing, true)?;
        Ok(Piped {
            running,
            // Without input, the pipe is closed at once, so that the program reads its end.
            stdin: if input.is_empty() && !converses { None } else { Some(Sender::from_owned_fd(writing)?) },
            input,
            sent: 0,
            converses,
            stdout: Stream::new(stdout.into(), CHUNK)?,
            stderr: Stream::new(stderr.into(), SMALL_CHUNK)?,
            ended: None,
        })
    }

    /// Waits for the next output. Returns `None` when the program has ended and all of its output was returned. A
    /// process that outlives the program and keeps its output open delays this only for a short time. Nothing is lost
    /// if the future is dropped.
    pub async fn next(&mut self) -> Option<Heard<'_>> {
        loop {
            let Piped { running, stdin, input, sent, converses, stdout, stderr, ended } = self;
            let all_read = stdout.pipe.is_none() && stderr.pipe.is_none();
            if ended.is_some() && all_read {
                return None;
            }
            let Running { group, supervisor, leader, .. } = running;
            tokio::select! {
                read = stdout.read() => if read > 0 { return Some(Heard::Output(&self.stdout.piece[..read])) },
                read = stderr.read() => if read > 0 { return Some(Heard::Errors(&self.stderr.piece[..read])) },
                () = write(stdin, input, sent, *converses) => {}
                () = Supervisor::wait_for_answer(supervisor), if ended.is_none() => *ended = Some(Instant::now()),
                _ = group.leader_ended(leader), if ended.is_none() => *ended = Some(Instant::now()),
                // A process that the program left may keep the pipes open for ever.
                () = lingered(*ended) => return None,
            }
        }
    }

    /// Adds to the input of a program that has `converses` set. The bytes are written while [`next`](Piped::next)
    /// waits, and dropped if the program no longer reads its stdin.
    pub fn send(&mut self, bytes: &[u8]) {
        if self.stdin.is_some() && self.converses {
            // A long conversation must not keep all of its input in memory.
            self.input.drain(..std::mem::take(&mut self.sent));
            self.input.extend_from_slice(bytes);
        }
    }

    /// Returns the number of input bytes that the program has not read yet.
    pub fn unread(&self) -> usize {
        if self.stdin.is_some() { self.input.len() - self.sent } else { 0 }
    }

    /// Closes the stdin of the program after the input that was sent.
    pub fn close(&mut self) {
        self.converses = false;
        if self.unread() == 0 {
            self.stdin = None;
        }
    }

    /// Returns `true` if the program has closed its stdout.
    pub fn output_has_ended(&self) -> bool {
        self.stdout.pipe.is_none()
    }

    /// Ends the processes that are left, and returns how the program ended.
    ///
    /// # Errors
    /// A supervisor could not start the program, or was killed.
    pub async fn end(self) -> io::Result<Exit> {
        let Piped { mut running, ended, .. } = self;
        running.end().await;
        // A program that has not ended was killed, like a command after its time limit.
        let CommandEnd { code, signal, .. } = running.reap(ended.is_none()).await?;
        Ok(Exit { code, signal })
    }
}

/// Writes some of the input. Closes the pipe after the last of it, unless `converses` is set, or if the program no
/// longer reads it.
async fn write(stdin: &mut Option<Sender>, input: &[u8], sent: &mut usize, converses: bool) {
    let Some(pipe) = stdin else { return std::future::pending().await };
    // Everything is written, but the pipe stays open for `send`.
    if converses && *sent == input.len() {
        return std::future::pending().await;
    }
    match pipe.write(&input[*sent..]).await {
        Ok(written) if written > 0 && (converses || *sent + written < input.len()) => *sent += written,
        _ => *stdin = None,
    }
}

/// Waits until a process that outlives the program has held its output for too long.
async fn lingered(ended: Option<Instant>) {
    match ended {
        Some(ended) => sleep_until(ended + LINGER).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn shell(script: &str, input: &str) -> Piped {
        let args = ["-c".into(), script.into()];
        let environment = [("WORD", Some("said".into()))];
        let (program, input) = (OsStr::new("sh"), input.as_bytes().to_vec());
        let program = Program {
            program,
            args: &args,
            folder: None,
            environment: &environment,
            inherits: true,
            input,
            converses: false,
            message: None,
        };
        Piped::start(program).await.unwrap()
    }

    /// Reads all of the program's stdout and stderr, and waits for its end.
    async fn all(mut piped: Piped) -> (String, String, Exit) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        while let Some(heard) = piped.next().await {
            match heard {
                Heard::Output(bytes) => out.extend_from_slice(bytes),
                Heard::Errors(bytes) => err.extend_from_slice(bytes),
            }
        }
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(out), text(err), piped.end().await.unwrap())
    }

    #[tokio::test]
    async fn stdout_and_stderr_are_read_separately() {
        let (out, err, exit) = all(shell("cat; echo $WORD >&2; exit 3", "asked\n").await).await;
        assert_eq!((out.as_str(), err.as_str()), ("asked\n", "said\n"));
        assert_eq!((exit.code, exit.signal), (Some(3), None));
        assert_eq!(all(shell("kill -9 $$", "").await).await.2.signal, Some(9));
    }

    #[tokio::test]
    async fn a_program_that_does_not_read_is_not_waited_for() {
        let long = "x".repeat(4 << 20);
        assert_eq!(all(shell("echo one", &long).await).await.0, "one\n");
        // It also gets all of its input.
        assert_eq!(all(shell("sleep 0.1; wc -c", &long).await).await.0.trim(), long.len().to_string());
    }

    #[tokio::test]
    async fn input_can_be_sent_while_it_runs() {
        let (program, args) =
            (OsStr::new("/bin/sh"), ["-c".into(), "env; read a; echo $a; read b; echo $b; cat; echo end".into()]);
        let program = Program {
            program,
            args: &args,
            folder: None,
            environment: &[("WORD", Some("said".into()))],
            inherits: false,
            input: Vec::new(),
            converses: true,
            message: None,
        };
        let mut piped = Piped::start(program).await.unwrap();
        let mut out = Vec::new();
        let mut until = async |piped: &mut Piped, word: &str| {
            while !String::from_utf8_lossy(&out).contains(word) {
                let Some(Heard::Output(bytes)) = piped.next().await else { panic!("no {word}: {out:?}") };
                out.extend_from_slice(bytes);
            }
            String::from_utf8_lossy(&out).into_owned()
        };
        let begun = until(&mut piped, "WORD=said\n").await;
        assert!(!begun.contains("PATH=/root") && !begun.contains("HOME="), "{begun}");
        piped.send(b"one\n");
        until(&mut piped, "one\n").await;
        piped.send(b"tw");
        piped.send(b"o\nthree");
        until(&mut piped, "two\nthree").await;
        assert_eq!(piped.unread(), 0);
        piped.close();
        until(&mut piped, "end\n").await;
        while piped.next().await.is_some() {}
        assert_eq!(piped.end().await.unwrap().code, Some(0));
    }

    #[tokio::test]
    async fn processes_that_outlive_it_are_ended() {
        let began = Instant::now();
        let (out, ..) = all(shell("sleep 60 & echo $!", "").await).await;
        assert!(began.elapsed() < Duration::from_secs(30), "it was not waited for");
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", out.trim()));
        // The kernel may not be done with it.
        while stat().is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(began.elapsed() < Duration::from_secs(30), "it still runs");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
