//! JSON that is forwarded unchanged: the members of an object in order, each value as its original text.
//!
//! This module does not depend on an API. Values borrow the text that they were read from, so a hostile body takes no
//! more memory than its own size.

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The most members of one object.
const MOST_MEMBERS: usize = 256;

/// The most elements of one array.
const MOST_ELEMENTS: usize = 65_536;

/// An object whose members are not parsed.
#[derive(Debug, Default)]
pub(super) struct Members<'a>(Vec<(String, Cow<'a, RawValue>)>);

impl<'a> Members<'a> {
    /// Returns the JSON text of a member that is present and not null.
    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_ref()).filter(|value| value.get() != "null")
    }

    /// Returns the JSON text of a member that is borrowed from the body and not null, with the lifetime of the body.
    pub(super) fn borrowed(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found
            .and_then(|(_, value)| if let Cow::Borrowed(value) = value { Some(*value) } else { None })
            .filter(|value| value.get() != "null")
    }

    /// Returns the names and values of all members that are strings, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.0.iter().filter_map(|(name, value)| Some((name.as_str(), as_text(value)?)))
    }

    /// Returns the value of a member that is a string.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name).and_then(as_text)
    }

    /// Replaces the value of a member, or appends the member.
    pub(super) fn set(&mut self, name: &str, value: &impl Serialize) {
        let Ok(value) = serde_json::value::to_raw_value(value) else { return };
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some(known) => known.1 = Cow::Owned(value),
            None => self.0.push((name.to_owned(), Cow::Owned(value))),
        }
    }

    pub(super) fn remove(&mut self, names: &[&str]) {
        self.0.retain(|(key, _)| !names.contains(&key.as_str()));
    }

    /// Returns the object as JSON text.
    pub(super) fn print(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns the value of a JSON string; `None` for another type.
pub(super) fn as_text(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(value.get()).ok().map(|text| text.0)
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members: Vec<(String, Cow<'de, RawValue>)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            if members.len() == MOST_MEMBERS {
                return Err(A::Error::custom(format!("an object has more than {MOST_MEMBERS} members")));
            }
            // RFC 8259, section 4: programs differ in which of two equal names they read. The upstream must not read
            // another.
            if members.iter().any(|(known, _)| *known == key) {
                return Err(A::Error::custom(format!("the member {key:.64?} is there twice")));
            }
            members.push((key, Cow::Borrowed(value)));
        }
        Ok(Members(members))
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value.as_ref())?;
        }
        map.end()
    }
}

/// An array whose elements are not parsed.
pub(super) struct Elements<'a>(pub(super) Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Elements<'a>, D::Error> {
        deserializer.deserialize_seq(Each).map(Elements)
    }
}

struct Each;

impl<'de> Visitor<'de> for Each {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Vec<&'de RawValue>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = array.next_element::<&RawValue>()? {
            if elements.len() == MOST_ELEMENTS {
                return Err(A::Error::custom(format!("an array has more than {MOST_ELEMENTS} elements")));
            }
            elements.push(element);
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_members_keep_their_bytes() {
        let text = r#"{"z":1e400,"a":[ 1, {"x":"\u0041"} ],"model":"m","n":null}"#;
        let mut members: Members<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(members.print(), text);
        assert_eq!((members.text("model").as_deref(), members.get("n").is_none()), (Some("m"), true));
        members.set("model", &"other");
        members.remove(&["z"]);
        members.set("new", &true);
        assert_eq!(members.print(), r#"{"a":[ 1, {"x":"\u0041"} ],"model":"other","n":null,"new":true}"#);
    }

    #[test]
    fn members_and_elements_are_limited() {
        let many = |count: usize| {
            let members: Vec<String> = (0..count).map(|n| format!("\"k{n}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(serde_json::from_str::<Members<'_>>(&many(MOST_MEMBERS)).is_ok());
        assert!(serde_json::from_str::<Members<'_>>(&many(MOST_MEMBERS + 1)).is_err());
        assert!(serde_json::from_str::<Members<'_>>(r#"{"a":1,"a":2}"#).is_err());
        let zeros = format!("[{}0]", "0,".repeat(MOST_ELEMENTS));
        assert!(serde_json::from_str::<Elements<'_>>(&zeros).is_err());
    }
}
