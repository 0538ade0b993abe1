//! The outer process: what the host started. It covers what the host has looked at, lets the command start, and ends
//! everything when the host asks for it or is gone.

use super::plan::{Covering, Plan};
use super::sys::Signals;
use super::{Trouble, enter, mounts, rights};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Sees the inner process through to its end; the answer is what this process ends with.
pub(super) fn keep(
    plan: &Plan,
    host: &File,
    blanks: Option<mounts::Blanks>,
    line: UnixStream,
    inner: Pid,
) -> Result<i32, Trouble> {
    let watched = |error| Trouble::new("the watch over the command", error);
    let inner_is = rustix::process::pidfd_open(inner, rustix::process::PidfdFlags::empty());
    let inner_is = inner_is.map_err(|error| watched(error.into()))?;
    let guard = EndWith(&inner_is);
    if is_ready(&line) {
        start(plan, host, blanks, line)?;
    }
    enter::silence().map_err(watched)?;
    rights::drop_all().map_err(watched)?;
    let code = watch(host, inner, &inner_is).map_err(watched)?;
    drop(guard);
    sweep().map_err(watched)?;
    // The host need not wait for the kernel to put away what was mounted.
    enter::tell(host, "gone\n");
    Ok(code)
}

/// Waits until the inner process has raised its walls; `false` if it has ended, and told why.
fn is_ready(mut line: &UnixStream) -> bool {
    line.read_exact(&mut [0]).is_ok()
}

/// Hears the rest from the host, which may take some time: covers what is to be covered, and lets the command start.
fn start(plan: &Plan, host: &File, blanks: Option<mounts::Blanks>, mut line: UnixStream) -> Result<(), Trouble> {
    wait_for(host).map_err(|error| Trouble::new("the covers", error))?;
    let covering: Covering = enter::read(host, "the covers")?;
    let task = enter::read_part(host, "the command")?;
    if let Some(blanks) = blanks {
        mounts::cover(plan, &covering, &blanks)?;
    }
    // One that has ended has told why.
    let _ = line.write_all(&task);
    Ok(())
}

/// What is mounted is kept busy by a helper that waits, so none waits for ever. To the host it is as if the project had changed:
/// it starts another one.
fn wait_for(host: &File) -> io::Result<()> {
    const PATIENCE: Timespec = Timespec { tv_sec: 600, tv_nsec: 0 };
    match poll(&mut [PollFd::new(host, PollFlags::IN)], Some(&PATIENCE))? {
        0 => Err(io::Error::new(io::ErrorKind::StaleNetworkFileHandle, "nobody came")),
        _ => Ok(()),
    }
}

/// Waits for the end of the inner process, and brings it about when the host wants it or is gone. SIGTERM is passed on.
fn watch(host: &File, inner: Pid, inner_is: &OwnedFd) -> io::Result<i32> {
    rustix::process::set_child_subreaper(Some(inner))?;
    let term = Signals::block(&[libc::SIGTERM])?.descriptor()?;
    loop {
        match next(host, inner_is, &term)? {
            What::Ended => break,
            What::Term => rustix::process::pidfd_send_signal(inner_is, Signal::TERM)?,
            What::Stop => {
                rustix::process::pidfd_send_signal(inner_is, Signal::KILL)?;
                break;
            }
        }
    }
    // It is gone when all it held is gone, if it had a namespace to hold them; else they are ours now.
    let status = rustix::process::waitpid(Some(inner), WaitOptions::empty())?;
    Ok(status.and_then(|(_, status)| status.exit_status()).unwrap_or(enter::NOT_STARTED))
}

/// Kills children, and their children when they have become ours, until there are none.
fn sweep() -> io::Result<()> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let children = std::fs::read_to_string("/proc/thread-self/children")?;
        for child in children.split_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)) {
            // It is ours and not reaped, so the number is still its own.
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills the inner process, so that trouble on the way leaves nothing running.
struct EndWith<'a>(&'a OwnedFd);

impl Drop for EndWith<'_> {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(self.0, Signal::KILL);
    }
}

pub(super) enum What {
    Ended,
    Stop,
    Term,
}

/// What happens first.
pub(super) fn next(host: &File, inner: &OwnedFd, term: &OwnedFd) -> io::Result<What> {
    let mut all =
        [PollFd::new(inner, PollFlags::IN), PollFd::new(host, PollFlags::IN), PollFd::new(term, PollFlags::IN)];
    while let Err(error) = poll(&mut all, None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    if !all[0].revents().is_empty() {
        return Ok(What::Ended);
    }
    // The host says nothing after the plan: what can be read is its end.
    if !all[1].revents().is_empty() {
        return Ok(What::Stop);
    }
    rustix::io::read(term, &mut [0; 128])?;
    Ok(What::Term)
}
