//! `list_files`: lists the entries below a folder, with type and size.

use super::{capped, notes_on_names, spec_of, take_within, watched, with_notes};
use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::limits::size;
use toolfence_protocol::text::Field;
use toolfence_protocol::{Language, Output, Text, ToolSpec, text};
use toolfence_workspace::{Entry, EntryKind, ListFiles, Listing, Workspace};

/// The tool `list_files`.
#[derive(Debug)]
pub struct List {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl List {
    /// Creates the tool for this workspace.
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
            limit: size(permit.limits().list_entries),
            respect_gitignore: permit.flag("respect_gitignore", true),
            ..ListFiles::new(permit.text("path").unwrap_or("."))
        };
        let (language, most) = (permit.language(), permit.limits().output_bytes);
        Box::pin(async move {
            let listing = watched(&self.workspace, progress, language, move |workspace, stop| {
                workspace.files().list(&wanted, stop)
            })
            .await?;
            Ok(output_of(&listing, language, most))
        })
    }
}

fn output_of(listing: &Listing, language: Language, most: u64) -> Output {
    let text = listing.entries.iter().map(|entry| format_line(entry, language)).collect();
    let mut output = capped(with_notes(text, notes(listing)), listing.truncated || listing.gave_up, language, most);
    // The data has the limit of the text, but its entries are longer, so fewer may fit.
    let entries = take_within(most, listing.entries.iter().map(data_of));
    output.data = Some(json!({
        "path": listing.path,
        "truncated": listing.truncated || listing.gave_up || entries.len() < listing.entries.len(),
        "entries": entries,
    }));
    output
}

fn data_of(entry: &Entry) -> Value {
    let mut data = json!({"path": entry.path, "type": entry.kind});
    if let Some(size) = entry.size {
        data["size"] = size.into();
    }
    for (name, is_set) in [("blocked", entry.blocked), ("unnameable", entry.unnameable)] {
        if is_set {
            data[name] = true.into();
        }
    }
    data
}

/// Formats an entry as `src/`, `src/main.rs 1,234 bytes` or `latest (link)`. The path comes first, in the form that the
/// next call needs.
fn format_line(entry: &Entry, language: Language) -> String {
    let path = &entry.shown;
    let line = match entry.kind {
        _ if entry.blocked => text!("{path}  (blocked)\n", path),
        _ if entry.unnameable => text!("{path}  (cannot be opened: the name is not UTF-8)\n", path),
        EntryKind::Folder => return format!("{path}/\n"),
        EntryKind::Link => return format!("{path}  (link)\n"),
        EntryKind::File => match entry.size {
            Some(size) => text!("{path}  {bytes} {bytes|byte|bytes}\n", path, bytes = Field::Grouped(size)),
            None => return format!("{path}\n"),
        },
        // `Other`, and kinds that a later version of the workspace may add.
        _ => text!("{path}  (not a regular file)\n", path),
    };
    line.into_string(language)
}

fn notes(listing: &Listing) -> Vec<Text> {
    let mut notes = Vec::new();
    if listing.entries.is_empty() {
        notes.push(text!(
            "[Nothing to show: the folder is empty, or everything in it is hidden, ignored or unmatched.]"
        ));
    }
    if listing.truncated {
        notes.push(text!(
            "[TRUNCATED: first {shown} items]\n[Give a deeper path, a pattern or max_depth for the others.]",
            shown = listing.entries.len()
        ));
    }
    if listing.gave_up {
        notes.push(text!("[The tree is too big to list completely; give a deeper path.]"));
    }
    if listing.unreadable > 0 {
        notes.push(text!(
            "[{count} {count|folder|folders} could not be read.]",
            count = Field::Grouped(listing.unreadable)
        ));
    }
    let entries = || listing.entries.iter();
    let quoted = entries().any(|entry| entry.shown.starts_with('"'));
    notes.extend(notes_on_names(quoted, entries().any(|entry| entry.unnameable)));
    notes
}
