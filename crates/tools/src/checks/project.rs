//! Commands that check the whole project, such as `cargo check`. They run before the first change of a conversation, to
//! record the errors that exist already, and after the last change of each reply.
//!
//! The user configures these commands, and the model cannot change them. Even so they run only in the sandbox, because
//! a build runs code that the model wrote.

use super::answers::error_line;
use crate::validate::{Diagnostic, appeared, read_output};
use crate::{blocking, capped};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Mutex;
use toolfence_commands::runner::{CommandRequest, CommandRunner, MadeChange, MadeChanges, shell_line};
use toolfence_policy::toolbox::{Progress, ToolError, Toolbox};
use toolfence_protocol::text::Field;
use toolfence_protocol::{
    Args, Error, ErrorCode, ErrorKind, Language, Limits, Output, Text, ToolCall, ToolFailure, ToolResult, clip, text,
};

/// The name of the checks' results for the model, in place of a tool's name.
pub const PROJECT_CHECK: &str = "project_check";

/// The maximum number of bytes of output that are searched for errors.
const MOST_OUTPUT: usize = 4 << 20;

/// The maximum number of errors of one command that a report lists.
const MOST_ERRORS: usize = 20;

/// The maximum number of bytes that a report shows of output in which no error was recognized.
const MOST_SHOWN: usize = 4000;

/// The check commands of one project, and their latest results.
#[derive(Debug)]
pub struct ProjectChecks {
    commands: Arc<CommandRunner>,
    lines: Vec<String>,
    /// The commands whose new errors roll changes back.
    rolling_back: HashSet<String>,
    /// The latest result of each line; `None` before the first run.
    last: Mutex<Option<Vec<LastRun>>>,
}

/// The latest results of one command.
#[derive(Debug, Clone, Default)]
struct LastRun {
    found: Option<CheckRun>,
    /// Why the command could not run the last time.
    problem: Option<Text>,
}

/// The changes of a reply that were rolled back.
#[derive(Debug, Default)]
struct RolledBack {
    /// The files, in the order of their names.
    files: BTreeSet<String>,
    /// The files of changes that could not be taken back, and why.
    stayed: Vec<(Vec<String>, Text)>,
}

impl RolledBack {
    fn text(&self) -> Text {
        let names = |files: Vec<&str>| {
            let more = if files.len() > MOST_ERRORS { ", ..." } else { "" };
            format!("{}{more}", files[..files.len().min(MOST_ERRORS)].join(", "))
        };
        let mut text = match self.files.is_empty() {
            true => text!("No change was rolled back: only changes of the tools for files can be."),
            false => text!(
                "The changes of this reply were rolled back: {files}. Read the files again before you change them.",
                files = names(self.files.iter().map(String::as_str).collect())
            ),
        };
        text.push("\n");
        for (files, why) in &self.stayed {
            text.push(text!(
                "Not rolled back: {files}: {why}",
                files = names(files.iter().map(String::as_str).collect()),
                why = why.clone()
            ));
            text.push("\n");
        }
        text
    }
}

/// The result of one run of a command.
#[derive(Debug, Clone, PartialEq)]
struct CheckRun {
    status: i32,
    errors: Vec<Diagnostic>,
    /// The output, if the command failed and no error in it was recognized.
    output: String,
    /// Whether the command printed more than was read.
    cut: bool,
}

impl ProjectChecks {
    /// Creates checks with these command lines, which bash runs in the root. Each may take as long as any command.
    /// Duplicate lines run once.
    pub fn new(commands: Arc<CommandRunner>, lines: impl IntoIterator<Item = String>) -> ProjectChecks {
        let mut known = HashSet::new();
        let lines = lines.into_iter().filter(|line| known.insert(line.clone())).collect();
        ProjectChecks { commands, lines, rolling_back: HashSet::new(), last: Mutex::new(None) }
    }

