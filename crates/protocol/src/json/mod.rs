//! Reads JSON as models write it: strictly with `serde_json`, and with named repairs only if that fails.
//!
//! Valid JSON is never changed. A duplicate key, a lone surrogate and a number that exceeds a double are errors that no
//! repair fixes: the rest of such a text cannot be trusted either.
//!
//! The module reads any text, not only tool calls, and knows nothing about tools:
//!
//! ```
//! use toolfence_protocol::{Repair, json};
//!
//! let reading = json::read("Sure! {name: 'grep', \"args\": {\"pattern\": \"\\d+\",}}", true)?;
//! assert_eq!(reading.values[0]["args"]["pattern"], "\\d+");
//! assert_eq!(
//!     reading.repairs,
//!     [Repair::SurroundingText, Repair::UnquotedKey, Repair::Quotes, Repair::InvalidEscape, Repair::TrailingComma]
//! );
//! assert!(reading.is_lossless());
//!
//! // A guess is distinguished from a lossless repair; a poor guess is refused.
//! assert!(!json::read(r#"{"command": "echo "hi""}"#, true)?.is_lossless());
//! assert!(json::read(r#"{"size": "5" disk", "name": "x"}"#, true).is_err());
//! # Ok::<(), json::Problem>(())
//! ```

mod lexer;
mod repair;
mod strict;

pub(crate) use strict::Unique;

pub use lexer::{Lexer, MOST_NESTING, Status, Watch};

use crate::{Repair, Text};
use serde_json::Value;
use std::fmt;

/// The values of a text, and the repairs that were needed to read them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// At least one object or array, in order.
    pub values: Vec<Value>,
    /// Each kind of repair once, in order of occurrence; empty if the text was valid.
    pub repairs: Vec<Repair>,
}

impl Reading {
    /// Returns `true` if every repair had only one plausible reading, or none was needed.
    pub fn is_lossless(&self) -> bool {
        self.repairs.iter().all(|repair| repair.lossless())
    }
}

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The cause, and how to fix it.
    pub message: Text,
    /// The byte at which the problem shows.
    pub at: usize,
    /// Whether it shows inside an object or array that has begun: the rest of the text may belong to that value.
    pub inside: bool,
}

impl Problem {
    pub(crate) fn new(at: usize, message: impl Into<Text>) -> Problem {
        Problem { message: message.into(), at, inside: false }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.at)
    }
}

impl std::error::Error for Problem {}

/// Reads exactly one valid JSON value, of any kind.
///
/// ```
/// assert_eq!(toolfence_protocol::json::strict("[1, 2]")?[1], 2);
/// assert!(toolfence_protocol::json::strict(r#"{"a": 1, "a": 2}"#).is_err());
/// # Ok::<(), toolfence_protocol::json::Problem>(())
/// ```
///
/// # Errors
/// Fails if the text is not valid JSON, has a duplicate key, has a number that exceeds every type, or is nested more
/// than 127 levels deep.
pub fn strict(text: &str) -> Result<Value, Problem> {
    strict::read(text)
}

/// Reads one or more objects or arrays, repairing only what is invalid. Takes time linear in the bytes of `text`.
///
/// `closed` means that the text is known to be complete, so that missing brackets may be added at its end; a text that
/// may have been cut off must not be completed. An open string is never closed.
///
/// ```
/// use toolfence_protocol::json;
///
/// assert_eq!(json::read(r#"{"a": {"b": 1}"#, true)?.values[0]["a"]["b"], 1);
/// assert!(json::read(r#"{"a": {"b": 1}"#, false).is_err());
/// assert!(json::read(r#"{"a": {"b": "c"#, true).unwrap_err().inside);
/// # Ok::<(), json::Problem>(())
/// ```
///
/// # Errors
/// Fails with the cause and the position if the text cannot be read even with repairs.
pub fn read(text: &str, closed: bool) -> Result<Reading, Problem> {
    match strict::value(text) {
        Some(value @ (Value::Object(_) | Value::Array(_))) => Ok(Reading { values: vec![value], repairs: Vec::new() }),
        _ => repair::read(text, closed),
    }
}
