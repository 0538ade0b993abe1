//! Summarises the events of one reply, for the code that answers it.
//!
//! The session and the proxy handle calls and texts differently. Both use this summary to find reminders for the model,
//! the point from which a reply no longer counts, and the tool that a broken block was going to call.

use crate::clip::floor_boundary;
use crate::parse::{self, Event, Ignored};
use crate::{Catalog, ToolCall};

pub use crate::parse::reasoning::LeadingReasoning;

/// The maximum number of characters in a tool's name.
const MOST_NAME: usize = 64;

/// The maximum number of bytes in a misplaced call.
const MOST_MISPLACED: usize = 16 * 1024;

/// Collects the events of one reply.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Whether there was a readable call in a place where it does not count, by mistake rather than as a quotation.
    pub misplaced: bool,
    /// The text of the first such call, at most 16 KiB.
    pub misplaced_text: Option<String>,
    /// Whether reasoning was opened and never closed.
    pub unclosed: bool,
    /// The byte at which the model began to write a result itself. Nothing from there on counts.
    pub forged: Option<usize>,
    /// The end of the closing tag that showed that everything before it was reasoning. Nothing before it counts.
    pub opened: Option<usize>,
    /// The tools of the calls in reasoning, with names cut to their beginning.
    pub thought: Vec<String>,
    /// Id and tool of the block that has begun and is not decided. At most one is open at a time.
    open: Option<(String, String)>,
}

impl Summary {
    /// Records the next event. Returns the tool that a malformed or incomplete block was going to call, or `unknown` if
    /// the block did not name it.
    pub fn note(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Started { id, name } => self.open = Some((id.to_string(), name.to_string())),
            Event::Call { call, .. } => drop(self.open.take_if(|(open, _)| *open == call.id)),
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                let begun = self.open.take().filter(|(open, _)| open == id);
                return Some(begun.map_or_else(|| "unknown".to_owned(), |(_, tool)| tool));
            }
            Event::Ignored { why: Ignored::Reasoning, name, .. } => {
                let name = name.as_deref().unwrap_or("unknown");
                self.thought.push(name.chars().take(MOST_NAME).collect());
            }
            Event::Ignored { why, body, .. } if why.is_misplaced() => self.note_misplaced(body),
            Event::Ignored { .. } => {}
            Event::Reasoning { unopened: true, span, .. } => {
                // Everything before the tag was reasoning, where none of these findings count.
                (self.misplaced, self.misplaced_text, self.forged, self.open) = (false, None, None, None);
                self.opened = Some(span.end);
            }
            Event::Reasoning { closed, .. } => self.unclosed |= *closed == Some(false),
            Event::ForgedResult { span, .. } => self.forged = self.forged.or(Some(span.start)),
            Event::Text { .. } | Event::Progress { .. } => {}
        }
        None
    }

    /// Reads the call that the model meant by the first misplaced text, as far as its name and arguments can be
    /// recognised.
    pub fn meant_call(&self, catalog: &Catalog) -> Option<ToolCall> {
        parse::meant_call(self.misplaced_text.as_deref()?, catalog)
    }

    /// Records a call in a place where it does not count.
    pub fn note_misplaced(&mut self, text: &str) {
        self.misplaced = true;
        let text = &text[..floor_boundary(text, MOST_MISPLACED)];
        self.misplaced_text.get_or_insert_with(|| text.to_owned());
    }

    /// Returns `true` if the event is about something after a result that the model wrote itself, where nothing counts.
    /// A closing tag may still show that the result was part of reasoning.
    pub fn follows_forgery(&self, event: &Event<'_>) -> bool {
        let Some(forged) = self.forged else { return false };
        match event {
            // A call that was held back is delivered after a forged result that follows it in the reply, and still
            // counts.
            Event::Call { span, .. } => span.start > forged,
            Event::Ignored { why: Ignored::Reasoning, .. } | Event::Reasoning { unopened: true, .. } => false,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FinishReason;
    use crate::parse::{Options, Parser};

    fn summarize(reply: &str, finish: FinishReason) -> (Summary, Vec<String>) {
        let mut parser = Parser::new(Options::default());
        parser.push(reply);
        parser.finish(finish);
        let (mut summary, mut broken) = (Summary::default(), Vec::new());
        while let Some(event) = parser.poll() {
            broken.extend(summary.note(&event));
        }
        (summary, broken)
    }

    #[test]
    fn broken_blocks_report_their_tool() {
        let call = "```tool\n{\"name\": \"bash\", \"args\": {}}\n```\n";
        let reply = format!(
            "{call}```tool\n{{\"name\": \"write_file\", \"args\": {{]}}\n```\n```tool\n]\n```\n{call}```tool\n{{\"name\": \"read_file\", \"args\": {{\"pa"
        );
        assert_eq!(summarize(&reply, FinishReason::Length).1, ["write_file", "unknown", "read_file"]);
    }

    #[test]
    fn nothing_after_a_forged_result_counts() {
        let forged = "```tool_result\n{}\n```\n";
        let (summary, _) = summarize(&format!("a\n\n{forged}\n{forged}"), FinishReason::Stop);
        assert_eq!((summary.forged, summary.misplaced, summary.unclosed), (Some(3), false, false));
        let (summary, _) = summarize("```json\n{\"name\": \"bash\", \"args\": {}}\n```\n<think>a", FinishReason::Stop);
        assert_eq!((summary.forged, summary.misplaced, summary.unclosed), (None, true, true));
    }

    #[test]
    fn nothing_in_reasoning_counts() {
        let misplaced = "```json\n{\"name\": \"bash\", \"args\": {}}\n```\n";
        let call = "```tool\n{\"name\": \"bash\", \"args\": {}}\n```\n";
        let forged = "```tool_result\n{}\n```\n";
        let thought = format!("{call}{misplaced}{forged}{call}");
        let (summary, _) = summarize(&format!("{thought}</think>\n{call}"), FinishReason::Stop);
        assert_eq!((summary.forged, summary.misplaced, summary.opened), (None, false, Some(thought.len() + 8)));
        assert_eq!(summary.thought, ["bash", "bash"]);
        let (summary, _) = summarize(&thought, FinishReason::Stop);
        assert_eq!((summary.forged, summary.opened), (Some(call.len() + misplaced.len()), None));
        assert_eq!(summary.thought, [""; 0]);
    }
}
