//! Every turn's changes to files, kept outside the project and outside of git, so that they can be taken back.
//!
//! The workspace reports every change before it is made. The old contents of files that tools change are copied into the history. What
//! a command changed on its private copy is exchanged with the project's entries through a [stash](crate::stash), which the history
//! keeps: undo swaps its entries back. The module `undo` of the crate `toolfence` says what is on the disk and what is not covered.

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

pub use apply::{Done, Outcome, Refused};
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

/// How much a history keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The newest turns that are kept.
    pub turns: usize,
    /// Bytes of old contents. If there are more, the oldest turns are dropped. The newest turn is kept, whatever commands replaced in
    /// it; of the files that tools changed in it, no more than this is kept.
    pub bytes: u64,
}

impl Default for Limits {
    /// 100 turns, 512 MiB.
    fn default() -> Limits {
        Limits { turns: 100, bytes: 512 << 20 }
    }
}

/// The turns of one project. It is one for all threads; between programs a lock decides who records.
#[derive(Debug)]
pub struct History {
    folder: PathBuf,
    limits: Limits,
    session: String,
    objects: Objects,
    inner: Mutex<Inner>,
}

/// A turn that is under way. Dropped, it ends.
#[derive(Debug)]
pub struct OpenTurn {
    history: Arc<History>,
}

impl OpenTurn {
    /// Ends the turn: no undo takes back what changes from now on.
    pub fn end(self) {}
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        self.history.end();
    }
}

/// A turn as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The number of the turn. Numbers only grow.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What the turn was called when it began.
    pub title: String,
    /// Names that were not as before at its end.
    pub names: u64,
    /// Whether it is undone, and can be redone.
    pub undone: bool,
    /// What has to be said of it: what it does not cover, and whether it was cut short.
    pub notes: Vec<Text>,
}

impl History {
    /// Where the history of a project is kept below a folder of the host's state.
    pub fn folder(state: &Path, root: &Path) -> PathBuf {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        state.join("projects").join(Digest::of(root.as_os_str().as_bytes()).short()).join("undo")
    }

    /// Opens the history in this folder, which is made when there is something to keep.
    ///
    /// # Errors
    /// There is no randomness to name the session by.
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

    /// Begins a turn, and ends one that was not ended. `title` is what it is called in a list: one line, without secrets.
    ///
    /// Where another program records a turn of this project, or nothing can be written, changes are made all the same and
    /// [`take_notes`](History::take_notes) says so.
    pub fn begin(self: &Arc<History>, workspace: &Workspace, title: &str) -> OpenTurn {
        let root = workspace.root();
        self.end();
        let mut inner = self.inner();
        self.recover(&mut inner, root);
        inner.open = Some(Open::new(Kind::Turn, title));
        drop(inner);
        OpenTurn { history: Arc::clone(self) }
    }

    /// Gives the turn that is under way a title, if it has none and has changed nothing yet: one line, without secrets.
    pub fn entitle(&self, title: &str) {
        if let Some(open) = &mut self.inner().open {
            open.entitle(title);
        }
    }

    /// The turns that can be undone, newest first, after those that can be redone, the next one last.
    ///
    /// # Errors
    /// Never yet: a history that is not there has no turns.
    pub fn list(&self, workspace: &Workspace) -> Result<Vec<Listed>> {
        let stack = self.stack(workspace.root());
        let undone = stack.undone.iter().map(|(_, turn)| (turn, true));
        let done = stack.done.iter().rev().map(|turn| (turn, false));
        Ok(undone.chain(done).filter_map(|(number, undone)| Some(stack.listed(*number)?.undone(undone))).collect())
    }

    /// The numbers of the turns of this session, newest first, that can be undone.
    pub fn of_this_session(&self, workspace: &Workspace) -> usize {
        let stack = self.stack(workspace.root());
        stack.done.iter().rev().take_while(|number| stack.session(**number) == Some(&self.session)).count()
    }

    /// Whether older turns were dropped, because there are limits.
    pub fn has_dropped(&self) -> bool {
        format::heads(&self.turns()).first().is_some_and(|head| head.number > 1)
    }

    /// What went wrong with recording since this was last asked for, for a person.
    pub fn take_notes(&self) -> Vec<Text> {
        std::mem::take(&mut self.inner().notes)
    }

    /// What can be undone and redone, after a turn that was cut short was ended.
    fn stack(&self, root: &Root) -> Stack {
        self.recover(&mut self.inner(), root);
        Stack::of(format::heads(&self.turns()))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> PathBuf {
        self.folder.join("turns")
    }

    /// The lock of the program that writes; `None` while another program holds it.
    fn lock(&self) -> std::io::Result<Option<Lock>> {
        let file = File::options().write(true).create(true).truncate(false).open(self.folder.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            // A file system without locks: then nobody knows of the other.
            Err(Errno::NOSYS | Errno::NOLCK | Errno::OPNOTSUPP) => Ok(Some(Lock(file))),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The right to write. A child that is just being started has the file too, so that closing it is not enough.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Listed {
    fn undone(self, undone: bool) -> Listed {
        Listed { undone, ..self }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