    /// Rolls back the changes that the file tools made in a reply if one of these command lines finds new errors after
    /// it. Changes that commands made are kept.
    #[must_use]
    pub fn rolling_back(self, lines: impl IntoIterator<Item = String>) -> ProjectChecks {
        ProjectChecks { rolling_back: lines.into_iter().collect(), ..self }
    }

    /// Returns `true` if changes are rolled back, so that the calls of a turn must run in [`MadeChanges::record`].
    pub fn rolls_back(&self) -> bool {
        !self.rolling_back.is_empty()
    }

    /// Returns the call under which a host displays the checks.
    pub fn call(&self) -> ToolCall {
        let args = Args::from_iter([("command".to_owned(), self.lines.join("; ").into())]);
        ToolCall::new(PROJECT_CHECK, PROJECT_CHECK, args)
    }

    /// Runs the commands on the unchanged project unless they ran before. Must complete before the first change. The
    /// limits of `toolbox` apply. Its language is that of the note about truncated output, which a later report may
    /// show.
    ///
    /// # Errors
    /// Fails with an error that ends the turn, because the model cannot correct it.
    pub async fn before_changes(&self, toolbox: &Toolbox, progress: &dyn Progress) -> Result<(), Error> {
        // The lock is held during the run, so that calls that start together wait for one run before they change files.
        let mut last = self.last.lock().await;
        if last.is_none() {
            let mut seen = self.run_all(&vec![LastRun::default(); self.lines.len()], toolbox, progress).await?;
            // The model has not seen this problem, so the next report must not call it known.
            seen.iter_mut().for_each(|seen| seen.problem = None);
            *last = Some(seen);
        }
        Ok(())
    }

    /// Runs the commands again and reports, in the language of `toolbox`, the errors that are new since the last run.
    ///
    /// # Errors
    /// Fails with an error that ends the turn, because the model cannot correct it.
    pub async fn after_changes(&self, toolbox: &Toolbox, progress: &dyn Progress) -> Result<ToolResult, Error> {
        let started = Instant::now();
        let mut last = self.last.lock().await;
        let before = last.clone().unwrap_or_else(|| vec![LastRun::default(); self.lines.len()]);
        let now = self.run_all(&before, toolbox, progress).await?;
        let made = MadeChanges::take();
        let mut back = None;
        if self.must_roll_back(&before, &now) {
            back = Some(self.roll_back(made).await?);
        }
        let output =
            report(&self.lines, &before, &now, back.as_ref(), toolbox.language(), toolbox.limits().output_bytes);
        // After a roll-back the commands run again before the next change, because some changes may have stayed. They
        // do not run now: the list of rolled-back files must reach the model even if the turn is stopped.
        *last = Some(now).filter(|_| back.is_none());
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(ToolResult::new(PROJECT_CHECK, PROJECT_CHECK, output, elapsed))
    }

    /// Returns `true` if a command that rolls changes back finds new errors.
    fn must_roll_back(&self, before: &[LastRun], now: &[LastRun]) -> bool {
        let rows = self.lines.iter().zip(before.iter().zip(now));
        let mut rolling_back = rows.filter(|(line, _)| self.rolling_back.contains(*line));
        rolling_back.any(|(line, (before, now))| match &now.found {
            // A command that could not run proves nothing about the changes.
            Some(found) if now.problem.is_none() => {
                is_worse(before.found.as_ref(), found, &describe_run(line, before.found.as_ref(), found).1)
            }
            _ => false,
        })
    }

    /// Undoes the changes, the last one first.
    async fn roll_back(&self, made: Vec<MadeChange>) -> Result<RolledBack, Error> {
        let all = blocking(self.commands.workspace(), move |workspace, _| {
            let mut all = RolledBack::default();
            // Each change is reverted to the text before it, so a later change of the same file must go first.
            for MadeChange { paths, take_back } in made.into_iter().rev() {
                match take_back(workspace) {
                    Ok(()) => all.files.extend(paths),
                    Err(failure) => all.stayed.push((paths, failure.message)),
                }
            }
            Ok(all)
        })
        .await;
        all.map_err(|error| match error {
            ToolError::Fatal(error) => error,
            ToolError::Respond(failure) => Error::with_kind(ErrorKind::Internal, failure.message),
        })
    }

