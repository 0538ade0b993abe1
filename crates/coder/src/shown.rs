//! Text for the user: words in the selected language, without control characters that act on a terminal.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use toolfence_protocol::invisible::{escaped, steers_terminal as steers};
use toolfence_protocol::{Language, Text};

/// Whether messages are in Portuguese.
static PORTUGUESE: AtomicBool = AtomicBool::new(false);

/// Sets the language of messages.
pub(crate) fn set_language(wanted: Language) {
    PORTUGUESE.store(wanted == Language::Portuguese, Ordering::Relaxed);
}

/// Returns the language of messages.
pub(crate) fn language() -> Language {
    if PORTUGUESE.load(Ordering::Relaxed) { Language::Portuguese } else { Language::English }
}

/// Text that can be displayed: a plain string, or a text in the selected language.
pub(crate) trait Words {
    /// Returns the words, which are not [`escaped`] yet.
    fn words(&self) -> Cow<'_, str>;

    /// Returns `true` if the text consists of sentences, which may be wrapped between any two words.
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

/// Returns `true` if the text can be displayed unchanged: it contains no control characters, including line ends.
pub(crate) fn is_plain(text: &str) -> bool {
    text.char_indices().all(|(at, c)| !c.is_control() && !steers(c, &text[at..]))
}
