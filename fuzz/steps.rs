//! Counts what the parser does on shapes that hurt, at doubling sizes: the sum of how often each region of code ran, as
//! the compiler's coverage counters have it. The same on every machine, and it sees every loop of every dependency.
//!
//! Built with `-C instrument-coverage`: see `.ci/steps`.

mod shapes;

use shapes::{BROKEN_JSON, REPLIES};
use toolfence::parse::{Options, Parser};
use toolfence::{FinishReason, json};

/// How often a shape repeats its part at the smallest size.
const SMALLEST: usize = 500;

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

/// The steps to read a reply in pieces of so many bytes, or whole.
fn steps(reply: &str, chunk: usize, reason: FinishReason) -> u64 {
    let mut parser = Parser::new(Options::default());
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
    counted()
}

/// The steps to mend a text.
fn steps_to_mend(text: &str) -> u64 {
    // SAFETY: as above.
    unsafe { __llvm_profile_reset_counters() };
    // A text that cannot be mended costs steps too.
    let _ = json::read(text, true);
    counted()
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    wrong: usize,
    steepest: f64,
}

impl Findings {
    /// Counts a shape at three doubling sizes, and prints the steps for a byte where `shows`, or where they are not linear.
    fn add(&mut self, title: &str, shows: bool, shape: fn(usize) -> String, count: impl Fn(&str) -> u64) {
        let texts = [1, 2, 4].map(|times| shape(SMALLEST * times));
        let [one, two, four] = texts.each_ref().map(|text| count(text) as f64);
        // Linear is 2; a table that grows may add a little, a square makes it 4.
        let linear = four / two < 2.3 && two / one < 2.6;
        let each = [one / texts[0].len() as f64, two / texts[1].len() as f64, four / texts[2].len() as f64];
        self.wrong += usize::from(!linear);
        self.steepest = self.steepest.max(each[2] / each[0]);
        if shows || !linear {
            let verdict = if linear { "" } else { "NOT LINEAR" };
            println!("| {title} | {} | {:.1} | {:.1} | {:.1} | {verdict} |", texts[0].len(), each[0], each[1], each[2]);
        }
    }
}

fn main() {
    println!("| steps a byte | 1x, in bytes | 1x | 2x | 4x | |\n|---|---:|---:|---:|---:|---|");
    let mut findings = Findings::default();
    for (name, shape) in REPLIES {
        for (way, chunk) in [("whole", usize::MAX / 2), ("by 4", 4), ("by 64", 64)] {
            for reason in [FinishReason::Stop, FinishReason::Cut] {
                let shows = chunk != 64 && matches!(reason, FinishReason::Stop);
                findings.add(&format!("{name}, {way}"), shows, *shape, |text| steps(text, chunk, reason));
            }
        }
    }
    for (name, shape) in BROKEN_JSON {
        findings.add(&format!("JSON: {name}"), true, *shape, steps_to_mend);
    }
    let (shapes, Findings { wrong, steepest }) = (REPLIES.len() + BROKEN_JSON.len(), findings);
    println!("\n{shapes} shapes, {wrong} not linear; at 4x a byte takes {steepest:.2} times the steps of 1x at most.");
    std::process::exit(i32::from(wrong > 0));
}