    async fn run_all(
        &self,
        before: &[LastRun],
        toolbox: &Toolbox,
        progress: &dyn Progress,
    ) -> Result<Vec<LastRun>, Error> {
        let mut all = Vec::new();
        for (line, before) in self.lines.iter().zip(before) {
            progress.note(line);
            all.push(match self.run_line(line, toolbox.language(), toolbox.limits(), progress).await {
                Ok(found) => LastRun { found: Some(found), problem: None },
                Err(ToolError::Respond(failure)) => {
                    // The next run is compared with the last one that produced a result.
                    LastRun { found: before.found.clone(), problem: Some(failure.message) }
                }
                Err(ToolError::Fatal(error)) => return Err(error),
            });
        }
        Ok(all)
    }

    async fn run_line(
        &self,
        line: &str,
        language: Language,
        limits: &Limits,
        progress: &dyn Progress,
    ) -> Result<CheckRun, ToolError> {
        // The user trusts the command line, but a build also runs code that the model wrote.
        if !self.commands.is_held().await? {
            return Err(ToolFailure::new(
                ErrorCode::Denied,
                text!("No sandbox is available here to run it in, and it may execute code that you wrote."),
            )
            .into());
        }
        let wanted = CommandRequest {
            words: shell_line(line),
            folder: ".".to_owned(),
            seconds: Some(limits.command_seconds_most),
            most_seconds: limits.command_seconds_most,
            network: false,
            outside: false,
            keep: MOST_OUTPUT,
            looks: false,
            writes_builds: false,
            on_private_copy: true,
            language,
        };
        let outcome = self.commands.run_check(wanted, line, progress).await?;
        if outcome.timed_out {
            let why = text!("It did not end within {seconds} s and was ended.", seconds = limits.command_seconds_most);
            return Err(ToolFailure::new(ErrorCode::Timeout, why).into());
        }
        let root = self.commands.workspace().root().path().to_string_lossy();
        let errors = if outcome.exit_code == 0 { Vec::new() } else { read_output(&outcome.output, &root) };
        let shown = outcome.exit_code != 0 && errors.is_empty();
        let output = if shown { clip::clip(&outcome.output, MOST_SHOWN, language).text } else { String::new() };
        Ok(CheckRun { status: outcome.exit_code, errors, output, cut: outcome.truncated })
    }
}

/// Returns `true` if the command reports new errors, or fails after it passed before.
fn is_worse(before: Option<&CheckRun>, now: &CheckRun, new: &[Diagnostic]) -> bool {
    // Without an earlier run, the errors may be older than the changes.
    before.is_some_and(|before| !new.is_empty() || (now.status != 0 && before.status == 0))
}

