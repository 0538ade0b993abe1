//! A position in a line, in bytes and in columns: a tab advances to the next multiple of four (CommonMark 0.31.2,
//! section 2.2).

/// A position in one line without its ending.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    at: usize,
    column: usize,
    /// Whether the tab at `at` is partly consumed: its first columns belong to a container.
    split_tab: bool,
    /// Byte and column of the next character that is not whitespace. It is cached so that nested containers do not
    /// search for it repeatedly: the cost of a line must not be its depth times its whitespace.
    next: (usize, usize),
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a str) -> Cursor<'a> {
        let mut cursor = Cursor { line, at: 0, column: 0, split_tab: false, next: (0, 0) };
        cursor.find_next();
        cursor
    }

    fn find_next(&mut self) {
        let (mut at, mut column) = (self.at, self.column);
        for byte in &self.line.as_bytes()[at..] {
            match byte {
                b' ' => column += 1,
                b'\t' => column += 4 - column % 4,
                _ => break,
            }
            at += 1;
        }
        self.next = (at, column);
    }

    /// Returns the columns of whitespace before the next other character.
    pub(super) fn indent(&self) -> usize {
        self.next.1 - self.column
    }

    /// Returns `true` if only whitespace is left.
    pub(super) fn is_blank(&self) -> bool {
        self.next.0 == self.line.len()
    }

    /// Returns the next character that is not whitespace.
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.next.0).copied()
    }

    /// Returns the byte offset of the next character that is not whitespace.
    pub(super) fn offset(&self) -> usize {
        self.next.0
    }

    /// Returns the rest of the line from the next character that is not whitespace.
    pub(super) fn rest(&self) -> &'a str {
        &self.line[self.next.0..]
    }

    /// Returns the rest of the line, and the number of spaces that replace the rest of a split tab before it.
    pub(super) fn content(&self) -> Content<'a> {
        if !self.split_tab {
            return Content { pad: 0, text: &self.line[self.at..] };
        }
        Content { pad: 4 - self.column % 4, text: &self.line[self.at + 1..] }
    }

    /// Moves over the whitespace and `bytes` further characters of one byte and one column each.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.at = self.next.0 + bytes;
        self.column = self.next.1 + bytes;
        self.split_tab = false;
        self.find_next();
    }

    /// Moves over at most `columns` columns of whitespace.
    pub(super) fn skip(&mut self, columns: usize) {
        let goal = (self.column + columns).min(self.next.1);
        while self.column < goal {
            if self.line.as_bytes()[self.at] == b' ' {
                self.at += 1;
                self.column += 1;
                continue;
            }
            let stop = self.column + 4 - self.column % 4;
            self.column = stop.min(goal);
            self.split_tab = self.column < stop;
            self.at += usize::from(!self.split_tab);
        }
    }
}

/// The part of a line that belongs to a code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content<'a> {
    /// Spaces before the text: the rest of a tab that a container has partly consumed.
    pub(super) pad: usize,
    pub(super) text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_split_by_columns() {
        let mut cursor = Cursor::new("\tfoo");
        assert_eq!(cursor.indent(), 4);
        cursor.skip(2);
        assert_eq!((cursor.indent(), cursor.content()), (2, Content { pad: 2, text: "foo" }));
        cursor.skip(9);
        assert_eq!((cursor.indent(), cursor.content()), (0, Content { pad: 0, text: "foo" }));
    }

    #[test]
    fn consuming_moves_over_blanks_first() {
        let mut cursor = Cursor::new("  > x");
        assert_eq!((cursor.peek(), cursor.offset()), (Some(b'>'), 2));
        cursor.consume(1);
        assert_eq!((cursor.indent(), cursor.rest()), (1, "x"));
    }
}
