//! `edit_file`: line ranges of one file, all or none, on the file whose lines the model saw.

use super::changes::output_of;
use super::checks::{Checked, How};
use super::{Checks, Views, blocking, spec_of};
use serde_json::Value;
use std::sync::Arc;
use toolfence_protocol::{Output, ToolSpec};
use toolfence_toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_workspace::{EditFile, EditLines, Workspace};

/// The tool.
#[derive(Debug)]
pub struct Edit {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    views: Views,
    checks: Checks,
}

impl Edit {
    /// On one workspace, with the usual checks.
    pub fn new(workspace: Arc<Workspace>) -> Edit {
        let checks = Checks::new(Arc::clone(&workspace));
        Edit { spec: spec_of("edit_file"), workspace, views: Views::default(), checks }
    }

    /// The same, with edits refused on files that changed since these views.
    #[must_use]
    pub fn views(mut self, views: &Views) -> Edit {
        self.views = views.clone();
        self
    }

    /// The same with these checks around every change.
    #[must_use]
    pub fn checks(mut self, checks: &Checks) -> Edit {
        self.checks = checks.clone();
        self
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let edits = permit.args().get("edits").and_then(Value::as_array);
        let edits = edits.into_iter().flatten().map(lines_of).collect();
        let dry_run = permit.flag("dry_run", false);
        let wanted = EditFile { dry_run, ..EditFile::new(permit.text("path").unwrap_or_default(), edits) };
        let how = How { validate: permit.flag("validate", true), dry_run };
        let views = self.views.clone();
        Box::pin(async move {
            let drafted = blocking(&self.workspace, move |workspace, _| {
                let base = views.numbered(workspace, &wanted.path);
                let wanted = EditFile { base, ..wanted };
                Ok((workspace.draft_edit(&wanted)?, wanted))
            });
            let (draft, wanted) = drafted.await?;
            let wanted = EditFile { base: draft.base(), ..wanted };
            Ok(match self.checks.change(vec![draft], how, move |workspace| workspace.edit(&wanted)).await? {
                Checked::Made(written, found) => {
                    self.views.changed(&written);
                    found.add_to(output_of(&written, dry_run))
                }
                Checked::Refused(output) => output,
            })
        })
    }
}

/// One edit; its fields were checked against the spec.
fn lines_of(edit: &Value) -> EditLines {
    let line = |name: &str| edit.get(name).and_then(Value::as_u64).unwrap_or_default();
    let replacement = edit.get("replacement").and_then(Value::as_str).unwrap_or_default().to_owned();
    EditLines { start_line: line("start_line"), end_line: line("end_line"), replacement }
}
