//! What the rules say of a call, and what the setting `ask` makes of it.

use crate::answers::{Offer, Rule};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toolfence_protocol::{ErrorCode, Text, text};

/// A judgement, the same with every setting of `ask`. Ordered: the strictest of several is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// Nothing speaks against it.
    Allow,
    /// A person has to say yes.
    Ask,
    /// Not with any setting of `ask`.
    Deny,
}

/// What is done with a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AskMode {
    /// Runs commands on private copies and asks about their changes. Asks before changes by other tools, and before everything else that
    /// is not allowed.
    #[default]
    Risky,
    /// Asks for everything that is not denied.
    Always,
    /// Keeps changes of files without a question, and runs what the sandbox fully holds.
    Sandboxed,
    /// Asks for nothing: runs what would be asked. Text that cannot be read is denied, and so is a command outside the sandbox, unless
    /// the settings allow it.
    Never,
}

impl AskMode {
    /// The name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            AskMode::Risky => "risky",
            AskMode::Always => "always",
            AskMode::Sandboxed => "sandboxed",
            AskMode::Never => "never",
        }
    }
}

/// What a decision asks for. Ordered: fewer modes answer a greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Changes of files: [`AskMode::Sandboxed`] and [`AskMode::Never`] keep them.
    Changes,
    /// To run at all, or to use the network: [`AskMode::Never`] answers yes.
    Right,
    /// To run outside the sandbox: [`AskMode::Never`] answers no, unless the user's settings have `outside = true`.
    Outside,
    /// What only a person can answer, such as a command that a deny rule may match: [`AskMode::Never`] answers no.
    Person,
}

/// A rule that was met on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Met {
    /// What it says.
    #[serde(rename = "verdict")]
    pub judgement: Judgement,
    /// Its name.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: Text,
}

/// A file that a call would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Target {
    /// The real name relative to the root, links followed, whatever the path looked like.
    pub name: String,
    /// The path as the call has it, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The link that the path goes by, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Target {
    /// A file with this real name relative to the root.
    pub fn named(name: impl Into<String>) -> Target {
        Target { name: name.into(), written: None, link: None }
    }
}

/// The most rules that a decision lists.
pub(crate) const MAX_MET: usize = 64;

/// A judgement with the rule that made it and the reason, written for the person and the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// The strictest of the rules.
    #[serde(rename = "verdict")]
    pub judgement: Judgement,
    /// The name of the rule that decided.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: Text,
    /// The simple commands that would run, as the parse has them; empty for other tools.
    pub commands: Vec<String>,
    /// The files that the call would change by the paths it names, each once; empty for commands and for calls that only
    /// read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// Every rule that was met and had something to say, the one that decided among them; 64 at most, each once.
    #[doc(hidden)]
    pub met: Vec<Met>,
    /// Where the simple commands that are not allowed stand in the command's text, in bytes; 64 at most.
    pub marks: Vec<Range<usize>>,
    /// What an "always" would store.
    #[serde(skip)]
    pub(crate) offer: Offer,
    /// Which answer the modes give if it asks.
    #[doc(hidden)]
    #[serde(skip)]
    pub question: Question,
    /// Set if the call is a command that cannot change the project itself: it runs on a private copy, and what it changes there is asked
    /// about afterwards; or the project is read-only for it.
    #[serde(skip)]
    pub is_confined: bool,
    /// The code a refusal carries, where it is another one than `denied`.
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
            offer: Offer::default(),
            question: Question::Right,
            is_confined: false,
            code: None,
        }
    }

    /// What an "always" would store: one exact rule for each simple command that asks, or for each file that would be
    /// changed.
    ///
    /// # Errors
    /// Why nothing exact can be stored, as the end of a sentence; or that nothing is asked.
    pub fn always(&self) -> std::result::Result<&[Rule], Text> {
        match self.judgement {
            Judgement::Ask => self.offer.rules(),
            _ => Err(self.offer.refusal().unwrap_or_else(|| text!("nothing is asked"))),
        }
    }

    /// The stricter of two, the first where they are alike; what either found is kept.
    pub(crate) fn stricter(self, other: Decision) -> Decision {
        let is_confined = self.is_confined | other.is_confined;
        // One answer must answer every question.
        let asked = [&self, &other].into_iter().filter(|decision| decision.judgement == Judgement::Ask);
        let question = asked.map(|decision| decision.question).max().unwrap_or(self.question);
        let met = self.met.iter().chain(&other.met).take(MAX_MET).cloned().collect();
        // Of two questions, the reason of the one that fewer modes answer is shown.
        let rank = |decision: &Decision| (decision.judgement, decision.question);
        let (mut kept, dropped) = if rank(&other) > rank(&self) { (other, self) } else { (self, other) };
        if kept.commands.is_empty() {
            kept.commands = dropped.commands;
            kept.marks = dropped.marks;
        }
        if kept.targets.is_empty() {
            kept.targets = dropped.targets;
        }
        if dropped.judgement == Judgement::Ask {
            kept.offer = Offer::default();
        }
        Decision { question, is_confined, met, ..kept }
    }
}

/// What the setting `ask` makes of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effective {
    /// It runs without a question.
    Run,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}
