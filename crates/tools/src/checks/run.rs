//! Checkers, started: the text on their stdin or the project before them, inside the sandbox, for a bounded time.
//!
//! `process` has the deadline, ends what a checker leaves running and ends all of it with the call; a blocking wait with a
//! time-out would know the child alone.

use super::super::runner::Checking;
use super::Checks;
use crate::messages;
use std::ffi::OsString;
use std::time::Instant;
use toolfence_protocol::Text;
use toolfence_sandbox::process::Outcome;
use toolfence_toolbox::ToolError;
use toolfence_validate::is_about_layout;
use toolfence_validate::{Checker, Diagnostic, Reads, read_output};

/// Seconds a checker of a text may take, and one of a project.
const TEXT_SECONDS: u64 = 10;
const PROJECT_SECONDS: u64 = 120;

/// What a checker says.
#[derive(Debug)]
pub(super) enum Said {
    Errors(Vec<Diagnostic>),
    /// Why it said nothing: whole sentences, or the end of one without its full stop.
    Nothing(Text),
    /// It is not installed, or not for this text.
    Absent,
}

impl Checks {
    /// What a checker says of this text, or of the project in this folder. Of several ways to read a text one that finds nothing
    /// counts, and else the one that came furthest: it knows best where the mistake is.
    pub(super) async fn ask(&self, checker: &Checker, text: &str, folder: &str) -> Result<Said, ToolError> {
        let Some(program) = self.workspace().root().programs().of_system(checker.program()) else {
            return Ok(Said::Absent);
        };
        let most = if checker.reads == Reads::Text { TEXT_SECONDS } else { PROJECT_SECONDS };
        let started = Instant::now();
        let mut best = Said::Absent;
        for words in checker.ways(text, folder) {
            let seconds = most.saturating_sub(started.elapsed().as_secs());
            if seconds == 0 {
                break;
            }
            let words: Vec<OsString> =
                std::iter::once(program.clone().into()).chain(words.into_iter().skip(1).map(OsString::from)).collect();
            best = best.or(self.ask_so(checker, &words, text, seconds).await?);
            if best.is_clean() {
                break;
            }
        }
        Ok(best)
    }

    async fn ask_so(&self, checker: &Checker, words: &[OsString], text: &str, seconds: u64) -> Result<Said, ToolError> {
        let of_text = checker.reads == Reads::Text;
        let input = if of_text { text } else { "" };
        let checking = Checking { words, input, seconds, harmless: checker.harmless };
        let outcome = match self.commands.check(&checking).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Ok(Said::Nothing(messages::nothing_holds_it())),
            Err(ToolError::Respond(failure)) => return Ok(Said::Nothing(failure.message)),
            Err(fatal) => return Err(fatal),
        };
        let root = self.workspace().root().path().to_string_lossy().into_owned();
        Ok(said(&outcome, &root, seconds, of_text))
    }
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
            (Said::Nothing(_), Said::Absent) => self,
            _ => other,
        }
    }
}

fn said(outcome: &Outcome, root: &str, seconds: u64, of_text: bool) -> Said {
    if outcome.timed_out {
        return Said::Nothing(messages::took_too_long(seconds));
    }
    if outcome.memory_exceeded {
        return Said::Nothing(messages::used_too_much_memory());
    }
    if outcome.truncated {
        return Said::Nothing(messages::wrote_too_much());
    }
    if outcome.exit_code == 0 {
        return Said::Errors(Vec::new());
    }
    // By these a shell, or what stands in for a program, says that there is none.
    if matches!(outcome.exit_code, 126 | 127) {
        return Said::Absent;
    }
    let mut found = read_output(&outcome.output, root);
    if of_text {
        found.retain(|one| one.path.is_empty());
        found.iter_mut().for_each(|one| one.syntax = true);
    }
    if found.is_empty() && of_text && is_about_layout(&outcome.output) {
        return Said::Errors(found);
    }
    if found.is_empty() && stands_for_nothing(outcome) {
        return Said::Absent;
    }
    if found.is_empty() {
        let line = outcome.output.lines().find(|line| !line.trim().is_empty());
        let line = line.map(|line| Text::from(line.chars().filter(|c| !c.is_control()).take(200).collect::<String>()));
        let line = line.unwrap_or_else(messages::printed_nothing);
        return Said::Nothing(messages::checker_ended(outcome.exit_code, line));
    }
    Said::Errors(found)
}

/// What rustup puts into the PATH for programs that it may have or not, where it has not.
fn stands_for_nothing(outcome: &Outcome) -> bool {
    outcome.output.starts_with("error: ") && outcome.output.lines().take(2).any(|line| line.contains("rustup"))
}
