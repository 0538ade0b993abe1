//! The outer process, which the host started. It masks the files that the host has checked, lets the command start, and
//! ends everything when the host asks for it or is gone.

use super::descendants::PATIENCE;
use super::memory::Limit;
use super::plan::{Masking, Plan};
use super::sys::Signals;
use super::{Barrier, Cause, Trouble, descendants, host_line, mounts, rights, session};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Supervises the inner process until its end. Returns the exit status of this process.
pub(super) fn keep(
    plan: &Plan,
    host: &File,
    tree: Option<mounts::Tree>,
    line: UnixStream,
    inner: Pid,
    mut limit: Limit,
    session: Option<&session::Joined>,
) -> Result<i32, Trouble> {
    let watched = |error| Trouble::new(Barrier::CommandWatch, error);
    let inner_is = rustix::process::pidfd_open(inner, rustix::process::PidfdFlags::empty());
    let inner_is = inner_is.map_err(|error| watched(error.into()))?;
    let guard = KillOnDrop(&inner_is);
    // The keeper holds the mounts while this pipe is open, so it is closed at the very end: see `Joined::keep_mounts`.
    let mut running = None;
    if is_ready(&line) {
        running = start(plan, host, tree, line, session)?;
    }
    host_line::close_stdio().map_err(watched)?;
    // All masks are mounted, so this process no longer needs its capabilities.
    rights::drop_all().map_err(watched)?;
    // In a process namespace, /proc is that of the namespace, and the inner process is its first.
    let top = if plan.namespaces { "1" } else { "self" };
    let code = watch(host, inner, &inner_is, &mut limit, top).map_err(watched)?;
    drop(guard);
    let all_ended = descendants::end(PATIENCE);
    if all_ended {
        drop(running);
    }
    if limit.has_killed() {
        host_line::send_line(host, "memory\n");
    }
    // This is sent before this process ends, so that the host does not wait until the kernel has removed the mounts.
    host_line::send_line(host, if all_ended { "gone\n" } else { "left\n" });
    Ok(code)
}

/// Waits until the inner process has set up its sandbox. Returns `false` if it has ended, after it has reported the
/// reason.
fn is_ready(mut line: &UnixStream) -> bool {
    line.read_exact(&mut [0]).is_ok()
}

/// Reads the rest of the message from the host, mounts the masks, and lets the command start.
///
/// For a command of a session, returns a pipe that must stay open as long as the command runs.
fn start(
    plan: &Plan,
    host: &File,
    tree: Option<mounts::Tree>,
    mut line: UnixStream,
    session: Option<&session::Joined>,
) -> Result<Option<PipeWriter>, Trouble> {
    wait_for(host).map_err(|error| Trouble::new(Barrier::Masks, error))?;
    let masking: Masking = host_line::read(host, Barrier::Masks)?;
    let task = host_line::read_part(host, Barrier::Command)?;
    let mut running = None;
    if let Some(tree) = tree {
        mounts::raise(plan, &masking, &tree)?;
        if let Some(session) = session {
            let kept = session.keep_mounts().map_err(|error| Trouble::new(Barrier::Namespaces, error))?;
            running = Some(kept);
        }
    }
    // If the inner process has ended, it has reported the reason.
    let _ = line.write_all(&task);
    Ok(running)
}

/// Waits for the host. The wait is limited, because a waiting helper keeps mounts busy. If the time is over, the helper
/// reports that the project has changed, and the host starts another helper.
fn wait_for(host: &File) -> io::Result<()> {
    const PATIENCE: Timespec = Timespec { tv_sec: 600, tv_nsec: 0 };
    match poll(&mut [PollFd::new(host, PollFlags::IN)], Some(&PATIENCE))? {
        0 => Err(io::Error::new(io::ErrorKind::StaleNetworkFileHandle, Cause::TimedOut)),
        _ => Ok(()),
    }
}

/// Waits for the end of the inner process. Ends it if the host requests that or is gone, and passes SIGTERM on.
fn watch(host: &File, inner: Pid, inner_is: &OwnedFd, limit: &mut Limit, top: &str) -> io::Result<i32> {
    let term = Signals::block(&[libc::SIGTERM])?.descriptor()?;
    loop {
        match wait_for_event(host, inner_is, &term, limit.pause())? {
            Event::Ended => break,
            Event::Time if !limit.is_exceeded(top) => {}
            Event::Time => {
                host_line::send_line(host, "memory\n");
                rustix::process::pidfd_send_signal(inner_is, Signal::KILL)?;
                break;
            }
            Event::Term => rustix::process::pidfd_send_signal(inner_is, Signal::TERM)?,
            Event::Stop => {
                rustix::process::pidfd_send_signal(inner_is, Signal::KILL)?;
                break;
            }
        }
    }
    // When the inner process is gone, the kernel has ended its namespace with all processes in it. Without a namespace,
    // this process has adopted them; `descendants::end` ends them.
    let status = rustix::process::waitpid(Some(inner), WaitOptions::empty())?;
    Ok(status.and_then(|(_, status)| status.exit_status()).unwrap_or(host_line::NOT_STARTED))
}

/// Kills the inner process, so that an error in between leaves no process running.
struct KillOnDrop<'a>(&'a OwnedFd);

impl Drop for KillOnDrop<'_> {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(self.0, Signal::KILL);
    }
}

pub(super) enum Event {
    Ended,
    Stop,
    Term,
    /// The pause is over.
    Time,
}

/// Waits for the next event.
pub(super) fn wait_for_event(
    host: &File,
    inner: &OwnedFd,
    term: &OwnedFd,
    pause: Option<Duration>,
) -> io::Result<Event> {
    let pause = pause.and_then(|pause| Timespec::try_from(pause).ok());
    let mut all =
        [PollFd::new(inner, PollFlags::IN), PollFd::new(host, PollFlags::IN), PollFd::new(term, PollFlags::IN)];
    loop {
        match poll(&mut all, pause.as_ref()) {
            Ok(0) => return Ok(Event::Time),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // An end is checked first, so that a command that has ended is not reported as stopped.
    if !all[0].revents().is_empty() {
        return Ok(Event::Ended);
    }
    // The host writes nothing after the plan, so a readable line means its end.
    if !all[1].revents().is_empty() {
        return Ok(Event::Stop);
    }
    rustix::io::read(term, &mut [0; 128])?;
    Ok(Event::Term)
}
