//! The socket between the helper and its host: reads the parts of the host's message, and writes the lines of the
//! answer.

use super::plan::LONGEST;
use super::sys;
use super::{Barrier, Cause, Trouble};
use crate::process::{MOST_DESCRIPTORS, send_with};
use rustix::fd::AsFd;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;

/// The exit status of the helper if the command was not started.
pub(super) const NOT_STARTED: i32 = 125;

/// The first byte of the host's message, with the descriptors that were sent with it: first those for the helper, then
/// the stdin of the command.
#[derive(Debug)]
pub(super) struct First {
    byte: u8,
    descriptors: VecDeque<OwnedFd>,
}

impl First {
    /// Takes the descriptors for the helper, whose number is in the plan.
    pub(super) fn take_own(&mut self, count: usize) -> Vec<OwnedFd> {
        let count = count.min(self.descriptors.len());
        self.descriptors.drain(..count).collect()
    }

    /// Makes the descriptor of the command its stdin.
    pub(super) fn take_input(&mut self) -> Result<(), Trouble> {
        if let Some(input) = self.descriptors.pop_front() {
            rustix::stdio::dup2_stdin(input).map_err(|errno| Trouble::new(Barrier::Input, errno.into()))?;
        }
        Ok(())
    }
}

/// Takes the socket to the host and the first byte of its message, does `work`, and reports an error to the host.
pub(super) fn with_host(work: impl FnOnce(&File, First) -> Result<i32, Trouble>) -> i32 {
    let host = match take_stdin() {
        Ok(host) => host,
        Err(error) => {
            // Without the socket, stderr is the only way to report an error.
            eprintln!("the helper of the sandbox got no plan: {error}");
            return NOT_STARTED;
        }
    };
    match read_first(&host).and_then(|first| work(&host, first)) {
        Ok(code) => code,
        Err(trouble) => {
            send_line(&host, &trouble.line());
            NOT_STARTED
        }
    }
}

/// Takes the socket to the host from stdin. The command gets an empty stdin instead, and none of the helper's
/// descriptors.
fn take_stdin() -> io::Result<File> {
    let host = sys::take_stdin()?;
    replace_by_null(0)?;
    Ok(File::from(host))
}

/// Replaces one of the first three descriptors by /dev/null.
fn replace_by_null(number: u8) -> io::Result<()> {
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    match number {
        0 => rustix::stdio::dup2_stdin(nothing)?,
        1 => rustix::stdio::dup2_stdout(nothing)?,
        _ => rustix::stdio::dup2_stderr(nothing)?,
    }
    Ok(())
}

fn read_first(host: &File) -> Result<First, Trouble> {
    let mut byte = [0];
    let (read, descriptors) =
        receive(host, &mut byte, RecvFlags::WAITALL).map_err(|error| Trouble::new(Barrier::Input, error))?;
    if read == 0 {
        return Err(Trouble::new(Barrier::Plan, io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(First { byte: byte[0], descriptors: descriptors.into() })
}

/// Reads bytes with the descriptors that were sent with them.
pub(super) fn receive(line: impl AsFd, into: &mut [u8], flags: RecvFlags) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    // The command must inherit no descriptor of the helper.
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let read = rustix::net::recvmsg(line, &mut [IoSliceMut::new(into)], &mut ancillary, flags)?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((read.bytes, descriptors))
}

pub(super) fn is_of_this_build(host: &str) -> Result<(), Trouble> {
    let helper = env!("CARGO_PKG_VERSION");
    if host == helper {
        return Ok(());
    }
    let why = Cause::Version { helper: helper.to_owned(), host: host.to_owned() };
    Err(Trouble::new(Barrier::Plan, io::Error::other(why)))
}

/// Reads a part of the host's message.
pub(super) fn read<T: DeserializeOwned>(host: &File, barrier: Barrier) -> Result<T, Trouble> {
    parse(&read_part(host, barrier)?, barrier)
}

/// Reads the first part of the host's message, of which one byte was already read.
pub(super) fn read_begun<T: DeserializeOwned>(host: &File, first: &First, barrier: Barrier) -> Result<T, Trouble> {
    parse(&read_text(host, &[first.byte], barrier)?, barrier)
}

/// Reads a part of the host's message as text, without parsing it.
pub(super) fn read_part(host: &File, barrier: Barrier) -> Result<Vec<u8>, Trouble> {
    read_text(host, &[], barrier)
}

/// Reads the text of a part; `begun` has the bytes of its length that were already read.
fn read_text(mut host: &File, begun: &[u8], barrier: Barrier) -> Result<Vec<u8>, Trouble> {
    let trouble = |error| Trouble::new(barrier, error);
    let mut length = [0; 4];
    let (known, rest) = length.split_at_mut(begun.len());
    known.copy_from_slice(begun);
    host.read_exact(rest).map_err(trouble)?;
    let length = u32::from_le_bytes(length) as usize;
    // The limit bounds the allocation below.
    if length > LONGEST {
        return Err(trouble(io::Error::other(Cause::TooLong)));
    }
    let mut text = vec![0; length];
    host.read_exact(&mut text).map_err(trouble)?;
    Ok(text)
}

fn parse<T: DeserializeOwned>(text: &[u8], barrier: Barrier) -> Result<T, Trouble> {
    serde_json::from_slice(text).map_err(|error| Trouble::new(barrier, error.into()))
}

pub(super) fn send_line(mut host: &File, line: &str) {
    // If the host is gone, there is no reader for the line.
    let _ = host.write_all(line.as_bytes());
}

/// Sends the host a line with descriptors.
pub(super) fn hand_over(host: &File, line: &str, descriptors: &[OwnedFd]) -> io::Result<()> {
    let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    send_with(host.as_fd(), line.as_bytes(), &descriptors)
}

/// Reports to the host how the command ended.
pub(super) fn send_status(host: &File, status: rustix::process::WaitStatus) {
    let code = status.exit_status().map(|code| format!("status {code}\n"));
    let signal = status.terminating_signal().map(|signal| format!("signal {signal}\n"));
    send_line(host, &code.or(signal).unwrap_or_default());
}

/// Closes stdin, stdout and stderr of the helper, so that the pipes of the command end with the command and not with
/// the helper.
pub(super) fn close_stdio() -> io::Result<()> {
    replace_by_null(0)?;
    replace_by_null(1)?;
    replace_by_null(2)
}
