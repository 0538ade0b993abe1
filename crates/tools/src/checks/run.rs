//! Runs checkers in the sandbox for a bounded time, with the text on their stdin or on the files of the project.
//!
//! The sandbox's module `process` enforces the time limit, and ends a checker with all its descendants when the call
//! ends. The timeout of a plain wait would end only the child itself.

use super::Checks;
use crate::blocking;
use crate::validate::{Checker, Diagnostic, Subject, is_about_layout, is_about_no_files, is_unresolved, read_output};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;
use toolfence_commands::runner::Checking;
use toolfence_policy::toolbox::ToolError;
use toolfence_protocol::{Text, text};
use toolfence_sandbox::process::Outcome;
use toolfence_workspace::Root;

/// The time limits for a checker of a text and for one of a project, in seconds.
const TEXT_SECONDS: u64 = 10;
const PROJECT_SECONDS: u64 = 120;

/// The outcome of running a checker.
#[derive(Debug)]
pub(super) enum CheckOutcome {
    Errors(Vec<Diagnostic>),
    /// The checker gave no verdict. The reason is either whole sentences or a clause without its full stop.
    Failed(Text),
    /// The checker cannot be started on this machine, for this reason.
    NotInstalled(Text),
    /// The checker does not support the dialect of this text.
    Unsupported,
}

impl Checks {
    /// Runs a checker on a text, a project or a file. If the text can be read in several ways, the first way without
    /// errors counts, or else the one whose first error is furthest down, because it is the most likely to locate the
    /// mistake.
    pub(super) async fn run_checker(&self, checker: &Checker, subject: Subject<'_>) -> Result<CheckOutcome, ToolError> {
        let Some(program) = self.program_for(checker, subject).await? else {
            return Ok(CheckOutcome::NotInstalled(text!("it is not installed")));
        };
        let is_text = matches!(subject, Subject::Text(_));
        let most = if is_text { TEXT_SECONDS } else { PROJECT_SECONDS };
        let started = Instant::now();
        let mut best = CheckOutcome::Unsupported;
        let cache = cache_for(subject);
        for words in checker.ways(subject, &cache) {
            // The limit is for all ways together: a checker with four editions must not take four times as long.
            let seconds = most.saturating_sub(started.elapsed().as_secs());
            if seconds == 0 {
                break;
            }
            let words: Vec<OsString> =
                std::iter::once(program.clone().into()).chain(words.into_iter().skip(1).map(OsString::from)).collect();
            best = best.or_better(self.run_once(checker, &words, subject, seconds).await?);
            if best.is_clean() {
                break;
            }
        }
        Ok(best)
    }

    /// Finds the program of a checker: for some the project's own, or else that of the system.
    async fn program_for(&self, checker: &Checker, subject: Subject<'_>) -> Result<Option<PathBuf>, ToolError> {
        let name = checker.program().to_owned();
        let from = match subject {
            Subject::Text(_) => None,
            Subject::Project(folder) => Some(folder.to_owned()),
            Subject::File(file) => Some(folder_of(file)),
        };
        let from = from.filter(|_| checker.in_modules);
        blocking(self.workspace(), move |workspace, _| Ok(program_from(workspace.root(), from.as_deref(), &name))).await
    }

    async fn run_once(
        &self,
        checker: &Checker,
        words: &[OsString],
        subject: Subject<'_>,
        seconds: u64,
    ) -> Result<CheckOutcome, ToolError> {
        let input = if let Subject::Text(text) = subject { text } else { "" };
        let checking = Checking { words, input, seconds, harmless: checker.harmless };
        let outcome = match self.commands().check(&checking).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(CheckOutcome::Failed(text!("no sandbox is available here to run it in"))),
            Err(ToolError::Respond(failure)) => return Ok(CheckOutcome::Failed(failure.message)),
            Err(fatal) => return Err(fatal),
        };
        let root = self.workspace().root().path().to_string_lossy().into_owned();
        Ok(interpret(&outcome, &root, seconds, subject))
    }
}

/// Returns the path of the file that a checker of this subject keeps between two runs, in the `/tmp` of the session.
/// Without a session, the file exists only during the run.
fn cache_for(subject: Subject<'_>) -> String {
    let mut hasher = DefaultHasher::new();
    match subject {
        Subject::Text(_) => return String::new(),
        Subject::Project(name) | Subject::File(name) => name.hash(&mut hasher),
    }
    format!("/tmp/checker-{:016x}.tsbuildinfo", hasher.finish())
}

