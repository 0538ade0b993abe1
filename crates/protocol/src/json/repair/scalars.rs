//! Values without quotes: numbers, literals, and words that should have been strings.

use super::whitespace::is_space;
use super::{Problem, RepairReader};
use crate::json::strict;
use crate::{Repair, text};
use serde_json::Value;

impl RepairReader<'_> {
    pub(super) fn scalar(&mut self) -> Result<Value, Problem> {
        let rest = self.rest();
        let length = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.' | b'_'))
            .count();
        // A `/` or `#` may begin a comment; `ends_scalar` examines the rest.
        let ends = rest[length..].bytes().next().is_none_or(|byte| is_space(byte) || b",]}/#".contains(&byte));
        let python = match &rest[..length] {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::Null),
            _ => None,
        };
        let value = match &python {
            None => strict::value(&rest[..length]),
            python => python.clone(),
        };
        match value.filter(|_| ends && self.ends_scalar(length)) {
            Some(value) => {
                if python.is_some() {
                    self.note(Repair::PythonLiteral);
                }
                self.advance(length);
                Ok(value)
            }
            None => self.unquoted(),
        }
    }

    /// Returns `true` if a word of this length ends at the next delimiter: `1 2` and `true love` are not scalars.
    fn ends_scalar(&mut self, length: usize) -> bool {
        let rest = &self.rest()[length..];
        let blanks = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let next = rest.as_bytes().get(blanks);
        let path = blanks == 0 && next == Some(&b'/') && !rest.starts_with("//") && !rest.starts_with("/*");
        let word = next.is_some_and(u8::is_ascii_alphanumeric) && !self.in_object();
        !path && !word
    }

    /// Reads a string without quotes, up to the next comma, closing bracket or line end.
    fn unquoted(&mut self) -> Result<Value, Problem> {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| !ends_unquoted(*byte)).count();
        let word = rest[..length].trim_end();
        if word.starts_with("...") || word.starts_with('\u{2026}') {
            return self.ellipsis();
        }
        let begins = word.starts_with(|c: char| c.is_alphanumeric() || "_./~$@*<-+\\".contains(c));
        let ends = matches!(rest.as_bytes().get(length), Some(b',' | b'}' | b']' | b'\n' | b'\r'));
        if begins && ends && !is_doubtful(word) && !is_literal(word) {
            self.note(Repair::UnquotedValue);
            self.advance(word.len());
            return Ok(Value::from(word));
        }
        self.refuse_odd_mark()?;
        match rest.as_bytes().get(length) {
            Some(b'`') if length == 0 => {
                self.problem(text!("a string needs double quotes, not backticks; write newlines in it as \\n"))
            }
            Some(b'"') if length > 0 => {
                self.problem(text!("this value has a quote at its end only; write it in double quotes"))
            }
            _ if word.parse::<f64>().is_ok_and(f64::is_infinite) => self.problem(text!("number out of range")),
            _ => self.problem(text!(
                "a value is wanted here: a string in double quotes, a number, true, false, null, {{ or ["
            )),
        }
    }
}

/// Returns `true` if words without quotes are more than one value: a member, a comment, code, an escaped line end.
fn is_doubtful(word: &str) -> bool {
    let marks = [": ", " #", " //", " /*", ";", "="];
    marks.iter().any(|mark| word.contains(mark))
        || [":", "\\n", "\\r", "\\t"].iter().any(|end| word.ends_with(end))
        || matches!(word, "+" | "-")
        || word.contains(' ') && word.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns `true` if a byte cannot be in a string without quotes.
fn ends_unquoted(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'{' | b'[' | b'(' | b')')
}

/// Returns `true` if a word is a number or a literal of another language, which was not meant as a string.
fn is_literal(word: &str) -> bool {
    let literals = ["true", "false", "null", "none", "nil", "undefined"];
    let digits = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let is_radix = ["0x", "0o", "0b"].iter().any(|radix| digits.starts_with(radix));
    is_radix
        || literals.iter().any(|literal| literal.eq_ignore_ascii_case(word))
        || word.replace('_', "").parse::<f64>().is_ok()
}
