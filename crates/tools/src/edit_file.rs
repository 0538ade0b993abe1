//! `edit_file`: replaces line ranges of one file, all or none, if the file still has the lines that the model saw.

use super::change::{ChangePipeline, output_of};
use super::checks::ChangeOptions;
use super::{Views, spec_of};
use serde_json::Value;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{Output, ToolSpec};
use toolfence_workspace::{EditFile, EditLines, Workspace};

/// The tool `edit_file`.
#[derive(Debug)]
pub struct Edit {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Edit {
    /// Creates the tool on this pipeline.
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
        let edits = edits.into_iter().flatten().map(read_edit).collect();
        let wanted = EditFile::new(permit.text("path").unwrap_or_default(), edits);
        let options = ChangeOptions::from_permit(&permit);
        let draft = move |workspace: &Workspace, views: &Views| {
            // Line numbers are only valid for the version that the model saw with them.
            let base = views.numbered_version(workspace, &wanted.path);
            workspace.changes().up_to(options.file_bytes).draft_edit(&EditFile { base, ..wanted })
        };
        Box::pin(
            self.pipeline.apply(options, draft, Views::record_edit, move |written| output_of(written, options.dry_run)),
        )
    }
}

/// Reads one edit. Its fields were already checked against the spec.
fn read_edit(edit: &Value) -> EditLines {
    let line = |name: &str| edit.get(name).and_then(Value::as_u64).unwrap_or_default();
    let replacement = edit.get("replacement").and_then(Value::as_str).unwrap_or_default().to_owned();
    EditLines { start_line: line("start_line"), end_line: line("end_line"), replacement }
}
