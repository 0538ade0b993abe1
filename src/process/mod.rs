//! A child and all it starts: a deadline, bounded output, nothing left behind.
//!
//! This module judges no command and builds no walls. It knows process groups: what leaves its group on purpose (a
//! daemon that calls setsid(2)) is out of its reach.

mod environment;
mod group;

pub use environment::environment;

use crate::clip::{Clipped, HeadTail};
use group::Group;
use rustix::fd::BorrowedFd;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Stdio;
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How much is read at once: the size of a pipe. Bigger reads and bigger pipes are slower.
const CHUNK: usize = 64 << 10;

/// How long a process that outlives the command may hold its output before it is ended.
const LINGER: Duration = Duration::from_secs(2);

/// From the polite signal to the other one.
const GRACE: Duration = Duration::from_millis(300);

/// How long a killed child is waited for; one in the hands of a broken disk may take for ever.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// What to run, and within which bounds.
#[derive(Debug)]
pub struct Job<'a> {
    /// An absolute path, or a name looked for in the caller's PATH.
    pub program: &'a OsStr,
    /// Its arguments.
    pub args: &'a [&'a OsStr],
    /// The folder it runs in, as an open descriptor.
    pub folder: BorrowedFd<'a>,
    /// All of its environment.
    pub environment: &'a [(OsString, OsString)],
    /// How long it may run.
    pub limit: Duration,
    /// Bytes of output kept: half of the beginning, half of the end.
    pub keep: usize,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Stdout and stderr in the order they were written; bytes that are not UTF-8 are U+FFFD.
    pub output: String,
    /// Bytes that were written.
    pub total_bytes: u64,
    /// Whether `output` is less than that.
    pub truncated: bool,
    /// The exit status; 128 and the signal where one ended it; 124 where the time was over.
    pub exit_code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time was over.
    pub timed_out: bool,
    /// Whether a process it had started still held its output two seconds after the command itself had ended.
    pub lingered: bool,
    /// Whether a process still held its output after the whole group was killed: it has left the group and may go on
    /// running. One that left the group and gave up the output as well is not noticed.
    pub escaped: bool,
}

/// Runs a command to its end, and ends what it leaves running in its process group. Dropping the future kills the whole
/// group.
///
/// Its input is empty, its stdout and stderr are one pipe. Memory is one buffer and what is kept. It needs a tokio runtime
/// with I/O and time enabled.
///
/// # Errors
/// The program cannot be started, or the system runs out of descriptors.
pub async fn run(job: &Job<'_>) -> io::Result<Outcome> {
    let (mut running, output) = start(job)?;
    let mut reader = Reader::new(output, job.keep);
    let deadline = Instant::now() + job.limit;
    let timed_out = !running.ends_by(deadline, &mut reader).await;
    let mut lingered = false;
    if timed_out {
        running.group.terminate();
        running.ends_by(Instant::now() + GRACE, &mut reader).await;
    } else {
        lingered = !reader.drains_by(Instant::now() + LINGER).await;
        if lingered {
            running.group.terminate();
            reader.drains_by(Instant::now() + GRACE).await;
        }
    }
    running.group.kill();
    let escaped = !reader.drains_by(Instant::now() + GRACE).await;
    let status = running.reap().await?;
    let outcome = outcome(status, reader.buffer.finish(), timed_out);
    Ok(Outcome { lingered, escaped, ..outcome })
}

fn start(job: &Job<'_>) -> io::Result<(Running, Receiver)> {
    let (reading, writing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let mut command = tokio::process::Command::new(job.program);
    command
        .args(job.args)
        .env_clear()
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(group::path_to(job.folder)?)
        .stdin(Stdio::null())
        .stdout(writing.try_clone()?)
        .stderr(writing)
        .process_group(0);
    let child = command.spawn()?;
    // The command holds the writing end: as long as it lives, the output has no end.
    drop(command);
    rustix::io::ioctl_fionbio(&reading, true)?;
    let group = Group::led_by(&child)?;
    Ok((Running { group, child }, Receiver::from_owned_fd(reading)?))
}

/// The fields are dropped in this order: the group is killed while its leader still holds its number.
struct Running {
    group: Group,
    child: tokio::process::Child,
}

impl Running {
    /// Reads output until the leader has ended; `false` if the time is over before. The leader is not reaped, so that the
    /// number of the group stays taken and no other group can be hit by a signal meant for this one.
    async fn ends_by(&mut self, deadline: Instant, reader: &mut Reader) -> bool {
        loop {
            tokio::select! {
                biased;
                () = sleep_until(deadline) => return false,
                ended = self.group.leader_ended(&mut self.child) => return ended,
                () = reader.read(), if !reader.ended => {}
            }
        }
    }

    async fn reap(mut self) -> io::Result<std::process::ExitStatus> {
        match timeout_at(Instant::now() + LAST_WAIT, self.child.wait()).await {
            Ok(status) => {
                let status = status?;
                self.group.is_over();
                Ok(status)
            }
            Err(_) => Err(io::Error::other("the command was killed and does not end")),
        }
    }
}

struct Reader {
    pipe: Receiver,
    chunk: Box<[u8]>,
    buffer: HeadTail,
    ended: bool,
}

impl Reader {
    fn new(pipe: Receiver, keep: usize) -> Reader {
        let buffer = HeadTail::new(keep / 2, keep / 2);
        Reader { pipe, chunk: vec![0; CHUNK].into_boxed_slice(), buffer, ended: false }
    }

    /// Waits for output and takes what is there. Nothing is lost if the future is dropped.
    async fn read(&mut self) {
        /// Reads before anybody else gets a turn: asking whether there is more costs more than reading it.
        const TURN: usize = 16;
        if self.pipe.readable().await.is_err() {
            self.ended = true;
        }
        for _ in 0..TURN {
            match self.pipe.try_read(&mut self.chunk) {
                Ok(0) => self.ended = true,
                Ok(read) => self.buffer.push(&self.chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.ended = true,
            }
            if self.ended {
                return;
            }
        }
    }

    /// Reads to the end of the output; `false` if the time is over before.
    async fn drains_by(&mut self, deadline: Instant) -> bool {
        while !self.ended {
            if timeout_at(deadline, self.read()).await.is_err() {
                return false;
            }
        }
        true
    }
}

fn outcome(status: std::process::ExitStatus, kept: Clipped, timed_out: bool) -> Outcome {
    use std::os::unix::process::ExitStatusExt;
    /// As of timeout(1).
    const TIMED_OUT: i32 = 124;
    let signal = status.signal().filter(|_| !timed_out);
    let by_itself = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(TIMED_OUT);
    Outcome {
        output: kept.text,
        total_bytes: kept.total_bytes,
        truncated: kept.truncated,
        exit_code: if timed_out { TIMED_OUT } else { by_itself },
        signal,
        timed_out,
        lingered: false,
        escaped: false,
    }
}
