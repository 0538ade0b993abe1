//! What a person settled: when to ask, rules about commands, rules about paths; and the layers it comes from.
//!
//! This module reads text, not files: where the text comes from, and whether a file is trusted, is the host's business.
//! A table of [`Key`]s says what may be written, what each takes, and what a project's file may do with it; a host adds
//! keys of its own. [`read`] makes [`Entry`]s of one text, [`Merged`] puts the layers together, and every value keeps the
//! place it comes from.
//!
//! ```
//! use toolfence_policy::settings::{KEYS, Layer, Merged, read};
//!
//! let keys: Vec<_> = KEYS.iter().collect();
//! let user = read("ask = \"sandboxed\"\n[commands]\nallow = [\"cargo test\"]\n", "config.toml", Layer::User, &keys)?;
//! let project = read("ask = \"always\"\n", ".toolfence.toml", Layer::Project { trusted: false }, &keys)?;
//! let merged = Merged::of([user, project]);
//! assert_eq!(merged.text("ask"), Some("always"));
//! assert_eq!(merged.origin("ask").to_string(), ".toolfence.toml:1");
//!
//! let loosens = read("[commands]\nallow = [\"rm\"]\n", ".toolfence.toml", Layer::Project { trusted: true }, &keys);
//! assert!(loosens.unwrap_err().to_string().contains("line 2, column 1"));
//! # Ok::<(), toolfence_protocol::Error>(())
//! ```

mod check;
mod checker;
mod entry;
mod keys;
mod member;
mod merge;
mod messages;
mod price;
mod read;
mod rule;
mod server;

pub use check::CheckRule;
pub use checker::CheckerRule;
pub use entry::{Entry, Layer, Mistake, Origin, Value};
pub use keys::{InProject, KEYS, Key, Takes, limit_keys, template};
pub use member::{HeaderRule, MemberRule};
pub use merge::Merged;
pub use price::PriceRule;
pub use read::read;
pub use rule::CommandRule;
pub use server::ServerRule;

use super::AskMode;
use crate::rules::PathRules;
use toolfence_protocol::{Error, ErrorKind, Result};

/// The settings of the policy, merged: read from TOML, or made with the methods.
///
/// ```
/// let text = "ask = \"risky\"\n[commands]\nallow = [\"cargo test\"]\n[paths]\ndeny = [\"private/**\"]\n";
/// use toolfence_policy::{AskMode, Settings};
/// let settings = Settings::default().ask(AskMode::Risky).allow_command(["cargo", "test"]).block_path("private/**");
/// assert_eq!(settings, Settings::from_toml(text)?);
/// # Ok::<(), toolfence_protocol::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// What is done with a judgement.
    pub ask: AskMode,
    /// Whether [`AskMode::Never`] lets a command run outside the sandbox that asks for it.
    pub(super) outside: bool,
    /// Rules about shell commands.
    pub(super) commands: CommandSettings,
    /// Rules about names of files.
    pub(super) paths: PathSettings,
}

/// Rules about shell commands. Each is a beginning of the command's words and is compared to literal words only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandSettings {
    /// Simple commands that run without a question where nothing else about them asks.
    pub(super) allow: Vec<CommandRule>,
    /// Simple commands that never run.
    pub(super) deny: Vec<CommandRule>,
    /// When not empty, every simple command that matches none of these is denied.
    pub(super) only: Vec<CommandRule>,
}

/// Rules about names of files, as globs relative to the root that match at any depth and ignore case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PathSettings {
    /// Exceptions from the built-in list of blocked names.
    pub(super) allow: Vec<String>,
    /// More blocked names.
    pub(super) deny: Vec<String>,
    /// A list of each layer that has one. What one of them leaves out is blocked.
    pub(super) only: Vec<Vec<String>>,
}

impl Settings {
    /// Sets what is done with a judgement.
    #[must_use]
    pub fn ask(self, ask: AskMode) -> Settings {
        Settings { ask, ..self }
    }

