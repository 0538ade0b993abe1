//! The change pipeline: a tool plans its change once, the checks run on the plan, and the pipeline commits the checked
//! plan.
//!
//! A tool that changes files reads its arguments, turns them into a plan, and describes the result.

use super::checks::{ChangeOptions, Checked};
use super::notes::add_notes;
use super::{Checks, Views, blocking};
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_policy::toolbox::ToolError;
use toolfence_protocol::text::Field;
use toolfence_protocol::{Output, Text, ToolFailure, text};
use toolfence_workspace::{Draft, Report, Workspace, WriteReport};

/// The state that the tools that change files share: the project, the file versions that the model saw, and the checks.
#[derive(Debug, Clone)]
pub struct ChangePipeline {
    workspace: Arc<Workspace>,
    views: Views,
    checks: Checks,
}

impl ChangePipeline {
    /// Creates a pipeline with these checks. It refuses to overwrite files that another process changed since `views`
    /// saw them.
    pub fn new(checks: &Checks, views: &Views) -> ChangePipeline {
        ChangePipeline { workspace: Arc::clone(checks.workspace()), views: views.clone(), checks: checks.clone() }
    }

    /// Plans a change with `draft`, checks it, and commits it unless it is a dry run. `remember` records the new
    /// content in the views, and `describe` renders the result.
    pub(super) async fn apply<R: Report>(
        &self,
        options: ChangeOptions,
        draft: impl FnOnce(&Workspace, &Views) -> Result<Draft<R>, ToolFailure> + Send + 'static,
        remember: impl FnOnce(&Views, &R),
        describe: impl FnOnce(&R) -> Output,
    ) -> Result<Output, ToolError> {
        // One plan for all steps: what the checks judge is exactly what is committed.
        let views = self.views.clone();
        let draft = blocking(&self.workspace, move |workspace, _| draft(workspace, &views)).await?;
        Ok(match self.checks.change(draft, options).await? {
            Checked::Made(report, found) => {
                remember(&self.views, &report);
                found.add_to(describe(&report))
            }
            Checked::Refused(output) => output,
        })
    }
}

/// The longest diff in a result, in bytes. Longer ones are omitted.
pub(super) const LONGEST_DIFF: usize = 64 << 10;

/// Returns the result of a tool that changed part of a file, or would change it in a dry run.
pub(super) fn output_of(written: &WriteReport, dry_run: bool) -> Output {
    let mut text = summary(written, dry_run);
    add_notes(&mut text, notes(written));
    let mut data = data_of(written, dry_run);
    data["dry_run"] = dry_run.into();
    let mut output = Output::text(text);
    output.data = Some(data);
    output
}

fn summary(written: &WriteReport, dry_run: bool) -> Text {
    let (name, added, removed) = (&written.shown, written.added, written.removed);
    let mut text = if dry_run { text!("Dry run: nothing was written. ") } else { Text::default() };
    text.push(match (dry_run, written.first_line) {
        _ if !written.changed => text!("{name} would not change; nothing was written.\n", name),
        (false, 0) => text!("{name} changed (+{added} -{removed} lines).\n", name, added, removed),
        (false, line) => {
            text!("{name} changed (+{added} -{removed} lines, from line {line}).\n", name, added, removed, line)
        }
        (true, 0) => text!("{name} would change (+{added} -{removed} lines).\n", name, added, removed),
        (true, line) => {
            text!("{name} would change (+{added} -{removed} lines, from line {line}).\n", name, added, removed, line)
        }
    });
    text
}

/// Returns notes about effects that a reader of the new content may not expect.
pub(super) fn notes(written: &WriteReport) -> Vec<Text> {
    let mut notes = Vec::new();
    if written.kept_crlf {
        notes.push(text!("The CRLF line endings of the old file were kept."));
    }
    if written.kept_bom {
        notes.push(text!("The byte order mark of the old file was kept."));
    }
    if written.reindented {
        notes.push(text!("The passage was found and replaced in the file's own indentation, which has another unit."));
    }
    if !written.restated.is_empty() {
        let lines = written.restated.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let count = written.restated.len();
        notes.push(text!(
            "The replacement repeats {count|a line|lines} next to it that {count|is|are} still there (before the \
             change: {lines}). If that was not meant, remove the doubled {count|line|lines}.",
            count,
            lines
        ));
    }
    if written.broken_links > 0 {
        notes.push(text!(
            "The file had {count} other {count|name|names} (hard links), which keep the old content.",
            count = Field::Grouped(written.broken_links)
        ));
    }
    if !written.lost.is_empty() {
        notes.push(note_lost_attributes(&written.lost));
    }
    if written.changed && diff_of(written).is_none() {
        notes.push(text!("No diff: the change is too big, or the old file was not text."));
    }
    notes
}

/// Returns a note about attributes of the old file that its replacement could not be given.
pub(super) fn note_lost_attributes(lost: &[Text]) -> Text {
    text!(
        "The system did not allow copying its {lost}. Its mode now denies access wherever these did. Tell the user.",
        lost = Text::join(lost.iter().cloned(), ", ")
    )
}

fn diff_of(written: &WriteReport) -> Option<&str> {
    written.diff.as_deref().filter(|diff| diff.len() <= LONGEST_DIFF)
}

/// Returns the data of a result for hosts, in the same form for all tools.
pub(super) fn data_of(written: &WriteReport, dry_run: bool) -> Value {
    let modified: &[&str] = if written.changed && !dry_run { &[&written.path] } else { &[] };
    json!({
        "path": written.path,
        "created": written.created,
        "bytes": written.bytes,
        "diff": diff_of(written),
        "files_modified": modified,
        "rolled_back": false,
        "syntax_error": null,
    })
}
