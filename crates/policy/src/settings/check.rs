//! A command that checks the whole project, as it is written in the settings.

use super::super::shell::shown;
use super::messages;
use super::read::not_a_text;
use toml::de::DeValue;
use toolfence_protocol::{Text, text};

const FIELDS: &[&str] = &["command", "new_errors"];

/// A command that checks the whole project, and what is done about errors that are new.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckRule {
    /// The command line.
    pub command: String,
    /// Whether the changes of a reply that causes new errors are rolled back. Otherwise the errors are reported.
    pub rolls_back: bool,
}

impl CheckRule {
    /// Reads `"cargo check"` or `{ command = "cargo check", new_errors = "roll_back" }`.
    ///
    /// # Errors
    /// The mistake, and what to write.
    pub(super) fn read(value: &DeValue<'_>) -> Result<CheckRule, Text> {
        let DeValue::Table(table) = value else { return Ok(CheckRule { command: line(value)?, rolls_back: false }) };
        if let Some(unknown) = table.keys().find(|key| !FIELDS.contains(&&**key.get_ref())) {
            let field = shown(unknown.get_ref(), 64);
            return Err(text!("a check has no {field}; it has command and new_errors.", field));
        }
        let field = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value.get_ref());
        let command = field("command").ok_or_else(|| {
            text!(
                "a check needs command: {example}.",
                example = "{ command = \"cargo check\", new_errors = \"roll_back\" }"
            )
        })?;
        let rolls_back = match field("new_errors") {
            None => false,
            Some(DeValue::String(word)) if *word == "report" => false,
            Some(DeValue::String(word)) if *word == "roll_back" => true,
            Some(_) => return Err(text!("new_errors of a check is \"report\" or \"roll_back\".")),
        };
        Ok(CheckRule { command: line(command)?, rolls_back })
    }
}

fn line(value: &DeValue<'_>) -> Result<String, Text> {
    match value {
        DeValue::String(line) if line.trim().is_empty() => Err(messages::command_line_empty()),
        DeValue::String(line) => Ok(line.to_string()),
        other => Err(not_a_text(messages::a_command_line(), other)),
    }
}
