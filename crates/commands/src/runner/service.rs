//! Long-running programs that communicate with the conversation, such as servers of tools. They run in the sandbox if
//! there is one, and read the project without changing it.
//!
//! A service outlives calls, so the project is not watched while it idles. It cannot write there, so it can plant
//! nothing, and undo is not needed. Only files that are blocked when it starts are hidden from it, and
//! [`ServiceWatch::is_stale`] reports when that is no longer enough.

use super::CommandRunner;
use crate::blocking;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolfence_policy::toolbox::ToolError;
use toolfence_protocol::{Text, text};
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::{Request, SharedPaths};
use toolfence_sandbox::process::{Piped, Program};
use toolfence_sandbox::project::MaskKind;
use toolfence_workspace::{Access, MaskSet};

/// A service to start.
#[derive(Debug, Clone)]
pub struct WantedService {
    /// The program by its name in the PATH or its absolute path, and its arguments.
    pub words: Vec<OsString>,
    /// Variables in addition to those that every command has.
    pub environment: Vec<(String, OsString)>,
    /// Whether it may use the network.
    pub network: bool,
    /// Absolute paths outside of the project that it may read and write.
    pub paths: Vec<PathBuf>,
}

/// A running service. Dropping the program ends it and the processes that it started.
#[derive(Debug)]
pub struct Service {
    /// The program, with an open stdin.
    pub program: Piped,
    /// Detects whether the service must be restarted.
    pub watch: ServiceWatch,
    /// An argument of the command that is an existing path that the service cannot see. This is the most likely reason
    /// if the service does not start.
    pub hidden: Option<PathBuf>,
}

/// The files that were hidden from a service when it started.
#[derive(Debug, Clone)]
pub struct ServiceWatch {
    commands: Arc<CommandRunner>,
    /// The masks; `None` if there is no sandbox.
    masks: Option<Arc<MaskSet>>,
    /// The paths outside of the project that the service may use.
    paths: Vec<PathBuf>,
    /// The paths as they were shared at the start, with the files that are hidden in them.
    shared: SharedPaths,
}

impl CommandRunner {
    /// Starts a service in the root folder of the system, because programs such as `npx` and `python -m` search the
    /// current folder for programs, and the project's files are not the user's.
    ///
    /// # Errors
    /// There is no such program outside of the project, one of the paths cannot be shared, or it cannot be started.
    #[doc(hidden)]
    pub async fn service(self: &Arc<CommandRunner>, wanted: &WantedService) -> Result<Service, Text> {
        if let Some(why) = self.enclosure().refusal() {
            return Err(why);
        }
        let root = self.workspace().root();
        let name = wanted.words.first().cloned().unwrap_or_default();
        // The model can change the programs of the project, and the service would run such a program with its network
        // and variables.
        let program = name.to_str().and_then(|name| root.programs().of_system(name));
        let program = program.ok_or_else(|| {
            text!(
                "there is no program {name} in the PATH, outside of the project",
                name = name.to_string_lossy().into_owned()
            )
        })?;
        let words: Vec<&OsStr> =
            std::iter::once(program.as_os_str()).chain(wanted.words.iter().skip(1).map(OsString::as_os_str)).collect();
        let error_text = |error: ToolError| match error {
            ToolError::Respond(failure) => failure.message,
            ToolError::Fatal(error) => error.text(),
        };
        let sandboxed = self.is_sandboxed().await.map_err(error_text)?;
        let mut environment = match sandboxed {
            true => environment::sandboxed(&self.environment, root.path(), self.has_network(wanted.network)),
            false => self.environment.clone(),
        };
        // A variable of the service replaces the one that every command has.
        for (name, value) in &wanted.environment {
            environment.retain(|(known, _)| known.as_os_str() != OsStr::new(name));
            environment.push((name.into(), value.clone()));
        }
        let (mut masks, mut hidden, mut beside) = (None, None, SharedPaths::default());
        let entry = if sandboxed {
            let paths = wanted.paths.clone();
            let look = move |workspace: &toolfence_workspace::Workspace, stop: &_| {
                let shared = SharedPaths::open(&paths, workspace.root().as_ref());
                Ok((workspace.masks().find(Access::Read, stop)?, shared))
            };
            let (set, shared) = blocking(self.workspace(), look).await.map_err(error_text)?;
            let set = masks.insert(Arc::new(set));
            let variables: Vec<&OsStr> = environment.iter().map(|(name, _)| name.as_os_str()).collect();
            let request = Request {
                command: &words,
                folder: Path::new("/"),
                masks: set.list(),
                network: wanted.network,
                looks: true,
                writable_folders: &[],
                layer: None,
                session: false,
                sockets: true,
                variables: &variables,
            };
            let shared = shared?;
            hidden = words
                .iter()
                .skip(1)
                .map(PathBuf::from)
                .find(|word| word.is_absolute() && !self.enclosure().is_visible(word, &shared) && word.exists());
            let entry = self.enclosure().entry_sharing(&request, &shared);
            beside = shared;
            Some(entry.ok_or_else(|| text!("the sandbox here cannot be set up around it with these paths"))?)
        } else {
            self.enclosure().supervised(&words)
        };
        let own: Vec<OsString> = words.iter().skip(1).map(|word| OsString::from(*word)).collect();
        let (program, args, message) = match &entry {
            Some(entry) => (entry.program.as_os_str(), &*entry.arguments, Some(&entry.message)),
            None => (program.as_os_str(), &*own, None),
        };
        let environment: Vec<(&str, Option<OsString>)> =
            environment.iter().filter_map(|(name, value)| Some((name.to_str()?, Some(value.clone())))).collect();
        let started = Piped::start(Program {
            program,
            args,
            folder: Some(Path::new("/")),
            environment: &environment,
            inherits: false,
            input: Vec::new(),
            converses: true,
            message,
        });
        let program = started.await.map_err(|error| Text::from(&error))?;
        let (commands, paths) = (Arc::clone(self), wanted.paths.clone());
        Ok(Service { program, watch: ServiceWatch { commands, masks, paths, shared: beside }, hidden })
    }
}

impl ServiceWatch {
    /// Returns `true` if the service runs in a sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.masks.is_some()
    }

    /// Returns `true` if the service may be able to read a blocked file that did not exist when it started, or was
    /// replaced since. It must then be restarted.
    pub async fn is_stale(&self) -> bool {
        let Some(before) = self.masks.clone() else { return false };
        let (paths, shared) = (self.paths.clone(), self.shared.clone());
        let look = move |workspace: &toolfence_workspace::Workspace, stop: &_| {
            let hidden = |set: &MaskSet| -> HashSet<PathBuf> {
                let hides = |how| matches!(how, MaskKind::Hide | MaskKind::HideRemovable);
                set.list().iter().filter(|mask| hides(mask.how)).map(|mask| mask.path.clone()).collect()
            };
            if workspace.masks().replaced(&before).is_some() {
                return Ok(true);
            }
            // A path that can no longer be shared makes the service stale; the next start reports why.
            let now = SharedPaths::open(&paths, workspace.root().as_ref());
            if now.map_or(true, |now| shared.reveals(&now)) {
                return Ok(true);
            }
            let (now, before) = (workspace.masks().find(Access::Read, stop)?, hidden(&before));
            Ok(hidden(&now).iter().any(|path| !path.ancestors().any(|above| before.contains(above))))
        };
        // If the check fails, the service is restarted, because it may be able to read a blocked file.
        blocking(self.commands.workspace(), look).await.unwrap_or(true)
    }
}
