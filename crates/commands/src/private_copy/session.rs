//! Output that stays with the session: see [`crate::session_output`].

use super::sorted::{Sorted, is_new_folder};
use super::{MOST_NAMED, exchange, failure, plan};
use crate::layer::{Change, ChangeKind, Layer, Limits, layers_in};
use crate::run::LayerRun;
use crate::runner::CommandRunner;
use crate::session_output::{SessionOutput, Unit, Units, outputs_in};
use crate::{keep, output};
use rustix::fd::AsFd;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};
use toolfence_sandbox::process::Outcome;
use toolfence_workspace::{Access, Stop, Workspace, names};

/// A folder or file of output, and the number of files that were written in it.
type OutputCount = (PathBuf, usize);

/// Moves the output of a command out of its layer, for the next commands of the session. With `keeps_changes`, the
/// changes are put into the project afterwards, so its new folders will exist.
pub(super) fn leave_with_session(
    workspace: &Workspace,
    commands: &CommandRunner,
    run: &LayerRun,
    sorted: &Sorted,
    keeps_changes: bool,
) -> Result<(), ToolFailure> {
    let Some(session) = commands.session_output() else { return Ok(()) };
    let git = workspace.root().programs().git();
    let folders = output::ignored_folders(git, workspace.root_path(), sorted.output_paths().cloned().collect());
    let mut files: BTreeMap<&Path, usize> = folders.iter().map(|folder| (folder.as_path(), 0)).collect();
    let mut refused: HashSet<&Path> = HashSet::new();
    let left_out: HashSet<&Path> = sorted.left_out.iter().map(|(path, _)| path.as_path()).collect();
    for change in &run.changes {
        let path = change.path.as_path();
        let unit = path.ancestors().find_map(|above| files.get_key_value(above)).map(|(unit, _)| *unit);
        let Some(unit) = unit else {
            if is_new_folder(change) && !keeps_changes && !sorted.is_output(path) {
                // The project will not have this new folder, and a unit needs the folders above it.
                refused.extend(folders.iter().filter(|folder| folder.starts_with(path)).map(PathBuf::as_path));
            }
            continue;
        };
        let is_new = matches!(change.kind, ChangeKind::Added(_) | ChangeKind::Special);
        if sorted.is_output(path) {
            *files.entry(unit).or_default() += usize::from(!is_new_folder(change));
        } else if left_out.contains(path) && is_new {
            // Entries that are never kept, such as files with blocked names, do not stay with the session either.
            keep::delete(&run.layer, path).map_err(|errno| failure(Text::from(&io::Error::from(errno))))?;
        } else if change.kind != ChangeKind::Touched {
            // A part of this folder is not output, and the rest alone could be inconsistent.
            refused.insert(unit);
        }
    }
    let system = |error: io::Error| failure(Text::from(&error));
    let root = workspace.root().folder(".")?;
    let units = session.units().map_err(system)?;
    for (path, files) in files.into_iter().filter(|(path, _)| !refused.contains(path)) {
        units.store(&run.layer, root.as_fd(), (path, files), run.since).map_err(system)?;
    }
    Ok(())
}

/// Returns the sessions whose output can be kept: this one, or all if this process has run no command.
fn sessions(commands: &CommandRunner) -> Vec<Session<'_>> {
    match (commands.session_output(), commands.private_folder()) {
        (Some(own), _) => vec![Session::Own(own)],
        (None, Some(place)) => SessionOutput::all(&outputs_in(&place)).into_iter().map(Session::Other).collect(),
        (None, None) => Vec::new(),
    }
}

enum Session<'a> {
    Own(&'a SessionOutput),
    Other(SessionOutput),
}

impl Session<'_> {
    fn output(&self) -> &SessionOutput {
        match self {
            Session::Own(output) => output,
            Session::Other(output) => output,
        }
    }
}

