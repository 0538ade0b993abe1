//! What is told of one file that was changed, by whichever tool.

use super::counted;
use serde_json::{Value, json};
use toolfence_protocol::Output;
use toolfence_workspace::Written;

/// A longer diff would be told nobody, only paid for.
pub(super) const LONGEST_DIFF: usize = 64 << 10;

/// A part of a file was changed, or would be.
pub(super) fn output_of(written: &Written, dry_run: bool) -> Output {
    let mut text = words(written, dry_run);
    for note in notes(written) {
        text.push_str(&format!("[{note}]\n"));
    }
    let mut data = data_of(written, dry_run);
    data["dry_run"] = dry_run.into();
    let mut output = Output::text(text);
    output.data = Some(data);
    output
}

fn words(written: &Written, dry_run: bool) -> String {
    let name = &written.shown;
    let (before, verb) = if dry_run { ("Dry run: nothing was written. ", "would change") } else { ("", "changed") };
    if !written.changed {
        return format!("{before}{name} is the same with that; there is nothing to write.\n");
    }
    let at = if written.first_line > 0 { format!(", from line {}", written.first_line) } else { String::new() };
    format!("{before}{name} {verb} (+{} -{} lines{at}).\n", written.added, written.removed)
}

/// What would surprise somebody who only reads the new content.
pub(super) fn notes(written: &Written) -> Vec<String> {
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
    if !written.lost.is_empty() {
        notes.push(not_carried(&written.lost));
    }
    if written.changed && diff_of(written).is_none() {
        notes.push("No diff: the change is too big for one, or the old file was no text.".into());
    }
    notes
}

/// What a file in the place of another could not have of it.
pub(super) fn not_carried(lost: &[String]) -> String {
    format!("The system refused its {}; where that kept people out, its mode does now. Tell the user.", lost.join(", "))
}

fn diff_of(written: &Written) -> Option<&str> {
    written.diff.as_deref().filter(|diff| diff.len() <= LONGEST_DIFF)
}

/// For hosts, whichever tool it was.
pub(super) fn data_of(written: &Written, dry_run: bool) -> Value {
    let modified: &[&str] = if written.changed && !dry_run { &[&written.path] } else { &[] };
    json!({
        "path": written.path,
        "created": written.created,
        "bytes": written.bytes,
        "diff": diff_of(written),
        "files_modified": modified,
        "rolled_back": false,
        "syntax_error": null,
    })
}
