//! The ways to compare two lines, from strict to loose.

use std::borrow::Cow;

/// One way to compare lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pass {
    /// Compares every byte except the line feed.
    Exact,
    /// Ignores a carriage return before the line feed.
    Ends,
    /// Ignores blanks at the end.
    Trailing,
    /// Ignores blanks at the beginning and at the end.
    Surrounding,
    /// Treats typographic quotes, dashes and blanks as those of a keyboard.
    Typographic,
}

impl Pass {
    pub(super) const ALL: [Pass; 5] = [Pass::Exact, Pass::Ends, Pass::Trailing, Pass::Surrounding, Pass::Typographic];

    /// Returns the number of the pass as reported to users.
    pub(super) fn fuzz(self) -> u8 {
        match self {
            Pass::Exact | Pass::Ends => 0,
            Pass::Trailing => 1,
            Pass::Surrounding => 2,
            Pass::Typographic => 3,
        }
    }

    /// Returns the part of a line that is compared.
    pub(super) fn key(self, line: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Pass::Exact => line.into(),
            Pass::Ends => line.strip_suffix(b"\r").unwrap_or(line).into(),
            Pass::Trailing => line.trim_ascii_end().into(),
            Pass::Surrounding => line.trim_ascii().into(),
            Pass::Typographic if line.is_ascii() => line.trim_ascii().into(),
            Pass::Typographic => typed(line).trim_ascii().to_vec().into(),
        }
    }
}

fn typed(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            match keyboard(c) {
                Some(typed) => out.extend_from_slice(typed),
                None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}

fn keyboard(c: char) -> Option<&'static [u8]> {
    Some(match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{2035}' => b"'",
        '\u{201C}'..='\u{201F}' | '\u{2033}' | '\u{2036}' => b"\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => b"-",
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => b" ",
        '\u{2026}' => b"...",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_compares_less() {
        let line = " \u{a0}\u{201c}a\u{201d} \u{2013} b \t\r";
        let key = |pass: Pass| String::from_utf8(pass.key(line.as_bytes()).into_owned()).unwrap();
        assert_eq!(key(Pass::Exact), line);
        assert_eq!(key(Pass::Ends), " \u{a0}\u{201c}a\u{201d} \u{2013} b \t");
        assert_eq!(key(Pass::Trailing), " \u{a0}\u{201c}a\u{201d} \u{2013} b");
        assert_eq!(key(Pass::Surrounding), "\u{a0}\u{201c}a\u{201d} \u{2013} b");
        assert_eq!(key(Pass::Typographic), "\"a\" - b");
        assert_eq!(Pass::Typographic.key(b"\xff\xe2\x80\x98 "), &b"\xff'"[..]);
    }
}
