//! Supervises a command without a sandbox: no process that it starts outlives it, and its memory is limited.
//!
//! The supervisor is a child subreaper, so that a process that leaves the command's group or session remains a
//! descendant. It ends all of them when the command has ended, when the host asks for it, and when the host is gone for
//! any reason, because the socket to the host breaks then. A process that attacks the supervisor itself can escape,
//! because nothing confines it; then the host does not receive the last line.

use super::memory::{self, Limit};
use super::plan::Supervised;
use super::sys::{self, Side, Signals};
use super::{Barrier, Trouble, descendants, host_line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs and supervises the command that the message on stdin describes. Returns when the command has ended.
pub(super) fn main() -> i32 {
    host_line::with_host(|host, mut first| {
        let message: Supervised = host_line::read_begun(host, &first, Barrier::Plan)?;
        host_line::is_of_this_build(&message.version)?;
        first.take_input()?;
        run(&message, host).map_err(|error| Trouble::new(Barrier::Supervision, error))
    })
}

fn run(message: &Supervised, host: &File) -> io::Result<i32> {
    let alone = sys::single_thread()?;
    let mut limit = Limit::new(message.memory);
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me))?;
    // Blocked before the fork, so that no end of a child is missed.
    let signals = Signals::block(&[libc::SIGCHLD, libc::SIGTERM])?;
    let main = match sys::fork(&alone)? {
        Side::Parent(main) => main,
        Side::Child => {
            limit.enter();
            return Err(command(message, me, &signals));
        }
    };
    let message = watch(host, main, &signals.descriptor()?, &mut limit);
    let all_ended = descendants::end(descendants::PATIENCE);
    // An error is returned only after all processes were ended.
    message?;
    if limit.has_killed() {
        host_line::send_line(host, "memory\n");
    }
    host_line::send_line(host, if all_ended { "gone\n" } else { "left\n" });
    Ok(0)
}

/// Becomes the command. Returns only the error.
fn command(message: &Supervised, supervisor: Pid, signals: &Signals) -> io::Error {
    let prepared = (|| {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The supervisor may have ended before the call above, which then has no effect.
        if rustix::process::getppid() != Some(supervisor) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        memory::prefer_for_oom_kill();
        Ok(rustix::process::setpgid(None, None)?)
    })();
    if let Err(error) = prepared {
        return error;
    }
    signals.unblock();
    let Some((program, args)) = message.command.split_first() else { return io::ErrorKind::InvalidInput.into() };
    let mut command = Command::new(program.os());
    command.args(args.iter().map(super::plan::Name::os));
    command.exec()
}

/// Supervises the command until no process of it is left, it uses too much memory, or the host wants its end or is
/// gone.
fn watch(host: &File, main: Pid, signals: &OwnedFd, limit: &mut Limit) -> io::Result<()> {
    host_line::close_stdio()?;
    loop {
        if all_reaped(host, main)? {
            return Ok(());
        }
        let mut all = [PollFd::new(host, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        let pause = limit.pause().and_then(|pause| Timespec::try_from(pause).ok());
        match poll(&mut all, pause.as_ref()) {
            Ok(0) if limit.is_exceeded("self") => {
                host_line::send_line(host, "memory\n");
                return Ok(());
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // The host writes nothing after the plan, so a readable line means its end.
        if !all[0].revents().is_empty() {
            return Ok(());
        }
        if !all[1].revents().is_empty() && received(signals)? == libc::SIGTERM.cast_unsigned() {
            descendants::terminate_all();
        }
    }
}

/// Returns the signal that was received: its number is the first field of `struct signalfd_siginfo` (signalfd(2)).
fn received(signals: &OwnedFd) -> io::Result<u32> {
    let mut received = [0; 128];
    rustix::io::read(signals, &mut received)?;
    Ok(u32::from_ne_bytes([received[0], received[1], received[2], received[3]]))
}

/// Reaps the processes that have ended, and reports how the command did. Returns `true` if no child is left.
fn all_reaped(host: &File, main: Pid) -> io::Result<bool> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == main => host_line::send_status(host, status),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(false),
            Err(Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}
