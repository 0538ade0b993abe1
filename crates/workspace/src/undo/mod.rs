//! Keeps the file changes of every turn outside of the project and of git, so that they can be undone.
//!
//! The workspace reports every change before it is made. The history copies the old contents of files that tools
//! change. The changes that a command made on its private copy are exchanged with the project's entries through a
//! [stash](crate::stash), which the history keeps: undo swaps its entries back. The module `undo` of the crate
//! `toolfence` documents the files on the disk and the limits of undo.

mod apply;
#[cfg(test)]
mod crash;
mod difference;
mod format;
mod objects;
mod plan;
mod restore;
mod retention;
mod stack;
#[cfg(test)]
mod tests;
mod turn;

pub use apply::{Outcome, Refused, Restored};
pub use difference::Difference;
pub use restore::Unrestored;
pub(crate) use restore::is_protected;

use crate::Workspace;
use crate::digest::Digest;
use crate::root::Root;
use format::Kind;
use objects::Objects;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use stack::Stack;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use toolfence_protocol::{Error, Result, Text, text};
use toolfence_sandbox::project::random_name;
use turn::{Inner, Open};

/// The limits of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The number of newest turns that are kept.
    pub turns: usize,
    /// Bytes of old contents. If there are more, the oldest turns are dropped. The newest turn is always kept with the
    /// files that commands replaced in it, but only with this many bytes of the files that tools changed.
    pub bytes: u64,
}

impl Default for Limits {
    /// Returns 100 turns and 512 MiB.
    fn default() -> Limits {
        Limits { turns: 100, bytes: 512 << 20 }
    }
}

/// The turns of one project. All threads share it; between programs, a lock decides which one records.
#[derive(Debug)]
pub struct History {
    folder: PathBuf,
    limits: Limits,
    session: String,
    objects: Objects,
    inner: Mutex<Inner>,
}

/// A turn that is under way. Dropping it ends the turn.
#[derive(Debug)]
pub struct OpenTurn {
    history: Arc<History>,
}

impl OpenTurn {
    /// Ends the turn: later changes are not part of it.
    pub fn end(self) {}
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        self.history.end();
    }
}

/// A turn in the list of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedTurn {
    /// The number of the turn. Numbers only increase.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The title that the turn got when it began.
    pub title: String,
    /// The number of names that differed at its end.
    pub names: u64,
    /// `true` if the turn is undone and can be redone, `false` if it can be undone.
    pub undone: bool,
    /// Notes about the turn: changes that it does not cover, and whether it was cut short.
    pub notes: Vec<Text>,
}

impl History {
    /// Returns the folder of a project's history below a folder of the host's state.
    pub fn folder(state: &Path, root: &Path) -> PathBuf {
        // All paths to a project must lead to the same history.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        state.join("projects").join(Digest::compute(root.as_os_str().as_bytes()).short()).join("undo")
    }

    /// Opens the history in this folder, which is created as soon as there is something to store.
    ///
    /// # Errors
    /// The system has no random numbers for the name of the session.
    pub fn open(folder: &Path, limits: Limits) -> Result<History> {
        let session = random_name().map_err(|cause| Error::because(text!("name the session"), cause))?;
        Ok(History {
            folder: folder.to_owned(),
            limits,
            session,
            objects: Objects::new(folder.join("objects")),
            inner: Mutex::default(),
        })
    }

    /// Begins a turn, and ends one that was not ended. `title` is its name in a list: one line, without secrets.
    ///
    /// If another program records a turn of this project, or the history cannot be written, changes are still made, and
    /// [`take_notes`](History::take_notes) reports it.
    pub fn begin(self: &Arc<History>, workspace: &Workspace, title: &str) -> OpenTurn {
        let root = workspace.root();
        self.end();
        let mut inner = self.inner();
        self.recover(&mut inner, root);
        inner.open = Some(Open::new(Kind::Turn, title));
        drop(inner);
        OpenTurn { history: Arc::clone(self) }
    }

    /// Sets the title of the turn that is under way, if it has none and has changed nothing yet: one line, without
    /// secrets.
    pub fn entitle(&self, title: &str) {
        if let Some(open) = &mut self.inner().open {
            open.entitle(title);
        }
    }

    /// Lists the turns that can be redone, the next one last, followed by those that can be undone, newest first.
    ///
    /// # Errors
    /// Currently none: a missing history has no turns.
    pub fn list(&self, workspace: &Workspace) -> Result<Vec<ListedTurn>> {
        let stack = self.stack(workspace.root());
        let undone = stack.undone.iter().map(|(_, turn)| (turn, true));
        let done = stack.done.iter().rev().map(|turn| (turn, false));
        Ok(undone.chain(done).filter_map(|(number, undone)| Some(stack.list_entry(*number)?.undone(undone))).collect())
    }

    /// Returns the number of turns of this session that can be undone.
    pub fn of_this_session(&self, workspace: &Workspace) -> usize {
        let stack = self.stack(workspace.root());
        stack.done.iter().rev().take_while(|number| stack.session(**number) == Some(&self.session)).count()
    }

    /// Returns `true` if older turns were dropped because of the limits.
    pub fn has_dropped(&self) -> bool {
        format::heads(&self.turns()).first().is_some_and(|head| head.number > 1)
    }

    /// Takes the problems of recording since the last call, as messages for a user.
    pub fn take_notes(&self) -> Vec<Text> {
        std::mem::take(&mut self.inner().notes)
    }

    /// Returns the turns that can be undone and redone, after it has ended a turn that was cut short.
    fn stack(&self, root: &Root) -> Stack {
        self.recover(&mut self.inner(), root);
        Stack::from_heads(format::heads(&self.turns()))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> PathBuf {
        self.folder.join("turns")
    }

    /// Takes the lock of the program that writes. Returns `None` while another program holds it.
    fn lock(&self) -> std::io::Result<Option<Lock>> {
        let file = File::options().write(true).create(true).truncate(false).open(self.folder.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            // The file system has no locks, so programs cannot detect one another.
            Err(Errno::NOSYS | Errno::NOLCK | Errno::OPNOTSUPP) => Ok(Some(Lock(file))),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The lock for writing. A child that is just being started has a copy of the descriptor, so closing it does not
/// suffice.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl ListedTurn {
    fn undone(self, undone: bool) -> ListedTurn {
        ListedTurn { undone, ..self }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
