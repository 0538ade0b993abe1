//! Whoever keeps what is needed to undo a change is told of it before it is made.
//!
//! Every change of a name that a workspace makes goes through here; what commands change is seen by looking at the project
//! before and after them.

use crate::changes::temp::{Home, Made, Temp};
use crate::changes::write::MOST;
use crate::state;
use crate::state::{Change, Digest, State};
use crate::{Stop, Workspace};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Stat;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Keeps what it takes to undo changes. It never stops one: what it cannot keep it has to say itself.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// Whether there is anything to record now; without it nothing is read for it.
    fn is_recording(&self) -> bool;

    /// Keeps a content, and gives the digest by which it is found again.
    fn keep(&self, content: &[u8]) -> Digest;

    /// These changes are about to be made; their contents were kept. Gives a number for them.
    fn changing(&self, changes: Vec<Change>) -> u64;

    /// The changes of this number came to nothing.
    fn unchanged(&self, number: u64);

    /// A command is about to run. It may change anything.
    fn command_begins(&self, workspace: &Workspace, stop: &Stop);

    /// A command has ended.
    fn command_ended(&self, workspace: &Workspace, stop: &Stop);

    /// Nobody waits for the end of a command any more; it is being ended.
    fn command_dropped(&self);
}

/// A change that was told of. Dropped, it came to nothing.
pub(crate) struct Recording<'w> {
    told: Option<(&'w dyn Recorder, u64)>,
}

impl<'w> Recording<'w> {
    /// Tells of changes whose contents were kept.
    pub(crate) fn of(recorder: &'w dyn Recorder, changes: Vec<Change>) -> Recording<'w> {
        Recording { told: Some((recorder, recorder.changing(changes))) }
    }

    /// The change was made.
    pub(crate) fn keep(mut self) {
        self.told = None;
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if let Some((recorder, number)) = self.told {
            recorder.unchanged(number);
        }
    }
}

/// What is about to be put under a name.
pub(crate) struct Coming<'c> {
    home: Home<'c>,
    last: &'c OsStr,
    /// Whether something stands there already.
    replaces: bool,
    /// The new content, and the file it is in already; `None` for no file.
    content: Option<(&'c [u8], &'c Temp<'c>)>,
}

impl<'c> Coming<'c> {
    pub(crate) fn onto(
        home: Home<'c>,
        last: &'c OsStr,
        replaces: Option<&Stat>,
        content: Option<(&'c [u8], &'c Temp<'c>)>,
    ) -> Coming<'c> {
        Coming { home, last, replaces: replaces.is_some(), content }
    }

    /// `None` where what stands there cannot even be looked at: then nothing will be put there either.
    fn change(self, recorder: &dyn Recorder) -> Option<Change> {
        let Coming { home, last, replaces, content } = self;
        let mut keep = |content: &[u8]| recorder.keep(content);
        let before = match replaces {
            true => state::look(home.folder.as_fd(), last, MOST as u64, &mut keep).ok()?.0,
            false => State::Nothing,
        };
        let after = content.map_or(State::Nothing, |(content, temp)| State::File {
            content: recorder.keep(content),
            bytes: content.len() as u64,
            mode: temp.mode(),
            attributes: temp.attributes(),
        });
        Some(Change { name: home.name.join(last), before, after })
    }
}

impl Workspace {
    /// The same with somebody who is told of every change before it is made.
    #[must_use]
    pub fn recorder(self, recorder: Arc<dyn Recorder>) -> Workspace {
        Workspace { recorder: Some(recorder), ..self }
    }

    /// Whoever is told of changes, while there is something to tell.
    fn recording(&self) -> Option<&dyn Recorder> {
        self.recorder.as_deref().filter(|recorder| recorder.is_recording())
    }

    /// Tells of files that are about to be changed together, and of folders that were made for them.
    pub(crate) fn record<'c>(&self, files: impl IntoIterator<Item = Coming<'c>>, made: &[&Made]) -> Recording<'_> {
        let Some(recorder) = self.recording() else { return Recording { told: None } };
        let folders = made.iter().flat_map(|made| made.states());
        let folders = folders.map(|(name, state)| Change::new(name, State::Nothing, state));
        let files = files.into_iter().filter_map(|coming| coming.change(recorder));
        Recording::of(recorder, folders.chain(files).collect())
    }

    /// Tells of an empty folder that is about to go.
    pub(crate) fn record_removal(&self, above: &OwnedFd, last: &OsStr, name: &Path) -> Recording<'_> {
        let gone = |recorder: &dyn Recorder| {
            let (before, _) = state::look(above.as_fd(), last, 0, &mut |content| recorder.keep(content)).ok()?;
            Some(Change { name: name.to_owned(), before, after: State::Nothing })
        };
        let told = self.recording().and_then(|recorder| Some((recorder, gone(recorder)?)));
        told.map_or(Recording { told: None }, |(recorder, change)| Recording::of(recorder, vec![change]))
    }

    /// Tells the recorder that a command is about to run. Give the value back to
    /// [`command_ended`](Workspace::command_ended), or drop it where nobody waits for the end.
    pub fn command_begins(&self, stop: &Stop) -> Command {
        if let Some(recorder) = &self.recorder {
            recorder.command_begins(self, stop);
        }
        Command { recorder: self.recorder.clone() }
    }

    /// Tells the recorder that the command has ended, so that it looks at what the command changed.
    pub fn command_ended(&self, mut command: Command, stop: &Stop) {
        if let Some(recorder) = command.recorder.take() {
            recorder.command_ended(self, stop);
        }
    }
}

/// A command that the recorder was told of and whose end it waits for.
#[derive(Debug)]
pub struct Command {
    recorder: Option<Arc<dyn Recorder>>,
}

impl Drop for Command {
    fn drop(&mut self) {
        if let Some(recorder) = &self.recorder {
            recorder.command_dropped();
        }
    }
}
