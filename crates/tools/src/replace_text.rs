//! `replace_text`: a passage that occurs exactly once in a file.

use super::changes::output_of;
use super::checks::{Checked, How};
use super::{Checks, Views, blocking, spec_of};
use std::sync::Arc;
use toolfence_protocol::{Output, ToolSpec};
use toolfence_toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_workspace::{ReplaceText, Workspace};

/// The tool.
#[derive(Debug)]
pub struct Replace {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    views: Views,
    checks: Checks,
}

impl Replace {
    /// On one workspace, with the usual checks.
    pub fn new(workspace: Arc<Workspace>) -> Replace {
        let checks = Checks::new(Arc::clone(&workspace));
        Replace { spec: spec_of("replace_text"), workspace, views: Views::default(), checks }
    }

    /// The same, with what it leaves remembered for the tools that change files.
    #[must_use]
    pub fn views(mut self, views: &Views) -> Replace {
        self.views = views.clone();
        self
    }

    /// The same with these checks around every change.
    #[must_use]
    pub fn checks(mut self, checks: &Checks) -> Replace {
        self.checks = checks.clone();
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
        let how = How { validate: true, dry_run };
        Box::pin(async move {
            let drafted =
                blocking(&self.workspace, move |workspace, _| Ok((workspace.draft_replacement(&wanted)?, wanted)));
            let (draft, wanted) = drafted.await?;
            let wanted = ReplaceText { base: draft.base(), ..wanted };
            Ok(match self.checks.change(vec![draft], how, move |workspace| workspace.replace_text(&wanted)).await? {
                Checked::Made(written, found) => {
                    self.views.changed(&written);
                    found.add_to(output_of(&written, dry_run))
                }
                Checked::Refused(output) => output,
            })
        })
    }
}
