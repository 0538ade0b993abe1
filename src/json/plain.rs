//! What stands for itself in a string, and what the escapes of two bytes stand for.

use crate::fence::has_below;

/// How many bytes stand for themselves in a string: all but quotes, backslashes and control characters.
// By itself, for the constants of the search want registers.
#[inline(never)]
pub(super) fn plain(bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks::<16>();
    for (at, block) in blocks.iter().enumerate() {
        // Compilers look at all sixteen at once; the same look says which is the first.
        let mut marks = [0; 16];
        for (mark, byte) in marks.iter_mut().zip(block) {
            *mark = if is_special(byte) { u8::MAX } else { 0 };
        }
        let special = u128::from_le_bytes(marks);
        if special != 0 {
            return at * 16 + special.trailing_zeros() as usize / 8;
        }
    }
    blocks.len() * 16 + plain_words(rest)
}

/// The same for fewer bytes: eight at a time.
#[inline(always)]
fn plain_words(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGHEST: u64 = ONES << 7;
    let all_of = |byte: u8| ONES * u64::from(byte);
    // The highest bit of each byte below `bound`, and perhaps of some behind the first one.
    let below = |word: u64, bound: u8| word.wrapping_sub(all_of(bound)) & !word & HIGHEST;
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let special = below(word ^ all_of(b'"'), 1) | below(word ^ all_of(b'\\'), 1) | below(word, b' ');
        if special != 0 {
            return at * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + rest.iter().position(is_special).unwrap_or(rest.len())
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
