//! Where a string ends, whatever its quotes.
//!
//! The first quote behind which the object goes on as it should is the end, as in strict reading. Where a quote stands
//! before that, the string holds quotes that the model did not escape: then its end must fit in every way (what
//! follows, quotes in pairs, brackets in pairs), or the string is refused. What is cut off would be lost in silence.

use super::delimiter::Delimiter;
use super::look_ahead::{Follow, Look};
use super::{Problem, RepairReader};
use crate::{Repair, Text, text};

/// The quotes met inside a string that is being read.
#[derive(Default)]
struct Inner {
    count: usize,
    apostrophes: bool,
    /// Some look like those of keys.
    keys: bool,
    /// Opening brackets less closing ones, up to `counted` bytes of the string.
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
    /// A string in any quotes, if one begins here.
    pub(super) fn string(&mut self, key: bool) -> Result<Option<String>, Problem> {
        if let Some(text) = self.usual(key) {
            return Ok(Some(text));
        }
        let Some(mark) = Delimiter::opening(self.rest(), key) else { return Ok(None) };
        let start = self.at;
        self.go_on(mark.length());
        if key {
            let Some(length) = self.next_quote(mark) else { return unclosed(start) };
            // A key of several lines began in a string that has lost its quote.
            let raw = &self.text[start..self.at];
            if memchr::memchr2(b'\n', b'\r', raw.as_bytes()).is_some() {
                return Err(Problem::new(start, text!("the quotes around this key do not match; write both as \"")));
            }
            let key = self.text(mark, start, length)?;
            if mark != Delimiter::Straight(b'"') || self.has(Repair::Quotes) {
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
        if mark != Delimiter::Straight(b'"') || self.has(Repair::Quotes) {
            self.refuse_other_quotes(mark, start)?;
        }
        self.text(mark, start, length).map(Some)
    }

    /// A string as JSON has it, with nothing in it that has to be looked at and an end that fits: nearly every one.
    fn usual(&mut self, key: bool) -> Option<String> {
        let inside = self.rest().strip_prefix('"')?;
        let length = inside.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        let whole = length > 0 && inside.as_bytes()[length] == b'"';
        let mixed = self.has(Repair::Quotes)
            && !inside.as_bytes()[..length].iter().all(|byte| byte.is_ascii() && *byte != b'\'');
        if !whole || mixed || !key && !self.fits_behind(self.at + length + 2) {
            return None;
        }
        self.go_on(length + 2);
        Some(inside[..length].to_owned())
    }

    /// Whether what stands from `at` on leaves no doubt that a value ends before it.
    fn fits_behind(&mut self, at: usize) -> bool {
        let mut look = Look::new(self.text, at, b'"');
        let follow = look.follow(&self.stack);
        !matches!(follow, Follow::Text | Follow::Plus | Follow::Colon)
    }

    /// The text from the opening delimiter at `start` to the closing one here, which is passed over.
    fn text(&mut self, mark: Delimiter, start: usize, length: usize) -> Result<String, Problem> {
        let from = start + mark.length();
        let raw = &self.text[from..self.at];
        self.go_on(length);
        let quote = match mark {
            Delimiter::Straight(mark) | Delimiter::Triple(mark) => mark as char,
            Delimiter::Double => '\u{201d}',
            Delimiter::Single => '\u{2019}',
        };
        // A program that makes quotes typographic does so to all of them: an escaped one may have ended a string of its own.
        if matches!(mark, Delimiter::Double | Delimiter::Single) && holds_escaped(raw, mark) {
            return Err(Problem::new(start, ambiguous_quote()));
        }
        let text = self.unescape(raw, from, quote)?;
        if let Some(repair) = mark.repair() {
            self.note(repair);
        }
        Ok(text)
    }

    /// Goes to the next closing delimiter that has no backslash, and gives its length.
    fn next_quote(&mut self, mark: Delimiter) -> Option<usize> {
        let first = mark.first_byte();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let stop = rest.iter().position(|byte| *byte == first || *byte == b'\\' || *byte < 0x20);
            let stop = stop.unwrap_or(rest.len());
            self.go_on(stop);
            let rest = &rest[stop..];
            let escape = *rest.first()? == b'\\';
            let control = rest[usize::from(escape)..].first().is_some_and(|byte| *byte < 0x20);
            if control && !matches!(mark, Delimiter::Triple(_)) {
                self.note(Repair::RawControl);
            }
            if escape {
                let escaped = self.rest()[1..].chars().next()?;
                self.go_on(1 + escaped.len_utf8());
            } else if let Some(length) = mark.closing(rest) {
                return Some(length);
            } else {
                self.go_on(if rest[0] < 0x80 { 1 } else { 3 });
            }
        }
    }

    /// Goes to the delimiter that ends the value, and gives its length.
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
            self.go_on(length);
        }
        unclosed(start)
    }

    /// Whether the quote here ends the string; an error where it might and might not.
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
            Follow::Colon if inner.balance > 0 => {
                inner.keys = true;
                Ok(false)
            }
            Follow::Next if odd && inner.balance > 0 => Ok(false),
            Follow::Next | Follow::Done if !odd && (inner.balance == 0 || !inner.keys) => Ok(true),
            _ => self.problem(text!(
                "it is not certain where the string around this quote ends; inside a string write quotes as \\\", or \
                 give the text as a verbatim body"
            )),
        }
    }

    /// Whether the single quote here stands between two letters.
    fn is_apostrophe(&self, length: usize) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let behind = self.rest()[length..].chars().next();
        before.is_some_and(char::is_alphanumeric) && behind.is_some_and(char::is_alphanumeric)
    }

    /// Inner quotes that were perhaps meant otherwise: behind an escaped backslash, or doubled beside a word.
    fn refuse_odd_inner(&self, mark: Delimiter, length: usize) -> Result<(), Problem> {
        let before = &self.text.as_bytes()[..self.at];
        let behind = self.rest()[length..].chars().next();
        let pair = mark.closing(&before[before.len().saturating_sub(length)..]).is_some();
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let doubled = pair && (word(behind) || word(self.text[..self.at - length].chars().next_back()));
        if doubled || before.ends_with(b"\\\\") {
            return self.problem(ambiguous_quote());
        }
        Ok(())
    }

    /// Quotes of another kind in the string behind which the object goes on as well: `“a", "b": "c”`. In brackets of
    /// the string's own they are those of what it holds: `'{"a": "b", "c": 1}'`.
    fn refuse_other_quotes(&mut self, mark: Delimiter, start: usize) -> Result<(), Problem> {
        let from = start + mark.length();
        let raw = &self.text[from..self.at];
        // A comma that follows stands in the string, or behind a comment that begins in it.
        let joins = memchr::memchr3(b',', b'#', b'/', raw.as_bytes());
        let quotes = memchr::memchr3(b'"', b'\'', 0xe2, raw.as_bytes()); // the first byte of the others
        if joins.is_none() || quotes.is_none() {
            return Ok(());
        }
        let mut depth = 0_usize;
        for (at, c) in raw.char_indices() {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                '"' | '\'' | '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' if depth == 0 => {
                    let behind = from + at + c.len_utf8();
                    let mut look = Look::new(self.text, behind, self.text.as_bytes()[from + at]);
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

    /// Refuses three or more quotes behind which the object goes on as it should. They may be a whole string that holds only
    /// quotes, which nobody escaped: two such strings, `["""", """"]`, look like one that begins and ends with three quotes.
    /// Six quotes are the empty string between three and three.
    fn refuse_short_string(&self, mark: Delimiter, start: usize) -> Result<(), Problem> {
        let run = self.text.as_bytes()[start..].iter().take_while(|byte| **byte == mark.first_byte()).count();
        let follow = Look::new(self.text, start + run, mark.first_byte()).follow(&self.stack);
        if run != 6 && !matches!(follow, Follow::Text | Follow::Plus | Follow::Colon) {
            return Err(Problem::new(start, ambiguous_quote()));
        }
        Ok(())
    }

    /// Goes to the three quotes that end the string; of more than three, to the last three.
    fn triple_end(&mut self, mark: Delimiter, start: usize) -> Result<(), Problem> {
        while self.next_quote(mark).is_some() {
            let run = self.rest().bytes().take_while(|byte| *byte == mark.first_byte()).count();
            self.go_on(run);
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

/// Whether a delimiter of the kind stands behind a backslash.
fn holds_escaped(raw: &str, mark: Delimiter) -> bool {
    memchr::memchr_iter(b'\\', raw.as_bytes()).any(|at| mark.closing(&raw.as_bytes()[at + 1..]).is_some())
}

/// Refuses a key that holds quotes as a string does that went on into the next member.
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
