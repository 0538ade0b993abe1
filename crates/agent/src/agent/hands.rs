//! Runs calls side by side, relays their progress, and stops them when they are dropped.
//!
//! This module judges nothing: its calls were cleared before.

use crate::redact::Redactor;
use futures_util::stream::FuturesUnordered;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use toolfence_policy::toolbox::{BoxFuture, Progress, Toolbox};
use toolfence_policy::{ClearedCall, Pending};
use toolfence_protocol::{Catalog, Error, Text, ToolCall, ToolResult, text};
use toolfence_session::Refusal;
use toolfence_tools::{MadeChanges, ProjectChecks};
use tracing::Instrument;

/// The running calls. Dropping it stops them.
pub(super) struct RunningCalls<'a> {
    toolbox: &'a Toolbox,
    checks: Option<Arc<ProjectChecks>>,
    /// The changes of the calls, if a check may roll them back.
    changes: Option<MadeChanges>,
    /// The running calls, each of which returns its result.
    pub(super) running: FuturesUnordered<BoxFuture<'a, Result<ToolResult, Error>>>,
    /// The calls that have no result yet.
    pub(super) open: Vec<ToolCall>,
    notes: mpsc::Sender<Noted>,
    /// Events of running calls.
    pub(super) noted: mpsc::Receiver<Noted>,
}

/// An event of a running call.
#[derive(Debug)]
pub(super) enum Noted {
    /// The progress of the call, in one line.
    Progress {
        /// The id of the call.
        id: String,
        /// The line.
        note: String,
    },
    /// The end of the call's output so far.
    Printed {
        /// The id of the call.
        id: String,
        /// A few lines.
        end: String,
    },
    /// The call asks whether to keep its changes.
    Asked {
        /// The question.
        question: Box<Pending>,
        /// Receives the answer: see [`Answer::to_changes`](toolfence_session::Answer::to_changes). Dropping the sender
        /// denies.
        answer: oneshot::Sender<Result<(), Text>>,
    },
}

impl<'a> RunningCalls<'a> {
    /// Creates an empty set of calls of this toolbox. `checks` checks the project before and after changes, if given.
    pub(super) fn new(toolbox: &'a Toolbox, checks: Option<Arc<ProjectChecks>>) -> RunningCalls<'a> {
        let (notes, noted) = mpsc::channel(64);
        let changes = checks.as_ref().filter(|checks| checks.rolls_back()).map(|_| MadeChanges::default());
        RunningCalls { toolbox, checks, changes, running: FuturesUnordered::new(), open: Vec::new(), notes, noted }
    }

    /// Starts a cleared call; [`running`](RunningCalls::running) returns its result.
    pub(super) fn start(&mut self, cleared: ClearedCall) {
        let note = self.open(cleared.call().clone());
        let toolbox = self.toolbox;
        // The checks record the errors of the unchanged project, so they need not run before a call that only reads.
        let checks = self.checks.clone().filter(|_| cleared.may_change());
        let span = tracing::debug_span!("call", id = cleared.call().id, tool = cleared.call().name);
        let run = async move {
            if let Some(checks) = checks {
                checks.before_changes(toolbox, &note).await?;
            }
            toolbox.run(cleared, &note).await
        };
        self.push(run.instrument(span));
    }

    /// Checks the project after the changes of a reply. Returns a call to show for the check, or `None` without checks.
    pub(super) fn check(&mut self) -> Option<ToolCall> {
        let checks = self.checks.clone()?;
        let call = checks.call();
        let note = self.open(call.clone());
        let toolbox = self.toolbox;
        self.push(async move { checks.after_changes(toolbox, &note).await });
        Some(call)
    }

    fn push(&mut self, run: impl Future<Output = Result<ToolResult, Error>> + Send + 'a) {
        self.running.push(match self.changes.clone() {
            Some(changes) => Box::pin(async move { changes.record(run).await }),
            None => Box::pin(run),
        });
    }

    fn open(&mut self, call: ToolCall) -> HostProgress {
        let note = HostProgress { id: call.id.clone(), notes: self.notes.clone() };
        self.open.push(call);
        note
    }

    /// Stops the running calls and returns their answers.
    pub(super) fn stop(&mut self) -> Vec<ToolResult> {
        self.running.clear();
        self.open.drain(..).map(|call| Refusal::Stopped.answer(&call.id, &call.name)).collect()
    }
}

/// Returns a title for a turn that has none: the call and its target, without secrets. Empty if the call only reads.
pub(super) fn title_of(cleared: &ClearedCall, catalog: &Catalog) -> String {
    let call = cleared.call();
    if !cleared.may_change() {
        return String::new();
    }
    let telling = catalog.find(&call.name).and_then(|spec| spec.summary_argument(&call.args));
    let text = format!("{} {}", call.name, telling.map_or("", |(_, text)| text.trim_start()));
    Redactor::new().text(text.trim_end()).into_owned()
}

/// Relays a tool's progress to the host, which only the driver may call.
struct HostProgress {
    id: String,
    notes: mpsc::Sender<Noted>,
}

impl Progress for HostProgress {
    fn note(&self, text: &str) {
        // A full queue means that the host is slower than the tool; this line is not worth waiting for.
        let _ = self.notes.try_send(Noted::Progress { id: self.id.clone(), note: text.to_owned() });
    }

    fn printed(&self, end: &str) {
        // Losing this event is harmless: the next one repeats the end of the output.
        let _ = self.notes.try_send(Noted::Printed { id: self.id.clone(), end: end.to_owned() });
    }

    fn ask(&self, question: Pending) -> BoxFuture<'_, Result<(), Text>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            // If the driver is gone, it has dropped `answer` too, and the question counts as denied.
            let _ = self.notes.send(Noted::Asked { question: Box::new(question), answer }).await;
            answered.await.unwrap_or_else(|_| Err(text!("The question was not answered.")))
        })
    }
}
