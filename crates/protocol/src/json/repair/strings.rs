//! Finds the end of a string, whatever its quotes.
//!
//! The first quote after which the object continues properly is the end, as in strict reading. If a quote precedes it,
//! the string contains quotes that the model did not escape: its end must then fit in every way (the text after it,
//! quotes in pairs, brackets in pairs), or the string is refused. Otherwise text could be cut off and lost silently.

use super::delimiter::Delimiter;
use super::look_ahead::{Follow, Look};
use super::{Problem, RepairReader};
use crate::{Repair, Text, text};

/// The quotes found inside a string that is being read.
#[derive(Default)]
struct Inner {
    count: usize,
    apostrophes: bool,
    /// Whether some look like those of keys.
    keys: bool,
    /// Opening brackets minus closing ones, in the first `counted` bytes of the string.
    balance: isize,
    counted: usize,
}

impl Inner {
    fn weigh(&mut self, raw: &[u8]) {
        for byte in &raw[self.counted..] {
            self.balance += isize::from(matches!(byte, b'{' | b'[')) - isize::from(matches!(byte, b'}' | b']'));
        }
        self.counted = raw.len();
    }
}

impl RepairReader<'_> {
    /// Reads a string in any quotes, if one begins here.
    pub(super) fn string(&mut self, key: bool) -> Result<Option<String>, Problem> {
        if let Some(text) = self.plain_string(key) {
            return Ok(Some(text));
        }
        let Some(mark) = Delimiter::opening(self.rest(), key) else { return Ok(None) };
        let start = self.at;
        self.advance(mark.length());
        if key {
            let Some(length) = self.next_quote(mark) else { return unclosed(start) };
            // A key of several lines began in a string that has lost its quote.
            let raw = &self.text[start..self.at];
            if memchr::memchr2(b'\n', b'\r', raw.as_bytes()).is_some() {
                return Err(Problem::new(start, text!("the quotes around this key do not match; write both as \"")));
            }
            let key = self.text(mark, start, length)?;
            if mark != Delimiter::Straight(b'"') || self.is_made(Repair::Quotes) {
                refuse_quotes_in_key(&key, start)?;
            }
            return Ok(Some(key));
        }
        if matches!(mark, Delimiter::Triple(_)) {
            self.refuse_short_string(mark, start)?;
            self.triple_end(mark, start)?;
            return self.text(mark, start, 3).map(Some);
        }
        let length = self.value_end(mark, start)?;
        // Only a text with other quotes than those of JSON can mix two kinds of quotes.
        if mark != Delimiter::Straight(b'"') || self.is_made(Repair::Quotes) {
            self.refuse_other_quotes(mark, start)?;
        }
        self.text(mark, start, length).map(Some)
    }

    /// Reads a regular JSON string without escapes whose end fits. This is the fast path for nearly every string.
    fn plain_string(&mut self, key: bool) -> Option<String> {
        let inside = self.rest().strip_prefix('"')?;
        let length = inside.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        // An empty string may be the beginning of three quotes.
        let whole = length > 0 && inside.as_bytes()[length] == b'"';
        let mixed = self.is_made(Repair::Quotes)
            && !inside.as_bytes()[..length].iter().all(|byte| byte.is_ascii() && *byte != b'\'');
        if !whole || mixed || !key && !self.ends_value_before(self.at + length + 2) {
            return None;
        }
        self.advance(length + 2);
        Some(inside[..length].to_owned())
    }

    /// Returns `true` if the text from `at` on shows with certainty that a value ends there.
    fn ends_value_before(&mut self, at: usize) -> bool {
        let mut look = Look::new(self.text, at, b'"');
        let follow = look.follow(&self.stack);
        !matches!(follow, Follow::Text | Follow::Plus | Follow::Colon)
    }

    /// Decodes the text from the opening delimiter at `start` to the closing one here, and consumes the latter.
    fn text(&mut self, mark: Delimiter, start: usize, length: usize) -> Result<String, Problem> {
        let from = start + mark.length();
        let raw = &self.text[from..self.at];
        self.advance(length);
        let quote = match mark {
            Delimiter::Straight(mark) | Delimiter::Triple(mark) => mark as char,
            Delimiter::Double => '\u{201d}',
            Delimiter::Single => '\u{2019}',
        };
        // A program that makes quotes typographic changes all of them: an escaped one may have ended an inner string.
        if matches!(mark, Delimiter::Double | Delimiter::Single) && holds_escaped(raw, mark) {
            return Err(Problem::new(start, ambiguous_quote()));
        }
        let text = self.unescape(raw, from, quote)?;
        if let Some(repair) = mark.repair() {
            self.note(repair);
        }
        Ok(text)
    }

    /// Moves to the next closing delimiter without a backslash and returns its length.
    fn next_quote(&mut self, mark: Delimiter) -> Option<usize> {
        let first = mark.first_byte();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let stop = rest.iter().position(|byte| *byte == first || *byte == b'\\' || *byte < 0x20);
            let stop = stop.unwrap_or(rest.len());
            self.advance(stop);
            let rest = &rest[stop..];
            let escape = *rest.first()? == b'\\';
            let control = rest[usize::from(escape)..].first().is_some_and(|byte| *byte < 0x20);
            if control && !matches!(mark, Delimiter::Triple(_)) {
                self.note(Repair::RawControl);
            }
            if escape {
                let escaped = self.rest()[1..].chars().next()?;
                self.advance(1 + escaped.len_utf8());
            } else if let Some(length) = mark.closing(rest) {
                return Some(length);
            } else {
                // A character whose first byte is that of a typographic quote has three bytes.
                self.advance(if rest[0] < 0x80 { 1 } else { 3 });
            }
        }
    }

    /// Moves to the delimiter that ends the value and returns its length.
    fn value_end(&mut self, mark: Delimiter, start: usize) -> Result<usize, Problem> {
        let from = self.at;
        let mut inner = Inner::default();
        while let Some(length) = self.next_quote(mark) {
            if mark.first_byte() != b'"' && self.is_apostrophe(length) {
                inner.apostrophes = true;
            } else if self.ends_here(mark, length, from, &mut inner)? {
                if inner.count > 0 || inner.apostrophes {
                    self.note(Repair::InnerQuotes);
                }
                return Ok(length);
            } else {
                self.refuse_odd_inner(mark, length)?;
                inner.count += 1;
            }
            self.advance(length);
        }
        unclosed(start)
    }

    /// Returns `true` if the quote here ends the string; an error if it may or may not.
    fn ends_here(&self, mark: Delimiter, length: usize, from: usize, inner: &mut Inner) -> Result<bool, Problem> {
        let follow = Look::new(self.text, self.at + length, mark.first_byte()).follow(&self.stack);
        match follow {
            Follow::Text => return Ok(false),
            Follow::Plus if inner.count > 0 => return Ok(false),
            Follow::Plus => {
                return self.problem(text!("JSON does not join strings with a plus sign; write one string"));
            }
            Follow::Colon => {}
            _ if inner.count == 0 => return Ok(true),
            _ => {}
        }
        inner.weigh(&self.text.as_bytes()[from..self.at]);
        let odd = inner.count % 2 == 1;
        match follow {
            // Within open brackets, the string contains JSON: the quote ends a key or, below, a value in it.
            Follow::Colon if inner.balance > 0 => {
                inner.keys = true;
                Ok(false)
            }
            Follow::Next if odd && inner.balance > 0 => Ok(false),
            // The quotes before this one are in pairs, and so are the brackets if the string has keys.
            Follow::Next | Follow::Done if !odd && (inner.balance == 0 || !inner.keys) => Ok(true),
            _ => self.problem(text!(
                "it is not certain where the string around this quote ends; inside a string write quotes as \\\", or \
                 give the text as a verbatim body"
            )),
        }
    }

    /// Returns `true` if the single quote here is between two letters.
    fn is_apostrophe(&self, length: usize) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let after = self.rest()[length..].chars().next();
        before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
    }

    /// Refuses ambiguous inner quotes: those after an escaped backslash, or doubled ones next to a word.
    fn refuse_odd_inner(&self, mark: Delimiter, length: usize) -> Result<(), Problem> {
        let before = &self.text.as_bytes()[..self.at];
        let after = self.rest()[length..].chars().next();
        let pair = mark.closing(&before[before.len().saturating_sub(length)..]).is_some();
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let doubled = pair && (word(after) || word(self.text[..self.at - length].chars().next_back()));
        if doubled || before.ends_with(b"\\\\") {
            return self.problem(ambiguous_quote());
        }
        Ok(())
    }

    /// Refuses a string that contains other quotes after which the object would continue just as well: `“a", "b": "c”`.
    /// Within brackets in the string they belong to its content: `'{"a": "b", "c": 1}'`.
    fn refuse_other_quotes(&mut self, mark: Delimiter, start: usize) -> Result<(), Problem> {
        let from = start + mark.length();
        let raw = &self.text[from..self.at];
        // The comma after such a quote is in the string, or after a comment that begins in the string.
        let joins = memchr::memchr3(b',', b'#', b'/', raw.as_bytes());
        let quotes = memchr::memchr3(b'"', b'\'', 0xe2, raw.as_bytes()); // the first byte of the typographic quotes
        if joins.is_none() || quotes.is_none() {
            return Ok(());
        }
        let mut depth = 0_usize;
        for (at, c) in raw.char_indices() {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                '"' | '\'' | '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' if depth == 0 => {
                    let after = from + at + c.len_utf8();
                    let mut look = Look::new(self.text, after, self.text.as_bytes()[from + at]);
                    let ends = look.comma_and_key();
                    if ends {
                        return Err(Problem::new(
                            start,
                            text!("the quotes around this string do not match; write both as \""),
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses three or more quotes after which the object continues properly. They may be a whole string that contains
    /// only unescaped quotes: two such strings, `["""", """"]`, look like one that begins and ends with three quotes.
    /// Six quotes are an empty string between three and three.
    fn refuse_short_string(&self, mark: Delimiter, start: usize) -> Result<(), Problem> {
        let run = self.text.as_bytes()[start..].iter().take_while(|byte| **byte == mark.first_byte()).count();
        let follow = Look::new(self.text, start + run, mark.first_byte()).follow(&self.stack);
        if run != 6 && !matches!(follow, Follow::Text | Follow::Plus | Follow::Colon) {
            return Err(Problem::new(start, ambiguous_quote()));
        }
        Ok(())
    }

    /// Moves to the three quotes that end the string; of more than three, to the last three.
    fn triple_end(&mut self, mark: Delimiter, start: usize) -> Result<(), Problem> {
        while self.next_quote(mark).is_some() {
            let run = self.rest().bytes().take_while(|byte| *byte == mark.first_byte()).count();
            self.advance(run);
            if run < 3 {
                continue;
            }
            let mut look = Look::new(self.text, self.at, mark.first_byte());
            let follow = look.follow(&self.stack);
            if matches!(follow, Follow::Text | Follow::Plus | Follow::Colon) {
                return self.problem(text!("three quotes end the string here, but what follows does not fit"));
            }
            self.at -= 3;
            return Ok(());
        }
        unclosed(start)
    }
}

/// Returns `true` if a backslash precedes a delimiter of the kind.
fn holds_escaped(raw: &str, mark: Delimiter) -> bool {
    memchr::memchr_iter(b'\\', raw.as_bytes()).any(|at| mark.closing(&raw.as_bytes()[at + 1..]).is_some())
}

/// Refuses a key with quotes in it that looks like a string which continued into the next member.
fn refuse_quotes_in_key(key: &str, start: usize) -> Result<(), Problem> {
    let quoted = key.contains(['"', '\'', '\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}']);
    if quoted && key.contains([':', ',']) {
        return Err(Problem::new(start, text!("the quotes around this key do not match; write both as \"")));
    }
    Ok(())
}

fn unclosed<T>(start: usize) -> Result<T, Problem> {
    Err(Problem::new(start, text!("the string that begins here is not closed")))
}

fn ambiguous_quote() -> Text {
    text!(
        "the quote here can be meant in two ways; inside a string write quotes as \\\", or give the text as a verbatim \
         body"
    )
}
