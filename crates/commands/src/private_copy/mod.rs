//! Commands on a private copy of the project: decides which of the files that a command wrote are put into the project.
//!
//! When the command has ended, its layer is sorted into changes, build output and entries that cannot be kept. The
//! rules or the user decide, and the accepted files are exchanged with the project's: all changes or none.

mod question;
mod repositories;
mod session;
mod sorted;

use crate::blocking;
use crate::keep;
use crate::layer::{Change, ChangeKind, stashes_in};
use crate::run::LayerRun;
use crate::runner::CommandRunner;
use rustix::io::Errno;
use serde_json::json;
use sorted::{Sorted, group_of};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use toolfence_policy::Consent;
use toolfence_policy::toolbox::{Permit, Progress, ToolError};
use toolfence_protocol::{ErrorCode, Language, Output, Text, ToolFailure, text};
use toolfence_workspace::stash::{ExchangeError, Stash};
use toolfence_workspace::{Stop, Workspace, names};

/// The most names in a note for the model. The others are counted.
const MOST_NAMED: usize = 8;

/// The most names in the data for a host.
const MOST_IN_DATA: usize = 500;

/// The files of a command that are in the project now, and those that are not.
#[derive(Debug, Default)]
pub(crate) struct KeptChanges {
    kept: Vec<PathBuf>,
    /// The amount of changes: see [`Sorted::amount`].
    amount: Text,
    /// Changes that are not in the project, with the reason.
    not_kept: Option<(Vec<PathBuf>, Text)>,
    /// Entries that can never be kept, each with the reason.
    left_out: Vec<(PathBuf, Text)>,
    output: Vec<PathBuf>,
    /// Output that is not in the project: each folder or file with the number of files in it.
    output_not_kept: Vec<(PathBuf, usize)>,
    notes: Vec<Text>,
}

/// The facts and the permit that decide about the files of one command.
pub(crate) struct Acceptance<'a> {
    /// The permit of the call; without one, changes are dropped and output is kept.
    pub(crate) permit: Option<&'a Permit<'a>>,
    pub(crate) progress: &'a dyn Progress,
    /// Whether the user has approved the network for the command while the call ran.
    pub(crate) has_network: bool,
}

/// Reports the current step after a command has ended, if it takes long.
#[derive(Clone, Copy)]
pub(crate) struct SlowNote<'a> {
    pub(crate) progress: &'a dyn Progress,
    pub(crate) language: Language,
}

impl SlowNote<'_> {
    /// Waits for work. Reports `note` if it takes longer than two seconds.
    pub(crate) async fn report_if_slow<T>(&self, work: impl Future<Output = T>, note: impl FnOnce() -> Text) -> T {
        const QUIET: Duration = Duration::from_secs(2);
        let mut work = pin!(work);
        if let Ok(done) = tokio::time::timeout(QUIET, &mut work).await {
            return done;
        }
        self.progress.note(&note().into_string(self.language));
        work.await
    }
}

/// Decides whether the changes are kept; the error is the reason why they are not.
async fn accept_changes(
    commands: &CommandRunner,
    run: &Arc<LayerRun>,
    sorted: &Arc<Sorted>,
    command: &str,
    asks: &Acceptance<'_>,
) -> Result<Result<(), Text>, ToolError> {
    let Acceptance { permit, progress, .. } = *asks;
    // The user must see changes that instruct agents, and the changes of a command that was killed in the middle of its
    // work.
    let needs_answer = !sorted.instructions.is_empty() || run.outcome.timed_out || run.outcome.stopped;
    let consent = match sorted.repositories.lose_history() {
        true => permit.map_or(Consent::Refused, Permit::consent_to_lost_history),
        false => permit.map_or(Consent::Refused, Permit::consent_to_changes),
    };
    let keeping = match consent {
        Consent::Given if needs_answer => Consent::Ask,
        keeping => keeping,
    };
    Ok(match (keeping, permit) {
        (Consent::Given, _) => Ok(()),
        (Consent::Ask, Some(permit)) => {
            let language = permit.language();
            let (run, sorted, command) = (Arc::clone(run), Arc::clone(sorted), command.to_owned());
            let write = move |workspace: &Workspace, _: &Stop| {
                Ok(question::about_changes(workspace, &run, &sorted, &command, language))
            };
            let (summary, files, details) = blocking(commands.workspace(), write).await?;
            progress.ask(permit.ask_about_changes(summary, files, details)).await
        }
        _ => Err(text!("this conversation is in plan mode")),
    })
}

