//! What the model is told of a change that was not made, or that made something worse.

use super::super::counted;
use super::{Findings, Worse};
use serde_json::{Value, json};
use std::ops::Range;
use toolfence_protocol::{ErrorCode, Output, ToolFailure};
use toolfence_validate::Diagnostic;
use toolfence_workspace::FileDraft;

/// Errors that are told one by one.
const MOST_ERRORS: usize = 5;

/// Errors in files that were not changed that are told one by one.
const MOST_ELSEWHERE: usize = 20;

/// Files whose lines are shown.
const MOST_WINDOWS: usize = 3;

/// Lines before and behind the one of the error.
const AROUND: u64 = 3;

/// The longest line that is shown, in characters, and the most lines of a window.
const LONGEST: usize = 160;
const MOST_LINES: usize = 15;

/// The answer to a change that makes files worse.
pub(super) fn refused(worse: &[Worse<'_>], dry_run: bool) -> Output {
    let first = &worse[0];
    let name = &first.draft.path;
    let (was, more) = match (dry_run, worse.len()) {
        (true, 1) => (format!("Dry run: {name} would not be changed"), String::new()),
        (true, files) => ("Dry run: nothing would be changed".into(), in_files(files)),
        (false, 1) => (format!("{name} was not changed"), String::new()),
        (false, files) => ("Nothing was changed".into(), in_files(files)),
    };
    let advice = "Mend the change and send it again. If it is meant to be so, edit_file with validate: false makes it.";
    let message = format!(
        "{was}: it would break {name}, read {}, at {}{more}. {advice}",
        first.by,
        end_trimmed(&first.errors[0])
    );
    let mut output = Output::text(worse.iter().take(MOST_WINDOWS).map(told).collect::<String>());
    output.data = Some(data(first, worse, dry_run));
    output.failure = Some(ToolFailure::new(ErrorCode::SyntaxError, message));
    output
}

/// The answer to a change that makes files worse and could not be taken back: it stays, and that is said plainly.
pub(super) fn stayed(answer: Output, drafts: &[FileDraft], why: &ToolFailure) -> Output {
    let said = answer.failure.map_or_else(String::new, |failure| failure.message.to_string());
    let message = format!("The change was made and stays, for it could not be taken back: {why} What it broke: {said}");
    let mut data = answer.data.unwrap_or_default();
    data["rolled_back"] = false.into();
    data["files_modified"] = drafts.iter().map(|draft| &*draft.path).collect();
    let mut output = Output::text("");
    output.data = Some(data);
    output.failure = Some(ToolFailure::new(ErrorCode::SyntaxError, message));
    output
}

pub(super) fn not_checked(path: &str, by: &str, why: &str) -> String {
    format!("{path} was not checked by {by}: {why}.")
}

impl Findings {
    /// Says at the end of an answer what was seen beside the change.
    pub(crate) fn add_to(self, mut output: Output) -> Output {
        if !self.elsewhere.is_empty() {
            let errors = counted(self.elsewhere.len() as u64, "new error");
            output.text.push(format!("[{errors} in other files, because of this change:]\n"));
            for error in self.elsewhere.iter().take(MOST_ELSEWHERE) {
                output.text.push(format!("{}: {error}\n", error.path));
            }
            let left = self.elsewhere.len().saturating_sub(MOST_ELSEWHERE);
            if left > 0 {
                output.text.push(format!("... and {left} more.\n"));
            }
            if let Some(data) = &mut output.data {
                data["new_errors"] = json!(self.elsewhere);
            }
        }
        for note in &self.notes {
            output.text.push(format!("[{note}]\n"));
        }
        output
    }
}

fn in_files(files: usize) -> String {
    format!(" (and {} more)", counted(files as u64 - 1, "file"))
}

fn end_trimmed(error: &Diagnostic) -> String {
    error.to_string().trim_end_matches('.').to_owned()
}

fn data(first: &Worse<'_>, worse: &[Worse<'_>], dry_run: bool) -> Value {
    let error = |path: &str, error: &Diagnostic| json!({"path": path, "message": error.message, "line": error.line, "column": error.column});
    let all =
        worse.iter().flat_map(|file| file.errors.iter().take(MOST_ERRORS).map(|one| error(&file.draft.path, one)));
    json!({
        "path": first.draft.path,
        "dry_run": dry_run,
        "files_modified": [],
        "rolled_back": !dry_run,
        "syntax_error": error(&first.draft.path, &first.errors[0]),
        "errors": all.collect::<Vec<_>>(),
    })
}

/// The errors of one file, with the lines as they would have been and as they are.
fn told(worse: &Worse<'_>) -> String {
    let Worse { draft, lines, errors, .. } = worse;
    let mut text = String::new();
    for error in errors.iter().take(MOST_ERRORS) {
        text.push_str(&format!("{}: {error}\n", draft.path));
    }
    if errors.len() > MOST_ERRORS {
        text.push_str(&format!("... and {} more.\n", errors.len() - MOST_ERRORS));
    }
    let [_, after] = draft.texts().unwrap_or_default();
    let at = errors[0].line.max(1);
    let shown = at.saturating_sub(AROUND).max(1)..at + AROUND + 1;
    text.push_str("As it would have been:\n");
    text.push_str(&window(&after, shown.clone(), Some(at)));
    text.push_str(&as_it_is(draft, lines.before(shown)));
    text
}

fn as_it_is(draft: &FileDraft, lines: Range<u64>) -> String {
    match draft.old_bytes() {
        None => format!("As it is: there is no {}.\n", draft.path),
        Some(before) => format!("As it is:\n{}", window(&String::from_utf8_lossy(before), lines, None)),
    }
}

/// Numbered lines, one of them marked.
fn window(text: &str, lines: Range<u64>, marked: Option<u64>) -> String {
    let first = usize::try_from(lines.start.saturating_sub(1)).unwrap_or(usize::MAX);
    let count = usize::try_from(lines.end.saturating_sub(lines.start)).unwrap_or(0).min(MOST_LINES);
    let mut shown = String::new();
    for (number, line) in (lines.start..).zip(text.lines().skip(first).take(count)) {
        let mark = if marked == Some(number) { '>' } else { ' ' };
        let line: String = line.chars().take(LONGEST).collect();
        shown.push_str(&format!("{mark}{number:>6}\t{line}\n"));
    }
    shown
}
