//! Questions to the user and their answers as data, because the process that asks may not be the one that runs the
//! agent.

use crate::shown::Words;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toolfence_policy::{Pending, Target};
use toolfence_protocol::{Args, Text, ToolCall, text};
use toolfence_session::Answer;

/// The content of a question about a call. All sentences are in the user's language.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) call: ToolCall,
    /// The name of the rule that asks.
    pub(crate) rule: String,
    /// The reason for the question.
    pub(crate) reason: String,
    /// The parts of the command that the rules ask about, as ranges of bytes.
    pub(crate) marks: Vec<Range<usize>>,
    /// The files that the call would change, or that the command has changed.
    pub(crate) targets: Vec<Target>,
    pub(crate) diff: Option<String>,
    /// Whether the command has run and the question is about its changes.
    pub(crate) has_run: bool,
    /// Whether the question is about copying build output into the project.
    pub(crate) is_about_output: bool,
    /// The rules that the answer "always" would store, or the reason why that answer is not offered.
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
    /// Returns the changes of the command on its private copy, if the question is whether to keep them.
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
    /// No, with the user's reason, which ends with a punctuation mark.
    No(Option<String>),
    /// No to this call, but later calls of the reply may run.
    Skip,
    /// There is no terminal to ask at.
    NoTerminal,
    Edit(Args),
}

impl UserAnswer {
    /// Converts the answer to that of a session.
    pub(crate) fn answer(self, pending: &Pending) -> Answer {
        match self {
            UserAnswer::Yes => Answer::Yes,
            UserAnswer::Always => Answer::Always(None),
            // If the answer is not offered, it must not allow more than this call.
            UserAnswer::Project => pending.all_changes().map_or(Answer::Yes, |rule| Answer::Always(Some(rule))),
            UserAnswer::No(why) => Answer::No(refusal(why)),
            UserAnswer::Skip => Answer::Skip(refusal(None)),
            UserAnswer::NoTerminal => Answer::Nobody(no_terminal(pending)),
            UserAnswer::Edit(args) => Answer::Edit(args),
        }
    }
}

/// Returns the message for the model after the answer "no".
pub(crate) fn refusal(why: Option<String>) -> Text {
    why.map_or_else(|| text!("The user said no."), |reason| text!("The user said no: {reason}", reason))
}

/// Returns the message for the model if no user could be asked. The reason of the rule "history" explains what to do
/// instead.
fn no_terminal(pending: &Pending) -> Text {
    let decision = pending.decision();
    let no_terminal = text!("It needs your approval, and there is no terminal to ask on.");
    if decision.rule == "history" { decision.reason.clone().then(no_terminal) } else { no_terminal }
}
