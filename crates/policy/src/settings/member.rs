//! What a person adds to the requests that go to a model's server: a header, or a member of the body.

use super::super::shell::shown;
use super::messages;
use super::read::kind;
use serde_json::{Map, Number};
use std::fmt;
use toml::de::DeValue;
use toolfence_protocol::Text;

/// The longest name and the longest value of a header, in bytes.
const LONGEST_NAME: usize = 200;
const LONGEST_VALUE: usize = 8192;

/// Members that the program sets by itself.
const RESERVED: &[&str] = &["model", "messages", "stream"];

/// A header of every request. Its value may be a secret, and is never shown.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderRule {
    /// The name.
    pub name: String,
    /// What it says.
    pub value: String,
}

impl fmt::Debug for HeaderRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderRule").field("name", &self.name).finish_non_exhaustive()
    }
}

impl HeaderRule {
    /// A table of headers as it may be written.
    pub(super) const EXAMPLE: &str = "{ \"X-Tenant\" = \"blue\" }";

    /// # Errors
    /// What is wrong with it, without its value.
    pub(super) fn read(name: &str, value: &DeValue<'_>) -> Result<HeaderRule, Text> {
        let DeValue::String(value) = value else {
            return Err(messages::wrong_kind(shown(name, 64), messages::text_in_quotes(), kind(value)));
        };
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let is_name = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_token);
        if !is_name || value.len() > LONGEST_VALUE || value.chars().any(char::is_control) {
            return Err(messages::is_no_header(shown(name, 64)));
        }
        Ok(HeaderRule { name: name.to_owned(), value: value.to_string() })
    }
}

/// A member of the body of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberRule {
    /// The name.
    pub name: String,
    /// What it is.
    pub value: serde_json::Value,
}

impl MemberRule {
    /// A table of members as it may be written.
    pub(super) const EXAMPLE: &str = "{ seed = 7, chat_template_kwargs = { enable_thinking = false } }";

    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(name: &str, value: &DeValue<'_>) -> Result<MemberRule, Text> {
        if RESERVED.contains(&name) {
            return Err(messages::is_no_member(shown(name, 64)));
        }
        let value = json(value).ok_or_else(|| messages::is_no_json(shown(name, 64)))?;
        Ok(MemberRule { name: name.to_owned(), value })
    }
}

/// A value of TOML as JSON. The reader of TOML bounds how deep it goes. `None` for a number that JSON has not.
fn json(value: &DeValue<'_>) -> Option<serde_json::Value> {
    Some(match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok()?.into(),
        DeValue::Float(number) => Number::from_f64(number.as_str().parse().ok()?)?.into(),
        DeValue::Boolean(is) => (*is).into(),
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect::<Option<Vec<_>>>()?.into(),
        DeValue::Table(table) => {
            let member = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                Some((key.to_string(), json(value.get_ref())?))
            };
            table.iter().map(member).collect::<Option<Map<_, _>>>()?.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::{InProject, Key, Layer, Takes, Value, read};
    use super::*;

    static KEYS: [Key; 4] = [
        Key::new("headers", Takes::Headers, InProject::Never, "{}", ""),
        Key::new("body", Takes::Members, InProject::Never, "{}", ""),
        Key::new("heat", Takes::Number(2), InProject::Never, "", ""),
        Key::new("tries", Takes::Whole(0, 9), InProject::Never, "", ""),
    ];

    fn read_all(text: &str) -> Result<Vec<Value>, String> {
        let keys: Vec<&Key> = KEYS.iter().collect();
        let entries = read(text, "f", Layer::User, &keys).map_err(|mistake| mistake.to_string())?;
        Ok(entries.into_iter().map(|entry| entry.value).collect())
    }

    #[test]
    fn headers_and_members_are_read_and_secrets_not_shown() {
        let values = read_all("[headers]\nX-Key = \"hidden\"\n").unwrap();
        assert_eq!(values, [Value::Header(HeaderRule { name: "X-Key".into(), value: "hidden".into() })]);
        assert!(!format!("{values:?} {}", values[0]).contains("hidden"));
        let values = read_all("body = { a = { b = [1, 0.5, true, \"x\"] } }\nheat = 0.5\ntries = 0\n").unwrap();
        let Value::Member(member) = &values[0] else { panic!("{values:?}") };
        assert_eq!(member.value, serde_json::json!({"b": [1, 0.5, true, "x"]}));
        assert_eq!(values[1..], [Value::Text("0.5".into()), Value::Text("0".into())]);
    }

    #[test]
    fn what_cannot_be_sent_is_told_without_it() {
        for (text, wanted) in [
            ("headers = { \"a b\" = \"hidden\" }", "a b is no header that can be sent"),
            ("headers = { X = \"hidden\\nX: y\" }", "is no header that can be sent"),
            ("headers = { X = 7 }", "text in quotes"),
            ("headers = [\"X\"]", "{ \"X-Tenant\" = \"blue\" }"),
            ("body = { messages = [] }", "is set by the program"),
            ("body = { a = inf }", "a number that JSON does not have"),
            ("heat = 2.1", "heat is a number from 0 to 2"),
            ("heat = nan", "heat is a number from 0 to 2"),
            ("heat = \"hot\"", "a number from 0 to 2"),
            ("tries = -1", "tries is a whole number from 0 to 9"),
            ("tries = 0.5", "a whole number from 0 to 9"),
        ] {
            let told = read_all(text).unwrap_err();
            assert!(told.contains(wanted) && !told.contains("hidden"), "{text}: {told}");
        }
    }
}
