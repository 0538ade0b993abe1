//! A diagnostic: one error and its location.

use serde::{Deserialize, Serialize};
use std::fmt;
use toolfence_protocol::{Text, text};

/// An error that a checker reports at one location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The file, relative to the root; "" for the text that was checked.
    pub path: String,
    /// The line, from 1; 0 if the checker reports none.
    pub line: u64,
    /// The column in characters, from 1; 0 if the checker reports none.
    pub column: u64,
    /// The message, on one line, from the checker or from the syntax check.
    pub message: Text,
    /// Whether this is a syntax error, which may hide other errors.
    pub syntax: bool,
}

/// The longest message in characters. Longer ones are cut.
const LONGEST: usize = 300;

impl Diagnostic {
    /// Creates a syntax error of the checked text.
    pub fn syntax(line: u64, column: u64, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic { path: String::new(), line, column, message: one_line(message.as_ref()).into(), syntax: true }
    }

    /// Creates an error in a file. It is not marked as a syntax error.
    pub fn new(path: impl Into<String>, line: u64, column: u64, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic { path: path.into(), line, column, message: one_line(message.as_ref()).into(), syntax: false }
    }

    /// Returns the message preceded by its location.
    pub fn text(&self) -> Text {
        match (self.line, self.column) {
            (0, _) => self.message.clone(),
            (line, 0) => text!("line {line}: {message}", line, message = self.message.clone()),
            (line, column) => {
                text!("line {line}, column {column}: {message}", line, column, message = self.message.clone())
            }
        }
    }

    /// Returns the message with `#` in place of each number, because an unrelated change may alter numbers.
    pub(super) fn message_without_numbers(&self) -> String {
        let message = self.message.to_string();
        let mut out = String::with_capacity(message.len());
        for char in message.chars() {
            match char.is_ascii_digit() {
                true if out.ends_with('#') => {}
                true => out.push('#'),
                false => out.push(char),
            }
        }
        out
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}

/// Removes line ends and control characters, because the message may become part of a header, and cuts it to
/// [`LONGEST`].
pub(super) fn one_line(text: &str) -> String {
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST + 1).collect();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_ignores_numbers() {
        let normalized = |text| Diagnostic::syntax(1, 1, text).message_without_numbers();
        assert_eq!(normalized("'(' was never closed on line 12"), "'(' was never closed on line #");
        assert_eq!(normalized("expected 2 arguments, got 13"), normalized("expected 1 arguments, got 4"));
    }

    #[test]
    fn a_message_is_one_short_line() {
        let long = Diagnostic::syntax(1, 0, format!("a\nb\x1b[1m{}", "é".repeat(1000)));
        assert_eq!(long.message.to_string().chars().count(), LONGEST + 1);
        assert!(long.to_string().starts_with("line 1: a b [1mé"));
    }
}
