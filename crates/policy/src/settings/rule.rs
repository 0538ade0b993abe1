//! A rule about commands, which consists of the first words of a command.

use serde::Deserialize;
use std::fmt;
use toolfence_protocol::{Text, text};

/// The longest rule in bytes.
const LONGEST: usize = 1000;

/// The first words of a command: `"cargo test"` or `["cargo", "test"]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenRule")]
pub struct CommandRule(Vec<String>);

/// The forms of a rule in a settings file.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a command rule is \"cargo test\" or [\"cargo\", \"test\"].")]
#[non_exhaustive]
pub enum WrittenRule {
    /// A line, as [`CommandRule::line`] reads it.
    Line(String),
    /// The words.
    Words(Vec<String>),
    /// Older versions had rules with examples: `{ prefix = "cargo test", match = [..] }`.
    WithExamples {
        /// The rule.
        prefix: Box<WrittenRule>,
    },
}

impl TryFrom<WrittenRule> for CommandRule {
    type Error = Text;

    fn try_from(written: WrittenRule) -> Result<CommandRule, Text> {
        match written {
            WrittenRule::Line(line) => CommandRule::line(&line),
            WrittenRule::Words(words) => CommandRule::words_of(words),
            WrittenRule::WithExamples { prefix } => (*prefix).try_into(),
        }
    }
}

impl CommandRule {
    /// A rule that no command matches: the common part of two lists that have nothing in common.
    const NOTHING: CommandRule = CommandRule(Vec::new());

    /// Makes a rule of these words; `None` if the list is empty.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Option<CommandRule> {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        (!words.is_empty()).then_some(CommandRule(words))
    }

    /// Parses a rule from a line: words with the quotes of a shell, `echo 'a b'`, or a list, `["echo", "a b"]`.
    ///
    /// # Errors
    /// Fails without words, with more than 1,000 bytes, or if the line has an open quote, a comment or a shell
    /// expansion. A rule matches literal words, so `$` and backquotes have no meaning in a line; in a list they are
    /// literal.
    pub fn line(line: &str) -> Result<CommandRule, Text> {
        let line = line.trim();
        if let Some(first) = line.strip_prefix('[') {
            match serde_json::from_str::<Vec<String>>(line) {
                Ok(words) => return CommandRule::words_of(words),
                // `[` is a program too, and its name ends at a blank.
                Err(_) if first.starts_with(['"', '\'']) => {
                    return Err(text!(
                        "the list of words cannot be read. It is written like this: [\"echo\", \"a b\"]."
                    ));
                }
                Err(_) => {}
            }
        }
        if let Some(expanded) = line.chars().find(|c| matches!(c, '$' | '`')) {
            return Err(text!(
                "nothing is expanded in a command rule, so `$` and backquotes have no meaning in one, and this one has {found}. \
                 For the character itself, write the rule as a list: [\"echo\", \"$HOME\"].",
                found = expanded
            ));
        }
        // `shell_words` does not split words at such characters, so the rule would contain a word that no command has.
        if line.chars().any(|c| !matches!(c, ' ' | '\t' | '\n') && (c.is_whitespace() || c.is_control())) {
            return Err(text!(
                "the command rule has white space or a control character that separates no words, such as a no-break space that \
                 was pasted. Write plain spaces; for the character itself, write the rule as a list."
            ));
        }
        let words = shell_words::split(line).map_err(|_| text!("a quote in the command rule is not closed."))?;
        // The crate `shell_words` skips comments, as a shell does, and the rule would match more than its text. If the
        // number of words differs once each `#` is replaced by a letter, there is a comment.
        let all = shell_words::split(&line.replace('#', "x"));
        if all.map_or(true, |all| all.len() != words.len()) {
            return Err(text!(
                "a `#` that begins a word begins a comment, and a command rule has none. For the character itself, write it in \
                 quotes: '#'."
            ));
        }
        CommandRule::words_of(words)
    }

    fn words_of<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Result<CommandRule, Text> {
        let rule = CommandRule::new(words).ok_or_else(|| text!("a command rule needs at least one word."))?;
        match rule.0.iter().map(String::len).sum::<usize>() {
            0 => Err(text!("a command rule needs at least one word that is not empty.")),
            bytes if bytes > LONGEST => Err(text!("a command rule has at most {most} bytes.", most = LONGEST)),
            _ => Ok(rule),
        }
    }

    /// Returns the words.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Returns whether a command begins with these words; `None` is a word that is not literal.
    pub(crate) fn is_prefix_of<'a>(&self, mut command: impl Iterator<Item = Option<&'a str>>) -> bool {
        !self.0.is_empty() && self.0.iter().all(|word| command.next().flatten() == Some(word.as_str()))
    }

    /// Returns the commands that both rules match: the longer rule if it begins with the shorter one.
    fn and(&self, other: &CommandRule) -> Option<CommandRule> {
        // A longer rule matches fewer commands.
        let (long, short) = if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        (long.0.starts_with(&short.0) && !short.0.is_empty()).then(|| long.clone())
    }

    /// Returns the rules for the commands that both lists match, never an empty list, because that would allow
    /// everything.
    pub(super) fn common(a: &[CommandRule], b: &[CommandRule]) -> Vec<CommandRule> {
        let mut both: Vec<CommandRule> = Vec::new();
        for rule in a.iter().flat_map(|rule| b.iter().filter_map(|other| rule.and(other))) {
            if !both.contains(&rule) {
                both.push(rule);
            }
        }
        if both.is_empty() { vec![CommandRule::NOTHING] } else { both }
    }
}

