//! The helper: reads a plan, raises the walls, starts the command, and tells how it ended.
//!
//! Three processes. The *outer* one is what the host started: it builds the tree of files, and ends everything when the
//! host asks for it or is gone. The *inner* one is the first of the new process namespace: it takes its own rights away
//! and then starts the *command*. When the inner one ends, the kernel ends all that is left in the namespace.

use super::plan::{LONGEST, Plan};
use super::sys::{self, Alone, Side, Signals};
use super::{Trouble, attempts, landlock, mounts, rights, seccomp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{Pid, Signal, WaitOptions};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// What the helper ends with when the command was not started.
const NOT_STARTED: i32 = 125;

/// Does what the plan on stdin says. Comes back only where that is over.
pub(super) fn main() -> i32 {
    let host = match take_stdin() {
        Ok(host) => host,
        Err(error) => {
            eprintln!("the helper of the walls got no plan: {error}");
            return NOT_STARTED;
        }
    };
    match take_input(&host).and_then(|first| read_plan(&host, first)).and_then(|plan| run(&plan, &host)) {
        Ok(code) => code,
        Err(trouble) => {
            tell(&host, &trouble.line());
            NOT_STARTED
        }
    }
}

/// The line to the host comes in as stdin. The command gets an empty one in its place, and no descriptor of ours.
fn take_stdin() -> io::Result<File> {
    let host = sys::take_stdin()?;
    empty(0)?;
    Ok(File::from(host))
}

/// Puts /dev/null in the place of one of the first three descriptors.
fn empty(number: u8) -> io::Result<()> {
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    match number {
        0 => rustix::stdio::dup2_stdin(nothing)?,
        1 => rustix::stdio::dup2_stdout(nothing)?,
        _ => rustix::stdio::dup2_stderr(nothing)?,
    }
    Ok(())
}

/// The first byte of the plan. What comes with it becomes the command's stdin.
fn take_input(host: &File) -> Result<u8, Trouble> {
    let trouble = |error: Errno| Trouble::new("the input of the command", error.into());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut came = RecvAncillaryBuffer::new(&mut space);
    let mut first = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let read = rustix::net::recvmsg(host, &mut [IoSliceMut::new(&mut first)], &mut came, flags).map_err(trouble)?;
    if read.bytes == 0 {
        return Err(Trouble::new("the plan", io::ErrorKind::UnexpectedEof.into()));
    }
    for message in came.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            descriptors.into_iter().try_for_each(rustix::stdio::dup2_stdin).map_err(trouble)?;
        }
    }
    Ok(first[0])
}

fn read_plan(mut host: &File, first: u8) -> Result<Plan, Trouble> {
    let wall = "the plan";
    let mut length = [first, 0, 0, 0];
    host.read_exact(&mut length[1..]).map_err(|error| Trouble::new(wall, error))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(Trouble::new(wall, io::Error::other("it is too long")));
    }
    let mut text = vec![0; length];
    host.read_exact(&mut text).map_err(|error| Trouble::new(wall, error))?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|error| Trouble::new(wall, error.into()))?;
    if plan.version != env!("CARGO_PKG_VERSION") {
        let why = format!("the helper is version {}, the host {}", env!("CARGO_PKG_VERSION"), plan.version);
        return Err(Trouble::new(wall, io::Error::other(why)));
    }
    Ok(plan)
}

fn tell(mut host: &File, line: &str) {
    // A host that is gone needs to be told nothing.
    let _ = host.write_all(line.as_bytes());
}

fn run(plan: &Plan, host: &File) -> Result<i32, Trouble> {
    let alone = sys::alone().map_err(|error| Trouble::new("the helper", error))?;
    rights::limit(plan.processes).map_err(|error| Trouble::new("the limits", error))?;
    if plan.namespaces {
        rights::namespaces(plan.network).map_err(|error| Trouble::new("the namespaces", error))?;
        mounts::build(plan)?;
    }
    let started = |error| Trouble::new("the first process", error);
    let (alive, life) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| started(e.into()))?;
    match sys::fork(&alone).map_err(started)? {
        Side::Parent(inner) => {
            drop(alive);
            let watched = watch(host, inner).map_err(|error| Trouble::new("the watch over the command", error));
            drop(life);
            watched
        }
        Side::Child => {
            drop(life);
            first(plan, host, &alive, &alone).map(|never| match never {})
        }
    }
}

// -- the outer one