    /// Lets a command run outside the sandbox that asks for it, with [`AskMode::Never`] too. Such a command can do whatever the user can.
    #[must_use]
    pub fn allow_outside(self) -> Settings {
        Settings { outside: true, ..self }
    }

    /// Lets simple commands that begin with these words run without a question, where nothing else about them asks. No words
    /// are no rule.
    #[must_use]
    pub fn allow_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Settings {
        self.commands.allow.extend(CommandRule::new(words));
        self
    }

    /// Denies simple commands that begin with these words. No words are no rule.
    #[must_use]
    pub fn deny_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Settings {
        self.commands.deny.extend(CommandRule::new(words));
        self
    }

    /// Denies every simple command that begins with none of the words that this was called with. No words are no rule.
    #[must_use]
    pub fn only_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Settings {
        self.commands.only.extend(CommandRule::new(words));
        self
    }

    /// Makes an exception from the built-in list of blocked names: a glob relative to the root that matches at any depth and
    /// ignores case.
    #[must_use]
    pub fn allow_path(mut self, glob: impl Into<String>) -> Settings {
        self.paths.allow.push(glob.into());
        self
    }

    /// Blocks the names that this glob matches. It is relative to the root, matches at any depth and ignores case.
    #[must_use]
    pub fn block_path(mut self, glob: impl Into<String>) -> Settings {
        self.paths.deny.push(glob.into());
        self
    }

    /// Blocks every file that matches none of the globs that this was called with. They are relative to the root, match at any
    /// depth and ignore case.
    #[must_use]
    pub fn only_path(mut self, glob: impl Into<String>) -> Settings {
        match self.paths.only.first_mut() {
            Some(list) => list.push(glob.into()),
            None => self.paths.only.push(vec![glob.into()]),
        }
        self
    }

    /// Reads the text of one settings file that holds the keys of the policy and nothing else.
    ///
    /// # Errors
    /// Anything that is not TOML, a key that does not exist, a value of the wrong kind, a bad glob: with line and column.
    pub fn from_toml(text: &str) -> Result<Settings> {
        let keys: Vec<&Key> = KEYS.iter().collect();
        let entries =
            read(text, "the settings", Layer::User, &keys).map_err(|Mistake { line, column, message, .. }| {
                Error::with_kind(ErrorKind::InvalidInput, messages::cannot_read(line, column, message))
            })?;
        Ok(Merged::of([entries]).settings())
    }

    pub(super) fn path_rules(&self) -> Result<PathRules> {
        let rules = PathRules::new(&self.paths.allow, &self.paths.deny)?;
        self.paths.only.iter().try_fold(rules, |rules, list| rules.only(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_their_place() {
        let error = |text: &str| Settings::from_toml(text).unwrap_err().to_string();
        let misspelt = error("ask = \"always\"\n[commands]\nalow = []\n");
        assert!(misspelt.starts_with("cannot read the settings: line 3, column 1: "), "{misspelt}");
        assert!(misspelt.contains("commands.alow") && misspelt.contains("Did you mean commands.allow?"), "{misspelt}");
        assert!(error("ask = 3").contains("line 1, column 7"), "{}", error("ask = 3"));
        assert!(error("a = \n").contains("line 1, column 5"), "{}", error("a = \n"));
        assert!(error("ask = \"alway\"").contains("Did you mean always?"), "{}", error("ask = \"alway\""));
        for (text, wanted) in [
            ("[paths]\ndeny = [\"a[\"]", "line 2, column 9"),
            ("[commands]\ndeny = [\"\"]", "line 2, column 9"),
            ("[commands]\ndeny = \"x\"", "a list"),
            ("commands = 1", "a table"),
            ("outside = \"true\"", "true or false"),
            ("deny = []", "Did you mean paths.deny or commands.deny?"),
            ("[comands]\ndeny = []", "there is no key comands. Did you mean commands?"),
            ("xyzzy = 1", "The keys are ask, outside, commands.allow, "),
            ("\"é\" = 1\n", "no key é"),
        ] {
            assert!(error(text).contains(wanted), "{text}: {}", error(text));
        }
    }
}
