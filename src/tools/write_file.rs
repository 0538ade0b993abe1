//! `write_file`: a whole file at once, with the diff of what that did.

use super::changes::{data_of, notes};
use super::{Views, blocking, counted, spec_of};
use crate::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use crate::workspace::{Workspace, Written};
use crate::{Output, ToolSpec};
use std::sync::Arc;

/// The tool.
#[derive(Debug)]
pub struct Write {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    views: Views,
}

impl Write {
    /// On one workspace.
    pub fn new(workspace: Arc<Workspace>) -> Write {
        Write { spec: spec_of("write_file"), workspace, views: Views::default() }
    }

    /// The same, with files left alone that somebody else changed since these views.
    #[must_use]
    pub fn views(mut self, views: &Views) -> Write {
        self.views = views.clone();
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
            let written = blocking(&self.workspace, move |workspace, _| {
                let base = views.latest(workspace, &path);
                workspace.write_over(&path, &content, base)
            });
            let written = written.await?;
            self.views.wrote(&written);
            Ok(output_of(&written))
        })
    }
}

fn output_of(written: &Written) -> Output {
    Output { data: Some(data_of(written, false)), ..Output::text(words(written)) }
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
