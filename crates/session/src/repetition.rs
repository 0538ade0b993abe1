//! Finds a text that repeats itself without end, the commonest way in which small models get stuck.
//!
//! The text is read in pieces: a line, or a sentence where a line has several. Each piece is reduced to a hash, and the last
//! [`LONGEST_PERIOD`] hashes are kept, so that memory is bounded and time is linear in the text.

/// How often a line or a paragraph follows itself before the reply is ended.
const MOST_REPEATS: usize = 20;

/// The most pieces of a paragraph that is recognized when it comes again.
const LONGEST_PERIOD: usize = 32;

/// Letters that a repeated text has at least: rules, closing braces and rows of numbers are repeated in good answers.
const FEWEST_LETTERS: usize = 8;

/// Recognizes a text of which the same part follows itself [`MOST_REPEATS`] times.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    piece: Piece,
    /// The last pieces, as a ring.
    before: [Piece; LONGEST_PERIOD],
    count: usize,
    /// For each period: how many pieces in a row equal the piece that is one period before.
    equal: [usize; LONGEST_PERIOD],
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Piece {
    hash: u64,
    letters: usize,
    /// The last character ends a sentence if a blank follows.
    may_end: bool,
}

impl Piece {
    fn push(&mut self, c: char) {
        // FNV-1a, by characters. A collision only ends a reply early.
        self.hash = (self.hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3);
        self.letters += usize::from(c.is_alphabetic());
        self.may_end = matches!(c, '.' | '!' | '?' | '…');
    }
}

impl Repetition {
    /// Reads more of the text. Returns `true` once it repeats itself.
    pub(super) fn push(&mut self, text: &str) -> bool {
        text.chars().any(|c| self.read(c))
    }

    fn read(&mut self, c: char) -> bool {
        let ends = c == '\n' || (self.piece.may_end && c.is_whitespace());
        if !c.is_whitespace() {
            self.piece.push(c);
        }
        ends && self.end_piece()
    }

    fn end_piece(&mut self) -> bool {
        let piece = std::mem::take(&mut self.piece);
        if piece == Piece::default() {
            return false;
        }
        let piece = Piece { may_end: false, ..piece };
        let mut is_repeated = false;
        for period in 1..=LONGEST_PERIOD.min(self.count) {
            let at = |back: usize| (self.count - back) % LONGEST_PERIOD;
            let equal = &mut self.equal[period - 1];
            *equal = if self.before[at(period)] == piece { *equal + 1 } else { 0 };
            if *equal >= period * (MOST_REPEATS - 1) {
                let letters: usize = (1..=period).map(|back| self.before[at(back)].letters).sum();
                is_repeated |= letters >= FEWEST_LETTERS;
            }
        }
        self.before[self.count % LONGEST_PERIOD] = piece;
        self.count += 1;
        is_repeated
    }
}

#[cfg(test)]
mod tests {
    use super::Repetition;

    /// How often the text comes before the repetition is found.
    fn found_after(text: &str, chunk: usize) -> Option<usize> {
        let mut repetition = Repetition::default();
        let all = text.repeat(30);
        let mut read = 0;
        for piece in all.as_bytes().chunks(chunk) {
            read += piece.len();
            if repetition.push(std::str::from_utf8(piece).unwrap()) {
                return Some(read.div_ceil(text.len()));
            }
        }
        None
    }

    #[test]
    fn lines_sentences_and_paragraphs_that_repeat_are_found() {
        let paragraph = "First I look at the file.\n\nThen I change it:\n- one\n- two\n\n";
        for text in ["I will now fix it.\n", "I will now fix it. ", "I will now fix it.\n\n", paragraph] {
            for chunk in [1, 7, 1000] {
                let found = found_after(text, chunk).unwrap_or_else(|| panic!("{text:?}"));
                assert!((20..=30).contains(&found), "{text:?}: {found}");
            }
            assert!(matches!(found_after(text, 1), Some(20 | 21)), "{text:?}");
        }
    }

    #[test]
    fn good_answers_are_not_ended() {
        for text in ["}\n", "---\n", "| 0 | 0 |\n", "\n", "   \n", "0, 0, 0,\n"] {
            assert_eq!(found_after(text, 1), None, "{text:?}");
        }
        let mut repetition = Repetition::default();
        let rows: String = (0..500).map(|row| format!("- row {row} is good\n  }}\n")).collect();
        assert!(!repetition.push(&rows));
        assert!(!Repetition::default().push(&"It works.\n".repeat(19)));
    }
}
