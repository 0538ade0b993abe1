//! `write_file`: a whole file at once, with the diff of what that did.

use super::changes::{data_of, notes};
use super::checks::{Checked, How};
use super::{Checks, Views, blocking, counted, spec_of};
use std::sync::Arc;
use toolfence_protocol::{Output, ToolSpec};
use toolfence_toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_workspace::{Draft, Workspace, Written};

/// The tool.
#[derive(Debug)]
pub struct Write {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    views: Views,
    checks: Checks,
}

impl Write {
    /// On one workspace, with the usual checks.
    pub fn new(workspace: Arc<Workspace>) -> Write {
        let checks = Checks::new(Arc::clone(&workspace));
        Write { spec: spec_of("write_file"), workspace, views: Views::default(), checks }
    }

    /// The same, with files left alone that somebody else changed since these views.
    #[must_use]
    pub fn views(mut self, views: &Views) -> Write {
        self.views = views.clone();
        self
    }

    /// The same with these checks around every change.
    #[must_use]
    pub fn checks(mut self, checks: &Checks) -> Write {
        self.checks = checks.clone();
        self
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let path = permit.text("path").unwrap_or_default().to_owned();
        let content = permit.text("content").unwrap_or_default().to_owned();
        let views = self.views.clone();
        Box::pin(async move {
            let (wanted, known) = ((path.clone(), content.clone()), views.clone());
            let draft = blocking(&self.workspace, move |workspace, _| {
                workspace.draft_write(&wanted.0, &wanted.1, known.latest(workspace, &wanted.0))
            });
            let drafts: Vec<_> = draft.await?.into_iter().collect();
            let seen = drafts.first().and_then(Draft::base);
            let how = How { validate: true, dry_run: false };
            let made = self.checks.change(drafts, how, move |workspace| {
                let base = seen.or_else(|| views.latest(workspace, &path));
                workspace.write_over(&path, &content, base)
            });
            Ok(match made.await? {
                Checked::Made(written, found) => {
                    self.views.wrote(&written);
                    found.add_to(output_of(&written))
                }
                Checked::Refused(output) => output,
            })
        })
    }
}

fn output_of(written: &Written) -> Output {
    let mut output = Output::text(words(written));
    output.data = Some(data_of(written, false));
    output
}

fn words(written: &Written) -> String {
    let size = counted(written.bytes, "byte");
    let mut text = if written.created {
        format!("Created {} ({size}, {}).\n", written.shown, counted(written.added, "line"))
    } else if written.changed {
        format!("Wrote {} ({size}, +{} -{} lines).\n", written.shown, written.added, written.removed)
    } else {
        format!("{} has this content already ({size}); nothing was written.\n", written.shown)
    };
    for note in notes(written) {
        text.push_str(&format!("[{note}]\n"));
    }
    text
}
