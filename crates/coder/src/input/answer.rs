//! Edits the answer to a question: a single line, which is edited at its end. Enter sends it unless more input follows
//! within a moment. A paste is inserted into the line, whatever it contains.
//!
//! A paste without marks looks like typing: an unmarked paste of `y` and a line end answers yes. Asking again whenever
//! both arrive in one read would be wrong, because this also happens on a slow connection or a busy machine, with
//! dictation, and with input from an editor's shell or `expect`; and users who must often press Enter twice make it a
//! habit. Input after the line end identifies most pastes: a user rarely types on within that moment, and a clipboard
//! rarely contains only an answer.

use super::modes::{PASTE_BEGINS, PASTE_ENDS};
use crate::markdown::rub_out;

/// Maximum number of bytes of an answer; the rest is dropped.
const MOST: usize = 16 << 10;
/// Maximum length of an escape sequence in bytes. Longer input is not treated as one.
const MOST_OF_SEQUENCE: usize = 32;

/// The key that ended an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndKey {
    /// Enter was pressed.
    Sent,
    /// Ctrl-D was pressed on an empty answer.
    Nothing,
}

/// The answer typed so far.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    text: String,
    pasting: bool,
    /// Whether a paste was given up because its end did not arrive. Its remaining bytes look like keys, so Enter only
    /// sends the answer if it arrives in a read of its own.
    was_pasting: bool,
    /// Incomplete input: the beginning of a sequence, a mark or a character.
    rest: Vec<u8>,
    /// Whether Enter was the last key.
    sent: bool,
}

impl Answer {
    /// Returns an empty answer. With `pasting`, the input begins inside a paste.
    pub(crate) fn new(pasting: bool) -> Answer {
        Answer { pasting, ..Answer::default() }
    }

    /// Gives up a paste whose end has not arrived in time, so that input is treated as keys again.
    pub(crate) fn give_up_paste(&mut self) {
        self.was_pasting |= self.pasting;
        self.pasting = false;
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Processes the bytes of one terminal read. The caller must ignore a returned end if more input follows, because a
    /// terminal without paste marks sends the lines of a paste in one or several reads.
    pub(crate) fn press(&mut self, keys: &[u8]) -> Option<EndKey> {
        let mut is_pasted = false;
        // More input after Enter means that the line end was part of an unmarked paste.
        if !keys.is_empty() && std::mem::take(&mut self.sent) {
            is_pasted = true;
            self.add(' ');
        }
        self.rest.extend_from_slice(keys);
        let keys = std::mem::take(&mut self.rest);
        let mut left = keys.as_slice();
        while let Some(first) = left.first() {
            if self.pasting {
                left = self.paste(left);
                if self.pasting {
                    break;
                }
                continue;
            }
            match first {
                // Only a line end that is the last byte of a read can be the Enter key.
                b'\r' | b'\n' if left.len() == 1 && !is_pasted && (!self.was_pasting || keys.len() == 1) => {
                    self.sent = true;
                    return Some(EndKey::Sent);
                }
                b'\r' | b'\n' => {
                    is_pasted = true;
                    self.add(' ');
                }
                0x04 if self.text.is_empty() && left.len() == 1 && !is_pasted => return Some(EndKey::Nothing),
                0x08 | 0x7f => rub_out(&mut self.text),
                // Ctrl-U deletes the line, and Ctrl-W the last word.
                0x15 => self.text.clear(),
                0x17 => {
                    let kept = self.text.trim_end();
                    self.text.truncate(kept.rfind(char::is_whitespace).map_or(0, |at| at + 1));
                }
                0x1b => {
                    let Some(length) = sequence(left) else {
                        self.rest = left.to_vec();
                        break;
                    };
                    self.pasting = left[..length] == *PASTE_BEGINS;
                    left = &left[length..];
                    continue;
                }
                byte if byte.is_ascii() => self.add(char::from(*byte)),
                _ => {
                    let end = left.iter().position(u8::is_ascii).unwrap_or(left.len());
                    let used = self.characters(&left[..end]);
                    match used {
                        0 if end == left.len() => {
                            self.rest = left.to_vec();
                            break;
                        }
                        // The next byte shows that this character stays incomplete.
                        0 => {
                            self.add(char::REPLACEMENT_CHARACTER);
                            left = &left[end..];
                        }
                        _ => left = &left[used..],
                    }
                    continue;
                }
            }
            left = &left[1..];
        }
        None
    }

    /// Consumes the available part of a paste and returns the bytes after its end mark. The possible beginning of an
    /// end mark is kept for the next read.
    fn paste<'k>(&mut self, keys: &'k [u8]) -> &'k [u8] {
        let end = keys.windows(PASTE_ENDS.len()).position(|piece| piece == PASTE_ENDS);
        let begun = |keys: &[u8]| (1..PASTE_ENDS.len()).rev().find(|length| keys.ends_with(&PASTE_ENDS[..*length]));
        let whole = end.unwrap_or_else(|| keys.len() - begun(keys).unwrap_or(0));
        let used = self.characters(&keys[..whole]);
        match end {
            Some(end) => {
                self.pasting = false;
                &keys[end + PASTE_ENDS.len()..]
            }
            None => {
                self.rest = keys[used..].to_vec();
                &[]
            }
        }
    }

    /// Adds the characters of these bytes and returns the number of bytes consumed. An incomplete character at the end
    /// is not consumed.
    fn characters(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.add(c));
            used += chunk.valid().len();
            let invalid = chunk.invalid();
            let is_begun = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_begun && used + invalid.len() == bytes.len() {
                break;
            }
            if !invalid.is_empty() {
                self.add(char::REPLACEMENT_CHARACTER);
                used += invalid.len();
            }
        }
        used
    }

    fn add(&mut self, c: char) {
        let c = match c {
            // An answer is a single line.
            '\t' | '\n' | '\r' => ' ',
            c if c.is_whitespace() && !c.is_control() => ' ',
            c => c,
        };
        if !c.is_control() && self.text.len() < MOST {
            self.text.push(c);
        }
    }
}

