//! Refuses changes that would destroy bytes which are not UTF-8.
//!
//! Tools display such bytes as U+FFFD. A model that copies the displayed text must not write U+FFFD in their place, and
//! must not add UTF-8 to a file of another encoding.

use crate::diff;
use crate::root::path_arg::{invalid, quoted};
use crate::text::is_utf16;
use toolfence_protocol::{ToolFailure, text};

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// Refuses to replace `before` by `after` if that unintentionally loses bytes that are not UTF-8.
///
/// # Errors
/// `invalid_argument`: `before` is UTF-16; `after` has U+FFFD where `before` has bytes that are not UTF-8; `before` is
/// text of another encoding, and `after` has more characters that are not ASCII.
pub(super) fn refuse_loss(path: &str, before: &[u8], after: &[u8]) -> Result<(), ToolFailure> {
    if before == after {
        return Ok(());
    }
    if is_utf16(before) && before.len().is_multiple_of(2) {
        return Err(invalid(text!(
            "{path} is UTF-16 text, not UTF-8. Use bash: iconv -f UTF-16 -t UTF-8 reads it, and iconv -f UTF-8 -t \
             UTF-16 writes it.",
            path = quoted(path)
        )));
    }
    // In valid UTF-8, U+FFFD is a character of the file itself.
    if std::str::from_utf8(before).is_ok() {
        return Ok(());
    }
    if let Some(line) = replaced_bytes(before, after) {
        return Err(invalid(text!(
            "{path} was not changed: the new text has U+FFFD where line {line} has bytes that are not UTF-8, and would \
             destroy them. Change only the text around them with replace_text, or convert the file first with bash: \
             iconv -f WINDOWS-1252 -t UTF-8.",
            path = quoted(path),
            line
        )));
    }
    if is_of_another_encoding(before) && wide_chars(after) > wide_chars(before) {
        return Err(invalid(text!(
            "{path} was not changed: it is text of another encoding than UTF-8, and characters beyond ASCII would be \
             written in UTF-8. Write only ASCII, or convert the file first with bash: iconv -f WINDOWS-1252 -t UTF-8.",
            path = quoted(path)
        )));
    }
    Ok(())
}

/// Returns the first line, from 1, whose bytes `after` replaces by U+FFFD.
fn replaced_bytes(before: &[u8], after: &[u8]) -> Option<u64> {
    let count = |lines: &[&[u8]]| -> usize {
        lines.iter().map(|line| memchr::memmem::find_iter(line, REPLACEMENT).count()).sum()
    };
    // Without U+FFFD in the new text, the texts need no comparison.
    memchr::memmem::find(after, REPLACEMENT)?;
    let hunk = diff::changed_lines(before, after).into_iter().find(|hunk| {
        let (old, new) = (count(&hunk.removed), count(&hunk.added));
        // A line that has both cannot be distinguished from one whose bytes were replaced.
        new > old || new > 0 && hunk.removed.iter().any(|line| std::str::from_utf8(line).is_err())
    })?;
    let at = hunk.removed.iter().position(|line| std::str::from_utf8(line).is_err()).unwrap_or(0);
    Some((hunk.first + at) as u64 + 1)
}

/// Returns `true` if a text is in another encoding, rather than damaged UTF-8 or binary data.
fn is_of_another_encoding(text: &[u8]) -> bool {
    let invalid: usize = text.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    memchr::memchr(0, text).is_none() && wide_chars(text) < invalid
}

/// Counts the characters of valid UTF-8 that are not ASCII.
fn wide_chars(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().filter(|c| !c.is_ascii()).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacement_characters_are_refused_where_bytes_are_lost() {
        let line = |before: &[u8], after: &str| replaced_bytes(before, after.as_bytes());
        assert_eq!(line(b"caf\xe9 one\n", "caf\u{fffd} two\n"), Some(1));
        assert_eq!(line(b"a\nb\ncaf\xe9\n", "a\nB\ncaf\u{fffd}\n"), Some(3));
        assert_eq!(line(b"caf\xe9\nx\n", "x\n\u{fffd}\n"), Some(3), "it was not there");
        let genuine = "\u{fffd} one\n";
        let both = [b"\xe9\nkept\n", genuine.as_bytes()].concat();
        let edited = [b"\xe9\nkept\n", "\u{fffd} two\n".as_bytes()].concat();
        assert_eq!(replaced_bytes(&both, &edited), None, "the file has it there");
        assert_eq!(line(b"caf\xe9 one\n", "cafe two\n"), None);
    }

    #[test]
    fn other_encodings_get_no_utf8() {
        let code = |before: &[u8], after: &[u8]| refuse_loss("a", before, after).is_err();
        assert!(code(b"caf\xe9\n", "café\n".as_bytes()));
        assert!(code(b"caf\xe9\nx\n", &[b"caf\xe9\n", "é\n".as_bytes()].concat()));
        assert!(!code(b"caf\xe9\nx\n", b"caf\xe9\ny\n"), "ASCII is the same in both");
        let damaged = ["ééé\n".as_bytes(), b"\xff\n"].concat();
        assert!(!code(&damaged, &[&damaged[..], "é\n".as_bytes()].concat()), "UTF-8 with one bad byte");
        assert!(!code(b"\x89PNG\0\0\xff", "é\n".as_bytes()), "binary data has no encoding");
        let wide: Vec<u8> = "wide text".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(code(&wide, b"narrow text"));
    }
}
