//! A conversation as data, and its rendering as chat messages.
//!
//! Rendered messages are never parsed again: compaction, transcripts and summaries use the turns.

use std::borrow::Cow;
use toolfence_protocol::format::{self, Format};
use toolfence_protocol::{Image, Message, Role, ToolCall, ToolResult};

/// A message of the user and the replies to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turn {
    /// The message of the user, preceded by the notes that are sent with it.
    pub user: Vec<Note>,
    /// The images that the user shows with the message.
    pub images: Vec<Image>,
    /// The replies of the model, in order.
    pub replies: Vec<Reply>,
}

/// A reply of the model, with the answers to its calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The reply as the model wrote it, up to a forged result. It is sent back to the model in this form.
    pub text: String,
    /// The calls of the reply as they ran: with the names that the catalog teaches, and as edited by the user.
    pub calls: Vec<ToolCall>,
    /// The answer to each call and to each unreadable block, in the order of the reply; then the result of the
    /// project's checks.
    pub results: Vec<ToolResult>,
    /// Texts that are sent below the results.
    pub notes: Vec<Note>,
}

/// A text in a user message that is not the result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The words of the user.
    User(String),
    /// A note of the session or of its host, such as a reminder.
    Session(String),
}

impl Note {
    /// Returns the text of the note.
    pub fn text(&self) -> &str {
        let (Note::User(text) | Note::Session(text)) = self;
        text
    }
}

impl Turn {
    /// Converts chat messages into turns, without calls and results as data. Instructions are left out.
    pub fn from_messages(messages: impl IntoIterator<Item = Message>) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        for Message { role, content, images } in messages {
            match role {
                Role::System => {}
                Role::User => turns.push(Turn { user: vec![Note::User(content)], images, replies: Vec::new() }),
                Role::Assistant => {
                    if turns.is_empty() {
                        turns.push(Turn::default());
                    }
                    if let Some(turn) = turns.last_mut() {
                        turn.replies.push(Reply { text: content, ..Reply::default() });
                    }
                }
            }
        }
        turns
    }
}

/// Renders turns as chat messages in which user and assistant alternate.
pub fn render(turns: &[Turn], format: &Format) -> Vec<Message> {
    entries(turns).iter().map(|entry| entry.render(format)).collect()
}

/// A chat message before it is rendered.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<'a>>,
    pub(super) images: Vec<Image>,
}

/// A part of a chat message.
#[derive(Debug, Clone)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    /// The words of the user.
    User(&'a str),
    /// Results, and the calls that they answer.
    Results(&'a [ToolCall], Cow<'a, [ToolResult]>),
}

impl<'a> Entry<'a> {
    pub(super) fn new(role: Role) -> Entry<'a> {
        Entry { role, parts: Vec::new(), images: Vec::new() }
    }

    fn add_notes(&mut self, notes: &'a [Note]) {
        self.parts.extend(notes.iter().map(|note| match note {
            Note::User(text) => Part::User(text),
            Note::Session(text) => Part::Text(text.into()),
        }));
    }

    pub(super) fn render(&self, format: &Format) -> Message {
        let parts = self.parts.iter().map(|part| part.render(format));
        let parts: Vec<Cow<'_, str>> = parts.filter(|part| !part.is_empty()).collect();
        // A reply that continues another one continues its text.
        let between = if self.role == Role::Assistant { "" } else { "\n\n" };
        Message { images: self.images.clone(), ..Message::new(self.role, parts.join(between)) }
    }
}

impl Part<'_> {
    pub(super) fn render(&self, format: &Format) -> Cow<'_, str> {
        match self {
            Part::Text(text) => text.as_ref().into(),
            Part::User(text) => (*text).into(),
            Part::Results(_, results) => format::results(results, format).into(),
        }
    }
}

/// Converts turns into chat messages.
pub(super) fn entries(turns: &[Turn]) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for turn in turns {
        if !turn.user.is_empty() || !turn.images.is_empty() {
            let message = message(&mut entries, Role::User);
            message.add_notes(&turn.user);
            message.images.extend_from_slice(&turn.images);
        }
        add_replies(&mut entries, &turn.replies);
    }
    entries
}

/// Adds the messages of these replies and of their results.
pub(super) fn add_replies<'a>(entries: &mut Vec<Entry<'a>>, replies: &'a [Reply]) {
    for reply in replies {
        if !reply.text.trim().is_empty() {
            message(entries, Role::Assistant).parts.push(Part::Text(reply.text.as_str().into()));
        }
        if reply.results.is_empty() && reply.notes.is_empty() {
            continue;
        }
        let message = message(entries, Role::User);
        if !reply.results.is_empty() {
            message.parts.push(Part::Results(&reply.calls, reply.results.as_slice().into()));
        }
        let images = reply.results.iter().flat_map(|result| &result.images);
        message.images.extend(images.take(Image::MOST).cloned());
        message.add_notes(&reply.notes);
    }
}

/// Returns the last message if it has this role, or else a new one. Many backends refuse two messages in a row with the
/// same role.
fn message<'e, 'a>(entries: &'e mut Vec<Entry<'a>>, role: Role) -> &'e mut Entry<'a> {
    if entries.last().is_none_or(|last| last.role != role) {
        entries.push(Entry::new(role));
    }
    let last = entries.len() - 1;
    &mut entries[last]
}
