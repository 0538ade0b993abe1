//! What the model is told of a change that was not made, or that made something worse.

use super::{Findings, How, Worse};
use crate::notes::add_notes;
use crate::validate::Diagnostic;
use serde_json::{Value, json};
use std::ops::Range;
use toolfence_protocol::text::Field;
use toolfence_protocol::{ErrorCode, Output, Text, ToolFailure, text};
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
pub(super) fn refused(worse: &[Worse<'_>], how: How) -> Output {
    let first = &worse[0];
    let name = &first.draft.path;
    let what = match (how.dry_run, worse.len()) {
        (true, 1) => text!("Dry run: {name} would not be changed", name),
        (true, _) => text!("Dry run: nothing would be changed"),
        (false, 1) => text!("{name} was not changed", name),
        (false, _) => text!("Nothing was changed"),
    };
    let error = end_trimmed(&first.errors[0]);
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
    let mut output = Output::text(Text::join(worse.iter().take(MOST_WINDOWS).map(told), ""));
    output.data = Some(data(first, worse, how));
    output.failure = Some(ToolFailure::new(ErrorCode::SyntaxError, message));
    output
}

/// The answer to a change that makes files worse and could not be taken back: it stays, and that is said plainly.
pub(super) fn stayed(answer: Output, drafts: &[FileDraft], why: &ToolFailure) -> Output {
    let broke = answer.failure.map(|failure| failure.message).unwrap_or_default();
    let message = text!(
        "The change was made and stays, for it could not be taken back: {why} What it broke: {broke}",
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

/// `why` is whole sentences, or the end of one without its full stop.
pub(super) fn not_checked(path: &str, by: &str, why: Text) -> Text {
    if why.ends_with('.') {
        text!("{path} was not checked by {program}: {sentence}", path, program = by, sentence = why)
    } else {
        text!("{path} was not checked by {program}: {why}.", path, program = by, why)
    }
}

impl Findings {
    /// Says at the end of an answer what was seen beside the change.
    pub(crate) fn add_to(self, mut output: Output) -> Output {
        if !self.elsewhere.is_empty() {
            output.text.push(text!(
                "[{count} new {count|error|errors} in other files, because of this change:]\n",
                count = Field::Grouped(self.elsewhere.len() as u64)
            ));
            for error in self.elsewhere.iter().take(MOST_ELSEWHERE) {
                output.text.push(line_of(&error.path, error));
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

/// One error, on a line.
pub(super) fn line_of(path: &str, error: &Diagnostic) -> Text {
    Text::join([format!("{path}: ").into(), error.text(), "\n".into()], "")
}

/// An error for the middle of a sentence: what a checker said may end with a full stop.
fn end_trimmed(error: &Diagnostic) -> Text {
    if !error.message.ends_with('.') {
        return error.text();
    }
    let message = error.message.to_string().trim_end_matches('.').into();
    Diagnostic { message, ..error.clone() }.text()
}

fn data(first: &Worse<'_>, worse: &[Worse<'_>], how: How) -> Value {
    let How { dry_run, language, .. } = how;
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

/// The errors of one file, with the lines as they would have been and as they are.
fn told(worse: &Worse<'_>) -> Text {
    let Worse { draft, lines, errors, .. } = worse;
    let mut texts: Vec<Text> = errors.iter().take(MOST_ERRORS).map(|error| line_of(&draft.path, error)).collect();
    if errors.len() > MOST_ERRORS {
        texts.push(text!("... and {count} more.\n", count = errors.len() - MOST_ERRORS));
    }
    let [_, after] = draft.texts().unwrap_or_default();
    let at = errors[0].line.max(1);
    let shown = at.saturating_sub(AROUND).max(1)..at + AROUND + 1;
    texts.extend([text!("As it would have been:\n"), window(&after, shown.clone(), Some(at)).into()]);
    match draft.old_bytes() {
        None => texts.push(text!("As it is: there is no {name}.\n", name = &draft.path)),
        Some(before) => {
            let before = window(&String::from_utf8_lossy(before), lines.before(shown), None);
            texts.extend([text!("As it is:\n"), before.into()]);
        }
    }
    Text::join(texts, "")
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
