//! Tracks the conversation that a backend keeps by itself, and detects that the session's conversation differs from it.

use std::hash::{DefaultHasher, Hash, Hasher};
use toolfence_protocol::{Message, Role};

/// The conversation that a backend keeps; by default there is no such conversation.
#[derive(Debug, Default)]
pub(super) struct KeptConversation {
    /// The hash of the instructions that the backend received, if known.
    instructions: Option<u64>,
    /// The hashes of the messages that the backend received. Its reply follows them.
    sent: Vec<u64>,
    /// The state that the backend receives with the next request.
    state: Option<String>,
}

/// The part of a conversation that the backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KnownPart<'a> {
    /// The number of its first messages, the reply included; 0 if the backend's conversation differs.
    pub(super) messages: usize,
    /// Whether the backend has these instructions.
    pub(super) instructions: bool,
    /// The backend's state.
    pub(super) state: &'a str,
}

impl KeptConversation {
    /// Creates a conversation of these messages and a reply, for which the backend returned this state.
    pub(super) fn new(sent: &[Message], state: String) -> KeptConversation {
        let (instructions, sent) = split_instructions(sent);
        KeptConversation { instructions: Some(instructions), sent: sent.iter().map(hash).collect(), state: Some(state) }
    }

    /// Marks the instructions as different from those that the backend received.
    pub(super) fn with_other_instructions(self) -> KeptConversation {
        KeptConversation { instructions: None, ..self }
    }

    /// Returns the part of these messages that the backend has. The text of its reply is not compared, because a
    /// session may keep less of it than the backend.
    pub(super) fn known_part(&self, messages: &[Message]) -> KnownPart<'_> {
        let Some(state) = &self.state else { return KnownPart::default() };
        let (instructions, rest) = split_instructions(messages);
        let same = rest.get(self.sent.len()).is_some_and(|reply| reply.role == Role::Assistant)
            && self.sent.iter().zip(rest).all(|(sent, message)| *sent == hash(message));
        if !same {
            return KnownPart::default();
        }
        let messages = messages.len() - rest.len() + self.sent.len() + 1;
        KnownPart { messages, instructions: self.instructions == Some(instructions), state }
    }
}

/// Returns the hash of the instructions, and the messages after them.
fn split_instructions(messages: &[Message]) -> (u64, &[Message]) {
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
        assert_eq!(KeptConversation::default().known_part(&all), KnownPart::default());
        let kept = KeptConversation::new(&all[..2], "7".to_owned());
        assert_eq!(kept.known_part(&all), KnownPart { messages: 3, instructions: true, state: "7" });
        assert_eq!(kept.known_part(&all[..2]), KnownPart::default(), "it was taken back");
        assert_eq!(kept.known_part(&all[1..]), KnownPart { messages: 2, instructions: false, state: "7" });
        let changed = |at: usize, text: &str| {
            let mut other = all.clone();
            text.clone_into(&mut other[at].content);
            let known = kept.known_part(&other);
            (known.messages, known.instructions)
        };
        assert_eq!([changed(0, "t"), changed(1, "w"), changed(2, "b")], [(3, false), (0, false), (3, true)]);
        assert!(!kept.with_other_instructions().known_part(&all).instructions);
    }
}
