//! Finds the part of a text that is most like a passage that does not occur in it, in time linear in both.

use super::super::explain;
use super::super::index::Index;
use super::super::miss::{quote_line, visible};
use super::super::pass::Pass;
use super::super::text::Text;
use std::collections::HashMap;
use std::fmt;
use toolfence_protocol as protocol;
use toolfence_protocol::text;

/// Maximum number of words of a line to search for.
const MOST_WORDS: usize = 64;

/// Maximum number of equal characters of two lines displayed before the first difference.
const SAME_SHOWN: usize = 60;

/// The part of a text that is most like a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nearest {
    /// The line of the text where the passage would begin, from 1.
    pub line: u64,
    /// The number of lines of the passage that match byte for byte.
    pub matching: usize,
    /// The number of lines in the passage.
    pub of: usize,
    /// The first line of the passage that differs, from 1.
    pub wanted_at: usize,
    /// The content of that line, with blanks made visible; empty if the line is.
    pub wanted: String,
    /// The corresponding line of the text, from 1; `None` if the text has no such line.
    pub found_at: Option<u64>,
    /// The content of the corresponding line, with blanks made visible.
    pub found: Option<String>,
}

impl Nearest {
    /// Returns the place and the line that differs, translatable.
    pub fn text(&self) -> protocol::Text {
        let found = match (&self.found, self.found_at) {
            (Some(found), Some(at)) => text!("  file, line {line}: {text}", line = at, text = quote_line(found)),
            _ => text!("  file: has no such line"),
        };
        text!(
            "It is most like what begins at line {line}, where {matching} of its {of} {of|line is|lines are} the same; \
             the first that differs:\n  old, line {wanted_at}: {wanted}\n{found}\nRead that part of the file again and \
             copy it exactly.",
            line = self.line,
            matching = self.matching,
            of = self.of,
            wanted_at = self.wanted_at,
            wanted = quote_line(&self.wanted),
            found
        )
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}

/// Finds the place for which most lines of the passage vote: those that are equal to its lines except for blanks and
/// typography. Without a vote, it is the line that shares the most words with the longest line of the passage.
pub(super) fn nearest(text: &Text<'_>, passage: &str) -> Option<Nearest> {
    let passage = Passage::new(passage);
    let start = by_lines(text, &passage).or_else(|| by_words(text, &passage))?;
    let line_at = |at: usize| (start + at).checked_sub(passage.lines.len()).filter(|line| *line < text.len());
    let found = |at: usize| line_at(at).map(|line| without_return(text.line(line)));
    let same = |at: &usize| found(*at).is_some_and(|line| passage.fits(*at, line));
    let differs = (0..passage.lines.len()).find(|at| !same(at))?;
    let wanted = passage.lines[differs].as_bytes();
    let from = found(differs).map_or(0, |line| shown_from(wanted, line));
    let shown = |line: &[u8]| format!("{}{}", if from > 0 { "..." } else { "" }, visible(&line[from..]));
    Some(Nearest {
        line: (start as u64 + 1).saturating_sub(passage.lines.len() as u64).max(1),
        matching: (0..passage.lines.len()).filter(same).count(),
        of: passage.lines.len(),
        wanted_at: differs + 1,
        wanted: shown(wanted),
        found_at: line_at(differs).map(|line| line as u64 + 1),
        found: found(differs).map(shown),
    })
}

/// The lines of a passage. The first may be the end of a line of the text, and the last the beginning of one.
struct Passage<'p> {
    lines: Vec<&'p str>,
    ended: bool,
}

