//! Clips long text to a budget: keeps the head and the tail, with a note between them about the omitted text.
//!
//! Architecture invariant: this module knows no files and no processes. Bytes that are not UTF-8 become U+FFFD at the
//! very end, and no cut splits a character.

use crate::text::Field;
use crate::{Language, Text, text};
use std::borrow::Cow;

/// The maximum number of bytes that the note about the cut takes, including its line breaks.
const MOST_NOTE: usize = 96;

/// A text within its budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clipped {
    /// Head, note and tail; or the whole text.
    pub text: String,
    /// Bytes of the whole text.
    pub total_bytes: u64,
    /// Lines of the whole text.
    pub total_lines: u64,
    /// Whether anything was left out.
    pub truncated: bool,
}

/// Clips `text` to `budget` bytes, but never to less than the note needs. The note is in `language`.
pub fn clip(text: &str, budget: usize, language: Language) -> Clipped {
    if text.len() <= budget {
        let total_lines = text.lines().count() as u64;
        return Clipped { text: text.to_owned(), total_bytes: text.len() as u64, total_lines, truncated: false };
    }
    let half = budget.saturating_sub(MOST_NOTE) / 2;
    let mut buffer = HeadTail::new(half, half);
    buffer.push(text.as_bytes());
    buffer.finish(language)
}

/// A buffer of fixed size that takes any number of bytes and keeps the first and the last of them.
#[derive(Debug)]
pub struct HeadTail {
    head: Vec<u8>,
    head_limit: usize,
    /// A ring buffer once it is full; `oldest` is the position of the next byte.
    tail: Vec<u8>,
    tail_limit: usize,
    oldest: usize,
    total_bytes: u64,
    total_lines: u64,
}

impl HeadTail {
    /// Creates a buffer that keeps `head` bytes of the beginning and `tail` bytes of the end.
    pub fn new(head: usize, tail: usize) -> HeadTail {
        HeadTail {
            head: Vec::new(),
            head_limit: head,
            tail: Vec::new(),
            tail_limit: tail,
            oldest: 0,
            total_bytes: 0,
            total_lines: 0,
        }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        self.total_lines += newlines(bytes);
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(first);
        // Bytes before the last `tail_limit` ones would be overwritten at once.
        self.push_tail(&rest[rest.len().saturating_sub(self.tail_limit)..]);
    }

    /// Appends to the ring. `bytes` must not be longer than the ring.
    fn push_tail(&mut self, bytes: &[u8]) {
        let (filling, wrapping) = bytes.split_at(bytes.len().min(self.tail_limit - self.tail.len()));
        self.tail.extend_from_slice(filling);
        let (upper, lower) = wrapping.split_at(wrapping.len().min(self.tail.len() - self.oldest));
        self.tail[self.oldest..self.oldest + upper.len()].copy_from_slice(upper);
        self.tail[..lower.len()].copy_from_slice(lower);
        if self.tail_limit > 0 {
            self.oldest = (self.oldest + wrapping.len()) % self.tail_limit;
        }
    }

    /// Returns all bytes so far, in two parts, unless some were dropped or `more` further bytes would not fit.
    pub fn complete_if_room(&self, more: usize) -> Option<[&[u8]; 2]> {
        let room = self.head_limit + self.tail_limit - self.head.len() - self.tail.len();
        let whole = (self.head.len() + self.tail.len()) as u64 == self.total_bytes;
        (whole && room >= more).then_some([&self.head, &self.tail])
    }

    /// Returns at most the last `most` bytes. They come from the tail, and also from the head if nothing was dropped
    /// between them.
    pub fn last(&self, most: usize) -> Vec<u8> {
        let whole = (self.head.len() + self.tail.len()) as u64 == self.total_bytes;
        // Once the ring is full, its oldest byte is at `oldest`.
        let (newer, older) = self.tail.split_at(self.oldest);
        let head = if whole { &*self.head } else { &[] };
        let mut parts = [head, older, newer];
        let mut over = parts.iter().map(|part| part.len()).sum::<usize>().saturating_sub(most);
        for part in &mut parts {
            let cut = over.min(part.len());
            *part = &part[cut..];
            over -= cut;
        }
        parts.concat()
    }

