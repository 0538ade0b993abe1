//! Checkers, started: the text on their stdin or the project before them, inside the sandbox, for a bounded time.
//!
//! `process` has the deadline, ends what a checker leaves running and ends all of it with the call; a blocking wait with a
//! time-out would know the child alone.

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

/// Seconds a checker of a text may take, and one of a project.
const TEXT_SECONDS: u64 = 10;
const PROJECT_SECONDS: u64 = 120;

/// What a checker says.
#[derive(Debug)]
pub(super) enum Said {
    Errors(Vec<Diagnostic>),
    /// Why it said nothing: whole sentences, or the end of one without its full stop.
    Nothing(Text),
    /// It cannot be started on this machine, and why.
    Absent(Text),
    /// It does not read the dialect of this text.
    Unfit,
}

impl Checks {
    /// The findings of a checker about a text, a project or a file. Of several ways to read a text the first that finds nothing
    /// counts, or else the one that reads furthest, because it knows best where the mistake is.
    pub(super) async fn ask(&self, checker: &Checker, subject: Subject<'_>) -> Result<Said, ToolError> {
        let Some(program) = self.program_for(checker, subject).await? else {
            return Ok(Said::Absent(text!("it is not installed")));
        };
        let is_text = matches!(subject, Subject::Text(_));
        let most = if is_text { TEXT_SECONDS } else { PROJECT_SECONDS };
        let started = Instant::now();
        let mut best = Said::Unfit;
        let cache = cache_for(subject);
        for words in checker.ways(subject, &cache) {
            let seconds = most.saturating_sub(started.elapsed().as_secs());
            if seconds == 0 {
                break;
            }
            let words: Vec<OsString> =
                std::iter::once(program.clone().into()).chain(words.into_iter().skip(1).map(OsString::from)).collect();
            best = best.or(self.ask_so(checker, &words, subject, seconds).await?);
            if best.is_clean() {
                break;
            }
        }
        Ok(best)
    }

    /// The program of a checker: for some the project's own, or else that of the system.
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

    async fn ask_so(
        &self,
        checker: &Checker,
        words: &[OsString],
        subject: Subject<'_>,
        seconds: u64,
    ) -> Result<Said, ToolError> {
        let input = if let Subject::Text(text) = subject { text } else { "" };
        let checking = Checking { words, input, seconds, harmless: checker.harmless };
        let outcome = match self.commands().check(&checking).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(Said::Nothing(text!("no sandbox is available here that would hold it"))),
            Err(ToolError::Respond(failure)) => return Ok(Said::Nothing(failure.message)),
            Err(fatal) => return Err(fatal),
        };
        let root = self.workspace().root().path().to_string_lossy().into_owned();
        Ok(said(&outcome, &root, seconds, subject))
    }
}

/// The path of the file that a checker of this subject keeps between two runs, in the `/tmp` of the session. Without a session, it ends
/// with the run.
fn cache_for(subject: Subject<'_>) -> String {
    let mut hasher = DefaultHasher::new();
    match subject {
        Subject::Text(_) => return String::new(),
        Subject::Project(name) | Subject::File(name) => name.hash(&mut hasher),
    }
    format!("/tmp/checker-{:016x}.tsbuildinfo", hasher.finish())
}

/// The program that a project has in the `node_modules/.bin` of `folder` or above it, or else that of the system.
pub(super) fn program_from(root: &Root, folder: Option<&str>, name: &str) -> Option<PathBuf> {
    for folder in folder.iter().flat_map(|folder| Path::new(folder).ancestors()) {
        let program = folder.join("node_modules/.bin").join(name);
        if let Ok(real) = root.named_file(program.to_str()?) {
            return Some(root.path().join(real));
        }
    }
    root.programs().of_system(name)
}

/// The folder of a file, relative to the root.
pub(super) fn folder_of(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())
}

impl Said {
    fn is_clean(&self) -> bool {
        matches!(self, Said::Errors(errors) if errors.is_empty())
    }

    /// The one that knows more, or else the first.
    fn or(self, other: Said) -> Said {
        match (&self, &other) {
            (Said::Errors(one), Said::Errors(two)) => {
                let first = |errors: &[Diagnostic]| errors.first().map_or(u64::MAX, |error| error.line);
                if first(two) > first(one) { other } else { self }
            }
            (Said::Errors(_), _) => self,
            (Said::Nothing(_), Said::Absent(_) | Said::Unfit) => self,
            _ => other,
        }
    }
}

fn said(outcome: &Outcome, root: &str, seconds: u64, subject: Subject<'_>) -> Said {
    let of_text = matches!(subject, Subject::Text(_));
    if outcome.timed_out {
        return Said::Nothing(text!("it took longer than {seconds} seconds", seconds));
    }
    if outcome.memory_exceeded {
        return Said::Nothing(text!("it used more memory than sandbox.memory lets it have"));
    }
    if outcome.truncated {
        return Said::Nothing(text!("it wrote more than anybody would read"));
    }
    if outcome.exit_code == 0 {
        return Said::Errors(Vec::new());
    }
    // A shell, or a script in the place of a program, ends with these if it cannot start the program.
    if matches!(outcome.exit_code, 126 | 127) {
        return Said::Absent(ended(outcome));
    }
    let mut found = read_output(&outcome.output, root);
    if of_text {
        found.retain(|one| one.path.is_empty());
        found.iter_mut().for_each(|one| one.syntax = true);
    }
    if found.is_empty() && of_text && is_about_layout(&outcome.output) {
        return Said::Errors(found);
    }
    if matches!(subject, Subject::Project(_)) && is_about_no_files(&outcome.output) {
        return Said::Errors(Vec::new());
    }
    if found.is_empty() && is_missing_component(outcome) {
        return Said::Absent(text!("it is not installed"));
    }
    if found.is_empty() {
        return Said::Nothing(ended(outcome));
    }
    if matches!(subject, Subject::File(_)) {
        found.retain(|error| !is_unresolved(error));
    }
    Said::Errors(found)
}

/// How a checker ended, and the first line that it printed.
fn ended(outcome: &Outcome) -> Text {
    let line = outcome.output.lines().find(|line| !line.trim().is_empty());
    let line = line.map(|line| Text::from(line.chars().filter(|c| !c.is_control()).take(200).collect::<String>()));
    text!(
        "it ended with status {status}: {line}",
        status = outcome.exit_code,
        line = line.unwrap_or_else(|| text!("it printed nothing"))
    )
}

/// Whether this is the script of rustup for a component that is not installed.
fn is_missing_component(outcome: &Outcome) -> bool {
    outcome.output.starts_with("error: ") && outcome.output.lines().take(2).any(|line| line.contains("rustup"))
}
