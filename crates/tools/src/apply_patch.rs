//! `apply_patch`: applies a patch to many files, all or none, and reports where each hunk applied.

use super::change::{ChangePipeline, LONGEST_DIFF, note_lost_attributes};
use super::checks::ChangeOptions;
use super::{Views, capped, spec_of};
use serde_json::{Value, json};
use toolfence_patch::{AppliedHunk, Kind};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::text::Field;
use toolfence_protocol::{Output, Text, ToolSpec, text};
use toolfence_workspace::{Patched, PatchedFile, Workspace};

/// The tool `apply_patch`.
#[derive(Debug)]
pub struct Patch {
    spec: ToolSpec,
    pipeline: ChangePipeline,
}

impl Patch {
    /// Creates the tool on this pipeline.
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
        let folder = permit.text("base_path").unwrap_or_default().to_owned();
        let options = ChangeOptions::from_permit(&permit);
        let draft = move |workspace: &Workspace, _: &Views| {
            workspace.changes().up_to(options.file_bytes).draft_patch_in(&folder, &patch)
        };
        Box::pin(self.pipeline.apply(options, draft, Views::record_patch, move |done| output_of(done, options)))
    }
}

fn output_of(done: &Patched, options: ChangeOptions) -> Output {
    let mut output = capped(summary(done, options.dry_run), false, options.language, options.output_bytes);
    output.data = Some(data_of(done, options.dry_run));
    output
}

fn summary(done: &Patched, dry_run: bool) -> Text {
    let mut texts = Vec::new();
    if dry_run {
        texts.push(text!("Dry run: nothing was written. The patch applies:\n"));
    }
    for file in &done.files {
        texts.push(file_summary(file));
        texts.extend((1_usize..).zip(&file.hunks).map(|(number, hunk)| hunk_summary(number, hunk)));
    }
    texts.extend(
        done.broken_links
            .iter()
            .map(|name| text!("[{name} had other names (hard links), which keep the old content.]\n", name)),
    );
    for (name, lost) in &done.lost {
        texts.extend([format!("[{name}: ").into(), note_lost_attributes(lost), "]\n".into()]);
    }
    Text::join(texts, "")
}

fn file_summary(file: &PatchedFile) -> Text {
    let PatchedFile { old, new, .. } = file;
    match file.kind {
        Kind::Create => text!("Created {name}\n", name = new),
        Kind::Delete => text!("Deleted {name}\n", name = old),
        Kind::Rename => text!("Renamed {old} to {new}\n", old, new),
        Kind::Copy => text!("Copied {old} to {new}\n", old, new),
        _ => text!("Changed {name}\n", name = new),
    }
}

fn hunk_summary(number: usize, hunk: &AppliedHunk) -> Text {
    let (line, fuzz) = (hunk.line, hunk.fuzz);
    let lines = |distance: i64| Field::Grouped(distance.unsigned_abs());
    match hunk.distance {
        None | Some(0) => text!("  hunk {number}: line {line}, fuzz {fuzz}\n", number, line, fuzz),
        Some(below @ 1..) => text!(
            "  hunk {number}: line {line}, fuzz {fuzz}, {lines} {lines|line|lines} below what @@ says\n",
            number,
            line,
            fuzz,
            lines = lines(below)
        ),
        Some(above) => text!(
            "  hunk {number}: line {line}, fuzz {fuzz}, {lines} {lines|line|lines} above what @@ says\n",
            number,
            line,
            fuzz,
            lines = lines(above)
        ),
    }
}

fn data_of(done: &Patched, dry_run: bool) -> Value {
    let hunk = |hunk: &AppliedHunk| json!({"line": hunk.line, "fuzz": hunk.fuzz, "distance": hunk.distance});
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