    /// Returns the number of bytes so far.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Finishes like [`finish`](HeadTail::finish), but without an incomplete character at the end, whose bytes are
    /// returned separately. For output that is still arriving.
    pub fn finish_at_char(mut self, language: Language) -> (Clipped, Vec<u8>) {
        self.tail.rotate_left(self.oldest);
        self.oldest = 0;
        let last = if self.tail.is_empty() { &mut self.head } else { &mut self.tail };
        let rest = last.split_off(last.len() - incomplete_suffix_length(last));
        self.total_bytes -= rest.len() as u64;
        (self.finish(language), rest)
    }

    /// Returns the text, which is at most as long as head, tail and the note between them. The note is in `language`.
    pub fn finish(mut self, language: Language) -> Clipped {
        self.tail.rotate_left(self.oldest);
        let cut = self.head.len();
        let mut all = std::mem::take(&mut self.head);
        all.append(&mut std::mem::take(&mut self.tail));
        let kept = all.len() as u64;
        // The last line may lack a line ending.
        let total_lines = self.total_lines + u64::from(all.last().is_some_and(|byte| *byte != b'\n'));
        let budget = self.head_limit + self.tail_limit;
        // Each undecodable byte becomes three, so even text that was kept whole may need a cut.
        if kept == self.total_bytes && lossy_length(&all) <= budget {
            let text =
                String::from_utf8(all).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            return Clipped { text, total_bytes: self.total_bytes, total_lines, truncated: false };
        }
        let (head, tail) = match all.split_at(cut) {
            // If nothing was dropped, the cut is at the end of the head.
            halves if kept == self.total_bytes => halves,
            (head, tail) => (without_incomplete_char(head), &tail[continuation_prefix_length(tail)..]),
        };
        let (mut text, used) = first_chars(head, self.head_limit);
        let (end, skipped) = last_chars(tail, self.tail_limit);
        let lines = self.total_lines - newlines(&head[..used]) - newlines(&tail[skipped..]);
        let bytes = self.total_bytes - used as u64 - (tail.len() - skipped) as u64;
        text.push_str(if text.ends_with('\n') { "" } else { "\n" });
        text.push_str(&left_out(Field::Grouped(bytes), Field::Grouped(lines)).into_string(language));
        text.push('\n');
        text.push_str(&end);
        Clipped { text, total_bytes: self.total_bytes, total_lines, truncated: true }
    }
}

/// Shortens a text of one line to `most` characters plus an ellipsis between its beginning and its end.
///
/// ```
/// assert_eq!(toolfence_protocol::clip::middle("src/a/b/c/d/main.rs", 12), "src/a/…ain.rs");
/// assert_eq!(toolfence_protocol::clip::middle("src/main.rs", 12), "src/main.rs");
/// ```
pub fn middle(text: &str, most: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= most {
        return text.into();
    }
    let (head, tail) = (most.div_ceil(2), most / 2);
    let at = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    format!("{}…{}", &text[..at(head)], &text[at(length - tail)..]).into()
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns `bytes` without an incomplete character at the end.
fn without_incomplete_char(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(4)..]) {
        Ok(_) => bytes,
        Err(_) => &bytes[..bytes.len() - incomplete_suffix_length(bytes)],
    }
}

/// Returns how many bytes at the end belong to an incomplete character.
fn incomplete_suffix_length(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let needed = match bytes[bytes.len() - back] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if needed > back { back } else { 0 };
    }
    0
}

/// Returns how many bytes at the beginning continue a character that started earlier.
fn continuation_prefix_length(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xBF)).count()
}

fn lossy_length(bytes: &[u8]) -> usize {
    let mark = char::REPLACEMENT_CHARACTER.len_utf8();
    bytes.utf8_chunks().map(|chunk| chunk.valid().len() + if chunk.invalid().is_empty() { 0 } else { mark }).sum()
}

