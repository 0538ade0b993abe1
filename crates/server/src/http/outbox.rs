//! What a client is told and has not been sent yet: events of a stream.

use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The events that wait. A turn writes them without waiting; whoever sends them stops the turn where too much waits.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<String>,
    grown: Notify,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, String> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event, with a line of the pipe. JSON has no line ends outside of strings, where they are escaped.
    pub(super) fn tell(&self, line: &Value) {
        let event = line["event"].as_str().unwrap_or_default();
        self.write(&format!("event: {event}\ndata: {line}\n\n"));
    }

    /// A comment, which clients read over.
    pub(super) fn still_here(&self) {
        self.write(": still here\n\n");
    }

    fn write(&self, text: &str) {
        self.waiting().push_str(text);
        self.grown.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.waiting().len()
    }

    pub(super) fn take(&self) -> String {
        std::mem::take(&mut self.waiting())
    }

    /// Until something was written since the last time.
    pub(super) async fn grown(&self) {
        self.grown.notified().await;
    }
}
