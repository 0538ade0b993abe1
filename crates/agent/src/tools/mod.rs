//! The tools of one project, for a chat that exists already.
//!
//! [`Tools`] connects the rules, the files of the project, the sandbox and the built-in tools. The host has the conversation and the
//! model: it gives each reply to [`Tools::reply`] and sends back the message that comes out. A whole turn of replies runs on one
//! [`Agent`], whose backend waits for the next reply of the host. So everything that an agent does for a turn happens here too:
//! later calls are cancelled after a failure, malformed and cut blocks are reported, and ids are unique.

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
use toolfence_protocol::{Error, FinishReason, Language};
use toolfence_session::StopReason;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::History;

/// A turn that runs: it gives the agent back when it ends.
type RunningTurn = Pin<Box<dyn Future<Output = (Agent, Result<StopReason, Error>)> + Send>>;

/// The tools of one project, connected to the replies of a model.
///
/// Commands run in the sandbox only if the first line of `main` is [`enter_if_asked`](toolfence_sandbox::isolation::enter_if_asked).
///
/// ```
/// use toolfence_agent::tools::{ReplyStep, Tools};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// let mut tools = Tools::builder(folder.path()).state_folder(None).open()?;
/// let reply = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a.txt\", \"content\": \"hi\\n\"}}\n```\n";
/// let mut pending = tools.reply(reply);
/// while let Some(step) = pending.next().await? {
///     match step {
///         ReplyStep::Question(question) => {
///             assert!(question.diff().is_some_and(|diff| diff.contains("+hi")));
///             question.approve();
///         }
///         ReplyStep::Result(result) => assert!(result.success),
///         _ => {}
///     }
/// }
/// assert!(pending.message().is_some_and(|message| message.contains("a.txt")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tools {
    /// Set between turns.
    agent: Option<Agent>,
    /// Set during a turn, which may last for several replies.
    turn: Option<RunningTurn>,
    canceller: Canceller,
    replies: mpsc::UnboundedSender<(String, FinishReason)>,
    reporter: mpsc::UnboundedSender<Report>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// The turn has sent a message for the model and waits for the reply to it.
    waits_for_reply: bool,
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
    /// The tools of the project in this folder, with the default rules, in English.
    ///
    /// # Errors
    /// The folder does not exist or cannot be opened.
    pub fn open(root: impl AsRef<Path>) -> Result<Tools, Error> {
        Tools::builder(root).open()
    }

    /// The tools of the project in this folder, with other rules, tools or limits.
    pub fn builder(root: impl AsRef<Path>) -> ToolsBuilder {
        ToolsBuilder::new(root.as_ref())
    }

    /// The text for the system message: how to call the tools, and which there are.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Handles a whole reply of the model. Nothing runs before [`PendingReply::next`] is awaited.
    ///
    /// A reply that is handled only in part ends its turn when the next one is given: open questions are denied and running commands
    /// are stopped.
    pub fn reply(&mut self, text: impl Into<String>) -> PendingReply<'_> {
        PendingReply::new(self, text.into())
    }

    /// The project's root, with links followed.
    pub fn root(&self) -> PathBuf {
        self.workspace.root_path().to_owned()
    }

    /// The project's files, for a host that reads or changes them itself.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// What the turns changed, to show it or to take it back; `None` without a [state folder](ToolsBuilder::state_folder).
    pub fn history(&self) -> Option<&Arc<History>> {
        self.history.as_ref()
    }

    /// Cancels the turn of an earlier reply that was not handled to its end.
    async fn end_abandoned_turn(&mut self) {
        if std::mem::take(&mut self.waits_for_reply) {
            return;
        }
        if let Some(turn) = &mut self.turn {
            self.canceller.cancel();
            let (agent, _) = turn.await;
            (self.agent, self.turn) = (Some(agent), None);
        }
        while self.reports.try_recv().is_ok() {}
    }

    /// Gives a reply to the turn that waits for it, or to a new one.
    fn begin(&mut self, text: String, finish: FinishReason) {
        // The turn that reads it is in here.
        let _ = self.replies.send((text, finish));
        if let Some(mut agent) = self.agent.take() {
            let mut host = StepHost::new(self.reporter.clone(), self.language);
            self.turn = Some(Box::pin(async move {
                // The user's words are between the host and its model.
                let ended = agent.run("", &mut host).await;
                host.end(&agent);
                (agent, ended)
            }));
        }
    }
}
