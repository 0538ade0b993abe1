//! Compares the fences of this parser with those of independent CommonMark parsers, in random documents with everything
//! that can surround a fence.

pub(crate) mod documents;
pub(crate) mod markdown;

use documents::{calls, document};
use markdown::{Blocks, ours};
use toolfence_kit::Random;

/// Returns the random numbers for the documents; `TOOLFENCE_ORACLE_SEED` changes the seed.
fn dice() -> Random {
    Random::new(std::env::var("TOOLFENCE_ORACLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_default())
}

/// The documents have no lone CR, because both other parsers have bugs with it. At places of a known bug, one of them
/// may differ.
#[test]
fn agrees_with_other_parsers() {
    type Oracle = (&'static str, fn(&str) -> Blocks, fn(&str) -> bool);
    let oracles: [Oracle; 2] = [
        ("pulldown-cmark", markdown::pulldown, markdown::pulldown_differs),
        ("comrak", markdown::comrak, markdown::comrak_differs),
    ];
    let rounds = std::env::var("TOOLFENCE_ORACLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20_000);
    let mut dice = dice();
    let (mut with_blocks, mut known, mut wrong) = (0, [0; 2], Vec::new());
    for _ in 0..rounds {
        let text = markdown::bland(&document(&mut dice));
        let plain = markdown::newlines(&text);
        let ours = ours(&plain);
        assert_eq!(ours, markdown::ours(&text), "the line endings matter: {text:?}");
        with_blocks += usize::from(!ours.is_empty());
        for ((name, read, differs), known) in oracles.iter().zip(&mut known) {
            let theirs = read(&plain);
            if ours != theirs {
                *known += 1;
                if !differs(&plain) {
                    wrong.push(format!("{name} differs: {plain:?}\n  ours {ours:?}\n  theirs {theirs:?}"));
                }
            }
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} differ, the shortest:\n{}", wrong.len(), wrong[..wrong.len().min(9)].join("\n"));
    println!("{rounds} documents, {with_blocks} with tool fences, known differences {known:?}");
    assert!(with_blocks > rounds / 10, "the documents hold tool fences");
    assert!(known.iter().all(|known| *known < rounds / 50), "the known differences are rare: {known:?}");
}

/// A call is lossless only if CommonMark sees it too, or if it precedes the first end of a block that CommonMark does
/// not see.
#[test]
fn doubtful_fences_are_lossy() {
    let mut dice = dice();
    let rounds = std::env::var("TOOLFENCE_ORACLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20_000);
    let replies: Vec<String> = crate::parse::cases().into_iter().map(|case| case.reply).collect();
    let (mut doubtful, mut certain, mut wrong) = (0, 0, Vec::new());
    for round in 0..rounds {
        let (text, strict) = match round % 3 {
            0 => (calls(&mut dice, false), true),
            1 => (calls(&mut dice, true), false),
            _ => (shuffled(dice.pick::<String>(&replies), &mut dice), false),
        };
        match markdown::doubtful_fences(&text, strict) {
            Ok((more, also)) => (doubtful, certain) = (doubtful + more, certain + also),
            Err(problem) => wrong.push(problem),
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} of {rounds}, the shortest:\n{}", wrong.len(), wrong[..wrong.len().min(9)].join("\n"));
    println!(
        "{rounds} replies, {doubtful} doubtful calls, {certain} certain ones after an end that CommonMark does not see"
    );
    assert!(doubtful > rounds / 50 && certain > rounds / 200, "{doubtful} doubtful, {certain} certain");
}

/// Returns a reply with some lines removed, repeated or moved, or with a fence before or after them.
fn shuffled(reply: &str, dice: &mut Random) -> String {
    let mut lines: Vec<String> = reply.lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(4) {
        let Some(most) = lines.len().checked_sub(1) else { break };
        let (at, other) = (dice.below(most + 1), dice.below(most + 1));
        match dice.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => lines[at] += *dice.pick(&["```", " ```", "~~~", "```<|im_end|>"]),
            4 => lines.insert(at, (*dice.pick(&["```", "```tool", "~~~", "````tool", "", "``` and"])).to_owned()),
            _ => lines.insert(at, "{\"name\": \"a\"}".to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

/// Writes documents and the fences that this parser finds to the file in `TOOLFENCE_ORACLE_FILE`, one JSON line per
/// document, for parsers in other languages. These documents may have lone CRs.
#[test]
fn documents_for_others_are_written() {
    let rounds = std::env::var("TOOLFENCE_ORACLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(50);
    let mut dice = dice();
    let mut lines = String::new();
    for _ in 0..rounds {
        let text = markdown::bland(&document(&mut dice));
        let blocks: Blocks = ours(&text);
        lines += &serde_json::json!({"text": text, "blocks": blocks}).to_string();
        lines.push('\n');
    }
    assert_eq!(lines.lines().count(), rounds);
    if let Some(file) = std::env::var_os("TOOLFENCE_ORACLE_FILE") {
        std::fs::write(file, lines).unwrap();
    }
}
