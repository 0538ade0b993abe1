//! What stands for itself in a string, and what the escapes of two bytes stand for.

use crate::fence::has_below;

/// How many bytes stand for themselves in a string: all but quotes, backslashes and control characters.
// Words of eight bytes, two at a time. Vectors take fewer instructions and more time: where the next run begins waits for
// what they find.
#[inline(never)]
pub(super) fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let (pairs, last) = words.as_chunks::<2>();
    for (at, [low, high]) in pairs.iter().enumerate() {
        let (low, high) = (special(*low), special(*high));
        if low | high != 0 {
            let first = if low == 0 { 64 + high.trailing_zeros() } else { low.trailing_zeros() };
            return at * 16 + first as usize / 8;
        }
    }
    let mut seen = pairs.len() * 16;
    if let [word] = last {
        let special = special(*word);
        if special != 0 {
            return seen + special.trailing_zeros() as usize / 8;
        }
        seen += 8;
    }
    seen + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// The highest bit of each byte that does not stand for itself, and perhaps of some behind the first one.
#[inline(always)]
fn special(word: [u8; 8]) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGHEST: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let all_of = |byte: u8| ONES * u64::from(byte);
    let below = |word: u64, bound: u8| word.wrapping_sub(all_of(bound)) & !word & HIGHEST;
    below(word ^ all_of(b'"'), 1) | below(word ^ all_of(b'\\'), 1) | below(word, b' ')
}

/// Whether all bytes stand for themselves. Four at a time: chunks are mostly that long.
#[inline]
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<4>();
    let all_of = |byte: u8| u32::from_ne_bytes([byte; 4]);
    words.iter().all(|word| {
        let word = u32::from_ne_bytes(*word);
        let special = has_below(word ^ all_of(b'"'), 1) | has_below(word ^ all_of(b'\\'), 1);
        !(special | has_below(word, b' '))
    }) && !rest.iter().any(is_special)
}

#[inline(always)]
fn is_special(byte: &u8) -> bool {
    (*byte < b' ') | (*byte == b'"') | (*byte == b'\\')
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
    use super::{is_plain, is_special, plain};

    #[test]
    fn many_at_once_are_as_one_by_one() {
        for length in 0..50 {
            for place in 0..=length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'!'; length];
                    bytes.splice(place..place, [byte, b'"', 0, byte]);
                    for end in [length, bytes.len()] {
                        let bytes = &bytes[..end];
                        let expected = bytes.iter().position(is_special).unwrap_or(end);
                        assert_eq!(plain(bytes), expected, "{bytes:?}");
                        assert_eq!(is_plain(bytes), expected == end, "{bytes:?}");
                    }
                }
            }
        }
    }
}
