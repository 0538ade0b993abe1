//! Runs a child with a deadline and bounded output, and ends all processes that it starts.
//!
//! This module judges no command and sets up no sandbox. By itself it can only signal process groups, so a process that
//! leaves its group on purpose (a daemon that calls setsid(2)) escapes. A *supervisor* is a program that runs the
//! command and ends all processes that the command starts, including those.

mod background;
mod child;
mod group;
mod message;
mod output;
mod overflow;
mod piped;
mod supervisor;

pub use background::{Background, WriteOutcome};
pub use message::Message;
#[cfg(target_os = "linux")]
pub(crate) use message::{MOST_DESCRIPTORS, send_with};
pub use overflow::Overflow;
pub use piped::{Exit, Heard, Piped, Program};

use child::{Leader, Spawned};
use group::Group;
use output::Output;
use rustix::fd::{AsFd, BorrowedFd};
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Stdio;
use std::time::Duration;
use supervisor::{Answer, Supervisor};
use tokio::time::{Instant, sleep_until, timeout_at};
use toolfence_protocol::clip::{Clipped, HeadTail};
use toolfence_protocol::{Language, Text, text};

/// Bytes that are read at once: the size of a pipe. Bigger reads and bigger pipes are slower.
const CHUNK: usize = 64 << 10;

/// The time for which a process that outlives the command may hold its output before it is ended.
const LINGER: Duration = Duration::from_secs(2);

/// The time limit of a command that sets none.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(300);

/// The time limit for reaping a killed child. A process that waits for a disk may not react to signals.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The time that a supervisor may take to end all its processes. It must be longer than the limit in the supervisor
/// itself.
const LAST_KEPT: Duration = Duration::from_secs(3);

/// A command with its limits.
#[derive(Debug)]
pub struct Job<'a> {
    /// An absolute path, or a name that is searched in the caller's PATH.
    pub program: &'a OsStr,
    /// The arguments of the program.
    pub args: &'a [&'a OsStr],
    /// The working folder as an open descriptor.
    pub folder: BorrowedFd<'a>,
    /// The complete environment.
    pub environment: &'a [(OsString, OsString)],
    /// The time limit.
    pub limit: Duration,
    /// Bytes of output that are kept: half of the beginning, half of the end.
    pub keep: usize,
    /// The file for all of the output if it is more than is kept. A `live` handle has its own.
    pub overflow: Option<&'a Overflow<'a>>,
    /// The handle for observing the command while it runs. It then holds the output, and `keep` is ignored.
    pub live: Option<&'a Background>,
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Stdout and stderr in the order in which they were written; bytes that are not UTF-8 are U+FFFD.
    pub output: String,
    /// Bytes that were written.
    pub total_bytes: u64,
    /// Lines that were written.
    pub total_lines: u64,
    /// Whether `output` is incomplete.
    pub truncated: bool,
    /// The exit status; 128 plus the signal if one ended it; 124 after a timeout.
    pub exit_code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time limit was reached.
    pub timed_out: bool,
    /// Whether it was asked to stop.
    pub stopped: bool,
    /// Whether a process that it had started still held its output two seconds after the command itself had ended.
    pub lingered: bool,
    /// Whether a process still held its output after the whole group was killed: it has left the group and may still be
    /// running. Without a supervisor, a process that left the group and closed the output is not detected. With one,
    /// this means that it could not end all processes, or was itself killed before.
    pub escaped: bool,
    /// Whether it was killed because it exceeded the memory limit of its supervisor.
    pub memory_exceeded: bool,
}

/// Runs a command to its end, and ends the processes that it leaves running in its process group. Dropping the future
/// kills the whole group.
///
/// Its input is empty, and its stdout and stderr are one pipe. Memory is bounded by one buffer and the kept output. It
/// needs a tokio runtime with I/O and time enabled.
///
/// # Errors
/// The program cannot be started, or the system runs out of descriptors.
pub async fn run(job: &Job<'_>) -> io::Result<Outcome> {
    let input = match job.live.and_then(Background::stdin) {
        Some(input) => Stdio::from(input.try_clone()?),
        None => Stdio::null(),
    };
    let (running, output) = Running::new(spawned(job, input)?, None)?;
    follow(job, running, output).await
}

/// Runs a supervisor to its end, like [`run`]. `message` is sent to it on its stdin, a socket. It answers with one line
/// when its command has ended: `status N` or `signal N`, or an error if there was no command. It ends all its processes
/// when the socket is closed, and passes SIGTERM on.
///
/// # Errors
/// The errors of [`run`], and the answer of a supervisor that could not start its command; see [`is_changed`].
pub async fn run_supervised(job: &Job<'_>, message: &Message) -> io::Result<Outcome> {
    let (supervisor, theirs) = Supervisor::new()?;
    let (mut running, output) = Running::new(spawned(job, theirs.into())?, Some(supervisor))?;
    let input = job.live.and_then(Background::stdin).map(AsFd::as_fd);
    running.send(message, input).await?;
    follow(job, running, output).await
}

