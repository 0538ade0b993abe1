//! A text whose lines all end with a line feed alone, and the mapping back to the bytes of the original.

use super::super::text::Text;
use std::borrow::Cow;

/// The text without its byte order mark and without carriage returns before line feeds.
#[derive(Debug)]
pub(super) struct Flat<'a> {
    bytes: Cow<'a, [u8]>,
    /// The positions in this text of the line feeds that had a carriage return before them.
    dropped: Vec<u32>,
    /// Whether the last line feed was added.
    made: bool,
}

impl<'a> Flat<'a> {
    /// Flattens a text. With `ended`, a last line without a line feed gets one.
    pub(super) fn new(text: &Text<'a>, ended: bool) -> Flat<'a> {
        let body = text.body();
        let made = ended && !text.is_ended();
        let (mut bytes, dropped) = without_returns(body);
        if made {
            bytes.to_mut().push(b'\n');
        }
        Flat { bytes, dropped, made }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Maps a position between two bytes of this text to the position in the original text, counted from the end of its
    /// byte order mark.
    pub(super) fn to_original(&self, at: usize) -> usize {
        // Each carriage return that was dropped before the position moves it by one.
        at + self.dropped.partition_point(|feed| (*feed as usize) < at)
    }

    /// Returns whether a part that ends here ends with the line feed that was added.
    pub(super) fn ends_for_feed(&self, end: usize) -> bool {
        self.made && end == self.bytes.len()
    }
}

fn without_returns(body: &[u8]) -> (Cow<'_, [u8]>, Vec<u32>) {
    let mut dropped = Vec::new();
    if memchr::memmem::find(body, b"\r\n").is_none() {
        return (body.into(), dropped);
    }
    let mut bytes = Vec::with_capacity(body.len());
    let mut from = 0;
    for at in memchr::memmem::find_iter(body, b"\r\n") {
        bytes.extend_from_slice(&body[from..at]);
        // A text has less than 4 GB.
        dropped.push(bytes.len() as u32);
        from = at + 1;
    }
    bytes.extend_from_slice(&body[from..]);
    (bytes.into(), dropped)
}

/// Returns a passage in the form that is compared: without a byte order mark if the text has one, and without carriage
/// returns before line feeds.
pub(super) fn flattened<'p>(passage: &'p str, text: &Text<'_>) -> Cow<'p, str> {
    let passage = if text.mark().is_empty() { passage } else { passage.strip_prefix('\u{FEFF}').unwrap_or(passage) };
    if passage.contains("\r\n") { passage.replace("\r\n", "\n").into() } else { passage.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_map_back() {
        let text = Text::new(b"\xEF\xBB\xBFa\r\n\r\nb\rc").unwrap();
        let flat = Flat::new(&text, true);
        assert_eq!(flat.bytes(), b"a\n\nb\rc\n");
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|at| flat.to_original(at)), [0, 1, 3, 5, 6, 7, 8]);
        assert!(flat.ends_for_feed(7) && !flat.ends_for_feed(6));
    }
}
