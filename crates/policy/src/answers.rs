//! The user's "always" answers in a session, and the rules that an "always" would store.
//!
//! Answers stay in memory: they are never written, and end with the policy that stores them. A stored command is the
//! exact text. A call that a rule denies stays denied, whatever is stored.

use super::shown::escape;
use serde::Serialize;
use std::fmt;
use toolfence_protocol::{Text, text};

/// The rule that allows a call because of an earlier answer.
pub(super) const ANSWERED: &str = "answered";

/// A permission for the rest of a session. Only this crate makes one, to offer it with a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule(StoredAnswer);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum StoredAnswer {
    Command { command: String, cwd: String },
    Network { command: String, cwd: String },
    File { tool: String, path: String },
    Tool { tool: String },
    Changes { command: String, cwd: String },
    AllChanges,
    Output { kept: bool },
}

impl Rule {
    /// Allows exactly this command text in this folder, which is relative to the root.
    pub(super) fn command(command: &str, cwd: &str) -> Rule {
        Rule(StoredAnswer::Command { command: command.to_owned(), cwd: cwd.to_owned() })
    }

    /// Allows a command to use the network.
    pub(super) fn network(command: &str, cwd: &str) -> Rule {
        Rule(StoredAnswer::Network { command: command.to_owned(), cwd: cwd.to_owned() })
    }

    /// Allows a tool to change the file with this real name.
    pub(super) fn file(tool: &str, path: &str) -> Rule {
        Rule(StoredAnswer::File { tool: tool.to_owned(), path: path.to_owned() })
    }

    /// Allows every call of a tool that another program runs.
    pub(super) fn tool(tool: &str) -> Rule {
        Rule(StoredAnswer::Tool { tool: tool.to_owned() })
    }

    /// Keeps the changes of a command on its private copy of the project, in this folder relative to the root.
    pub(super) fn changes(command: &str, cwd: &str) -> Rule {
        Rule(StoredAnswer::Changes { command: command.to_owned(), cwd: cwd.to_owned() })
    }

    /// Keeps every change in the project, by commands and by tools that change files: the mode becomes `sandboxed`.
    /// Undo can revert them.
    pub(super) fn all_changes() -> Rule {
        Rule(StoredAnswer::AllChanges)
    }

    /// Decides whether the output of commands is put into the project.
    pub(super) fn output(kept: bool) -> Rule {
        Rule(StoredAnswer::Output { kept })
    }

    pub(super) fn is_all_changes(&self) -> bool {
        self.0 == StoredAnswer::AllChanges
    }

    /// Returns the rule for display: `rm build.log > out`, and the folder if it is not the root.
    pub fn text(&self) -> Text {
        let shown = |text: &str| escape(text, 400);
        match &self.0 {
            StoredAnswer::Command { command, cwd } => in_folder(shown(command).into(), cwd),
            StoredAnswer::Network { command, cwd } => {
                in_folder(text!("the network for {command}", command = shown(command)), cwd)
            }
            StoredAnswer::File { tool, path } => shown(&format!("{tool} {path}")).into(),
            StoredAnswer::Tool { tool } => text!("every call of {tool}", tool = shown(tool)),
            StoredAnswer::Changes { command, cwd } => {
                in_folder(text!("the changes of {command}", command = shown(command)), cwd)
            }
            StoredAnswer::AllChanges => text!("all changes in this project"),
            StoredAnswer::Output { kept: true } => text!("the output of commands"),
            StoredAnswer::Output { kept: false } => text!("no output of commands"),
        }
    }
}

fn in_folder(what: Text, cwd: &str) -> Text {
    if cwd.is_empty() { what } else { text!("{what} (in {folder})", what, folder = escape(cwd, 400)) }
}

impl fmt::Display for Rule {
    /// Writes the [text](Rule::text) in English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

/// Quotes a word for a shell, unless it is plain.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The rules that "always" would store, or why it is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AlwaysOffer {
    rules: Vec<Rule>,
    refused: Option<Text>,
}

impl AlwaysOffer {
    pub(super) fn add(&mut self, rule: Result<Rule, impl Into<Text>>) {
        match rule {
            Ok(rule) if self.rules.contains(&rule) => {}
            Ok(rule) => self.rules.push(rule),
            Err(why) => self.refuse(why),
        }
    }

    pub(super) fn refuse(&mut self, why: impl Into<Text>) {
        if self.refused.is_none() {
            self.refused = Some(why.into());
        }
    }

    /// Returns the reason passed to [`AlwaysOffer::refuse`], if any.
    pub(super) fn refusal(&self) -> Option<Text> {
        self.refused.clone()
    }

    /// Returns all rules, or why storing them would not help.
    pub(super) fn rules(&self) -> Result<&[Rule], Text> {
        match &self.refused {
            Some(why) => Err(why.clone()),
            None if self.rules.is_empty() => Err(text!("there is nothing exact to store")),
            None => Ok(&self.rules),
        }
    }
}

/// The answers stored so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers(Vec<Rule>);

impl Answers {
    /// Stores a rule once.
    pub(super) fn store(&mut self, rule: Rule) {
        if !self.0.contains(&rule) {
            self.0.push(rule);
        }
    }

    /// Removes the answer that stored this rule.
    pub(super) fn forget(&mut self, rule: &Rule) {
        self.0.retain(|known| known != rule);
    }

    pub(super) fn all(&self) -> &[Rule] {
        &self.0
    }

    pub(super) fn contains(&self, rule: &Rule) -> bool {
        self.0.contains(rule)
    }

    /// Returns the last answer about the output of commands.
    pub(super) fn output(&self) -> Option<bool> {
        self.0.iter().rev().find_map(|rule| match rule.0 {
            StoredAnswer::Output { kept } => Some(kept),
            _ => None,
        })
    }
}
