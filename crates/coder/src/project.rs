//! The project: its open workspace, the runner of its commands, its records, and its MCP servers.

use crate::args::Options;
use crate::choices::{Engine, Recording, Sandbox, Switch};
use crate::config::Config;
use crate::config::places::Places;
use crate::config::value::Layer;
use crate::debug;
use crate::failure::Failure;
use crate::rules::Rules;
use crate::servers::{self, StartedServer};
use crate::terminal::print_note;
use std::path::Path;
use std::sync::Arc;
use toolfence_agent::transcript::Store;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::{Text, text};
use toolfence_sandbox::isolation::{Container, Settings};
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Limits};

/// The open project. It stays open when the persona or the model changes.
#[derive(Clone)]
pub(crate) struct Project {
    pub(crate) workspace: Arc<Workspace>,
    /// Runs commands in the workspace, and answers the policy's questions about the project.
    pub(crate) commands: Arc<CommandRunner>,
    /// The changes of each turn; `None` if they are not recorded.
    pub(crate) history: Option<Arc<History>>,
    /// The stored conversations; `None` without a state folder.
    pub(crate) store: Option<Store>,
    /// The settings files and the state folder.
    pub(crate) places: Places,
    /// The MCP servers of the settings, if they were started. The tools of trusted servers are offered to the model.
    pub(crate) servers: Arc<Vec<StartedServer>>,
}

/// If this variable is set, commands run on the project itself instead of on private copies.
const NO_OVERLAY: &str = "TOOLFENCE_NO_OVERLAY";

impl Project {
    /// Opens the project at this root under these rules, without MCP servers.
    pub(crate) fn open(root: &Path, places: Places, rules: &Rules) -> Result<Project, Failure> {
        let state = places.state.as_deref();
        let history = match state {
            Some(state) if rules.config.undo.journal.value() == Recording::On => {
                Some(open_history(&rules.config, state, root)?)
            }
            _ => None,
        };
        let workspace = open_workspace(root, rules, history.as_ref())?;
        let commands = runner(&workspace, &rules.config, state)?;
        let store = state.map(Store::new);
        Ok(Project { workspace, commands, history, store, places, servers: Arc::default() })
    }

    /// Reads the rules of the persona that the options name, and returns the project under them. `before` are the
    /// current rules. The history and the servers are kept, and so is the workspace unless the path rules differ,
    /// because an open workspace cannot change them.
    pub(crate) fn with_persona(&self, options: &Options, before: &Rules) -> Result<(Project, Rules), Failure> {
        let (mut rules, _) = Rules::read(options)?;
        let workspace = match rules.policy.paths() == before.policy.paths() {
            true => Arc::clone(&self.workspace),
            false => open_workspace(&options.root, &rules, self.history.as_ref())?,
        };
        let state = self.places.state.as_deref();
        // The project gets a new runner, because a runner records the input of each job under the job's name, and new
        // tools number their jobs from the beginning.
        let commands = runner(&workspace, &rules.config, state)?;
        let project = Project { workspace, commands, ..self.clone() };
        rules.equip(&project)?;
        Ok((project, rules))
    }

    /// Starts the MCP servers of the settings. With `asks`, the user at the terminal is asked about each server that is
    /// not trusted yet; without it, such a server's tools are not offered.
    pub(crate) fn start_servers(&mut self, config: &Config, asks: bool) -> Result<(), Failure> {
        let mut found = servers::start(config, &self.places, &self.commands, None);
        servers::offer_trusted(&mut found, &self.places, asks)?;
        self.servers = Arc::new(found);
        Ok(())
    }

    /// Replaces a server by one of the same name that was started again. Returns the tools that need approval again
    /// unless the settings allow them now: those that the settings allowed before, or all tools if the description of
    /// the server has changed.
    pub(crate) fn replace_server(&mut self, server: StartedServer) -> Vec<String> {
        let mut all = self.servers.to_vec();
        let revoked = match all.iter_mut().find(|old| old.key == server.key) {
            None => {
                all.push(server);
                Vec::new()
            }
            Some(old) => {
                let old = std::mem::replace(old, server.clone());
                if old.trusted_text() == server.trusted_text() { old.allowed() } else { old.tools().collect() }
            }
        };
        self.servers = Arc::new(all);
        revoked
    }

