//! Reads lines of limited length from a byte stream. A line that is too long is reported and skipped.
//!
//! This module does not parse JSON.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The outcome of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line without its ending.
    Text(String),
    /// The line is longer than the limit.
    TooLong,
    NotUtf8,
}

/// Reads lines. A partial line is kept between calls, so [`next`](Lines::next) is cancel safe.
pub(super) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    most: usize,
    too_long: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, most: usize) -> Lines<R> {
        Lines { reader, line: Vec::new(), most, too_long: false }
    }

    /// Returns the next line, or `None` at the end of the input. The last line needs no ending.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                let open = self.too_long || !self.line.is_empty();
                return Ok(open.then(|| self.take()));
            }
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.too_long || self.line.len() + part.len() > self.most {
                self.too_long = true;
                // A new vector frees the memory, which `clear` would keep.
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        let bytes = std::mem::take(&mut self.line);
        match String::from_utf8(bytes) {
            _ if std::mem::take(&mut self.too_long) => Line::TooLong,
            Ok(text) => Line::Text(text),
            Err(_) => Line::NotUtf8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = |text: &'static [u8]| {
            let mut lines = Lines::new(tokio::io::BufReader::with_capacity(3, text), 4);
            runtime.block_on(async {
                let mut all = Vec::new();
                while let Some(line) = lines.next().await.unwrap() {
                    all.push(line);
                }
                all
            })
        };
        let text = |text: &str| Line::Text(text.to_owned());
        assert_eq!(
            read(b"four\nfives\n\n\xff\nlast"),
            [text("four"), Line::TooLong, text(""), Line::NotUtf8, text("last")]
        );
        assert_eq!(read(b"fives"), [Line::TooLong]);
        assert!(read(b"").is_empty());
    }
}