/// Builds the report about all commands for the model.
fn report(
    lines: &[String],
    before: &[LastRun],
    now: &[LastRun],
    back: Option<&RolledBack>,
    language: Language,
    most: u64,
) -> Output {
    let mut texts = Vec::new();
    let mut worse = Vec::new();
    let mut new_errors = Vec::new();
    for (line, (before, now)) in lines.iter().zip(before.iter().zip(now)) {
        if let Some(why) = &now.problem {
            // The same problem is reported once and not after every reply.
            if before.problem.as_ref() != Some(why) {
                texts.push(text!("`{line}` could not run: {why}\n", line, why = why.clone()));
            }
        } else if let Some(found) = &now.found {
            let (description, new) = describe_run(line, before.found.as_ref(), found);
            texts.push(description);
            if is_worse(before.found.as_ref(), found, &new) {
                worse.push(Text::from(format!("`{line}`")));
            }
            new_errors.extend(new.into_iter().take(MOST_ERRORS));
        }
    }
    if texts.is_empty() {
        texts.push(text!("No check could run, as before.\n"));
    }
    texts.extend(back.map(RolledBack::text));
    let count = worse.len();
    let failure = worse.into_iter().reduce(|one, two| text!("{one} and {two}", one, two)).map(|commands| {
        ToolFailure::new(
            ErrorCode::ExitStatus,
            text!(
                "{commands} {count|finds|find} errors that did not exist before the changes of this reply. Fix them \
                 before you continue.",
                commands,
                count
            ),
        )
    });
    let mut data = (!new_errors.is_empty()).then(|| serde_json::json!({ "new_errors": new_errors }));
    if let Some(back) = back {
        data.get_or_insert_default()["rolled_back"] = back.files.iter().map(String::as_str).collect();
    }
    let mut output = capped(Text::join(texts, ""), false, language, most);
    output.data = data;
    output.failure = failure;
    output
}

/// Describes the result of one command, and returns its new errors.
fn describe_run(line: &str, before: Option<&CheckRun>, now: &CheckRun) -> (Text, Vec<Diagnostic>) {
    let with_line_end = |mut text: Text| {
        text.push("\n");
        text
    };
    if now.status == 0 {
        let again = before.is_some_and(|before| before.status != 0);
        return (
            with_line_end(if again { text!("`{line}` passes again.", line) } else { text!("`{line}` passes.", line) }),
            Vec::new(),
        );
    }
    if now.errors.is_empty() {
        return (with_line_end(describe_unrecognized(line, before, now)), Vec::new());
    }
    let known = before.map_or(&[][..], |before| &before.errors);
    let new = appeared(known, &now.errors);
    let (count, old) = (Field::Grouped(new.len() as u64), now.errors.len() - new.len());
    let mut text = match before {
        _ if new.is_empty() => text!("`{line}` finds nothing new.", line),
        Some(_) => text!("`{line}` finds {count} new {count|error|errors}.", line, count),
        None => text!("`{line}` finds {count} {count|error|errors}.", line, count),
    };
    if old > 0 {
        text =
            text.then(text!("{count} {count|error was|errors were} there before.", count = Field::Grouped(old as u64)));
    }
    if new.is_empty() {
        return (with_line_end(text), new);
    }
    if before.is_none() {
        text = text.then(text!("It did not run before, so these errors may be old."));
    }
    text = with_line_end(text);
    for error in new.iter().take(MOST_ERRORS) {
        text.push(error_line(&error.path, error));
    }
    if new.len() > MOST_ERRORS {
        text.push(text!("... and {count} more.\n", count = new.len() - MOST_ERRORS));
    }
    if now.cut {
        text.push(text!("[It printed more than was read: there may be more errors.]\n"));
    }
    (text, new)
}

