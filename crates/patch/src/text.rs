//! A file as lines. Only a line feed ends a line, and no byte is changed.

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The lines of a file, without copies.
#[derive(Debug)]
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    /// The start of each line, and the end of the text.
    starts: Vec<u32>,
}

impl<'a> Text<'a> {
    /// Splits a text. Returns `None` if it has 4 GB or more.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Text<'a>> {
        let end = u32::try_from(bytes.len()).ok()?;
        let first = if bytes.starts_with(BOM) { 3 } else { 0 };
        let mut starts = vec![first];
        // The length fits into 32 bits, so every index does.
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(|at| at as u32 + 1));
        if starts.last() != Some(&end) {
            starts.push(end);
        }
        Some(Text { bytes, starts })
    }

    /// Returns the number of lines.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the bytes before the first line: a byte order mark, or nothing.
    pub(super) fn mark(&self) -> &'a [u8] {
        &self.bytes[..self.starts[0] as usize]
    }

    /// Returns the lines `from..to` with their ends.
    pub(super) fn range(&self, from: usize, to: usize) -> &'a [u8] {
        &self.bytes[self.starts[from] as usize..self.starts[to] as usize]
    }

    /// Returns a line without its line feed.
    pub(super) fn line(&self, at: usize) -> &'a [u8] {
        let line = self.range(at, at + 1);
        line.strip_suffix(b"\n").unwrap_or(line)
    }

    /// Returns the line that contains a byte, counted from the beginning of the first line.
    pub(super) fn line_at(&self, byte: usize) -> usize {
        let byte = byte + self.mark().len();
        self.starts.partition_point(|start| *start as usize <= byte).saturating_sub(1)
    }

    /// Returns the text without its mark.
    pub(super) fn body(&self) -> &'a [u8] {
        &self.bytes[self.mark().len()..]
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.len()).map(|at| self.line(at))
    }

    /// Returns whether the last line has a line feed; `true` for an empty file.
    pub(super) fn is_ended(&self) -> bool {
        self.bytes.len() == self.mark().len() || self.bytes.ends_with(b"\n")
    }

    /// Returns how lines near `at` end: the end of that line, or else of the line before or after it.
    pub(super) fn end_near(&self, at: usize) -> &'static [u8] {
        // The last line may have no end, so its neighbours are tried; a file without any gets line feeds.
        let near = [Some(at), at.checked_sub(1), at.checked_add(1), at.checked_sub(2)];
        let ended = near.into_iter().flatten().find_map(|at| (at < self.len()).then(|| self.end_of(at)).flatten());
        ended.unwrap_or(b"\n")
    }

    fn end_of(&self, at: usize) -> Option<&'static [u8]> {
        let line = self.range(at, at + 1);
        line.ends_with(b"\n").then_some(if line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" })
    }
}

/// Returns a line of the patch without its byte order mark, which belongs to the file.
pub(super) fn strip_mark(text: &str) -> &[u8] {
    let bytes = text.as_bytes();
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_text() {
        for (text, lines, mark, ended) in [
            (&b""[..], vec![], 0, true),
            (b"\n", vec![&b""[..]], 0, true),
            (b"a\r\nb", vec![b"a\r", b"b"], 0, false),
            (b"\xEF\xBB\xBF", vec![], 3, true),
            (b"\xEF\xBB\xBFa\n", vec![b"a"], 3, true),
        ] {
            let text = Text::new(text).unwrap();
            assert_eq!(text.lines().collect::<Vec<_>>(), lines);
            assert_eq!((text.mark().len(), text.is_ended()), (mark, ended));
        }
    }

    #[test]
    fn ends_are_those_of_the_neighbours() {
        let text = Text::new(b"a\r\nb\nc").unwrap();
        assert_eq!([0, 1, 2, 3].map(|at| text.end_near(at)), [&b"\r\n"[..], b"\n", b"\n", b"\n"]);
    }
}
