//! The user's rules: when to ask, rules about commands, and rules about paths.
//!
//! This module reads text, not files. A host with several files combines their rules with the methods of [`Settings`].

mod rule;

pub use rule::{CommandRule, WrittenRule};

use super::AskMode;
use crate::rules::PathRules;
use serde::{Deserialize, Deserializer};
use toolfence_protocol::{Error, ErrorKind, Text, text};

/// The longest glob in bytes: each is matched with every name of a walk.
const LONGEST_GLOB: usize = 200;

/// The settings of the policy, read from TOML or built with the methods.
///
/// ```
/// let text = "ask = \"risky\"\n[commands]\nallow = [\"cargo test\"]\n[paths]\ndeny = [\"private/**\"]\n";
/// use toolfence_policy::{AskMode, Settings};
/// let settings = Settings::default().ask(AskMode::Risky).allow_command(["cargo", "test"]).block_path("private/**");
/// assert_eq!(settings, Settings::from_toml(text)?);
/// # Ok::<(), toolfence_protocol::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Settings {
    /// How judgements are applied.
    pub ask: AskMode,
    /// Whether [`AskMode::Never`] lets a command that asks for it run outside the sandbox.
    pub(super) outside: bool,
    /// Rules about shell commands.
    pub(super) commands: CommandSettings,
    /// Rules about names of files.
    pub(super) paths: PathSettings,
}

/// Rules about shell commands. Each is a prefix of the command's words and matches only literal words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CommandSettings {
    /// Simple commands that run without a question if nothing else about them asks.
    pub(super) allow: Vec<CommandRule>,
    /// Simple commands that never run.
    pub(super) deny: Vec<CommandRule>,
    /// If not empty, every simple command that matches none of these is denied.
    pub(super) only: Vec<CommandRule>,
}

/// Rules about names of files, as globs relative to the root that match at any depth and ignore case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PathSettings {
    /// Exceptions from the built-in list of blocked names.
    pub(super) allow: Vec<String>,
    /// More blocked names.
    pub(super) deny: Vec<String>,
    /// Lists of names. A file that one of them does not match is blocked.
    #[serde(deserialize_with = "one_list")]
    pub(super) only: Vec<Vec<String>>,
}

fn one_list<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Vec<String>>, D::Error> {
    let list = Vec::<String>::deserialize(list)?;
    Ok(if list.is_empty() { Vec::new() } else { vec![list] })
}

/// Checks a glob from a user.
///
/// # Errors
/// Fails if it has more than 200 bytes, matches the whole project, or cannot be read.
pub fn check_glob(glob: &str) -> Result<(), Text> {
    if glob.len() > LONGEST_GLOB {
        return Err(text!("a glob has at most {most} bytes.", most = LONGEST_GLOB));
    }
    // Such a glob would match every file.
    if glob.trim_matches(['/', '.']).is_empty() {
        return Err(text!("this glob names the whole project; give the name of a file or folder."));
    }
    PathRules::new(&[], &[glob.to_owned()]).map(drop).map_err(|error| error.text())
}

/// Returns the line and the column, both from 1, of the byte at this index. The column counts characters.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or("").chars().count() + 1)
}

impl Settings {
    /// Sets how judgements are applied.
    #[must_use]
    pub fn ask(self, ask: AskMode) -> Settings {
        Settings { ask, ..self }
    }

    /// Lets a command that asks for it run outside the sandbox, even with [`AskMode::Never`]. Such a command can do
    /// everything the user can.
    #[must_use]
    pub fn allow_outside(self) -> Settings {
        Settings { outside: true, ..self }
    }

    /// Lets simple commands that begin with these words run without a question, if nothing else about them asks. An
    /// empty list adds no rule.
    #[must_use]
    pub fn allow_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Settings {
        self.commands.allow.extend(CommandRule::new(words));
        self
    }

    /// Denies simple commands that begin with these words. An empty list adds no rule.
    #[must_use]
    pub fn deny_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Settings {
        self.commands.deny.extend(CommandRule::new(words));
        self
    }

    /// Denies every simple command that begins with none of the words passed to this method. An empty list adds no
    /// rule.
    #[must_use]
    pub fn only_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Settings {
        self.commands.only.extend(CommandRule::new(words));
        self
    }

    /// Adds an exception to the built-in list of blocked names: a glob relative to the root that matches at any depth
    /// and ignores case.
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