/// Describes a failed run in whose output no error was recognized: the exit status, and the output without its last
/// line end.
fn describe_unrecognized(line: &str, before: Option<&CheckRun>, now: &CheckRun) -> Text {
    let known = before.filter(|before| before.status != 0);
    if known.is_some_and(|before| before.output == now.output) {
        return text!("`{line}` ends with status {status}, as before.", line, status = now.status);
    }
    let mut text = text!("`{line}` ends with status {status}.", line, status = now.status);
    if before.is_some_and(|before| before.status == 0) {
        text = text.then(text!("It passed before."));
    }
    if !now.output.is_empty() {
        text.push("\n");
        text.push(now.output.strip_suffix('\n').unwrap_or(&now.output));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_run(status: i32, errors: &[(&str, u64, &str)], output: &str) -> LastRun {
        let errors = errors.iter().map(|(path, line, message)| Diagnostic::new(*path, *line, 0, message)).collect();
        LastRun { found: Some(CheckRun { status, errors, output: output.to_owned(), cut: false }), problem: None }
    }

    fn report_of(before: &LastRun, now: &LastRun) -> (String, bool) {
        let output = report(
            &["make".to_owned()],
            std::slice::from_ref(before),
            std::slice::from_ref(now),
            None,
            Language::English,
            100_000,
        );
        (output.text.to_string(), output.failure.is_none())
    }

    #[test]
    fn new_errors_are_listed_and_old_ones_counted() {
        let (passes, never) = (last_run(0, &[], ""), LastRun::default());
        let old = last_run(1, &[("a.c", 3, "no x1")], "");
        let moved = last_run(1, &[("a.c", 9, "no x2")], "");
        let more = last_run(1, &[("a.c", 9, "no x2"), ("b.c", 1, "no y"), ("a.c", 3, "no x1")], "");
        let (broke, broke_else) = (last_run(2, &[], "it burned\n"), last_run(2, &[], "it drowned"));
        let stuck = LastRun { problem: Some("It is gone.".into()), ..last_run(0, &[], "") };
        for (before, now, text, good) in [
            (&passes, &passes, "`make` passes.\n", true),
            (&old, &passes, "`make` passes again.\n", true),
            (&old, &moved, "`make` finds nothing new. 1 error was there before.\n", true),
            (&passes, &old, "`make` finds 1 new error.\na.c: line 3: no x1\n", false),
            (
                &old,
                &more,
                "`make` finds 2 new errors. 1 error was there before.\na.c: line 9: no x2\nb.c: line 1: no y\n",
                false,
            ),
            (&passes, &broke, "`make` ends with status 2. It passed before.\nit burned\n", false),
            (&broke, &broke, "`make` ends with status 2, as before.\n", true),
            (&broke, &broke_else, "`make` ends with status 2.\nit drowned\n", true),
            (&passes, &stuck, "`make` could not run: It is gone.\n", true),
            (&stuck, &stuck, "No check could run, as before.\n", true),
            (
                &never,
                &old,
                "`make` finds 1 error. It did not run before, so these errors may be old.\na.c: line 3: no x1\n",
                true,
            ),
        ] {
            assert_eq!(report_of(before, now), (text.to_owned(), good), "{before:?} {now:?}");
        }
    }

    #[test]
    fn many_errors_are_counted() {
        let many: Vec<(String, u64)> = (0..25).map(|n| (format!("{}.c", "abcde".repeat(n + 1)), 1)).collect();
        let many: Vec<(&str, u64, &str)> = many.iter().map(|(path, line)| (&**path, *line, "no")).collect();
        let (text, _) = report_of(&last_run(0, &[], ""), &last_run(1, &many, ""));
        assert!(text.starts_with("`make` finds 25 new errors.\n") && text.ends_with("\n... and 5 more.\n"), "{text}");
    }

    #[test]
    fn reports_are_bounded() {
        let long = |n: usize| format!("{}/{}.c", "d".repeat(4000), "abcde".repeat(n + 1));
        let many: Vec<Diagnostic> = (0..100).map(|n| Diagnostic::new(long(n), 1, 0, "no")).collect();
        let errors = CheckRun { status: 1, errors: many, output: String::new(), cut: false };
        let bad = LastRun { found: Some(errors), problem: None };
        let output = report(
            &["a".into(), "b".into()],
            &[last_run(0, &[], ""), last_run(0, &[], "")],
            &[bad.clone(), bad],
            None,
            Language::English,
            100_000,
        );
        assert!(output.truncated && output.text.to_string().len() <= 100_000, "{}", output.text.to_string().len());
        let data = output.data.expect("the output has data");
        assert_eq!(data["new_errors"].as_array().map(Vec::len), Some(2 * MOST_ERRORS));
        assert!(
            output.failure.is_some_and(|failure| failure.message.to_string().starts_with("`a` and `b` find errors"))
        );
    }
}
