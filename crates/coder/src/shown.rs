//! What a person is shown: words in the language that was settled, with nothing in them that steers a terminal.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use toolfence_protocol::invisible::{escaped, steers_terminal as steers};
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

/// Whether a text can be shown as it is: nothing in it steers the terminal, not even a line end.
pub(crate) fn is_plain(text: &str) -> bool {
    text.char_indices().all(|(at, c)| !c.is_control() && !steers(c, &text[at..]))
}
