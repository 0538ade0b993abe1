//! Strict JSON by `serde_json`, with duplicate keys as errors.
//!
//! `serde_json` bounds the nesting and refuses lone surrogates and numbers that exceed a double; `Value` keeps the
//! order of the members. The visitor in this file additionally refuses duplicate keys, which `serde_json` accepts.

use super::Problem;
use crate::clip::floor_boundary;
use crate::{Text, text};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};
use std::fmt;

/// Reads a text that is one valid value; `None` otherwise.
pub(super) fn value(text: &str) -> Option<Value> {
    serde_json::from_str::<Unique>(text).ok().map(|Unique(value)| value)
}

/// Reads a text that is one valid value. The error has the message of `serde_json`.
pub(super) fn read(text: &str) -> Result<Value, Problem> {
    match serde_json::from_str::<Unique>(text) {
        Ok(Unique(value)) => Ok(value),
        Err(error) => {
            let message = error.to_string();
            // The message ends with the position, which `Problem` has as a field.
            let cause = message.split(" at line ").next().unwrap_or(&message).to_owned();
            Err(Problem::new(offset(text, error.line(), error.column()), cause))
        }
    }
}

/// Returns the byte offset of a line and a byte column, both from 1 as in `serde_json`.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    floor_boundary(text, before + column.saturating_sub(1))
}

/// Returns the message for a duplicate key.
pub(super) fn duplicate(key: &str) -> Text {
    let shown: String = key.chars().take(40).collect();
    text!("the key {key} occurs twice; write it once", key = format!("{shown:?}"))
}

/// A value without duplicate keys.
pub(crate) struct Unique(pub(crate) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Unique, E> {
        // `Value` would turn a number that is not finite into null.
        if value.is_finite() { Ok(Unique(value.into())) } else { Err(E::custom("number out of range")) }
    }

    fn visit_str<E>(self, value: &str) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Unique, A::Error> {
        let mut array = Vec::new();
        while let Some(Unique(value)) = elements.next_element()? {
            array.push(value);
        }
        Ok(Unique(Value::Array(array)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unique, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            match object.entry(key) {
                Entry::Vacant(place) => {
                    let Unique(value) = members.next_value()?;
                    place.insert(value);
                }
                Entry::Occupied(place) => return Err(de::Error::custom(duplicate(place.key()))),
            }
        }
        Ok(Unique(Value::Object(object)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that both readers agree about a text, except for duplicate keys.
    fn agrees_with_serde_json(text: &str) -> bool {
        let theirs = serde_json::from_str::<Value>(text).ok();
        let ours = read(text);
        match (&ours, &theirs) {
            (Ok(ours), Some(theirs)) => assert_eq!(ours, theirs, "{text}"),
            (Ok(_), None) => panic!("{text} is not valid"),
            (Err(problem), Some(_)) => {
                assert!(problem.message.to_string().contains("occurs twice"), "{text}: {problem}");
            }
            (Err(_), None) => {}
        }
        ours.is_ok()
    }

    #[test]
    fn numbers_and_escapes_match_serde_json() {
        let numbers = "0 -0 1 -1 00 01 -01 - + +1 1. .1 1.5 -1.50 1e2 1E+2 1e-2 1e 1e+ 1e400 -1e400 1e-400 0.1e1 1-2 1x 0x1 \
            999999999999999999 1000000000000000000 9223372036854775807 -9223372036854775808 -9223372036854775809 \
            18446744073709551615 18446744073709551616 0.1 2.2250738585072011e-308 123456789012345678901234567890 \
            true false null nul tru falsee Null NaN nullnull";
        let strings = r#"\" \\ \/ \b \f \n \r \t \u0041 \u00e9 \u00E9 \u0000 \ud83d\ude00 \ud800 \udc00 \ud800\u0041
            \ud800x \ud800\n \ud83d\ud83d \u \u1 \u123 \u12g4 \u+123 \u-123 \x \U0041 \é \ é 😀 \u00e9é\té /"#;
        let strings = strings.split_whitespace().chain(["", " ", "\n", "\t", "\u{0}", "\u{1f}", "\u{7f}", "\u{2028}"]);
        let strings: Vec<String> = strings.map(|text| format!("\"{text}\"")).collect();
        let (mut valid, mut not) = (0, 0);
        for token in numbers.split_whitespace().chain(strings.iter().map(String::as_str)) {
            let inside = token.trim_matches('"');
            for text in
                [token.to_owned(), format!(" [ {token},\"x\"]"), format!("{{{token}: 0}}"), format!("[\"{inside}\"]")]
            {
                *if agrees_with_serde_json(&text) { &mut valid } else { &mut not } += 1;
            }
        }
        assert!(valid > 50 && not > 50, "{valid} {not}");
    }

    #[test]
    fn structures_match_serde_json() {
        let pieces = ["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", " "];
        let texts = (0..100_000).map(|number: usize| {
            let digits = (0..5).map(|place| number / 10_usize.pow(place) % 10);
            digits.map(|digit| pieces[digit]).collect::<String>()
        });
        let valid = texts.filter(|text| agrees_with_serde_json(text)).count();
        assert!(valid > 100, "{valid}");
        for text in ["{\"a\":{\"b\":[1,{\"c\":[]}]},\"d\":[[],{}]}", "\u{feff}{}", "", "\u{a0}1"] {
            agrees_with_serde_json(text);
        }
    }

    #[test]
    fn members_keep_their_order() {
        let text = r#"{"z":1,"a":{"y":2,"b":3},"m":4}"#;
        assert_eq!(read(text).unwrap().to_string(), text);
    }

    #[test]
    fn errors_have_the_cause_and_the_position() {
        let problem = read("{\"a\": 1,\n \"a\": 2}").unwrap_err();
        assert!(problem.message.to_string().contains("occurs twice"), "{problem:?}");
        assert!(problem.at > 9);
        assert!(read("[1e400]").unwrap_err().message.to_string().contains("out of range"));
        assert!(read(&"[".repeat(1000)).unwrap_err().message.to_string().contains("recursion"));
        for depth in [1, 126, 127, 128, 129, 100_000] {
            assert_eq!(read(&format!("{}{}", "[".repeat(depth), "]".repeat(depth))).is_ok(), depth < 128, "{depth}");
        }
    }
}
