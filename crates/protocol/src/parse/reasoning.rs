//! The tags around a model's reasoning, and the end of a section of reasoning. Reasoning never contains a call.

use super::Reasoning;
use super::containers::Containers;
use crate::clip::floor_boundary;
use crate::fence;

/// An opening and a closing tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TagPair {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
}

/// The known tags, which are case-sensitive.
pub(super) static TAGS: [TagPair; 12] = [
    TagPair { open: "<think>", close: "</think>" },
    TagPair { open: "<thinking>", close: "</thinking>" },
    TagPair { open: "<reasoning>", close: "</reasoning>" },
    TagPair { open: "[THINK]", close: "[/THINK]" },
    TagPair { open: "◁think▷", close: "◁/think▷" },
    TagPair { open: "<seed:think>", close: "</seed:think>" },
    TagPair { open: "<mm:think>", close: "</mm:think>" },
    TagPair { open: "<ifm|think>", close: "</ifm|think>" },
    TagPair { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
    TagPair { open: "<|inner_prefix|>", close: "<|inner_suffix|>" },
    TagPair { open: "<|open|>think<|sep|>", close: "<|close|>think<|sep|>" },
    // google/gemma-4-E4B-it, `chat_template.jinja`.
    TagPair { open: "<|channel>thought", close: "<channel|>" },
];

/// Returns `true` if a tag may begin with this byte. The first byte of `◁` is rare in other text, so checking it alone
/// is cheap.
pub(super) fn begins_tag(byte: u8) -> bool {
    matches!(byte, b'<' | b'[' | FIRST_OF_TRIANGLE)
}

/// The first byte of `◁`.
const FIRST_OF_TRIANGLE: u8 = "◁".as_bytes()[0];

/// An open section.
#[derive(Debug)]
pub(super) struct ReasoningSection {
    /// The opening tag. `None` if the backend's template opened the section: any closing tag then ends it.
    tag: Option<&'static TagPair>,
    /// The offset in the reply of the next piece of its span.
    pub(super) start: usize,
    /// The beginning of the current line.
    line: String,
}

/// The maximum number of bytes of a line of reasoning that are kept, enough to recognise a quote.
const MOST_LINE: usize = 64;

impl ReasoningSection {
    /// Creates a section that the tag at `start` opens, or one that was open before the reply began.
    pub(super) fn new(tag: Option<&'static TagPair>, start: usize) -> ReasoningSection {
        ReasoningSection { tag, start, line: String::new() }
    }

    /// Consumes text of the section.
    pub(super) fn pass(&mut self, text: &str) {
        let line = text.rsplit(['\n', '\r']).next().unwrap_or_default();
        if line.len() < text.len() {
            self.line.clear();
        }
        let room = MOST_LINE.saturating_sub(self.line.len());
        self.line.push_str(&line[..floor_boundary(line, room)]);
    }

    /// Returns `true` if the current line belongs to a block quote. A call that is quoted in reasoning does not count,
    /// even after a closing tag in the same quote.
    pub(super) fn is_quoted(&self) -> bool {
        let mut containers = Containers::new();
        containers.line(self.line.trim_start());
        containers.in_quote()
    }

    /// Returns how many bytes of `text` are certainly reasoning, and the length of the closing tag after them, or 0
    /// without one. More text may follow unless it is `whole`.
    pub(super) fn find_end(&self, text: &str, whole: bool) -> (usize, usize) {
        for at in memchr::memchr3_iter(b'<', b'[', FIRST_OF_TRIANGLE, text.as_bytes()) {
            for tag in &TAGS {
                if self.tag.is_none_or(|opened| opened == tag) && text[at..].starts_with(tag.close) {
                    return (at, tag.close.len());
                }
            }
        }
        (if whole { text.len() } else { certain_length(text) }, 0)
    }
}

/// Finds the end of the reasoning at the beginning of a reply, for callers that examine the text after it before the
/// reply is parsed.
#[derive(Debug)]
pub struct LeadingReasoning {
    section: Option<ReasoningSection>,
    /// The length of the reasoning so far, including whitespace before it.
    end: usize,
    /// Whether it is known if the reply begins with reasoning and where that ends.
    decided: bool,
}

impl LeadingReasoning {
    /// Creates a value for the beginning of a reply.
    pub fn new(reasoning: Reasoning) -> LeadingReasoning {
        let section = (reasoning == Reasoning::Opened).then(|| ReasoningSection::new(None, 0));
        LeadingReasoning { section, end: 0, decided: false }
    }

    /// Returns the position after the reasoning; `None` if more of the reply is needed. Each call passes the same reply
    /// with further text and examines only that text.
    pub fn end(&mut self, reply: &str) -> Option<usize> {
        if self.decided {
            return Some(self.end);
        }
        if self.section.is_none() {
            let text = reply.trim_start();
            let could_begin = |tag: &&TagPair| text.starts_with(tag.open) || tag.open.starts_with(text);
            match TAGS.iter().find(could_begin) {
                Some(tag) if text.starts_with(tag.open) => {
                    self.end = reply.len() - text.len() + tag.open.len();
                    self.section = Some(ReasoningSection::new(Some(tag), 0));
                }
                Some(_) => return None,
                None => {
                    self.decided = true;
                    return Some(0);
                }
            }
        }
        // The beginning of a closing tag at the end of the text is left for the next call.
        let (certain, close) = self.section.as_ref()?.find_end(&reply[self.end..], false);
        self.end += certain + close;
        self.decided = close > 0;
        self.decided.then_some(self.end)
    }
}

/// Returns the number of bytes before what may still become a closing tag or a line ending of two bytes.
fn certain_length(text: &str) -> usize {
    let text = text.strip_suffix('\r').unwrap_or(text);
    let longest = TAGS.iter().map(|tag| tag.close.len()).max().unwrap_or_default();
    // A closing tag that has begun lacks at least one byte.
    let from = text.len().saturating_sub(longest - 1);
    let tail = &text.as_bytes()[from..];
    let begins = |at: &usize| TAGS.iter().any(|tag| tag.close.as_bytes().starts_with(&tail[*at..]));
    (0..tail.len()).find(begins).map_or(text.len(), |at| from + at)
}

/// Returns the tag that opens a section at the beginning of a line, and the number of spaces before it, at most three.
/// `whole`: the end of the line is known. Inside a paragraph the tag counts only if it is alone on its line.
pub(super) fn opening(containers: &Containers, line: &str, whole: bool) -> Option<(usize, &'static TagPair)> {
    let (indent, tag) = leading_tag(line, |tag| tag.open)?;
    let alone = whole && fence::is_blank(&line[indent + tag.open.len()..]);
    containers.takes_tag(line, alone, false).then_some((indent, tag))
}

/// Returns the closing tag outside of a section at the beginning of a line, and the number of spaces before it, at most
/// three. It counts where an opening tag would. It also counts alone on a line that lazily continues the paragraph of a
/// list item or a quote: reasoning that ends with a list has its closing tag there.
pub(super) fn closing(containers: &Containers, line: &str, whole: bool) -> Option<(usize, &'static TagPair)> {
    let (indent, tag) = leading_tag(line, |tag| tag.close)?;
    let alone = whole && fence::is_blank(&line[indent + tag.close.len()..]);
    containers.takes_tag(line, alone, true).then_some((indent, tag))
}

/// Returns the closing tag at the beginning of `text`.
pub(super) fn closing_tag(text: &str) -> Option<&'static TagPair> {
    TAGS.iter().find(|tag| text.starts_with(tag.close))
}

