//! What stands for itself in a string, and what the escapes of two bytes stand for.

use crate::fence::{EACH, below, of_few};

/// How many bytes stand for themselves in a string: all but quotes, backslashes and control characters.
// Words of eight bytes, two at a time. Vectors take fewer instructions and more time: where the next run begins waits for
// what they find.
#[inline(never)]
pub(super) fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let (pairs, last) = words.as_chunks::<2>();
    for (at, [low, high]) in pairs.iter().enumerate() {
        let [low, high] = [low, high].map(|word| special(u64::from_le_bytes(*word)));
        if low | high != 0 {
            let first = if low == 0 { 64 + high.trailing_zeros() } else { low.trailing_zeros() };
            return at * 16 + first as usize / 8;
        }
    }
    let mut seen = pairs.len() * 16;
    if let [word] = last {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            return seen + special.trailing_zeros() as usize / 8;
        }
        seen += 8;
    }
    seen + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// The same, quicker where the run is short, as in a key.
#[inline(always)]
pub(super) fn plain_of_key(bytes: &[u8]) -> usize {
    match bytes.first_chunk::<8>().map(|word| special(u64::from_le_bytes(*word))) {
        Some(special @ 1..) => special.trailing_zeros() as usize / 8,
        _ => plain(bytes),
    }
}

/// The same, quicker where there are only a few.
#[inline]
pub(super) fn plain_of_few(bytes: &[u8]) -> usize {
    if bytes.len() >= 16 {
        return plain(bytes);
    }
    bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len())
}

/// The highest bit of each byte that does not stand for itself, and perhaps of some behind the first one.
#[inline(always)]
fn special(word: u64) -> u64 {
    let all_of = |byte: u8| EACH * u64::from(byte);
    below(word ^ all_of(b'"'), 1) | below(word ^ all_of(b'\\'), 1) | below(word, b' ')
}

/// Whether all bytes stand for themselves.
#[inline]
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let special = of_few(bytes, |word| special(word) != 0);
    special.map_or_else(|| plain(bytes) == bytes.len(), |special| !special)
}

/// Whether the byte does not stand for itself.
#[inline(always)]
fn is_special(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// What a backslash and this byte stand for: a character of one byte.
#[inline]
pub(super) fn unescaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 8,
        b'f' => 0xc,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{is_plain, is_special, plain, plain_of_key};

    #[test]
    fn many_at_once_are_as_one_by_one() {
        for length in 0..50 {
            for place in 0..=length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'!'; length];
                    bytes.splice(place..place, [byte, b'"', 0, byte]);
                    for end in [length, bytes.len()] {
                        let bytes = &bytes[..end];
                        let expected = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(end);
                        assert_eq!(plain(bytes), expected, "{bytes:?}");
                        assert_eq!(plain_of_key(bytes), expected, "{bytes:?}");
                        assert_eq!(is_plain(bytes), expected == end, "{bytes:?}");
                    }
                }
            }
        }
    }
}
