//! The escapes in a string: those of JSON and others.
//!
//! A backslash that begins no JSON escape is kept if it can only be literal. Next to JSON escapes it is not clear which
//! backslashes were escaped: such a string is refused.

use super::{Problem, RepairReader};
use crate::{Repair, Text, text};

/// The kinds of escapes in a string.
#[derive(Default)]
struct Survey {
    /// `\n`, `\u00e9` and the like.
    letters: bool,
    /// An escape that JSON does not have.
    invalid: bool,
    /// An escape that other languages have: `\x41`, `\u{1f600}`, or a backslash at the end of a line.
    foreign: bool,
    /// `\/` or `\\`. Next to an escape that JSON does not have, it is not clear which backslashes were escaped.
    slash: bool,
    /// `\'` within other quotes, and `'` without a backslash.
    apostrophe: bool,
    bare_apostrophe: bool,
    /// `\"` within other quotes, and `"` without a backslash.
    quote: bool,
    bare_quote: bool,
}

impl RepairReader<'_> {
    /// Decodes `raw`, which begins at `at`, as the content between two `quote`s.
    pub(super) fn unescape(&mut self, raw: &str, at: usize, quote: char) -> Result<String, Problem> {
        if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
            return Ok(raw.to_owned());
        }
        let survey = Survey::new(raw, quote).map_err(|(offset, message)| Problem::new(at + offset, message))?;
        // Without an escape of JSON, each backslash of a path with a drive is a separator.
        let is_plain_path = survey.invalid && !survey.letters && is_path(raw);
        let ambiguous = survey.foreign
            || survey.quote && survey.bare_quote && quote != '"'
            || survey.slash && survey.invalid
            || survey.letters && (survey.invalid || survey.apostrophe)
            || survey.apostrophe && survey.bare_apostrophe;
        if ambiguous && !is_plain_path {
            return Err(Problem::new(
                at,
                text!("the backslashes of this string can be read in two ways; write each as \\\\"),
            ));
        }
        if survey.invalid || survey.apostrophe {
            self.note(Repair::InvalidEscape);
        }
        Ok(if is_plain_path { raw.to_owned() } else { decode(raw, quote) })
    }
}

impl Survey {
    fn new(raw: &str, quote: char) -> Result<Survey, (usize, Text)> {
        let mut survey = Survey::default();
        let mut at = 0;
        while let Some(found) = memchr::memchr3(b'\\', b'\'', b'"', &raw.as_bytes()[at..]) {
            at += found;
            let after = &raw[at + 1..];
            let byte = raw.as_bytes()[at];
            if byte != b'\\' {
                survey.bare_apostrophe |= byte == b'\'';
                survey.bare_quote |= byte == b'"';
                at += 1;
                continue;
            }
            let Some(c) = after.chars().next() else { break };
            survey.count(c, after, quote).map_err(|message| (at, message))?;
            let unicode = if c == 'u' { unicode(after) } else { None };
            at += 1 + unicode.map_or(c.len_utf8(), |(_, length)| length);
        }
        Ok(survey)
    }

    /// Counts the escape of `c`, the first character of `after`.
    fn count(&mut self, c: char, after: &str, quote: char) -> Result<(), Text> {
        let mut next = after.chars().skip(1);
        let hex = |digits: usize| next.clone().take(digits).filter(char::is_ascii_hexdigit).count() == digits;
        match c {
            '"' => self.quote = true,
            '\\' | '/' => self.slash = true,
            _ if is_quote(c, quote) => {}
            'b' | 'f' | 'n' | 'r' | 't' => self.letters = true,
            'u' => match unicode(after) {
                Some((Some(_), _)) => self.letters = true,
                Some((None, _)) => {
                    return Err(text!("a lone surrogate is half a character; write the character itself"));
                }
                None => {
                    self.foreign |= next.next().is_some_and(|c| c == '{' || c.is_ascii_hexdigit());
                    self.invalid = true;
                }
            },
            '\'' => self.apostrophe = true,
            '\n' | '\r' => self.foreign = true,
            'x' if hex(2) => self.foreign = true,
            'U' if hex(8) => self.foreign = true,
            'N' if next.clone().next() == Some('{') => self.foreign = true,
            _ => self.invalid = true,
        }
        Ok(())
    }
}

/// Returns `true` if `c` is the quote around the string or its counterpart.
fn is_quote(c: char, quote: char) -> bool {
    match quote {
        '\u{201d}' => matches!(c, '\u{201c}' | '\u{201d}'),
        '\u{2019}' => matches!(c, '\u{2018}' | '\u{2019}'),
        _ => c == quote,
    }
}

/// Returns `true` if the string is a Windows path with a drive, and nothing else.
fn is_path(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    bytes.len() > 3
        && bytes[0].is_ascii_alphabetic()
        && &bytes[1..3] == b":\\"
        && !raw.contains("\\\\")
        && !raw.contains(|c: char| c.is_whitespace() || "\"'<>|*?".contains(c))
}

fn decode(raw: &str, quote: char) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(found) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..found]);
        let after = &rest[found + 1..];
        let (text, length) = escape(after, quote);
        match text {
            Some(c) => out.push(c),
            None => {
                out.push('\\');
                out.push_str(&after[..length]);
            }
        }
        rest = &after[length..];
    }
    out.push_str(rest);
    out
}

/// Returns the character of an escape, if it has one, and its length without the backslash.
fn escape(after: &str, quote: char) -> (Option<char>, usize) {
    let Some(c) = after.chars().next() else { return (None, 0) };
    let text = match c {
        '"' | '\'' | '\\' | '/' => Some(c),
        _ if is_quote(c, quote) => Some(c),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'u' => match unicode(after) {
            Some((Some(decoded), length)) => return (Some(decoded), length),
            _ => None,
        },
        _ => None,
    };
    (text, c.len_utf8())
}

/// Decodes `uXXXX`, or two of them that form one character. Returns the length without the first backslash, and no
/// character for half of a surrogate pair.
fn unicode(text: &str) -> Option<(Option<char>, usize)> {
    let unit = |at: usize| -> Option<u16> {
        let digits = text.get(at..at + 4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let first = unit(1)?;
    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((Some(c), 5));
    }
    let low = text.get(5..7).filter(|mark| *mark == "\\u").and_then(|_| unit(7)).unwrap_or_default();
    let pair = char::decode_utf16([first, low]).next().and_then(Result::ok);
    Some((pair, 11))
}
