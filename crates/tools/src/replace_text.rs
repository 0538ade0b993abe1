//! `replace_text`: a passage that occurs exactly once in a file.

use super::change::{ChangePipeline, output_of};
use super::checks::How;
use super::{Views, spec_of};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{Output, ToolSpec};
use toolfence_workspace::{ReplaceText, Workspace};

/// The tool.
#[derive(Debug)]
pub struct Replace {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Replace {
    /// Changes files by this pipeline.
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
        let how = How::of(&permit);
        let draft = move |workspace: &Workspace, _: &Views| {
            workspace.changes().up_to(how.file_bytes).draft_replacement(&wanted)
        };
        Box::pin(self.pipeline.make(how, draft, Views::changed, move |written| output_of(written, how.dry_run)))
    }
}