/// Decides whether the build output is put into the project.
async fn accept_output(
    commands: &CommandRunner,
    run: &Arc<LayerRun>,
    sorted: &Arc<Sorted>,
    command: &str,
    asks: &Acceptance<'_>,
) -> Result<bool, ToolError> {
    let Acceptance { permit, progress, has_network } = *asks;
    Ok(match (permit.map_or(Consent::Given, Permit::consent_to_output), permit) {
        (Consent::Given, _) => true,
        (Consent::Ask, _) if has_network => true,
        (Consent::Ask, Some(permit)) => {
            let language = permit.language();
            let (run, sorted, command) = (Arc::clone(run), Arc::clone(sorted), command.to_owned());
            let write = move |workspace: &Workspace, _: &Stop| {
                Ok(question::about_output(workspace, &run, &sorted, &command, language))
            };
            let (summary, details) = blocking(commands.workspace(), write).await?;
            progress.ask(permit.ask_about_output(summary, details)).await.is_ok()
        }
        _ => false,
    })
}

/// Decides about the files that a command wrote, and puts the accepted ones into the project.
pub(crate) async fn keep_accepted(
    commands: &Arc<CommandRunner>,
    run: LayerRun,
    command: &str,
    asks: &Acceptance<'_>,
) -> Result<KeptChanges, ToolError> {
    let Acceptance { permit, progress, .. } = *asks;
    // First phase: sort the entries and determine what the permit allows.
    let run = Arc::new(run);
    let sort = {
        let run = Arc::clone(&run);
        move |workspace: &Workspace, _: &Stop| Ok(Sorted::new(workspace, &run))
    };
    let language = permit.map(Permit::language).unwrap_or_default();
    let (noting, entries) = (SlowNote { progress, language }, run.changes.len() as u64);
    let sorting = || text!("Sorting {entries} changed {entries|entry|entries}.", entries);
    let sorted = Arc::new(noting.report_if_slow(blocking(commands.workspace(), sort), sorting).await?);
    let mut settled =
        KeptChanges { left_out: sorted.left_out.clone(), amount: sorted.amount(), ..KeptChanges::default() };
    let keeps_changes = match sorted.changes.is_empty() {
        true => Ok(()),
        false => accept_changes(commands, &run, &sorted, command, asks).await?,
    };
    // Second phase: decide about the build output.
    let keeps_output = !sorted.output.is_empty() && accept_output(commands, &run, &sorted, command, asks).await?;
    let (wanted_changes, wanted_output) = (keeps_changes.is_ok() && !sorted.changes.is_empty(), keeps_output);
    // Third phase: output that is not put into the project moves to the session. This precedes the changes, because a
    // new folder is put into the project as a whole, and its unwanted entries are deleted.
    settled.notes = run.outdated.iter().map(|path| outdated(path)).collect();
    if !sorted.output.is_empty() && !keeps_output {
        settled.notes.extend(leave_output(commands, &run, &sorted, wanted_changes).await?);
    }
    // Last phase: put the accepted entries into the project and list the outcome.
    let keep = {
        let (run, sorted, commands) = (Arc::clone(&run), Arc::clone(&sorted), Arc::clone(commands));
        move |workspace: &Workspace, _: &Stop| {
            Ok(put_into_project(workspace, &commands, &run, &sorted, (wanted_changes, wanted_output)))
        }
    };
    let putting = || text!("Putting {entries} changed {entries|entry|entries} into the project.", entries);
    let put = if wanted_changes || wanted_output {
        noting.report_if_slow(blocking(commands.workspace(), keep), putting).await?
    } else {
        PutEntries::default()
    };
    settled.notes.extend(put.notes);
    let changed = sorted.changed_names();
    match (keeps_changes, put.changes) {
        _ if changed.is_empty() => {}
        (Err(why), _) | (Ok(()), Err(why)) => settled.not_kept = Some((changed, why)),
        (Ok(()), Ok(())) => settled.kept = changed,
    }
    for group in &sorted.output {
        match put.output.contains(&group.path) {
            true => settled.output.push(group.path.clone()),
            // The result of the command that wrote this output has already named it.
            false if run.from_session.iter().any(|unit| unit.path.starts_with(&group.path)) => {}
            false if group.files == 0 && group.removed > 0 => settled.notes.push(text!(
                "Still in the project: {path}, of which the command removed files on its private copy",
                path = names::display(&group.path)
            )),
            false => settled.output_not_kept.push((group.path.clone(), group.files)),
        }
    }
    Ok(settled)
}

