//! The changes that tools made since the last check of the project, for checks that roll them back.

use super::CommandRunner;
use std::fmt;
use std::sync::PoisonError;
use toolfence_protocol::ToolFailure;
use toolfence_workspace::Workspace;

/// Takes a change back, or says why that is not possible.
type TakeBack = Box<dyn FnOnce(&Workspace) -> Result<(), ToolFailure> + Send>;

/// A change that was made, and how it is taken back.
pub(crate) struct MadeChange {
    /// The changed files, relative to the root.
    pub(crate) paths: Vec<String>,
    pub(crate) take_back: TakeBack,
}

impl fmt::Debug for MadeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeChange").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl CommandRunner {
    /// Keeps changes from now on, until [`CommandRunner::changes_made`] takes them.
    pub(crate) fn keep_changes(&self) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// Keeps a change that was made, if changes are kept.
    pub(crate) fn keep_change(&self, change: MadeChange) {
        if let Some(made) = self.made.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            made.push(change);
        }
    }

    /// Takes the changes that were made since the last call, in their order.
    pub(crate) fn changes_made(&self) -> Vec<MadeChange> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(std::mem::take).unwrap_or_default()
    }
}
