//! `search`: lines that match, as `file:line:snippet`.

use super::{capped, counted, notes_on_names, spec_of, watched};
use serde_json::json;
use std::sync::Arc;
use toolfence_protocol::clip::grouped;
use toolfence_protocol::{Output, ToolSpec};
use toolfence_toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_workspace::{Found, SearchFiles, SearchLine, Workspace};

/// Matching lines of one answer.
const MATCHES: usize = 50;

/// The tool.
#[derive(Debug)]
pub struct Search {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl Search {
    /// On one workspace.
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
            limit: MATCHES,
            ..SearchFiles::new(permit.text("pattern").unwrap_or_default())
        };
        Box::pin(async move {
            let context = wanted.context > 0;
            let found =
                watched(&self.workspace, progress, move |workspace, stop| workspace.files().search(&wanted, stop))
                    .await?;
            Ok(output_of(&found, context))
        })
    }
}

fn output_of(found: &Found, context: bool) -> Output {
    let mut text: String = found.lines.iter().map(|line| line_of(line, context)).collect();
    for note in notes(found) {
        text.push_str(&note);
        text.push('\n');
    }
    let mut output = capped(text, found.truncated || found.gave_up);
    output.data = Some(json!({"matches": found.matches, "files_searched": found.files}));
    output
}

/// As grep(1) has it: `:` around the number of a matching line, `-` around that of a line near it.
fn line_of(line: &SearchLine, context: bool) -> String {
    let mark = if line.matched { ':' } else { '-' };
    let gap = if context && line.gap { "--\n" } else { "" };
    format!("{gap}{}{mark}{}{mark}{}\n", line.shown, line.line, line.text)
}

fn notes(found: &Found) -> Vec<String> {
    let mut notes = Vec::new();
    if found.matches == 0 {
        notes.push(format!("[No matches in {}.]", counted(found.files, "file")));
    }
    if found.truncated {
        let limit = found.matches;
        notes.push(format!("[TRUNCATED: reached limit {limit} before completing search]"));
        notes.push("[Give a narrower pattern, path or glob for the others.]".into());
    }
    if found.gave_up {
        notes.push("[The tree is too big to be searched to its end; give a deeper path.]".into());
    }
    if let Some((last, others)) = found.binary_names.split_last() {
        let more = found.binary - found.binary_names.len() as u64;
        let named = others.iter().fold(String::new(), |named, name| named + name + ", ") + last;
        let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
        notes.push(format!("[Binary files, not searched: {named}{more}.]"));
    }
    let skipped = [
        (found.blocked, "blocked"),
        (found.unreadable, "unreadable"),
        (found.long_lines, "with a line of more than 8 MB"),
    ];
    let skipped = skipped.iter().filter(|(count, _)| *count > 0);
    notes.extend(skipped.map(|(count, why)| format!("[Files not searched: {count} {why}.]")));
    let names = found.lines.iter().map(|line| &line.shown).chain(&found.binary_names);
    let quoted = names.into_iter().any(|name| name.starts_with('"'));
    notes.extend(notes_on_names(quoted, found.lines.iter().any(|line| line.unnameable)));
    notes
}
