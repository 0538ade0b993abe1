//! Decides whether the beginning of a line may already be shown, or could still become a tool fence or a reasoning tag.
//!
//! The gate is a machine over the bytes of one line, so that a long line that comes byte by byte is looked at once.

use super::reasoning::TAGS;

/// The gate of the current line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineGate {
    state: GateState,
    /// Bytes of the line that were looked at.
    seen: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum GateState {
    /// Only what may stand before a block: whitespace, delimiters of containers.
    #[default]
    Prefix,
    /// A run of so many fence characters.
    Fence(u8, usize),
    /// A fence, and this many bytes of the word `tool`.
    Word(usize),
    /// `<` and so many bytes of a tag; the bits say which tags are still possible.
    Tag(u8, usize),
    /// It may be a fence or a tag: only the whole line decides.
    Undecided,
    /// It is neither.
    Open,
}

const WORD: &[u8] = b"tool";

impl LineGate {
    /// Looks at the bytes that came of the line since the last look. Whether the line may be shown.
    pub(super) fn opens(&mut self, line: &[u8]) -> bool {
        for byte in line.get(self.seen..).unwrap_or_default() {
            if matches!(self.state, GateState::Undecided | GateState::Open) {
                break;
            }
            self.state = self.state.step(*byte);
        }
        self.seen = line.len();
        self.state == GateState::Open
    }
}

impl GateState {
    fn step(self, byte: u8) -> GateState {
        use GateState::{Fence, Open, Prefix, Tag, Undecided, Word};
        match (self, byte) {
            (Prefix, b' ' | b'\t' | b'>' | b'*' | b'-' | b'+' | b'.' | b')' | b'0'..=b'9') => Prefix,
            (Prefix, b'\xef' | b'\xbb' | b'\xbf') => Prefix, // a byte order mark
            (Prefix, b'`' | b'~') => Fence(byte, 1),
            (Prefix, b'<') => Tag(u8::MAX, 1),
            (Fence(mark, count), _) if byte == mark => Fence(mark, count + 1),
            (Fence(_, 3..), b' ' | b'\t') => Word(0),
            (Fence(_, 3..), _) if byte == WORD[0] => Word(1),
            (Word(0), b' ' | b'\t') => Word(0),
            (Word(seen), _) if byte == WORD[seen] && seen + 1 == WORD.len() => Undecided,
            (Word(seen), _) if byte == WORD[seen] => Word(seen + 1),
            (Tag(possible, seen), _) => tag(possible, seen, byte),
            _ => Open,
        }
    }
}

/// The state behind one more byte of what may be a tag.
fn tag(possible: u8, seen: usize, byte: u8) -> GateState {
    let mut left = 0;
    for (bit, tag) in TAGS.iter().enumerate() {
        let fits = possible & 1 << bit != 0 && tag.open.as_bytes().get(seen) == Some(&byte);
        left |= u8::from(fits) << bit;
    }
    match left {
        0 => GateState::Open,
        _ if byte == b'>' => GateState::Undecided,
        _ => GateState::Tag(left, seen + 1),
    }
}

/// The bits of a state stand for all tags.
const _: () = assert!(TAGS.len() <= u8::BITS as usize);

#[cfg(test)]
mod tests {
    use super::LineGate;

    #[test]
    fn holds_only_what_may_matter() {
        for line in
            ["", " ", "- 1. > ", "``", "```", "~~~~ to", "```tool", "```tool_result x", "<", "<thin", "<think>", "1"]
        {
            assert!(!LineGate::default().opens(line.as_bytes()), "{line}");
        }
        for line in ["a", "- a", "`x", "```r", "``` x", "```tx", "<b", "<thinx", "</think", "\u{e9}"] {
            assert!(LineGate::default().opens(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn looks_at_each_byte_once() {
        let mut gate = LineGate::default();
        assert!(!gate.opens(b"```") && !gate.opens(b"```to") && gate.opens(b"```tox") && gate.opens(b"```tox```"));
    }
}
