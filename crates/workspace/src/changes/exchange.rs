//! Makes the exchange of a stash a recorded change.

#[cfg(test)]
mod tests;

use crate::changes::Changes;
use crate::stash::{ExchangeError, Stash};
use std::path::Path;

impl Changes {
    /// Swaps all entries of the stash with those of the project, or none, like [`Stash::exchange`], and records the
    /// exchange first, so that undo covers it like any other change of the turn. The undo history then owns the stash
    /// and moves the previous entries back from it. If nothing is recorded, the stash is deleted.
    ///
    /// A swap of a path for which `undoable` returns `false`, such as build output that git ignores, is made but not
    /// recorded.
    ///
    /// # Errors
    /// Another process changed one of the project's entries, or the system refused. The project is then as it was
    /// before, including the changes of the other process, and nothing is recorded.
    #[doc(hidden)]
    pub fn exchange(&self, mut stash: Stash, undoable: &dyn Fn(&Path) -> bool) -> Result<(), ExchangeError> {
        let (names, bytes) = stash.amount(undoable);
        let recorder = self.active_recorder().recorder().filter(|_| names > 0);
        let prepared = stash.refuse_conflicts().and_then(|()| {
            let recorded =
                recorder.and_then(|recorder| Some((recorder, recorder.exchanging(stash.path(), names, bytes)?)));
            // Without the path of its record, recovery would delete the stash.
            if let Some((recorder, (number, record))) = &recorded
                && let Err(error) = stash.set_record(record, undoable)
            {
                recorder.unchanged(*number);
                return Err(ExchangeError::Plan(error));
            }
            Ok(recorded)
        });
        let recorded = match prepared {
            Ok(recorded) => recorded,
            Err(error) => {
                let _ = stash.delete();
                return Err(error);
            }
        };
        let exchanged = stash.exchange(&self.root);
        let Some((recorder, (number, _))) = recorded else {
            // If it cannot be deleted now, the next start deletes it.
            let _ = stash.delete();
            return exchanged;
        };
        stash.delete_unrecorded();
        // An entry that another process has already changed cannot be swapped back. Its swap then stays in the record.
        if exchanged.is_err() && !stash.has_exchanged() {
            recorder.unchanged(number);
            let _ = stash.delete();
        }
        exchanged
    }
}
