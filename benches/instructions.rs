//! Runs one piece of work, whose instructions valgrind counts for `.ci/instructions`. Unlike times, the counts are the
//! same on every machine with the same build.

use std::hint::black_box;
use toolfence_benches::{cases, damage, envelope, ours, texts};
use toolfence_protocol::json;

/// Valgrind counts only while this function runs.
#[inline(never)]
fn measured(work: impl Fn() -> usize) {
    black_box(work());
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let [work, bytes, piece] = words.as_slice() else {
        return println!("instructions: run .ci/instructions, which counts what this does");
    };
    let number = |word: &str| word.parse::<usize>().expect("a number of bytes");
    let (bytes, piece) = (number(bytes), number(piece));
    let amount = match work.as_str() {
        "chat" => replied(&texts::chat(bytes), piece),
        "write_file" => replied(&texts::write_file(bytes), piece),
        "broken" => repaired(bytes),
        "cases" => broken_cases(),
        "typed" => calls(bytes, usize::MAX, |_, body| (0..envelope::SEVERAL).map(|_| envelope::typed(body)).sum()),
        "call" => calls(bytes, piece, |pieces, _| ours::calls(pieces)),
        "settled" => calls(bytes, usize::MAX, |pieces, _| ours::settled_calls(pieces)),
        other => panic!("there is no work {other}"),
    };
    println!("amount {amount}");
}

fn replied(text: &str, piece: usize) -> usize {
    let pieces = texts::pieces(text, piece);
    measured(|| ours::calls(&pieces));
    text.len()
}

/// Repairs calls of about `bytes` bytes, one for each kind of damage.
fn repaired(bytes: usize) -> usize {
    let texts = damage::DAMAGES.map(|(_, damaged)| damaged(bytes).0);
    measured(|| texts.iter().filter(|text| json::read(text, true).is_ok()).count());
    texts.iter().map(String::len).sum()
}

/// Reads the broken texts of the case files, a few bytes each.
fn broken_cases() -> usize {
    let cases = cases::cases();
    assert!(cases.iter().any(|case| !case.want.is_empty() && !case.whole));
    measured(|| cases.iter().filter(|case| json::read(&case.text, case.whole).is_ok()).count());
    cases.iter().map(|case| case.text.len()).sum()
}

/// Reads a reply of several calls of `bytes` bytes.
fn calls(bytes: usize, piece: usize, work: impl Fn(&[&str], &str) -> usize) -> usize {
    let body = envelope::body(bytes);
    let reply = envelope::several(&body);
    let pieces = texts::pieces(&reply, piece);
    measured(|| work(&pieces, &body));
    envelope::SEVERAL
}
