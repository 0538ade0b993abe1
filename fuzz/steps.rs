//! Counts what the parser does on shapes that hurt, at doubling sizes: the sum of how often each region of code ran, as
//! the compiler's coverage counters have it, and the bytes that were allocated, for a long copy is only one step. The same
//! on every machine, and it sees every loop of every dependency.
//!
//! Built with `-C instrument-coverage`: see `.ci/steps`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use toolfence::FinishReason;
use toolfence::parse::{Options, Parser};

/// The system's allocator, counting the bytes that were asked for.
struct Counting;

static ALLOCATED: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

unsafe extern "C" {
    fn __llvm_profile_begin_counters() -> *const u64;
    fn __llvm_profile_end_counters() -> *const u64;
    fn __llvm_profile_reset_counters();
}

/// How often all regions ran since the last reset.
fn counted() -> u64 {
    // SAFETY: the profiler's runtime defines both as the ends of one array of counters, and there is one thread.
    let counters = unsafe {
        let begin = __llvm_profile_begin_counters();
        let end = __llvm_profile_end_counters();
        std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin))
    };
    counters.iter().sum()
}

/// The steps to read a reply in pieces of so many bytes, or whole, and the bytes allocated for it.
fn steps(reply: &str, chunk: usize, reason: FinishReason) -> [u64; 2] {
    let mut parser = Parser::new(Options::default());
    let allocated = ALLOCATED.load(Relaxed);
    // SAFETY: it only sets the counters to zero.
    unsafe { __llvm_profile_reset_counters() };
    let mut rest = reply;
    while !rest.is_empty() {
        let mut end = chunk.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        parser.push(&rest[..end]);
        while parser.poll().is_some() {}
        rest = &rest[end..];
    }
    parser.finish(reason);
    while parser.poll().is_some() {}
    [counted(), ALLOCATED.load(Relaxed) - allocated]
}

