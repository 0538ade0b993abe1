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

/// The notes behind a text, each on a line of its own.
fn with_notes(text: String, notes: impl IntoIterator<Item = Text>) -> Text {
    let mut text = Text::from(text);
    for note in notes {
        text.push(note);
        text.push("\n");
    }
    text
}
