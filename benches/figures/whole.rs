//! Measures a whole message: the speed of the parser without streaming.

use crate::size;
use memchr::memchr_iter;
use std::hint::black_box;
use toolfence_benches::timing::best;
use toolfence_benches::{ours, texts};

const BYTES: usize = 64_000_000;

/// comrak builds a tree, which would take some gigabytes for the whole text.
const BYTES_FOR_COMRAK: usize = 16_000_000;

pub(crate) fn print() {
    let text = texts::chat(BYTES);
    let smaller = texts::chat(BYTES_FOR_COMRAK);
    let fence = regex::Regex::new(r"(?s)```tool\n(.*?)\n```").expect("the pattern is fixed");
    let calls = ours::calls_of(&text);
    assert!(calls == fence.find_iter(&text).count() && calls == tool_blocks(&text), "all parsers find every call");

    let bytes = text.as_bytes();
    let times = best([
        &|| ours::calls_of(&text),
        &|| ours::calls(&[&text]),
        &|| memchr_iter(b'\n', bytes).count(),
        &|| memchr_iter(b'\n', bytes).map(|at| black_box(at) & 1).sum(),
        &|| fence.find_iter(&text).count(),
        &|| tool_blocks(&text),
        &|| comrak_nodes(&smaller),
    ]);
    let names = [
        "toolfence_protocol::parse::for_each",
        "the same, pushed in one piece",
        "memchr: how many newlines",
        "memchr: where each newline is",
        "a regex for the fence, and wrong",
        "pulldown-cmark",
        "comrak",
    ];
    println!("\n| a whole message, a call per 2 KB | size | GB/s | toolfence is |\n|---|---:|---:|---:|");
    for (at, (name, time)) in names.iter().zip(times).enumerate() {
        let length = if *name == "comrak" { smaller.len() } else { text.len() };
        let rate = |time: f64, length: usize| length as f64 / time / 1e9;
        let ratio = rate(times[0], text.len()) / rate(time, length);
        let ratio = if at == 0 { String::new() } else { format!("{ratio:.2}x") };
        println!("| {name} | {} | {:.2} | {ratio} |", size(length), rate(time, length));
    }
}

/// Finds calls with a CommonMark parser, as a client could. Looks at every event, but does not read JSON.
fn tool_blocks(text: &str) -> usize {
    use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
    let is_tool = |event: Event<'_>| match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => &*info == "tool",
        _ => false,
    };
    Parser::new(text).filter(|event| is_tool(black_box(event).clone())).count()
}

fn comrak_nodes(text: &str) -> usize {
    let arena = comrak::Arena::new();
    comrak::parse_document(&arena, text, &comrak::Options::default()).descendants().count()
}
