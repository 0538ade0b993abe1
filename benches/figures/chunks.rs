//! Measures a streaming reply in 4-byte chunks, about a token each.

use std::hint::black_box;
use toolfence_benches::texts::pieces;
use toolfence_benches::timing::best;
use toolfence_benches::{ours, texts};

const CHUNK: usize = 4;
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// The size limit of the measurement that parses the whole reply again at each chunk. Its cost is quadratic: 100 KB
/// would take minutes.
const MOST_AGAIN: usize = 10_000;

pub(crate) fn print() {
    println!("\n| ns a 4-byte chunk | 1 KB | 10 KB | 100 KB | 1 MB |\n|---|---:|---:|---:|---:|");
    for (shape, text) in [("chat", texts::chat as fn(usize) -> String), ("one `write_file`", texts::write_file)] {
        let columns = SIZES.map(|bytes| column(bytes, &text(bytes)));
        for (row, who) in ["toolfence", "append to a Vec", "parse all again, by pulldown-cmark"].iter().enumerate() {
            let cells = columns.each_ref().map(|column| column[row].as_str());
            println!("| {shape}: {who} | {} |", cells.join(" | "));
        }
    }
}

fn column(bytes: usize, text: &str) -> [String; 3] {
    let pieces = pieces(text, CHUNK);
    assert!(ours::calls(&pieces) > 0);
    let nanoseconds = |time: f64| time * 1e9 / pieces.len() as f64;
    let [own, floor] = best([&|| ours::calls(&pieces), &|| append(&pieces)]).map(nanoseconds);
    let again = (bytes <= MOST_AGAIN).then(|| nanoseconds(best([&|| parse_again_at_each_chunk(text)])[0]));
    let again = again.map_or("-".to_owned(), |time| format!("{time:.0}"));
    [format!("{own:.1}"), format!("{floor:.1}"), again]
}

fn append(pieces: &[&str]) -> usize {
    let mut all = Vec::new();
    pieces.iter().for_each(|piece| all.extend_from_slice(black_box(*piece).as_bytes()));
    all.len()
}

/// Parses the whole reply again at each chunk, as many clients do.
fn parse_again_at_each_chunk(text: &str) -> usize {
    let ends = (CHUNK..=text.len()).step_by(CHUNK);
    ends.map(|end| pulldown_cmark::Parser::new(&text[..end]).map(black_box).count()).sum()
}