/// Returns the length of the escape sequence that begins here (ECMA-48, 5.4), such as a cursor key or a key with Alt;
/// `None` if the sequence is incomplete.
fn sequence(keys: &[u8]) -> Option<usize> {
    match keys.get(1)? {
        b'[' => {
            let end = keys.iter().skip(2).position(|byte| !(0x20..0x40).contains(byte));
            end.map(|end| end + 3).or((keys.len() > MOST_OF_SEQUENCE).then_some(keys.len()))
        }
        b'O' => (keys.len() > 2).then_some(3),
        // This Esc was a key by itself.
        0x1b => Some(1),
        // A line end after Esc is not part of a sequence.
        b'\r' | b'\n' => Some(1),
        byte if byte.is_ascii() => Some(2),
        _ => Some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text and the end after all of these reads.
    fn typed(reads: &[&str]) -> (String, Option<EndKey>) {
        let mut answer = Answer::default();
        let mut ended = None;
        for read in reads {
            ended = answer.press(read.as_bytes());
        }
        (answer.text, ended)
    }

    #[test]
    fn only_enter_by_itself_sends() {
        let sent = |text: &str| (text.to_owned(), Some(EndKey::Sent));
        let open = |text: &str| (text.to_owned(), None);
        for (reads, want) in [
            (&["y", "\r"][..], sent("y")),
            (&["y\n"], sent("y")),
            (&["n use the ", "other file\n"], sent("n use the other file")),
            (&["\x04"], (String::new(), Some(EndKey::Nothing))),
            (&["n\x04"], open("n")),
            // Pastes with and without marks, complete and in pieces.
            (&["\x1b[200~y\r\x1b[201~"], open("y ")),
            (&["\x1b[200~y", "\r", "\x1b[201~"], open("y ")),
            (&["\x1b[200", "~y\r\x1b[20", "1~"], open("y ")),
            (&["\x1b[200~y\r\x1b[201~", "\r"], sent("y ")),
            (&["\x1b[200~a\x1bb\x1b[201~", "\r"], sent("ab")),
            (&["y\nrest\n"], open("y rest ")),
            (&["\ny\n"], open(" y ")),
            (&["y\ny"], open("y y")),
            // An unmarked paste whose lines arrive in several reads.
            (&["y\n", "rest\n"], open("y rest ")),
            (&["y", "\n", "rest"], open("y rest")),
            (&["y\n", "rest\n", "\r"], sent("y rest ")),
            (&["y\r", "\x7f\x7f", "n", "\r"], sent("n")),
        ] {
            assert_eq!(typed(reads), want, "{reads:?}");
        }
    }

    #[test]
    fn a_paste_without_an_end_leaves_a_question_that_can_be_answered() {
        let mut answer = Answer::new(true);
        assert_eq!(answer.press(b"y\r"), None);
        answer.give_up_paste();
        assert_eq!(answer.press(b"\x15y\r"), None, "it may be the rest of the paste");
        assert_eq!((answer.press(b"\x15"), answer.press(b"n"), answer.press(b"\r")), (None, None, Some(EndKey::Sent)));
        assert_eq!(answer.text(), "n");
    }

    #[test]
    fn a_line_is_edited_at_its_end() {
        for (keys, want) in [
            ("yes\x7f\x7f\x7fno", "no"),
            ("\x7f\x7fn", "n"),
            ("語e\u{301}\x7f", "語"),
            ("a👨\u{200d}👩\u{200d}👧\x7f", "a"),
            ("👍🏽👍🏽\x7f", "👍🏽"),
            ("❤\u{fe0f}\x7fx", "x"),
            ("🇧🇷🇵🇹\x7f", "🇧🇷"),
            ("🇧🇷🇵\x7f", "🇧🇷"),
            ("one two \x17three", "one three"),
            ("yes\x15no", "no"),
            ("a\x1b[D\x1bOA\x1b[1;5Cb\x1bxc\x1b", "abc"),
            ("a\tb\x01\x0c", "a b"),
            ("\u{85}\u{2028}é", " é"),
        ] {
            assert_eq!(typed(&[keys]).0, want, "{keys:?}");
        }
        let mut answer = Answer::default();
        for byte in "é語👩\x1b[200~é\x1b[201~\x1b[A!".bytes() {
            answer.press(&[byte]);
        }
        assert_eq!(answer.text(), "é語👩é!");
        answer.press(b"\xff\xc3a");
        assert_eq!(answer.text(), "é語👩é!\u{fffd}\u{fffd}a");
    }

    #[test]
    fn much_is_taken_in_bounded_memory() {
        let mut answer = Answer::new(true);
        for _ in 0..1000 {
            assert_eq!(answer.press(&[b'y'; 1000]), None);
        }
        assert!(answer.text.len() == MOST && answer.rest.is_empty());
        let mut answer = Answer::default();
        for _ in 0..1000 {
            answer.press(b"\x1b[");
            answer.press(&[b'1'; 1000]);
        }
        assert!(answer.text.len() <= MOST && answer.rest.len() <= MOST_OF_SEQUENCE + 1000);
    }
}
