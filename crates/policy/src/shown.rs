//! Makes untrusted text fully visible to the user.

use toolfence_protocol::invisible::{self, Invisible};

/// Returns whether a character can make a text look like another one.
pub(crate) fn deceives(c: char) -> bool {
    match c {
        ' '..='~' | '\n' | '\t' => false,
        _ if c.is_control() || c.is_whitespace() => true,
        // A variation selector belongs to the character before it.
        _ => invisible::kind(c).is_some_and(|kind| kind != Invisible::Selector),
    }
}

/// Escapes control and format characters of a text for display, and limits it to `most` characters.
pub(crate) fn escape(text: &str, most: usize) -> String {
    if text.len() <= most && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars().take(most) {
        if deceives(c) || c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    if text.chars().nth(most).is_some() {
        out.push_str("...");
    }
    out
}