fn outdated(path: &Path) -> Text {
    text!(
        "The output of earlier commands in {path} was dropped, because the project's {path} has changed since.",
        path = names::display(path)
    )
}

/// Leaves the output of a command with the session. Returns a note if that fails.
async fn leave_output(
    commands: &Arc<CommandRunner>,
    run: &Arc<LayerRun>,
    sorted: &Arc<Sorted>,
    keeps_changes: bool,
) -> Result<Option<Text>, ToolError> {
    let (run, sorted, commands) = (Arc::clone(run), Arc::clone(sorted), Arc::clone(commands));
    let workspace = Arc::clone(commands.workspace());
    let leave = move |workspace: &Workspace, _: &Stop| {
        let left = session::leave_with_session(workspace, &commands, &run, &sorted, keeps_changes);
        Ok(left.err().map(|failure| text!("The output of the command was dropped: {why}", why = failure.message)))
    };
    blocking(&workspace, leave).await
}

/// Returns the output that was in the layer of a command to the session, and drops the command's changes.
pub(crate) async fn discard(commands: &Arc<CommandRunner>, run: LayerRun) -> Result<(), ToolError> {
    // Without output of earlier commands, dropping `run` deletes everything with the layer.
    if run.from_session.is_empty() {
        return Ok(());
    }
    let run = Arc::new(run);
    let sort = {
        let run = Arc::clone(&run);
        move |workspace: &Workspace, _: &Stop| Ok(Sorted::new(workspace, &run))
    };
    let sorted = Arc::new(blocking(commands.workspace(), sort).await?);
    leave_output(commands, &run, &sorted, false).await.map(drop)
}

/// The entries that were put into the project.
struct PutEntries {
    changes: Result<(), Text>,
    /// The groups of output.
    output: HashSet<PathBuf>,
    notes: Vec<Text>,
}

impl Default for PutEntries {
    fn default() -> PutEntries {
        PutEntries { changes: Ok(()), output: HashSet::new(), notes: Vec::new() }
    }
}

