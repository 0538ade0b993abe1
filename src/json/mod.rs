//! JSON as models write it: strict first, repaired only when strict fails, every repair named.
//!
//! Valid JSON is never changed. Three things that `serde_json` lets pass are errors here, for a model that writes them is
//! not to be trusted with the rest: a key that stands twice, a lone surrogate, a number no double can hold.

mod lexer;
mod repair;
mod strict;

pub use lexer::{Lexer, MOST_NESTING, Status, Watch};

use crate::Repair;
use serde_json::Value;

/// What was read, and what had to be mended for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// Objects and arrays, one after another.
    pub values: Vec<Value>,
    /// Each kind once, in the order they were met; empty when the text was valid.
    pub repairs: Vec<Repair>,
}

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The cause, and what to do.
    pub message: String,
    /// The byte where it shows.
    pub at: usize,
    /// Whether it shows inside an object or array that has begun: the rest of the text may belong to it.
    pub inside: bool,
}

impl Problem {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Problem {
        Problem { message: message.into(), at, inside: false }
    }
}

/// Reads exactly one valid object or array.
///
/// # Errors
/// Anything JSON forbids, a duplicate key, a number beyond every type, nesting over 127.
pub fn strict(text: &str) -> Result<Value, Problem> {
    strict::read(text)
}

/// Reads one or more objects or arrays, repairing only what is not valid. Linear in the bytes of `text`.
///
/// `closed` says that the text is known to be whole, so that brackets missing at its end may be added; a text that may
/// have been cut off must not be completed.
///
/// # Errors
/// What cannot be read even with repairs, with the place and the cause.
pub fn read(text: &str, closed: bool) -> Result<Reading, Problem> {
    match strict(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => Ok(Reading { values: vec![value], repairs: Vec::new() }),
        _ => repair::read(text, closed),
    }
}
