//! Reads a reply in a request without tools: reasoning at the beginning, and then text, whatever it looks like.

use super::output::Output;
use toolfence_protocol::clip::floor_boundary;
use toolfence_protocol::parse::Reasoning;
use toolfence_protocol::reply::LeadingReasoning;

/// The most bytes of reasoning that wait for its closing tag; beyond that, it is text.
const MOST_WAITING: usize = 1 << 20;

/// The most blank bytes at the beginning; after more of them a tag is text.
const MOST_BLANK: usize = 4 << 10;

/// The first and the last characters of the tags around reasoning.
const BEGINS: [char; 3] = ['<', '[', '◁'];
const ENDS: [char; 3] = ['>', ']', '▷'];

/// A reply that is being received.
pub(super) struct PlainReply {
    reasoning: LeadingReasoning,
    /// Whether the template of the upstream has the opening tag.
    is_opened: bool,
    /// The text that was received while the end of the reasoning is not known.
    waiting: Option<String>,
    /// Whether the next text follows reasoning, so that empty lines are layout.
    is_after_reasoning: bool,
}

impl PlainReply {
    pub(super) fn new(reasoning: Reasoning) -> PlainReply {
        let is_opened = reasoning == Reasoning::Opened;
        let reasoning = LeadingReasoning::new(reasoning);
        PlainReply { reasoning, is_opened, waiting: Some(String::new()), is_after_reasoning: false }
    }

    /// Adds text of the reply, and returns the outputs that are certain.
    pub(super) fn push(&mut self, text: &str) -> Vec<Output> {
        let Some(mut waiting) = self.waiting.take() else { return self.text(text) };
        waiting.push_str(text);
        if waiting.len() > MOST_BLANK && waiting[..floor_boundary(&waiting, MOST_BLANK)].trim_start().is_empty() {
            return self.text(&waiting);
        }
        match self.reasoning.end(&waiting) {
            None if waiting.len() <= MOST_WAITING => {
                self.waiting = Some(waiting);
                Vec::new()
            }
            // `Some(0)` means that the reply does not begin with reasoning.
            None | Some(0) => self.text(&waiting),
            Some(end) => {
                let mut outputs = vec![Output::Reasoning(self.without_tags(&waiting[..end]).to_owned())];
                self.is_after_reasoning = true;
                outputs.extend(self.text(&waiting[end..]));
                outputs
            }
        }
    }

    /// Ends the reply: held text is output as text.
    pub(super) fn finish(&mut self) -> Vec<Output> {
        let waiting = self.waiting.take().unwrap_or_default();
        self.text(&waiting)
    }

    fn text(&mut self, text: &str) -> Vec<Output> {
        let text = if self.is_after_reasoning { text.trim_start_matches(['\r', '\n']) } else { text };
        if text.is_empty() {
            return Vec::new();
        }
        self.is_after_reasoning = false;
        vec![Output::Text(text.to_owned())]
    }

    fn without_tags<'t>(&self, text: &'t str) -> &'t str {
        let text = text.rfind(BEGINS).map_or(text, |at| &text[..at]);
        if self.is_opened {
            return text;
        }
        text.split_once(ENDS).map_or(text, |(_, inside)| inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reply: &str, size: usize, reasoning: Reasoning) -> (String, String) {
        let mut plain = PlainReply::new(reasoning);
        let (mut thought, mut text) = (String::new(), String::new());
        let chars: Vec<char> = reply.chars().collect();
        let mut outputs: Vec<Output> =
            chars.chunks(size).flat_map(|piece| plain.push(&piece.iter().collect::<String>())).collect();
        outputs.extend(plain.finish());
        for output in outputs {
            match output {
                Output::Reasoning(more) => thought.push_str(&more),
                Output::Text(more) => text.push_str(&more),
                other => panic!("{other:?}"),
            }
        }
        (thought, text)
    }

    #[test]
    fn held_text_is_bounded() {
        let mut plain = PlainReply::new(Reasoning::Unknown);
        let blank: usize = (0..5000).map(|_| plain.push("\n").len()).sum();
        assert!(blank > 0 && plain.waiting.is_none());
        let mut plain = PlainReply::new(Reasoning::Opened);
        let thought: usize = (0..20).map(|_| plain.push(&"x".repeat(100_000)).len()).sum();
        assert!(thought > 0 && plain.waiting.is_none());
    }

    #[test]
    fn only_reasoning_at_the_beginning_is_not_text() {
        for (reply, reasoning, wanted) in [
            ("Yes.\n<think>x</think>", Reasoning::Unknown, ("", "Yes.\n<think>x</think>")),
            ("<think>\na < b\n</think>\n\nYes.", Reasoning::Unknown, ("\na < b\n", "Yes.")),
            ("<think>never closed", Reasoning::Unknown, ("", "<think>never closed")),
            ("hm\n</think>\nYes.", Reasoning::Opened, ("hm\n", "Yes.")),
            ("```tool\n{}\n```\n", Reasoning::Known, ("", "```tool\n{}\n```\n")),
            ("<", Reasoning::Unknown, ("", "<")),
            ("", Reasoning::Unknown, ("", "")),
        ] {
            for size in [1, 3, 1000] {
                let got = read(reply, size, reasoning);
                assert_eq!((got.0.as_str(), got.1.as_str()), wanted, "{reply:?} {size}");
            }
        }
    }
}
