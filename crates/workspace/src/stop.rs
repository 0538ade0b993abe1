//! Stops long work from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Stops long work from another thread, and reports its progress.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: AtomicBool,
    seen: AtomicU64,
}

impl Stop {
    /// Asks the work to stop soon.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the work was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns the number of files and folders that a walk has visited so far.
    pub fn visited(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    pub(crate) fn saw(&self, entries: usize) {
        self.seen.fetch_add(entries as u64, Ordering::Relaxed);
    }
}
