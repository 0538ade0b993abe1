//! Whether a place in a paragraph may be inside of a code span (CommonMark 0.31.2, section 6.1).
//!
//! A run of backticks opens a span only where a run of the same length follows, which is known at the end of the paragraph.
//! Here every run that was not matched yet counts as open: what is doubtful is code.

/// Runs whose length is told apart. Longer ones count as equally long.
const LONGEST: usize = 64;

/// The runs of backticks of a paragraph that no other run has matched, by length, in order.
#[derive(Debug, Default)]
pub(super) struct CodeSpans {
    open: Vec<usize>,
    /// How many runs were unmatched at the first closing tag of reasoning that may be in a span. It is code if one of them is
    /// matched later.
    tag: Option<usize>,
}

impl CodeSpans {
    /// Ends the paragraph. Returns `true` if a closing tag of reasoning was met that turned out not to be in a span.
    pub(super) fn end_paragraph(&mut self) -> bool {
        self.open.clear();
        self.tag.take().is_some()
    }

    /// Notes a closing tag of reasoning that may be in a span.
    pub(super) fn note_tag(&mut self) {
        self.tag = self.tag.or(Some(self.open.len()));
    }

    /// Takes the next piece of the paragraph. Does not end between two backticks.
    pub(super) fn feed(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'`', &bytes[at..]) {
            let start = at + found;
            let length = bytes[start..].iter().take_while(|byte| **byte == b'`').count();
            at = start + length;
            let escapes = bytes[..start].iter().rev().take_while(|byte| **byte == b'\\').count();
            // A backslash takes the first backtick out of a run that could open, but not out of one that closes.
            let length = length.min(LONGEST);
            match self.open.iter().position(|open| *open == length) {
                // What stood between the two is inside of the span.
                Some(index) => {
                    self.open.truncate(index);
                    self.tag = self.tag.filter(|depth| index >= *depth);
                }
                None if escapes % 2 == 1 && length == 1 => {}
                None => self.open.push(length),
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::CodeSpans;

    #[test]
    fn runs_match_runs_of_their_length() {
        for (text, open) in [
            ("", false),
            ("a `b", true),
            ("a `b` c", false),
            ("``a ` b``", false),
            ("``a ` b", true),
            ("`a `` b` c", false),
            ("\\`a", false),
            ("`a\\`", false),
        ] {
            let mut spans = CodeSpans::default();
            spans.feed(text);
            assert_eq!(spans.is_open(), open, "{text}");
        }
    }
}
