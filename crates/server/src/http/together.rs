//! Turns that run at the same time, which are undone together.
//!
//! There is one history of a project, and it records one turn at a time. Were each turn of a client one of it, the second that begins
//! would end the first, whose later changes nobody could take back.

use std::sync::{Mutex, MutexGuard, PoisonError};
use toolfence_workspace::undo::Turn;

/// The turns that run, and what they are recorded as.
#[derive(Default)]
pub(super) struct Together(Mutex<Running>);

#[derive(Default)]
struct Running {
    turns: usize,
    recorded: Option<Turn>,
}

impl Together {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn runs until what is given is dropped. The first one begins what is recorded, and the last one ends it.
    pub(super) fn join(&self, begin: impl FnOnce() -> Option<Turn>) -> Member<'_> {
        let mut running = self.running();
        running.turns += 1;
        if running.turns == 1 {
            running.recorded = begin();
        }
        drop(running);
        Member(self)
    }
}

impl Together {
    /// Does this while no turn runs and none can begin; `None` where one runs.
    pub(super) fn alone<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        let running = self.running();
        (running.turns == 0).then(act)
    }
}

/// One of the turns that run.
pub(super) struct Member<'a>(&'a Together);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        // What is recorded ends while nobody can begin the next: the end of a turn ends whatever is recorded.
        let mut running = self.0.running();
        running.turns -= 1;
        if running.turns == 0 {
            running.recorded = None;
        }
    }
}
