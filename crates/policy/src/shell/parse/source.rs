//! Reads the text under the cursor as bash does.

/// A cursor over a text. It counts its steps, so that a test can check that time is linear.
pub(super) struct Source<'a> {
    text: &'a str,
    at: usize,
    pub(super) steps: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, steps: 0 }
    }

    /// Returns the offset of the next character.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns the next character. It first drops line continuations, as bash does below its lexer: `i\⏎f` is the word
    /// `if`.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.text[self.at..].starts_with("\\\n") {
            self.at += 2;
            self.steps += 1;
        }
        self.peek_raw()
    }

    /// Returns the next character without dropping a line continuation.
    pub(super) fn peek_raw(&mut self) -> Option<char> {
        self.steps += 1;
        self.text[self.at..].chars().next()
    }

    /// Takes the next character after any line continuation.
    pub(super) fn take(&mut self) -> Option<char> {
        self.peek();
        self.take_raw()
    }

    /// Takes the next character, which may be the backslash of a line continuation.
    pub(super) fn take_raw(&mut self) -> Option<char> {
        let taken = self.peek_raw()?;
        self.at += taken.len_utf8();
        Some(taken)
    }

    /// Takes the next character if it is this one.
    pub(super) fn take_if(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// Reports whether the character after the next one is `wanted`. It does not move the cursor beyond line
    /// continuations.
    pub(super) fn is_followed_by(&mut self, wanted: char) -> bool {
        let Some(next) = self.peek() else { return false };
        // Line continuations between the two characters are dropped for the look-ahead only.
        let before = self.at;
        self.at += next.len_utf8();
        let found = self.peek() == Some(wanted);
        self.at = before;
        found
    }

    /// Takes the text up to and including the next `end`, and returns the text before it. Returns `None` if there is no
    /// `end`.
    pub(super) fn take_until(&mut self, end: char) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let length = rest.find(end)?;
        self.steps += length;
        self.at += length + end.len_utf8();
        Some(&rest[..length])
    }

    /// Drops the rest of the line, up to its end.
    pub(super) fn skip_comment(&mut self) {
        let rest = &self.text[self.at..];
        let length = rest.find('\n').unwrap_or(rest.len());
        self.steps += length;
        self.at += length;
    }

    /// Takes the rest of the line and its end.
    pub(super) fn take_line(&mut self) -> &'a str {
        let start = self.at;
        self.skip_comment();
        let line = &self.text[start..self.at];
        self.take_raw();
        line
    }

    /// Returns the offset of the first control character that is no tab or line end.
    pub(super) fn find_control(&self) -> Option<usize> {
        self.text.bytes().position(|byte| (byte < b' ' && !matches!(byte, b'\t' | b'\n')) || byte == 0x7f)
    }
}
