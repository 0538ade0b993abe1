//! Decides whether a closing tag of reasoning in a paragraph is inside a code span: an unmatched backtick before the
//! tag opens a code span only if a later line of the paragraph has the matching backtick.
//!
//! The parser reads a line with such a tag only when the rest of its paragraph has arrived, since delivered text cannot
//! become reasoning. It waits for at most the limit of one block; the rest of a longer paragraph counts as another one.

use super::Parser;
use crate::parse::containers::{Containers, continues_paragraph};
use crate::parse::input::InputLine;
use crate::parse::reasoning;
use crate::parse::spans::CodeSpans;

/// The lines that follow a line in its paragraph. All positions are offsets in the reply.
#[derive(Debug, Default)]
pub(super) struct ParagraphRest {
    start: usize,
    /// The beginning of the first line that is not known to be in the paragraph.
    end: usize,
    /// The offset up to which that line has no line ending.
    searched: usize,
    is_complete: bool,
    /// The end of a line in which no closing tag can be code.
    line_without_code: usize,
    /// The end of the last code span found: the text before it is code.
    pub(super) code_end: usize,
}

impl Parser {
    /// Returns `true` if the line can be read, because no later text decides whether a closing tag in it is code.
    pub(super) fn has_paragraph_of(&mut self, line: InputLine) -> bool {
        let next = self.input.offset(line.next);
        if !(self.paragraph.start..=self.paragraph.end).contains(&next) {
            if !self.queue.is_holding() || line.cut || self.paragraph.line_without_code == next {
                return true;
            }
            let text = self.input.slice(self.input.at, line.end);
            let may_be_code = self.spans.is_open() || text.contains('`');
            if !may_be_code || !reasoning::has_closing_tag(text) {
                // The parser returns to the rest of the line after each token in it; it must not search the line each
                // time.
                self.paragraph.line_without_code = next;
                return true;
            }
            self.paragraph = ParagraphRest { start: next, end: next, searched: next, ..ParagraphRest::default() };
        }
        while !self.paragraph.is_complete {
            let ParagraphRest { start, end, searched, .. } = self.paragraph;
            let from = self.input.index(end);
            let most = self.options.limits.block.saturating_sub(end - start);
            let mut seen = self.input.index(searched);
            let line = self.input.line_at(from, &mut seen, most);
            self.paragraph.searched = self.input.offset(seen);
            match line {
                None if self.input.finished.is_none() => return false,
                Some(line) if !line.cut && continues(self.input.slice(from, line.end)) => {
                    self.paragraph.end = self.input.offset(line.next);
                    self.paragraph.searched = self.paragraph.end;
                }
                _ => self.paragraph.is_complete = true,
            }
        }
        true
    }

    /// Returns the end of the code span that contains offset `at`, in a line that ends at `line_end`. `spans` must have
    /// read the preceding text.
    pub(super) fn code_span_end(&self, spans: &CodeSpans, at: usize, line_end: usize) -> Option<usize> {
        let end = line_end.max(self.paragraph.end);
        let text = self.input.slice(self.input.index(at), self.input.index(end));
        spans.closing_run(text).map(|run| at + run)
    }
}

/// Returns `true` if a line after a paragraph continues it.
fn continues(line: &str) -> bool {
    continues_paragraph(line) && reasoning::opening(&Containers::new(), line, true).is_none()
}
