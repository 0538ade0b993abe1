//! Values without quotes: numbers, literals, and words that should have been strings.

use super::whitespace::one_space;
use super::{Problem, RepairReader};
use crate::Repair;
use crate::json::strict;
use crate::messages;
use serde_json::Value;

/// What a word without quotes is.
enum Word {
    Value(Value, Option<Repair>),
    /// A number no double can hold.
    TooBig,
    Other,
}

impl RepairReader<'_> {
    pub(super) fn scalar(&mut self) -> Result<Value, Problem> {
        let rest = self.rest();
        let length = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.' | b'_'))
            .count();
        let behind = rest.as_bytes().get(length);
        let ends = behind.is_none_or(|byte| matches!(byte, b',' | b']' | b'}' | b'/' | b'#'))
            || one_space(&rest[length..]).is_some();
        match if ends { word(&rest[..length]) } else { Word::Other } {
            Word::Value(value, repair) if self.nothing_behind(length) => {
                if let Some(repair) = repair {
                    self.note(repair);
                }
                self.go_on(length);
                Ok(value)
            }
            Word::TooBig => self.problem(messages::number_out_of_range()),
            _ => self.unquoted(),
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
        if begins && ends && !is_doubtful(word) {
            self.note(Repair::UnquotedValue);
            self.go_on(word.len());
            return Ok(Value::from(word));
        }
        match rest.as_bytes().get(length) {
            Some(b'`') if length == 0 => self.problem(messages::string_in_backticks()),
            Some(b'"') if length > 0 => self.problem(messages::value_with_one_quote()),
            _ => {
                self.refuse_odd_mark()?;
                self.problem(messages::value_wanted())
            }
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

fn word(word: &str) -> Word {
    let (value, repair) = match word {
        "true" => (Value::Bool(true), None),
        "false" => (Value::Bool(false), None),
        "null" => (Value::Null, None),
        "True" => (Value::Bool(true), Some(Repair::PythonLiteral)),
        "False" => (Value::Bool(false), Some(Repair::PythonLiteral)),
        "None" => (Value::Null, Some(Repair::PythonLiteral)),
        "TRUE" => (Value::Bool(true), Some(Repair::OtherLiteral)),
        "FALSE" => (Value::Bool(false), Some(Repair::OtherLiteral)),
        "undefined" | "nil" | "NULL" | "Null" | "none" => (Value::Null, Some(Repair::OtherLiteral)),
        _ => match word.strip_prefix(['+', '-']).unwrap_or(word) {
            "NaN" | "nan" | "NAN" | "Infinity" | "inf" | "Inf" => (Value::Null, Some(Repair::NonFinite)),
            _ => return number(word),
        },
    };
    Word::Value(value, repair)
}

fn number(word: &str) -> Word {
    if !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Word::Other;
    }
    if let Some(value @ Value::Number(_)) = strict::value(word) {
        return Word::Value(value, None);
    }
    let (minus, digits) = match word.as_bytes().first() {
        Some(b'-') => ("-", &word[1..]),
        Some(b'+') => ("", &word[1..]),
        _ => ("", word),
    };
    if let Some(value) = radix(minus, digits) {
        return value;
    }
    let Some(plain) = decimal(minus, digits) else { return Word::Other };
    match serde_json::from_str(&plain) {
        Ok(value) => Word::Value(value, Some(Repair::NumberForm)),
        Err(_) => Word::TooBig,
    }
}

/// `0x1f`, `0o17` and `0b11`.
fn radix(minus: &str, digits: &str) -> Option<Word> {
    let radix = match digits.get(..2)? {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    let digits = &digits[2..];
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = i64::from_str_radix(&format!("{minus}{digits}"), radix).map(Value::from);
    let value = value.or_else(|_| u64::from_str_radix(&format!("{minus}{digits}"), radix).map(Value::from));
    Some(value.map_or(Word::TooBig, |value| Word::Value(value, Some(Repair::NumberForm))))
}

/// A decimal number in the form JSON has, where it is one at all.
fn decimal(minus: &str, digits: &str) -> Option<String> {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = grouped(whole)?;
    let power = exponent.map_or("0", |exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let wanted = whole.is_empty() && fraction.is_empty() || power.is_empty();
    if wanted || !all_digits(&whole) || !all_digits(fraction) || !all_digits(power) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if mantissa.contains('.') { format!(".{fraction:0<1}") } else { String::new() };
    let exponent = exponent.map(|exponent| format!("e{exponent}")).unwrap_or_default();
    Some(format!("{minus}{whole}{point}{exponent}"))
}

/// Digits without the underscores between them.
fn grouped(whole: &str) -> Option<String> {
    let between = whole.split('_').all(|group| !group.is_empty()) || !whole.contains('_');
    between.then(|| whole.replace('_', ""))
}
