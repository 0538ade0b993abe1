//! Decides whether a place in a paragraph may be inside of a code span (CommonMark 0.31.2, section 6.1).
//!
//! A run of backticks opens a span only if a run of the same length follows, which is known at the end of the
//! paragraph. Here every unmatched run counts as open: for the token of a dialect, doubtful text is code. For a closing
//! tag of reasoning the parser looks ahead, so that an unmatched backtick hides no tag.

use super::certain_text::marks;
use super::reasoning::{self, TagPair};

/// The maximum length of a run that is distinguished from longer ones. All longer runs count as equally long.
const LONGEST: usize = 64;

/// The unmatched runs of backticks of a paragraph, by length, in order.
#[derive(Debug, Default, Clone)]
pub(super) struct CodeSpans {
    open: Vec<usize>,
}

impl CodeSpans {
    /// Forgets the unmatched runs, because the paragraph has ended.
    pub(super) fn end_paragraph(&mut self) {
        self.open.clear();
    }

    /// Adds the next piece of the paragraph, which must not end between two backticks.
    pub(super) fn feed(&mut self, text: &str) {
        for (start, length) in runs(text) {
            let escapes = text.as_bytes()[..start].iter().rev().take_while(|byte| **byte == b'\\').count();
            let is_escaped = escapes % 2 == 1;
            match self.open.iter().position(|open| *open == length) {
                // Unmatched runs between the two are inside of the span. A backslash does not keep a run from closing one.
                Some(index) => self.open.truncate(index),
                // The backticks after an escaped one are a run for some parsers. For others they belong to a longer run,
                // so both lengths count.
                None if is_escaped && length > 1 => self.open.extend([length - 1, length]),
                None if is_escaped => {}
                None => self.open.push(length),
            }
        }
    }

    /// Returns `true` if a run is unmatched.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the position of the first run in the following `text` that closes an open span: everything before it is
    /// code.
    pub(super) fn closing_run(&self, text: &str) -> Option<usize> {
        if self.open.is_empty() {
            return None;
        }
        runs(text).find(|(_, length)| self.open.contains(length)).map(|(start, _)| start)
    }
}

/// Returns the runs of backticks in `text`, each with its position and length.
fn runs(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + memchr::memchr(b'`', &bytes[at..])?;
        let length = bytes[start..].iter().take_while(|byte| **byte == b'`').count();
        at = start + length;
        Some((start, length.min(LONGEST)))
    })
}

/// Returns the closing tags of reasoning in a line of text, except those in code spans of this line.
pub(super) fn closing_tags(line: &str) -> impl Iterator<Item = (usize, &'static TagPair)> {
    let mut spans = CodeSpans::default();
    let (mut fed, mut code_end) = (0, 0);
    marks(line, 0).filter_map(move |at| {
        let tag = reasoning::closing_tag(&line[at..]).filter(|_| at >= code_end)?;
        spans.feed(&line[fed..at]);
        fed = at;
        match spans.closing_run(&line[at..]) {
            Some(run) => code_end = at + run,
            None => return Some((at, tag)),
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::{CodeSpans, closing_tags};

    #[test]
    fn runs_match_runs_of_equal_length() {
        for (text, open) in [
            ("", false),
            ("a `b", true),
            ("a `b` c", false),
            ("``a ` b``", false),
            ("``a ` b", true),
            ("`a `` b` c", false),
            ("\\`a", false),
            ("`a\\`", false),
            ("\\``a``", true),
            ("\\``a`` `", false),
        ] {
            let mut spans = CodeSpans::default();
            spans.feed(text);
            assert_eq!(spans.is_open(), open, "{text}");
        }
    }

    #[test]
    fn tags_in_code_spans_are_left_out() {
        for (line, wanted) in [
            ("</think>", Some(0)),
            ("a `</think> b", Some(3)),
            ("a `</think>` b", None),
            ("`</think></think>` </think>", Some(19)),
            ("``</think>` </think>", Some(2)),
            ("`a` ``</think>` `` [/THINK]", Some(19)),
        ] {
            assert_eq!(closing_tags(line).next().map(|(at, _)| at), wanted, "{line}");
        }
    }
}
