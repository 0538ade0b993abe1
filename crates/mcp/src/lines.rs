//! Lines out of pieces, none of them longer than a limit.

/// Bytes of the longest line that is read: an image of the size that is shown fits. A text is cut for the model to a fraction of it.
pub(crate) const LONGEST: usize = 16 << 20;

/// What has come of a line so far.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
}

/// A line is longer than [`LONGEST`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Lines {
    /// Takes a piece and hands out each line that is whole by now, without its end.
    pub(crate) fn push(&mut self, mut piece: &[u8], mut line: impl FnMut(&[u8])) -> Result<(), TooLong> {
        while let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
            let (head, rest) = (&piece[..end], &piece[end + 1..]);
            if self.begun.len() + head.len() > LONGEST {
                return Err(TooLong);
            }
            match self.begun.is_empty() {
                true => line(head),
                false => {
                    self.begun.extend_from_slice(head);
                    line(&self.begun);
                    self.begun.clear();
                }
            }
            piece = rest;
        }
        if self.begun.len() + piece.len() > LONGEST {
            return Err(TooLong);
        }
        self.begun.extend_from_slice(piece);
        // A long line leaves no room behind that nobody needs.
        if self.begun.is_empty() {
            self.begun.shrink_to(64 << 10);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_for_any_pieces() {
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
    fn no_line_is_endless() {
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
