//! Replaces secrets in text by their kind, for logs, transcripts and exports.
//!
//! This module reads no environment and no files. It recognises secrets by their shape (tokens of well-known services,
//! private keys, passwords in URLs), by their name (`DB_PASSWORD=...`, `--password ...`, `curl -u user:...`, `Cookie:
//! ...`), and by values that the host supplies. Other secrets are not found, so a redacted log is still not for
//! publication.
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
//! Redaction takes time linear in the text, and a text without secrets is not copied.

mod named;
mod options;
mod shapes;

use serde_json::Value;
use std::borrow::Cow;

/// The shortest value that is searched for; shorter ones would occur by chance.
const SHORTEST_VALUE: usize = 8;

/// The maximum number of values of the environment that are searched for, one after another.
const MOST_VALUES: usize = 64;

/// Recognises and replaces secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Pairs of a name and the value that it replaces.
    values: Vec<(String, String)>,
}

/// Leaves out the values.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("values", &self.values.len()).finish()
    }
}

/// A secret in a text: its range and its name.
struct Secret<'a> {
    start: usize,
    end: usize,
    what: &'a str,
}

impl Redactor {
    /// Creates a redactor that recognises shapes and names.
    pub fn new() -> Redactor {
        Redactor::default()
    }

    /// Adds the values of those variables whose names suggest a secret, if they have at least 8 bytes: the 64 longest
    /// at most.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Redactor {
        let secret =
            |(name, value): &(String, String)| named::is_secret_with(name, value) && value.len() >= SHORTEST_VALUE;
        self.values.extend(variables.into_iter().filter(secret));
        // Longest first, because one value may contain another.
        self.values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        self.values.truncate(MOST_VALUES);
        self
    }

    /// Returns the text without secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        // Known values come first: a shape could otherwise replace a part of one, and the rest would remain.
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

    /// Returns a value with every string in it redacted, keys included. A text whose key suggests a secret is replaced
    /// as a whole.
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

    /// Redacts the texts of a list, which may be the words of a command, where one word marks the next as a secret.
    fn command_line(&self, items: Vec<Value>) -> Vec<Value> {
        // A value in another word than its option, as in `["--token", "X"]`, is only found in the whole list.
        if items.len() < 2 || !items.iter().all(Value::is_string) {
            return items;
        }
        // Matches in the serialised list are inside its quotes, so the result parses as JSON again.
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
    // The search resumes after each secret, so that marks and secrets are not scanned again.
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = next(text, at) {
        clean.push_str(&text[copied..found.start]);
        clean.push_str(&mark(found.what));
        (at, copied) = (found.end, found.end);
    }
    (copied > 0).then(|| clean + &text[copied..])
}

/// Returns the first secret at or after an offset.
fn next(text: &str, from: usize) -> Option<Secret<'static>> {
    let bytes = text.as_bytes();
    (from..bytes.len()).find_map(|at| match bytes[at] {
        b'=' | b':' => named::find_value(bytes, at),
        b'-' => shapes::private_key(bytes, at).or_else(|| options::option(bytes, at)),
        b'p' => shapes::token(bytes, at).or_else(|| named::netrc(bytes, at)),
        b's' | b'c' => shapes::token(bytes, at).or_else(|| options::setting(bytes, at)),
        byte if byte.is_ascii_alphabetic() => shapes::token(bytes, at),
        _ => None,
    })
}
