//! `replace_text`: replaces a passage that occurs exactly once in a file.

use super::change::{ChangePipeline, output_of};
use super::checks::ChangeOptions;
use super::{Views, spec_of};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{Output, ToolSpec};
use toolfence_workspace::{ReplaceText, Workspace};

/// The tool `replace_text`.
#[derive(Debug)]
pub struct Replace {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Replace {
    /// Creates the tool on this pipeline.
    pub fn new(pipeline: &ChangePipeline) -> Replace {
        Replace { spec: spec_of("replace_text"), pipeline: pipeline.clone() }
    }
}

impl Tool for Replace {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let text = |name: &str| permit.text(name).unwrap_or_default();
        let wanted = ReplaceText::new(text("path"), text("old"), text("new"));
        let options = ChangeOptions::from_permit(&permit);
        let draft = move |workspace: &Workspace, _: &Views| {
            workspace.changes().up_to(options.file_bytes).draft_replacement(&wanted)
        };
        Box::pin(
            self.pipeline.apply(options, draft, Views::record_edit, move |written| output_of(written, options.dry_run)),
        )
    }
}
