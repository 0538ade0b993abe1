//! `search`: returns matching lines as `file:line:snippet`.

use super::{capped, notes_on_names, spec_of, take_within, watched, with_notes};
use serde_json::json;
use std::sync::Arc;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::limits::size;
use toolfence_protocol::text::Field;
use toolfence_protocol::{Language, Output, Text, ToolSpec, text};
use toolfence_workspace::{SearchFiles, SearchLine, SearchResults, Workspace};

/// The tool `search`.
#[derive(Debug)]
pub struct Search {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl Search {
    /// Creates the tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Search {
        Search { spec: spec_of("search"), workspace }
    }
}

impl Tool for Search {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, progress: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let wanted = SearchFiles {
            literal: permit.text("type") == Some("literal"),
            path: permit.text("path").unwrap_or(".").to_owned(),
            glob: permit.text("glob").map(str::to_owned),
            ignore_case: permit.flag("ignore_case", false),
            context: permit.count("context").and_then(|lines| usize::try_from(lines).ok()).unwrap_or(0),
            limit: size(permit.limits().search_matches),
            snippet_chars: size(permit.limits().snippet_chars),
            ..SearchFiles::new(permit.text("pattern").unwrap_or_default())
        };
        let (language, most) = (permit.language(), permit.limits().output_bytes);
        Box::pin(async move {
            let context = wanted.context > 0;
            let found = watched(&self.workspace, progress, language, move |workspace, stop| {
                workspace.files().search(&wanted, stop)
            })
            .await?;
            Ok(output_of(&found, context, language, most))
        })
    }
}

fn output_of(found: &SearchResults, context: bool, language: Language, most: u64) -> Output {
    let text = found.lines.iter().map(|line| format_line(line, context)).collect();
    let mut output = capped(with_notes(text, notes(found)), found.truncated || found.gave_up, language, most);
    // Hosts get no context lines. The data has the limit of the text, but its entries are longer, so fewer may fit.
    let matched = found.lines.iter().filter(|line| line.matched);
    let matches =
        take_within(most, matched.map(|line| json!({"path": line.path, "line": line.line, "text": line.text})));
    output.data = Some(json!({
        "files_searched": found.files,
        "truncated": found.truncated || found.gave_up || matches.len() < found.matches,
        "matches": matches,
    }));
    output
}

/// Formats a line as grep(1) does: `:` around the number of a matching line, `-` around that of a context line.
fn format_line(line: &SearchLine, context: bool) -> String {
    let mark = if line.matched { ':' } else { '-' };
    let gap = if context && line.gap { "--\n" } else { "" };
    format!("{gap}{}{mark}{}{mark}{}\n", line.shown, line.line, line.text)
}

fn notes(found: &SearchResults) -> Vec<Text> {
    let mut notes = Vec::new();
    if found.matches == 0 {
        notes.push(text!("[No matches in {files} {files|file|files}.]", files = Field::Grouped(found.files)));
    }
    if found.truncated {
        notes.push(text!(
            "[TRUNCATED: reached limit {limit} before completing search]\n[Give a narrower pattern, path or glob for \
             the others.]",
            limit = found.matches
        ));
    }
    if found.gave_up {
        notes.push(text!("[The tree is too big to search completely; give a deeper path.]"));
    }
    if let Some((last, others)) = found.binary_names.split_last() {
        let more = found.binary - found.binary_names.len() as u64;
        let named = others.iter().fold(String::new(), |named, name| named + name + ", ") + last;
        let named = if more > 0 {
            text!("{names} and {count} more", names = named, count = Field::Grouped(more))
        } else {
            named.into()
        };
        notes.push(text!("[Binary files, not searched: {names}.]", names = named));
    }
    let skipped = [
        (found.blocked, text!("[Files not searched: {count} blocked.]", count = found.blocked)),
        (found.unreadable, text!("[Files not searched: {count} unreadable.]", count = found.unreadable)),
        (
            found.long_lines,
            text!("[Files not searched: {count} with a line of more than 8 MB.]", count = found.long_lines),
        ),
    ];
    notes.extend(skipped.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note));
    let names = found.lines.iter().map(|line| &line.shown).chain(&found.binary_names);
    let quoted = names.into_iter().any(|name| name.starts_with('"'));
    notes.extend(notes_on_names(quoted, found.lines.iter().any(|line| line.unnameable)));
    notes
}
