//! `replace_text`: a passage that occurs exactly once in a file.

use super::changes::output_of;
use super::{Views, blocking, spec_of};
use crate::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use crate::workspace::{ReplaceText, Workspace};
use crate::{Output, ToolSpec};
use std::sync::Arc;

/// The tool.
#[derive(Debug)]
pub struct Replace {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    views: Views,
}

impl Replace {
    /// On one workspace.
    pub fn new(workspace: Arc<Workspace>) -> Replace {
        Replace { spec: spec_of("replace_text"), workspace, views: Views::default() }
    }

    /// The same, with what it leaves remembered for the tools that change files.
    #[must_use]
    pub fn views(mut self, views: &Views) -> Replace {
        self.views = views.clone();
        self
    }
}

impl Tool for Replace {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let text = |name: &str| permit.text(name).unwrap_or_default();
        let dry_run = permit.flag("dry_run", false);
        let wanted = ReplaceText { dry_run, ..ReplaceText::new(text("path"), text("old"), text("new")) };
        Box::pin(async move {
            let written = blocking(&self.workspace, move |workspace, _| workspace.replace_text(&wanted)).await?;
            self.views.changed(&written);
            Ok(output_of(&written, dry_run))
        })
    }
}
