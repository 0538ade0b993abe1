//! `write_file`: replaces a whole file at once and returns the diff.

use super::change::{ChangePipeline, data_of, notes};
use super::checks::ChangeOptions;
use super::notes::add_notes;
use super::{Views, spec_of};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::text::Field;
use toolfence_protocol::{Output, Text, ToolSpec, text};
use toolfence_workspace::{Workspace, WriteReport};

/// The tool `write_file`.
#[derive(Debug)]
pub struct Write {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Write {
    /// Creates the tool on this pipeline.
    pub fn new(pipeline: &ChangePipeline) -> Write {
        Write { spec: spec_of("write_file"), pipeline: pipeline.clone() }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let path = permit.text("path").unwrap_or_default().to_owned();
        let content = permit.text("content").unwrap_or_default().to_owned();
        let options = ChangeOptions::from_permit(&permit);
        let draft = move |workspace: &Workspace, views: &Views| {
            // If another process changed the file since, the write is refused and that change is not lost.
            let seen = views.latest_version(workspace, &path);
            workspace.changes().up_to(options.file_bytes).draft_write(&path, &content, seen)
        };
        Box::pin(self.pipeline.apply(options, draft, Views::record_write, output_of))
    }
}

fn output_of(written: &WriteReport) -> Output {
    let mut output = Output::text(summary(written));
    output.data = Some(data_of(written, false));
    output
}

fn summary(written: &WriteReport) -> Text {
    let (name, size) = (&written.shown, Field::Grouped(written.bytes));
    let mut text = if written.created {
        text!(
            "Created {name} ({bytes} {bytes|byte|bytes}, {lines} {lines|line|lines}).\n",
            name,
            bytes = size,
            lines = Field::Grouped(written.added)
        )
    } else if written.changed {
        text!(
            "Wrote {name} ({bytes} {bytes|byte|bytes}, +{added} -{removed} lines).\n",
            name,
            bytes = size,
            added = written.added,
            removed = written.removed
        )
    } else {
        text!(
            "{name} has this content already ({bytes} {bytes|byte|bytes}); nothing was written.\n",
            name,
            bytes = size
        )
    };
    add_notes(&mut text, notes(written));
    text
}