impl CommandRunner {
    /// Returns the output of commands that is not in the project: each folder or file, with the number of files that
    /// were written in it. The output is that of this session. If this process has run no command on a private copy, it
    /// is that of all sessions that still have some.
    ///
    /// # Errors
    /// The output cannot be read.
    pub fn output_of_session(&self) -> Result<Vec<OutputCount>, ToolFailure> {
        let mut listed = Vec::new();
        for session in sessions(self) {
            let units = session.output().units().map_err(|error| failure(Text::from(&error)))?;
            listed.extend(units.list().into_iter().map(|unit| (unit.path, unit.files)));
        }
        listed.sort();
        Ok(listed)
    }

    /// Puts the output at and below `path`, which is relative to the project, into the project. Returns the folders and
    /// files with the number of files that were written in them, and notes about them.
    ///
    /// # Errors
    /// There is no such output, or the project's folder has changed since the command; the project's version then
    /// stays.
    pub fn keep_output(&self, path: &Path) -> Result<(Vec<OutputCount>, Vec<Text>), ToolFailure> {
        let is_wanted =
            |unit: &Unit| path.as_os_str().is_empty() || path == Path::new(".") || unit.path.starts_with(path);
        for session in sessions(self) {
            let units = session.output().units().map_err(|error| failure(Text::from(&error)))?;
            let wanted: Vec<Unit> = units.list().into_iter().filter(is_wanted).collect();
            if !wanted.is_empty() {
                let notes = put_units(self, &units, &wanted)?;
                return Ok((wanted.into_iter().map(|unit| (unit.path, unit.files)).collect(), notes));
            }
        }
        let message = text!(
            "There is no output of commands at {path}. Without a path, the folders are listed.",
            path = names::display(path)
        );
        Err(ToolFailure::new(ErrorCode::NotFound, message))
    }
}

/// Puts units into the project, as if one command had just written them.
fn put_units(commands: &CommandRunner, units: &Units<'_>, wanted: &[Unit]) -> Result<Vec<Text>, ToolFailure> {
    let workspace = commands.workspace();
    let system = |error: io::Error| failure(Text::from(&error));
    let root = workspace.root().folder(".")?;
    if let Some(newer) = wanted.iter().find_map(|unit| unit.changed_in_project(root.as_fd())) {
        let message = text!(
            "{path} in the project is newer than the output of the command, which was not put there. Run the command again.",
            path = names::display(&newer)
        );
        return Err(ToolFailure::new(ErrorCode::Conflict, message));
    }
    let place = commands.private_folder().ok_or_else(|| failure(text!("there is no place for it")))?;
    // The earliest moment finds every change of the project since one of the commands.
    let since = wanted.iter().map(|unit| unit.since).min().ok_or_else(|| failure(text!("there is no place for it")))?;
    let masks = workspace.masks().find(Access::Copy, &Stop::default())?;
    // A new layer with the units goes the same way as that of a command, so that the same rules apply.
    let layer = Layer::create(&layers_in(&place), root.as_fd()).map_err(system)?;
    for unit in wanted {
        units.move_into(&layer, root.as_fd(), unit).map_err(system)?;
    }
    let changes = layer.changes(root.as_fd(), Limits::default(), &|| false);
    let changes: Vec<Change> = changes.map_err(|error| failure(error.to_string().into()))?;
    let is_output = output::is_output(workspace.root().programs().git(), workspace.root_path(), &changes);
    let run = LayerRun {
        outcome: Outcome::default(),
        layer,
        changes,
        is_output,
        since,
        masks,
        from_session: Vec::new(),
        outdated: Vec::new(),
    };
    let sorted = Sorted::new(workspace, &run);
    let paths = sorted.paths_of_output(&run.changes, &HashSet::new());
    let stash = plan(workspace, commands, &run, &paths)?;
    exchange(workspace, stash, &|path| !sorted.is_output(path))?;
    let note = |(path, why): &(PathBuf, Text)| {
        text!("Not kept: {names}: {why}", names = names::display(path), why = why.clone())
    };
    Ok(sorted.left_out.iter().take(MOST_NAMED).map(note).collect())
}
