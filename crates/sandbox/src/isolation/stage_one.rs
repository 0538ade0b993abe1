//! The first process of the new process namespace: it sets up the barriers that it must set up itself, waits for the
//! task, starts the command and reaps the remaining processes.

use super::plan::{Name, Plan, Task};
use super::sys::{self, Side, Signals, SingleThread};
use super::{Barrier, Cause, Trouble, attempts, host_line, landlock, memory, mounts, rights, seccomp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs the inner process. `outer` is the socket to the outer process, to which it reports that its barriers are set
/// up, and from which it gets the command.
pub(super) fn first(plan: &Plan, host: &File, outer: UnixStream, alone: &SingleThread) -> Result<Infallible, Trouble> {
    die_with_parent(&outer).map_err(|error| Trouble::new(Barrier::HostWatch, error))?;
    rustix::process::setsid().map_err(|error| Trouble::new(Barrier::Session, error.into()))?;
    if plan.namespaces {
        mounts::finish(plan).map_err(|error| Trouble::at(Barrier::Tree, "/proc".as_ref(), error))?;
    }
    if plan.namespaces && plan.removable {
        mounts::leave_mounts_behind(plan).map_err(|error| Trouble::new(Barrier::RemovableMasks, error))?;
    }
    if !plan.namespaces {
        memory::prefer_for_oom_kill();
    }
    // The mounts above need capabilities, and the filter of system calls would refuse them, so both follow now.
    rights::drop_all().map_err(|error| Trouble::new(Barrier::Capabilities, error))?;
    landlock::raise(plan).map_err(|error| Trouble::new(Barrier::Landlock, error))?;
    seccomp::raise(plan).map_err(|error| Trouble::new(Barrier::SystemCalls, error))?;
    let started = |error| Trouble::new(Barrier::Command, error);
    // Other processes must not inspect this one through /proc, where its program is a file outside of the tree. The
    // exec of the command resets this.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(|error| started(error.into()))?;
    // Blocked before the fork, so that no end of a child is missed.
    let signals = Signals::block(&[libc::SIGCHLD, libc::SIGTERM]).map_err(started)?;
    let task = wait_for_task(outer).map_err(started)?;
    mounts::enter_folder(plan, &task).map_err(|error| Trouble::at(Barrier::Folder, task.folder.path(), error))?;
    match sys::fork(alone).map_err(started)? {
        Side::Child => Err(started(command(plan, &task, &signals))),
        Side::Parent(main) => std::process::exit(i32::from(reap(host, main, &signals).is_err())),
    }
}

/// Kills this process when its parent ends. The outer process may have ended before the call.
fn die_with_parent(outer: &UnixStream) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut only = [PollFd::new(outer, PollFlags::IN)];
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut only, Some(&at_once))?;
    if only[0].revents().is_empty() { Ok(()) } else { Err(io::Error::other(Cause::HostGone)) }
}

/// Reports that this process is ready, and waits for the task. The outer process sends it when the masks are mounted.
fn wait_for_task(mut outer: UnixStream) -> io::Result<Task> {
    outer.write_all(b"r")?;
    let mut text = Vec::new();
    outer.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Becomes the command. Returns only the error.
fn command(plan: &Plan, task: &Task, signals: &Signals) -> io::Error {
    signals.unblock();
    // Without a namespace, SIGTERM goes to this group.
    if let Err(error) = rustix::process::setpgid(None, None) {
        return error.into();
    }
    let Some((program, args)) = task.command.split_first() else {
        std::process::exit(i32::from(attempts::report(plan, io::stdout()).is_err()));
    };
    Command::new(program.os()).args(args.iter().map(Name::os)).exec()
}

/// Waits for the command, reports how it ended, and waits for all other processes, which may still write output.
fn reap(host: &File, main: Pid, signals: &Signals) -> io::Result<()> {
    host_line::close_stdio()?;
    loop {
        if signals.wait()? == libc::SIGTERM {
            terminate_all(main);
        }
        if all_reaped(host, main)? {
            return Ok(());
        }
    }
}

/// Returns `true` if no child is left.
fn all_reaped(host: &File, main: Pid) -> io::Result<bool> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == main => {
                host_line::send_status(host, status);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Ok(false),
            Err(Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Asks every process of the namespace except this one to end, as kill(2) with -1 does. Without a namespace, asks the
/// group of the command. Continues stopped processes, so that they get the signal.
fn terminate_all(main: Pid) {
    // kill_process_group(1) is kill(-1).
    let all = if rustix::process::getpid() == Pid::INIT { Pid::INIT } else { main };
    for signal in [Signal::TERM, Signal::CONT] {
        let _ = rustix::process::kill_process_group(all, signal);
    }
}
