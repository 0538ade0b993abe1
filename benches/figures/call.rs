//! From the text of one block to a typed call, where nothing needs to be mended.

use crate::ours;
use crate::timing::best;
use serde::Deserialize;
use serde_json::{Map, Value};
use toolfence::json;

/// The same envelope, read with no help from us.
#[derive(Deserialize)]
struct Envelope {
    name: String,
    args: Value,
    reason: Option<String>,
}

/// Calls of one reply, where a parser reads more than one.
const SEVERAL: usize = 32;

pub(crate) fn print() {
    println!("\n| one call from text to value, ns (times the first) | 182 B | 88 KB |\n|---|---:|---:|");
    let columns = [182, 88_000].map(|bytes| column(&body(bytes)));
    let names = [
        "serde_json, typed: name, args as `Value`, reason",
        "serde_json, `Value`",
        "toolfence::json::strict",
        "toolfence::json::read",
        "toolfence, a parser for this block alone",
        "toolfence, one of 32 blocks of a reply",
        "the same, without events for a preview (`settled_only`)",
    ];
    for (row, name) in names.iter().enumerate() {
        let cell = |times: &[f64; 7]| format!("{:.0} ({:.2})", times[row] * 1e9, times[row] / times[0]);
        println!("| {name} | {} |", columns.each_ref().map(cell).join(" | "));
    }
}

/// An envelope of so many bytes, with an escape in each line of its content.
fn body(bytes: usize) -> String {
    let around = |content: &str| {
        let args = format!("{{\"path\": \"src/main.rs\", \"content\": \"{content}\"}}");
        format!("{{\"name\": \"write_file\", \"args\": {args}, \"reason\": \"the first version of it\"}}")
    };
    let room = bytes - around("").len();
    let line = "let total = count + 1; // so far\\n";
    around(&(line.repeat(room / line.len()) + &"x".repeat(room % line.len())))
}

fn column(body: &str) -> [f64; 7] {
    let block = format!("```tool\n{body}\n```\n");
    let several = format!("{block}\n").repeat(SEVERAL);
    assert!(ours::calls(&block, usize::MAX) == 1 && ours::calls(&several, usize::MAX) == SEVERAL);
    let mut times = best([
        &|| typed(body),
        &|| serde_json::from_str::<Value>(body).map_or(0, members),
        &|| json::strict(body).map_or(0, members),
        &|| json::read(body, true).map_or(0, |reading| reading.values.len()),
        &|| ours::calls(&block, usize::MAX),
        &|| ours::calls(&several, usize::MAX),
        &|| ours::settled_calls(&several),
    ]);
    times[5] /= SEVERAL as f64;
    times[6] /= SEVERAL as f64;
    times
}

fn typed(body: &str) -> usize {
    let read = serde_json::from_str::<Envelope>(body).expect("the envelope is valid");
    read.name.len() + members(read.args) + read.reason.map_or(0, |reason| reason.len())
}

fn members(value: Value) -> usize {
    value.as_object().map_or(0, Map::len)
}
