//! What is wrong with a text that is not valid.

use crate::json::Problem;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// What is wrong with a text that is not valid, in the words of `serde_json`.
pub(super) fn of(text: &str) -> Problem {
    match serde_json::from_str::<Unique>(text) {
        Ok(Unique) => Problem::new(0, "this is not read as JSON"),
        Err(error) => {
            let message = error.to_string();
            let cause = message.split(" at line ").next().unwrap_or(&message).to_owned();
            Problem::new(offset(text, error.line(), error.column()), cause)
        }
    }
}

/// The byte of a 1-based line and 1-based byte column, as `serde_json` counts them.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (before + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A value without duplicate keys, of which nothing is kept.
pub(super) struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(Unique)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Unique, E> {
        value.is_finite().then_some(Unique).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        while items.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unique, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(de::Error::custom(duplicate(&key)));
            }
            keys.insert(key);
            members.next_value::<Unique>()?;
        }
        Ok(Unique)
    }
}

/// The message for a key that stands twice.
pub(in crate::json) fn duplicate(key: &str) -> String {
    let shown: String = key.chars().take(40).collect();
    format!("the key {shown:?} stands twice; write it once")
}
