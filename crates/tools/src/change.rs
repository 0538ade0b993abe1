//! The one way in which tools change files: the change is planned once, the plan is checked, and what was checked is made.
//!
//! A tool of this crate that changes files reads its arguments, says how they become a plan, and words the result.

use super::checks::{Checked, How};
use super::notes::add_notes;
use super::{Checks, Views, blocking};
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_policy::toolbox::ToolError;
use toolfence_protocol::text::Field;
use toolfence_protocol::{Output, Text, ToolFailure, text};
use toolfence_workspace::{Draft, Report, Workspace, Written};

/// What the tools that change files share: the project, what the model saw of its files, and the checks around changes.
#[derive(Debug, Clone)]
pub struct ChangePipeline {
    workspace: Arc<Workspace>,
    views: Views,
    checks: Checks,
}

impl ChangePipeline {
    /// Changes with these checks, which leave files alone that another process changed since these views.
    pub fn new(checks: &Checks, views: &Views) -> ChangePipeline {
        ChangePipeline { workspace: Arc::clone(checks.workspace()), views: views.clone(), checks: checks.clone() }
    }

    /// Plans a change with `draft`, checks it, and makes it unless it is a dry run. `remember` notes in the views what the
    /// change left, and `told` words the result.
    pub(super) async fn make<R: Report>(
        &self,
        how: How,
        draft: impl FnOnce(&Workspace, &Views) -> Result<Draft<R>, ToolFailure> + Send + 'static,
        remember: impl FnOnce(&Views, &R),
        told: impl FnOnce(&R) -> Output,
    ) -> Result<Output, ToolError> {
        let views = self.views.clone();
        let draft = blocking(&self.workspace, move |workspace, _| draft(workspace, &views)).await?;
        Ok(match self.checks.change(draft, how).await? {
            Checked::Made(report, found) => {
                remember(&self.views, &report);
                found.add_to(told(&report))
            }
            Checked::Refused(output) => output,
        })
    }
}

/// A longer diff is left out of the result.
pub(super) const LONGEST_DIFF: usize = 64 << 10;

/// A part of a file was changed, or would be.
pub(super) fn output_of(written: &Written, dry_run: bool) -> Output {
    let mut text = words(written, dry_run);
    add_notes(&mut text, notes(written));
    let mut data = data_of(written, dry_run);
    data["dry_run"] = dry_run.into();
    let mut output = Output::text(text);
    output.data = Some(data);
    output
}

fn words(written: &Written, dry_run: bool) -> Text {
    let (name, added, removed) = (&written.shown, written.added, written.removed);
    let mut text = if dry_run { text!("Dry run: nothing was written. ") } else { Text::default() };
    text.push(match (dry_run, written.first_line) {
        _ if !written.changed => text!("{name} is the same with that; there is nothing to write.\n", name),
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

/// What would surprise a reader of the new content.
pub(super) fn notes(written: &Written) -> Vec<Text> {
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
            "The file had {count} other {count|name|names} (hard links); there the old content remains.",
            count = Field::Grouped(written.broken_links)
        ));
    }
    if !written.lost.is_empty() {
        notes.push(not_carried(&written.lost));
    }
    if written.changed && diff_of(written).is_none() {
        notes.push(text!("No diff: the change is too big for one, or the old file was no text."));
    }
    notes
}

/// What a file in the place of another could not have of it.
pub(super) fn not_carried(lost: &[Text]) -> Text {
    text!(
        "The system refused its {lost}; where that kept people out, its mode does now. Tell the user.",
        lost = Text::join(lost.iter().cloned(), ", ")
    )
}

fn diff_of(written: &Written) -> Option<&str> {
    written.diff.as_deref().filter(|diff| diff.len() <= LONGEST_DIFF)
}

/// For hosts, whichever tool it was.
pub(super) fn data_of(written: &Written, dry_run: bool) -> Value {
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
