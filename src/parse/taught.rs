//! A call of exactly the taught shape, read in one go: nearly every one.
//!
//! Anything else is left to [`envelope`](super::envelope), which says what is wrong or what had to be mended.

use super::envelope::{Draft, undecorated};
use crate::Args;
use crate::json::{self, Listen};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// Is told of a call while it is read.
pub(super) trait Telling: Listen {
    /// The arguments of this tool begin. `false` gives up.
    fn begins(&mut self, _tool: Option<&str>) -> bool {
        true
    }
    /// The model gives an id. `false` gives up.
    fn has_id(&mut self) -> bool {
        true
    }
}

impl Telling for () {}

/// Reads one valid object with `name`, `args` and perhaps `reason` and `id`; `None` when it is anything else.
pub(super) fn read(text: &str, telling: &mut impl Telling) -> Option<Draft> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let draft = Members(telling).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    let plain = !draft.name.is_empty() && undecorated(&draft.name).len() == draft.name.len();
    plain.then_some(draft)
}

struct Members<'t, T>(&'t mut T);

impl<'de, T: Telling> DeserializeSeed<'de> for Members<'_, T> {
    type Value = Draft;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Draft, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Telling> Visitor<'de> for Members<'_, T> {
    type Value = Draft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a call")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Draft, A::Error> {
        let (mut name, mut args, mut reason, mut id) = (None::<String>, None, None, None);
        while let Some(key) = members.next_key()? {
            match key {
                Key::Name if name.is_none() => name = Some(members.next_value()?),
                Key::Args if args.is_none() && self.0.begins(name.as_deref()) => {
                    args = Some(members.next_value_seed(Object(&mut *self.0))?);
                }
                Key::Reason if reason.is_none() => reason = Some(members.next_value()?),
                Key::Id if id.is_none() && self.0.has_id() => id = Some(members.next_value()?),
                _ => return Err(A::Error::custom("another key")),
            }
        }
        match (name, args) {
            (Some(name), Some(args)) => Ok(Draft { id, name, args, reason, repairs: Vec::new() }),
            _ => Err(A::Error::custom("a key is missing")),
        }
    }
}

enum Key {
    Name,
    Args,
    Reason,
    Id,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(Keys)
    }
}

struct Keys;

impl Visitor<'_> for Keys {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        Ok(match key {
            "name" => Key::Name,
            "args" => Key::Args,
            "reason" => Key::Reason,
            "id" => Key::Id,
            _ => Key::Other,
        })
    }
}

struct Object<'t, T>(&'t mut T);

impl<'de, T: Telling> DeserializeSeed<'de> for Object<'_, T> {
    type Value = Args;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Args, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Telling> Visitor<'de> for Object<'_, T> {
    type Value = Args;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Args, A::Error> {
        json::object(members, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::json;
    use crate::parse::envelope;

    #[test]
    fn reads_as_the_envelope_does_or_not_at_all() {
        let texts = [
            r#"{"name": "a", "args": {}}"#,
            r#"{"args": {"x": [1, {"y": null}], "z": "\u00e9\n"}, "id": "i", "reason": "r", "n\u0061me": "a"}"#,
        ];
        for text in texts {
            let ours = read(text, &mut ()).unwrap_or_else(|| panic!("{text}"));
            let theirs = envelope::drafts(vec![json::strict(text).unwrap()], &[], None).unwrap();
            assert_eq!(format!("{ours:?}"), format!("{:?}", theirs[0]), "{text}");
        }
        for text in [
            r#"{"name": "a"}"#,
            r#"{"name": "", "args": {}}"#,
            r#"{"name": "functions.a", "args": {}}"#,
            r#"{"name": "a", "args": []}"#,
            r#"{"name": "a", "args": {}, "args": {}}"#,
            r#"{"name": "a", "args": {"x": 1, "x": 1}}"#,
            r#"{"name": "a", "args": {}, "path": "x"}"#,
            r#"{"name": "a", "args": {}, "reason": null}"#,
            r#"{"name": "a", "args": {}} x"#,
            r#"[{"name": "a", "args": {}}]"#,
            r#"{"name": 1, "args": {"x": 1e999}}"#,
        ] {
            assert!(read(text, &mut ()).is_none(), "{text}");
        }
    }
}
