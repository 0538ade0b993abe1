//! Detects text that repeats itself endlessly, the most common way for small models to get stuck.
//!
//! The text is split into pieces: a line, or a sentence if a line has several. Each piece is reduced to a hash, and
//! only the last [`LONGEST_PERIOD`] hashes are kept, so memory is bounded and time is linear in the text.

/// How many consecutive occurrences of a line or a paragraph end the reply.
const MOST_REPEATS: usize = 20;

/// The longest paragraph, in pieces, whose repetition is detected.
const LONGEST_PERIOD: usize = 32;

/// The minimum number of letters that a repeated text must have to count. Good answers also repeat rules, closing
/// braces and rows of numbers.
const FEWEST_LETTERS: usize = 8;

/// Detects a text in which the same part occurs [`MOST_REPEATS`] times in a row.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    piece: Piece,
    /// The last pieces, as a ring buffer.
    before: [Piece; LONGEST_PERIOD],
    count: usize,
    /// For each period, the number of consecutive pieces that equal the piece one period before.
    equal: [usize; LONGEST_PERIOD],
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Piece {
    hash: u64,
    letters: usize,
    /// Whether the last character ends a sentence if whitespace follows.
    may_end: bool,
}

impl Piece {
    fn push(&mut self, c: char) {
        // FNV-1a over characters. A collision only ends a reply early.
        self.hash = (self.hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3);
        self.letters += usize::from(c.is_alphabetic());
        self.may_end = matches!(c, '.' | '!' | '?' | '…');
    }
}

impl Repetition {
    /// Reads more of the text and returns `true` once it repeats itself.
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
        // Blank lines separate pieces and do not count as pieces.
        if piece == Piece::default() {
            return false;
        }
        let piece = Piece { may_end: false, ..piece };
        let mut is_repeated = false;
        for period in 1..=LONGEST_PERIOD.min(self.count) {
            let at = |back: usize| (self.count - back) % LONGEST_PERIOD;
            let equal = &mut self.equal[period - 1];
            *equal = if self.before[at(period)] == piece { *equal + 1 } else { 0 };
            // The first occurrence has no predecessor to equal, so it is not counted.
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

    /// Returns how many copies of the text are read before the repetition is found.
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