/// Decodes as many characters from the beginning as fit; returns them and the number of bytes read.
fn first_chars(bytes: &[u8], budget: usize) -> (String, usize) {
    let (mut text, mut used) = (String::new(), 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let fits = floor_boundary(valid, budget - text.len());
        text.push_str(&valid[..fits]);
        used += fits;
        if fits < valid.len() {
            break;
        }
        if !chunk.invalid().is_empty() {
            if text.len() + char::REPLACEMENT_CHARACTER.len_utf8() > budget {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            used += chunk.invalid().len();
        }
    }
    (text, used)
}

/// Decodes as many characters from the end as fit; returns them and the number of bytes skipped before them.
fn last_chars(bytes: &[u8], budget: usize) -> (String, usize) {
    let mut excess = lossy_length(bytes).saturating_sub(budget);
    let (mut text, mut skipped) = (String::new(), 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let drop = ceil_boundary(valid, excess);
        excess = excess.saturating_sub(drop);
        skipped += drop;
        text.push_str(&valid[drop..]);
        if chunk.invalid().is_empty() {
            continue;
        }
        if excess > 0 {
            excess = excess.saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8());
            skipped += chunk.invalid().len();
        } else {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    (text, skipped)
}

/// Returns the last character boundary at or before `at`. (`floor_char_boundary` of std is newer than our oldest
/// compiler.)
pub fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the first character boundary at or after `at`.
pub fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

fn left_out(bytes: Field, lines: Field) -> Text {
    text!("[... {bytes} bytes ({lines} {lines|line|lines}) left out ...]", bytes, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_returns_the_end_of_the_input() {
        for (text, most, last) in [
            ("", 3, ""),
            ("abc", 3, "abc"),
            ("abcdef", 4, "cdef"),
            ("abcdefgh", 9, "abcdefgh"),
            ("abcdefghij", 3, "hij"),
            ("abcdefghij", 9, "fghij"),
        ] {
            let mut buffer = HeadTail::new(3, 5);
            text.as_bytes().chunks(2).for_each(|piece| buffer.push(piece));
            assert_eq!(String::from_utf8_lossy(&buffer.last(most)), last, "{text} {most}");
        }
    }

    #[test]
    fn short_text_is_unchanged() {
        let clipped = clip("äöü", 6, Language::English);
        assert_eq!((clipped.text.as_str(), clipped.total_bytes, clipped.truncated), ("äöü", 6, false));
    }

    #[test]
    fn clipped_text_reports_the_missing_bytes_and_lines() {
        let text = "line\n".repeat(1000);
        let clipped = clip(&text, 200, Language::English);
        assert!(clipped.truncated && clipped.text.len() <= 200);
        assert!(clipped.text.starts_with("line\nline\n") && clipped.text.ends_with("line\n"));
        assert!(clipped.text.contains("\n[... 4,896 bytes (979 lines) left out ...]\n"), "{}", clipped.text);
        let clipped = clip(&text, 200, Language::Portuguese);
        assert!(clipped.text.contains("\n[... 4.896 bytes (979 linhas) omitidos ...]\n"), "{}", clipped.text);
    }

    #[test]
    fn the_note_fits_its_reserved_bytes() {
        for language in [Language::English, Language::Portuguese] {
            let most = left_out(Field::Grouped(u64::MAX), Field::Grouped(u64::MAX)).into_string(language);
            assert!(most.len() + 2 <= MOST_NOTE, "{most}");
        }
    }

    #[test]
    fn no_cut_splits_a_character() {
        for budget in 90..140 {
            let clipped = clip(&"ä€😀".repeat(100), budget, Language::Portuguese);
            assert!(!clipped.text.contains(char::REPLACEMENT_CHARACTER), "{budget}");
            assert!(clipped.text.len() <= budget.max(MOST_NOTE));
        }
    }

    #[test]
    fn chunking_does_not_change_the_result() {
        let bytes: Vec<u8> = (0..5000u32).map(|n| (n * 7 % 256) as u8).collect();
        let whole = push_in_chunks(&bytes, bytes.len());
        for size in [1, 2, 3, 63, 64, 65, 127, 1000] {
            assert_eq!(push_in_chunks(&bytes, size), whole, "{size}");
        }
        assert_eq!(whole.total_bytes, 5000);
    }

    #[test]
    fn invalid_bytes_do_not_break_the_budget() {
        let clipped = push_in_chunks(&[0xFF; 150], 7);
        assert!(clipped.truncated && clipped.text.len() <= 128 + MOST_NOTE, "{}", clipped.text.len());
        assert!(!push_in_chunks(&[0xFF; 40], 7).truncated);
        let all = "x".repeat(128);
        assert_eq!(push_in_chunks(all.as_bytes(), 9).text, all);
    }

    #[test]
    fn empty_buffer_does_not_panic() {
        let mut buffer = HeadTail::new(0, 0);
        buffer.push(b"abc\n");
        assert_eq!(buffer.finish(Language::English).text, "\n[... 4 bytes (1 line) left out ...]\n");
    }

    fn push_in_chunks(bytes: &[u8], size: usize) -> Clipped {
        let mut buffer = HeadTail::new(64, 64);
        bytes.chunks(size).for_each(|chunk| buffer.push(chunk));
        buffer.finish(Language::English)
    }
}
