//! What a backend keeps of the conversation by itself, and whether the conversation is still the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use toolfence_protocol::{Message, Role};

/// The conversation that a backend keeps. By default there is none.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The instructions that it was sent by their hash, where they are known.
    instructions: Option<u64>,
    /// The messages that it was sent, each by its hash. Behind them stands its reply.
    sent: Vec<u64>,
    /// What the backend wants back.
    state: Option<String>,
}

/// What the backend has of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Known<'a> {
    /// So many of its messages, the reply included; 0 where they do not begin with what the backend has.
    pub(super) messages: usize,
    /// Whether it has these instructions.
    pub(super) instructions: bool,
    /// What it wants back.
    pub(super) state: &'a str,
}

impl Kept {
    /// A conversation of these messages and a reply, of which the backend said this.
    pub(super) fn new(sent: &[Message], state: String) -> Kept {
        let (instructions, sent) = apart(sent);
        Kept { instructions: Some(instructions), sent: sent.iter().map(hash).collect(), state: Some(state) }
    }

    /// A kept conversation whose instructions are not those that the backend was sent.
    pub(super) fn with_other_instructions(self) -> Kept {
        Kept { instructions: None, ..self }
    }

    /// What the backend has of these messages. The text of its reply does not count: a session may keep less of it than the backend
    /// does.
    pub(super) fn of(&self, messages: &[Message]) -> Known<'_> {
        let Some(state) = &self.state else { return Known::default() };
        let (instructions, rest) = apart(messages);
        let same = rest.get(self.sent.len()).is_some_and(|reply| reply.role == Role::Assistant)
            && self.sent.iter().zip(rest).all(|(sent, message)| *sent == hash(message));
        if !same {
            return Known::default();
        }
        let messages = messages.len() - rest.len() + self.sent.len() + 1;
        Known { messages, instructions: self.instructions == Some(instructions), state }
    }
}

/// The instructions by their hash, and the messages behind them.
fn apart(messages: &[Message]) -> (u64, &[Message]) {
    match messages {
        [first, rest @ ..] if first.role == Role::System => (hash(first), rest),
        all => (0, all),
    }
}

fn hash(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    (message.role == Role::User, message.role == Role::System, &message.content).hash(&mut hasher);
    message.images.iter().for_each(|image| (image.name(), image.base64()).hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_that_was_changed_is_not_kept() {
        let all: Vec<Message> = [(Role::System, "s"), (Role::User, "u"), (Role::Assistant, "a"), (Role::User, "v")]
            .map(|(role, text)| Message::new(role, text))
            .to_vec();
        assert_eq!(Kept::default().of(&all), Known::default());
        let kept = Kept::new(&all[..2], "7".to_owned());
        assert_eq!(kept.of(&all), Known { messages: 3, instructions: true, state: "7" });
        assert_eq!(kept.of(&all[..2]), Known::default(), "it was taken back");
        assert_eq!(kept.of(&all[1..]), Known { messages: 2, instructions: false, state: "7" });
        let changed = |at: usize, text: &str| {
            let mut other = all.clone();
            text.clone_into(&mut other[at].content);
            let known = kept.of(&other);
            (known.messages, known.instructions)
        };
        assert_eq!([changed(0, "t"), changed(1, "w"), changed(2, "b")], [(3, false), (0, false), (3, true)]);
        assert!(!kept.with_other_instructions().of(&all).instructions);
    }
}
