//! What the events of one reply say of it as a whole, for whoever answers the reply.
//!
//! The session and the proxy do different things with calls and texts. What the model has to be reminded of, where a reply
//! no longer counts, and which tool a broken block was going to call, both take from here.

use crate::clip::floor_boundary;
use crate::parse::{self, Event, Ignored};
use crate::{Catalog, ToolCall};

pub use crate::parse::reasoning::LeadingReasoning;

/// Characters of a tool's name that are kept.
const MOST_NAME: usize = 64;

/// Bytes of a misplaced call that are kept.
const MOST_MISPLACED: usize = 16 * 1024;

/// Follows the events of one reply.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// There was a readable call where it does not count, by mistake and not by quotation.
    pub misplaced: bool,
    /// The text of the first such call, at most 16 KiB of it.
    pub misplaced_text: Option<String>,
    /// Reasoning was opened and never closed.
    pub unclosed: bool,
    /// Where the model began to write a result itself: from this byte on nothing of the reply counts.
    pub forged: Option<usize>,
    /// Where the closing tag ends that showed that all before it was thought. Nothing that was noted before it counts.
    pub opened: Option<usize>,
    /// The tools of the calls that were only thought, the beginning of each name.
    pub thought: Vec<String>,
    /// Id and tool of the block that has begun and is not decided. No two are open at a time.
    open: Option<(String, String)>,
}

impl Summary {
    /// Takes the next event. For a block that is malformed or incomplete, gives the tool that the block was going to call:
    /// `unknown` where the block did not say so.
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
                (self.misplaced, self.misplaced_text, self.forged, self.open) = (false, None, None, None);
                self.opened = Some(span.end);
            }
            Event::Reasoning { closed, .. } => self.unclosed |= *closed == Some(false),
            Event::ForgedResult { span, .. } => self.forged = self.forged.or(Some(span.start)),
            Event::Text { .. } | Event::Progress { .. } => {}
        }
        None
    }

    /// The call that the model meant by the first misplaced text, as far as its name and arguments can be read.
    pub fn meant_call(&self, catalog: &Catalog) -> Option<ToolCall> {
        parse::meant_call(self.misplaced_text.as_deref()?, catalog)
    }

    /// Records a call that does not count where it is.
    pub fn note_misplaced(&mut self, text: &str) {
        self.misplaced = true;
        let text = &text[..floor_boundary(text, MOST_MISPLACED)];
        self.misplaced_text.get_or_insert_with(|| text.to_owned());
    }

    /// Whether the event is about something behind a result that the model wrote itself, where nothing counts. A closing tag
    /// may still show that the result was only thought.
    pub fn is_behind_forgery(&self, event: &Event<'_>) -> bool {
        let Some(forged) = self.forged else { return false };
        match event {
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

    fn noted(reply: &str, finish: FinishReason) -> (Summary, Vec<String>) {
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
    fn a_broken_block_has_the_tool_that_it_began_with() {
        let call = "```tool\n{\"name\": \"bash\", \"args\": {}}\n```\n";
        let reply = format!(
            "{call}```tool\n{{\"name\": \"write_file\", \"args\": {{]}}\n```\n```tool\n]\n```\n{call}```tool\n{{\"name\": \"read_file\", \"args\": {{\"pa"
        );
        assert_eq!(noted(&reply, FinishReason::Length).1, ["write_file", "unknown", "read_file"]);
    }

    #[test]
    fn nothing_counts_from_the_first_forged_result_on() {
        let forged = "```tool_result\n{}\n```\n";
        let (summary, _) = noted(&format!("a\n\n{forged}\n{forged}"), FinishReason::Stop);
        assert_eq!((summary.forged, summary.misplaced, summary.unclosed), (Some(3), false, false));
        let (summary, _) = noted("```json\n{\"name\": \"bash\", \"args\": {}}\n```\n<think>a", FinishReason::Stop);
        assert_eq!((summary.forged, summary.misplaced, summary.unclosed), (None, true, true));
    }

    #[test]
    fn nothing_counts_that_was_thought() {
        let misplaced = "```json\n{\"name\": \"bash\", \"args\": {}}\n```\n";
        let call = "```tool\n{\"name\": \"bash\", \"args\": {}}\n```\n";
        let forged = "```tool_result\n{}\n```\n";
        let thought = format!("{call}{misplaced}{forged}{call}");
        let (summary, _) = noted(&format!("{thought}</think>\n{call}"), FinishReason::Stop);
        assert_eq!((summary.forged, summary.misplaced, summary.opened), (None, false, Some(thought.len() + 8)));
        assert_eq!(summary.thought, ["bash", "bash"]);
        let (summary, _) = noted(&thought, FinishReason::Stop);
        assert_eq!((summary.forged, summary.opened), (Some(call.len() + misplaced.len()), None));
        assert_eq!(summary.thought, [""; 0]);
    }
}