/// Returns `true` if `text` contains a closing tag.
pub(super) fn has_closing_tag(text: &str) -> bool {
    TAGS.iter().any(|tag| memchr::memmem::find(text.as_bytes(), tag.close.as_bytes()).is_some())
}

/// Returns `true` if `text` begins with a closing tag or may become one when more text follows.
pub(super) fn may_close(text: &str) -> bool {
    TAGS.iter().any(|tag| text.starts_with(tag.close) || tag.close.starts_with(text))
}

/// Returns the tag at the beginning of a line and the number of spaces before it, at most three.
fn leading_tag(line: &str, which: fn(&TagPair) -> &'static str) -> Option<(usize, &'static TagPair)> {
    let indent = line.bytes().take(3).take_while(|byte| *byte == b' ').count();
    let tag = TAGS.iter().find(|tag| line[indent..].starts_with(which(tag)))?;
    Some((indent, tag))
}

/// Returns the number of line endings in `text`, and of characters after the last one.
pub(super) fn count_lines(text: &str) -> (usize, usize) {
    let bytes = text.as_bytes();
    let ends = |at: &usize| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n');
    let lines = memchr::memchr2_iter(b'\n', b'\r', bytes).filter(ends).count();
    let last = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    (lines, text[last..].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_reasoning_is_skipped() {
        for (reply, opened, wanted) in [
            ("hello", false, Some(0)),
            (" \n<th", false, None),
            ("\n<think>a</thin", false, None),
            ("\n<think>a</reasoning></think>\nb", false, Some(29)),
            ("[THINK]é[/THINK]b", false, Some(17)),
            ("a</think>b", false, Some(0)),
            ("a</think>b", true, Some(9)),
            ("<thinking>a", false, None),
        ] {
            let reasoning = if opened { Reasoning::Opened } else { Reasoning::Known };
            assert_eq!(LeadingReasoning::new(reasoning).end(reply), wanted, "{reply:?}");
            let mut pieces = LeadingReasoning::new(reasoning);
            let ends = (0..=reply.len()).filter(|at| reply.is_char_boundary(*at)).map(|at| pieces.end(&reply[..at]));
            assert_eq!(ends.last().flatten(), wanted, "{reply:?} byte by byte");
        }
    }

    #[test]
    fn possible_closing_tags_are_held_back() {
        let section = ReasoningSection::new(None, 0);
        let texts = [("ab", 2), ("ab<", 2), ("ab</reasonin", 2), ("ab</x", 5), ("ab\r", 2), ("<b", 2), ("a◁/thi", 1)];
        for (text, certain) in
            texts.into_iter().chain([("a[", 1), ("a[/THINK", 1), ("a[/T ", 5), ("a◁", 1), ("a◁x", 5)])
        {
            assert_eq!(section.find_end(text, false), (certain, 0), "{text:?}");
        }
        assert_eq!(section.find_end("ab\r", true), (3, 0));
        assert_eq!(section.find_end("a</think>", false), (1, 8));
        assert_eq!(section.find_end("é[/THINK]", false), (2, 8));
        assert_eq!(section.find_end("⁂◁/think▷", false), (3, 12));
    }
}
