//! Detects text by its first bytes.

use crate::root::invalid;
use crate::root::path_arg::quoted;
use toolfence_protocol::text::Field;
use toolfence_protocol::{ToolFailure, text};

/// The kind of a file, judged by its beginning.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    /// Text after a byte order mark of `bom` bytes.
    Text {
        bom: usize,
    },
    Utf16,
    Binary,
}

/// Judges the first 8 KiB: bytes with a NUL, many control characters or much invalid UTF-8 are not text.
fn judge(bytes: &[u8]) -> Judged {
    const LOOKED_AT: usize = 8 << 10;
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Judged::Utf16;
    }
    let bom = if bytes.starts_with("\u{FEFF}".as_bytes()) { 3 } else { 0 };
    let sample = &bytes[bom..bytes.len().min(LOOKED_AT).max(bom)];
    let controls = sample.iter().filter(|byte| is_odd_control(**byte)).count();
    let invalid: usize = sample.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    // UTF-16 has NULs, so it must be detected before binary data.
    if is_wide(sample) {
        return Judged::Utf16;
    }
    if memchr::memchr(0, sample).is_some() || controls * 10 > sample.len() || invalid * 10 > sample.len() * 3 {
        return Judged::Binary;
    }
    Judged::Text { bom }
}

/// Detects UTF-16 without a byte order mark: nearly every second byte is a NUL, and nearly none of the others.
fn is_wide(sample: &[u8]) -> bool {
    const LEAST: usize = 8;
    let zeros = |odd: usize| sample.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let half = sample.len() / 2;
    let (even, odd) = (zeros(0), zeros(1));
    half >= LEAST && even.max(odd) * 10 >= half * 7 && even.min(odd) * 20 <= half
}

/// Returns `true` if the first bytes of a file are UTF-16.
pub(crate) fn is_utf16(first: &[u8]) -> bool {
    judge(first) == Judged::Utf16
}

/// Returns `true` for a control character that text does not have: not white space, and not the backspace or escape of
/// terminal logs.
fn is_odd_control(byte: u8) -> bool {
    (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0C | 0x1B)) || byte == 0x7F
}

/// Refuses a file that is not text, judged by its first bytes. Returns the length of its byte order mark.
pub(crate) fn refuse_no_text(first: &[u8], size: u64, path: &str) -> Result<usize, ToolFailure> {
    match judge(first) {
        Judged::Text { bom } => Ok(bom),
        Judged::Utf16 => Err(invalid(text!(
            "{path} is UTF-16 text, not UTF-8. Use bash: iconv -f UTF-16 -t UTF-8 reads it, and iconv -f UTF-8 -t \
             UTF-16 writes it.",
            path = quoted(path)
        ))),
        Judged::Binary => Err(invalid(text!(
            "{path} is a binary file ({bytes} bytes), not text. Use bash with file, xxd or strings to look into it.",
            path = quoted(path),
            bytes = Field::Grouped(size)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_detected() {
        assert_eq!(judge(b""), Judged::Text { bom: 0 });
        assert_eq!(judge(b"plain\r\n"), Judged::Text { bom: 0 });
        assert_eq!(judge("\u{FEFF}ä".as_bytes()), Judged::Text { bom: 3 });
        assert_eq!(judge(b"caf\xE9 in latin 1"), Judged::Text { bom: 0 });
        assert_eq!(judge(b"\xFF\xFEa\0"), Judged::Utf16);
        assert_eq!(judge(b"a\0b"), Judged::Binary);
        let wide = |order: fn(u16) -> [u8; 2]| "wide text".encode_utf16().flat_map(order).collect::<Vec<u8>>();
        assert_eq!((judge(&wide(u16::to_le_bytes)), judge(&wide(u16::to_be_bytes))), (Judged::Utf16, Judged::Utf16));
        assert_eq!(judge(&[0; 100]), Judged::Binary);
        assert_eq!(judge(b"\x01\x02\x03abc"), Judged::Binary);
        assert_eq!(judge(&[0x80; 100]), Judged::Binary);
    }
}
