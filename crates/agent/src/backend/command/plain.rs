//! Extracts the text from the output of a program: without terminal escape sequences, and in whole characters.

/// The longest escape sequence. A longer one is text that began like a sequence by chance.
const LONGEST: usize = 4096;

/// Extracts text from pieces of any size.
#[derive(Debug, Default)]
pub(super) struct PlainText {
    /// The incomplete character at the end of the input.
    begun: Vec<u8>,
    inside: SequenceState,
    /// Characters of the current sequence.
    length: usize,
}

/// The position of the next character in a sequence (ECMA-48, section 5.3 and after).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SequenceState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character, as in `ESC ( B`.
    Intermediate,
    /// After `ESC [`: parameters, then one final character.
    Control,
    /// In a string, such as the title of a window (`ESC ]`), up to BEL or `ESC \`.
    String,
    /// After an ESC within a string.
    StringEscape,
}

impl PlainText {
    /// Returns the text of complete output.
    pub(super) fn text_of(bytes: &[u8]) -> String {
        let mut plain = PlainText::default();
        plain.push(bytes) + &plain.finish()
    }

    /// Returns the text in the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut out = String::with_capacity(bytes.len() + 4);
        let begun = std::mem::take(&mut self.begun);
        let joined = [&begun, bytes].concat();
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            chunk.valid().chars().for_each(|c| self.push_char(c, &mut out));
            let invalid = chunk.invalid();
            // A character may be split between two pieces, so an incomplete one at the end waits for the next piece.
            if chunks.peek().is_none() && is_beginning(invalid) {
                self.begun = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.push_char(char::REPLACEMENT_CHARACTER, &mut out);
            }
        }
        out
    }

    /// Returns the remaining text at the end.
    pub(super) fn finish(mut self) -> String {
        let mut out = String::new();
        if !std::mem::take(&mut self.begun).is_empty() {
            self.push_char(char::REPLACEMENT_CHARACTER, &mut out);
        }
        out
    }

    fn push_char(&mut self, c: char, out: &mut String) {
        const ESCAPE: char = '\u{1B}';
        const BELL: char = '\u{7}';
        self.length += 1;
        self.inside = match (self.inside, c) {
            (SequenceState::String, ESCAPE) => SequenceState::StringEscape,
            (SequenceState::String | SequenceState::StringEscape, BELL) => SequenceState::Text,
            (SequenceState::StringEscape, '\\') => SequenceState::Text,
            // A string that is not terminated would swallow the rest of the reply, so a line end or the limit ends it.
            (SequenceState::String | SequenceState::StringEscape, '\n') => self.text(c, out),
            (SequenceState::String | SequenceState::StringEscape, _) if self.length > LONGEST => self.text(c, out),
            (SequenceState::String | SequenceState::StringEscape, _) => SequenceState::String,
            (_, ESCAPE) => {
                self.length = 0;
                SequenceState::Escape
            }
            (SequenceState::Text, c) => self.text(c, out),
            (SequenceState::Escape, '[') => SequenceState::Control,
            (SequenceState::Escape, ']' | 'P' | '_' | '^' | 'X') => SequenceState::String,
            (SequenceState::Escape | SequenceState::Intermediate, ' '..='/') => SequenceState::Intermediate,
            (SequenceState::Escape | SequenceState::Intermediate, '0'..='~') => SequenceState::Text,
            (SequenceState::Control, ' '..='?') if self.length <= LONGEST => SequenceState::Control,
            (SequenceState::Control, '@'..='~') => SequenceState::Text,
            (_, c) => self.text(c, out),
        };
    }

    fn text(&mut self, c: char, out: &mut String) -> SequenceState {
        out.push(c);
        SequenceState::Text
    }
}

/// Returns `true` if these bytes could begin a character.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text, which must be the same for pieces of any size.
    fn text(bytes: &[u8]) -> String {
        let whole = PlainText::text_of(bytes);
        for size in [1, 2, 3, 5, 7] {
            let mut plain = PlainText::default();
            let mut out: String = bytes.chunks(size).map(|piece| plain.push(piece)).collect();
            out.push_str(&plain.finish());
            assert_eq!(out, whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn only_escape_sequences_are_removed() {
        // A spinner of ollama, with the cursor hidden and the line cleared around it.
        assert_eq!(text("\x1b[?25l\x1b[?2026h\x1b[1G⠋ \x1b[K\x1b[?25hHi".as_bytes()), "⠋ Hi");
        assert_eq!(text(b"\x1b[1;31mred\x1b[0m\r\n\ta\x0cb\x08"), "red\r\n\ta\x0cb\x08");
        assert_eq!(text(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b(Bc\x1b7d\x1bPq\x1b\\e"), "abcde");
        assert_eq!(text("[0m {\"a\": \"\\u001b[1m\"} é".as_bytes()), "[0m {\"a\": \"\\u001b[1m\"} é");
    }

    #[test]
    fn an_unfinished_sequence_hides_at_most_one_line() {
        assert_eq!(text(b"\x1b]0;never\nall of this"), "\nall of this");
        let long = [b"\x1b]".to_vec(), vec![b'x'; 10_000]].concat();
        assert_eq!(text(&long).len(), 10_000 - LONGEST + 1);
        let long = [b"\x1b[".to_vec(), vec![b'1'; 10_000]].concat();
        assert_eq!(text(&long).len(), 10_000 - LONGEST + 1);
        assert_eq!(text(b"a\x1b"), "a");
        assert_eq!(text("a\x1b[é".as_bytes()), "aé");
    }

    #[test]
    fn invalid_bytes_are_replaced() {
        assert_eq!(text(b"a\xffb\xe2\x82c\xe2\x82"), "a\u{FFFD}b\u{FFFD}c\u{FFFD}");
        assert_eq!(text("€𐍈".as_bytes()), "€𐍈");
    }
}
