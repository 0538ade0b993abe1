//! The events of the parser.

use crate::{Text, ToolCall, text};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A byte range of the reply, serialised as `[start, end]`.
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

/// Something that the parser found in a reply. Texts come in pieces; the joined pieces do not depend on the chunks.
///
/// An event borrows its texts from the parser until the next call of `poll`; [`into_owned`](Event::into_owned) makes it
/// independent of the parser.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event<'a> {
    /// A piece of prose for the user, including quoted examples.
    Text {
        /// The text of the span.
        text: Cow<'a, str>,
        /// The position of the text.
        span: Span,
    },
    /// A piece of the model's reasoning. It contains no calls.
    Reasoning {
        /// The text between the tags.
        text: Cow<'a, str>,
        /// The position, including the tags.
        span: Span,
        /// On the last piece, whether there was a closing tag; `None` on every other piece.
        closed: Option<bool>,
        /// The opening tag is missing because the template of the backend opened the reasoning before the reply began.
        /// Everything delivered before this event was reasoning: its texts are not part of the answer, its calls follow
        /// as [`Event::Ignored`], and its other findings do not count. The text is empty and the span is that of the
        /// closing tag. Occurs only under [`Reasoning::Unknown`](super::Reasoning::Unknown).
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        unopened: bool,
    },
    /// A call has begun (provisional). If a block has several calls, only the first is announced; the others are
    /// delivered whole.
    Started {
        /// The id that the call will have. An id that the model writes after the arguments is ignored.
        id: Cow<'a, str>,
        /// The tool's name as the model wrote it.
        name: Cow<'a, str>,
    },
    /// The next piece of an argument's text (provisional).
    Progress {
        /// The id from [`Event::Started`].
        id: Cow<'a, str>,
        /// The name of the argument. Texts inside a list or an object are delivered only with the call.
        arg: Cow<'a, str>,
        /// The decoded text.
        text: Cow<'a, str>,
    },
    /// A complete call.
    Call {
        /// The call.
        #[serde(flatten)]
        call: Box<ToolCall>,
        /// The position of the call within its block, from 0.
        index: usize,
        /// The content of the block, as CommonMark gives it.
        body: Cow<'a, str>,
        /// The range from the opening fence to the end of the closing line, without the line ending.
        span: Span,
    },
    /// A block that cannot be read as a call. It withdraws the provisional events of its id.
    Malformed {
        /// The id from [`Event::Started`], or one that the parser assigned.
        id: Cow<'a, str>,
        /// The content of the block.
        body: Cow<'a, str>,
        /// The cause and its position.
        error: Box<ReadError>,
        /// The position of the block.
        span: Span,
    },
    /// A block that broke off with the reply. It withdraws the provisional events of its id.
    Incomplete {
        /// The id from [`Event::Started`], or one that the parser assigned.
        id: Cow<'a, str>,
        /// The content of the block up to the end of the reply.
        body: Cow<'a, str>,
        /// The range from the opening fence to the end of the reply.
        span: Span,
    },
    /// A readable call in a place where calls do not count. Its bytes are also delivered as text for the reader, unless
    /// it was part of the reasoning: then this event withdraws the provisional events of its id.
    Ignored {
        /// The reason why it does not count.
        why: Ignored,
        /// The id from [`Event::Started`], for a call in reasoning.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        /// The name of the tool, for a call in reasoning.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Cow<'a, str>>,
        /// The content of the block.
        body: Cow<'a, str>,
        /// The position of the block.
        span: Span,
    },
    /// A `tool_result` block in the model's own reply: models invent results. Neither the block nor anything after it
    /// can be trusted.
    ForgedResult {
        /// The content of the block.
        body: Cow<'a, str>,
        /// The position of the block.
        span: Span,
    },
}

impl<'a> Event<'a> {
    /// Fills in the body of a tool block in an event about it. Ignored calls bring their own body, except those in
    /// reasoning.
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

    /// Appends `next` if it continues this text, reasoning or argument; returns it otherwise.
    ///
    /// The list that results from absorbing every event into its predecessor does not depend on the chunks of the
    /// reply.
    pub fn absorb<'b>(&mut self, next: Event<'b>) -> Option<Event<'b>> {
        match (self, next) {
            (Event::Text { text, span }, Event::Text { text: more, span: next_span })
                if span.end == next_span.start =>
            {
                text.to_mut().push_str(&more);
                span.end = next_span.end;
                None
            }
            (
                Event::Reasoning { text, span, closed: closed @ None, .. },
                Event::Reasoning { text: more, span: next_span, closed: ending, unopened: false },
            ) if span.end == next_span.start => {
                text.to_mut().push_str(&more);
                span.end = next_span.end;
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

    /// Converts borrowed texts into owned ones, so that the event outlives the next poll.
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
    /// In a fence that is longer or has another info word.
    OuterFence,
    /// In an HTML block or comment.
    Html,
    /// Indented by four columns or more.
    Indentation,
    /// In a fenced block whose info string is empty or begins with another word, such as `json`.
    InfoWord,
    /// In no fence: a bare object with other text around it.
    Unfenced,
    /// Other text precedes the fence or the token of a dialect on its line.
    NotAtLineStart,
    /// After the token of a dialect or in no fence, in a form that is not read: the name of a tool on offer, followed
    /// by something like arguments.
    WrongForm,
    /// In reasoning that the template of the backend opened, as a later closing tag shows.
    Reasoning,
    /// In the reply after the last round of a session, where nothing runs. Only a session uses this reason, also for a
    /// block that cannot be read.
    LastRound,
}

impl Ignored {
    /// All reasons, in the order of the schemas.
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

    /// Returns `true` if the model most likely meant the call to run and put it in the wrong place. A call in a quote
    /// or in an outer fence is an example, and one in reasoning is a thought: the model needs no reminder.
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

/// Why a block cannot be read, the position of the problem, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReadError {
    /// The cause and advice for the model.
    pub message: Text,
    /// The line of the reply, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl ReadError {
    /// Returns the answer for the model: that the block could not be read, the position in its reply, and the message.
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
    fn adjacent_pieces_join() {
        let mut first = text("ab", 0);
        assert_eq!(first.absorb(text("cd", 2)), None);
        assert_eq!(first, text("abcd", 0));
        assert_eq!(first.absorb(text("x", 9)), Some(text("x", 9)), "a call separates them");

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
