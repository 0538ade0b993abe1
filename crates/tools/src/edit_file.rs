//! `edit_file`: line ranges of one file, all or none, on the file whose lines the model saw.

use super::change::{ChangePipeline, output_of};
use super::checks::How;
use super::{Views, spec_of};
use serde_json::Value;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{Output, ToolSpec};
use toolfence_workspace::{EditFile, EditLines, Workspace};

/// The tool.
#[derive(Debug)]
pub struct Edit {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Edit {
    /// Changes files by this pipeline.
    pub fn new(pipeline: &ChangePipeline) -> Edit {
        Edit { spec: spec_of("edit_file"), pipeline: pipeline.clone() }
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let edits = permit.args().get("edits").and_then(Value::as_array);
        let edits = edits.into_iter().flatten().map(lines_of).collect();
        let wanted = EditFile::new(permit.text("path").unwrap_or_default(), edits);
        let how = How::of(&permit);
        let draft = move |workspace: &Workspace, views: &Views| {
            let base = views.numbered(workspace, &wanted.path);
            workspace.changes().up_to(how.file_bytes).draft_edit(&EditFile { base, ..wanted })
        };
        Box::pin(self.pipeline.make(how, draft, Views::changed, move |written| output_of(written, how.dry_run)))
    }
}

/// One edit; its fields were checked against the spec.
fn lines_of(edit: &Value) -> EditLines {
    let line = |name: &str| edit.get(name).and_then(Value::as_u64).unwrap_or_default();
    let replacement = edit.get("replacement").and_then(Value::as_str).unwrap_or_default().to_owned();
    EditLines { start_line: line("start_line"), end_line: line("end_line"), replacement }
}
