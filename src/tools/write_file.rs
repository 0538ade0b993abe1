//! `write_file`: a whole file at once, with the diff of what that did.

use super::{blocking, counted, spec_of};
use crate::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use crate::workspace::{Workspace, Written};
use crate::{Output, ToolSpec};
use serde_json::{Value, json};
use std::sync::Arc;

/// A longer diff would be told nobody, only paid for.
const LONGEST_DIFF: usize = 64 << 10;

/// The tool.
#[derive(Debug)]
pub struct Write {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl Write {
    /// On one workspace.
    pub fn new(workspace: Arc<Workspace>) -> Write {
        Write { spec: spec_of("write_file"), workspace }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let path = permit.text("path").unwrap_or_default().to_owned();
        let content = permit.text("content").unwrap_or_default().to_owned();
        Box::pin(async move {
            let written = blocking(&self.workspace, move |workspace, _| workspace.write(&path, &content)).await?;
            Ok(output_of(&written))
        })
    }
}

fn output_of(written: &Written) -> Output {
    Output { data: Some(data_of(written)), ..Output::text(words(written)) }
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

fn notes(written: &Written) -> Vec<String> {
    let mut notes = Vec::new();
    if written.kept_crlf {
        notes.push("The CRLF line endings of the old file were kept.".into());
    }
    if written.kept_bom {
        notes.push("The byte order mark of the old file was kept.".into());
    }
    if written.broken_links > 0 {
        let names = counted(written.broken_links, "other name");
        notes.push(format!("The file had {names} (hard links); there the old content remains."));
    }
    if written.changed && diff_of(written).is_none() {
        notes.push("No diff: the change is too big for one, or the old file was no UTF-8 text.".into());
    }
    notes
}

fn diff_of(written: &Written) -> Option<&str> {
    written.diff.as_deref().filter(|diff| diff.len() <= LONGEST_DIFF)
}

fn data_of(written: &Written) -> Value {
    let modified: &[&str] = if written.changed { &[&written.path] } else { &[] };
    json!({
        "path": written.path,
        "created": written.created,
        "bytes": written.bytes,
        "diff": diff_of(written),
        "files_modified": modified,
    })
}