    /// Blocks every file that matches none of the globs passed to this method. They are relative to the root, match at
    /// any depth and ignore case.
    #[must_use]
    pub fn only_path(mut self, glob: impl Into<String>) -> Settings {
        match self.paths.only.first_mut() {
            Some(list) => list.push(glob.into()),
            None => self.paths.only.push(vec![glob.into()]),
        }
        self
    }

    /// Narrows `commands.only` to the commands that both the earlier rules and these allow. An empty list changes
    /// nothing.
    #[must_use]
    pub fn narrow_commands(mut self, rules: &[CommandRule]) -> Settings {
        if self.commands.only.is_empty() {
            self.commands.only = rules.to_vec();
        } else if !rules.is_empty() {
            // `common` returns a rule that matches nothing instead of an empty list, which would allow every command.
            self.commands.only = CommandRule::common(&self.commands.only, rules);
        }
        self
    }

    /// Narrows `paths.only` to the files that both the earlier lists and this one match. An empty list changes nothing.
    #[must_use]
    pub fn narrow_paths(mut self, globs: Vec<String>) -> Settings {
        if !globs.is_empty() {
            self.paths.only.push(globs);
        }
        self
    }

    /// Returns the rules of `commands.only`: a command that begins with none of them is denied. Empty if every command
    /// may run.
    pub fn only_commands(&self) -> &[CommandRule] {
        &self.commands.only
    }

    /// Reads the text of a settings file that has only the keys of the policy.
    ///
    /// # Errors
    /// Fails if the text is not TOML, or has an unknown key, a value of the wrong type or a bad glob. The error names
    /// the glob, or the line and the column of the mistake.
    pub fn from_toml(text: &str) -> Result<Settings, Error> {
        let settings: Settings = toml::from_str(text).map_err(|error| {
            let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
            let why = error.message();
            let message = text!("cannot read the settings: line {line}, column {column}: {why}", line, column, why);
            Error::with_kind(ErrorKind::InvalidInput, message)
        })?;
        let PathSettings { allow, deny, only } = &settings.paths;
        for glob in allow.iter().chain(deny).chain(only.iter().flatten()) {
            check_glob(glob).map_err(|why| {
                let shown: String = glob.chars().take(64).collect();
                let message =
                    text!("cannot read the settings: the glob {glob}: {why}", glob = format!("{shown:?}"), why);
                Error::with_kind(ErrorKind::InvalidInput, message)
            })?;
        }
        Ok(settings)
    }

    pub(super) fn path_rules(&self) -> Result<PathRules, Error> {
        let rules = PathRules::new(&self.paths.allow, &self.paths.deny)?;
        self.paths.only.iter().try_fold(rules, |rules, list| rules.only(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_their_place() {
        for (text, wanted) in [
            (
                "ask = \"always\"\n[commands]\nalow = []\n",
                "cannot read the settings: line 3, column 1: unknown field `alow`",
            ),
            ("ask = 3", "line 1, column 7"),
            ("a = \n", "line 1, column 5"),
            ("ask = \"alway\"", "unknown variant `alway`, expected one of `risky`, `always`"),
            ("[paths]\ndeny = [\"a[\"]", "cannot read the path glob"),
            ("[paths]\ndeny = [\"./\"]", "the glob \"./\": this glob names the whole project"),
            ("[commands]\ndeny = [\"\"]", "line 2, column 8: a command rule needs at least one word"),
            ("[commands]\ndeny = [1]", "line 2, column 8: a command rule is \"cargo test\""),
            ("[commands]\ndeny = \"x\"", "expected a sequence"),
            ("outside = \"true\"", "expected a boolean"),
            ("\"é\" = 1\n", "unknown field `é`"),
        ] {
            let error = Settings::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn lists_that_have_nothing_in_common_allow_nothing() {
        let only = |lists: &[&[&str]]| {
            let rules = |list: &[&str]| list.iter().map(|line| CommandRule::line(line).unwrap()).collect::<Vec<_>>();
            let settings = lists.iter().fold(Settings::default(), |all, list| all.narrow_commands(&rules(list)));
            settings.commands.only.iter().map(|rule| rule.words().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(only(&[&["git", "ls"], &["git log", "cat"]]), ["git log"]);
        assert_eq!(only(&[&["git"], &[]]), ["git"]);
        assert_eq!(only(&[&[], &["ls"]]), ["ls"]);
        assert_eq!(only(&[&["git"], &["ls"]]), [""]);
        assert_eq!(only(&[&["git"], &["ls"], &["git"]]), [""]);
        assert!(only(&[&[], &[]]).is_empty());
    }
}
