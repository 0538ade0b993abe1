//! Calls that run: side by side, each with its notes, stopped when they are dropped.
//!
//! It judges nothing: what it is given was cleared.

use crate::redact::Redactor;
use futures_util::stream::FuturesUnordered;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use toolfence_policy::toolbox::{BoxFuture, Progress, Toolbox};
use toolfence_policy::{Cleared, Pending};
use toolfence_protocol::{Catalog, Error, Text, ToolCall, ToolResult, text};
use toolfence_session::Refusal;
use toolfence_tools::{MadeChanges, ProjectChecks};
use tracing::Instrument;

/// The calls that run now, side by side. Dropping it stops them.
pub(super) struct Hands<'a> {
    toolbox: &'a Toolbox,
    checks: Option<Arc<ProjectChecks>>,
    /// What the calls changed, if a check may roll it back.
    changes: Option<MadeChanges>,
    /// The calls that run; each gives its result.
    pub(super) running: FuturesUnordered<BoxFuture<'a, Result<ToolResult, Error>>>,
    /// The calls that have no result yet.
    pub(super) open: Vec<ToolCall>,
    notes: mpsc::Sender<Noted>,
    /// What running calls say of themselves.
    pub(super) noted: mpsc::Receiver<Noted>,
}

/// What a running call says of itself.
#[derive(Debug)]
pub(super) enum Noted {
    /// How far it is, in a line.
    Said {
        /// The id of the call.
        id: String,
        /// The line.
        note: String,
    },
    /// The end of what it printed so far.
    Printed {
        /// The id of the call.
        id: String,
        /// A few lines.
        end: String,
    },
    /// It asks whether to keep what it changed.
    Asked {
        /// The question.
        question: Box<Pending>,
        /// Takes the answer: see [`Answer::to_changes`](toolfence_session::Answer::to_changes). Dropped, the answer is no.
        answer: oneshot::Sender<Result<(), Text>>,
    },
}

impl<'a> Hands<'a> {
    /// Makes the place for calls of this toolbox; nothing runs yet. `checks` looks at the project before and after changes, where it is there.
    pub(super) fn new(toolbox: &'a Toolbox, checks: Option<Arc<ProjectChecks>>) -> Hands<'a> {
        let (notes, noted) = mpsc::channel(64);
        let changes = checks.as_ref().filter(|checks| checks.rolls_back()).map(|_| MadeChanges::default());
        Hands { toolbox, checks, changes, running: FuturesUnordered::new(), open: Vec::new(), notes, noted }
    }

    /// Begins to run a cleared call; its result comes out of [`running`](Hands::running).
    pub(super) fn start(&mut self, cleared: Cleared) {
        let note = self.open(cleared.call().clone());
        let toolbox = self.toolbox;
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

    /// Looks at the project after the changes of a reply; gives what stands for a call. `None` where nothing looks.
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

    /// Ends what runs; gives the answers for it.
    pub(super) fn stop(&mut self) -> Vec<ToolResult> {
        self.running.clear();
        self.open.drain(..).map(|call| Refusal::Stopped.answer(&call.id, &call.name)).collect()
    }
}

/// What a turn may be called by, that nobody has given a name: the call with what it is about, without secrets. Empty where
/// it only reads.
pub(super) fn title_of(cleared: &Cleared, catalog: &Catalog) -> String {
    let call = cleared.call();
    if !cleared.may_change() {
        return String::new();
    }
    let telling = catalog.find(&call.name).and_then(|spec| spec.telling(&call.args));
    let text = format!("{} {}", call.name, telling.map_or("", |(_, text)| text.trim_start()));
    Redactor::new().text(text.trim_end()).into_owned()
}

/// Carries a tool's progress to the host, who may only be called from the driver.
struct HostProgress {
    id: String,
    notes: mpsc::Sender<Noted>,
}

impl Progress for HostProgress {
    fn note(&self, text: &str) {
        // Full means that the host is slower than the tool: then this line is not worth waiting for.
        let _ = self.notes.try_send(Noted::Said { id: self.id.clone(), note: text.to_owned() });
    }

    fn printed(&self, end: &str) {
        // The next look has more.
        let _ = self.notes.try_send(Noted::Printed { id: self.id.clone(), end: end.to_owned() });
    }

    fn ask(&self, question: Pending) -> BoxFuture<'_, Result<(), Text>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            // If the turn has ended, there is no answer either.
            let _ = self.notes.send(Noted::Asked { question: Box::new(question), answer }).await;
            answered.await.unwrap_or_else(|_| Err(text!("The question was not answered.")))
        })
    }
}
