//! The built-in tools, one per file. Each takes arguments, acts through the workspace or a child process, and returns
//! text and data.
//!
//! No tool knows another tool, the policy or the session. The workspace decides which paths the model's strings may
//! open.

#![forbid(unsafe_code)]

mod apply_patch;
mod bash;
mod change;
mod checks;
mod edit_data;
mod edit_file;
mod job;
mod list_files;
mod notes;
mod plan;
mod read_file;
mod replace_text;
mod run_python;
mod search;
pub mod validate;
mod views;
mod write_file;

pub use apply_patch::Patch;
pub use bash::Bash;
pub use change::ChangePipeline;
pub use checks::{Checks, PROJECT_CHECK, ProjectChecks, Standing};
pub use edit_file::Edit;
pub use job::Job;
pub use list_files::List;
pub use plan::Plan;
pub use read_file::Read;
pub use replace_text::Replace;
pub use run_python::Python;
pub use search::Search;
pub use toolfence_commands::jobs::Jobs;
pub use toolfence_commands::runner::{CommandRunner, MadeChanges, Service, ServiceWatch, WantedService};
pub use views::Views;
pub use write_file::Write;

use serde_json::Value;
use std::sync::Arc;
use toolfence_commands::{blocking, watched};
use toolfence_policy::toolbox::Toolbox;
use toolfence_protocol::limits::size;
use toolfence_protocol::{Language, Output, Text, ToolSpec, clip, text};

/// Returns the built-in tools for the project of `commands`, with the usual checks around changes.
pub fn standard(commands: Arc<CommandRunner>) -> Toolbox {
    let checks = Checks::new(commands);
    checked(&checks)
}

/// Returns the built-in tools with these checks around changes, for the project whose commands the checks run.
pub fn checked(checks: &Checks) -> Toolbox {
    with_pipeline(checks).0
}

/// Returns the tools of [`checked`] together with `plan` and `edit_data`, which a host offers only if a persona asks
/// for them.
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

/// Returns the spec of a tool of this crate.
fn spec_of(name: &'static str) -> ToolSpec {
    toolfence_policy::toolset::builtin(name)
        .expect("every tool of this crate is in the table of built-in tools")
        .clone()
}

/// Renders `text` in `language` as a result of at most `most` bytes. `cut` says whether the tool has already left
/// something out.
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

/// Returns the leading items that fit into `most` bytes of JSON, for a host.
fn take_within(most: u64, items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut room = most;
    let fits = |item: &Value| {
        let length = item.to_string().len() as u64 + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    items.take_while(fits).collect()
}

/// Returns notes that explain quoted names and names that no call can contain.
fn notes_on_names(quoted: bool, unnameable: bool) -> impl Iterator<Item = Text> {
    let quoted = quoted.then(|| {
        text!(
            "[A path in double quotes is written with C escapes (\\n is a line feed, \\351 a byte in octal). In a call \
             give the characters themselves, without the quotes. Use a command to rename a file whose name has a \
             control character.]"
        )
    });
    let unnameable = unnameable.then(|| {
        text!(
            "[A path with bytes that are not UTF-8 cannot be opened by a tool. Rename it with a command first, or ask \
             the user to.]"
        )
    });
    quoted.into_iter().chain(unnameable)
}

/// Appends the notes to the text, each on a line of its own.
fn with_notes(text: String, notes: impl IntoIterator<Item = Text>) -> Text {
    let mut text = Text::from(text);
    for note in notes {
        text.push(note);
        text.push("\n");
    }
    text
}
