//! Valid JSON to a value, by `serde_json`, with duplicate keys as errors.

use super::Problem;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use std::fmt;

/// The value, or the bare error.
pub(super) fn value(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str::<Unique>(text).map(|unique| unique.0)
}

pub(super) fn read(text: &str) -> Result<Value, Problem> {
    value(text).map_err(|error| {
        let message = error.to_string();
        let cause = message.split(" at line ").next().unwrap_or(&message).to_owned();
        Problem::new(offset(text, error.line(), error.column()), cause)
    })
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

/// Is told of the strings of a value while it is built, and where they stand. `false` gives up.
pub(crate) trait Listen {
    /// An object or array opens; what is given is asked for again at its keys, its elements and its end.
    fn enter(&mut self) -> usize {
        0
    }
    /// The value of this key of the object comes next.
    fn key(&mut self, _container: usize, _key: &str) -> bool {
        true
    }
    /// This element of the array comes next.
    fn element(&mut self, _container: usize, _index: usize) {}
    fn leave(&mut self, _container: usize) {}
    /// A string that is no key.
    fn text(&mut self, _text: &str) -> bool {
        true
    }
}

impl Listen for () {}

/// A value without duplicate keys.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        Build(&mut ()).deserialize(deserializer).map(Unique)
    }
}

struct Build<'l, L>(&'l mut L);

impl<'de, L: Listen> DeserializeSeed<'de> for Build<'_, L> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, L: Listen> Visitor<'de> for Build<'_, L> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        if self.0.text(value) { Ok(Value::String(value.to_owned())) } else { Err(given_up()) }
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let container = self.0.enter();
        let mut array = Vec::new();
        loop {
            self.0.element(container, array.len());
            match items.next_element_seed(Build(&mut *self.0))? {
                Some(item) => array.push(item),
                None => break,
            }
        }
        self.0.leave(container);
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Value, A::Error> {
        object(members, self.0).map(Value::Object)
    }
}

/// An object without duplicate keys.
pub(crate) fn object<'de, A: MapAccess<'de>>(
    mut members: A,
    listener: &mut impl Listen,
) -> Result<Map<String, Value>, A::Error> {
    let container = listener.enter();
    let mut object = Map::new();
    while let Some(key) = members.next_key::<String>()? {
        if !listener.key(container, &key) {
            return Err(given_up());
        }
        match object.entry(key) {
            Entry::Occupied(entry) => return Err(de::Error::custom(duplicate(entry.key()))),
            Entry::Vacant(entry) => entry.insert(members.next_value_seed(Build(&mut *listener))?),
        };
    }
    listener.leave(container);
    Ok(object)
}

fn given_up<E: de::Error>() -> E {
    E::custom("given up")
}

/// The message for a key that stands twice.
pub(super) fn duplicate(key: &str) -> String {
    let shown: String = key.chars().take(40).collect();
    format!("the key {shown:?} stands twice; write it once")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_to_serde_json_but_for_duplicates() {
        for text in ["{}", r#"{"a":[1,-2,18446744073709551615,1.5,"\u00e9",null,true,{"b":{}}]}"#, "[1e400]", "{"] {
            let theirs = serde_json::from_str::<Value>(text).ok();
            assert_eq!(read(text).ok(), theirs, "{text}");
        }
        let problem = read("{\"a\": 1,\n \"a\": 2}").unwrap_err();
        assert!(problem.message.contains("stands twice"), "{problem:?}");
        assert!(problem.at > 9);
        assert!(read(&"[".repeat(1000)).is_err());
    }
}
