//! A table of invisible characters, shared by the code that displays, refuses or ignores them.
//!
//! Each caller decides what to do with a kind: a variation selector is common in an emoji and deceptive in a command,
//! and some scripts use zero-width marks. White space and control characters are not in the table because the standard
//! library knows them. The two separators of Unicode are, since they break lines unexpectedly.

use std::borrow::Cow;

/// The kind of an invisible character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invisible {
    /// Takes the room of a letter or sign and is blank: the fillers of Hangul, the empty pattern of Braille.
    Filler,
    /// Takes no room: a soft hyphen, a zero-width space, a byte order mark.
    ZeroWidth,
    /// Joins the signs around it into one, as in many emoji: U+200D.
    Joiner,
    /// Selects the appearance of the preceding sign, as in many emoji: U+FE00 to U+FE0F.
    Selector,
    /// Selects a variant of the preceding ideograph: U+E0100 to U+E01EF.
    IdeographSelector,
    /// Changes or marks the direction of the text.
    Direction,
    /// Begins or ends an interlinear annotation.
    Annotation,
    /// Ends a line or a paragraph.
    Separator,
    /// A tag, or an unassigned code point in the same block.
    Tag,
}

/// Returns the kind of an invisible character; `None` for visible ones, control characters and other white space.
///
/// ```
/// use toolfence_protocol::invisible::{Invisible, kind};
///
/// assert_eq!(kind('\u{2800}'), Some(Invisible::Filler));
/// assert_eq!(kind('\u{202e}'), Some(Invisible::Direction));
/// assert_eq!(kind('a'), None);
/// ```
pub fn kind(c: char) -> Option<Invisible> {
    // The fast path for nearly all characters.
    if c < '\u{ad}' {
        return None;
    }
    Some(match c {
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' => Invisible::Filler,
        '\u{ad}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => Invisible::ZeroWidth,
        '\u{200b}' | '\u{200c}' | '\u{2060}'..='\u{2065}' | '\u{feff}' => Invisible::ZeroWidth,
        '\u{200d}' => Invisible::Joiner,
        '\u{fe00}'..='\u{fe0f}' => Invisible::Selector,
        '\u{e0100}'..='\u{e01ef}' => Invisible::IdeographSelector,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => Invisible::Direction,
        '\u{fff9}'..='\u{fffb}' => Invisible::Annotation,
        '\u{2028}' | '\u{2029}' => Invisible::Separator,
        '\u{e0000}'..='\u{e0fff}' => Invisible::Tag,
        _ => return None,
    })
}

/// Returns `true` if a character of this kind belongs to the preceding sign and is legitimate in text that people
/// write.
pub fn belongs_to_sign(kind: Invisible) -> bool {
    matches!(kind, Invisible::Joiner | Invisible::Selector | Invisible::IdeographSelector)
}

/// Returns `true` if a text has nothing visible: only white space and characters of the table.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || kind(c).is_some())
}

/// Returns the text with escapes for all characters that could control a terminal or hide text: control characters
/// except for line feeds and tabs (a CR only outside of a line ending), marks that change the direction, and invisible
/// tags.
///
/// ```
/// use toolfence_protocol::invisible::escaped;
///
/// assert_eq!(escaped("a\u{1b}[31mred\r\n"), "a\\u{1b}[31mred\r\n");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    let Some((first, _)) = text.char_indices().find(|(at, c)| steers_terminal(*c, &text[*at..])) else {
        return text.into();
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for (at, c) in text[first..].char_indices() {
        match steers_terminal(c, &text[first + at..]) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out.into()
}

/// Returns `true` if a character could control a terminal or hide text. `rest` is the text from that character on.
pub fn steers_terminal(c: char, rest: &str) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' => !rest.starts_with("\r\n"),
        c if c.is_control() => true,
        // Zero-width marks, fillers and selectors are part of human scripts and reorder nothing.
        c => kind(c).is_some_and(|kind| {
            matches!(kind, Invisible::Direction | Invisible::Annotation | Invisible::Separator | Invisible::Tag)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_text_is_blank() {
        for text in ["", " \t", "\u{2800}", "\u{3164}\u{115f}\u{1160}", "\u{ffa0} \u{200b}", "\u{202e}\u{feff}"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", "\u{2801}", "\u{3163}", "\u{200b}.\u{200b}", "❤\u{fe0f}", "\u{1161}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn terminal_controls_are_escaped() {
        for (text, want) in [
            ("plain\tä\r\n", "plain\tä\r\n"),
            ("\x1b]52;c;aGk=\x07", "\\u{1b}]52;c;aGk=\\u{7}"),
            ("a\x1b[31mred", "a\\u{1b}[31mred"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("over\rwritten\r", "over\\u{d}written\\u{d}"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("\0\x7f", "\\u{0}\\u{7f}"),
        ] {
            assert_eq!(escaped(text), want);
        }
        let every: String = ('\0'..=char::MAX).collect();
        assert!(!escaped(&every).chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}
