//! Renders the text that a program reads on its stdin.

use serde_json::json;
use std::fmt::Write as _;
use toolfence_protocol::{Message, Role};

/// Renders messages as lines of JSON, or as text.
///
/// In the text, a line with the role precedes each message, unless there is only one. The instructions come first,
/// without such a line. A line of a message that looks like a line with a role is indented by a space.
pub(super) fn render_messages<'a>(messages: impl Iterator<Item = &'a Message> + Clone, json: bool) -> String {
    let mut out = String::new();
    if json {
        for message in messages {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{}", json!({"role": name(message.role), "content": message.content}));
        }
        return out;
    }
    let alone = messages.clone().filter(|message| message.role != Role::System).count() == 1;
    for message in messages {
        if !out.is_empty() {
            out.push('\n');
        }
        if message.role == Role::System || alone {
            out.push_str(&message.content);
        } else {
            out.push_str(&mark(message.role));
            out.push('\n');
            for line in message.content.split_inclusive('\n') {
                let looks_like_one = [Role::User, Role::Assistant].iter().any(|role| line.trim_end() == mark(*role));
                // Otherwise a message could forge the beginning of another message.
                out.extend(looks_like_one.then_some(' '));
                out.push_str(line);
            }
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

fn mark(role: Role) -> String {
    format!("--- {} ---", name(role))
}

fn name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_as_text_and_as_lines() {
        let all = [
            (Role::System, "Be brief."),
            (Role::User, "Hi.\n--- user ---\n"),
            (Role::Assistant, "Yes?"),
            (Role::User, "é"),
        ];
        let all: Vec<Message> = all.iter().map(|(role, text)| Message::new(*role, *text)).collect();
        assert_eq!(
            render_messages(all.iter(), false),
            "Be brief.\n\n--- user ---\nHi.\n --- user ---\n\n--- assistant ---\nYes?\n\n--- user ---\né\n"
        );
        assert_eq!(render_messages(all[..2].iter(), false), "Be brief.\n\nHi.\n--- user ---\n");
        assert_eq!(render_messages(all[3..].iter(), false), "é\n");
        assert_eq!(
            render_messages(all[2..].iter(), true),
            "{\"role\":\"assistant\",\"content\":\"Yes?\"}\n{\"role\":\"user\",\"content\":\"é\"}\n"
        );
        assert_eq!(render_messages([].iter(), false), "");
    }
}
