//! 4-byte chunks, about a token each: what a reply costs while it streams.

use crate::texts::pieces;
use crate::timing::{best, size};
use crate::{ours, texts};
use std::hint::black_box;

const CHUNK: usize = 4;

pub(crate) fn print() {
    println!("\n| ns a 4-byte chunk | size | toolfence | append to a Vec | parse all again, by pulldown-cmark |");
    println!("|---|---:|---:|---:|---:|");
    for (shape, text) in [("chat", texts::chat as fn(usize) -> String), ("one `write_file`", texts::write_file)] {
        for bytes in [1_000, 10_000, 100_000, 1_000_000] {
            row(shape, bytes, &text(bytes));
        }
    }
}

fn row(shape: &str, bytes: usize, text: &str) {
    assert!(ours::calls(text, CHUNK) > 0);
    let nanoseconds = |time: f64| time * 1e9 / text.len().div_ceil(CHUNK) as f64;
    let [own, floor] = best([&|| ours::calls(text, CHUNK), &|| append(text)]).map(nanoseconds);
    // Quadratic: at 100 KB it would take minutes.
    let again = (bytes <= 10_000).then(|| nanoseconds(best([&|| again_and_again(text)])[0]));
    let again = again.map_or("-".to_owned(), |time| format!("{time:.0}"));
    println!("| {shape} | {} | {own:.1} | {floor:.1} | {again} |", size(bytes));
}

fn append(text: &str) -> usize {
    let mut all = Vec::new();
    pieces(text, CHUNK).for_each(|piece| all.extend_from_slice(black_box(piece).as_bytes()));
    all.len()
}

/// A client that parses the whole reply again at each chunk, as many do.
fn again_and_again(text: &str) -> usize {
    let ends = (CHUNK..=text.len()).step_by(CHUNK);
    ends.map(|end| pulldown_cmark::Parser::new(&text[..end]).map(black_box).count()).sum()
}
