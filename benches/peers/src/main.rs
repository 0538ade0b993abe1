//! Compares the parser with `tool-parser`, the streaming parser of the smg router, on the same replies in 4-byte
//! chunks.
//!
//! `QwenParser` is its parser for JSON calls between prose: the calls are in `<tool_call>` tags instead of fences, and
//! everything else is the same text. It streams the text of arguments, as ours does. Its futures never wait, so no
//! runtime is needed. `.ci/figures` runs this; with the word `dialects` it compares the calls that both read in the
//! case files of dialects, and with `speed` the time that both take for a reply in a dialect.

mod dialects;
#[allow(dead_code, reason = "the other benches read replies in more ways")]
#[path = "../../shared/ours.rs"]
mod ours;
mod speed;
#[path = "../../shared/texts.rs"]
mod texts;
#[path = "../../shared/timing.rs"]
mod timing;

use openai_protocol::common::Tool;
use serde_json::json;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use timing::best;
use tool_parser::{QwenParser, ToolParser};

const CHUNK: usize = 4;

const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

fn main() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    match std::env::args().nth(1).as_deref() {
        Some("dialects") => std::process::exit(i32::from(!dialects::compare(root.as_ref()))),
        Some("speed") => return speed::compare(),
        _ => {}
    }
    println!("\n| ns a 4-byte chunk | 1 KB | 10 KB | 100 KB | 1 MB |\n|---|---:|---:|---:|---:|");
    // The peer takes quadratic time in the length of a block, so a megabyte would take half an hour.
    for (shape, text, most) in
        [("chat", texts::chat as fn(usize) -> String, SIZES[3]), ("one `write_file`", texts::write_file, SIZES[2])]
    {
        let columns = SIZES.map(|bytes| if bytes <= most { column(&text(bytes)) } else { ["-".into(), "-".into()] });
        for (row, who) in ["toolfence", "tool-parser"].iter().enumerate() {
            println!("| {shape}: {who} | {} |", columns.each_ref().map(|column| column[row].as_str()).join(" | "));
        }
    }
}

fn column(text: &str) -> [String; 2] {
    let (tagged, tools) = (in_peer_form(text), tools());
    let (pieces, their_pieces) = (texts::pieces(text, CHUNK), texts::pieces(&tagged, CHUNK));
    let calls = ours::calls(&pieces);
    assert!(calls > 0 && calls == theirs(&their_pieces, &tools), "both find every call");
    let [own, other] = best([&|| ours::calls(&pieces), &|| theirs(&their_pieces, &tools)]);
    let each = |time: f64, pieces: &[&str]| time * 1e9 / pieces.len() as f64;
    [format!("{:.1}", each(own, &pieces)), format!("{:.0}", each(other, &their_pieces))]
}

/// Returns the reply in the peer's form: with tags instead of fences, and with its name for `args`.
fn in_peer_form(text: &str) -> String {
    let opened = text.replace("```tool\n{", "<tool_call>\n{").replace("}\n```\n", "}\n</tool_call>\n");
    opened.replace("\"args\":", "\"arguments\":")
}

/// Returns the number of calls that the peer announces.
fn theirs(pieces: &[&str], tools: &[Tool]) -> usize {
    let mut parser = QwenParser::new();
    let mut calls = 0;
    for piece in pieces {
        let read = at_once(parser.parse_incremental(piece, tools)).expect("the peer can read the reply");
        calls += black_box(&read).calls.iter().filter(|call| call.name.is_some()).count();
    }
    calls
}

fn at_once<T>(mut future: Pin<Box<dyn Future<Output = T> + Send + '_>>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the peer's futures never wait"),
    }
}

/// Returns the offered tools in the peer's type. The peer reads only calls of these.
fn tools() -> Vec<Tool> {
    let named = |name| serde_json::from_value(json!({"type": "function", "function": {"name": name}}));
    ["read_file", "write_file"].map(|name| named(name).expect("the tool fits its type")).to_vec()
}
