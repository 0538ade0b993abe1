//! The tags around what a model thinks aloud, and where a section of it ends. Reasoning never holds a call.

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

/// The tags that are known, in the case they are written in.
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

/// Whether a tag may begin with this byte. No tag has a second one, and the third is the first of a character that is rare.
pub(super) fn begins_tag(byte: u8) -> bool {
    matches!(byte, b'<' | b'[' | FIRST_OF_TRIANGLE)
}

/// The first byte of `◁`.
const FIRST_OF_TRIANGLE: u8 = "◁".as_bytes()[0];

/// An open section.
#[derive(Debug)]
pub(super) struct ReasoningSection {
    /// The opening tag. None when the backend's template has opened the section: then any closing tag ends it.
    tag: Option<&'static TagPair>,
    /// Where the next piece of its span begins, in the reply.
    pub(super) start: usize,
    /// The beginning of the current line.
    line: String,
}

/// Bytes that are kept of a line of reasoning: enough to see whether it is one of a quote.
const MOST_LINE: usize = 64;

impl ReasoningSection {
    /// A section that the tag at `start` opens, or that was open before the reply began.
    pub(super) fn new(tag: Option<&'static TagPair>, start: usize) -> ReasoningSection {
        ReasoningSection { tag, start, line: String::new() }
    }

    /// Takes text of the section that is over.
    pub(super) fn pass(&mut self, text: &str) {
        let line = text.rsplit(['\n', '\r']).next().unwrap_or_default();
        if line.len() < text.len() {
            self.line.clear();
        }
        let room = MOST_LINE.saturating_sub(self.line.len());
        self.line.push_str(&line[..floor_boundary(line, room)]);
    }

    /// Whether the current line is one of a block quote: what is quoted in the thought is no call, also behind a closing tag that
    /// is quoted with it.
    pub(super) fn is_quoted(&self) -> bool {
        let mut containers = Containers::new();
        containers.line(self.line.trim_start());
        containers.in_quote()
    }

    /// How many bytes of `text` are reasoning for certain, and how many the closing tag behind them has: none where it is
    /// not there. More of the text may come unless it is `whole`.
    pub(super) fn reach(&self, text: &str, whole: bool) -> (usize, usize) {
        for at in memchr::memchr3_iter(b'<', b'[', FIRST_OF_TRIANGLE, text.as_bytes()) {
            for tag in &TAGS {
                if self.tag.is_none_or(|own| own == tag) && text[at..].starts_with(tag.close) {
                    return (at, tag.close.len());
                }
            }
        }
        (if whole { text.len() } else { certain_length(text) }, 0)
    }
}

/// Follows the reasoning that a reply begins with, for whoever looks at what stands behind it before the reply is parsed.
#[derive(Debug)]
pub struct LeadingReasoning {
    section: Option<ReasoningSection>,
    /// Up to here the reply is reasoning, or the whitespace before it.
    end: usize,
    /// Whether it is known if the reply begins with reasoning, and where that ends.
    decided: bool,
}

impl LeadingReasoning {
    /// Starts at the beginning of a reply.
    pub fn new(reasoning: Reasoning) -> LeadingReasoning {
        let section = (reasoning == Reasoning::Opened).then(|| ReasoningSection::new(None, 0));
        LeadingReasoning { section, end: 0, decided: false }
    }

    /// Where the reply goes on behind its reasoning; `None` where more of it has to come first. Each call gets the same reply
    /// with what has come behind it, and looks at that alone.
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
        let (certain, close) = self.section.as_ref()?.reach(&reply[self.end..], false);
        self.end += certain + close;
        self.decided = close > 0;
        self.decided.then_some(self.end)
    }
}

/// The bytes before what could still become a closing tag, or a line ending of two bytes.
fn certain_length(text: &str) -> usize {
    let text = text.strip_suffix('\r').unwrap_or(text);
    let longest = TAGS.iter().map(|tag| tag.close.len()).max().unwrap_or_default();
    let from = text.len().saturating_sub(longest - 1);
    let tail = &text.as_bytes()[from..];
    let begins = |at: &usize| TAGS.iter().any(|tag| tag.close.as_bytes().starts_with(&tail[*at..]));
    (0..tail.len()).find(begins).map_or(text.len(), |at| from + at)
}

/// The tag that opens a section at the beginning of a line, and how many spaces stand before it: at most three. `whole`:
/// the line is known to its end. Inside a paragraph the tag counts only when it stands alone on its line.
pub(super) fn opening(containers: &Containers, line: &str, whole: bool) -> Option<(usize, &'static TagPair)> {
    let (indent, tag) = at_beginning(line, |tag| tag.open)?;
    let alone = whole && fence::is_blank(&line[indent + tag.open.len()..]);
    containers.takes_tag(line, alone, false).then_some((indent, tag))
}

/// The closing tag at the beginning of a line that is no part of a section, and how many spaces stand before it: at most
/// three. It counts where an opening tag would. It also counts alone on a line that continues the paragraph of a list item or
/// of a quote only lazily: a thought that ends with a list has its closing tag there.
pub(super) fn closing(containers: &Containers, line: &str, whole: bool) -> Option<(usize, &'static TagPair)> {
    let (indent, tag) = at_beginning(line, |tag| tag.close)?;
    let alone = whole && fence::is_blank(&line[indent + tag.close.len()..]);
    containers.takes_tag(line, alone, true).then_some((indent, tag))
}

/// The closing tag that `text` begins with.
pub(super) fn closing_tag(text: &str) -> Option<&'static TagPair> {
    TAGS.iter().find(|tag| text.starts_with(tag.close))
}

/// Returns `true` if there is a closing tag anywhere in `text`.
pub(super) fn has_closing_tag(text: &str) -> bool {
    TAGS.iter().any(|tag| memchr::memmem::find(text.as_bytes(), tag.close.as_bytes()).is_some())
}

/// Whether `text` begins with a closing tag or, where more of it may come, with what may become one.
pub(super) fn may_close(text: &str) -> bool {
    TAGS.iter().any(|tag| text.starts_with(tag.close) || tag.close.starts_with(text))
}

/// The tag at the beginning of a line, and how many spaces precede it: at most three.
fn at_beginning(line: &str, which: fn(&TagPair) -> &'static str) -> Option<(usize, &'static TagPair)> {
    let indent = line.bytes().take(3).take_while(|byte| *byte == b' ').count();
    let tag = TAGS.iter().find(|tag| line[indent..].starts_with(which(tag)))?;
    Some((indent, tag))
}

/// Line endings in `text`, and characters behind the last one.
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
    fn reasoning_at_the_beginning_is_passed_over() {
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
    fn holds_back_what_may_close_the_section() {
        let section = ReasoningSection::new(None, 0);
        let texts = [("ab", 2), ("ab<", 2), ("ab</reasonin", 2), ("ab</x", 5), ("ab\r", 2), ("<b", 2), ("a◁/thi", 1)];
        for (text, certain) in
            texts.into_iter().chain([("a[", 1), ("a[/THINK", 1), ("a[/T ", 5), ("a◁", 1), ("a◁x", 5)])
        {
            assert_eq!(section.reach(text, false), (certain, 0), "{text:?}");
        }
        assert_eq!(section.reach("ab\r", true), (3, 0));
        assert_eq!(section.reach("a</think>", false), (1, 8));
        assert_eq!(section.reach("é[/THINK]", false), (2, 8));
        assert_eq!(section.reach("⁂◁/think▷", false), (3, 12));
    }
}