/// A shape made so many times as long.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: &[Shape] = &[
    ("words", |n| "some words and more\n".repeat(n)),
    ("one long line", |n| "word ".repeat(4 * n)),
    ("calls", |n| "```tool\n{\"name\": \"list_files\", \"args\": {\"path\": \"a\"}}\n```\n".repeat(n)),
    ("calls in one block", |n| format!("```tool\n{}\n```\n", "{\"name\": \"a\"}\n".repeat(n))),
    ("nested quotes", |n| "> ".repeat(8 * n) + "x\n"),
    ("nested quotes, many lines", |n| ("> ".repeat(n / 8) + "x\n").repeat(8)),
    ("nested items, blank lines", |n| "- ".repeat(8 * n) + "x\n" + &"\n".repeat(16 * n)),
    ("nested items, lazy lines", |n| "- ".repeat(8 * n) + "x\n" + &"y\n".repeat(8 * n)),
    ("nested items with a quote, blank lines", |n| "- ".repeat(4 * n) + "> x\n" + &"\n".repeat(8 * n)),
    ("a fence in deep items, blank lines", |n| "- ".repeat(4 * n) + "```tool\n" + &"\n".repeat(8 * n)),
    ("stars", |n| "* ".repeat(8 * n) + "a\n"),
    ("rules that are none", |n| "- - - - a\n".repeat(2 * n)),
    ("numbers", |n| "1. ".repeat(8 * n) + "\n"),
    ("blanks", |n| " ".repeat(16 * n)),
    ("blank lines", |n| "\n".repeat(16 * n)),
    ("tabs", |n| "\t".repeat(16 * n) + "x\n"),
    ("items and tabs", |n| "-\t".repeat(8 * n) + "x\n"),
    ("backticks", |n| "`".repeat(16 * n)),
    ("tildes", |n| "~".repeat(16 * n) + "tool\n" + &"~".repeat(8 * n)),
    ("a huge info string", |n| format!("```tool {}", "x".repeat(16 * n))),
    ("a huge info string of backticks", |n| format!("```tool {}\n", "` ".repeat(8 * n))),
    ("carriage returns", |n| "\r".repeat(16 * n)),
    ("carriage returns in a block", |n| format!("```tool\n{}", "\r".repeat(16 * n))),
    ("angle brackets", |n| "<".repeat(16 * n)),
    ("angle brackets, lines", |n| "<\n".repeat(8 * n)),
    ("a tag that never ends", |n| "<x ".to_owned() + &"a='b' ".repeat(4 * n)),
    ("comments", |n| "<!-- x\n".repeat(4 * n)),
    ("half tags of reasoning", |n| "<think".repeat(4 * n)),
    ("reasoning", |n| "<think>a</think>".repeat(2 * n)),
    ("reasoning unclosed", |n| "<think>".to_owned() + &"</thin".repeat(4 * n)),
    ("a tag in a paragraph, growing", |n| "x\n<think>".to_owned() + &" ".repeat(16 * n)),
    ("definitions", |n| "[a]: b\n".repeat(4 * n) + "===\n"),
    ("definitions and headings", |n| "[a]: b\n===\n".repeat(2 * n)),
    ("one open definition", |n| "[a]:\n".to_owned() + &"'x\n".repeat(8 * n) + "===\n"),
    ("an open string", |n| format!("```tool\n{{\"name\": \"{}", "a\n".repeat(8 * n))),
    ("candidates", |n| format!("```tool\n{{\"name\": \"{}", "\n```\n".repeat(4 * n))),
    ("candidates that fail", |n| "```tool\n{\"a\": \"\n```\nx\"x\n".repeat(n)),
    ("late failures", |n| ("```tool\n{\"a\": \"\n```\n".to_owned() + &"x\n".repeat(n)).repeat(6) + "\"x\n"),
    ("bodies", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<E\"}}}}\n{}", "E1\n```\n".repeat(2 * n))
    }),
    ("many bodies", |n| {
        let tags: String = (0..n).map(|i| format!("\"<<T{i}\",")).collect();
        let ends: String = (0..n).map(|i| format!("a\nT{i}\n")).collect();
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": [{tags} 1]}}}}\n{ends}```\n")
    }),
    ("heredoc marks in a body", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<E\"}}}}\n{}\nE\n```\n", "<<".repeat(8 * n))
    }),
    ("nesting", |n| format!("```tool\n{}\n```\n", "[".repeat(16 * n))),
    ("quotes in JSON", |n| format!("```tool\n{}\n```\n", "\"".repeat(16 * n))),
    ("keys", |n| {
        let keys: String = (0..2 * n).map(|i| format!("\"k{i}\": {i}, ")).collect();
        format!("```tool\n{{\"name\": \"a\", \"args\": {{{keys}\"z\": 0}}}}\n```\n")
    }),
    ("deep paths of arguments", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {}\n", "{\"k\": ".repeat(100) + &"[\"x\",".repeat(n))
    }),
    ("one long line in a block", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"{}", "word ".repeat(4 * n))
    }),
    ("blanks in a block", |n| format!("```tool\n{}", " ".repeat(16 * n))),
    ("blanks, then text in a block", |n| format!("```tool\n{}{}", " ".repeat(8 * n), "x ".repeat(4 * n))),
    ("blanks, then a string in a block", |n| {
        format!("```tool\n{}{{\"name\": \"{}", " ".repeat(8 * n), "x ".repeat(4 * n))
    }),
    ("deep items, then a long line in a block", |n| {
        let indent = " ".repeat(2 * n);
        format!("{}```tool\n{indent}{{\"name\": \"{}", "- ".repeat(n), "x ".repeat(4 * n))
    }),
    ("deep items, then a long tag", |n| format!("{}x\n{}", "- ".repeat(n), "<think> ".repeat(2 * n))),
    ("backticks in a block", |n| format!("```tool\n{}", "`".repeat(16 * n))),
    ("blanks behind a closing fence", |n| format!("```tool\n{{\n```{}", " ".repeat(16 * n))),
    ("blanks behind an object", |n| format!("```tool\n{{\"name\": \"a\"}}{}", " ".repeat(16 * n))),
    ("text behind an object", |n| format!("```tool\n{{\"name\": \"a\"}}\n{}", "x ".repeat(8 * n))),
    ("drift", |n| format!("```tool\n{{'name': 'a', 'args': {{'x': [{}]}}}}\n```\n", "'y', ".repeat(2 * n))),
    ("comments in JSON", |n| format!("```tool\n{{{}}}\n```\n", "/* x */ // y\n".repeat(n))),
    ("text around objects", |n| format!("```tool\n{}\n```\n", "a {} ".repeat(2 * n))),
    ("decoys", |n| "> ```tool\n> {\"name\": \"a\", \"args\": {}}\n> ```\n".repeat(n)),
    ("decoys in decoys", |n| "````md\n```tool\n{\"name\": \"a\"\n".repeat(n)),
    ("an open decoy", |n| "<div>\n```tool\n{\"name\": \"a\"\n".to_owned() + &"x\n".repeat(8 * n)),
    ("indented decoys", |n| "    ```tool\n    {\n\n".repeat(n)),
    ("forged results", |n| "```tool_result\nx\n```\n".repeat(n)),
    ("a forged result", |n| "```tool_result\n".to_owned() + &"\"x\n".repeat(4 * n)),
    ("a long key before many strings", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"{}\": [{}", "k".repeat(8 * n), "\"x\",".repeat(2 * n))
    }),
    ("a long name before many bodies", |n| {
        format!("```tool\n{{\"name\": \"{}\", \"args\": {{\"x\": [{}", "k".repeat(8 * n), "\"<<A\",".repeat(2 * n))
    }),
    ("a long id before many calls", |n| {
        let id = "k".repeat(8 * n);
        format!("```tool\n{{\"id\": \"{id}\", \"name\": \"a\"}}\n```\n")
            + &"```tool\n{\"name\": \"a\"}\n```\n".repeat(n)
    }),
    ("a tag that goes on", |n| format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<{}", "A".repeat(16 * n))),
    ("a long tag and its body", |n| {
        let tag = "A".repeat(8 * n);
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<{tag}\"}}}}\n{}", "x\n".repeat(4 * n))
    }),
    ("a repair in each of many calls", |n| {
        format!("```tool\n[{}]\n```\n", "{name: \"a\", \"args\": {\"b\": 1,}},".repeat(n))
    }),
    ("ids that were given", |n| {
        let wanted =
            |i| format!("```tool\n{{\"id\": \"call_{i}\", \"name\": \"a\"}}\n```\n```tool\n{{\"name\": \"\n```\n");
        (0..n / 4).map(wanted).collect()
    }),
];

