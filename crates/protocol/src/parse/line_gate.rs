//! Decides whether the beginning of a line may already be shown, or could still become a tool fence or a reasoning tag.
//!
//! The gate remembers how far it has looked, so that a long line that comes byte by byte is looked at once.

use super::dialect::{self, Token};
use super::reasoning::{TAGS, begins_tag, may_close};
use crate::Dialects;

/// The gate of the current line. Each place in the line moves on only.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineGate {
    /// The end of what may stand before a block: whitespace, delimiters of containers, a byte order mark.
    prefix: usize,
    /// The end of the run of fence characters behind the prefix.
    fence: usize,
    /// The end of the whitespace behind the fence.
    blanks: usize,
    /// No special token of a dialect and no closing tag of reasoning begins before this byte.
    tokens: usize,
    /// The line is text, whatever follows.
    open: bool,
}

impl LineGate {
    /// Looks at the bytes that came of the line since the last look. Whether the line may be shown.
    /// `may_open`: whether the rest of a line, which begins with such a character, may become the token of a dialect.
    pub(super) fn opens(&mut self, line: &str, may_open: impl Fn(&str) -> bool) -> bool {
        let (text, line) = (line, line.as_bytes());
        if self.open {
            return true; // nearly every look
        }
        let skip = |from: usize, of: &[u8]| from + line[from..].iter().take_while(|byte| of.contains(byte)).count();
        self.prefix = skip(self.prefix, b" \t>*-+.)0123456789\xef\xbb\xbf");
        let rest = &line[self.prefix..];
        self.open = match rest.first() {
            None => false,
            Some(first)
                if begins_tag(*first)
                    && TAGS
                        .iter()
                        .any(|tag| [tag.open, tag.close].iter().any(|tag| are_alike(rest, tag.as_bytes()))) =>
            {
                false
            }
            Some(first) if dialect::may_begin(*first) => !may_open(&text[self.prefix..]),
            Some(b'`' | b'~') => {
                self.fence = skip(self.fence.max(self.prefix), &rest[..1]);
                self.blanks = skip(self.blanks.max(self.fence), b" \t");
                let short = self.fence - self.prefix < 3;
                self.fence < line.len() && (short || !are_alike(&line[self.blanks..], b"tool"))
            }
            Some(_) => true,
        };
        self.open
    }

    /// How much of a line that may be shown is text for certain: up to what may be the special token of a dialect or, where
    /// `closing` tags matter, one of those.
    pub(super) fn shown(&mut self, line: &str, dialects: Dialects, closing: bool) -> usize {
        // Nothing after the first place is looked at, for it is looked at again with the next piece of the line.
        let mut places = marks(line, self.tokens);
        let is_token = |rest| dialect::special_token(rest, false, dialects) != Token::None;
        let first = places.find(|at| closing && may_close(&line[*at..]) || is_token(&line[*at..]));
        self.tokens = first.unwrap_or(line.len());
        self.tokens
    }
}

/// The places in a line from `from` on where a special token of a dialect or a closing tag may begin.
pub(super) fn marks(line: &str, from: usize) -> impl Iterator<Item = usize> {
    let begins = |byte: u8| begins_tag(byte) || byte == b']';
    line.bytes().enumerate().skip(from).filter(move |(_, byte)| begins(*byte)).map(|(at, _)| at)
}

/// Whether one begins with the other.
fn are_alike(one: &[u8], other: &[u8]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use super::LineGate;

    #[test]
    fn holds_only_what_may_matter() {
        for line in [
            "",
            " ",
            "- 1. > ",
            "``",
            "```",
            "~~~~ to",
            "```tool",
            "```tool_result x",
            "<",
            "<thin",
            "<think>",
            "</th",
            "[",
            "[TH",
            "◁",
            "1",
        ] {
            assert!(!LineGate::default().opens(line, |_| false), "{line}");
        }
        for line in ["a", "- a", "`x", "```r", "``` x", "```tx", "<b", "<thinx", "</thx", "[t", "◁x", "\u{e9}"] {
            assert!(LineGate::default().opens(line, |_| false), "{line}");
        }
    }

    #[test]
    fn looks_at_each_byte_once() {
        let mut gate = LineGate::default();
        let no = |_: &str| false;
        assert!(
            !gate.opens("```", no)
                && !gate.opens("```to", no)
                && gate.opens("```tox", no)
                && gate.opens("```tox```", no)
        );
    }
}
