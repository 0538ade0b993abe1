//! Runs commands on private copies of the project, and checks whether that is possible here.

use super::inside::not_sandboxed;
use super::{CommandRunner, PrivateCopies, Sandboxed};
use crate::blocking;
use crate::layer::{self, Limits};
use crate::private_copy::{self, SlowNote};
use crate::run::{EndedRun, LayerRun, LayeredProject, RunError};
use crate::session_output::{SessionOutput, outputs_in};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use toolfence_policy::toolbox::ToolError;
use toolfence_policy::toolset::write_argument;
use toolfence_protocol::{ErrorCode, Text, ToolFailure, ToolSpec, text};
use toolfence_sandbox::isolation::{Kind, Mode};
use toolfence_sandbox::process::{Job, Outcome};
use toolfence_workspace::{Stop, Workspace, names, overflow_file, stash};

impl Sandboxed {
    /// Returns the folder with the layers and stashes of the project, or why commands do not run on private copies. The
    /// first call tries it out, which takes some milliseconds.
    pub(crate) fn private(&self, environment: &[(OsString, OsString)]) -> Result<&Path, &Text> {
        let place = self.private.get_or_init(|| self.prepare_private(environment));
        place.as_ref().map(PathBuf::as_path)
    }

    /// Returns `true` if commands see the project read-only, because private copies are not wanted or cannot be used.
    /// Without a sandbox that has a tree of its own, this cannot be enforced.
    pub(crate) fn is_read_only(&self, environment: &[(OsString, OsString)]) -> bool {
        self.settings.mode == Mode::ProjectWrite
            && self.enclosure().report().kind > Kind::Landlock
            && self.private(environment).is_err()
    }

    fn prepare_private(&self, environment: &[(OsString, OsString)]) -> Result<PathBuf, Text> {
        let state = match &self.copies {
            PrivateCopies::In(state) => state,
            PrivateCopies::Off(why) => return Err(why.clone()),
            PrivateCopies::NotAskedFor => return Err(text!("The host did not ask for private copies.")),
        };
        if self.enclosure().report().kind != Kind::Namespaces || self.settings.mode != Mode::ProjectWrite {
            return Err(text!("The sandbox that is used here mounts no private copies."));
        }
        if let Some(mount) = mount_inside(self.workspace.root_path()) {
            return Err(text!("Something is mounted inside the project, at {path}.", path = names::display(&mount)));
        }
        let failed =
            |error: &dyn std::fmt::Display| text!("A private copy cannot be made: {error}", error = error.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|error| failed(&error))?;
        let place = layer::private_folder(self.workspace.root_path(), state).map_err(|error| failed(&error))?;
        // The folder in the project stays after the session, because undo needs files in it. So git must ignore it.
        if place.starts_with(self.workspace.root_path()) {
            overflow_file::hide_folder(self.workspace.root()).map_err(|error| failed(&error))?;
        }
        // A process that was killed could not delete its layers.
        layer::delete_leftovers(&layer::layers_in(&place));
        let project = LayeredProject {
            workspace: &self.workspace,
            enclosure: self.enclosure(),
            place: &place,
            output: None,
            limits: Limits::default(),
        };
        wait_for(project.try_out(environment)).map_err(|error| failed(&error))?;
        // An overlay in a user namespace cannot copy an entry of another user or group, so one such entry is tried.
        if let Some(foreign) = self.workspace.masks().first_foreign(&Stop::default())
            && wait_for(project.try_to_change(&foreign, environment)).is_err()
        {
            return Err(text!(
                "{path} belongs to another user or group, so a private copy of it cannot be changed.",
                path = names::display(&foreign)
            ));
        }
        Ok(place)
    }

    /// Returns the output of the session. The first call deletes that of sessions that have ended. Returns `None` if
    /// the folder cannot be created.
    fn open_output(&self, place: &Path) -> Option<&SessionOutput> {
        if self.output.get().is_none() {
            layer::delete_leftovers(&outputs_in(place));
            // If another thread was faster, its folder stays and this one is removed.
            let _ = self.output.set(SessionOutput::create(&outputs_in(place)).ok()?);
        }
        self.output.get()
    }
}

/// Finishes the exchanges of a process that was killed. `state` is the folder of the host's state for the project.
pub(crate) fn finish_exchanges(workspace: &Workspace, state: &Path) {
    // If the host has no folder for this project yet, no exchange can have begun.
    if let Ok(place) = layer::private_folder(workspace.root_path(), state) {
        stash::recover(workspace.root(), &layer::stashes_in(&place));
    }
}

/// Waits for a trial on a new thread, because the caller's may belong to a runtime, which cannot wait for another one.
fn wait_for(trial: impl Future<Output = Result<(), RunError>> + Send) -> Result<(), RunError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(trial)
        });
        thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the trial panicked").into()))
    })
}

impl CommandRunner {
    /// Returns why commands do not run on private copies of the project; `None` if they do. The first call tries it
    /// out.
    pub fn no_private_copies(&self) -> Option<&Text> {
        self.project.private(&self.environment).err()
    }

