//! Which calls write a repository and are git alone, so that the repository may be writable for them.
//!
//! The unit is the whole line: one command that is not git, in whatever way it is reached, and what it runs could plant
//! something in a repository that is writable.

use super::git_calls::git_call;
use super::git_words::GitCall;
use super::inspection::Inspection;
use super::report::Finding;
use super::{Input, Walker};
use crate::shell::expand::Word;
use crate::shell::{messages, shown};
use toolfence_protocol::Text;

/// What the commands of a line do to a repository.
#[derive(Debug, Clone, Default)]
pub(crate) struct GitCalls {
    /// Whether a command of git writes a repository and makes git run no other program.
    writes: bool,
    /// The first thing in the line that is neither such a command, nor git that reads, nor one of [`BESIDE`].
    other: Option<Text>,
}

/// What may stand beside git: built into the shell, these run nothing and write no file.
const BESIDE: &[&str] = &["cd", "echo", "true", "printf"];

impl GitCalls {
    /// Something in the line is not git alone.
    pub(crate) fn other(&mut self, what: impl Into<Text>) {
        self.other.get_or_insert_with(|| what.into());
    }

    /// Whether the line writes a repository and is git alone.
    pub(crate) fn writes_alone(&self) -> bool {
        self.writes && self.other.is_none()
    }

    /// The answer to a line that writes a repository and is more than git: a sandbox in which the repository is read-only
    /// would make it fail halfway.
    pub(crate) fn mixed(&self) -> Option<Finding> {
        let other = self.other.clone().filter(|_| self.writes)?;
        Some(Finding::deny("git_mixed", messages::mixed(other)))
    }
}

/// Counts a command, and notes where it would set configuration that only a person may let git have. `system` says whether
/// the program is one of the system by its name.
pub(crate) fn count(walker: &mut Walker<'_>, program: &str, argv: &[Word], input: &Input, system: bool) {
    // There a command may do anything to a repository: what it did is judged afterwards.
    if walker.ground.facts.has_private_copy() {
        return;
    }
    let literal = argv.first().is_some_and(|word| word.literal().is_some());
    if !literal || !system {
        return walker.git.other(shown(program, 80));
    }
    let folders = walker.folders.clone();
    if program == "git" {
        match git_call(walker.ground, folders.as_deref(), &argv[1..]) {
            GitCall::Reads => {}
            GitCall::Writes => walker.git.writes = true,
            GitCall::Configures { reason, alone } => {
                walker.report.note(Finding::ask_person("git_config", reason));
                match alone {
                    true => walker.git.writes = true,
                    false => walker.git.other(messages::sets_configuration()),
                }
            }
            GitCall::Other(reason) => {
                walker.git.other(messages::may_run_more(reason));
            }
        }
        return;
    }
    // `cat` that is given a text of the line itself is a way of quoting: `git commit -m "$(cat <<'E' ...)"`.
    let quotes = program == "cat" && argv.len() == 1 && matches!(input, Input::Text(_));
    let inspection = Inspection::new(walker.ground, folders.as_deref(), false);
    let is_beside = BESIDE.contains(&program) && inspection.check(program, &argv[1..]).is_ok();
    if !quotes && !is_beside {
        walker.git.other(shown(program, 80));
    }
}
