//! A question to the user and its answer as data: the process that asks may be another one than the process that runs
//! the agent.

use crate::shown::Words;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toolfence_policy::{Pending, Target};
use toolfence_protocol::{Args, Text, ToolCall, text};
use toolfence_session::Answer;

/// Everything that is displayed about a call that waits for the user. Sentences are in the user's language.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) call: ToolCall,
    /// The name of the rule that asks.
    pub(crate) rule: String,
    /// Why the user is asked.
    pub(crate) reason: String,
    /// The parts of the command that the rules ask about, as ranges of bytes.
    pub(crate) marks: Vec<Range<usize>>,
    /// The files that would change, or that the command has changed.
    pub(crate) targets: Vec<Target>,
    pub(crate) diff: Option<String>,
    /// The command has run, and the question is what becomes of it.
    pub(crate) has_run: bool,
    /// The question is whether to put build output into the project.
    pub(crate) is_about_output: bool,
    /// What the answer "always" would store, or why it is not offered.
    pub(crate) always: Result<Vec<String>, String>,
    /// Whether the answer "project" is offered.
    pub(crate) offers_all: bool,
}

impl From<&Pending> for Question {
    fn from(pending: &Pending) -> Question {
        let decision = pending.decision();
        let always = match pending.always() {
            Ok(rules) => Ok(rules.iter().map(|rule| rule.text().words().into_owned()).collect()),
            Err(why) => Err(why.words().into_owned()),
        };
        Question {
            call: pending.call().clone(),
            rule: decision.rule.clone(),
            reason: decision.reason.words().into_owned(),
            marks: decision.marks.clone(),
            targets: decision.targets.clone(),
            diff: pending.diff().map(str::to_owned),
            has_run: pending.has_run(),
            is_about_output: pending.is_about_output(),
            always,
            offers_all: pending.all_changes().is_some(),
        }
    }
}

impl Question {
    /// What the command changed on its private copy, if the question is whether to keep that.
    pub(crate) fn changes(&self) -> Option<&str> {
        self.diff.as_deref().filter(|_| self.has_run)
    }
}

/// The user's answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UserAnswer {
    Yes,
    Always,
    /// Keep all changes in this project for the rest of the session.
    Project,
    /// With the user's reason, which ends with a full stop.
    No(Option<String>),
    /// No to this call, but later calls of the reply may run.
    Skip,
    /// There is no terminal to ask at.
    NoTerminal,
    Edit(Args),
}

impl UserAnswer {
    /// Returns the answer as the session takes it.
    pub(crate) fn answer(self, pending: &Pending) -> Answer {
        match self {
            UserAnswer::Yes => Answer::Yes,
            UserAnswer::Always => Answer::Always(None),
            // An answer that is not offered must not allow more than was asked for.
            UserAnswer::Project => pending.all_changes().map_or(Answer::Yes, |rule| Answer::Always(Some(rule))),
            UserAnswer::No(why) => Answer::No(refusal(why)),
            UserAnswer::Skip => Answer::Skip(refusal(None)),
            UserAnswer::NoTerminal => Answer::Nobody(no_terminal(pending)),
            UserAnswer::Edit(args) => Answer::Edit(args),
        }
    }
}

/// What the model is sent after the answer "no".
pub(crate) fn refusal(why: Option<String>) -> Text {
    why.map_or_else(|| text!("The user said no."), |reason| text!("The user said no: {reason}", reason))
}

/// What the model is sent if no user could be asked. The reason of the rule "history" says what to do instead.
fn no_terminal(pending: &Pending) -> Text {
    let decision = pending.decision();
    let no_terminal = text!("It needs your approval, and there is no terminal to ask on.");
    if decision.rule == "history" { decision.reason.clone().then(no_terminal) } else { no_terminal }
}
