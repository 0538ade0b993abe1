//! A rule about commands: the first words of one.

use super::super::{NoFacts, Policy};
use super::{Settings, messages};
use toolfence_protocol::Text;

/// The longest rule and example.
const LONGEST: usize = 1000;

/// The first words of a command: `"cargo test"` or `["cargo", "test"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule(Vec<String>);

impl CommandRule {
    /// A rule that no command matches: what is left of two lists that have nothing in common.
    pub(super) const NOTHING: CommandRule = CommandRule(Vec::new());

    /// A rule of these words; `None` when there are none.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Option<CommandRule> {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        (!words.is_empty()).then_some(CommandRule(words))
    }

    /// A rule as it is written in a line, its words apart by blanks.
    ///
    /// # Errors
    /// No words, more than 1,000 bytes, or quotes and the like, which a rule does not read: what to do instead.
    pub fn line(line: &str) -> Result<CommandRule, Text> {
        if line.contains(['\'', '"', '\\', '$', '`']) {
            return Err(messages::rule_is_plain_words());
        }
        CommandRule::words_of(line.split_whitespace())
    }

    pub(super) fn words_of<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Result<CommandRule, Text> {
        let rule = CommandRule::new(words).ok_or_else(messages::rule_needs_a_word)?;
        match rule.0.iter().map(String::len).sum::<usize>() {
            0 => Err(messages::rule_needs_a_full_word()),
            bytes if bytes > LONGEST => Err(messages::rule_too_long(LONGEST)),
            _ => Ok(rule),
        }
    }

    /// The words.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Whether a command begins with these words; `None` stands for a word that is not literal.
    pub(crate) fn begins<'a>(&self, mut command: impl Iterator<Item = Option<&'a str>>) -> bool {
        !self.0.is_empty() && self.0.iter().all(|word| command.next().flatten() == Some(word.as_str()))
    }

    /// What both rules match: the longer of the two, where it begins with the other.
    pub(super) fn and(&self, other: &CommandRule) -> Option<CommandRule> {
        let (long, short) = if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        (long.0.starts_with(&short.0) && !short.0.is_empty()).then(|| long.clone())
    }

    /// Whether the example, read as a command line, would run a command that this rule matches.
    ///
    /// # Errors
    /// It cannot be read as a command line, or is longer than 1,000 bytes.
    pub(super) fn meets(&self, example: &str) -> Result<bool, Text> {
        if example.len() > LONGEST {
            return Err(messages::example_too_long(LONGEST));
        }
        let mut settings = Settings::default();
        settings.commands.deny = vec![self.clone()];
        let policy = Policy::exact(settings);
        let decision = policy.judge_command(example, "", &NoFacts);
        if decision.unreadable {
            return Err(messages::example_unreadable());
        }
        Ok(decision.met.iter().any(|met| met.rule == "commands.deny"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> CommandRule {
        CommandRule::line(text).unwrap()
    }

    #[test]
    fn a_rule_matches_literal_words_only() {
        let rule = rule("cargo  test");
        assert!(rule.begins([Some("cargo"), Some("test"), Some("-q")].into_iter()));
        assert!(!rule.begins([Some("cargo"), None].into_iter()));
        assert!(!rule.begins([Some("cargo")].into_iter()));
        assert!(!CommandRule::NOTHING.begins([Some("cargo")].into_iter()));
    }

    #[test]
    fn what_two_rules_have_in_common() {
        assert_eq!(rule("git").and(&rule("git log")), Some(rule("git log")));
        assert_eq!(rule("git log -p").and(&rule("git log")), Some(rule("git log -p")));
        assert_eq!(rule("git log").and(&rule("git diff")), None);
        assert_eq!(rule("git").and(&CommandRule::NOTHING), None);
    }

    #[test]
    fn examples_are_read_as_the_shell_reads_them() {
        assert_eq!(rule("cargo test").meets("cd x; 'cargo' te\"st\" -q"), Ok(true));
        assert_eq!(rule("cargo test").meets("echo cargo test"), Ok(false));
        assert!(rule("cargo").meets("echo '").is_err() && rule("cargo").meets(&"x".repeat(2000)).is_err());
        assert!(CommandRule::line("echo 'a b'").is_err() && CommandRule::line(" ").is_err());
    }
}
