//! Measures the time from the text of one block to a typed call, without repairs.

use serde_json::Value;
use toolfence_benches::envelope::{SEVERAL, alone, body, members, several, typed};
use toolfence_benches::ours;
use toolfence_benches::texts::pieces;
use toolfence_benches::timing::best;
use toolfence_protocol::json;

/// Bytes per piece of a reply that streams quickly.
const PIECE: usize = 4096;

pub(crate) fn print() {
    println!("\n| one call from text to value, ns (times the first) | 182 B | 88 KB |\n|---|---:|---:|");
    let columns = [182, 88_000].map(|bytes| column(&body(bytes)));
    let names = [
        "serde_json, typed: name, args as `Value`, reason",
        "serde_json, `Value`",
        "toolfence_protocol::json::strict",
        "toolfence_protocol::json::read",
        "toolfence, a parser for this block alone",
        "toolfence, one of 32 blocks of a reply",
        "the same, the reply in pieces of 4 KB",
        "one of 32 blocks of a reply, without events for a preview (`settled_only`)",
    ];
    for (row, name) in names.iter().enumerate() {
        let cell = |times: &[f64; 8]| format!("{:.0} ({:.2})", times[row] * 1e9, times[row] / times[0]);
        println!("| {name} | {} |", columns.each_ref().map(cell).join(" | "));
    }
}

fn column(body: &str) -> [f64; 8] {
    let (block, several) = (alone(body), several(body));
    assert!(ours::calls(&[&block]) == 1);
    let pieces = pieces(&several, PIECE);
    assert!([&[several.as_str()][..], &pieces].iter().all(|pieces| ours::calls(pieces) == SEVERAL));
    let mut times = best([
        &|| typed(body),
        &|| serde_json::from_str::<Value>(body).map_or(0, members),
        &|| json::strict(body).map_or(0, members),
        &|| json::read(body, true).map_or(0, |reading| reading.values.len()),
        &|| ours::calls(&[&block]),
        &|| ours::calls(&[&several]),
        &|| ours::calls(&pieces),
        &|| ours::settled_calls(&[&several]),
    ]);
    times[5..].iter_mut().for_each(|time| *time /= SEVERAL as f64);
    times
}
