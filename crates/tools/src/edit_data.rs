//! `edit_data`: sets or removes values of a JSON or JSONC file and leaves every other byte unchanged.

use super::Views;
use super::change::{ChangePipeline, output_of};
use super::checks::ChangeOptions;
use serde_json::Value;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{Output, ToolSpec};
use toolfence_workspace::{EditData, EditValue, Workspace};

/// The tool `edit_data`, which is offered only if a persona asks for it.
#[derive(Debug)]
pub(super) struct Data {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Data {
    /// Creates the tool on this pipeline.
    pub(super) fn new(pipeline: &ChangePipeline) -> Data {
        Data { spec: toolfence_policy::toolset::edit_data(), pipeline: pipeline.clone() }
    }
}

impl Tool for Data {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let edits = permit.args().get("edits").and_then(Value::as_array);
        let edits = edits.into_iter().flatten().map(read_edit).collect();
        let wanted = EditData::new(permit.text("path").unwrap_or_default(), edits);
        let options = ChangeOptions::from_permit(&permit);
        let draft =
            move |workspace: &Workspace, _: &Views| workspace.changes().up_to(options.file_bytes).draft_data(&wanted);
        Box::pin(
            self.pipeline.apply(options, draft, Views::record_edit, move |written| output_of(written, options.dry_run)),
        )
    }
}

/// Reads one edit. Its fields were already checked against the spec.
fn read_edit(edit: &Value) -> EditValue {
    EditValue {
        at: edit.get("at").and_then(Value::as_str).unwrap_or_default().to_owned(),
        value: edit.get("value").cloned(),
        remove: edit.get("remove").and_then(Value::as_bool).unwrap_or_default(),
    }
}
