//! `apply_patch`: a patch over many files, all of them or none, with what was made of each hunk.

use super::change::{ChangePipeline, LONGEST_DIFF, not_carried};
use super::checks::How;
use super::{Views, capped, counted, spec_of};
use serde_json::{Value, json};
use std::fmt::Write;
use toolfence_patch::{Kind, Placed};
use toolfence_protocol::{Output, ToolSpec};
use toolfence_toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_workspace::{Patched, PatchedFile, Workspace};

/// The tool.
#[derive(Debug)]
pub struct Patch {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Patch {
    /// Changes files by this pipeline.
    pub fn new(pipeline: &ChangePipeline) -> Patch {
        Patch { spec: spec_of("apply_patch"), pipeline: pipeline.clone() }
    }
}

impl Tool for Patch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let patch = permit.text("patch").unwrap_or_default().to_owned();
        let how = How { validate: true, dry_run: permit.flag("dry_run", false) };
        let draft = move |workspace: &Workspace, _: &Views| workspace.changes().draft_patch(&patch);
        Box::pin(self.pipeline.make(how, draft, Views::patched, move |done| output_of(done, how.dry_run)))
    }
}

fn output_of(done: &Patched, dry_run: bool) -> Output {
    let mut output = capped(words(done, dry_run), false);
    output.data = Some(data_of(done, dry_run));
    output
}

fn words(done: &Patched, dry_run: bool) -> String {
    let mut text = String::new();
    if dry_run {
        text.push_str("Dry run: nothing was written. The patch applies:\n");
    }
    for file in &done.files {
        let _ = writeln!(text, "{}", file_words(file));
        for (number, hunk) in file.hunks.iter().enumerate() {
            let _ = writeln!(text, "  hunk {}: {}", number + 1, hunk_words(hunk));
        }
    }
    for name in &done.broken_links {
        let _ = writeln!(text, "[{name} had other names (hard links); there the old content remains.]");
    }
    for (name, lost) in &done.lost {
        let _ = writeln!(text, "[{name}: {}]", not_carried(lost));
    }
    text
}

fn file_words(file: &PatchedFile) -> String {
    let PatchedFile { old, new, .. } = file;
    match file.kind {
        Kind::Create => format!("Created {new}"),
        Kind::Delete => format!("Deleted {old}"),
        Kind::Rename => format!("Renamed {old} to {new}"),
        Kind::Copy => format!("Copied {old} to {new}"),
        _ => format!("Changed {new}"),
    }
}

fn hunk_words(hunk: &Placed) -> String {
    let lines = |number: i64| counted(number.unsigned_abs(), "line");
    let distance = match hunk.distance {
        None | Some(0) => String::new(),
        Some(below @ 1..) => format!(", {} below what @@ says", lines(below)),
        Some(above) => format!(", {} above what @@ says", lines(above)),
    };
    format!("line {}, fuzz {}{distance}", hunk.line, hunk.fuzz)
}

fn data_of(done: &Patched, dry_run: bool) -> Value {
    let hunk = |hunk: &Placed| json!({"line": hunk.line, "fuzz": hunk.fuzz, "distance": hunk.distance});
    let file = |file: &PatchedFile| {
        let hunks: Vec<Value> = file.hunks.iter().map(hunk).collect();
        json!({"path": file.new, "from": file.old, "hunks": hunks})
    };
    json!({
        "dry_run": dry_run,
        "files": done.files.iter().map(file).collect::<Vec<_>>(),
        "diff": done.diff.as_ref().filter(|diff| diff.len() <= LONGEST_DIFF),
        "files_modified": if dry_run { &[][..] } else { &done.modified },
        "rolled_back": false,
        "syntax_error": null,
    })
}