/// Prints the rule as a line that [`CommandRule::line`] reads.
impl fmt::Display for CommandRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |word: &String| !word.is_empty() && !word.contains([' ', '\t', '\n', '\'', '"', '\\', '#']);
        // `line` refuses these characters outside of a list.
        if self.0.iter().any(|word| word.contains(['$', '`'])) {
            f.write_str(&serde_json::json!(self.0).to_string())
        } else if self.0.iter().all(is_plain) {
            f.write_str(&self.0.join(" "))
        } else {
            f.write_str(&shell_words::join(&self.0))
        }
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
        assert!(rule.is_prefix_of([Some("cargo"), Some("test"), Some("-q")].into_iter()));
        assert!(!rule.is_prefix_of([Some("cargo"), None].into_iter()));
        assert!(!rule.is_prefix_of([Some("cargo")].into_iter()));
        assert!(!CommandRule::NOTHING.is_prefix_of([Some("cargo")].into_iter()));
    }

    #[test]
    fn common_rules_match_both_lists() {
        assert_eq!(rule("git").and(&rule("git log")), Some(rule("git log")));
        assert_eq!(rule("git log -p").and(&rule("git log")), Some(rule("git log -p")));
        assert_eq!(rule("git log").and(&rule("git diff")), None);
        assert_eq!(rule("git").and(&CommandRule::NOTHING), None);
    }

    #[test]
    fn a_line_has_the_words_of_a_shell() {
        let list = format!("[{}]", vec!["\"x\""; 600].join(","));
        for (line, wanted) in [
            ("echo 'a b'", Ok(&["echo", "a b"][..])),
            (r#" echo  "a b"\ c '' "#, Ok(&["echo", "a b c", ""])),
            (r#"["echo", "a b"]"#, Ok(&["echo", "a b"])),
            (r#" [ "echo" , "$HOME" ] "#, Ok(&["echo", "$HOME"])),
            (r#"[ "a" = b ]"#, Ok(&["[", "a", "=", "b", "]"])),
            ("[ -f x ]", Ok(&["[", "-f", "x", "]"])),
            ("git log a#b '#c'", Ok(&["git", "log", "a#b", "#c"])),
            ("git\u{a0}push", Err("no-break space")),
            ("make\rall", Err("control character")),
            ("[\"git\\u00a0push\"]", Ok(&["git\u{a0}push"])),
            ("echo $HOME", Err("`$`")),
            ("echo '$HOME'", Err("[\"echo\", \"$HOME\"]")),
            ("echo `id`", Err("backquotes")),
            ("echo 'a", Err("not closed")),
            ("echo # all of it", Err("comment")),
            ("echo #it's", Err("comment")),
            ("#a\nb", Err("comment")),
            (r#"["echo", 3]"#, Err("[\"echo\", \"a b\"]")),
            ("['echo']", Err("[\"echo\", \"a b\"]")),
            ("[]", Err("at least one word")),
            ("''", Err("not empty")),
            (" ", Err("at least one word")),
            (&list, Ok(&["x"; 600])),
            (&"x ".repeat(1001), Err("1000 bytes")),
        ] {
            match (CommandRule::line(line), wanted) {
                (Ok(rule), Ok(words)) => assert_eq!(rule.words(), words, "{line}"),
                (Err(said), Err(part)) => assert!(said.to_string().contains(part), "{line}: {said}"),
                (read, _) => panic!("{line}: {read:?}"),
            }
        }
    }

    #[test]
    fn a_printed_rule_reads_as_the_same_rule() {
        for words in
            [&["cargo", "test"][..], &["git", "log", "--format=%h"], &["echo", "a b", "", "it's", "\"", "#x"], &["["]]
        {
            let rule = CommandRule::new(words.iter().copied()).unwrap();
            assert_eq!(CommandRule::line(&rule.to_string()), Ok(rule));
        }
        assert_eq!(rule("git log --format=%h").to_string(), "git log --format=%h");
        assert_eq!(rule(r#"["echo", "$HOME"]"#).to_string(), r#"["echo","$HOME"]"#);
    }
}