    /// Returns why commands do not run on private copies, for the first result of a session whose host wants them.
    /// Returns `None` if commands cannot change the project anyway.
    pub(crate) fn take_reason_against_copies(&self) -> Option<Text> {
        let project = &self.project;
        // Without a sandbox, a host that did not ask for private copies needs no reason.
        let is_unwanted = project.settings.mode == Mode::ReadOnly
            || matches!(project.copies, PrivateCopies::NotAskedFor) && !project.is_read_only(&self.environment);
        // The policy has asked before the command whether there are private copies, so the answer is known and nothing
        // is tried here.
        let why = if is_unwanted { None } else { project.private.get()?.as_ref().err() };
        why.filter(|_| !project.said_why.swap(true, Ordering::Relaxed)).cloned()
    }

    /// Adds the argument `write` to the tool, if the project is read-only for commands.
    pub fn with_write(&self, spec: ToolSpec) -> ToolSpec {
        match self.project.is_read_only(&self.environment) {
            true => spec.param(write_argument()),
            false => spec,
        }
    }

    /// Describes the access of commands that do not run on private copies of the project, with the reason.
    pub fn describe_fallback(&self, why: Text) -> Text {
        match self.project.is_read_only(&self.environment) {
            true => text!(
                "Commands do not run on a private copy of the project, which is read-only for them except for build folders: {why}",
                why
            ),
            false => text!("Commands do not run on a private copy of the project: {why}", why),
        }
    }

    /// Returns `true` if the project is read-only for commands: see
    /// [`Facts`](toolfence_policy::Facts::is_project_read_only).
    pub(crate) async fn is_fallback(&self) -> Result<bool, ToolError> {
        let environment = self.environment.clone();
        blocking(&self.project, move |project, _| Ok(project.is_read_only(&environment))).await
    }

    pub(crate) async fn has_private_copies(&self) -> Result<bool, ToolError> {
        let environment = self.environment.clone();
        blocking(&self.project, move |project, _| Ok(project.private(&environment).is_ok())).await
    }

    /// Returns the folder with the layers and stashes, even if this process has run no command.
    pub(crate) fn private_folder(&self) -> Option<PathBuf> {
        let PrivateCopies::In(state) = &self.project.copies else { return None };
        layer::private_folder(self.workspace().root_path(), state).ok()
    }

    /// Returns the output that is not in the project; `None` if this process has run no command on a private copy.
    pub(crate) fn session_output(&self) -> Option<&SessionOutput> {
        self.project.output.get()
    }

    /// Runs a command on a private copy.
    pub(crate) async fn run_on_copy(&self, job: &Job<'_>, folder: &Path, network: bool) -> Result<EndedRun, ToolError> {
        Ok(self.layered_project()?.run(job, folder, network).await.map_err(run_failure)?)
    }

    /// Reads the files that a command wrote on its private copy, or returns why they cannot be read.
    pub(crate) async fn read_copy(
        self: &Arc<CommandRunner>,
        ended: EndedRun,
        noting: &SlowNote<'_>,
    ) -> Result<Result<LayerRun, Text>, ToolError> {
        let read = |commands: &CommandRunner, _: &Stop| {
            Ok(commands.layered_project()?.read(ended).map_err(|error| run_failure(error).message))
        };
        noting
            .report_if_slow(blocking(self, read), || {
                text!("The command has ended. Its changes are being compared with the project.")
            })
            .await
    }

    /// Runs a checker on a private copy and drops its changes.
    pub(crate) async fn check_on_copy(&self, job: &Job<'_>) -> Result<Outcome, ToolError> {
        Ok(self.layered_project()?.run_and_drop(job).await.map_err(run_failure)?)
    }

    fn layered_project(&self) -> Result<LayeredProject<'_>, ToolFailure> {
        let place = self.project.private(&self.environment).map_err(|why| private_copy::failure(why.clone()))?;
        let (workspace, enclosure) = (self.workspace(), self.enclosure());
        let output = self.project.open_output(place);
        Ok(LayeredProject { workspace, enclosure, place, output, limits: Limits::default() })
    }
}

/// Returns the failure for a run on a private copy.
fn run_failure(error: RunError) -> ToolFailure {
    match error {
        RunError::Masks(failure) => failure,
        RunError::System(error) => not_sandboxed(&error),
        RunError::TooLarge(most) => {
            let message = text!(
                "The command wrote more than {most} MiB and was ended. None of its changes are in the project.",
                most = most >> 20
            );
            ToolFailure::new(ErrorCode::TooLarge, message)
        }
        RunError::Unread(error) => ToolFailure::new(
            ErrorCode::IoError,
            text!("the changes of the command cannot be read: {error}", error = error.to_string()),
        ),
    }
}

/// Returns the first mount point below the project's folder, if there is one, because an overlay does not show the
/// files in it.
fn mount_inside(root: &Path) -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        // proc_pid_mountinfo(5): the fifth field is the mount point, with octal escapes.
        let point = unescape(line.split(' ').nth(4)?);
        (point != root && point.starts_with(root)).then_some(point)
    })
}

fn unescape(field: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.get(..3).filter(|_| *first == b'\\');
        let code = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes))
}
