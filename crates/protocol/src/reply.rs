//! What the events of one reply say of it as a whole, for whoever answers the reply.
//!
//! The session and the proxy do different things with calls and texts. What the model has to be reminded of, where a reply
//! no longer counts, and which tool a broken block was going to call, both take from here.

use crate::parse::Event;

/// Follows the events of one reply.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// There was a readable call where it does not count, by mistake and not by quotation.
    pub misplaced: bool,
    /// Reasoning was opened and never closed.
    pub unclosed: bool,
    /// Where the model began to write a result itself: from this byte on nothing of the reply counts.
    pub forged: Option<usize>,
    /// Id and tool of the block that has begun and is not decided. No two are open at a time.
    open: Option<(String, String)>,
}

impl Summary {
    /// Takes the next event. Of a block that is no call after all, gives the tool that it was going to call: `unknown` where
    /// the block did not say so.
    pub fn note(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Started { id, name } => self.open = Some((id.to_string(), name.to_string())),
            Event::Call { .. } => self.open = None,
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                let begun = self.open.take().filter(|(open, _)| open == id);
                return Some(begun.map_or_else(|| "unknown".to_owned(), |(_, tool)| tool));
            }
            Event::Ignored { why, .. } => self.misplaced |= why.is_misplaced(),
            Event::Reasoning { closed, .. } => self.unclosed |= *closed == Some(false),
            Event::ForgedResult { span, .. } => self.forged = Some(span.start),
            Event::Text { .. } | Event::Progress { .. } => {}
        }
        None
    }
}
