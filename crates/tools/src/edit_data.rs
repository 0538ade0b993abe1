//! `edit_data`: values of a JSON or JSONC file set or removed, where everything else stays byte for byte.

use super::Views;
use super::change::{ChangePipeline, output_of};
use super::checks::How;
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
    /// Changes files by this pipeline.
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
        let edits = edits.into_iter().flatten().map(value_of).collect();
        let wanted = EditData::new(permit.text("path").unwrap_or_default(), edits);
        let how = How::of(&permit);
        let draft =
            move |workspace: &Workspace, _: &Views| workspace.changes().up_to(how.file_bytes).draft_data(&wanted);
        Box::pin(self.pipeline.make(how, draft, Views::changed, move |written| output_of(written, how.dry_run)))
    }
}

/// One edit; its fields were checked against the spec.
fn value_of(edit: &Value) -> EditValue {
    EditValue {
        at: edit.get("at").and_then(Value::as_str).unwrap_or_default().to_owned(),
        value: edit.get("value").cloned(),
        remove: edit.get("remove").and_then(Value::as_bool).unwrap_or_default(),
    }
}