fn put_into_project(
    workspace: &Workspace,
    commands: &CommandRunner,
    run: &LayerRun,
    sorted: &Sorted,
    (changes, output): (bool, bool),
) -> PutEntries {
    let mut put = PutEntries::default();
    let is_output = |path: &Path| sorted.is_output(path);
    let is_undone = |path: &Path| !sorted.is_output(path) && !sorted.is_in_repository(path);
    let with_changes = if changes { sorted.paths_of_changes(output) } else { HashSet::new() };
    // Both plans precede both exchanges: the second plan would take the first exchange for a change by another process.
    let planned_changes = plan(workspace, commands, run, &with_changes);
    // Output is exchanged first. If the command moved a file from the sources into a build folder, the file must arrive
    // there before the removal of the old path is kept.
    let mut failed = None;
    if output {
        let wanted = sorted.paths_of_output(&run.changes, &with_changes);
        match plan(workspace, commands, run, &wanted).and_then(|stash| exchange(workspace, stash, &is_undone)) {
            Ok(()) => put.output.extend(wanted.iter().filter_map(|path| group_of(path))),
            Err(failure) => {
                let why = failure.message.clone();
                put.notes.push(text!("The output of the command was not put into the project: {why}", why));
                // Without the output, changes that remove an entry fail, too: the entry may have been moved into the
                // output.
                failed =
                    Some(failure).filter(|_| sorted.changes.iter().any(|change| change.kind == ChangeKind::Removed));
            }
        }
    }
    let exchanged = match (planned_changes, failed) {
        (Ok(stash), None) => exchange(workspace, stash, &is_undone),
        (Ok(stash), Some(failure)) => {
            stash.into_iter().for_each(|stash| _ = stash.delete());
            Err(failure)
        }
        (Err(failure), _) => Err(failure),
    };
    match exchanged {
        Ok(()) => {
            // The folder of a kept change was put into the project together with the output in it.
            put.output.extend(with_changes.iter().filter(|path| is_output(path)).filter_map(|path| group_of(path)));
        }
        Err(failure) => put.changes = Err(failure.message),
    }
    put
}

/// Plans the exchange of these entries of the layer with those of the project; `None` if `wanted` is empty.
fn plan(
    workspace: &Workspace,
    commands: &CommandRunner,
    run: &LayerRun,
    wanted: &HashSet<&Path>,
) -> Result<Option<Stash>, ToolFailure> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let place = commands
        .private_folder()
        .map(|place| stashes_in(&place))
        .ok_or_else(|| failure(text!("there is no place for it")))?;
    let is_wanted = |change: &Change| wanted.contains(change.path.as_path());
    let planned = keep::plan(&run.layer, workspace.root(), &run.changes, &is_wanted, &place, run.since);
    planned.map(Some).map_err(|error| exchange_failure(&error))
}

/// Exchanges the planned entries with those of the project, all or none. Undo covers the paths for which `is_undone`
/// returns `true`.
fn exchange(workspace: &Workspace, stash: Option<Stash>, is_undone: &dyn Fn(&Path) -> bool) -> Result<(), ToolFailure> {
    let Some(stash) = stash else { return Ok(()) };
    workspace.changes().exchange(stash, is_undone).map_err(|error| exchange_failure(&error))
}

fn exchange_failure(error: &ExchangeError) -> ToolFailure {
    let conflict = |paths: &[PathBuf]| {
        let named = first_names(paths.iter().map(PathBuf::as_path), paths.len());
        ToolFailure::new(ErrorCode::Conflict, text!("another process changed {names} in the meantime", names = named))
    };
    match error {
        ExchangeError::Conflict(paths) => conflict(paths),
        // A folder on the path has become a link since the command ran.
        ExchangeError::System(path, Errno::LOOP) => conflict(std::slice::from_ref(path)),
        ExchangeError::System(path, errno) => {
            let error = Text::from(&std::io::Error::from(*errno));
            failure(text!("{path}: {error}", path = names::display(path), error))
        }
        ExchangeError::Plan(error) => failure(Text::from(error)),
    }
}

/// Returns the failure for a private copy that cannot be created or read.
pub(crate) fn failure(why: Text) -> ToolFailure {
    ToolFailure::new(ErrorCode::IoError, text!("The private copy of the project cannot be used: {why}", why))
}

/// Returns the first names, and the number of the others.
fn first_names<'p>(paths: impl Iterator<Item = &'p Path>, count: usize) -> Text {
    let first: Vec<String> = paths.take(MOST_NAMED).map(names::display).collect();
    let more = count.saturating_sub(MOST_NAMED);
    let first = first.join(", ");
    if more == 0 { first.into() } else { text!("{names} and {count} more", names = first, count = more as u64) }
}

