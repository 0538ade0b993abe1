//! Looks ahead: does the text after a quote fit the end of a string there?
//!
//! A look-ahead changes nothing and never passes the third quote from its beginning: it skips whitespace, brackets,
//! commas and comments without that quote, then a key from quote to quote. All look-aheads at a text together therefore
//! take linear time.

use super::Frame;
use super::delimiter::Delimiter;
use super::whitespace::{is_space, is_token};

/// The text after a quote in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// Nothing that may follow a string.
    Text,
    /// A colon: the quote looks like the end of a key.
    Colon,
    /// The next member or element.
    Next,
    /// Closing brackets that exactly close everything open.
    Done,
    /// Other closing brackets, or the end of the text.
    Closers,
    /// A plus sign and another string.
    Plus,
}

/// A position ahead of the reader.
pub(super) struct Look<'a> {
    text: &'a str,
    at: usize,
    /// The first byte of the quote that may end the string. A comment that contains it is not treated as a comment.
    mark: u8,
}

impl<'a> Look<'a> {
    pub(super) fn new(text: &'a str, at: usize, mark: u8) -> Look<'a> {
        Look { text, at, mark }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Classifies the text after a string that would end here, inside the open `frames`.
    pub(super) fn follow(&mut self, frames: &[Frame]) -> Follow {
        let start = self.at;
        if !self.skip_whitespace() {
            return Follow::Text;
        }
        let is_separated = self.at > start;
        let in_object = frames.last().is_some_and(Frame::is_object);
        match self.peek() {
            None => Follow::Closers,
            Some(b'}' | b']') => self.closers(frames),
            Some(b',') => self.comma(in_object),
            Some(b':') => self.after_colon(1),
            // An array of another language, in a string whose quotes were not escaped.
            Some(b'=') if self.rest().starts_with("=>") => self.after_colon(2),
            Some(b'+') => self.plus(),
            Some(_) if in_object => {
                if self.plain_key() {
                    Follow::Next
                } else {
                    Follow::Text
                }
            }
            Some(b'{' | b'[') => Follow::Next,
            Some(_) if is_separated && self.quote().is_some() => Follow::Next,
            Some(_) => Follow::Text,
        }
    }

    fn closers(&mut self, frames: &[Frame]) -> Follow {
        let fits = |byte: u8| frames.iter().any(|frame| frame.closer() == byte);
        if !self.peek().is_some_and(fits) {
            return Follow::Text;
        }
        let mut count = 0;
        let mut exact = true;
        while let Some(byte @ (b'}' | b']')) = self.peek() {
            let frame = frames.len().checked_sub(count + 1).map(|index| &frames[index]);
            exact &= frame.is_none_or(|frame| frame.closer() == byte);
            count += 1;
            self.at += 1;
            if !self.skip_whitespace() {
                return Follow::Text;
            }
        }
        let all = count >= frames.len();
        match self.peek() {
            // Another quote follows all brackets, so these brackets are content of the string.
            Some(byte) if all && byte == self.mark => Follow::Text,
            _ if all => {
                if exact {
                    Follow::Done
                } else {
                    Follow::Closers
                }
            }
            None => Follow::Closers,
            Some(b',' | b'{' | b'[') if exact => Follow::Next,
            Some(b',' | b'{' | b'[') => Follow::Closers,
            Some(_) if self.plain_key() => {
                if exact {
                    Follow::Next
                } else {
                    Follow::Closers
                }
            }
            Some(_) => Follow::Text,
        }
    }

    fn comma(&mut self, in_object: bool) -> Follow {
        // Several commas show as well that the string did end; the reader refuses them then.
        while self.peek() == Some(b',') {
            self.at += 1;
            if !self.skip_whitespace() {
                return Follow::Text;
            }
        }
        let fits = match self.peek() {
            None | Some(b'}' | b']') => true,
            // A number is not a key, but the colon after it shows that the string did end. The reader then refuses the
            // number.
            Some(b'0'..=b'9') if in_object => self.numeric_key(),
            Some(_) if in_object => self.key(),
            Some(b'{' | b'[' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => true,
            Some(_) => self.quote().is_some(),
        };
        if fits { Follow::Next } else { Follow::Text }
    }

    /// Classifies the text after a colon, which marks the preceding text as a key only if a value follows.
    fn after_colon(&mut self, length: usize) -> Follow {
        self.at += length;
        let value = self.skip_whitespace()
            && (self.quote().is_some()
                || matches!(
                    self.peek(),
                    Some(b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'T' | b'F' | b'N')
                ));
        if value { Follow::Colon } else { Follow::Text }
    }

    fn plus(&mut self) -> Follow {
        self.at += 1;
        if self.skip_whitespace() && self.quote().is_some() { Follow::Plus } else { Follow::Text }
    }

    /// Skips whitespace and comments. Returns `false` at a comment that contains the delimiter.
    fn skip_whitespace(&mut self) -> bool {
        while !self.peek().is_some_and(is_token) {
            if self.peek().is_some_and(is_space) {
                self.at += 1;
                continue;
            }
            match self.skip_comment() {
                Some(true) => {}
                Some(false) => break,
                None => return false,
            }
        }
        true
    }

    /// Skips a comment, if there is one. `None` if it contains the delimiter or does not end.
    fn skip_comment(&mut self) -> Option<bool> {
        let bytes = self.rest().as_bytes();
        if bytes.starts_with(b"/*") {
            let stop = memchr::memchr2(self.mark, b'*', &bytes[2..]).map(|stop| stop + 2);
            self.at += stop.unwrap_or(bytes.len());
            let mut rest = &bytes[stop?..];
            while rest.first() == Some(&b'*') {
                if rest.get(1) == Some(&b'/') {
                    self.at += 2;
                    return Some(true);
                }
                let more = memchr::memchr2(self.mark, b'*', &rest[1..]).map(|stop| stop + 1);
                self.at += more.unwrap_or(rest.len());
                rest = &rest[more?..];
            }
            return None;
        }
        if !bytes.starts_with(b"//") && bytes.first() != Some(&b'#') {
            return Some(false);
        }
        let stop = memchr::memchr3(self.mark, b'\n', b'\r', bytes).unwrap_or(bytes.len());
        self.at += stop;
        (bytes.get(stop) != Some(&self.mark)).then_some(true)
    }

    fn quote(&self) -> Option<Delimiter> {
        Delimiter::opening(self.rest(), true)
    }

    /// Returns `true` if a key and its colon are here without a comma before them. Only a word counts as such a key:
    /// anything else is rather the rest of a string that contains quotes: `"echo "" >> f; cut -d":" f"`.
    pub(super) fn plain_key(&mut self) -> bool {
        let is_word = self.quote().is_none_or(|quote| {
            let inside = &self.rest().as_bytes()[quote.length()..];
            let word = inside.iter().take_while(|byte| is_word(**byte)).count();
            word > 0 && quote.closing(&inside[word..]).is_some()
        });
        is_word && self.key()
    }

    /// Returns `true` if a comma, a key and its colon are here, possibly after closing brackets, as after the quote
    /// that ends a string.
    pub(super) fn comma_and_key(&mut self) -> bool {
        while self.skip_whitespace() && matches!(self.peek(), Some(b'}' | b']')) {
            self.at += 1;
        }
        self.peek() == Some(b',') && {
            self.at += 1;
            self.skip_whitespace() && self.key()
        }
    }

    /// Returns `true` if a number and a colon are here, as in a Python dictionary.
    fn numeric_key(&mut self) -> bool {
        self.at += self.rest().bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        self.skip_whitespace() && self.peek() == Some(b':')
    }

    /// Skips a key. Returns `true` if it is a key with a colon.
    pub(super) fn key(&mut self) -> bool {
        let rest = self.rest().as_bytes();
        let (length, is_key) = match self.quote() {
            Some(quote) => quoted_key(rest, quote, self.mark),
            None => bare_key(rest),
        };
        self.at += length;
        is_key && self.skip_whitespace() && self.peek() == Some(b':')
    }
}

/// Returns the length of a key in quotes, and whether it is complete. It ends before the end of the line, and before
/// `mark` if that is not its own delimiter.
fn quoted_key(rest: &[u8], quote: Delimiter, mark: u8) -> (usize, bool) {
    let mut at = quote.length();
    while let Some(byte) = rest.get(at) {
        if let Some(length) = quote.closing(&rest[at..]) {
            return (at + length, true);
        }
        if *byte == b'\n' || *byte == mark && mark.is_ascii() {
            return (at, false);
        }
        at += if *byte == b'\\' { 2 } else { 1 };
    }
    (rest.len(), false)
}

/// Returns the length of a word without quotes, and whether it can be a key.
fn bare_key(rest: &[u8]) -> (usize, bool) {
    let length = rest.iter().take_while(|byte| is_word(**byte)).count();
    (length, rest.first().is_some_and(|byte| is_word(*byte) && !byte.is_ascii_digit()))
}

/// Returns `true` for letters, digits, `_`, `$` and `-`.
pub(super) fn is_word(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'-')
}
