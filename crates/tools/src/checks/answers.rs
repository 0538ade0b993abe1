//! Messages for the model about changes that were refused, and about new errors that a change caused.

use super::{ChangeOptions, FileWithErrors, Findings};
use crate::notes::add_notes;
use crate::validate::Diagnostic;
use serde_json::{Value, json};
use std::ops::Range;
use toolfence_protocol::text::Field;
use toolfence_protocol::{ErrorCode, Output, Text, ToolFailure, text};
use toolfence_workspace::FileDraft;

/// The maximum number of errors of one file that a message lists.
const MOST_ERRORS: usize = 5;

/// The maximum number of errors in unchanged files that a message lists.
const MOST_ELSEWHERE: usize = 20;

/// The maximum number of files whose lines a message shows.
const MOST_WINDOWS: usize = 3;

/// Context lines before and after the line of the error.
const AROUND: u64 = 3;

/// The longest line that a window shows, in characters.
const LONGEST_LINE: usize = 160;
/// The maximum number of lines of a window.
const MOST_LINES: usize = 15;

/// Returns the answer to a change that was refused because it breaks files.
pub(super) fn refusal(worse: &[FileWithErrors<'_>], options: ChangeOptions) -> Output {
    let first = &worse[0];
    let name = &first.draft.path;
    let what = match (options.dry_run, worse.len()) {
        (true, 1) => text!("Dry run: {name} would not be changed", name),
        (true, _) => text!("Dry run: nothing would be changed"),
        (false, 1) => text!("{name} was not changed", name),
        (false, _) => text!("Nothing was changed"),
    };
    let error = without_full_stop(&first.errors[0]);
    let error = if worse.len() > 1 {
        text!("{error} (and {count} {count|file|files} more)", error, count = Field::Grouped(worse.len() as u64 - 1))
    } else {
        error
    };
    let message = text!(
        "{what}: it would break {name}, read {by}, at {error}. Correct the change and send it again. If the error is \
         intended, send it with validate: false.",
        what,
        name,
        by = first.by.clone(),
        error
    );
    let mut output = Output::text(Text::join(worse.iter().take(MOST_WINDOWS).map(describe_errors), ""));
    output.data = Some(refusal_data(first, worse, options));
    output.failure = Some(ToolFailure::new(ErrorCode::SyntaxError, message));
    output
}

/// Returns the answer to a change that breaks files and could not be rolled back.
pub(super) fn failed_rollback(answer: Output, drafts: &[FileDraft], why: &ToolFailure) -> Output {
    let broke = answer.failure.map(|failure| failure.message).unwrap_or_default();
    let message = text!(
        "The change was made and could not be rolled back: {why} The check found: {broke}",
        why = why.message.clone(),
        broke
    );
    let mut data = answer.data.unwrap_or_default();
    data["rolled_back"] = false.into();
    data["files_modified"] = drafts.iter().map(|draft| &*draft.path).collect();
    let mut output = Output::text("");
    output.data = Some(data);
    output.failure = Some(ToolFailure::new(ErrorCode::SyntaxError, message));
    output
}

/// Returns a note that `path` was not checked by the program `by`. `why` is either whole sentences or a clause without
/// its full stop.
pub(super) fn not_checked(path: &str, by: &str, why: Text) -> Text {
    if why.ends_with('.') {
        text!("{path} was not checked by {program}: {sentence}", path, program = by, sentence = why)
    } else {
        text!("{path} was not checked by {program}: {why}.", path, program = by, why)
    }
}

impl Findings {
    /// Appends the findings to the output of the change.
    pub(crate) fn add_to(self, mut output: Output) -> Output {
        if !self.elsewhere.is_empty() {
            output.text.push(text!(
                "[{count} new {count|error|errors} in other files, because of this change:]\n",
                count = Field::Grouped(self.elsewhere.len() as u64)
            ));
            for error in self.elsewhere.iter().take(MOST_ELSEWHERE) {
                output.text.push(error_line(&error.path, error));
            }
            let left = self.elsewhere.len().saturating_sub(MOST_ELSEWHERE);
            if left > 0 {
                output.text.push(text!("... and {count} more.\n", count = left));
            }
            if let Some(data) = &mut output.data {
                data["new_errors"] = json!(self.elsewhere);
            }
        }
        add_notes(&mut output.text, self.notes);
        output
    }
}

/// Formats an error as one line.
pub(super) fn error_line(path: &str, error: &Diagnostic) -> Text {
    Text::join([format!("{path}: ").into(), error.text(), "\n".into()], "")
}

/// Formats an error for the middle of a sentence, without the full stop that a checker may print.
fn without_full_stop(error: &Diagnostic) -> Text {
    if !error.message.ends_with('.') {
        return error.text();
    }
    let message = error.message.to_string().trim_end_matches('.').into();
    Diagnostic { message, ..error.clone() }.text()
}

fn refusal_data(first: &FileWithErrors<'_>, worse: &[FileWithErrors<'_>], options: ChangeOptions) -> Value {
    let ChangeOptions { dry_run, language, .. } = options;
    let error = |path: &str, error: &Diagnostic| {
        let message = error.message.render(language);
        json!({"path": path, "message": message, "line": error.line, "column": error.column})
    };
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

/// Lists the errors of one file and shows the lines around the first one, with and without the change.
fn describe_errors(worse: &FileWithErrors<'_>) -> Text {
    let FileWithErrors { draft, lines, errors, .. } = worse;
    let mut texts: Vec<Text> = errors.iter().take(MOST_ERRORS).map(|error| error_line(&draft.path, error)).collect();
    if errors.len() > MOST_ERRORS {
        texts.push(text!("... and {count} more.\n", count = errors.len() - MOST_ERRORS));
    }
    // The model has not seen the file as it would have been, so it needs the lines around the error.
    let [_, after] = draft.texts().unwrap_or_default();
    let at = errors[0].line.max(1);
    let shown = at.saturating_sub(AROUND).max(1)..at + AROUND + 1;
    texts.extend([text!("As it would have been:\n"), window(&after, shown.clone(), Some(at)).into()]);
    match draft.old_bytes() {
        None => texts.push(text!("As it is: there is no {name}.\n", name = &draft.path)),
        Some(before) => {
            // A change that removes lines maps a few new lines to many old ones; `window` cuts them.
            let before = window(&String::from_utf8_lossy(before), lines.before(shown), None);
            texts.extend([text!("As it is:\n"), before.into()]);
        }
    }
    Text::join(texts, "")
}

/// Formats lines with their numbers and marks one of them.
fn window(text: &str, lines: Range<u64>, marked: Option<u64>) -> String {
    let first = usize::try_from(lines.start.saturating_sub(1)).unwrap_or(usize::MAX);
    let count = usize::try_from(lines.end.saturating_sub(lines.start)).unwrap_or(0).min(MOST_LINES);
    let mut shown = String::new();
    for (number, line) in (lines.start..).zip(text.lines().skip(first).take(count)) {
        let mark = if marked == Some(number) { '>' } else { ' ' };
        let line: String = line.chars().take(LONGEST_LINE).collect();
        shown.push_str(&format!("{mark}{number:>6}\t{line}\n"));
    }
    shown
}
