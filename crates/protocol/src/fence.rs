//! The grammar of one fence line: what opens a fenced code block, what closes it, which fence is safe around a text.
//!
//! Pure functions on one line without its ending and with its indentation already taken off: slice in, value out
//! (CommonMark 0.31.2, section 4.5). Containers and indentation are the business of [`parse`](crate::parse).

/// What an opening fence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening<'a> {
    /// `` ` `` or `~`.
    pub mark: u8,
    /// How many marks: at least three.
    pub length: usize,
    /// The info string without surrounding blanks, raw: entities and escapes are not decoded.
    pub info: &'a str,
}

impl<'a> Opening<'a> {
    /// The first word of the info string, raw.
    pub fn word(&self) -> &'a str {
        let end = self.info.bytes().position(|byte| byte == b' ' || byte == b'\t');
        &self.info[..end.unwrap_or(self.info.len())]
    }
}

/// Reads a line as an opening fence.
pub fn opening(line: &str) -> Option<Opening<'_>> {
    let mark = *line.as_bytes().first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let length = run(line.as_bytes(), mark);
    let info = line[length..].trim_matches([' ', '\t']);
    let spoiled = mark == b'`' && memchr::memchr(b'`', info.as_bytes()).is_some();
    (length >= 3 && !spoiled).then_some(Opening { mark, length, info })
}

/// Whether a line closes the block that `length` times `mark` opened: as many marks or more, then only blanks.
pub fn closes(line: &str, mark: u8, length: usize) -> bool {
    let marks = run(line.as_bytes(), mark);
    marks >= length && is_blank(&line[marks..])
}

/// Whether a line of which only the beginning is known could still turn out to close the block.
pub fn may_close(beginning: &str, mark: u8, length: usize) -> bool {
    let marks = run(beginning.as_bytes(), mark);
    marks == beginning.len() || (marks >= length && is_blank(&beginning[marks..]))
}

/// Whether there are only spaces and tabs.
pub fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ' || byte == b'\t')
}

/// How many backticks a fence needs so that nothing in `text` can close it: one more than the longest run, at least three.
pub fn safe_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut longest, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'`', &bytes[at..]) {
        let length = run(&bytes[at + found..], b'`');
        longest = longest.max(length);
        at += found + length;
    }
    (longest + 1).max(3)
}

/// Where the first of two bytes stands. Chunks are often a few bytes long: then a plain loop is quicker than setting up a
/// vector search.
#[inline]
pub(crate) fn find_either(one: u8, other: u8, bytes: &[u8]) -> Option<usize> {
    if bytes.len() < 16 {
        return bytes.iter().position(|byte| *byte == one || *byte == other);
    }
    memchr::memchr2(one, other, bytes)
}

/// How many bytes stand before the next line feed or carriage return. Fences and empty lines end within a few.
#[inline]
pub(crate) fn line_length(bytes: &[u8]) -> usize {
    let Some((word, rest)) = bytes.split_first_chunk::<8>() else {
        return bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len());
    };
    let word = u64::from_le_bytes(*word);
    let found = below(word ^ (EACH * u64::from(b'\n')), 1) | below(word ^ (EACH * u64::from(b'\r')), 1);
    if found != 0 {
        return found.trailing_zeros() as usize / 8;
    }
    8 + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())
}

/// Whether there is a line feed or a carriage return.
#[inline]
pub(crate) fn has_line_ending(bytes: &[u8]) -> bool {
    // One look at all bytes of nearly every chunk: both are small, and hardly anything else is.
    let small = of_few(bytes, |word| below(word, b'\r' + 1) != 0).unwrap_or(true);
    small && find_either(b'\n', b'\r', bytes).is_some()
}

/// Whether a word holds what is looked for, of four to sixteen bytes taken as one word or two; a byte may be in them twice.
/// `None` where there are fewer or more.
#[inline(always)]
pub(crate) fn of_few(bytes: &[u8], holds: impl Fn(u64) -> bool) -> Option<bool> {
    if let (Some(first), Some(last), ..=8) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes.len()) {
        let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(*four)));
        return Some(holds(first | last << 32));
    }
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>(), bytes.len()) {
        (Some(first), Some(last), ..=16) => Some(holds(u64::from_le_bytes(*first)) || holds(u64::from_le_bytes(*last))),
        _ => None,
    }
}

/// The highest bit of each byte of the word that is below `bound`, which is at most 128, and perhaps of some above the
/// lowest of them. Looks at all of them at once: a byte below the bound borrows from its own highest bit while that is not
/// set.
#[inline(always)]
pub(crate) fn below(word: u64, bound: u8) -> u64 {
    const HIGHEST: u64 = EACH << 7;
    word.wrapping_sub(EACH * u64::from(bound)) & !word & HIGHEST
}

/// Every byte of a word is one.
pub(crate) const EACH: u64 = u64::MAX / 0xff;

fn run(bytes: &[u8], mark: u8) -> usize {
    bytes.iter().take_while(|byte| **byte == mark).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_at_once_are_as_one_by_one() {
        for bound in [1, 14, 0x20, 128] {
            for (length, place) in (0..20).flat_map(|length| (0..length).map(move |place| (length, place))) {
                for (byte, others) in (0..=u8::MAX).flat_map(|byte| [bound, b'a', 0xff].map(|others| (byte, others))) {
                    let mut bytes = vec![others.max(bound); length];
                    bytes[place] = byte;
                    let expected = (4..=16).contains(&length).then_some(byte < bound);
                    assert_eq!(of_few(&bytes, |word| below(word, bound) != 0), expected, "{bytes:?} {bound}");
                    let line_ending = bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
                    assert_eq!(has_line_ending(&bytes), line_ending, "{bytes:?}");
                    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(length);
                    assert_eq!(line_length(&bytes), end, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn openings() {
        assert_eq!(opening("```tool"), Some(Opening { mark: b'`', length: 3, info: "tool" }));
        assert_eq!(opening("~~~~ tool x ").map(|open| (open.length, open.word())), Some((4, "tool")));
        assert_eq!(opening("~~~ a`b").map(|open| open.info), Some("a`b"));
        assert_eq!(opening("``` a`b"), None);
        assert_eq!(opening("``"), None);
        assert_eq!(opening(""), None);
    }

    #[test]
    fn closings() {
        assert!(closes("```", b'`', 3) && closes("`````\t ", b'`', 3));
        assert!(!closes("``", b'`', 3) && !closes("``` x", b'`', 3) && !closes("~~~", b'`', 3));
        assert!(may_close("", b'`', 3) && may_close("``", b'`', 3) && may_close("``` ", b'`', 3));
        assert!(!may_close("`` ", b'`', 3) && !may_close("{", b'`', 3));
    }

    #[test]
    fn a_safe_fence_is_longer_than_any_run() {
        assert_eq!(safe_length("plain"), 3);
        assert_eq!(safe_length("``` and ````` end ``"), 6);
    }
}
