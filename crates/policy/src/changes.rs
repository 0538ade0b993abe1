//! What becomes of the files that a command wrote on its private copy of the project.

use crate::answers::Rule;
use crate::{Cleared, Decision, Judgement, Pending, Target};
use toolfence_protocol::Text;

/// The rule that asks whether to keep what a command changed.
const CHANGES: &str = "changes";

/// The rule that asks whether to put build output into the project.
const OUTPUT: &str = "output";

/// The rule that asks whether a command may use the network.
const NETWORK: &str = "network";

/// Whether the rules and the answers so far agree to something that a command on a private copy of the project needs: that its files are
/// put into the project, or that it runs again with network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The user is asked.
    Ask,
    /// It is done without a question.
    Given,
    /// It is not done.
    Refused,
}

/// What becomes of the files that a cleared command writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) changes: Consent,
    /// Whether changes may be kept that lose history of a repository.
    pub(crate) lost_history: Consent,
    pub(crate) output: Consent,
    /// Whether the command may run a second time with network.
    pub(crate) network: Consent,
    /// What "always" would store in the question about its changes; or why nothing can be stored.
    pub(crate) always: Result<Rule, Text>,
    /// Whether the question about its changes offers to keep all changes in the project.
    pub(crate) offers_all: bool,
}

impl Kept {
    /// For calls that do not run on a private copy.
    pub(crate) fn nothing() -> Kept {
        Kept {
            changes: Consent::Refused,
            lost_history: Consent::Refused,
            output: Consent::Refused,
            network: Consent::Refused,
            always: Err(Text::default()),
            offers_all: false,
        }
    }
}

impl Cleared {
    /// What becomes of the changes of a command that ran on a private copy of the project.
    #[doc(hidden)]
    pub fn consent_to_changes(&self) -> Consent {
        self.kept.changes
    }

    /// What becomes of its changes if they lose history of a repository: commits that no branch has any more, stashes, repositories.
    #[doc(hidden)]
    pub fn consent_to_lost_history(&self) -> Consent {
        self.kept.lost_history
    }

    /// What becomes of its build output.
    #[doc(hidden)]
    pub fn consent_to_output(&self) -> Consent {
        self.kept.output
    }

    /// Whether the command may run a second time with network if it failed without: `Keep` means yes, `Discard` means no.
    #[doc(hidden)]
    pub fn consent_to_network(&self) -> Consent {
        self.kept.network
    }

    /// The question whether to run the command a second time, with network. `summary` is the question as a sentence.
    pub fn ask_about_network(&self, summary: Text) -> Pending {
        let mut call = self.call().clone();
        call.args.insert("network".into(), true.into());
        let mut pending = Pending::new(call, self.effect(), self.question(NETWORK, summary), Kept::nothing());
        pending.has_run = true;
        pending
    }

    /// The question whether to keep what the command changed. `summary` is the question as a sentence, `files` are the changed
    /// files, and `details` lists the changes with their diffs.
    pub fn ask_about_changes(&self, summary: Text, files: Vec<Target>, details: String) -> Pending {
        let mut decision = Decision { targets: files, ..self.question(CHANGES, summary) };
        decision.offer.add(self.kept.always.clone());
        let mut pending = Pending::about_changes(self, decision, details);
        pending.offers_all = self.kept.offers_all;
        pending
    }

    /// The question whether to put the output of commands into the project, for the rest of the session. `details` lists the
    /// output.
    pub fn ask_about_output(&self, summary: Text, details: String) -> Pending {
        Pending::about_changes(self, self.question(OUTPUT, summary), details)
    }

    fn question(&self, rule: &str, summary: Text) -> Decision {
        Decision { commands: self.decision().commands.clone(), ..Decision::new(Judgement::Ask, rule, summary) }
    }
}

impl Pending {
    /// What the command changed, if it has run on a private copy of the project and the question is whether to keep its changes:
    /// removals, diffs and new files, as plain text with line feeds. The names and lines in it are the command's.
    pub fn changes(&self) -> Option<&str> {
        self.diff().filter(|_| self.has_run)
    }

    /// Whether the command has run already, and the question is what becomes of it: its arguments cannot be changed any more.
    pub fn has_run(&self) -> bool {
        self.has_run
    }

    /// The rule that keeps all changes in the project for the rest of the session, if the question offers that.
    pub fn all_changes(&self) -> Option<Rule> {
        self.offers_all.then(Rule::all_changes)
    }

    /// Whether the question is whether to put the output of commands into the project.
    pub fn is_about_output(&self) -> bool {
        self.changes().is_some() && self.decision().rule == OUTPUT
    }

    /// What to remember if the user answers this question about the output of commands: it is asked once a session. Empty for every
    /// other question.
    pub fn rules_about_output(&self, is_kept: bool) -> Vec<Rule> {
        if self.is_about_output() { vec![Rule::output(is_kept)] } else { Vec::new() }
    }
}
