//! The tools themselves, one file each: arguments in, the workspace or a process does it, words and data out.
//!
//! No tool knows another, the policy or the session. What the model's strings may open is the workspace's business.

#![forbid(unsafe_code)]

mod apply_patch;
mod bash;
mod change;
mod checks;
mod edit_data;
mod edit_file;
mod job;
mod jobs;
mod list_files;
mod messages;
mod notes;
mod plan;
mod preview;
mod private_copy;
mod read_file;
mod replace_text;
mod run_python;
mod runner;
mod search;
mod terminal;
pub mod validate;
mod views;
mod write_file;

pub use apply_patch::Patch;
pub use bash::Bash;
pub use change::ChangePipeline;
pub use checks::{Checks, PROJECT_CHECK, ProjectChecks, Standing};
pub use edit_file::Edit;
pub use job::Job;
pub use jobs::Jobs;
pub use list_files::List;
pub use plan::Plan;
pub use preview::preview;
pub use read_file::Read;
pub use replace_text::Replace;
pub use run_python::Python;
pub use runner::{CommandRunner, MadeChanges, Service, ServiceWatch, WantedService};
pub use search::Search;
pub use views::Views;
pub use write_file::Write;

use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use toolfence_policy::toolbox::{NoProgress, Progress, ToolError, Toolbox};
use toolfence_protocol::limits::size;
use toolfence_protocol::text::Field;
use toolfence_protocol::{Error, Language, Output, Text, ToolFailure, ToolSpec, clip};
use toolfence_workspace::Stop;

/// The built-in tools on the project of this runner, with the usual checks around changes.
pub fn standard(commands: Arc<CommandRunner>) -> Toolbox {
    let checks = Checks::new(commands);
    checked(&checks)
}

/// The built-in tools with these checks around changes, on the project whose commands the checks run.
pub fn checked(checks: &Checks) -> Toolbox {
    with_pipeline(checks).0
}

/// The tools of [`checked`], and those that a host offers only if a persona asks for them: `plan` and `edit_data`.
pub fn complete(checks: &Checks) -> Toolbox {
    let (tools, pipeline) = with_pipeline(checks);
    tools.with(edit_data::Data::new(&pipeline)).with(Plan::default())
}

fn with_pipeline(checks: &Checks) -> (Toolbox, ChangePipeline) {
    let (workspace, commands) = (checks.workspace(), checks.commands());
    let jobs = Arc::new(Jobs::new(Arc::clone(commands)));
    let views = Views::default();
    let pipeline = ChangePipeline::new(checks, &views);
    let tools = Toolbox::new()
        .with(Read::new(Arc::clone(workspace)).views(&views))
        .with(List::new(Arc::clone(workspace)))
        .with(Search::new(Arc::clone(workspace)))
        .with(Write::new(&pipeline))
        .with(Edit::new(&pipeline))
        .with(Replace::new(&pipeline))
        .with(Patch::new(&pipeline))
        .with(Bash::new(Arc::clone(&jobs)))
        .with(Python::new(Arc::clone(&jobs)))
        .with(Job::new(jobs));
    (tools, pipeline)
}

/// The spec of a tool of this folder.
fn spec_of(name: &'static str) -> ToolSpec {
    toolfence_policy::toolset::builtin(name)
        .expect("every tool of this folder is in the table of built-in tools")
        .clone()
}

/// How often a walk says how far it is.
const BETWEEN_NOTES: Duration = Duration::from_secs(1);

/// Runs blocking work on a thread made for that. Dropping the future asks the work to stop.
async fn blocking<C, T, W>(context: &Arc<C>, work: W) -> Result<T, ToolError>
where
    C: Send + Sync + 'static,
    T: Send + 'static,
    W: FnOnce(&C, &Stop) -> Result<T, ToolFailure> + Send + 'static,
{
    watched(context, &NoProgress, Language::default(), work).await
}

/// Runs blocking work that walks a tree like [`blocking`], and tells now and then how much of the tree was seen.
async fn watched<C, T, W>(
    context: &Arc<C>,
    progress: &dyn Progress,
    language: Language,
    work: W,
) -> Result<T, ToolError>
where
    C: Send + Sync + 'static,
    T: Send + 'static,
    W: FnOnce(&C, &Stop) -> Result<T, ToolFailure> + Send + 'static,
{
    let stop = Arc::new(Stop::default());
    let guard = StopOnDrop(Arc::clone(&stop));
    let context = Arc::clone(context);
    // The thread knows nothing of the task: what happens there is told as part of the call too.
    let span = tracing::Span::current();
    let mut working = tokio::task::spawn_blocking(move || span.in_scope(|| work(&context, &stop)));
    let done = loop {
        match tokio::time::timeout(BETWEEN_NOTES, &mut working).await {
            Ok(done) => break done,
            Err(_) if guard.0.seen() == 0 => {}
            Err(_) => progress.note(&messages::seen_so_far(Field::Grouped(guard.0.seen())).into_string(language)),
        }
    };
    drop(guard);
    let result = done.map_err(|cause| ToolError::Fatal(Error::because(messages::finish_a_tool(), cause)))?;
    result.map_err(ToolError::Respond)
}

struct StopOnDrop(Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The text as a result in a language, of at most `most` bytes. `cut` says whether the tool left something out already.
fn capped(text: Text, cut: bool, language: Language, most: u64) -> Output {
    let text = text.into_string(language);
    let total_bytes = text.len() as u64;
    if total_bytes <= most {
        let mut output = Output::text(text);
        output.truncated = cut;
        return output;
    }
    let mut output = Output::text(clip::clip(&text, size(most), language).text);
    output.total_bytes = total_bytes;
    output.truncated = true;
    output
}

/// The first items for a host, in no more bytes than a text may have.
fn within(most: u64, items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut room = most;
    let fits = |item: &Value| {
        let length = item.to_string().len() as u64 + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    items.take_while(fits).collect()
}

/// What has to be said of names that stand in quotes, and of those that no call can give.
fn notes_on_names(quoted: bool, unnameable: bool) -> impl Iterator<Item = Text> {
    let quoted = quoted.then(messages::quoted_paths);
    let unnameable = unnameable.then(messages::unnameable_paths);
    quoted.into_iter().chain(unnameable)
}

/// The notes behind a text, each on a line of its own.
fn with_notes(text: String, notes: impl IntoIterator<Item = Text>) -> Text {
    let mut text = Text::from(text);
    for note in notes {
        text.push(note);
        text.push("\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use toolfence_policy::rules::PathRules;
    use toolfence_workspace::{ListFiles, Workspace};

    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Progress for Notes {
        fn note(&self, text: &str) {
            self.0.lock().expect("nobody panics").push(text.to_owned());
        }
    }

    #[test]
    fn a_long_walk_says_how_far_it_is() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        (0..3).for_each(|n| std::fs::write(home.path().join(n.to_string()), "").expect("it can be written"));
        let workspace = Arc::new(Workspace::open(home.path(), PathRules::default()).expect("it is a folder"));
        let notes = Notes::default();
        let work = |workspace: &Workspace, stop: &Stop| {
            let listing = workspace.files().list(&ListFiles::new("."), stop)?;
            std::thread::sleep(BETWEEN_NOTES + BETWEEN_NOTES / 2);
            Ok(listing.entries.len())
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let done = runtime.block_on(watched(&workspace, &notes, Language::English, work));
        assert_eq!(done.ok(), Some(3));
        assert_eq!(*notes.0.lock().expect("nobody panics"), ["3 files and folders so far"]);
    }
}
