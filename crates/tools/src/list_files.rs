//! `list_files`: what stands below a folder, with type and size.

use super::{capped, counted, notes_on_names, spec_of, watched};
use serde_json::json;
use std::sync::Arc;
use toolfence_protocol::{Output, ToolSpec};
use toolfence_toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_workspace::{Entry, EntryKind, ListFiles, Listing, Workspace};

/// The tool.
#[derive(Debug)]
pub struct List {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl List {
    /// On one workspace.
    pub fn new(workspace: Arc<Workspace>) -> List {
        List { spec: spec_of("list_files"), workspace }
    }
}

impl Tool for List {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, progress: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let wanted = ListFiles {
            pattern: permit.text("pattern").map(str::to_owned),
            max_depth: permit.count("max_depth"),
            include_hidden: permit.flag("include_hidden", false),
            respect_gitignore: permit.flag("respect_gitignore", true),
            ..ListFiles::new(permit.text("path").unwrap_or("."))
        };
        Box::pin(async move {
            let listing =
                watched(&self.workspace, progress, move |workspace, stop| workspace.files().list(&wanted, stop))
                    .await?;
            Ok(output_of(&listing))
        })
    }
}

fn output_of(listing: &Listing) -> Output {
    let mut text: String = listing.entries.iter().map(line_of).collect();
    for note in notes(listing) {
        text.push_str(&note);
        text.push('\n');
    }
    let mut output = capped(text, listing.truncated || listing.gave_up);
    output.data = Some(json!({"path": listing.path, "entries": listing.entries.len()}));
    output
}

/// `src/`, `src/main.rs  1,234 bytes`, `latest  (link)`: the path first, as it is used in the next call.
fn line_of(entry: &Entry) -> String {
    let path = &entry.shown;
    match entry.kind {
        _ if entry.blocked => format!("{path}  (blocked)\n"),
        _ if entry.unnameable => format!("{path}  (cannot be opened: the name is not UTF-8)\n"),
        EntryKind::Folder => format!("{path}/\n"),
        EntryKind::Link => format!("{path}  (link)\n"),
        EntryKind::File => match entry.size {
            Some(size) => format!("{path}  {}\n", counted(size, "byte")),
            None => format!("{path}\n"),
        },
        // `Other`, and what a later version of the workspace may add.
        _ => format!("{path}  (not a regular file)\n"),
    }
}

fn notes(listing: &Listing) -> Vec<String> {
    let mut notes = Vec::new();
    if listing.entries.is_empty() {
        notes.push(
            "[Nothing to show: the folder is empty, or everything in it is hidden, ignored or unmatched.]".into(),
        );
    }
    if listing.truncated {
        let shown = listing.entries.len();
        notes.push(format!(
            "[TRUNCATED: first {shown} items]\n[Give a deeper path, a pattern or max_depth for the others.]"
        ));
    }
    if listing.gave_up {
        notes.push("[The tree is too big to be walked to its end; give a deeper path.]".into());
    }
    if listing.unreadable > 0 {
        notes.push(format!("[{} could not be read.]", counted(listing.unreadable, "folder")));
    }
    let entries = || listing.entries.iter();
    let quoted = entries().any(|entry| entry.shown.starts_with('"'));
    notes.extend(notes_on_names(quoted, entries().any(|entry| entry.unnameable)));
    notes
}