/// Returns `true` if an error of [`run_supervised`] means that files of the message have changed.
pub fn is_changed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StaleNetworkFileHandle
}

async fn follow(job: &Job<'_>, mut running: Running, output: Output) -> io::Result<Outcome> {
    let mut reader = Reader::new(output, job);
    // A job may have the limit `Duration::MAX`, which would overflow the sum.
    let deadline = Instant::now() + job.limit.min(LONGEST);
    let stopped = tokio::select! {
        biased;
        // Checked first, so that a request to stop wins over an end at the same time.
        () = Background::wait_for_ending(job.live, background::Ending::Soon) => None,
        ended = running.ends_by(deadline, &mut reader) => Some(ended),
    };
    let timed_out = stopped == Some(false);
    let stopped = stopped.is_none();
    // Second phase: end a command that did not end by itself, or wait for the processes that it left.
    let mut lingered = false;
    if timed_out || stopped {
        // A killed command gets no time to end by itself, because its caller is gone.
        if !job.live.is_some_and(Background::is_killed) {
            running.group.terminate();
            tokio::select! {
                biased;
                () = Background::wait_for_ending(job.live, background::Ending::Now) => {}
                _ = running.ends_by(Instant::now() + GRACE, &mut reader) => {}
            }
        }
    } else {
        // A process that the command left may still hold the pipe and write to it.
        lingered = !reader.read_to_end_by(Instant::now() + LINGER).await;
        if lingered {
            running.group.terminate();
            reader.read_to_end_by(Instant::now() + GRACE).await;
        }
    }
    // Last phase: end what is left. Only a process outside of the group can hold the output after that.
    running.end().await;
    let escaped = !reader.read_to_end_by(Instant::now() + GRACE).await;
    let escaped = escaped || running.has_left;
    let ending = running.reap(timed_out || stopped).await;
    let kept = job.live.map_or_else(|| reader.finish(), Background::take);
    let ending = ending.map_err(|error| with_last_line(error, &kept.text))?;
    let outcome = outcome(&ending, kept, timed_out && !ending.memory);
    Ok(Outcome { stopped, lingered, escaped, ..outcome })
}

/// Adds the last line of the output to an error, because it explains why no command was started.
fn with_last_line(error: io::Error, output: &str) -> io::Error {
    const LONGEST: usize = 300;
    match output.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) if !is_changed(&error) => {
            let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
            io::Error::new(error.kind(), text!("{error}: {line}", error = Text::from(&error), line))
        }
        _ => error,
    }
}

fn spawned(job: &Job<'_>, input: Stdio) -> io::Result<Spawned> {
    let mut command = std::process::Command::new(job.program);
    command
        .args(job.args)
        .env_clear()
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(group::path_to(job.folder)?);
    Spawned::new(command, input)
}

/// A running command. The field order is the drop order: `group` is dropped first, so it is killed while its unreaped
/// leader still reserves the group ID.
struct Running {
    group: Group,
    supervisor: Option<Supervisor>,
    /// Whether the supervisor has reported that it is done. The supervisor is then reaped in the background.
    has_reported_end: bool,
    /// Whether the supervisor could not end all processes, or did not report that it had ended them.
    has_left: bool,
    leader: Leader,
}

impl Running {
    fn new(spawned: Spawned, supervisor: Option<Supervisor>) -> io::Result<(Running, Output)> {
        let Spawned { leader, output } = spawned;
        Ok((Running::led_by(leader, supervisor)?, Output::new(output)))
    }

    fn led_by(leader: Leader, supervisor: Option<Supervisor>) -> io::Result<Running> {
        let mut group = Group::led_by(&leader)?;
        // A supervisor ends all its processes when its socket is closed. If it were killed, some could escape.
        group.ends_by_itself(supervisor.is_some());
        Ok(Running { group, supervisor, has_reported_end: false, has_left: false, leader })
    }

    /// Sends the message to the supervisor. A supervisor that ends before it has read the message has already sent its
    /// answer.
    async fn send(&mut self, message: &Message, of_command: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let Some(supervisor) = &mut self.supervisor else { return Ok(()) };
        check_line(supervisor.send(message, of_command)).await
    }

    /// Reads output until the command has ended. Returns `false` if the deadline comes first. Does not reap the leader,
    /// which reserves the group ID, so no signal can reach a different group.
    async fn ends_by(&mut self, deadline: Instant, reader: &mut Reader<'_>) -> bool {
        loop {
            tokio::select! {
                biased;
                // Output is polled last, so that a command that writes without a pause cannot delay its deadline.
                () = sleep_until(deadline) => return false,
                () = Supervisor::wait_for_answer(&mut self.supervisor) => return true,
                ended = self.group.leader_ended(&mut self.leader) => return ended,
                () = reader.read(), if !reader.output.has_ended() => {}
            }
        }
    }

