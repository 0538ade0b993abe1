//! Measures hostile texts of doubling sizes, for which the time per byte must stay the same. `.ci/steps` counts
//! instructions for the same texts. These do not depend on the load of the machine.

use crate::shapes::{BROKEN_JSON, DIALECTS, REPLIES};
use crate::size;
use toolfence_benches::damage::{DAMAGES, Make};
use toolfence_benches::ours;
use toolfence_benches::texts::pieces;
use toolfence_benches::timing::best;
use toolfence_protocol::json;

/// The number of repetitions in a shape at the smallest size.
const SMALLEST: usize = 1000;

/// Size of the smallest damaged call in bytes.
const SMALLEST_CALL: usize = 10_000;

/// Texts, each twice as long as the one before.
type Doubling = [String; 4];

/// Reads a text. The result only prevents the compiler from removing the work.
type Read = fn(&str) -> usize;

/// A group of texts that the same function reads: its name, the texts with their names, and the function.
type Group = (&'static str, Vec<(&'static str, Doubling)>, Read);

/// Prints one line for each group.
pub(crate) fn print() {
    println!("\n| texts made to hurt | how many | ns a byte, of the slowest | growth from 1x to 8x, of the steepest |");
    println!("|---|---:|---:|---:|");
    for (title, texts, read) in groups() {
        let times: Vec<_> = texts.iter().map(|(name, texts)| (name, nanoseconds_per_byte(texts, read))).collect();
        let most = |figure: fn(&[f64; 4]) -> f64| {
            let all = times.iter().map(|(name, times)| (figure(times), name));
            all.max_by(|a, b| a.0.total_cmp(&b.0)).map_or("-".into(), |(most, name)| format!("{most:.2} ({name})"))
        };
        println!("| {title} | {} | {} | {} |", times.len(), most(|times| times[3]), most(growth));
    }
}

/// Prints every text at every size.
pub(crate) fn print_shapes() {
    for (title, texts, read) in groups() {
        println!("\n| {title}, ns a byte | 1x is | 1x | 2x | 4x | 8x | growth |\n|---|---:|---:|---:|---:|---:|---:|");
        for (name, texts) in texts {
            let times = nanoseconds_per_byte(&texts, read);
            let cells = times.map(|time| format!("{time:.2}")).join(" | ");
            println!("| {name} | {} | {cells} | {:.2} |", size(texts[0].len()), growth(&times));
        }
    }
}

fn groups() -> [Group; 5] {
    let doubling = |shape: fn(usize) -> String| [1, 2, 4, 8].map(|times| shape(times * SMALLEST));
    let replies = || REPLIES.iter().map(|(name, shape)| (*name, doubling(*shape))).collect();
    let dialects = DIALECTS.iter().map(|(name, shape)| (*name, doubling(*shape))).collect();
    let broken = BROKEN_JSON.iter().map(|(name, shape)| (*name, doubling(*shape))).collect();
    let damaged = |make: Make| [1, 2, 4, 8].map(|times| make(times * SMALLEST_CALL).0);
    let calls = DAMAGES.iter().map(|(name, make)| (*name, damaged(*make))).collect();
    let repair: Read = |text| usize::from(json::read(text, true).is_ok());
    [
        ("replies, in one piece", replies(), |text| ours::calls(&[text])),
        ("replies, in pieces of 4 bytes", replies(), |text| ours::calls(&pieces(text, 4))),
        ("dialects, in pieces of 4 bytes", dialects, |text| ours::dialect_calls(&pieces(text, 4))),
        ("broken JSON", broken, repair),
        ("damaged calls", calls, repair),
    ]
}

/// Returns the nanoseconds per byte at each size.
fn nanoseconds_per_byte(texts: &Doubling, read: Read) -> [f64; 4] {
    let [a, b, c, d] = texts;
    let times = best([&|| read(a), &|| read(b), &|| read(c), &|| read(d)]);
    std::array::from_fn(|at| times[at] * 1e9 / texts[at].len() as f64)
}

/// Returns the factor by which the time per byte grows: 1 if it is linear, 8 if it is quadratic.
fn growth(times: &[f64; 4]) -> f64 {
    times[3] / times[0]
}
