//! Parses server-sent events: the data of each event, from pieces of any size.
//!
//! This module handles no JSON and no connections. Lines end in LF or CRLF; only the data of an event is kept.

/// Parses server-sent events from bytes. It buffers an event or a line that has not ended.
#[derive(Debug)]
pub struct Events {
    line: Vec<u8>,
    data: String,
    /// Whether the current event has a data line. Empty data also makes an event.
    some: bool,
    limit: usize,
}

/// A line, or the data of an event, is longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    /// Creates a parser that keeps at most `limit` bytes of an event.
    pub fn new(limit: usize) -> Events {
        Events { line: Vec::new(), data: String::new(), some: false, limit }
    }

    /// Returns the data of every event that ends in these bytes.
    ///
    /// # Errors
    /// Fails if a line or an event is longer than the limit.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut ended = Vec::new();
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.keep(&rest[..at])?;
            ended.extend(self.end_line()?);
            rest = &rest[at + 1..];
        }
        self.keep(rest)?;
        Ok(ended)
    }

    /// Returns the data of the last event if the stream ended without an empty line after it.
    pub fn finish(mut self) -> Option<String> {
        let ended = self.end_line().ok()?;
        ended.or_else(|| self.take())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > self.limit {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, TooLong> {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let (empty, data) =
            (line.is_empty(), line.strip_prefix(b"data:").map(|data| data.strip_prefix(b" ").unwrap_or(data)));
        if let Some(data) = data {
            // Several data lines of an event are joined with newlines (HTML Standard, section 9.2.6).
            if self.some {
                self.data.push('\n');
            }
            self.some = true;
            self.data.push_str(&String::from_utf8_lossy(data));
        }
        self.line.clear();
        if self.data.len() > self.limit {
            return Err(TooLong);
        }
        Ok(if empty { self.take() } else { None })
    }

    fn take(&mut self) -> Option<String> {
        std::mem::take(&mut self.some).then(|| std::mem::take(&mut self.data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\ndata: {\"a\":1}\n\nevent: x\r\ndata:two\r\ndata: lines\r\nid: 7\r\n\r\n\n\ndata: ä€𐍈\n\ndata: last\n";

    #[test]
    fn events_are_the_same_for_any_pieces() {
        for (stream, size) in
            [STREAM, STREAM.trim_end()].into_iter().flat_map(|stream| (1..30).map(move |n| (stream, n)))
        {
            let mut events = Events::new(100);
            let mut got: Vec<String> =
                stream.as_bytes().chunks(size).flat_map(|piece| events.feed(piece).unwrap()).collect();
            got.extend(events.finish());
            assert_eq!(got, ["{\"a\":1}", "two\nlines", "ä€𐍈", "last"], "pieces of {size}");
        }
    }

    #[test]
    fn no_line_and_no_event_grows_over_the_limit() {
        let mut events = Events::new(20);
        assert_eq!(events.feed(&[b'x'; 20]), Ok(vec![]));
        assert_eq!(events.feed(b"x"), Err(TooLong));
        let mut events = Events::new(20);
        assert_eq!(events.feed("data: 12345\n".repeat(9).as_bytes()), Err(TooLong));
    }
}
