//! Splits a stream into lines of bounded length.

/// The longest line in bytes. The largest image that is displayed fits into it; text for the model is cut to far less.
pub(crate) const LONGEST: usize = 16 << 20;

/// The incomplete line at the end of the stream.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
}

/// The error for a line that is longer than [`LONGEST`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Lines {
    /// Adds a piece of the stream and calls `line` with each line that is complete, without its line end.
    pub(crate) fn push(&mut self, mut piece: &[u8], mut line: impl FnMut(&[u8])) -> Result<(), TooLong> {
        while let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
            let (head, rest) = (&piece[..end], &piece[end + 1..]);
            if self.partial.len() + head.len() > LONGEST {
                return Err(TooLong);
            }
            match self.partial.is_empty() {
                true => line(head),
                false => {
                    self.partial.extend_from_slice(head);
                    line(&self.partial);
                    self.partial.clear();
                }
            }
            piece = rest;
        }
        if self.partial.len() + piece.len() > LONGEST {
            return Err(TooLong);
        }
        self.partial.extend_from_slice(piece);
        // A long line, such as an image, must not occupy its memory for the rest of the session.
        if self.partial.is_empty() {
            self.partial.shrink_to(64 << 10);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_the_pieces() {
        let text = b"one\n\ntwo three\r\nlast\n and more";
        for size in 1..=text.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for piece in text.chunks(size) {
                lines.push(piece, |line| found.push(String::from_utf8_lossy(line).into_owned())).unwrap();
            }
            assert_eq!(found, ["one", "", "two three\r", "last"], "{size}");
        }
    }

    #[test]
    fn long_lines_are_refused() {
        let (mut lines, piece) = (Lines::default(), vec![b'x'; 1 << 20]);
        let pushed: Vec<bool> = (0..18).map(|_| lines.push(&piece, |_| panic!("no line is whole")).is_ok()).collect();
        assert_eq!(pushed, [[true; 16].as_slice(), &[false; 2]].concat());
        let mut lines = Lines::default();
        let (mut long, mut count) = (vec![b'x'; LONGEST], 0);
        long.push(b'\n');
        assert_eq!(lines.push(&long, |_| count += 1), Ok(()));
        long.insert(0, b'x');
        assert_eq!((lines.push(&long, |_| count += 1), count), (Err(TooLong), 1));
    }
}