impl<'p> Passage<'p> {
    fn new(text: &'p str) -> Passage<'p> {
        let inner = text.strip_suffix('\n').unwrap_or(text);
        Passage { lines: inner.split('\n').collect(), ended: inner.len() < text.len() }
    }

    fn fits(&self, at: usize, line: &[u8]) -> bool {
        let wanted = self.lines[at].as_bytes();
        let open_end = at + 1 == self.lines.len() && !self.ended;
        match (at == 0, open_end) {
            (true, true) => memchr::memmem::find(line, wanted).is_some(),
            (true, false) => line.ends_with(wanted),
            (false, true) => line.starts_with(wanted),
            (false, false) => line == wanted,
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the place with the most votes. Places are shifted by the length of the passage, so that it may begin before
/// the text.
fn by_lines(text: &Text<'_>, passage: &Passage<'_>) -> Option<usize> {
    let filled = |line: &&&str| !line.trim().is_empty();
    let lines = passage.lines.iter().filter(filled).map(|line| line.as_bytes());
    let index = Index::new(Pass::Typographic, text, lines);
    // A blank line is no evidence for a place.
    let number = |line: &&str| if filled(&line) { index.number(line.as_bytes()) } else { 0 };
    let numbers: Vec<u32> = passage.lines.iter().map(number).collect();
    explain::most_voted(&index, &numbers, None)
}

fn by_words(text: &Text<'_>, passage: &Passage<'_>) -> Option<usize> {
    // The longest line has the most words to recognise its place by, and of equally long ones the first counts.
    let (anchor, line) =
        passage.lines.iter().enumerate().max_by_key(|(at, line)| (line.len(), std::cmp::Reverse(*at)))?;
    let mut numbers = HashMap::new();
    for word in words(line.as_bytes()).take(MOST_WORDS) {
        let next = numbers.len();
        numbers.entry(word).or_insert(next);
    }
    let mut seen = vec![usize::MAX; numbers.len()];
    let mut best = (0, 0);
    for (at, line) in text.lines().enumerate() {
        let mut score = 0;
        for number in words(line).filter_map(|word| numbers.get(&word)) {
            // Each word of the passage counts once for a line, however often the line repeats it.
            score += usize::from(std::mem::replace(&mut seen[*number], at) != at);
        }
        if score > best.0 {
            best = (score, at);
        }
    }
    let enough = best.0 > 0 && best.0 * 2 >= numbers.len();
    enough.then(|| best.1 + passage.lines.len() - anchor)
}

/// Returns a hash of each word of a line, ignoring case. It is FNV-1a, whose collisions only change a message here.
fn words(line: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let word = |word: &[u8]| {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x100_0000_01b3);
        word.iter().fold(0xcbf2_9ce4_8422_2325, step)
    };
    line.split(move |byte| !letter(byte)).filter(|word| !word.is_empty()).map(word)
}

/// Returns where to begin displaying two lines so that the first difference is visible.
fn shown_from(one: &[u8], other: &[u8]) -> usize {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let is_boundary = |at: &usize| one.get(*at).is_none_or(|byte| !matches!(byte, 0x80..=0xBF));
    if same <= 2 * SAME_SHOWN { 0 } else { (0..=same - SAME_SHOWN).rev().find(is_boundary).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, passage: &str) -> Option<(u64, usize, String, Option<String>)> {
        let text = Text::new(text.as_bytes()).unwrap();
        nearest(&text, passage).map(|near| (near.line, near.wanted_at, near.wanted, near.found))
    }

    #[test]
    fn the_nearest_place_has_the_differing_line() {
        let text = "fn a() {\n    one();\n    two(1, 2);\n}\nfn b() {}\n";
        let said = |line, at, wanted: &str, found: &str| Some((line, at, wanted.to_owned(), Some(found.to_owned())));
        assert_eq!(find(text, "    one();\n    two(1,2);\n"), said(2, 2, "····two(1,2);", "····two(1, 2);"));
        assert_eq!(find(text, "one();\n\ttwo(1, 2);"), said(2, 2, "→two(1, 2);", "····two(1, 2);"));
        assert_eq!(find(text, "two(2, 1)"), said(3, 1, "two(2, 1)", "····two(1, 2);"));
        assert_eq!(find(text, "fn b() {}\nmore\n"), Some((5, 2, "more".into(), None)));
        assert_eq!(find(text, "nothing here"), None);
        assert_eq!(find("", "x"), None);
    }

    #[test]
    fn long_lines_show_the_first_difference() {
        let same = "é".repeat(300);
        let near = find(&format!("{same} = 1\n"), &format!("{same} = 2")).unwrap();
        assert!(near.2.starts_with("...é") && near.2.ends_with("é = 2"), "{}", near.2);
    }
}
