//! The delimiters of strings, in JSON and in text that is written like JSON.

use crate::Repair;

/// The delimiter at both ends of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// `"` or `'`.
    Straight(u8),
    /// Typographic double quotes.
    Double,
    /// Typographic single quotes.
    Single,
    /// Three of `"` or `'`.
    Triple(u8),
}

impl Delimiter {
    /// Returns the delimiter with which a string begins.
    pub(super) fn opening(text: &str, key: bool) -> Option<Delimiter> {
        match *text.as_bytes() {
            [mark @ (b'"' | b'\''), ..] if !key && is_triple(text) => Some(Delimiter::Triple(mark)),
            [mark @ (b'"' | b'\''), ..] => Some(Delimiter::Straight(mark)),
            [0xe2, 0x80, 0x9c..=0x9e, ..] => Some(Delimiter::Double), // U+201C to U+201E
            [0xe2, 0x80, 0x98..=0x9a, ..] => Some(Delimiter::Single), // U+2018 to U+201A
            _ => None,
        }
    }

    /// Returns the length of the opening delimiter.
    pub(super) fn length(self) -> usize {
        match self {
            Delimiter::Straight(_) => 1,
            Delimiter::Double | Delimiter::Single | Delimiter::Triple(_) => 3,
        }
    }

    /// Returns the length of a closing delimiter at the beginning of `text`.
    pub(super) fn closing(self, text: &[u8]) -> Option<usize> {
        match self {
            Delimiter::Straight(mark) | Delimiter::Triple(mark) => (text.first() == Some(&mark)).then_some(1),
            Delimiter::Double => (text.starts_with(b"\xe2\x80\x9c") || text.starts_with(b"\xe2\x80\x9d")).then_some(3),
            Delimiter::Single => (text.starts_with(b"\xe2\x80\x98") || text.starts_with(b"\xe2\x80\x99")).then_some(3),
        }
    }

    pub(super) fn first_byte(self) -> u8 {
        match self {
            Delimiter::Straight(mark) | Delimiter::Triple(mark) => mark,
            Delimiter::Double | Delimiter::Single => 0xe2,
        }
    }

    pub(super) fn repair(self) -> Option<Repair> {
        match self {
            Delimiter::Straight(b'"') => None,
            Delimiter::Triple(_) => Some(Repair::TripleQuotes),
            _ => Some(Repair::Quotes),
        }
    }
}

/// Returns `true` if the text begins with three equal quotes.
fn is_triple(text: &str) -> bool {
    matches!(text.as_bytes(), [first, second, third, ..] if first == second && first == third)
}
