//! Detects which sandbox can be set up here: each kind is tried once with a command that does nothing.

use super::super::{Entry, Kind, Mode, Report, Request, host_line, session};
use super::{Enclosure, Session};
use crate::trouble;
use rustix::net::RecvFlags;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolfence_protocol::{Text, text};
use wait_timeout::ChildExt;

/// The time limit of a trial.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time limit for the helper to end after its answer.
const ENDING: Duration = Duration::from_secs(2);

/// Returns the best kind that works, and why no better one does.
pub(super) fn report(enclosure: &Enclosure) -> Report {
    let started = Instant::now();
    let report = best(enclosure);
    let microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let kind = match report.kind {
        Kind::Nothing => "nothing",
        Kind::Landlock => "landlock",
        Kind::Container => "container",
        Kind::Bubblewrap => "bubblewrap",
        Kind::Namespaces => "namespaces",
    };
    let why = Text::join(report.why.iter().cloned(), " ");
    tracing::debug!(kind, holds = report.holds, %why, microseconds, "the sandbox was tried");
    report
}

fn best(enclosure: &Enclosure) -> Report {
    let helper = enclosure.helper().map(Path::to_owned);
    let nothing = |why: Vec<Text>| Report { kind: Kind::Nothing, why, helper: helper.clone(), holds: false };
    if enclosure.settings().mode == Mode::Off {
        return nothing(vec![text!("The sandbox is switched off.")]);
    }
    if let Some(why) = enclosure.hindrance() {
        return nothing(vec![text!("No sandbox can be set up here: {why}.", why = why.clone())]);
    }
    if helper.is_none() {
        return nothing(vec![text!(
            "There is no helper: let main begin with toolfence::enter_if_asked(), or install toolfence-sandbox or \
             coder in the PATH."
        )]);
    }
    let mut why = Vec::new();
    let of_ours: &[Kind] = &[Kind::Namespaces, Kind::Bubblewrap, Kind::Landlock];
    let kinds = if enclosure.settings().container.is_some() { &[Kind::Container] } else { of_ours };
    // The strongest kind is tried first.
    for &kind in kinds.iter().filter(|kind| **kind <= enclosure.settings().at_most) {
        match attempt(enclosure, kind) {
            Ok(()) => {
                // Landlock hides no blocked files, and with the network a command can send what it reads.
                let holds = kind > Kind::Landlock && !enclosure.settings().network;
                return Report { kind, why, helper, holds };
            }
            Err(error) => why.push(text!("{kind} cannot be raised: {why}.", kind = name(kind), why = error)),
        }
    }
    nothing(why)
}

/// Returns the name of a kind for the beginning of a sentence.
fn name(kind: Kind) -> Text {
    match kind {
        Kind::Namespaces => text!("A sandbox of namespaces"),
        Kind::Bubblewrap => text!("A sandbox of bubblewrap"),
        Kind::Landlock => text!("A sandbox of Landlock"),
        Kind::Container => text!("A container"),
        Kind::Nothing => text!("A sandbox"),
    }
}

fn attempt(enclosure: &Enclosure, kind: Kind) -> Result<(), Text> {
    let missing = match kind {
        Kind::Bubblewrap => enclosure.bubblewrap().err(),
        Kind::Container => enclosure.container().err(),
        _ => None,
    };
    if let Some(why) = missing {
        return Err(why.clone());
    }
    let entry = nothing(|request| enclosure.entry_of(kind, request)).ok_or_else(|| text!("there is no plan for it"))?;
    succeeds(&entry)
}

/// Returns the entry for a command that does nothing.
pub(super) fn nothing<T>(entry: impl FnOnce(&Request<'_>) -> T) -> T {
    let command = [OsStr::new("/bin/sh"), OsStr::new("-c"), OsStr::new(":")];
    entry(&Request {
        command: &command,
        folder: Path::new(""),
        masks: &[],
        layer: None,
        network: false,
        looks: false,
        writable_folders: &[],
        session: false,
        sockets: true,
        variables: &[],
    })
}

fn succeeds(entry: &Entry) -> Result<(), Text> {
    let (answer, _) = start_helper(entry).map_err(|error| Text::from(&error))?;
    match answer.as_str() {
        "status 0" => Ok(()),
        other => Err(answer_error(other)),
    }
}

/// Returns the error in the first line of the answer.
fn answer_error(line: &str) -> Text {
    match line {
        "" => text!("the helper gave no answer"),
        other => trouble::parse_error_line(other).map_or_else(|| other.into(), |error| Text::from(&error)),
    }
}

/// Begins a session and runs a command in it that does nothing.
///
/// # Errors
/// This machine cannot have a session. Then every command has namespaces, a home folder and a `/tmp` of its own.
pub(super) fn begin_session(
    begin: &Entry,
    entry: impl FnOnce(&Request<'_>, &Session) -> Option<Entry>,
) -> Result<Session, Text> {
    let (answer, namespaces) = start_helper(begin).map_err(|error| Text::from(&error))?;
    if answer != session::BEGUN.trim_end() {
        return Err(answer_error(&answer));
    }
    let session: Session = namespaces.into();
    // A machine may be able to begin a session but not to enter it, so a command is tried in it.
    let entry = nothing(|request| entry(request, &session)).ok_or_else(|| text!("there is no plan for it"))?;
    succeeds(&entry).map(|()| session)
}

/// Starts a helper. Returns the first line of its answer and the descriptors that are sent with it.
fn start_helper(entry: &Entry) -> io::Result<(String, Vec<OwnedFd>)> {
    let (mut ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(PATIENCE))?;
    ours.set_write_timeout(Some(PATIENCE))?;
    let mut child = Command::new(&entry.program)
        .args(&entry.arguments)
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let sent = entry.message.begin(ours.as_fd(), None).and_then(|rest| ours.write_all(rest));
    let answer = sent.and_then(|()| first_line(&ours));
    // The helper ends when its socket is closed. A program that is not a helper may not notice that, so it is killed.
    drop(ours);
    if answer.is_err() || !matches!(child.wait_timeout(ENDING), Ok(Some(_))) {
        let _ = child.kill();
        child.wait()?;
    }
    answer
}

fn first_line(from: &UnixStream) -> io::Result<(String, Vec<OwnedFd>)> {
    const LONGEST: usize = 4096;
    let (mut line, mut chunk, mut all) = (Vec::new(), [0; 512], Vec::new());
    while !line.contains(&b'\n') && line.len() < LONGEST {
        match host_line::receive(from, &mut chunk, RecvFlags::empty()) {
            Ok((0, _)) => break,
            Ok((read, descriptors)) => {
                line.extend(&chunk[..read]);
                all.extend(descriptors);
            }
            // The host received a signal, for instance because another child has ended.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((String::from_utf8_lossy(&line).lines().next().unwrap_or_default().to_owned(), all))
}
