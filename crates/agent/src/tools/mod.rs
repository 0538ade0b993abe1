//! Provides the tools of one project for an existing chat.
//!
//! [`Tools`] connects the rules, the files of the project, the sandbox and the built-in tools. The host keeps the
//! conversation and calls the model: it passes each reply to [`Tools::reply`] and sends back the returned message. A
//! whole turn of replies runs on one [`Agent`], whose backend waits for the next reply of the host. So everything that
//! an agent does for a turn happens here too: later calls are cancelled after a failure, malformed and cut blocks are
//! reported, and ids are unique.

mod builder;
mod reply;

pub use builder::ToolsBuilder;
pub use reply::{PendingReply, Question, ReplyStep};

use crate::agent::{Agent, Canceller};
use reply::{Report, StepHost};
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Language, text};
use toolfence_session::StopReason;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Outcome};

/// A running turn, which returns the agent when it ends.
type RunningTurn = Pin<Box<dyn Future<Output = (Agent, Result<StopReason, Error>)> + Send>>;

/// The tools of one project, connected to the replies of a model.
///
/// The first line of `main` must be [`enter_if_asked`](toolfence_sandbox::isolation::enter_if_asked): the program is
/// also the helper that puts commands into the sandbox. The functions that wait need a tokio runtime with time and IO
/// (`enable_all`).
///
/// ```
/// use toolfence_agent::tools::{ReplyStep, Tools};
///
/// toolfence_sandbox::isolation::enter_if_asked();
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// let mut tools = Tools::builder(folder.path()).state_folder(None).open()?;
/// let reply = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a.txt\", \"content\": \"hi\\n\"}}\n```\n";
/// let mut pending = tools.reply(reply);
/// let message = loop {
///     match pending.next().await? {
///         ReplyStep::Question(question) => {
///             assert!(question.diff().is_some_and(|diff| diff.contains("+hi")));
///             question.approve();
///         }
///         ReplyStep::Result(result) => assert!(result.success),
///         ReplyStep::Send(message) => break message,
///         step => panic!("the model has to see the result: {step:?}"),
///     }
/// };
/// assert!(message.contains("a.txt"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tools {
    /// The agent, between turns.
    agent: Option<Agent>,
    /// The running turn, which may last for several replies.
    turn: Option<RunningTurn>,
    canceller: Canceller,
    replies: mpsc::UnboundedSender<(String, FinishReason)>,
    reporter: mpsc::UnboundedSender<Report>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// Whether the turn has sent a message for the model and waits for the reply.
    waits_for_reply: bool,
    /// The user's message, until its turn begins.
    user: String,
    /// Texts that the model had not received when its turns ended.
    unsent: Vec<String>,
    workspace: Arc<Workspace>,
    history: Option<Arc<History>>,
    instructions: String,
    language: Language,
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools").field("root", &self.workspace.root_path()).finish_non_exhaustive()
    }
}

impl Tools {
    /// Opens the project in this folder with the default rules, in English.
    ///
    /// # Errors
    /// Fails if the folder does not exist or cannot be opened, or if `main` does not call `enter_if_asked`.
    pub fn open(root: impl AsRef<Path>) -> Result<Tools, Error> {
        Tools::builder(root).open()
    }

    /// Returns a builder for the project in this folder, to set other rules, tools or limits.
    pub fn builder(root: impl AsRef<Path>) -> ToolsBuilder {
        ToolsBuilder::new(root.as_ref())
    }

    /// Returns the text for the system message: how to call the tools, and the list of tools.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Handles a whole reply of the model. Nothing runs before [`PendingReply::next`] is awaited.
    ///
    /// If a reply was handled only in part, the next reply ends its turn: open questions are denied and running
    /// commands are stopped.
    pub fn reply(&mut self, text: impl Into<String>) -> PendingReply<'_> {
        PendingReply::new(self, text.into())
    }

    /// Returns the project's root, with links followed.
    pub fn root(&self) -> PathBuf {
        self.workspace.root_path().to_owned()
    }

    /// Returns the project's files, for a host that reads or changes them itself.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Returns the changes of the turns, to show or undo them; `None` without a [state
    /// folder](ToolsBuilder::state_folder).
    pub fn history(&self) -> Option<&Arc<History>> {
        self.history.as_ref()
    }

    /// Begins the turn of this message of the user, and returns the text for the model: what it had not received in the
    /// turn before, then the message. The first words of the message name the turn in the history. A turn that still
    /// runs is cancelled.
    ///
    /// A host need not call this: without it a turn begins with a reply of the model.
    pub async fn user_message(&mut self, text: &str) -> String {
        self.end_turn().await;
        self.user = text.to_owned();
        let mut parts = std::mem::take(&mut self.unsent);
        parts.push(text.to_owned());
        parts.join("\n\n")
    }

    /// Ends the turn, if one runs: open questions are denied, commands are stopped, and completed changes stay.
    pub async fn end_turn(&mut self) {
        if let Some(turn) = &mut self.turn {
            // The turn is awaited and not dropped, because it returns the agent.
            self.canceller.cancel();
            let (agent, _) = turn.await;
            (self.agent, self.turn) = (Some(agent), None);
        }
        self.waits_for_reply = false;
        // No caller waits for the steps of the ended turn any more. The texts that the model lacks are still needed.
        while let Ok(report) = self.reports.try_recv() {
            if let Report::Unsent(text) = report {
                self.unsent.push(text);
            }
        }
    }

    /// Undoes the changes of the last turn. Files that changed since are skipped, and the outcome lists them. Returns
    /// `None` if there is nothing to undo.
    ///
    /// # Errors
    /// Fails if there is no [state folder](ToolsBuilder::state_folder), or if it cannot be read.
    pub async fn undo(&mut self) -> Result<Option<Outcome>, Error> {
        self.end_turn().await;
        let Some(history) = self.history.clone() else {
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!("Without a state folder nothing can be taken back."),
            ));
        };
        let workspace = self.workspace.clone();
        let undone = tokio::task::spawn_blocking(move || history.undo(&workspace)).await;
        undone.map_err(|error| Error::because("take back a turn", error))?
    }

    /// Passes a reply to the turn that waits for it, or to a new one.
    fn begin(&mut self, text: String, finish: FinishReason) {
        // The receiver is part of the turn or of the agent in this struct, so the channel is open.
        let _ = self.replies.send((text, finish));
        self.waits_for_reply = false;
        if let Some(mut agent) = self.agent.take() {
            // Texts that the host did not fetch with `user_message` belong to an earlier turn.
            self.unsent.clear();
            let mut host = StepHost::new(self.reporter.clone(), self.language);
            let user = std::mem::take(&mut self.user);
            self.turn = Some(Box::pin(async move {
                let ended = agent.run(&user, &mut host).await;
                host.end(&agent);
                (agent, ended)
            }));
        }
    }
}
