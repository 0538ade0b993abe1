//! Collects the reasoning of a model. It is displayed while it arrives, and a long thought is then replaced by one
//! line, because few users read it later.

use crate::choices::LongThoughts;
use crate::markdown::rows_of;
use crate::marks::columns;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of rows of a thought that is not replaced by a line.
const FEW_ROWS: usize = 3;
/// Maximum number of bytes kept of the thoughts of a turn.
const MOST: usize = 1 << 20;

/// Whether long thoughts are folded.
static FOLDED: AtomicBool = AtomicBool::new(true);

/// Sets whether later long thoughts are folded.
pub(crate) fn set_folding(thoughts: LongThoughts) {
    FOLDED.store(thoughts == LongThoughts::Folded, Ordering::Relaxed);
}

/// Returns `true` if long thoughts are folded.
pub(crate) fn are_folded() -> bool {
    FOLDED.load(Ordering::Relaxed)
}

/// Counts the lines of a thought that arrives in pieces. Many models write a paragraph as one line, so a long line
/// counts as the rows that it would fill in a terminal of 80 columns.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    ended: usize,
    column: usize,
    /// The number of lines up to the last one that is not blank.
    count: usize,
}

impl Lines {
    pub(crate) fn push(&mut self, text: &str) {
        const USUAL: usize = 80;
        for c in text.chars() {
            let wide = columns(c);
            if c == '\n' || self.column + wide > USUAL {
                (self.ended, self.column) = (self.ended + 1, 0);
            }
            if c != '\n' {
                self.column += wide;
                self.count = self.ended + 1;
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

/// The thoughts of a turn.
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    text: String,
    /// The current thought: its offset in `text`, its start time, and its lines so far.
    current: Option<(usize, Instant, Lines)>,
}

impl Thoughts {
    /// Adds the next piece of a thought. Returns `true` if it begins a thought.
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
        let (_, _, lines) = self.current.get_or_insert_with(|| (at, Instant::now(), Lines::default()));
        lines.push(piece);
        let room = MOST.saturating_sub(self.text.len()).min(piece.len());
        let end = (0..=room).rev().find(|end| piece.is_char_boundary(*end)).unwrap_or(0);
        self.text.push_str(&piece[..end]);
        begins
    }

    /// Ends the current thought. Returns its text, duration and number of lines; `None` if there is no current thought.
    pub(crate) fn end(&mut self) -> Option<(&str, Duration, usize)> {
        let (at, since, lines) = self.current.take()?;
        let kept = self.text.trim_end().len().max(at);
        self.text.truncate(kept);
        Some((&self.text[at..], since.elapsed(), lines.count()))
    }

    /// Returns the text of all thoughts; `None` without any.
    pub(crate) fn take(&mut self) -> Option<String> {
        self.current = None;
        Some(std::mem::take(&mut self.text)).filter(|text| !text.is_empty())
    }
}

/// Returns `true` if a thought takes so few rows that it need not be folded.
pub(crate) fn is_short(text: &str, width: usize) -> bool {
    // A character has at most four bytes, so a longer text needs no measuring.
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
    fn a_paragraph_in_one_line_counts_as_the_lines_that_it_fills() {
        let count = |pieces: &[&str]| {
            let mut lines = Lines::default();
            pieces.iter().for_each(|piece| lines.push(piece));
            lines.count()
        };
        assert_eq!((count(&[]), count(&["one"]), count(&["one\n", "\ntwo", "\n\n"])), (0, 1, 3));
        assert_eq!((count(&["x".repeat(80).as_str(), "\n"]), count(&["x".repeat(81).as_str()])), (1, 2));
        assert_eq!(count(&["語".repeat(100).as_str(), "\nx"]), 4);
    }

    #[test]
    fn a_thought_of_a_few_rows_is_short() {
        assert!(is_short("one\ntwo\nthree", 40) && is_short(&"x".repeat(119), 40));
        assert!(!is_short("1\n2\n3\n4", 40) && !is_short(&"語".repeat(90), 40) && !is_short(&"x".repeat(1000), 40));
    }
}
