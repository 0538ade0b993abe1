//! Whether the beginning of a line may already be shown, or could still become a tool fence or a reasoning tag.
//!
//! A machine over the bytes of one line, so that a long line that comes byte by byte is looked at once.

use super::reasoning::TAGS;

/// What is known of the line so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LineGate {
    /// Only what may stand before a block: blanks, marks of containers.
    #[default]
    Prefix,
    /// So many marks of a fence.
    Fence(u8, usize),
    /// A fence, and this many bytes of the word `tool`.
    Word(usize),
    /// `<` and so many bytes of a tag; the bits say which tags it can be.
    Tag(u8, usize),
    /// It may be one: only the whole line tells.
    Undecided,
    /// It is neither: show it.
    Free,
}

const WORD: &[u8] = b"tool";

impl LineGate {
    /// Takes the next bytes of the line.
    pub(super) fn feed(mut self, bytes: &[u8]) -> LineGate {
        for byte in bytes {
            if matches!(self, LineGate::Undecided | LineGate::Free) {
                break;
            }
            self = self.step(*byte);
        }
        self
    }

    fn step(self, byte: u8) -> LineGate {
        match (self, byte) {
            (LineGate::Prefix, b' ' | b'\t' | b'>' | b'*' | b'-' | b'+' | b'.' | b')' | b'0'..=b'9') => {
                LineGate::Prefix
            }
            (LineGate::Prefix, b'\xef' | b'\xbb' | b'\xbf') => LineGate::Prefix, // a byte order mark
            (LineGate::Prefix, b'`' | b'~') => LineGate::Fence(byte, 1),
            (LineGate::Prefix, b'<') => LineGate::Tag(u8::MAX, 1),
            (LineGate::Fence(mark, count), _) if byte == mark => LineGate::Fence(mark, count + 1),
            (LineGate::Fence(_, 3..), b' ' | b'\t') => LineGate::Word(0),
            (LineGate::Fence(_, 3..), _) if byte == WORD[0] => LineGate::Word(1),
            (LineGate::Word(0), b' ' | b'\t') => LineGate::Word(0),
            (LineGate::Word(seen), _) if byte == WORD[seen] => {
                if seen + 1 == WORD.len() {
                    LineGate::Undecided
                } else {
                    LineGate::Word(seen + 1)
                }
            }
            (LineGate::Tag(which, seen), _) => tag(which, seen, byte),
            _ => LineGate::Free,
        }
    }
}

fn tag(which: u8, seen: usize, byte: u8) -> LineGate {
    let mut left = 0;
    for (bit, tag) in TAGS.iter().enumerate() {
        let fits = which & 1 << bit != 0 && tag.open.as_bytes().get(seen) == Some(&byte);
        left |= u8::from(fits) << bit;
    }
    match left {
        0 => LineGate::Free,
        _ if byte == b'>' => LineGate::Undecided,
        _ => LineGate::Tag(left, seen + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::LineGate;

    #[test]
    fn holds_only_what_may_matter() {
        for line in
            ["", " ", "- 1. > ", "``", "```", "~~~~ to", "```tool", "```tool_result x", "<", "<thin", "<think>", "1"]
        {
            assert_ne!(LineGate::default().feed(line.as_bytes()), LineGate::Free, "{line}");
        }
        for line in ["a", "- a", "`x", "```r", "``` x", "```tx", "<b", "<thinx", "</think", "\u{e9}"] {
            assert_eq!(LineGate::default().feed(line.as_bytes()), LineGate::Free, "{line}");
        }
    }
}
