//! The events of the parser.

use crate::{Text, ToolCall, text};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

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

/// One thing that was found in a reply. Texts come in pieces; joined, the pieces do not depend on the chunks.
///
/// An event borrows its texts from the parser until the next one is asked for; [`into_owned`](Event::into_owned) keeps
/// it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event<'a> {
    /// Prose for the person, quoted examples included; a piece.
    Text {
        /// The bytes of the span.
        text: Cow<'a, str>,
        /// Where the text stands.
        span: Span,
    },
    /// What the model thinks aloud; a piece. Never a call.
    Reasoning {
        /// What stands between the tags.
        text: Cow<'a, str>,
        /// Where, the tags included.
        span: Span,
        /// Set on the last piece: whether the closing tag was there.
        closed: Option<bool>,
        /// There was no opening tag: the template of the backend had opened the reasoning before the reply began. All that
        /// was delivered of the reply before this event was thought: its texts are no answer, its calls follow as
        /// [`Event::Ignored`], and whatever else was found in it does not count. The text is empty and the span is that of
        /// the closing tag. Only under [`Reasoning::Unknown`](super::Reasoning::Unknown).
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        unopened: bool,
    },
    /// A call has begun: provisional. Of several calls in one block only the first is started; the others come whole.
    Started {
        /// The id that the call will have. An id that the model writes after the arguments does not count.
        id: Cow<'a, str>,
        /// As written.
        name: Cow<'a, str>,
    },
    /// More of an argument's text: provisional, a piece.
    Progress {
        /// Of [`Event::Started`].
        id: Cow<'a, str>,
        /// Which argument. Texts inside a list or an object come with the call.
        arg: Cow<'a, str>,
        /// Decoded text.
        text: Cow<'a, str>,
    },
    /// A whole call.
    Call {
        /// What was read.
        #[serde(flatten)]
        call: Box<ToolCall>,
        /// Which call of its block, from 0.
        index: usize,
        /// The content of the block, as CommonMark gives it.
        body: Cow<'a, str>,
        /// From the opening fence to the end of the closing line, without the line ending.
        span: Span,
    },
    /// A block that cannot be read as a call. Withdraws the provisional events of its id.
    Malformed {
        /// Of [`Event::Started`], or given by the parser.
        id: Cow<'a, str>,
        /// The content of the block.
        body: Cow<'a, str>,
        /// The cause and where it is.
        error: Box<ReadError>,
        /// Where.
        span: Span,
    },
    /// A block that broke off with the reply. Withdraws the provisional events of its id.
    Incomplete {
        /// Of [`Event::Started`], or given by the parser.
        id: Cow<'a, str>,
        /// The content of the block as far as it came.
        body: Cow<'a, str>,
        /// From the opening fence to the end.
        span: Span,
    },
    /// A readable call that does not count where it stands. Its bytes are in the text too, for it is meant to be read, unless
    /// it was only thought: then this withdraws the provisional events of its id.
    Ignored {
        /// Why it does not count.
        why: Ignored,
        /// Of [`Event::Started`], for a call that was only thought.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        /// The tool, for a call that was only thought.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Cow<'a, str>>,
        /// The content of the block.
        body: Cow<'a, str>,
        /// Where.
        span: Span,
    },
    /// A `tool_result` block in the model's own reply: models invent results. It and what follows are not to be
    /// trusted.
    ForgedResult {
        /// The content of the block.
        body: Cow<'a, str>,
        /// Where.
        span: Span,
    },
}

