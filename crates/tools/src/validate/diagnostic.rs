//! One thing that is wrong, and where.

use serde::{Deserialize, Serialize};
use std::fmt;
use toolfence_protocol::{Text, text};

/// What a checker says of one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The file, relative to the root; "" for the text that was checked.
    pub path: String,
    /// From 1; 0 where the checker names none.
    pub line: u64,
    /// In characters, from 1; 0 where the checker names none.
    pub column: u64,
    /// On one line: a checker's own words, or a text of the syntax check.
    pub message: Text,
    /// Whether the text cannot be read: what else is wrong with it may be hidden by that.
    pub syntax: bool,
}

/// A longer message would be a text of its own.
const LONGEST: usize = 300;

impl Diagnostic {
    /// Something in the way of reading the text that is checked.
    pub fn syntax(line: u64, column: u64, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic { path: String::new(), line, column, message: one_line(message.as_ref()).into(), syntax: true }
    }

    /// Something wrong with a file that can be read.
    pub fn of(path: impl Into<String>, line: u64, column: u64, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic { path: path.into(), line, column, message: one_line(message.as_ref()).into(), syntax: false }
    }

    /// The message with its place before it.
    pub fn text(&self) -> Text {
        match (self.line, self.column) {
            (0, _) => self.message.clone(),
            (line, 0) => text!("line {line}: {message}", line, message = self.message.clone()),
            (line, column) => {
                text!("line {line}, column {column}: {message}", line, column, message = self.message.clone())
            }
        }
    }

    /// What it says without numbers, which change when something else does.
    pub(super) fn saying(&self) -> String {
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

/// Without line ends and control characters: it may stand in a header.
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
    fn numbers_are_no_part_of_what_is_said() {
        let saying = |text| Diagnostic::syntax(1, 1, text).saying();
        assert_eq!(saying("'(' was never closed on line 12"), "'(' was never closed on line #");
        assert_eq!(saying("expected 2 arguments, got 13"), saying("expected 1 arguments, got 4"));
    }

    #[test]
    fn a_message_is_one_short_line() {
        let long = Diagnostic::syntax(1, 0, format!("a\nb\x1b[1m{}", "é".repeat(1000)));
        assert_eq!(long.message.to_string().chars().count(), LONGEST + 1);
        assert!(long.to_string().starts_with("line 1: a b [1mé"));
    }
}
