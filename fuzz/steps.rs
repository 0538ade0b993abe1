//! Counts the parser's instructions and allocated bytes on hostile shapes, at doubling sizes. `steps blocks`,
//! `steps dialects` and `steps json` each count a part, so that they can run at the same time; see `.ci/steps`.

mod counting;
mod shapes;

use counting::Counter;
use shapes::{BEGINNINGS, BROKEN_JSON, DIALECTS, PIECES, REPLIES};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use toolfence_protocol::json;
use toolfence_protocol::parse::{Options, Parser};
use toolfence_protocol::{Dialect, Dialects, FinishReason};

/// How often a shape repeats its part at the smallest size.
const SMALLEST: usize = 500;

/// A cost below this many instructions per byte comes only from long copies and searches, whose implementation changes
/// with the size.
const FEW: f64 = 5.0;

/// The system's allocator, which counts the requested bytes.
struct Counting;

static ALLOCATED: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller fulfils the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the contract of `GlobalAlloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Reads a reply whole, or in pieces of `chunk` bytes.
fn read(reply: &str, chunk: usize, reason: FinishReason, dialects: Dialects) {
    let mut options = Options::default();
    options.dialects = dialects;
    options.catalog = Some(toolfence_policy::toolset::catalog());
    let mut parser = Parser::new(options);
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
}

/// Repairs a text. Failed repairs count too, because they cost steps.
fn repair(text: &str) {
    std::hint::black_box(json::read(text, true).is_ok());
}

/// The results so far.
struct Findings {
    counter: Counter,
    wrong: usize,
    steepest: f64,
}

impl Findings {
    /// Counts a shape at three doubling sizes. Prints the cost per byte if `shows` is set or the cost is not linear.
    fn add(&mut self, title: &str, shows: bool, shape: impl Fn(usize) -> String, work: impl Fn(&str)) {
        let texts = [1, 2, 4].map(|times| shape(SMALLEST * times));
        let counts = texts.each_ref().map(|text| {
            let allocated = ALLOCATED.load(Relaxed);
            let ((), steps) = self.counter.count(|| work(text));
            [steps, ALLOCATED.load(Relaxed) - allocated].map(|count| count as f64)
        });
        let each = |at: usize| counts[at].map(|count| count / texts[at].len() as f64);
        let [[one, _], [two, _], [four, memory]] = [0, 1, 2].map(each);
        let linear = is_linear(counts, four, memory);
        self.wrong += usize::from(!linear);
        self.steepest = self.steepest.max(if four < FEW { 1.0 } else { four / one });
        if shows || !linear {
            let verdict = if linear { "" } else { "NOT LINEAR" };
            let bytes = texts[0].len();
            println!("| {title} | {bytes} | {one:.1} | {two:.1} | {four:.1} | {memory:.1} | {verdict} |");
        }
    }
}

/// Returns whether steps and memory at three doubling sizes at most double each time. `each` and `memory` are the steps
/// and the memory per byte.
fn is_linear([one, two, four]: [[f64; 2]; 3], each: f64, memory: f64) -> bool {
    // A linear cost grows by a factor of 2, and a quadratic cost by 4. A growing table may add a little. Buffers
    // double, so allocations may jump.
    let [steps, allocated] = [0, 1].map(|what| (two[what] / one[what], four[what] / two[what]));
    (each < FEW || steps.1 < 2.3 && steps.0 < 2.6) && (allocated.1 < 3.0 || allocated.0 < 3.0 || memory < 8.0)
}

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    let count = match part.as_str() {
        "blocks" => blocks,
        "dialects" => dialects,
        "json" => broken_json,
        _ => {
            eprintln!("usage: steps blocks | dialects | json");
            std::process::exit(2);
        }
    };
    println!("| steps a byte | 1x, in bytes | 1x | 2x | 4x | bytes allocated a byte | |");
    println!("|---|---:|---:|---:|---:|---:|---|");
    let mut findings = Findings { counter: Counter::new(), wrong: 0, steepest: 0.0 };
    let shapes = count(&mut findings);
    let Findings { counter, wrong, steepest } = findings;
    counter.finish();
    println!(
        "\n{shapes} shapes of {part}, {wrong} not linear; at 4x a byte takes {steepest:.2} times the steps of 1x at most."
    );
    std::process::exit(i32::from(wrong > 0));
}

/// Counts the parser on the hostile replies without dialects. Returns the number of shapes.
fn blocks(findings: &mut Findings) -> usize {
    for (name, shape) in REPLIES {
        for (way, chunk) in [("whole", usize::MAX / 2), ("by 4", 4), ("by 64", 64)] {
            for reason in [FinishReason::Stop, FinishReason::Cut] {
                let shows = chunk != 64 && matches!(reason, FinishReason::Stop);
                let work = |text: &str| read(text, chunk, reason, Dialects::NONE);
                findings.add(&format!("{name}, {way}"), shows, shape, work);
            }
        }
    }
    REPLIES.len()
}

/// Counts the parser with every dialect, on the hostile replies and on those written in dialects. Returns the number of
/// shapes.
fn dialects(findings: &mut Findings) -> usize {
    for (name, shape) in REPLIES.iter().chain(DIALECTS) {
        for (way, chunk) in [("whole", usize::MAX / 2), ("by 4", 4)] {
            let dialects = Dialects::ALL.with(Dialect::ShellBlock).with(Dialect::SearchReplace);
            let work = |text: &str| read(text, chunk, FinishReason::Stop, dialects);
            findings.add(&format!("dialects: {name}, {way}"), chunk == 4, shape, work);
        }
    }
    REPLIES.len() + DIALECTS.len()
}

/// Counts the JSON reader on broken texts. Returns the number of shapes.
fn broken_json(findings: &mut Findings) -> usize {
    for (name, shape) in BROKEN_JSON {
        findings.add(&format!("JSON: {name}"), true, shape, repair);
    }
    for begin in BEGINNINGS {
        for first in PIECES {
            // All pairs that begin with this piece share one count, because the sum is quadratic if one of them is.
            let pairs = |times: usize| {
                let texts = PIECES.map(|second| format!("{begin}{}", format!("{first}{second}").repeat(times)));
                texts.join("\0")
            };
            let title = format!("JSON: pairs with {first:?} after {begin:?}");
            findings.add(&title, false, pairs, |texts| texts.split('\0').for_each(repair));
        }
    }
    BROKEN_JSON.len() + BEGINNINGS.len() * PIECES.len()
}
