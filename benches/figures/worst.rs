//! Texts made to hurt, at doubling sizes: the time for a byte stays the same. `.ci/steps` counts the steps of the same
//! texts, which no busy machine can blur.

use crate::shapes::{BROKEN_JSON, REPLIES, Shape};
use crate::timing::{best, size};
use crate::{damage, ours};
use toolfence::json;

const SMALLEST: usize = 1000;

/// Reads a text; what it gives only keeps the work from being left out.
type Read = fn(&str) -> usize;

pub(crate) fn print() {
    let json: Read = |text| usize::from(json::read(text, true).is_ok());
    table("replies, in one piece", REPLIES, |text| ours::calls(text, usize::MAX));
    table("replies, in pieces of 4 bytes", REPLIES, |text| ours::calls(text, 4));
    table("broken JSON", BROKEN_JSON, json);
    println!(
        "\n| damaged calls, ns a byte | 100 KB | 200 KB | 400 KB | 800 KB | growth |\n|---|---:|---:|---:|---:|---:|"
    );
    for (name, damaged) in damage::DAMAGES {
        row(name, [1, 2, 4, 8].map(|times| damaged(times * 100_000).0), json);
    }
}

fn table(title: &str, shapes: &[Shape], read: Read) {
    println!("\n| {title}, ns a byte | size | at it | 2x | 4x | 8x | growth |\n|---|---:|---:|---:|---:|---:|---:|");
    let mut steepest = ("", 0.0);
    for (name, shape) in shapes {
        let texts = [1, 2, 4, 8].map(|times| shape(times * SMALLEST));
        let growth = row(&format!("{name} | {}", size(texts[0].len())), texts, read);
        if growth > steepest.1 {
            steepest = (name, growth);
        }
    }
    println!(
        "\n{} shapes; the steepest is {:?} with {:.2}. A square would be 8.",
        shapes.len(),
        steepest.0,
        steepest.1
    );
}

/// Prints the times for a byte, and gives how much the last one is above the first.
fn row(title: &str, texts: [String; 4], read: Read) -> f64 {
    let [a, b, c, d] = &texts;
    let times = best([&|| read(a), &|| read(b), &|| read(c), &|| read(d)]);
    let each: Vec<f64> = times.iter().zip(&texts).map(|(time, text)| time * 1e9 / text.len() as f64).collect();
    let cells: Vec<String> = each.iter().map(|time| format!("{time:.2}")).collect();
    let growth = each[3] / each[0];
    println!("| {title} | {} | {growth:.2} |", cells.join(" | "));
    growth
}