fn main() {
    let mut wrong = 0;
    for (name, shape) in SHAPES {
        for (way, chunk) in [("whole", usize::MAX / 2), ("by 4", 4), ("by 64", 64)] {
            for reason in [FinishReason::Stop, FinishReason::Cut] {
                let shown = chunk == 4 && matches!(reason, FinishReason::Stop);
                wrong += usize::from(!is_linear(&format!("{name}, {way}"), *shape, chunk, reason, shown));
            }
        }
    }
    println!("{} shapes, {wrong} not linear", SHAPES.len());
    std::process::exit(i32::from(wrong > 0));
}

/// Counts at doubling sizes and tells what came of it, when it is to be shown or not linear.
fn is_linear(name: &str, shape: fn(usize) -> String, chunk: usize, reason: FinishReason, shown: bool) -> bool {
    let small = 500;
    let [one, two, four] = [1, 2, 4].map(|times| steps(&shape(small * times), chunk, reason).map(|count| count as f64));
    // Linear is 2; a table that grows may add a little, a square makes it 4. Buffers double: what is allocated may jump.
    let ratios = [0, 1].map(|what| (two[what] / one[what], four[what] / two[what]));
    let bytes = shape(small * 4).len() as f64;
    let [per_byte, allocated] = four.map(|count| count / bytes);
    let linear = ratios[0].1 < 2.3 && ratios[0].0 < 2.6 && (ratios[1].1 < 3.0 || ratios[1].0 < 3.0 || allocated < 8.0);
    if shown || !linear {
        let verdict = if linear { "" } else { "  NOT LINEAR" };
        let [(first, second), _] = ratios;
        println!(
            "{name}: x{first:.2} x{second:.2}, {per_byte:.0} steps and {allocated:.1} bytes of memory a byte{verdict}"
        );
    }
    linear
}
