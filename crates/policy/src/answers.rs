//! What a person has allowed for the rest of a session, and what an "always" would store.
//!
//! Pure and in memory: nothing here is written anywhere, and nothing outlives the policy it was told to. A stored command
//! is exact; a beginning is stored only where the person types one. What is denied stays denied, whatever is stored.

use super::shown::shown;
use super::{CommandRule, messages};
use serde::Serialize;
use std::fmt;
use toolfence_protocol::{Text, text};

/// The rule that lets something run as the person has allowed it before.
pub(super) const ANSWERED: &str = "answered";

/// A simple command with all that makes it what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Exact {
    pub(super) words: Vec<String>,
    /// The real name of its folder, relative to the root; "" is the root.
    pub(super) cwd: String,
    pub(super) redirects: Vec<String>,
    pub(super) assignments: Vec<String>,
}

/// One thing that a person allows for a session. Only a [`Pending`](super::Pending) makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule(Stored);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Command(Exact),
    Prefix { prefix: Vec<String> },
    File { tool: String, path: String },
    Tool { tool: String },
    Changes { command: String, cwd: String },
    AllChanges,
    Output { kept: bool },
}

impl Rule {
    pub(super) fn command(exact: Exact) -> Rule {
        Rule(Stored::Command(exact))
    }

    /// A tool that changes files, with the real name of the one it may change.
    pub(super) fn file(tool: &str, path: &str) -> Rule {
        Rule(Stored::File { tool: tool.to_owned(), path: path.to_owned() })
    }

    /// Every call of a tool that a program which is not ours runs.
    pub(super) fn tool(tool: &str) -> Rule {
        Rule(Stored::Tool { tool: tool.to_owned() })
    }

    /// What a command changes on its private copy of the project, in this folder relative to the root.
    pub(super) fn changes(command: &str, cwd: &str) -> Rule {
        Rule(Stored::Changes { command: command.to_owned(), cwd: cwd.to_owned() })
    }

    /// Every change in the project, by commands and by tools that change files: the mode becomes `sandboxed`. Undo takes back what is
    /// changed.
    pub(super) fn all_changes() -> Rule {
        Rule(Stored::AllChanges)
    }

    /// Whether the output of commands is put into the project.
    pub(super) fn output(kept: bool) -> Rule {
        Rule(Stored::Output { kept })
    }

    pub(super) fn is_all_changes(&self) -> bool {
        self.0 == Stored::AllChanges
    }

    /// A beginning, where this is a command that begins so.
    fn beginning(&self, prefix: &[String]) -> Option<Rule> {
        let Stored::Command(exact) = &self.0 else { return None };
        exact.words.starts_with(prefix).then(|| Rule(Stored::Prefix { prefix: prefix.to_vec() }))
    }

    /// What a person reads: `rm build.log > out`, and the folder it runs in where that is not the root.
    pub fn text(&self) -> Text {
        let shown = |text: &str| shown(text, 400);
        match &self.0 {
            Stored::Command(exact) => {
                let words = exact.words.iter().map(|word| quoted(word));
                let all = exact.assignments.iter().cloned().chain(words).chain(exact.redirects.iter().cloned());
                let line = shown(&all.collect::<Vec<_>>().join(" "));
                if exact.cwd.is_empty() { line.into() } else { messages::command_in(line, shown(&exact.cwd)) }
            }
            Stored::Prefix { prefix } => shown(&format!("{} ...", prefix.join(" "))).into(),
            Stored::File { tool, path } => shown(&format!("{tool} {path}")).into(),
            Stored::Tool { tool } => messages::every_call_of(shown(tool)),
            Stored::Changes { command, cwd } => {
                let command = shown(command);
                match cwd.is_empty() {
                    true => text!("the changes of {command}", command),
                    false => text!("the changes of {command} (in {folder})", command, folder = shown(cwd)),
                }
            }
            Stored::AllChanges => text!("all changes in this project"),
            Stored::Output { kept: true } => text!("the output of commands"),
            Stored::Output { kept: false } => text!("no output of commands"),
        }
    }
}

impl fmt::Display for Rule {
    /// Writes the [text](Rule::text) in English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

/// A word as a shell reads it back, quoted unless it is plain.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// What "always" would store; or why it is not on offer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Offer {
    rules: Vec<Rule>,
    refused: Option<Text>,
}

impl Offer {
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

    /// All of it, or why it would not help.
    pub(super) fn rules(&self) -> Result<&[Rule], Text> {
        match &self.refused {
            Some(why) => Err(why.clone()),
            None if self.rules.is_empty() => Err(messages::nothing_exact()),
            None => Ok(&self.rules),
        }
    }

    /// The beginning as a rule, where it begins a command that was asked about.
    pub(super) fn beginning(&self, prefix: &[String]) -> Option<Rule> {
        self.rules.iter().find_map(|rule| rule.beginning(prefix))
    }
}

/// What was allowed so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers(Vec<Rule>);

impl Answers {
    /// Stores a rule once. Gives the beginning it allows, where it is one: that is a rule like those of the settings.
    pub(super) fn store(&mut self, rule: Rule) -> Option<CommandRule> {
        if self.0.contains(&rule) {
            return None;
        }
        let beginning = match &rule.0 {
            Stored::Prefix { prefix } => CommandRule::new(prefix.clone()),
            _ => None,
        };
        self.0.push(rule);
        beginning
    }

    /// Takes back the answer that stored this rule.
    pub(super) fn forget(&mut self, rule: &Rule) {
        self.0.retain(|known| known != rule);
    }

    pub(super) fn all(&self) -> &[Rule] {
        &self.0
    }

    pub(super) fn holds(&self, command: &Exact) -> bool {
        self.0.iter().any(|rule| matches!(&rule.0, Stored::Command(exact) if exact == command))
    }

    pub(super) fn has(&self, rule: &Rule) -> bool {
        self.0.contains(rule)
    }

    /// The last answer about the output of commands.
    pub(super) fn output(&self) -> Option<bool> {
        self.0.iter().rev().find_map(|rule| match rule.0 {
            Stored::Output { kept } => Some(kept),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_shown_so_that_its_words_can_be_told_apart() {
        let exact = Exact {
            words: vec!["touch".into(), "a b".into(), String::new(), "\u{1b}".into()],
            cwd: "src".into(),
            redirects: vec!["2>&1".into()],
            assignments: vec!["X=1".into()],
        };
        assert_eq!(Rule::command(exact).to_string(), "X=1 touch 'a b' '' '\\u{1b}' 2>&1  (in src)");
    }
}
