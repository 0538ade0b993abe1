//! What a model thinks before it answers: it is followed while it comes, and one line is left of it, for it is long and few read it.

use crate::markdown::rows_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rows of a thought that stays as it is.
const FEW_ROWS: usize = 3;
/// Bytes that are kept of what was thought in a turn.
const MOST: usize = 1 << 20;

/// Whether long thoughts are folded.
static FOLDED: AtomicBool = AtomicBool::new(true);

/// The words that the setting `terminal.reasoning` takes.
pub(crate) const WORDS: &[&str] = &["folded", "shown"];

/// Settles whether long thoughts are folded from here on.
pub(crate) fn settle(word: Option<&str>) {
    FOLDED.store(word != Some("shown"), Ordering::Relaxed);
}

/// Whether long thoughts are folded.
pub(crate) fn are_folded() -> bool {
    FOLDED.load(Ordering::Relaxed)
}

/// All that was thought in a turn.
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    text: String,
    /// Where the thought that is under way begins, since when, and its lines so far.
    current: Option<(usize, Instant, usize)>,
}

impl Thoughts {
    /// Takes the next piece of a thought; gives whether it begins.
    pub(crate) fn push(&mut self, piece: &str) -> bool {
        let begins = self.current.is_none();
        if begins && piece.trim().is_empty() {
            return false;
        }
        let piece = if begins { piece.trim_start_matches(['\n', '\r']) } else { piece };
        if begins && !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        let at = self.text.len();
        let (_, _, breaks) = self.current.get_or_insert_with(|| (at, Instant::now(), 0));
        *breaks += piece.bytes().filter(|byte| *byte == b'\n').count();
        let room = MOST.saturating_sub(self.text.len()).min(piece.len());
        let end = (0..=room).rev().find(|end| piece.is_char_boundary(*end)).unwrap_or(0);
        self.text.push_str(&piece[..end]);
        begins
    }

    /// The thought is over: its text, how long it took, and its lines.
    pub(crate) fn end(&mut self) -> Option<(&str, Duration, usize)> {
        let (at, since, breaks) = self.current.take()?;
        let kept = self.text.trim_end().len().max(at);
        let ending = self.text[kept..].bytes().filter(|byte| *byte == b'\n').count();
        self.text.truncate(kept);
        Some((&self.text[at..], since.elapsed(), breaks + 1 - ending.min(breaks)))
    }

    /// All of it, where there is anything.
    pub(crate) fn take(&mut self) -> Option<String> {
        self.current = None;
        Some(std::mem::take(&mut self.text)).filter(|text| !text.is_empty())
    }
}

/// Whether a thought takes so few rows that a line in its place would be no shorter.
pub(crate) fn is_short(text: &str, width: usize) -> bool {
    text.len() <= FEW_ROWS * width * 4 && text.lines().map(|line| rows_of(line, width).0).sum::<usize>() <= FEW_ROWS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_counted_and_kept() {
        let mut thoughts = Thoughts::default();
        assert!(!thoughts.push("\n") && thoughts.end().is_none());
        assert!(thoughts.push("\none\n") && !thoughts.push("two") && !thoughts.push("\n\n"));
        assert_eq!(thoughts.end().map(|(text, _, lines)| (text.to_owned(), lines)), Some(("one\ntwo".to_owned(), 2)));
        assert!(thoughts.push("three"));
        assert_eq!(thoughts.end().map(|(text, _, lines)| (text.to_owned(), lines)), Some(("three".to_owned(), 1)));
        assert_eq!(thoughts.take().as_deref(), Some("one\ntwo\n\nthree"));
        assert!(thoughts.take().is_none());
        for _ in 0..1000 {
            thoughts.push(&"é\n".repeat(1000));
        }
        let (text, _, lines) = thoughts.end().unwrap();
        assert!(text.len() <= MOST && lines > 999_000, "{lines}");
        thoughts.push("more");
        assert_eq!(thoughts.end().map(|(text, ..)| text.to_owned()).as_deref(), Some(""));
    }

    #[test]
    fn what_takes_few_rows_is_short() {
        assert!(is_short("one\ntwo\nthree", 40) && is_short(&"x".repeat(119), 40));
        assert!(!is_short("1\n2\n3\n4", 40) && !is_short(&"語".repeat(90), 40) && !is_short(&"x".repeat(1000), 40));
    }
}
