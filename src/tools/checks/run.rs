//! Checkers, started: the text on their stdin or the project before them, inside the walls, for a bounded time.
//!
//! `process` has the deadline, ends what a checker leaves running and ends all of it with the call; a blocking wait with a
//! time-out would know the child alone.

use super::super::commands::Checking;
use super::Checks;
use crate::process::Outcome;
use crate::toolbox::ToolError;
use crate::validate::{Checker, Diagnostic, Reads, read_output};
use std::ffi::OsString;

/// Seconds a checker of a text may take, and one of a project.
const TEXT_SECONDS: u64 = 10;
const PROJECT_SECONDS: u64 = 120;

/// What a checker says.
#[derive(Debug)]
pub(super) enum Said {
    Errors(Vec<Diagnostic>),
    /// Why it said nothing: one sentence without its end.
    Nothing(String),
    /// It is not installed, or not for this text.
    Absent,
}

impl Checks {
    /// What a checker says of this text, or of the project in this folder.
    pub(super) async fn ask(&self, checker: &Checker, text: &str, folder: &str) -> Result<Said, ToolError> {
        let Some(words) = checker.words(text, folder) else { return Ok(Said::Absent) };
        let Some(program) = self.workspace.system_program(checker.program()) else { return Ok(Said::Absent) };
        let words: Vec<OsString> =
            std::iter::once(program.into()).chain(words.into_iter().skip(1).map(OsString::from)).collect();
        let of_text = checker.reads == Reads::Text;
        let seconds = if of_text { TEXT_SECONDS } else { PROJECT_SECONDS };
        let input = if of_text { text } else { "" };
        let checking = Checking { words: &words, input, seconds, harmless: checker.harmless };
        let outcome = match self.commands.check(&checking).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(Said::Nothing("no walls stand here that would hold it".into())),
            Err(ToolError::Respond(failure)) => return Ok(Said::Nothing(failure.message)),
            Err(fatal) => return Err(fatal),
        };
        let root = self.workspace.root().to_string_lossy().into_owned();
        Ok(said(&outcome, &root, seconds, of_text))
    }
}

fn said(outcome: &Outcome, root: &str, seconds: u64, of_text: bool) -> Said {
    if outcome.timed_out {
        return Said::Nothing(format!("it took longer than {seconds} seconds"));
    }
    if outcome.truncated {
        return Said::Nothing("it wrote more than anybody would read".into());
    }
    if outcome.exit_code == 0 {
        return Said::Errors(Vec::new());
    }
    let mut found = read_output(&outcome.output, root);
    if of_text {
        found.retain(|one| one.path.is_empty());
        found.iter_mut().for_each(|one| one.syntax = true);
    }
    if found.is_empty() {
        let line = outcome.output.lines().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
        return Said::Nothing(format!("it ended with status {}: {line}", outcome.exit_code));
    }
    Said::Errors(found)
}