/// Finds a program in the `node_modules/.bin` of `folder` or a folder above it, or else that of the system.
pub(super) fn program_from(root: &Root, folder: Option<&str>, name: &str) -> Option<PathBuf> {
    for folder in folder.iter().flat_map(|folder| Path::new(folder).ancestors()) {
        let program = folder.join("node_modules/.bin").join(name);
        // `named_file` follows links only below the root, so a link cannot lead to another program.
        if let Ok(real) = root.named_file(program.to_str()?) {
            return Some(root.path().join(real));
        }
    }
    root.programs().of_system(name)
}

/// Returns the folder of a file, relative to the root.
pub(super) fn folder_of(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())
}

impl CheckOutcome {
    fn is_clean(&self) -> bool {
        matches!(self, CheckOutcome::Errors(errors) if errors.is_empty())
    }

    /// Returns the more informative of two outcomes, or the first if they are equal.
    fn or_better(self, other: CheckOutcome) -> CheckOutcome {
        match (&self, &other) {
            (CheckOutcome::Errors(one), CheckOutcome::Errors(two)) => {
                let first = |errors: &[Diagnostic]| errors.first().map_or(u64::MAX, |error| error.line);
                if first(two) > first(one) { other } else { self }
            }
            // A verdict is better than none. A checker that failed says more than one that is missing.
            (CheckOutcome::Errors(_), _) => self,
            (CheckOutcome::Failed(_), CheckOutcome::NotInstalled(_) | CheckOutcome::Unsupported) => self,
            _ => other,
        }
    }
}

fn interpret(outcome: &Outcome, root: &str, seconds: u64, subject: Subject<'_>) -> CheckOutcome {
    let of_text = matches!(subject, Subject::Text(_));
    // A checker without a verdict must not block a change, so these are no errors of the text.
    if outcome.timed_out {
        return CheckOutcome::Failed(text!("it took longer than {seconds} seconds", seconds));
    }
    if outcome.memory_exceeded {
        return CheckOutcome::Failed(text!("it used more memory than sandbox.memory allows"));
    }
    if outcome.truncated {
        return CheckOutcome::Failed(text!("it printed too much output"));
    }
    if outcome.exit_code == 0 {
        return CheckOutcome::Errors(Vec::new());
    }
    // A shell or a wrapper script exits with 126 or 127 if it cannot start the program.
    if matches!(outcome.exit_code, 126 | 127) {
        return CheckOutcome::NotInstalled(describe_exit(outcome));
    }
    let mut found = read_output(&outcome.output, root);
    // The text has no path. Errors with one are about other files.
    if of_text {
        found.retain(|one| one.path.is_empty());
        found.iter_mut().for_each(|one| one.syntax = true);
    }
    if found.is_empty() && of_text && is_about_layout(&outcome.output) {
        return CheckOutcome::Errors(found);
    }
    if matches!(subject, Subject::Project(_)) && is_about_no_files(&outcome.output) {
        return CheckOutcome::Errors(Vec::new());
    }
    if found.is_empty() && is_missing_component(outcome) {
        return CheckOutcome::NotInstalled(text!("it is not installed"));
    }
    if found.is_empty() {
        return CheckOutcome::Failed(describe_exit(outcome));
    }
    // This follows the tests for an empty list: if all errors are about unresolved names, the file has passed.
    if matches!(subject, Subject::File(_)) {
        found.retain(|error| !is_unresolved(error));
    }
    CheckOutcome::Errors(found)
}

/// Describes the exit status of a checker and the first line that it printed.
fn describe_exit(outcome: &Outcome) -> Text {
    let line = outcome.output.lines().find(|line| !line.trim().is_empty());
    let line = line.map(|line| Text::from(line.chars().filter(|c| !c.is_control()).take(200).collect::<String>()));
    text!(
        "it ended with status {status}: {line}",
        status = outcome.exit_code,
        line = line.unwrap_or_else(|| text!("it printed nothing"))
    )
}

/// Returns `true` if rustup's proxy reports that the component is not installed.
fn is_missing_component(outcome: &Outcome) -> bool {
    outcome.output.starts_with("error: ") && outcome.output.lines().take(2).any(|line| line.contains("rustup"))
}
