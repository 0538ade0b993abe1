//! The files of the project, what turns changed in them, and the sandbox around its commands.

use crate::choices::{Engine, Recording, Sandbox, Switch};
use crate::config::Config;
use crate::config::value::Layer;
use crate::failure::Failure;
use crate::messages;
use std::path::Path;
use std::sync::Arc;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::text;
use toolfence_sandbox::isolation::Container;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Limits};

/// If this variable is set, commands run on the project itself instead of on private copies.
const NO_OVERLAY: &str = "TOOLFENCE_NO_OVERLAY";

/// The files of the project at this root.
pub(crate) fn workspace(root: &Path, paths: PathRules) -> Result<Workspace, Failure> {
    Workspace::open(root, paths).map_err(|error| Failure::wrong_use(messages::give_folder(error.text())))
}

/// What turns changed, unless the person does not want it kept.
pub(crate) fn history(config: &Config, state: Option<&Path>, root: &Path) -> Result<Option<Arc<History>>, Failure> {
    let Some(state) = state.filter(|_| config.undo.journal.value() == Recording::On) else { return Ok(None) };
    let mut limits = Limits::default();
    limits.turns = usize::try_from(config.undo.turns.value()).unwrap_or(usize::MAX);
    limits.bytes = config.undo.megabytes.value() << 20;
    let history = History::open(&History::folder(state, root), limits).map_err(Failure::broken)?;
    Ok(Some(Arc::new(history)))
}

/// The runner with private copies of the project in this folder of the state, unless the user has switched them off.
pub(crate) fn with_copies(commands: CommandRunner, state: Option<&Path>) -> CommandRunner {
    let Some(state) = state else { return commands };
    let commands = commands.private_copies(state);
    match std::env::var_os(NO_OVERLAY) {
        Some(_) => commands.without_private_copies(text!("The variable {name} is set.", name = NO_OVERLAY)),
        None => commands,
    }
}

/// What the layers want around every command.
pub(crate) fn sandbox(config: &Config) -> Result<toolfence_sandbox::isolation::Settings, Failure> {
    let mode = config.sandbox.mode.value();
    let network = config.sandbox.network.value() == Switch::On;
    let settings = toolfence_sandbox::isolation::Settings::new().mode(mode.into()).network(network);
    let wanted = config.sandbox.memory.value() << 20;
    let memory = match config.sandbox.memory.origin().layer {
        Layer::Default => settings.memory,
        // A project or a persona does not know the machine, so its number may be above this machine's default.
        layer if layer.only_tightens() => settings.memory.min(wanted),
        _ => wanted,
    };
    let settings = settings.memory(memory);
    Ok(match container(config)? {
        Some(container) => settings.container(container),
        None if mode == Sandbox::Container => {
            return Err(Failure::wrong_use(messages::container_not_named()));
        }
        None => settings,
    })
}

fn container(config: &Config) -> Result<Option<Container>, Failure> {
    let image = config.sandbox.image.text().filter(|image| !image.is_empty() && !image.starts_with('-'));
    match (config.sandbox.container.value(), image) {
        (Engine::Off, _) => Ok(None),
        (Engine::Podman, Some(image)) => Ok(Some(Container::podman(image))),
        (Engine::Docker, Some(image)) => Ok(Some(Container::docker(image))),
        (_, None) => Err(Failure::wrong_use(messages::container_needs_image())),
    }
}
