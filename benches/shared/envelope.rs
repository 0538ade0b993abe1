//! Generates the text of one block, and reads it with `serde_json` alone.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The envelope of a call.
#[derive(Deserialize)]
struct Envelope {
    name: String,
    args: Value,
    reason: Option<String>,
}

/// The number of calls in one reply for parsers that read several.
pub const SEVERAL: usize = 32;

/// Returns an envelope of `bytes` bytes, with an escape in each line of its content.
pub fn body(bytes: usize) -> String {
    let around = |content: &str| {
        let args = format!("{{\"path\": \"src/main.rs\", \"content\": \"{content}\"}}");
        format!("{{\"name\": \"write_file\", \"args\": {args}, \"reason\": \"the first version of it\"}}")
    };
    let room = bytes - around("").len();
    let line = "let total = count + 1; // so far\\n";
    around(&(line.repeat(room / line.len()) + &"x".repeat(room % line.len())))
}

/// Returns a reply with only this block.
pub fn alone(body: &str) -> String {
    format!("```tool\n{body}\n```\n")
}

/// Returns a reply with this block several times.
pub fn several(body: &str) -> String {
    format!("{}\n", alone(body)).repeat(SEVERAL)
}

pub fn typed(body: &str) -> usize {
    let read = serde_json::from_str::<Envelope>(body).expect("the envelope is valid");
    read.name.len() + members(read.args) + read.reason.map_or(0, |reason| reason.len())
}

pub fn members(value: Value) -> usize {
    value.as_object().map_or(0, Map::len)
}
