//! Secrets in a text, replaced by words that say of what kind they were: for logs, transcripts and exports.
//!
//! This module reads no environment and no files. It knows secrets by their shape (tokens of well-known services,
//! private keys, passwords in URLs), by the name they are given (`DB_PASSWORD=...`, `--password ...`, `curl -u
//! user:...`, `Cookie: ...`), and by their value where the host says so. A secret without shape or name is not found:
//! what is logged is still not for everybody.
//!
//! ```
//! use toolfence_agent::redact::Redactor;
//!
//! let redactor = Redactor::new().environment([("DEPLOY_TOKEN".to_owned(), "correct horse".to_owned())]);
//! let text = "curl https://me:hunter22@example.org -H 'x: correct horse' # DB_PASSWORD=letmein1";
//! let clean = "curl https://me:[redacted: password]@example.org -H 'x: [redacted: DEPLOY_TOKEN]' # DB_PASSWORD=[redacted: value]";
//! assert_eq!(redactor.text(text), clean);
//! ```
//!
//! It takes time linear in the text, and a text without secrets is not copied.

mod named;
mod options;
mod shapes;

use serde_json::Value;
use std::borrow::Cow;

/// Values shorter than this would be found in every second text.
const SHORTEST_VALUE: usize = 8;

/// Values of the environment that are looked for, one after the other.
const MOST_VALUES: usize = 64;

/// Knows secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    /// What stands for it, and the value.
    values: Vec<(String, String)>,
}

/// Values are never shown.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("values", &self.values.len()).finish()
    }
}

/// A secret in a text: its range, and what it is called.
struct Found<'a> {
    start: usize,
    end: usize,
    what: &'a str,
}

impl Redactor {
    /// Knows shapes and names.
    pub fn new() -> Redactor {
        Redactor::default()
    }

    /// Knows the values of those of these variables too whose names sound like secrets, where they are 8 bytes or
    /// longer; 64 of them at most, the longest.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Redactor {
        let secret =
            |(name, value): &(String, String)| named::is_secret_with(name, value) && value.len() >= SHORTEST_VALUE;
        self.values.extend(variables.into_iter().filter(secret));
        // One value may hold another.
        self.values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        self.values.truncate(MOST_VALUES);
        self
    }

    /// The text without secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for (name, value) in &self.values {
            if memchr::memmem::find(clean.as_bytes(), value.as_bytes()).is_some() {
                clean = clean.replace(value.as_str(), &mark(name)).into();
            }
        }
        match without_shapes(&clean) {
            Some(changed) => changed.into(),
            None => clean,
        }
    }

    /// A value with every string in it redacted, keys too. What stands under a key that sounds like a secret is
    /// replaced whole where it is text.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into_owned().into(),
            Value::Array(items) => {
                let clean: Vec<Value> = items.iter().map(|item| self.value(item)).collect();
                self.command_line(clean).into()
            }
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| (self.text(key).into_owned(), self.field(key, value));
                Value::Object(fields.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }

    /// Texts of a list, which may be the words of a command: one of them says of the next that it is a secret.
    fn command_line(&self, items: Vec<Value>) -> Vec<Value> {
        if items.len() < 2 || !items.iter().all(Value::is_string) {
            return items;
        }
        // What is found in the list as it is written stands inside of its quotes, so the rest is read again as it was.
        let Some(clean) = serde_json::to_string(&items).ok().and_then(|text| without_shapes(&text)) else {
            return items;
        };
        match serde_json::from_str::<Vec<Value>>(&clean) {
            Ok(clean) if clean.len() == items.len() => clean,
            _ => items,
        }
    }

    fn field(&self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) if named::is_secret_with(key, text) && !text.is_empty() => mark("value").into(),
            other => self.value(other),
        }
    }
}

fn mark(what: &str) -> String {
    format!("[redacted: {what}]")
}

fn without_shapes(text: &str) -> Option<String> {
    let mut clean = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = next(text, at) {
        clean.push_str(&text[copied..found.start]);
        clean.push_str(&mark(found.what));
        (at, copied) = (found.end, found.end);
    }
    (copied > 0).then(|| clean + &text[copied..])
}

/// The first secret at or behind a place.
fn next(text: &str, from: usize) -> Option<Found<'static>> {
    let bytes = text.as_bytes();
    (from..bytes.len()).find_map(|at| match bytes[at] {
        b'=' | b':' => named::at(bytes, at),
        b'-' => shapes::private_key(bytes, at).or_else(|| options::option(bytes, at)),
        b'p' => shapes::token(bytes, at).or_else(|| named::netrc(bytes, at)),
        b's' | b'c' => shapes::token(bytes, at).or_else(|| options::setting(bytes, at)),
        byte if byte.is_ascii_alphabetic() => shapes::token(bytes, at),
        _ => None,
    })
}
