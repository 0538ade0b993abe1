//! What the parser says.

use crate::ToolCall;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// A byte range of the reply; serialised as `[start, end]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.start, self.end).serialize(serializer)
    }
}

/// One thing found in a reply. Texts come in pieces; joined pieces are the same for any chunking.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Prose for the person, quoted examples included; a piece.
    Text {
        /// The bytes of the span.
        text: String,
        /// Where.
        span: Span,
    },
    /// What the model thinks aloud; a piece. Never a call.
    Reasoning {
        /// What stands between the tags.
        text: String,
        /// Where, the tags included.
        span: Span,
        /// Set on the last piece: whether the closing tag was there.
        closed: Option<bool>,
    },
    /// A call has begun: provisional.
    Started {
        /// The id the call will have, unless its event says `replaces`.
        id: Arc<str>,
        /// As written.
        name: String,
    },
    /// More of an argument's text: provisional, a piece.
    Progress {
        /// Of [`Event::Started`].
        id: Arc<str>,
        /// Which argument: `content`, or `edits/0/replacement`.
        arg: Arc<str>,
        /// Decoded text.
        text: String,
    },
    /// A whole call.
    Call {
        /// What was read.
        #[serde(flatten)]
        call: ToolCall,
        /// Which call of its block, from 0.
        index: usize,
        /// The content of the block, as CommonMark gives it.
        body: Arc<str>,
        /// From the opening fence to the end of the closing line, without the line ending.
        span: Span,
        /// The provisional id, where the model wrote another one after its arguments.
        #[serde(skip_serializing_if = "Option::is_none")]
        replaces: Option<Arc<str>>,
    },
    /// A block that cannot be read as a call. Withdraws the provisional events of its id.
    Malformed {
        /// Of [`Event::Started`], or given by the parser.
        id: Arc<str>,
        /// The content of the block.
        body: Arc<str>,
        /// The cause and where it is.
        error: ReadError,
        /// Where.
        span: Span,
    },
    /// A block that broke off with the reply. Withdraws the provisional events of its id.
    Incomplete {
        /// Of [`Event::Started`], or given by the parser.
        id: Arc<str>,
        /// The content of the block as far as it came.
        body: Arc<str>,
        /// From the opening fence to the end.
        span: Span,
    },
    /// A readable call that does not count where it stands. Its bytes are in the text too: it is meant to be read.
    Ignored {
        /// Why it does not count.
        why: Ignored,
        /// The content of the block.
        body: Arc<str>,
        /// Where.
        span: Span,
    },
    /// A `tool_result` block in the model's own reply: models invent results. It and what follows are not to be trusted.
    ForgedResult {
        /// The content of the block.
        body: Arc<str>,
        /// Where.
        span: Span,
    },
}

impl Event {
    /// Takes `next` in where it is the next piece of the same text, reasoning or argument; gives it back where it is not.
    ///
    /// Joining every event to the one before gives the same list for any chunking of the reply.
    pub fn absorb(&mut self, next: Event) -> Option<Event> {
        match (self, next) {
            (Event::Text { text, span }, Event::Text { text: more, span: behind }) if span.end == behind.start => {
                text.push_str(&more);
                span.end = behind.end;
                None
            }
            (
                Event::Reasoning { text, span, closed: closed @ None },
                Event::Reasoning { text: more, span: behind, closed: ending },
            ) if span.end == behind.start => {
                text.push_str(&more);
                span.end = behind.end;
                *closed = ending;
                None
            }
            (Event::Progress { id, arg, text }, Event::Progress { id: same, arg: argument, text: more })
                if *id == same && *arg == argument =>
            {
                text.push_str(&more);
                None
            }
            (_, next) => Some(next),
        }
    }
}

/// Why a readable call does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ignored {
    /// In a block quote.
    Quote,
    /// In a longer or other fence.
    OuterFence,
    /// In an HTML block or comment.
    Html,
    /// Indented by four columns or more.
    Indentation,
    /// The info string begins with another word, such as `json`, or with none.
    InfoWord,
}

/// Why a block cannot be read, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReadError {
    /// Cause and advice, for the model.
    pub message: String,
    /// 1-based, in the reply.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, start: usize) -> Event {
        Event::Text { text: text.into(), span: Span { start, end: start + text.len() } }
    }

    #[test]
    fn pieces_join_where_they_touch() {
        let mut first = text("ab", 0);
        assert_eq!(first.absorb(text("cd", 2)), None);
        assert_eq!(first, text("abcd", 0));
        assert_eq!(first.absorb(text("x", 9)), Some(text("x", 9)), "a call stood between them");

        let thought =
            |closed, start| Event::Reasoning { text: "t".into(), span: Span { start, end: start + 1 }, closed };
        let mut closed = thought(None, 0);
        assert_eq!(closed.absorb(thought(Some(true), 1)), None);
        assert_eq!(closed.absorb(thought(None, 2)), Some(thought(None, 2)), "another section");
        assert_eq!(closed.absorb(text("x", 2)), Some(text("x", 2)));
    }
}
