//! What the user settled: mode, rules about commands, rules about paths.
//!
//! This module reads text, not files: where the settings come from is the host's business.

use super::{Mode, PathRules};
use crate::{Error, Result};
use serde::Deserialize;

/// The settings of the policy, as the user's file has them. Every key is optional.
///
/// ```
/// let text = "mode = \"dangerous\"\n[commands]\nallow = [\"cargo test\"]\n[paths]\ndeny = [\"private/**\"]\n";
/// let settings = toolfence::policy::Settings::from_toml(text)?;
/// assert_eq!(settings.commands.allow.len(), 1);
/// # Ok::<(), toolfence::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Settings {
    /// What is done with a judgement.
    pub mode: Mode,
    /// Rules about shell commands.
    pub commands: CommandSettings,
    /// Rules about names of files.
    pub paths: PathSettings,
}

/// Rules about shell commands. Each is a beginning of the command's words and is compared to literal words only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct CommandSettings {
    /// Simple commands that run without a question where nothing else about them asks.
    pub allow: Vec<CommandRule>,
    /// Simple commands that never run.
    pub deny: Vec<CommandRule>,
    /// When not empty, every simple command that matches none of these is denied.
    pub only: Vec<CommandRule>,
}

/// Rules about names of files, as globs relative to the root that match at any depth and ignore case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PathSettings {
    /// Exceptions from the built-in list of blocked names.
    pub allow: Vec<String>,
    /// More blocked names.
    pub deny: Vec<String>,
}

/// The first words of a command: `"cargo test"` or `["cargo", "test"]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub struct CommandRule(Vec<String>);

/// The two ways to write a [`CommandRule`].
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Line(String),
    Words(Vec<String>),
}

impl TryFrom<Written> for CommandRule {
    type Error = &'static str;

    fn try_from(written: Written) -> std::result::Result<CommandRule, &'static str> {
        match written {
            Written::Line(line) => CommandRule::new(line.split_whitespace()),
            Written::Words(words) => CommandRule::new(words),
        }
        .ok_or("a command rule needs at least one word")
    }
}

impl CommandRule {
    /// A rule of these words; `None` when there are none.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Option<CommandRule> {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        (!words.is_empty()).then_some(CommandRule(words))
    }

    /// The words.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Whether a command begins with these words; `None` stands for a word that is not literal.
    pub(super) fn begins<'a>(&self, mut command: impl Iterator<Item = Option<&'a str>>) -> bool {
        self.0.iter().all(|word| command.next().flatten() == Some(word.as_str()))
    }
}

impl Settings {
    /// Reads the text of a settings file.
    ///
    /// # Errors
    /// Anything that is not TOML, a key that does not exist, a value of the wrong kind, a bad glob: with line and column
    /// where the text is at fault.
    pub fn from_toml(text: &str) -> Result<Settings> {
        let settings: Settings = toml::from_str(text).map_err(|error| at_line(text, &error))?;
        settings.path_rules()?;
        Ok(settings)
    }

    pub(super) fn path_rules(&self) -> Result<PathRules> {
        PathRules::new(&self.paths.allow, &self.paths.deny)
    }
}

fn at_line(text: &str, error: &toml::de::Error) -> Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    Error::new(format!("cannot read the settings: line {line}, column {column}: {}", error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_line_or_words() {
        let text = "[commands]\nallow = [\"cargo  test\", [\"echo\", \"a b\"]]";
        let settings = Settings::from_toml(text).unwrap();
        assert_eq!(settings.commands.allow[0].words(), ["cargo", "test"]);
        assert_eq!(settings.commands.allow[1].words(), ["echo", "a b"]);
    }

    #[test]
    fn mistakes_name_their_place() {
        let error = Settings::from_toml("mode = \"always\"\n[commands]\nalow = []\n").unwrap_err().to_string();
        assert!(error.contains("line 3, column 1") && error.contains("alow"), "{error}");
        let error = Settings::from_toml("mode = 3").unwrap_err().to_string();
        assert!(error.contains("line 1, column 8"), "{error}");
        assert!(Settings::from_toml("[paths]\ndeny = [\"a[\"]").is_err());
        assert!(Settings::from_toml("[commands]\ndeny = [\"\"]").is_err());
    }

    #[test]
    fn a_rule_matches_literal_words_only() {
        let rule = CommandRule::new(["cargo", "test"]).unwrap();
        assert!(rule.begins([Some("cargo"), Some("test"), Some("-q")].into_iter()));
        assert!(!rule.begins([Some("cargo"), None].into_iter()));
        assert!(!rule.begins([Some("cargo")].into_iter()));
    }
}