    /// Lists the servers whose tools are offered to the model, with the number of their tools; `None` without such a
    /// server.
    pub(crate) fn list_servers(&self) -> Option<Text> {
        let servers = self.servers.iter().filter_map(StartedServer::on_offer);
        let servers: Vec<Text> = servers
            .map(|server| {
                text!("{name} ({count} {count|tool|tools})", name = server.name(), count = server.tools().count())
            })
            .collect();
        (!servers.is_empty()).then(|| text!("tools of MCP servers: {servers}", servers = Text::join(servers, ", ")))
    }

    /// Prints the notes about changes that could not be recorded in the history.
    pub(crate) fn print_notes(&self) {
        let notes = self.history.iter().flat_map(|history| history.take_notes());
        notes.for_each(|note| print_note(&note));
    }
}

fn open_workspace(root: &Path, rules: &Rules, history: Option<&Arc<History>>) -> Result<Arc<Workspace>, Failure> {
    let mut workspace = workspace(root, rules.policy.paths().clone())?;
    if let Some(history) = history {
        workspace = workspace.recorder(Arc::clone(history) as _);
    }
    debug::root(workspace.root_path());
    Ok(Arc::new(workspace))
}

/// Opens the workspace at this root.
pub(crate) fn workspace(root: &Path, paths: PathRules) -> Result<Workspace, Failure> {
    Workspace::open(root, paths).map_err(|error| {
        Failure::wrong_use(text!("{error}. Give an existing folder with --root.", error = error.text()))
    })
}

fn open_history(config: &Config, state: &Path, root: &Path) -> Result<Arc<History>, Failure> {
    let mut limits = Limits::default();
    limits.turns = usize::try_from(config.undo.turns.value()).unwrap_or(usize::MAX);
    limits.bytes = config.undo.megabytes.value() << 20;
    History::open(&History::folder(state, root), limits).map(Arc::new).map_err(Failure::broken)
}

/// Returns the runner for commands in this workspace. With a state folder, commands run on private copies of the
/// project, unless the user has disabled these.
pub(crate) fn runner(
    workspace: &Arc<Workspace>,
    config: &Config,
    state: Option<&Path>,
) -> Result<Arc<CommandRunner>, Failure> {
    let mut commands = CommandRunner::new(Arc::clone(workspace), sandbox(config)?);
    if let Some(state) = state {
        commands = commands.private_copies(state);
        if std::env::var_os(NO_OVERLAY).is_some() {
            commands = commands.without_private_copies(text!("The variable {name} is set.", name = NO_OVERLAY));
        }
    }
    Ok(Arc::new(commands))
}

/// Returns the sandbox for commands, as the settings configure it.
pub(crate) fn sandbox(config: &Config) -> Result<Settings, Failure> {
    let mode = config.sandbox.mode.value();
    let network = config.sandbox.network.value() == Switch::On;
    let settings = Settings::new().mode(mode.into()).network(network);
    let wanted = config.sandbox.memory.value() << 20;
    let memory = match config.sandbox.memory.origin().layer {
        Layer::Default => settings.memory,
        // A project or a persona does not know this machine, so its limit may only lower the machine's default.
        layer if layer.only_tightens() => settings.memory.min(wanted),
        _ => wanted,
    };
    let settings = settings.memory(memory);
    match container(config)? {
        Some(container) => Ok(settings.container(container)),
        None if mode == Sandbox::Container => Err(Failure::wrong_use(text!(
            "--sandbox container needs sandbox.container and sandbox.image in your settings"
        ))),
        None => Ok(settings),
    }
}

fn container(config: &Config) -> Result<Option<Container>, Failure> {
    // An image that begins with `-` would be an option of the engine.
    let image = config.sandbox.image.text().filter(|image| !image.is_empty() && !image.starts_with('-'));
    match (config.sandbox.container.value(), image) {
        (Engine::Off, _) => Ok(None),
        (Engine::Podman, Some(image)) => Ok(Some(Container::podman(image))),
        (Engine::Docker, Some(image)) => Ok(Some(Container::docker(image))),
        (_, None) => Err(Failure::wrong_use(text!(
            "sandbox.container needs an image: set sandbox.image, such as \"debian:stable\""
        ))),
    }
}