impl<'a> Event<'a> {
    /// Fills in the body of a tool block, in an event about one. An ignored call has its own, unless it was only thought.
    pub(super) fn with_body(mut self, block: &'a str) -> Event<'a> {
        if let Event::Call { body, .. }
        | Event::Malformed { body, .. }
        | Event::Incomplete { body, .. }
        | Event::ForgedResult { body, .. }
        | Event::Ignored { why: Ignored::Reasoning, body, .. } = &mut self
        {
            *body = block.into();
        }
        self
    }

    /// Appends `next` where it is the next piece of this text, reasoning or argument; gives it back where it is not.
    ///
    /// The list that results when every event is absorbed into the one before does not depend on the chunks of the
    /// reply.
    pub fn absorb<'b>(&mut self, next: Event<'b>) -> Option<Event<'b>> {
        match (self, next) {
            (Event::Text { text, span }, Event::Text { text: more, span: behind }) if span.end == behind.start => {
                text.to_mut().push_str(&more);
                span.end = behind.end;
                None
            }
            (
                Event::Reasoning { text, span, closed: closed @ None, .. },
                Event::Reasoning { text: more, span: behind, closed: ending, unopened: false },
            ) if span.end == behind.start => {
                text.to_mut().push_str(&more);
                span.end = behind.end;
                *closed = ending;
                None
            }
            (Event::Progress { id, arg, text }, Event::Progress { id: same, arg: argument, text: more })
                if *id == same && *arg == argument =>
            {
                text.to_mut().push_str(&more);
                None
            }
            (_, next) => Some(next),
        }
    }

    /// Turns borrowed texts into owned ones, so that the event outlives the next poll.
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Event::Text { text, span } => Event::Text { text: owned(text), span },
            Event::Reasoning { text, span, closed, unopened } => {
                Event::Reasoning { text: owned(text), span, closed, unopened }
            }
            Event::Started { id, name } => Event::Started { id: owned(id), name: owned(name) },
            Event::Progress { id, arg, text } => Event::Progress { id: owned(id), arg: owned(arg), text: owned(text) },
            Event::Call { call, index, body, span } => Event::Call { call, index, body: owned(body), span },
            Event::Malformed { id, body, error, span } => {
                Event::Malformed { id: owned(id), body: owned(body), error, span }
            }
            Event::Incomplete { id, body, span } => Event::Incomplete { id: owned(id), body: owned(body), span },
            Event::Ignored { why, id, name, body, span } => {
                Event::Ignored { why, id: id.map(owned), name: name.map(owned), body: owned(body), span }
            }
            Event::ForgedResult { body, span } => Event::ForgedResult { body: owned(body), span },
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
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
    /// In no fence at all: a bare object with other text around it.
    Unfenced,
    /// The fence, or the token of a dialect, stands behind other text on its line.
    NotAtLineStart,
    /// Behind the token of a dialect, or in no fence, in a form that is not read: the name of a tool on offer, and something
    /// like arguments behind it.
    WrongForm,
    /// In reasoning that the template of the backend had opened, as a closing tag behind it shows.
    Reasoning,
    /// In the reply that follows the last round of a session, which runs nothing. Only a session has this reason, also for a
    /// block that cannot be read.
    LastRound,
}

impl Ignored {
    /// Every reason, in the order of the schemas.
    pub const ALL: [Ignored; 10] = [
        Ignored::Quote,
        Ignored::OuterFence,
        Ignored::Html,
        Ignored::Indentation,
        Ignored::InfoWord,
        Ignored::Unfenced,
        Ignored::NotAtLineStart,
        Ignored::WrongForm,
        Ignored::Reasoning,
        Ignored::LastRound,
    ];

    /// Whether the model most likely meant the call to run and put it in the wrong place. A call in a quote or in an
    /// outer fence is an example, and one in reasoning is a thought: the model needs no reminder.
    pub fn is_misplaced(self) -> bool {
        match self {
            Ignored::Html
            | Ignored::Indentation
            | Ignored::InfoWord
            | Ignored::Unfenced
            | Ignored::NotAtLineStart
            | Ignored::WrongForm => true,
            Ignored::Quote | Ignored::OuterFence | Ignored::Reasoning | Ignored::LastRound => false,
        }
    }
}

/// Why a block cannot be read, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReadError {
    /// Cause and advice, for the model.
    pub message: Text,
    /// 1-based, in the reply.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
}

impl ReadError {
    /// The answer for the model: that the block could not be read, where in its reply, and the message.
    pub fn answer(&self) -> Text {
        text!(
            "This block could not be read, at line {line}, column {column} of your reply: {problem}",
            line = self.line,
            column = self.column,
            problem = self.message.clone()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, start: usize) -> Event<'_> {
        Event::Text { text: text.into(), span: Span { start, end: start + text.len() } }
    }

    #[test]
    fn pieces_join_where_they_touch() {
        let mut first = text("ab", 0);
        assert_eq!(first.absorb(text("cd", 2)), None);
        assert_eq!(first, text("abcd", 0));
        assert_eq!(first.absorb(text("x", 9)), Some(text("x", 9)), "a call stood between them");

        let thought = |closed, start| {
            let span = Span { start, end: start + 1 };
            Event::Reasoning { text: "t".into(), span, closed, unopened: false }
        };
        let mut closed = thought(None, 0);
        assert_eq!(closed.absorb(thought(Some(true), 1)), None);
        assert_eq!(closed.absorb(thought(None, 2)), Some(thought(None, 2)), "another section");
        assert_eq!(closed.absorb(text("x", 2)), Some(text("x", 2)));
    }
}
