//! A supervisor that is started before there is a command for it: what it does at its beginning is done when the command comes.

use super::Message;
use super::child::Spawned;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a supervisor is started with, and the beginning of the message to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beginning {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) told: Message,
}

/// One that waits for the rest.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) spawned: Spawned,
    pub(super) line: UnixStream,
}

/// At most one supervisor that is ready, for commands that begin alike. It is made on a thread of its own after a command has
/// ended, while no caller waits; dropping this ends it.
#[derive(Debug, Default)]
pub struct Prespawn(Mutex<Option<Maker>>);

#[derive(Debug)]
struct Maker {
    beginning: Beginning,
    ask: Sender<()>,
    made: Receiver<Started>,
    is_asked: bool,
}

impl Prespawn {
    /// None yet.
    pub fn new() -> Prespawn {
        Prespawn::default()
    }

    /// The one that was begun so, if it is there.
    pub(super) fn take(&self, wanted: &Beginning) -> Option<Started> {
        let mut maker = self.maker();
        let maker = maker.as_mut().filter(|maker| maker.beginning == *wanted)?;
        let mut started = maker.made.try_recv().ok()?;
        maker.is_asked = false;
        // One that waited too long has ended.
        matches!(started.spawned.leader.ended(), Ok(None)).then_some(started)
    }

    /// Has one made for the next command that begins so.
    pub(super) fn prepare(&self, wanted: Beginning) {
        let mut maker = self.maker();
        let known = maker.take().filter(|maker| maker.beginning == wanted);
        let Some(mut known) = known.or_else(|| Maker::new(wanted).ok()) else { return };
        // One that cannot make them is forgotten.
        if known.is_asked || known.ask.send(()).is_ok() {
            known.is_asked = true;
            *maker = Some(known);
        }
    }

    fn maker(&self) -> MutexGuard<'_, Option<Maker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Maker {
    fn new(beginning: Beginning) -> io::Result<Maker> {
        /// It only spawns.
        const STACK: usize = 256 << 10;
        let ((ask, asked), (hand, made)) = (mpsc::channel(), mpsc::channel());
        let begins = beginning.clone();
        std::thread::Builder::new().name("supervisors".into()).stack_size(STACK).spawn(move || {
            for () in asked {
                let Ok(started) = Started::new(&begins) else { return };
                if hand.send(started).is_err() {
                    return;
                }
            }
        })?;
        Ok(Maker { beginning, ask, made, is_asked: false })
    }
}

impl Started {
    fn new(beginning: &Beginning) -> io::Result<Started> {
        let (mut line, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&beginning.program);
        command
            .args(&beginning.arguments)
            .env_clear()
            .envs(beginning.environment.iter().map(|(name, value)| (name, value)));
        let spawned = Spawned::new(command, Stdio::from(OwnedFd::from(theirs)))?;
        line.set_nonblocking(true)?;
        // The line is new and empty, and a beginning is some kilobytes.
        let rest = beginning.told.begin(line.as_fd(), &[])?;
        line.write_all(rest)?;
        Ok(Started { spawned, line })
    }
}
