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
        match value.filter(|_| ends && self.nothing_behind(length)) {
            Some(value) => {
                if python.is_some() {
                    self.note(Repair::PythonLiteral);
                }
                self.go_on(length);
                Ok(value)
            }
            None => self.unquoted(),
        }
    }

    /// Whether a word of this length is all there is before the next delimiter: `1 2` and `true love` are no scalars.
    fn nothing_behind(&mut self, length: usize) -> bool {
        let rest = &self.rest()[length..];
        let blanks = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let next = rest.as_bytes().get(blanks);
        let path = blanks == 0 && next == Some(&b'/') && !rest.starts_with("//") && !rest.starts_with("/*");
        let word = next.is_some_and(u8::is_ascii_alphanumeric) && !self.in_object();
        !path && !word
    }

    /// A string that should have been in quotes: to the next comma, closing bracket or line end.
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
            self.go_on(word.len());
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

/// Whether words without quotes are more than one value: a member, a comment, code, an escaped line end.
fn is_doubtful(word: &str) -> bool {
    let marks = [": ", " #", " //", " /*", ";", "="];
    marks.iter().any(|mark| word.contains(mark))
        || [":", "\\n", "\\r", "\\t"].iter().any(|end| word.ends_with(end))
        || matches!(word, "+" | "-")
        || word.contains(' ') && word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a byte cannot stand in a string without quotes.
fn ends_unquoted(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'{' | b'[' | b'(' | b')')
}

/// Whether a word is a number or a literal as other languages write them: no string was meant.
fn is_literal(word: &str) -> bool {
    let literals = ["true", "false", "null", "none", "nil", "undefined"];
    let digits = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let is_radix = ["0x", "0o", "0b"].iter().any(|radix| digits.starts_with(radix));
    is_radix
        || literals.iter().any(|literal| literal.eq_ignore_ascii_case(word))
        || word.replace('_', "").parse::<f64>().is_ok()
}