    /// Ends all processes that are left. A supervisor gets time to end its processes first.
    async fn end(&mut self) {
        if let Some(supervisor) = &mut self.supervisor {
            supervisor.hang_up();
            tokio::select! {
                biased;
                // This was the supervisor's last line. It ends by itself and is reaped in the background.
                all = Supervisor::wait_until_gone(&mut self.supervisor) => {
                    self.has_reported_end = true;
                    self.has_left = !all;
                    return;
                }
                _ = self.group.leader_ended(&mut self.leader) => {}
                () = sleep_until(Instant::now() + LAST_KEPT) => {}
            }
            self.has_left = true;
        }
        self.group.kill();
    }

    async fn reap(mut self, timed_out: bool) -> io::Result<CommandEnd> {
        let status = if self.has_reported_end { None } else { Some(self.reap_leader().await?) };
        let Some(supervisor) = self.supervisor else { return Ok(CommandEnd::from_status(status)) };
        match supervisor.answer().await {
            Answer::Ended(ending) => Ok(ending),
            Answer::Memory => Ok(CommandEnd { memory: true, ..CommandEnd::from_status(None) }),
            Answer::None if timed_out => Ok(CommandEnd::from_status(None)),
            Answer::None => Err(io::Error::other(text!(
                "the supervisor of the command ended first ({status}); without a sandbox, processes of the command may \
                 still be running",
                status = format!("{status:?}")
            ))),
            Answer::Trouble(error) => Err(error),
        }
    }

    async fn reap_leader(&mut self) -> io::Result<std::process::ExitStatus> {
        let ended = timeout_at(Instant::now() + LAST_WAIT, self.group.leader_ended(&mut self.leader)).await;
        let status = if ended.is_ok() { self.leader.exit_status()? } else { None };
        let status = status.ok_or_else(|| io::Error::other(text!("the command was killed and does not end")))?;
        // The kernel may give the number of a reaped leader to another process.
        self.group.is_over();
        Ok(status)
    }
}

/// Sends the message to the supervisor. A broken socket is not an error here, because the answer of the ended
/// supervisor contains the reason.
async fn check_line(message: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    match timeout_at(Instant::now() + LAST_WAIT, message).await {
        Ok(_) => Ok(()),
        Err(_) => Err(io::Error::other(text!("the helper of the sandbox does not listen"))),
    }
}

/// The end of a command before it was turned into an [`Outcome`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CommandEnd {
    code: Option<i32>,
    signal: Option<i32>,
    /// Whether it was killed because it exceeded its memory limit.
    memory: bool,
}

impl CommandEnd {
    fn from_status(status: Option<std::process::ExitStatus>) -> CommandEnd {
        use std::os::unix::process::ExitStatusExt;
        let (code, signal) = (status.and_then(|status| status.code()), status.and_then(|status| status.signal()));
        CommandEnd { code, signal, memory: false }
    }
}

struct Reader<'a> {
    output: Output,
    chunk: Box<[u8]>,
    buffer: HeadTail,
    live: Option<&'a Background>,
    overflow: Option<&'a Overflow<'a>>,
}

impl<'a> Reader<'a> {
    fn new(output: Output, job: &Job<'a>) -> Reader<'a> {
        Reader {
            output,
            chunk: vec![0; CHUNK].into_boxed_slice(),
            buffer: HeadTail::new(job.keep / 2, job.keep / 2),
            live: job.live,
            overflow: job.overflow,
        }
    }

    /// Waits for output and reads it. Nothing is lost if the future is dropped.
    async fn read(&mut self) {
        /// The number of reads before the task yields to others.
        const TURN: usize = 16;
        self.output.ready().await;
        for _ in 0..TURN {
            let Some(read) = self.output.read(&mut self.chunk) else { return };
            let chunk = &self.chunk[..read];
            match self.live {
                Some(live) => live.push(chunk),
                None => overflow::keep(chunk, &mut self.buffer, self.overflow),
            }
        }
    }

    /// Reads to the end of the output. Returns `false` if the deadline comes first.
    async fn read_to_end_by(&mut self, deadline: Instant) -> bool {
        while !self.output.has_ended() {
            if timeout_at(deadline, self.read()).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Returns the kept output. Frees the read buffer first to lower the peak of memory.
    fn finish(self) -> Clipped {
        drop(self.chunk);
        // English is sufficient: a command whose output a model reads has a `live` handle, with its own language.
        self.buffer.finish(Language::English)
    }
}

fn outcome(ending: &CommandEnd, kept: Clipped, timed_out: bool) -> Outcome {
    /// The exit status of timeout(1).
    const TIMED_OUT: i32 = 124;
    /// The exit status in a shell after SIGKILL.
    const KILLED: i32 = 137;
    // After a timeout the signal is usually our own, so it explains nothing.
    let signal = ending.signal.filter(|_| !timed_out);
    let otherwise = if ending.memory { KILLED } else { TIMED_OUT };
    let by_itself = ending.code.or(signal.map(|signal| 128 + signal)).unwrap_or(otherwise);
    Outcome {
        output: kept.text,
        total_bytes: kept.total_bytes,
        total_lines: kept.total_lines,
        truncated: kept.truncated,
        exit_code: if timed_out { TIMED_OUT } else { by_itself },
        signal,
        timed_out,
        stopped: false,
        lingered: false,
        escaped: false,
        memory_exceeded: ending.memory,
    }
}
