//! Opens a project with its rules, its sandbox and its tools.

use super::Tools;
use super::reply::HostModel;
use crate::agent::Agent;
use crate::backend::Backend;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};
use toolfence_policy::toolbox::{Tool, Toolbox};
use toolfence_policy::{Policy, Settings as Rules};
use toolfence_protocol::{Error, ErrorKind, Language, Limits, prompt, text};
use toolfence_sandbox::isolation::Settings as Sandbox;
use toolfence_session::{Session, SessionOptions};
use toolfence_tools::{CommandRunner, standard};
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{self, History};

/// The settings for opening a project. [`Tools::builder`] creates it; [`open`](ToolsBuilder::open) and
/// [`agent`](ToolsBuilder::agent) open the project.
#[must_use]
pub struct ToolsBuilder {
    root: PathBuf,
    state: Option<PathBuf>,
    rules: Rules,
    sandbox: Sandbox,
    limits: Limits,
    language: Language,
    tools: Vec<Arc<dyn Tool>>,
}

/// An open project.
struct OpenProject {
    agent: Agent,
    workspace: Arc<Workspace>,
    history: Option<Arc<History>>,
}

impl fmt::Debug for ToolsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolsBuilder").field("root", &self.root).field("state", &self.state).finish_non_exhaustive()
    }
}

impl ToolsBuilder {
    pub(super) fn new(root: &Path) -> ToolsBuilder {
        ToolsBuilder {
            root: root.to_owned(),
            state: default_state(),
            rules: Rules::default(),
            sandbox: Sandbox::new(),
            limits: Limits::default(),
            language: Language::English,
            tools: Vec::new(),
        }
    }

    /// Sets the rules: what runs, what needs approval and what is denied. By default changes of files, and changes that
    /// commands make, need approval.
    pub fn rules(self, rules: Rules) -> ToolsBuilder {
        ToolsBuilder { rules, ..self }
    }

    /// Sets what the sandbox lets commands reach.
    pub fn sandbox(self, sandbox: Sandbox) -> ToolsBuilder {
        ToolsBuilder { sandbox, ..self }
    }

    /// Sets the folder for the private copies that commands run on and for the history of changes. By default it is
    /// `$XDG_STATE_HOME/toolfence`, or `.local/state/toolfence` in the home folder. With `None` commands see the
    /// project read-only, except for build folders, and nothing can be undone.
    pub fn state_folder(self, state: impl Into<Option<PathBuf>>) -> ToolsBuilder {
        ToolsBuilder { state: state.into(), ..self }
    }

    /// Sets the limits of commands, results, files and turns.
    pub fn limits(self, limits: Limits) -> ToolsBuilder {
        ToolsBuilder { limits, ..self }
    }

    /// Sets the language of the instructions, the results and the questions.
    pub fn language(self, language: Language) -> ToolsBuilder {
        ToolsBuilder { language, ..self }
    }

    /// Adds a tool to the built-in ones; it replaces one of the same name.
    /// [`tool_fn`](toolfence_policy::toolbox::tool_fn) creates a tool from a closure.
    pub fn tool(mut self, tool: impl Tool + 'static) -> ToolsBuilder {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Opens the project for a host that keeps the conversation.
    ///
    /// # Errors
    /// Fails if the folder does not exist or cannot be opened, if a rule is invalid, if the state folder cannot be
    /// written, or if `main` does not call `enter_if_asked`.
    pub fn open(self) -> Result<Tools, Error> {
        let (replies, unread) = mpsc::unbounded_channel();
        let (reporter, reports) = mpsc::unbounded_channel();
        let OpenProject { agent, workspace, history } =
            self.connect(Arc::new(HostModel { replies: Mutex::new(unread) }), false)?;
        Ok(Tools {
            instructions: prompt::instructions(agent.session().catalog(), self.language),
            canceller: agent.canceller(),
            agent: Some(agent),
            turn: None,
            replies,
            reporter,
            reports,
            waits_for_reply: false,
            user: String::new(),
            unsent: Vec::new(),
            workspace,
            history,
            language: self.language,
        })
    }

    /// Opens the project for a whole loop of calls and results: the agent keeps the conversation and calls the backend
    /// itself.
    ///
    /// # Errors
    /// Returns the errors of [`open`](ToolsBuilder::open).
    pub fn agent(self, backend: Arc<dyn Backend>) -> Result<Agent, Error> {
        Ok(self.connect(backend, true)?.agent)
    }

    /// Opens the project. With `instructs` the agent sends the instructions as its system message.
    fn connect(&self, backend: Arc<dyn Backend>, instructs: bool) -> Result<OpenProject, Error> {
        let policy = Policy::new(self.rules.clone())?;
        let mut workspace = Workspace::open(&self.root, policy.paths().clone())?;
        // A command could otherwise change what undo restores, if the project is the home folder.
        let inside = self.state.as_deref().and_then(|state| state.strip_prefix(workspace.root_path()).ok());
        let policy = policy.protect(inside.and_then(Path::to_str));
        let history = match &self.state {
            Some(state) => {
                Some(Arc::new(History::open(&History::folder(state, workspace.root_path()), undo::Limits::default())?))
            }
            None => None,
        };
        // The workspace records each change in the history, so it gets the history before it is shared.
        if let Some(history) = &history {
            workspace = workspace.recorder(history.clone());
        }
        let workspace = Arc::new(workspace);
        let commands = CommandRunner::new(workspace.clone(), self.sandbox.clone());
        let commands = Arc::new(match &self.state {
            Some(state) => commands.private_copies(state),
            None => commands,
        });
        // Without a helper there is no sandbox, which is a mistake in the program and not a property of the machine.
        if cfg!(target_os = "linux") && commands.enclosure().helper().is_none() {
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!(
                    "The first line of `main` must be `toolfence::enter_if_asked();`: commands need it for their sandbox."
                ),
            ));
        }
        let toolbox = self.tools.iter().cloned().fold(standard(commands.clone()), Toolbox::with);
        let toolbox = toolbox.with_limits(self.limits).in_language(self.language);
        let catalog = Arc::new(toolbox.catalog());
        let mut options = SessionOptions::default();
        (options.limits, options.language) = (self.limits, self.language);
        if instructs {
            options.system = prompt::instructions(&catalog, self.language);
        }
        let agent = Agent::new(Session::new(options, catalog, policy, commands), toolbox, backend);
        let agent = match &history {
            Some(history) => agent.history(history.clone(), workspace.clone()),
            None => agent,
        };
        Ok(OpenProject { agent, workspace, history })
    }
}

/// Returns the folder for data that outlives a process, as the XDG base directories define it.
fn default_state() -> Option<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(base.join("toolfence"))
}
