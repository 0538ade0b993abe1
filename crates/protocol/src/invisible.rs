//! Characters that cannot be seen: one table for everybody who shows, refuses or looks through them.
//!
//! Who asks decides what a kind means to them: a variation selector is usual in an emoji and a deceit in a command, and a
//! mark of no width is usual in some scripts. White space and control characters are not in the table, for the standard
//! library knows them; the two separators of Unicode are, for they also break a line where nobody expects one.

use std::borrow::Cow;

/// How a character cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invisible {
    /// Takes room, as a letter or sign does, and shows nothing: the fillers of Hangul, the empty pattern of Braille.
    Filler,
    /// Takes no room: a soft hyphen, a zero-width space, a byte order mark.
    ZeroWidth,
    /// Joins the signs around it to one, as in many emoji: U+200D.
    Joiner,
    /// Chooses how the sign before it looks, as in many emoji: U+FE00 to U+FE0F.
    Selector,
    /// Chooses among the forms of an ideograph before it: U+E0100 to U+E01EF.
    IdeographSelector,
    /// Turns the direction of the text, or marks it.
    Direction,
    /// Begins or ends a note between the lines.
    Annotation,
    /// Ends a line or a paragraph.
    Separator,
    /// A tag, or a place in the same plane that nothing was given to.
    Tag,
}

/// How a character cannot be seen; `None` for one that can, and for control characters and other white space.
///
/// ```
/// use toolfence_protocol::invisible::{Invisible, kind};
///
/// assert_eq!(kind('\u{2800}'), Some(Invisible::Filler));
/// assert_eq!(kind('\u{202e}'), Some(Invisible::Direction));
/// assert_eq!(kind('a'), None);
/// ```
pub fn kind(c: char) -> Option<Invisible> {
    // Nearly every character that is asked about.
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

/// Whether a character belongs to the sign before it and is no deceit in a text that people write.
pub fn belongs_to_sign(kind: Invisible) -> bool {
    matches!(kind, Invisible::Joiner | Invisible::Selector | Invisible::IdeographSelector)
}

/// Whether a text has nothing in it that can be seen: white space, and characters of the table.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || kind(c).is_some())
}

/// The text with escapes for everything that could steer a terminal or hide what is written: control characters except for line
/// feeds and tabs (a CR only outside of a line ending), marks that turn the direction, and invisible tags.
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

/// Returns `true` if a character could steer a terminal or hide what is written. `rest` is the text from it on.
pub fn steers_terminal(c: char, rest: &str) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' => !rest.starts_with("\r\n"),
        c if c.is_control() => true,
        // Marks of no width, fillers and selectors belong to the scripts of people, and turn nothing around.
        c => kind(c).is_some_and(|kind| {
            matches!(kind, Invisible::Direction | Invisible::Annotation | Invisible::Separator | Invisible::Tag)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_blank() {
        for text in ["", " \t", "\u{2800}", "\u{3164}\u{115f}\u{1160}", "\u{ffa0} \u{200b}", "\u{202e}\u{feff}"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", "\u{2801}", "\u{3163}", "\u{200b}.\u{200b}", "❤\u{fe0f}", "\u{1161}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn nothing_that_steers_gets_through() {
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
