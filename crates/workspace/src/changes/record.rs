//! The write-ahead hook: called before every change, so that the undo store can save the old state.
//!
//! Every change of a name that a root makes goes through here. A command that changes the project itself does not.

use crate::changes::temp::{Home, Made, Temp};
use crate::digest::Digest;
use crate::state::{self, Change, State};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Stat;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The write-ahead hook of changes. It keeps what it takes to undo them, and never stops one: what it cannot keep it has to say
/// itself.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// Whether there is anything to record now; without it nothing is read for it.
    fn is_recording(&self) -> bool;

    /// Keeps a content, and gives the digest by which it is found again.
    fn keep(&self, content: &[u8]) -> Digest;

    /// These changes are about to be made; their contents were kept. Gives a number for them.
    fn changing(&self, changes: Vec<Change>) -> u64;

    /// The changes of this number came to nothing.
    fn unchanged(&self, number: u64);

    /// The entries of the stash in this folder are about to be exchanged with those of the project at `names` paths, which have files
    /// of so many `bytes`. The stash then belongs to the recorder. Returns a number for the exchange and the file of the record; `None`
    /// if it cannot be recorded.
    fn exchanging(&self, stash: &Path, names: u64, bytes: u64) -> Option<(u64, PathBuf)>;
}

/// A change that the recorder knows of. Dropped, the change came to nothing.
pub(crate) struct Recording<'w> {
    told: Option<(&'w dyn Recorder, u64)>,
}

impl<'w> Recording<'w> {
    /// Tells the recorder of changes whose contents it has kept.
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
    fn change(self, recorder: &dyn Recorder, most: u64) -> Option<Change> {
        let Coming { home, last, replaces, content } = self;
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

/// The recorder of the changes of one root, while there is something to record.
#[derive(Clone, Copy)]
pub(super) struct RecordedBy<'w> {
    recorder: Option<&'w dyn Recorder>,
    /// Bytes of a file whose old content is kept.
    most: u64,
}

impl<'w> RecordedBy<'w> {
    /// The recorder, while there is something to record.
    pub(super) fn new(recorder: Option<&'w dyn Recorder>, most: u64) -> RecordedBy<'w> {
        RecordedBy { recorder: recorder.filter(|recorder| recorder.is_recording()), most }
    }

    /// The recorder, while there is something to record.
    pub(super) fn recorder(self) -> Option<&'w dyn Recorder> {
        self.recorder
    }

    /// Tells the recorder of files that are about to be changed together, and of folders that were made for them.
    pub(super) fn change<'c>(self, files: impl IntoIterator<Item = Coming<'c>>, made: &[&Made]) -> Recording<'w> {
        let Some(recorder) = self.recorder else { return Recording { told: None } };
        let folders = made.iter().flat_map(|made| made.states());
        let folders = folders.map(|(name, state)| Change::new(name, State::Nothing, state));
        let files = files.into_iter().filter_map(|coming| coming.change(recorder, self.most));
        Recording::of(recorder, folders.chain(files).collect())
    }

    /// Tells the recorder of an empty folder that is about to go.
    pub(super) fn removal(self, above: &OwnedFd, last: &OsStr, name: &Path) -> Recording<'w> {
        let Some(recorder) = self.recorder else { return Recording { told: None } };
        match state::look(above.as_fd(), last, 0, &mut |content| recorder.keep(content)) {
            Ok((before, _)) => {
                let gone = Change { name: name.to_owned(), before, after: State::Nothing };
                Recording::of(recorder, vec![gone])
            }
            Err(_) => Recording { told: None },
        }
    }
}
