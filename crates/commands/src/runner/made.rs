//! The changes that the tools made in a reply, for checks of the project that roll them back.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_protocol::ToolFailure;
use toolfence_workspace::Workspace;

/// Reverts a change, or returns why that is not possible.
type TakeBack = Box<dyn FnOnce(&Workspace) -> Result<(), ToolFailure> + Send>;

/// A change that was made, with the function that reverts it.
pub struct MadeChange {
    /// The changed files, relative to the root.
    pub paths: Vec<String>,
    /// Reverts the change.
    pub take_back: TakeBack,
}

impl fmt::Debug for MadeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeChange").field("paths", &self.paths).finish_non_exhaustive()
    }
}

tokio::task_local! {
    /// The changes of the turn whose calls run in this task. Several turns can run in one project.
    static CHANGES: MadeChanges;
}

/// The changes that the calls of one turn made since the last check of the project.
#[derive(Debug, Clone, Default)]
pub struct MadeChanges(Arc<Mutex<Vec<MadeChange>>>);

impl MadeChanges {
    /// Runs a call of this turn, or the check that follows the calls of a reply. Changes that it makes are recorded for
    /// the turn.
    pub async fn record<F: Future>(&self, call: F) -> F::Output {
        CHANGES.scope(self.clone(), call).await
    }

    /// Records a change for the turn of the running call. Does nothing outside of [`MadeChanges::record`].
    pub fn add(change: MadeChange) {
        let _ = CHANGES.try_with(|changes| changes.lock().push(change));
    }

    /// Takes the changes of the turn, in the order in which they were made.
    pub fn take() -> Vec<MadeChange> {
        CHANGES.try_with(|changes| std::mem::take(&mut *changes.lock())).unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<MadeChange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
