//! Whether the beginning of a line may already be shown, or could still become a tool fence or a reasoning tag.
//!
//! A machine over the bytes of one line, so that a long line that comes byte by byte is looked at once.

use super::reasoning::TAGS;

/// What is known of the line so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Hold {
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

impl Hold {
    /// Takes the next bytes of the line.
    pub(super) fn feed(mut self, bytes: &[u8]) -> Hold {
        for byte in bytes {
            if matches!(self, Hold::Undecided | Hold::Free) {
                break;
            }
            self = self.step(*byte);
        }
        self
    }

    fn step(self, byte: u8) -> Hold {
        match (self, byte) {
            (Hold::Prefix, b' ' | b'\t' | b'>' | b'*' | b'-' | b'+' | b'.' | b')' | b'0'..=b'9') => Hold::Prefix,
            (Hold::Prefix, b'\xef' | b'\xbb' | b'\xbf') => Hold::Prefix, // a byte order mark
            (Hold::Prefix, b'`' | b'~') => Hold::Fence(byte, 1),
            (Hold::Prefix, b'<') => Hold::Tag(u8::MAX, 1),
            (Hold::Fence(mark, count), _) if byte == mark => Hold::Fence(mark, count + 1),
            (Hold::Fence(_, 3..), b' ' | b'\t') => Hold::Word(0),
            (Hold::Fence(_, 3..), _) if byte == WORD[0] => Hold::Word(1),
            (Hold::Word(0), b' ' | b'\t') => Hold::Word(0),
            (Hold::Word(seen), _) if byte == WORD[seen] => {
                if seen + 1 == WORD.len() {
                    Hold::Undecided
                } else {
                    Hold::Word(seen + 1)
                }
            }
            (Hold::Tag(which, seen), _) => tag(which, seen, byte),
            _ => Hold::Free,
        }
    }
}

fn tag(which: u8, seen: usize, byte: u8) -> Hold {
    let mut left = 0;
    for (bit, tag) in TAGS.iter().enumerate() {
        let fits = which & 1 << bit != 0 && tag.open.as_bytes().get(seen) == Some(&byte);
        left |= u8::from(fits) << bit;
    }
    match left {
        0 => Hold::Free,
        _ if byte == b'>' => Hold::Undecided,
        _ => Hold::Tag(left, seen + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::Hold;

    #[test]
    fn holds_only_what_may_matter() {
        for line in
            ["", " ", "- 1. > ", "``", "```", "~~~~ to", "```tool", "```tool_result x", "<", "<thin", "<think>", "1"]
        {
            assert_ne!(Hold::default().feed(line.as_bytes()), Hold::Free, "{line}");
        }
        for line in ["a", "- a", "`x", "```r", "``` x", "```tx", "<b", "<thinx", "</think", "\u{e9}"] {
            assert_eq!(Hold::default().feed(line.as_bytes()), Hold::Free, "{line}");
        }
    }
}
