//! Decides whether to keep the files that a command wrote on its private copy of the project.

use crate::answers::Rule;
use crate::{ClearedCall, Decision, Judgement, Pending, Target};
use toolfence_protocol::Text;

/// The rule that asks whether to keep what a command changed.
const CHANGES: &str = "changes";

/// The rule that asks whether to put build output into the project.
const OUTPUT: &str = "output";

/// The rule that asks whether a command may use the network.
const NETWORK: &str = "network";

/// Whether the rules and earlier answers allow a follow-up of a command on a private copy of the project: copying its
/// files into the project, or running it again with network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The user is asked.
    Ask,
    /// It is allowed without a question.
    Given,
    /// It is not allowed.
    Refused,
}

/// Consents for the files that a cleared command writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consents {
    pub(crate) changes: Consent,
    /// Whether changes may be kept that lose history of a repository.
    pub(crate) lost_history: Consent,
    pub(crate) output: Consent,
    /// Whether the command may run a second time with network.
    pub(crate) network: Consent,
    /// The rule that "always" would store in the question about its changes; or why nothing can be stored.
    pub(crate) always: Result<Rule, Text>,
    /// Whether the question about its changes offers to keep all changes in the project.
    pub(crate) offers_all: bool,
}

impl Consents {
    /// Returns the consents for calls that do not run on a private copy.
    pub(crate) fn nothing() -> Consents {
        Consents {
            changes: Consent::Refused,
            lost_history: Consent::Refused,
            output: Consent::Refused,
            network: Consent::Refused,
            always: Err(Text::default()),
            offers_all: false,
        }
    }
}

impl ClearedCall {
    /// Returns whether the changes of a command on a private copy of the project may be kept.
    #[doc(hidden)]
    pub fn consent_to_changes(&self) -> Consent {
        self.consents.changes
    }

    /// Returns whether changes may be kept that lose history of a repository: commits without a branch, stashes,
    /// repositories.
    #[doc(hidden)]
    pub fn consent_to_lost_history(&self) -> Consent {
        self.consents.lost_history
    }

    /// Returns whether its build output may be kept.
    #[doc(hidden)]
    pub fn consent_to_output(&self) -> Consent {
        self.consents.output
    }

    /// Returns whether the command may run a second time with network if it failed without.
    #[doc(hidden)]
    pub fn consent_to_network(&self) -> Consent {
        self.consents.network
    }

    /// Returns the question whether to run the command a second time, with network. `summary` is the question as a
    /// sentence.
    pub fn ask_about_network(&self, summary: Text) -> Pending {
        // The user approves a new call: the same command with network.
        let mut call = self.call().clone();
        call.args.insert("network".into(), true.into());
        let mut pending = Pending::new(call, self.effect(), self.question(NETWORK, summary), Consents::nothing());
        pending.has_run = true;
        pending
    }

    /// Returns the question whether to keep the changes of the command.
    /// `summary` is the question as a sentence, `files` are the changed files, and `details` lists the changes with
    /// their diffs.
    pub fn ask_about_changes(&self, summary: Text, files: Vec<Target>, details: String) -> Pending {
        let mut decision = Decision { targets: files, ..self.question(CHANGES, summary) };
        decision.offer.add(self.consents.always.clone());
        let mut pending = Pending::about_changes(self, decision, details);
        pending.offers_all = self.consents.offers_all;
        pending
    }

    /// Returns the question whether to put the output of commands into the project, for the rest of the session.
    /// `details` lists the output.
    pub fn ask_about_output(&self, summary: Text, details: String) -> Pending {
        Pending::about_changes(self, self.question(OUTPUT, summary), details)
    }

    fn question(&self, rule: &str, summary: Text) -> Decision {
        Decision { commands: self.decision().commands.clone(), ..Decision::new(Judgement::Ask, rule, summary) }
    }
}

impl Pending {
    /// Returns the changes of a command that has run on a private copy of the project, if the question is whether to
    /// keep them: removals, diffs and new files, as plain text with line feeds. The names and lines in it are the
    /// command's.
    pub fn changes(&self) -> Option<&str> {
        self.diff().filter(|_| self.has_run)
    }

    /// Returns whether the command has already run and the question is about its results: its arguments can no longer
    /// be changed.
    pub fn has_run(&self) -> bool {
        self.has_run
    }

    /// Returns the rule that keeps all changes in the project for the rest of the session, if the question offers that.
    pub fn all_changes(&self) -> Option<Rule> {
        self.offers_all.then(Rule::all_changes)
    }

    /// Returns whether the question is whether to put the output of commands into the project.
    pub fn is_about_output(&self) -> bool {
        self.changes().is_some() && self.decision().rule == OUTPUT
    }

    /// Returns the rules to remember after an answer to this question about the output of commands, which is asked once
    /// per session. Empty for every other question.
    pub fn rules_about_output(&self, is_kept: bool) -> Vec<Rule> {
        if self.is_about_output() { vec![Rule::output(is_kept)] } else { Vec::new() }
    }
}
