//! The supervisor of a container: starts the engine's client, reports how it ended, and removes the container when the
//! host asks for its end or is gone. Killing the client alone would leave the container running.

use super::super::plan::Name;
use super::super::stage_two::{Event, wait_for_event};
use super::super::sys::Signals;
use super::super::{Barrier, Cause, Trouble, host_line};
use super::ContainerMessage;
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// The time limit for the client to end after its container was removed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The exit status of an engine's client if the engine failed, rather than the command: docker-run(1), podman-run(1).
const ENGINE_FAILED: i32 = 125;

/// Runs the container that the message on stdin describes. Returns when the container has ended.
pub(in super::super) fn main() -> i32 {
    host_line::with_host(|host, first| {
        let message: ContainerMessage = host_line::read_begun(host, &first, Barrier::Plan)?;
        run(&message, host).map_err(|error| Trouble::at(Barrier::Container, message.program.path(), error))
    })
}

fn run(message: &ContainerMessage, host: &File) -> io::Result<i32> {
    let mut client = command(message, &message.run).spawn()?;
    if let Err(error) = supervise(message, &mut client, host) {
        // Otherwise the container would run on without a supervisor.
        let _ = end(message, &mut client);
        return Err(error);
    }
    let status = client.wait()?;
    if status.code() == Some(ENGINE_FAILED) {
        // The engine may have created the container before it failed.
        remove(message)?;
        return Err(io::Error::other(Cause::EngineFailed));
    }
    let word = status.code().map(|code| format!("status {code}\n"));
    host_line::send_line(host, &word.unwrap_or_else(|| format!("signal {}\n", status.signal().unwrap_or_default())));
    // The container is gone with everything in it, because `--rm` removes it at its end.
    host_line::send_line(host, "gone\n");
    Ok(0)
}

/// Waits until the client has ended. If the host asks for the end of the container or is gone, ends it.
fn supervise(message: &ContainerMessage, client: &mut Child, host: &File) -> io::Result<()> {
    let number = i32::try_from(client.id()).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(|| io::Error::other(Cause::NoProcessId))?;
    host_line::close_stdio()?;
    let client_is = rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty())?;
    let term = Signals::block(&[libc::SIGTERM])?.descriptor()?;
    loop {
        match wait_for_event(host, &client_is, &term, None)? {
            Event::Ended => return Ok(()),
            // The engine limits the memory.
            Event::Time => {}
            // The client passes the signal on to the command.
            Event::Term => rustix::process::pidfd_send_signal(&client_is, Signal::TERM)?,
            Event::Stop => return end(message, client),
        }
    }
}

fn command(message: &ContainerMessage, words: &[Name]) -> Command {
    let mut command = Command::new(message.program.os());
    command
        .args(words.iter().map(Name::os))
        .envs(message.environment.iter().map(|(name, value)| (name.os(), value.os())));
    command
}

/// Removes the container. This client has a process group of its own, because the host kills the supervisor's group if
/// that does not end in time.
fn remove(message: &ContainerMessage) -> io::Result<ExitStatus> {
    let mut remove = command(message, &message.remove);
    remove.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).status()
}

/// Removes the container repeatedly until its client ends: at the first attempt, the container may not exist yet.
fn end(message: &ContainerMessage, client: &mut Child) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        remove(message)?;
        if client.wait_timeout(PAUSE)?.is_some() {
            return Ok(());
        }
    }
    client.kill()?;
    remove(message).map(drop)
}