/// Waits for the end of the inner process, and brings it about when the host wants it or is gone. SIGTERM is passed on.
fn watch(host: &File, inner: Pid) -> io::Result<i32> {
    let inner_is = rustix::process::pidfd_open(inner, rustix::process::PidfdFlags::empty())?;
    let guard = EndWith(&inner_is);
    silence()?;
    rights::drop_all()?;
    rustix::process::set_child_subreaper(Some(inner))?;
    let term = Signals::block(&[libc::SIGTERM])?.descriptor()?;
    loop {
        match next(host, &inner_is, &term)? {
            What::Ended => break,
            What::Term => rustix::process::pidfd_send_signal(&inner_is, Signal::TERM)?,
            What::Stop => {
                rustix::process::pidfd_send_signal(&inner_is, Signal::KILL)?;
                break;
            }
        }
    }
    // It is gone when all it held is gone, if it had a namespace to hold them; else they are ours now.
    let status = rustix::process::waitpid(Some(inner), WaitOptions::empty());
    drop(guard);
    sweep()?;
    // The host need not wait for the kernel to put away what was mounted.
    tell(host, "gone\n");
    let code = status?.and_then(|(_, status)| status.exit_status());
    Ok(code.unwrap_or(NOT_STARTED))
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

enum What {
    Ended,
    Stop,
    Term,
}

fn next(host: &File, inner: &OwnedFd, term: &OwnedFd) -> io::Result<What> {
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

// -- the inner one

/// The first process of the namespace: raises what only it can raise, starts the command and reaps what is left over.
fn first(plan: &Plan, host: &File, alive: &OwnedFd, alone: &Alone) -> Result<Infallible, Trouble> {
    die_with_parent(alive).map_err(|error| Trouble::new("the watch over the host", error))?;
    rustix::process::setsid().map_err(|error| Trouble::new("a session of its own", error.into()))?;
    if plan.namespaces {
        mounts::finish(plan).map_err(|error| Trouble::at("the new tree of files", "/proc".as_ref(), error))?;
    }
    mounts::enter_folder(plan).map_err(|error| Trouble::at("the folder", plan.folder.path(), error))?;
    rights::drop_all().map_err(|error| Trouble::new("the drop of all capabilities", error))?;
    landlock::raise(plan).map_err(|error| Trouble::new("Landlock", error))?;
    seccomp::raise(plan.network).map_err(|error| Trouble::new("the filter of system calls", error))?;
    let started = |error| Trouble::new("the command", error);
    // Nobody may look at this process by /proc: its program is a file outside of the tree. The command's own exec undoes it.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(|error| started(error.into()))?;
    let signals = Signals::block(&[libc::SIGCHLD, libc::SIGTERM]).map_err(started)?;
    match sys::fork(alone).map_err(started)? {
        Side::Child => Err(started(command(plan, &signals))),
        Side::Parent(main) => std::process::exit(i32::from(reap(host, main, &signals).is_err())),
    }
}

/// The outer process may have ended before the kernel was told to tell.
fn die_with_parent(alive: &OwnedFd) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut only = [PollFd::new(alive, PollFlags::IN)];
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut only, Some(&at_once))?;
    if only[0].revents().is_empty() { Ok(()) } else { Err(io::Error::other("the host is gone")) }
}

/// Becomes the command. Comes back only with what went wrong.
fn command(plan: &Plan, signals: &Signals) -> io::Error {
    signals.unblock();
    if let Err(error) = rustix::process::setpgid(None, None) {
        return error.into();
    }
    let Some((program, args)) = plan.command.split_first() else {
        std::process::exit(i32::from(attempts::tell(plan.network, io::stdout()).is_err()));
    };
    Command::new(program.os()).args(args.iter().map(super::plan::Name::os)).exec()
}

/// Waits for the command, tells how it ended, and then for all others: they may have something to say.
fn reap(host: &File, main: Pid, signals: &Signals) -> io::Result<()> {
    silence()?;
    loop {
        if signals.wait()? == libc::SIGTERM {
            end_politely(main);
        }
        if all_reaped(host, main)? {
            return Ok(());
        }
    }
}

/// Whether there is no child left.
fn all_reaped(host: &File, main: Pid) -> io::Result<bool> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == main => {
                let code = status.exit_status().map(|code| format!("status {code}\n"));
                let signal = status.terminating_signal().map(|signal| format!("signal {signal}\n"));
                tell(host, &code.or(signal).unwrap_or_default());
            }
            Ok(Some(_)) => {}
            Ok(None) => return Ok(false),
            Err(Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Asks every process of the namespace to end but this one, as kill(2) with -1 does; without a namespace, the group of the
/// command. One that is stopped has to go on to hear it.
fn end_politely(main: Pid) {
    let all = if rustix::process::getpid() == Pid::INIT { Pid::INIT } else { main };
    for signal in [Signal::TERM, Signal::CONT] {
        let _ = rustix::process::kill_process_group(all, signal);
    }
}

/// Lets go of input and output: their end is the end of whoever else holds them.
fn silence() -> io::Result<()> {
    empty(0)?;
    empty(1)?;
    empty(2)
}