impl KeptChanges {
    /// Returns the outcome for a layer that could not be read: nothing is kept.
    pub(crate) fn unread_layer(why: Text) -> KeptChanges {
        // The session cancels later writing calls of a reply if this list has an entry: they must not build on lost
        // changes.
        KeptChanges { not_kept: Some((vec![PathBuf::from(".")], why)), ..KeptChanges::default() }
    }

    /// Adds the files that were kept and those that were not to the result of the command.
    pub(crate) fn put_into(self, output: &mut Output) {
        let mut lines = Vec::new();
        if !self.kept.is_empty() {
            lines.push(text!("Kept: {amount}", amount = self.amount));
        }
        if let Some((paths, why)) = &self.not_kept {
            let names = first_names(paths.iter().map(PathBuf::as_path), paths.len());
            lines.push(text!("Not kept: {names}: {why}", names, why = why.clone()));
        }
        for (path, why) in self.left_out.iter().take(MOST_NAMED) {
            lines.push(text!("Not kept: {names}: {why}", names = names::display(path), why = why.clone()));
        }
        if let Some(more) = self.left_out.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            lines.push(text!("Not kept: {count} more {count|entry|entries}", count = more as u64));
        }
        let mut text = Text::default();
        for line in lines {
            text.push("[");
            text.push(line);
            text.push("]\n");
        }
        text.push(std::mem::take(&mut output.text));
        for (path, files) in self.output_not_kept.iter().take(MOST_NAMED) {
            let note = text!(
                "Not in the project: {path} ({count} {count|file|files})",
                path = names::display(path),
                count = *files as u64
            );
            crate::runner::add_note(&mut text, note);
        }
        if let Some(more) = self.output_not_kept.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            crate::runner::add_note(
                &mut text,
                text!("Not in the project: {count} more {count|entry|entries}", count = more as u64),
            );
        }
        for note in self.notes {
            crate::runner::add_note(&mut text, note);
        }
        output.text = text;
        let shown = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().take(MOST_IN_DATA).map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let left_out: Vec<PathBuf> = self.left_out.into_iter().map(|(path, _)| path).collect();
        let not_kept = self.not_kept.map(|(paths, _)| paths).unwrap_or_default();
        let has_any = [&self.kept, &not_kept, &left_out, &self.output].iter().any(|paths| !paths.is_empty())
            || !self.output_not_kept.is_empty();
        if has_any {
            let data = output.data.get_or_insert_with(|| json!({}));
            data["changes"] = json!({
                "kept": shown(&self.kept),
                "not_kept": shown(&not_kept),
                "left_out": shown(&left_out),
                "output": shown(&self.output),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::sync::oneshot;

    /// Stops the work at the first note.
    struct EndsWork {
        end: Mutex<Option<oneshot::Sender<()>>>,
        notes: Mutex<Vec<String>>,
    }

    impl Progress for EndsWork {
        fn note(&self, text: &str) {
            self.notes.lock().unwrap().push(text.to_owned());
            let _ = self.end.lock().unwrap().take().expect("there is one note").send(());
        }
    }

    #[test]
    fn slow_work_is_reported_once() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (end, ended) = oneshot::channel();
        let progress = EndsWork { end: Mutex::new(Some(end)), notes: Mutex::default() };
        let noting = SlowNote { progress: &progress, language: Language::English };
        let note = || text!("Putting {entries} changed {entries|entry|entries} into the project.", entries = 3_u64);
        runtime.block_on(noting.report_if_slow(std::future::ready(()), note));
        assert!(progress.notes.lock().unwrap().is_empty());
        runtime.block_on(noting.report_if_slow(ended, note)).expect("the note ended it");
        assert_eq!(*progress.notes.lock().unwrap(), ["Putting 3 changed entries into the project."]);
    }
}
