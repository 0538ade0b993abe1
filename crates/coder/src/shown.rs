//! What a person is shown: words in the language that was settled, with nothing in them that steers a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use toolfence_protocol::invisible::{self, Invisible};
use toolfence_protocol::{Language, Text};

/// Whether everything that is said from then on is in Portuguese.
static PORTUGUESE: AtomicBool = AtomicBool::new(false);

/// Settles the language of everything that is said from then on.
pub(crate) fn set_language(wanted: Language) {
    PORTUGUESE.store(wanted == Language::Portuguese, Ordering::Relaxed);
}

/// The language of what is said.
pub(crate) fn language() -> Language {
    if PORTUGUESE.load(Ordering::Relaxed) { Language::Portuguese } else { Language::English }
}

/// What can be shown: a string as it is, a text in the language that was settled.
pub(crate) trait Words {
    /// The words, not yet [`escaped`].
    fn words(&self) -> Cow<'_, str>;

    /// Whether these are sentences for people, which may be broken between any two words.
    fn is_prose(&self) -> bool {
        false
    }
}

impl Words for str {
    fn words(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Words for String {
    fn words(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Words for Text {
    fn words(&self) -> Cow<'_, str> {
        self.render(language()).into()
    }

    fn is_prose(&self) -> bool {
        true
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Cow<'_, str> {
        (**self).words()
    }

    fn is_prose(&self) -> bool {
        (**self).is_prose()
    }
}

/// The text with everything written out that could steer a terminal or hide what is there: control characters (ESC, and
/// so every sequence; C1; a CR that is not part of a line ending), marks that turn the direction, and invisible tags.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(at, c)| steers(*c, &text[*at..])) else { return text.into() };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first.0]);
    for (at, c) in text[first.0..].char_indices() {
        if steers(c, &text[first.0 + at..]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Whether a text can be shown as it is: nothing in it steers the terminal, not even a line end.
pub(crate) fn is_plain(text: &str) -> bool {
    text.char_indices().all(|(at, c)| !c.is_control() && !steers(c, &text[at..]))
}

/// Whether a character could steer a terminal or hide what is there; `here` is the text from it on.
pub(crate) fn steers(c: char, here: &str) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' => !here.starts_with("\r\n"),
        c if c.is_control() => true,
        // Marks of no width, fillers and selectors are of use in the scripts of people, and turn nothing around.
        c => invisible::kind(c).is_some_and(|kind| {
            matches!(kind, Invisible::Direction | Invisible::Annotation | Invisible::Separator | Invisible::Tag)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
