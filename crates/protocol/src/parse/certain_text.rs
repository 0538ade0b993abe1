//! Finds how much of an incomplete line is certainly text and may be delivered.
//!
//! Text that precedes a tool fence, a tag of reasoning or a token on its line is text in any case.

use super::dialect::{self, Token, blocks};
use super::reasoning::{TAGS, begins_tag, may_close};
use crate::Dialects;

/// The maximum number of bytes of a fence or a token that are examined. A longer one is held back until its line has
/// ended, since it would be examined again with each piece of the line.
const MOST_HELD: usize = 256;

/// Returns `true` if this byte may precede a block or a token at the beginning of a line: whitespace and the delimiters
/// of containers.
pub(super) fn is_lead(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'>' | b'*' | b'-' | b'+' | b'.' | b')' | b'0'..=b'9')
}

/// Returns the length of the text with which a line certainly begins. The first `shown` bytes are known to be text.
/// `closing`: closing tags of reasoning matter.
pub(super) fn certain_length(line: &str, shown: usize, dialects: Dialects, closing: bool) -> usize {
    let bytes = line.as_bytes();
    let mut at = shown;
    // After a delivered lead, a block may still begin. If prose follows instead, a few bytes are held back in vain.
    if shown == 0 || is_lead(bytes[shown - 1]) {
        at += bytes[shown..].iter().take_while(|byte| is_lead(**byte)).count();
        if may_begin_block(&line[at..], dialects) {
            return at;
        }
    }
    let is_token = |rest| dialect::special_token(rest, false, dialects) != Token::None;
    marks(line, at).find(|at| closing && may_close(&line[*at..]) || is_token(&line[*at..])).unwrap_or(line.len())
}

/// Returns `true` if the rest of an incomplete line may begin with the fence of a tool block, a tag of reasoning or a
/// token of a dialect.
fn may_begin_block(rest: &str, dialects: Dialects) -> bool {
    let is_tag = |tag: &str| is_either_prefix(rest.as_bytes(), tag.as_bytes());
    match rest.bytes().next() {
        Some(byte) if begins_tag(byte) && TAGS.iter().any(|tag| is_tag(tag.open) || is_tag(tag.close)) => true,
        Some(byte) if dialect::may_begin(byte) => dialect::token(rest, false, dialects) != Token::None,
        Some(b'`' | b'~') => {
            if rest.len() > MOST_HELD {
                return true;
            }
            let info = rest.trim_start_matches(&rest[..1]);
            let is_short = rest.len() - info.len() < 3;
            let word = info.trim_start_matches([' ', '\t']);
            // All info words of the protocol begin with `tool`.
            let is_word = blocks::are_read(dialects) || is_either_prefix(word.as_bytes(), b"tool");
            info.is_empty() || !is_short && is_word
        }
        _ => false,
    }
}

/// Returns the positions in a line, from `from` on, at which a special token of a dialect or a closing tag may begin.
pub(super) fn marks(line: &str, from: usize) -> impl Iterator<Item = usize> {
    let begins = |byte: u8| begins_tag(byte) || byte == b']';
    line.bytes().enumerate().skip(from).filter(move |(_, byte)| begins(*byte)).map(|(at, _)| at)
}

/// Returns `true` if one is a prefix of the other.
fn is_either_prefix(one: &[u8], other: &[u8]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certain(line: &str) -> usize {
        certain_length(line, 0, Dialects::NONE, true)
    }

    #[test]
    fn only_possible_tokens_are_held_back() {
        for line in ["``", "```", "~~~~ to", "```tool", "```tool_result x", "<", "<thin", "<think>", "</th", "[TH", "◁"]
        {
            assert_eq!(certain(line), 0, "{line}");
            assert_eq!(certain(&format!(" - 1. > {line}")), 8, "{line}");
        }
        for line in ["", " ", "- 1. > ", "1", "a", "- a", "`x", "```r", "``` x", "```tx", "<b", "<thinx", "</thx", "[t"]
        {
            assert_eq!(certain(line), line.len(), "{line}");
        }
        assert_eq!(certain("so </thi"), 3);
        assert_eq!(certain(&"`".repeat(1000)), 0);
    }

    #[test]
    fn delivered_parts_of_a_line_are_text() {
        for (line, from, to) in [("```tox", 0, 6), ("```tox```", 6, 9), ("so `", 3, 3), ("so `b", 3, 5), ("so <", 3, 3)]
        {
            assert_eq!(certain_length(line, from, Dialects::NONE, true), to, "{line}");
        }
    }
}
