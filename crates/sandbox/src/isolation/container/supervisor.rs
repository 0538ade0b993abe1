//! The supervisor of a container: starts the engine's client, reports how it ended, and removes the container when the
//! host asks for its end or is gone. The client alone would leave it running.

use super::super::plan::Name;
use super::super::stage_two::{What, next};
use super::super::sys::Signals;
use super::super::{Barrier, Cause, Trouble, host_line};
use super::Told;
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
        let told: Told = host_line::read_begun(host, &first, Barrier::Plan)?;
        run(&told, host).map_err(|error| Trouble::at(Barrier::Container, told.program.path(), error))
    })
}

fn run(told: &Told, host: &File) -> io::Result<i32> {
    let mut client = command(told, &told.run).spawn()?;
    let number = i32::try_from(client.id()).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(|| io::Error::other(Cause::NoNumber))?;
    host_line::silence()?;
    let client_is = rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty())?;
    let term = Signals::block(&[libc::SIGTERM])?.descriptor()?;
    loop {
        match next(host, &client_is, &term, None)? {
            What::Ended => break,
            // The engine limits the memory.
            What::Time => {}
            // The client passes the signal on to the command.
            What::Term => rustix::process::pidfd_send_signal(&client_is, Signal::TERM)?,
            What::Stop => {
                end(told, &mut client)?;
                break;
            }
        }
    }
    let status = client.wait()?;
    if status.code() == Some(ENGINE_FAILED) {
        // Remove the container, however far it was started.
        remove(told)?;
        return Err(io::Error::other(Cause::EngineFailed));
    }
    let word = status.code().map(|code| format!("status {code}\n"));
    host_line::tell(host, &word.unwrap_or_else(|| format!("signal {}\n", status.signal().unwrap_or_default())));
    host_line::tell(host, "gone\n");
    Ok(0)
}

fn command(told: &Told, words: &[Name]) -> Command {
    let mut command = Command::new(told.program.os());
    command.args(words.iter().map(Name::os)).envs(told.environment.iter().map(|(name, value)| (name.os(), value.os())));
    command
}

/// Removes the container. The client has a group of its own, because the host kills ours when it has waited long
/// enough.
fn remove(told: &Told) -> io::Result<ExitStatus> {
    let mut remove = command(told, &told.remove);
    remove.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).status()
}

/// Removes the container until its client ends: at the first try it may not have been created yet.
fn end(told: &Told, client: &mut Child) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        remove(told)?;
        if client.wait_timeout(PAUSE)?.is_some() {
            return Ok(());
        }
    }
    client.kill()?;
    remove(told).map(drop)
}
