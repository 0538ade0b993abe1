//! Programs that are written into an argument: whether they do more than read what they are given.
//!
//! Each reader takes the tokens of its language one by one and passes only what is known to be harmless; whatever else
//! stands there is a question, not a mistake. Where several implementations read a text in different ways (GNU, BusyBox and
//! BSD; one version and the next), a reader passes it only if none of these readings could do harm. All of them are linear.

pub(super) mod awk;
pub(super) mod jq;
pub(super) mod sed;
pub(super) mod yq;

/// Takes what is left of a text from its beginning.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Takes the text if it stands here.
    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes all characters from here on that are meant.
    fn take_while(&mut self, is_meant: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_meant(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Takes everything before the end of the line.
    fn line(&mut self) -> &'a str {
        self.take_while(|c| c != '\n')
    }
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

fn starts_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic()
}

/// Whether every locale and every implementation sees the same characters in the text.
///
/// There are no control characters but tab and newline. In the character sets GBK, Big5 and Shift_JIS the last byte of a
/// character may be an ASCII one from `@` on, so a backslash or a bracket behind a non-ASCII character could be part of it.
fn is_plain_text(text: &str) -> bool {
    let mut wide = false;
    text.chars().all(|c| {
        let swallowed = wide && matches!(c, '@' | '['..='`' | '{'..='~');
        wide = !c.is_ascii();
        !swallowed && (!c.is_control() || matches!(c, '\t' | '\n'))
    })
}

/// Whether every bracket of a pattern is closed in it, in whatever way it is read: then no mark that ends the pattern can
/// have been one of its characters.
fn brackets_close(pattern: &str) -> bool {
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' if !closes(&mut chars) => return false,
            _ => {}
        }
    }
    true
}

/// From behind a bracket to behind the one that closes it.
fn closes(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    chars.next_if_eq(&'^');
    // There it is a character in some readings.
    if chars.peek() == Some(&']') {
        return false;
    }
    while let Some(c) = chars.next() {
        match c {
            ']' => return true,
            '\\' if !chars.peek().is_some_and(|next| next.is_ascii_alphanumeric() || ".+*-".contains(*next)) => {
                return false;
            }
            '[' => {
                let class = chars.next_if_eq(&':').is_some();
                while chars.next_if(char::is_ascii_lowercase).is_some() {}
                if !class || chars.next() != Some(':') || chars.next() != Some(']') {
                    return false;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_could_be_read_in_two_ways_are_open() {
        for pattern in ["a", "[a-z]*", "[^a]", "[[:alpha:]_]+", "\\[", "[\\n.]", "[a][b]"] {
            assert!(brackets_close(pattern), "{pattern}");
        }
        for pattern in ["[", "[a", "[]", "[]a]", "[^]a]", "[[a]", "[[:x]", "[\\]", "[\\]]", "[[.a.]]"] {
            assert!(!brackets_close(pattern), "{pattern}");
        }
    }

    #[test]
    fn text_that_a_locale_could_read_otherwise_is_not_plain() {
        for text in ["s/a/b/", "é", "中文", "é/é", "a\n\tb", "ção b"] {
            assert!(is_plain_text(text), "{text}");
        }
        for text in ["中\\/", "é|", "é]", "é}", "a\r", "a\0", "\u{1b}"] {
            assert!(!is_plain_text(text), "{text:?}");
        }
    }

    /// No reader panics or runs away, whatever it is given.
    #[test]
    #[expect(clippy::disallowed_types, reason = "the test holds a watch to what must be quick")]
    fn hostile_text_is_read_in_time() {
        let pieces = [
            "(",
            "[",
            "{",
            "\"\\(",
            "if ",
            "def f: ",
            "try ",
            "-",
            "reduce ",
            ". as [",
            "{a:",
            "s/a/b/;",
            ":a;",
            "a\\\n",
            "/",
            "\\",
            "\"",
            "1,",
            "!",
            "@",
            "$",
            "é",
            ".a",
            "|",
            "x=",
            "a[",
            "#\n",
            "0x",
            "1e",
            "}",
            "]",
            ")",
            "\0",
            "function f(",
        ];
        let readers: [fn(&[&str]) -> bool; 4] = [sed::only_reads, awk::only_reads, jq::only_reads, yq::only_reads];
        let begun = std::time::Instant::now();
        for reader in readers {
            for piece in pieces {
                let text = piece.repeat(65_536 / piece.len());
                reader(&[&text]);
                reader(&[&text, &text]);
                for start in ["p;", ".|", "{print ", "\"", "s/"] {
                    reader(&[&format!("{start}{text}")]);
                }
            }
        }
        // Not a measure of speed: what is not linear takes minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
