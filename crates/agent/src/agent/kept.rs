//! What a backend keeps of the conversation by itself, and whether the conversation is still the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use toolfence_protocol::{Message, Role};

/// The conversation that a backend keeps. By default there is none.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The messages that it was sent, each by its hash. Behind them stands its reply.
    sent: Vec<u64>,
    /// What the backend wants back.
    state: Option<String>,
}

impl Kept {
    /// A conversation of these messages and a reply, of which the backend said this.
    pub(super) fn new(sent: &[Message], state: String) -> Kept {
        Kept { sent: sent.iter().map(hash).collect(), state: Some(state) }
    }

    /// How many of these messages the backend has, its reply included, and what it wants back; 0 where they do not begin with
    /// what it has. The text of the reply does not count: a session may keep less of it than the backend does.
    pub(super) fn of(&self, messages: &[Message]) -> (usize, &str) {
        let Some(state) = &self.state else { return (0, "") };
        let same = messages.len() > self.sent.len()
            && messages[self.sent.len()].role == Role::Assistant
            && self.sent.iter().zip(messages).all(|(sent, message)| *sent == hash(message));
        if same { (self.sent.len() + 1, state) } else { (0, "") }
    }
}

fn hash(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    (message.role == Role::User, message.role == Role::System, &message.content).hash(&mut hasher);
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
        assert_eq!(Kept::default().of(&all), (0, ""));
        let kept = Kept::new(&all[..2], "7".to_owned());
        assert_eq!(kept.of(&all), (3, "7"));
        assert_eq!(kept.of(&all[..2]), (0, ""), "it was taken back");
        let changed = |at: usize, text: &str| {
            let mut other = all.clone();
            text.clone_into(&mut other[at].content);
            kept.of(&other).0
        };
        assert_eq!([changed(0, "t"), changed(1, "w"), changed(2, "b"), changed(3, "w")], [0, 0, 3, 3]);
    }
}
