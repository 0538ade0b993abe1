//! The grammar of one fence line: what opens a fenced code block, what closes it, and which fence is safe around a
//! text.
//!
//! Pure functions on one line without its ending and its indentation (CommonMark 0.31.2, section 4.5).
//! [`parse`](crate::parse) handles containers and indentation.

/// The parts of an opening fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening<'a> {
    /// `` ` `` or `~`.
    pub mark: u8,
    /// The length of the fence, at least three.
    pub length: usize,
    /// The raw info string without surrounding whitespace: entities and escapes are not decoded.
    pub info: &'a str,
}

impl<'a> Opening<'a> {
    /// Returns the first word of the info string, not decoded.
    pub fn word(&self) -> &'a str {
        let end = self.info.bytes().position(|byte| byte == b' ' || byte == b'\t');
        &self.info[..end.unwrap_or(self.info.len())]
    }
}

/// Parses a line as an opening fence.
pub fn opening(line: &str) -> Option<Opening<'_>> {
    let mark = *line.as_bytes().first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let length = run_length(line.as_bytes(), mark);
    let info = line[length..].trim_matches([' ', '\t']);
    // Otherwise inline code such as ```` ``` a ``` ```` would open a block (CommonMark 0.31.2, section 4.5).
    let has_backtick = mark == b'`' && memchr::memchr(b'`', info.as_bytes()).is_some();
    (length >= 3 && !has_backtick).then_some(Opening { mark, length, info })
}

/// Returns `true` if a line closes a block whose opening fence is `length` times the character `mark`: the line is a
/// run of at least `length` of these characters, followed only by whitespace.
pub fn closes(line: &str, mark: u8, length: usize) -> bool {
    let marks = run_length(line.as_bytes(), mark);
    marks >= length && is_blank(&line[marks..])
}

/// Returns `true` if a line with this beginning may still close the block.
pub fn may_close(beginning: &str, mark: u8, length: usize) -> bool {
    let marks = run_length(beginning.as_bytes(), mark);
    marks == beginning.len() || (marks >= length && is_blank(&beginning[marks..]))
}

/// Returns `true` if a line has only spaces and tabs.
pub fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ' || byte == b'\t')
}

/// Returns the number of backticks of a fence that nothing in `text` can close: one more than the longest run, at least
/// three.
pub fn safe_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut longest, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'`', &bytes[at..]) {
        let length = run_length(&bytes[at + found..], b'`');
        longest = longest.max(length);
        at += found + length;
    }
    (longest + 1).max(3)
}

fn run_length(bytes: &[u8], mark: u8) -> usize {
    bytes.iter().take_while(|byte| **byte == mark).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_fences_are_parsed() {
        assert_eq!(opening("```tool"), Some(Opening { mark: b'`', length: 3, info: "tool" }));
        assert_eq!(opening("~~~~ tool x ").map(|open| (open.length, open.word())), Some((4, "tool")));
        assert_eq!(opening("~~~ a`b").map(|open| open.info), Some("a`b"));
        assert_eq!(opening("``` a`b"), None);
        assert_eq!(opening("``"), None);
        assert_eq!(opening(""), None);
    }

    #[test]
    fn closing_fences_are_recognised() {
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
