//! The helper: reads a plan, raises the walls, starts the command, and tells how it ended.
//!
//! Three processes. The *outer* one is what the host started: it builds the tree of files, covers what is to be covered of the
//! project, and ends everything when the host asks for it or is gone. The *inner* one is the first of the new process
//! namespace: it takes its own rights away and then starts the *command*. When the inner one ends, the kernel ends all that
//! is left in the namespace.
//!
//! Most of it needs no command. A helper that is told the beginning of a plan raises what it can and waits for the rest, so
//! that a host can have one ready.

use super::memory::Limit;
use super::plan::{LONGEST, Plan};
use super::sys::{self, Side};
use super::{Trouble, mounts, rights, stage_one, stage_two};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;

/// What the helper ends with when the command was not started.
pub(super) const NOT_STARTED: i32 = 125;

/// Does what the plan on stdin says. Comes back only where that is over.
pub(super) fn main() -> i32 {
    with_host(|host, first| read_plan(host, first).and_then(|plan| run(&plan, host)))
}

/// Takes the line to the host and the first byte of what it says, and tells it what went wrong.
pub(super) fn with_host(work: impl FnOnce(&File, u8) -> Result<i32, Trouble>) -> i32 {
    let host = match take_stdin() {
        Ok(host) => host,
        Err(error) => {
            eprintln!("the helper of the walls got no plan: {error}");
            return NOT_STARTED;
        }
    };
    match take_input(&host).and_then(|first| work(&host, first)) {
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

fn read_plan(host: &File, first: u8) -> Result<Plan, Trouble> {
    let wall = "the plan";
    let plan: Plan = read_begun(host, first, wall)?;
    is_of_this_build(&plan.version)?;
    Ok(plan)
}

pub(super) fn is_of_this_build(host: &str) -> Result<(), Trouble> {
    let helper = env!("CARGO_PKG_VERSION");
    if host == helper {
        return Ok(());
    }
    let why = format!("the helper is version {helper}, the host {host}");
    Err(Trouble::new("the plan", io::Error::other(why)))
}

/// A part of what the host tells.
pub(super) fn read<T: DeserializeOwned>(host: &File, name: &'static str) -> Result<T, Trouble> {
    parsed(&read_part(host, name)?, name)
}

/// The first one, of which a byte was taken already.
pub(super) fn read_begun<T: DeserializeOwned>(host: &File, first: u8, name: &'static str) -> Result<T, Trouble> {
    parsed(&read_text(host, &[first], name)?, name)
}

/// The same as it came.
pub(super) fn read_part(host: &File, name: &'static str) -> Result<Vec<u8>, Trouble> {
    read_text(host, &[], name)
}

/// `begun` is what was read of its length.
fn read_text(mut host: &File, begun: &[u8], name: &'static str) -> Result<Vec<u8>, Trouble> {
    let trouble = |error| Trouble::new(name, error);
    let mut length = [0; 4];
    let (known, rest) = length.split_at_mut(begun.len());
    known.copy_from_slice(begun);
    host.read_exact(rest).map_err(trouble)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(trouble(io::Error::other("it is too long")));
    }
    let mut text = vec![0; length];
    host.read_exact(&mut text).map_err(trouble)?;
    Ok(text)
}

fn parsed<T: DeserializeOwned>(text: &[u8], name: &'static str) -> Result<T, Trouble> {
    serde_json::from_slice(text).map_err(|error| Trouble::new(name, error.into()))
}

pub(super) fn tell(mut host: &File, line: &str) {
    // A host that is gone needs to be told nothing.
    let _ = host.write_all(line.as_bytes());
}

/// Tells how the command ended.
pub(super) fn tell_status(host: &File, status: rustix::process::WaitStatus) {
    let code = status.exit_status().map(|code| format!("status {code}\n"));
    let signal = status.terminating_signal().map(|signal| format!("signal {signal}\n"));
    tell(host, &code.or(signal).unwrap_or_default());
}

fn run(plan: &Plan, host: &File) -> Result<i32, Trouble> {
    let alone = sys::alone().map_err(|error| Trouble::new("the helper", error))?;
    let limit = Limit::new(plan.memory);
    // Where there is no process namespace, what is left of the command comes to this process.
    let subreaper = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    subreaper.map_err(|error| Trouble::new("the watch over the command", error.into()))?;
    rights::limit(plan.processes).map_err(|error| Trouble::new("the limits", error))?;
    let mut blanks = None;
    if plan.namespaces {
        rights::namespaces(plan.network).map_err(|error| Trouble::new("the namespaces", error))?;
        blanks = Some(mounts::build(plan)?);
    }
    let started = |error| Trouble::new("the first process", error);
    let (ours, theirs) = UnixStream::pair().map_err(started)?;
    match sys::fork(&alone).map_err(started)? {
        Side::Parent(first) => {
            drop(theirs);
            stage_two::keep(plan, host, blanks, ours, first, limit)
        }
        Side::Child => {
            drop((ours, blanks));
            limit.enter();
            stage_one::first(plan, host, theirs, &alone).map(|never| match never {})
        }
    }
}

/// Lets go of input and output: their end is the end of whoever else holds them.
pub(super) fn silence() -> io::Result<()> {
    empty(0)?;
    empty(1)?;
    empty(2)
}
