//! The write-ahead hook, which is called before every change so that the undo store can save the old state.
//!
//! Every change that a root makes to a path goes through this module. A command that changes the project itself does
//! not.

use crate::changes::temp::{CreatedFolders, Temp, TempFolder};
use crate::digest::Digest;
use crate::state::{self, Change, State};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Stat;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The write-ahead hook of changes. It stores the data for undo, reports what it cannot store, and never prevents a
/// change.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// Returns `true` if changes are currently recorded. If not, the old contents are not read.
    fn is_recording(&self) -> bool;

    /// Stores content and returns its digest.
    fn keep(&self, content: &[u8]) -> Digest;

    /// Records changes that are about to be made and whose contents were stored. Returns a number for them.
    fn changing(&self, changes: Vec<Change>) -> u64;

    /// Records that the changes with this number were not made.
    fn unchanged(&self, number: u64);

    /// Records that the entries of the stash in this folder are about to be exchanged with those of the project at
    /// `names` paths, whose files have `bytes` bytes. The recorder then owns the stash. Returns a number for the
    /// exchange and the file of the record; `None` if it cannot be recorded.
    fn exchanging(&self, stash: &Path, names: u64, bytes: u64) -> Option<(u64, PathBuf)>;
}

/// A recorded change. Dropping it records that the change was not made.
pub(crate) struct Recording<'w> {
    pending: Option<(&'w dyn Recorder, u64)>,
}

impl<'w> Recording<'w> {
    /// Records changes whose contents were stored.
    pub(crate) fn new(recorder: &'w dyn Recorder, changes: Vec<Change>) -> Recording<'w> {
        Recording { pending: Some((recorder, recorder.changing(changes))) }
    }

    /// Confirms that the change was made.
    pub(crate) fn keep(mut self) {
        self.pending = None;
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if let Some((recorder, number)) = self.pending {
            recorder.unchanged(number);
        }
    }
}

/// A path that is about to get other content.
pub(crate) struct PendingChange<'c> {
    home: TempFolder<'c>,
    last: &'c OsStr,
    /// Whether the path has an entry.
    replaces: bool,
    /// The new content with its temporary file; `None` to remove the entry.
    content: Option<(&'c [u8], &'c Temp<'c>)>,
}

impl<'c> PendingChange<'c> {
    pub(crate) fn new(
        home: TempFolder<'c>,
        last: &'c OsStr,
        replaces: Option<&Stat>,
        content: Option<(&'c [u8], &'c Temp<'c>)>,
    ) -> PendingChange<'c> {
        PendingChange { home, last, replaces: replaces.is_some(), content }
    }

    /// Returns `None` if the old entry cannot be read: then the change will fail, too.
    fn change(self, recorder: &dyn Recorder, most: u64) -> Option<Change> {
        let PendingChange { home, last, replaces, content } = self;
        let mut keep = |content: &[u8]| recorder.keep(content);
        let before = match replaces {
            true => state::look(home.folder.as_fd(), last, most, &mut keep).ok()?.0,
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

/// The recorder for the changes of one root, if changes are currently recorded.
#[derive(Clone, Copy)]
pub(super) struct RecordedBy<'w> {
    recorder: Option<&'w dyn Recorder>,
    /// The maximum size in bytes of a file whose old content is kept.
    most: u64,
}

impl<'w> RecordedBy<'w> {
    /// Returns the recorder if it currently records changes, and none otherwise.
    pub(super) fn new(recorder: Option<&'w dyn Recorder>, most: u64) -> RecordedBy<'w> {
        RecordedBy { recorder: recorder.filter(|recorder| recorder.is_recording()), most }
    }

    /// Returns the recorder if changes are recorded.
    pub(super) fn recorder(self) -> Option<&'w dyn Recorder> {
        self.recorder
    }

    /// Records files that are about to be changed together, and folders that were created for them.
    pub(super) fn change<'c>(
        self,
        files: impl IntoIterator<Item = PendingChange<'c>>,
        made: &[&CreatedFolders],
    ) -> Recording<'w> {
        let Some(recorder) = self.recorder else { return Recording { pending: None } };
        let folders = made.iter().flat_map(|made| made.states());
        let folders = folders.map(|(name, state)| Change::new(name, State::Nothing, state));
        let files = files.into_iter().filter_map(|coming| coming.change(recorder, self.most));
        Recording::new(recorder, folders.chain(files).collect())
    }

    /// Records an empty folder that is about to be removed.
    pub(super) fn removal(self, above: &OwnedFd, last: &OsStr, name: &Path) -> Recording<'w> {
        let Some(recorder) = self.recorder else { return Recording { pending: None } };
        match state::look(above.as_fd(), last, 0, &mut |content| recorder.keep(content)) {
            Ok((before, _)) => {
                let gone = Change { name: name.to_owned(), before, after: State::Nothing };
                Recording::new(recorder, vec![gone])
            }
            Err(_) => Recording { pending: None },
        }
    }
}
