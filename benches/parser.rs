//! The parser beside its peers and its floors, on chat Markdown with a tool block per 2 KB.
//!
//! `cargo bench --no-default-features --bench parser` prints throughput and time a chunk, and at the end a table of
//! ratios measured side by side: absolute times drift with the machine, ratios hold. The floors are what any parser must
//! do at least: look for newlines, or take the chunks.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use std::hint::black_box;
use std::time::Instant;
use toolfence::FinishReason;
use toolfence::parse::{Options, Parser};

const WHOLE: usize = 16 << 20;
const CHUNK: usize = 4;

/// A paragraph, a list, a code block and a call, about 2 KB together.
fn section(number: usize) -> String {
    let prose = "The session keeps what was said, and a reader may ask for *any* part of it by its `id`. ".repeat(9);
    let list = "- an entry with a [link](https://example.org/a?b=c) and some words behind it\n".repeat(6);
    let code = "    let total = lines.iter().map(|line| line.len()).sum::<usize>();\n".repeat(5);
    let call =
        format!("{{\"name\": \"read_file\", \"args\": {{\"path\": \"src/part_{number}.rs\", \"start_line\": 1}}}}");
    format!("## Part {number}\n\n{prose}\n\n{list}\n```rust\n{code}```\n\n```tool\n{call}\n```\n\n")
}

fn chat(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 4096);
    let mut number = 0;
    while text.len() < bytes {
        text.push_str(&section(number));
        number += 1;
    }
    text
}

/// One call that writes a file of so many bytes.
fn write_file(bytes: usize) -> String {
    let line = "    let answer = \\\"forty-two\\\"; // with an escape or two\\n";
    let content = line.repeat(bytes / line.len());
    format!(
        "```tool\n{{\"name\": \"write_file\", \"args\": {{\"path\": \"a.rs\", \"content\": \"{content}\"}}}}\n```\n"
    )
}

fn ours(text: &str, chunk: usize) -> usize {
    let mut options = Options::default();
    options.limits.calls = usize::MAX; // every block is read to its end
    let mut parser = Parser::new(options);
    let mut events = 0;
    for piece in text.as_bytes().chunks(chunk) {
        parser.push(std::str::from_utf8(piece).expect("the text is ASCII"));
        while let Some(event) = parser.poll() {
            black_box(&event);
            events += 1;
        }
    }
    parser.finish(FinishReason::Stop);
    while let Some(event) = parser.poll() {
        black_box(&event);
        events += 1;
    }
    events
}

fn append(text: &str, chunk: usize) -> usize {
    let mut all = Vec::new();
    for piece in text.as_bytes().chunks(chunk) {
        all.extend_from_slice(black_box(piece));
    }
    all.len()
}

fn whole(criterion: &mut Criterion) {
    let text = chat(WHOLE);
    let mut group = criterion.benchmark_group("whole message, 16 MB");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(10);
    group.bench_function("count newlines (memchr)", |b| {
        b.iter(|| memchr::memchr_iter(b'\n', black_box(text.as_bytes())).count());
    });
    group.bench_function("find newlines (memchr)", |b| {
        b.iter(|| memchr::memchr_iter(b'\n', black_box(text.as_bytes())).map(|at| black_box(at) & 1).sum::<usize>());
    });
    group.bench_function("pulldown-cmark", |b| {
        b.iter(|| pulldown_cmark::Parser::new(black_box(&text)).map(|event| drop(black_box(event))).count());
    });
    group.bench_function("toolfence", |b| b.iter(|| ours(black_box(&text), 64 << 10)));
    group.finish();
}

fn chunked(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("4-byte chunks (an element is a chunk)");
    for size in [1 << 10, 10 << 10, 100 << 10] {
        for (shape, text) in [("chat", chat(size)), ("one write_file", write_file(size))] {
            let name = format!("{shape}, {} KB", size >> 10);
            group.throughput(Throughput::Elements(text.len().div_ceil(CHUNK) as u64));
            group.bench_with_input(BenchmarkId::new("append to a Vec", &name), &text, |b, text| {
                b.iter(|| append(black_box(text), CHUNK));
            });
            group.bench_with_input(BenchmarkId::new("toolfence", &name), &text, |b, text| {
                b.iter(|| ours(black_box(text), CHUNK));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, whole, chunked);

fn main() {
    benches();
    ratios();
}

/// The same work in turns, the best of each: what is told in the README.
fn ratios() {
    let text = chat(WHOLE);
    println!("| whole message, 16 MB | GB/s | ours is |\n|---|---|---|");
    let rate = |seconds: f64| text.len() as f64 / seconds / 1e9;
    let own = best(|| ours(&text, 64 << 10));
    let fence = regex::Regex::new(r"(?s)```tool\n(.*?)\n```").expect("the pattern is fixed");
    let peers: [(&str, f64); 4] = [
        ("count newlines (memchr)", best(|| memchr::memchr_iter(b'\n', text.as_bytes()).count())),
        ("a regex for the fence (and wrong)", best(|| fence.find_iter(&text).count())),
        ("pulldown-cmark", best(|| pulldown_cmark::Parser::new(&text).count())),
        ("comrak", best(|| comrak_blocks(&text))),
    ];
    println!("| toolfence | {:.2} | |", rate(own));
    peers.iter().for_each(|(name, time)| println!("| {name} | {:.2} | {:.2}x |", rate(*time), time / own));

    println!("\n| 4-byte chunks | ns a chunk | append to a Vec | parse all again |\n|---|---|---|---|");
    for size in [1 << 10, 10 << 10, 100 << 10] {
        for (shape, text) in [("chat", chat(size)), ("one write_file", write_file(size))] {
            let chunks = text.len().div_ceil(CHUNK) as f64;
            let times = [best(|| ours(&text, CHUNK)), best(|| append(&text, CHUNK))].map(|time| time / chunks * 1e9);
            // Quadratic: at 100 KB it would take minutes.
            let again = (size <= 10 << 10).then(|| again_and_again_time(&text) / chunks * 1e9);
            let again = again.map_or("-".to_owned(), |time| format!("{time:.0}"));
            println!("| {shape}, {} KB | {:.1} | {:.1} | {again} |", size >> 10, times[0], times[1]);
        }
    }
}

fn comrak_blocks(text: &str) -> usize {
    let arena = comrak::Arena::new();
    comrak::parse_document(&arena, text, &comrak::Options::default()).descendants().count()
}

fn again_and_again_time(text: &str) -> f64 {
    let started = Instant::now();
    black_box(again_and_again(text, CHUNK));
    started.elapsed().as_secs_f64()
}

/// A client that parses the whole reply again at each chunk, as many do.
fn again_and_again(text: &str, chunk: usize) -> usize {
    let ends = (chunk..=text.len()).step_by(chunk);
    ends.map(|end| pulldown_cmark::Parser::new(&text[..end]).count()).sum()
}

/// Seconds of the fastest of a few runs.
fn best(work: impl Fn() -> usize) -> f64 {
    let run = || {
        let started = Instant::now();
        black_box(work());
        started.elapsed().as_secs_f64()
    };
    (0..7).map(|_| run()).fold(f64::INFINITY, f64::min)
}
