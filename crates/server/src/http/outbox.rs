//! Events of a stream that have not been sent yet.

use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The unsent events. A turn adds them without waiting; the task that sends them pauses the turn if there are too many.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<String>,
    added: Notify,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, String> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event with a line of the pipe. JSON has no raw line ends: in strings they are escaped.
    pub(super) fn push_event(&self, line: &Value) {
        let event = line["event"].as_str().unwrap_or_default();
        self.write(&format!("event: {event}\ndata: {line}\n\n"));
    }

    /// Adds a comment, which clients ignore.
    pub(super) fn push_comment(&self) {
        self.write(": still here\n\n");
    }

    fn write(&self, text: &str) {
        self.waiting().push_str(text);
        self.added.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.waiting().len()
    }

    pub(super) fn take(&self) -> String {
        std::mem::take(&mut self.waiting())
    }

    /// Waits until something was added since the last wait.
    pub(super) async fn wait_for_event(&self) {
        self.added.notified().await;
    }
}
