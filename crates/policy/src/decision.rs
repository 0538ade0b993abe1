//! The judgement of the rules about a call, and how the setting `ask` applies it.

use crate::answers::{AlwaysOffer, Rule};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toolfence_protocol::{ErrorCode, Text, text};

/// A judgement, which does not depend on the setting `ask`. The strictest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The call may run.
    Allow,
    /// The user must agree.
    Ask,
    /// The call is denied with every setting of `ask`.
    Deny,
}

/// How judgements are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AskMode {
    /// Runs commands on private copies and asks about their changes. Asks before changes by other tools, and before
    /// everything else that is not allowed.
    #[default]
    Risky,
    /// Asks for everything that is not denied.
    Always,
    /// Keeps changes of files without a question, and runs commands that the sandbox fully confines.
    Sandboxed,
    /// Never asks: runs calls that other modes ask about. Denies text that cannot be read, and commands outside the
    /// sandbox unless the settings allow them.
    Never,
}

impl AskMode {
    /// Returns the name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            AskMode::Risky => "risky",
            AskMode::Always => "always",
            AskMode::Sandboxed => "sandboxed",
            AskMode::Never => "never",
        }
    }
}

/// The permission that a decision asks for. Fewer modes answer a greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Changes of files: [`AskMode::Sandboxed`] and [`AskMode::Never`] keep them.
    Changes,
    /// Running at all, or using the network: [`AskMode::Never`] answers yes.
    Right,
    /// Running outside the sandbox: [`AskMode::Never`] answers no, unless the user's settings have `outside = true`.
    Outside,
    /// A question only for the user, such as about a command that a deny rule may match: [`AskMode::Never`] answers no.
    Person,
}

/// A rule that matched a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Met {
    /// Its judgement.
    #[serde(rename = "verdict")]
    pub judgement: Judgement,
    /// Its name.
    pub rule: String,
    /// The reason, as a sentence.
    pub reason: Text,
}

/// A file that a call would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Target {
    /// The real name relative to the root, with links followed.
    pub name: String,
    /// The path in the call, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The link in the path, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Target {
    /// Returns a target with this real name relative to the root.
    pub fn named(name: impl Into<String>) -> Target {
        Target { name: name.into(), written: None, link: None }
    }
}

/// Maximum number of rules in a decision.
pub(crate) const MAX_MET: usize = 64;

/// A judgement with the rule that made it and the reason, written for the user and the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// The strictest of the rules.
    #[serde(rename = "verdict")]
    pub judgement: Judgement,
    /// The name of the rule that decided.
    pub rule: String,
    /// The reason, as a sentence.
    pub reason: Text,
    /// The parsed simple commands that would run; empty for other tools.
    pub commands: Vec<String>,
    /// The files that the call would change by the paths it names, each once; empty for commands and for calls that
    /// only read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// Every rule that matched, including the one that decided; at most 64, each once.
    #[doc(hidden)]
    pub met: Vec<Met>,
    /// The byte ranges of the simple commands in the command's text that are not allowed; at most 64.
    pub marks: Vec<Range<usize>>,
    /// The rules that an "always" would store.
    #[serde(skip)]
    pub(crate) offer: AlwaysOffer,
    /// The permission to ask for, which decides how the modes answer.
    #[doc(hidden)]
    #[serde(skip)]
    pub question: Question,
    /// Whether the call is a command that cannot change the project itself: it runs on a private copy and the user is
    /// asked about its changes afterwards, or the project is read-only for it.
    #[serde(skip)]
    pub is_confined: bool,
    /// The error code of a refusal, if it is not `denied`.
    #[serde(skip)]
    pub code: Option<ErrorCode>,
}

impl Decision {
    pub(crate) fn new(judgement: Judgement, rule: impl Into<String>, reason: impl Into<Text>) -> Decision {
        let (rule, reason) = (rule.into(), reason.into());
        Decision {
            judgement,
            met: vec![Met { judgement, rule: rule.clone(), reason: reason.clone() }],
            rule,
            reason,
            commands: Vec::new(),
            targets: Vec::new(),
            marks: Vec::new(),
            offer: AlwaysOffer::default(),
            question: Question::Right,
            is_confined: false,
            code: None,
        }
    }

    /// Returns the rules that an "always" would store, such as the exact command in its folder, or one rule for each
    /// file that would be changed.
    ///
    /// # Errors
    /// Returns why nothing exact can be stored, as the end of a sentence, or that nothing is asked.
    pub fn always(&self) -> std::result::Result<&[Rule], Text> {
        match self.judgement {
            Judgement::Ask => self.offer.rules(),
            _ => Err(self.offer.refusal().unwrap_or_else(|| text!("nothing is asked"))),
        }
    }

    /// Returns the stricter of two decisions, or the first if they are equal, with the findings of both.
    pub(crate) fn stricter(self, other: Decision) -> Decision {
        let is_confined = self.is_confined | other.is_confined;
        // An answer must cover every question.
        let asked = [&self, &other].into_iter().filter(|decision| decision.judgement == Judgement::Ask);
        let question = asked.map(|decision| decision.question).max().unwrap_or(self.question);
        let met = self.met.iter().chain(&other.met).take(MAX_MET).cloned().collect();
        // Of two questions, the one that fewer modes answer decides about rule and reason.
        let rank = |decision: &Decision| (decision.judgement, decision.question);
        let (mut kept, dropped) = if rank(&other) > rank(&self) { (other, self) } else { (self, other) };
        if kept.commands.is_empty() {
            kept.commands = dropped.commands;
            kept.marks = dropped.marks;
        }
        if kept.targets.is_empty() {
            kept.targets = dropped.targets;
        }
        // An "always" for one question would not answer the other, so none is offered.
        if dropped.judgement == Judgement::Ask {
            kept.offer = AlwaysOffer::default();
        }
        Decision { question, is_confined, met, ..kept }
    }
}

/// The effect of a decision with the setting `ask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effective {
    /// The call runs without a question.
    Run,
    /// The user is asked.
    Ask,
    /// The call does not run.
    Deny,
}
