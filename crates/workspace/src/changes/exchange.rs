//! The exchange of a stash as a recorded change.

#[cfg(test)]
mod tests;

use crate::changes::Changes;
use crate::changes::record::Recording;
use crate::stash::{ExchangeError, Stash, Survey};
use crate::state::Change;
use crate::undo::uncovered_text;
use std::path::Path;
use toolfence_protocol::Text;

impl Changes {
    /// Swaps all entries of the stash with those of the project, or none, like [`Stash::exchange`], and records it first, so that
    /// undo covers it like any other change of the turn. Returns a sentence for the command's result if undo does not cover all of
    /// it: files that are too large or unreadable, and blocked names. The history keeps what the old entries held, so the stash can
    /// be [deleted](Stash::delete) afterwards.
    ///
    /// An entry for which `undoable` returns `false`, such as build output that git ignores, is swapped but not recorded, with all that
    /// is in it. It is called with paths relative to the root: each path of the stash, and each entry in a folder that is added,
    /// replaced or removed.
    ///
    /// # Errors
    /// Another process changed one of the project's entries, or the system refused. The project is then as it was before, with what
    /// the other process changed, and nothing is recorded.
    #[doc(hidden)]
    pub fn exchange(&self, stash: &mut Stash, undoable: &dyn Fn(&Path) -> bool) -> Result<Option<Text>, ExchangeError> {
        stash.refuse_conflicts()?;
        let (Some(recorder), most) = self.recorded().parts() else {
            stash.exchange(&self.root)?;
            return Ok(None);
        };
        let mut survey = Survey::new(&self.root, recorder, most, undoable);
        let mut changes = survey.changes(stash);
        let recording = Recording::of(recorder, changes.iter().map(|(_, change)| change.clone()).collect());
        if let Err(error) = stash.exchange(&self.root) {
            drop(recording);
            // Another process has already changed what the project got here, so it could not be swapped back.
            changes.retain(|(number, _)| stash.is_exchanged(*number));
            if !changes.is_empty() {
                let stuck: Vec<Change> = changes.into_iter().map(|(_, change)| change).collect();
                Recording::of(recorder, stuck).keep();
            }
            return Err(error);
        }
        recording.keep();
        Ok(uncovered_text(&survey.uncovered))
    }
}
