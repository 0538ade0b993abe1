//! A short text that a regular expression matches, for an example.
//!
//! It understands what the patterns of schemas are made of: literals, classes, groups, alternatives and repetitions. What
//! it makes is held against the pattern by its caller, so an expression that it does not understand costs no more than the
//! example.

use std::iter::Peekable;
use std::str::Chars;

/// Characters of a text.
const LONGEST: usize = 256;

/// Groups inside one another.
const MOST_GROUPS: usize = 20;

/// A text for the pattern in which each repetition that may grow has `more` beyond its least.
pub(super) fn text_for(pattern: &str, more: usize) -> Option<String> {
    let mut reader = PatternReader { chars: pattern.chars().peekable(), more, depth: 0 };
    let text = reader.alternatives()?;
    (reader.chars.next().is_none() && text.len() <= LONGEST).then_some(text)
}

/// The white space of ECMA-262, as the inside of a class.
const SPACE: &str = r"\t\n\x0B\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

/// Rewrites a pattern of ECMA-262, which JSON Schema uses, in the syntax of the regex crate.
///
/// Only what both engines accept with different meanings is rewritten: digits, word characters and word boundaries are ASCII, white
/// space and line ends are more than in the regex crate, and a class has no operators and no class inside it.
pub(super) fn of_ecma(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '[' => rewrite_class(&mut chars, &mut out),
            '.' => out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            '\\' => match chars.next() {
                Some('b') => out.push_str(r"(?-u:\b)"),
                Some('B') => out.push_str(r"(?-u:\B)"),
                Some(c @ ('<' | '>')) => out.push(c),
                escaped => match (escaped.and_then(class_of), escaped) {
                    (Some((negated, inside)), _) => {
                        out.extend(["[", if negated { "^" } else { "" }, inside, "]"]);
                    }
                    (None, escaped) => rewrite_escape(escaped, &mut chars, &mut out),
                },
            },
            c => out.push(c),
        }
    }
    out
}

/// Rewrites a class up to its `]`; its `[` was read.
fn rewrite_class(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    let is_negated = chars.next_if_eq(&'^').is_some();
    if chars.next_if_eq(&']').is_some() {
        // To the regex crate, this `]` would be the first character of the class.
        out.extend(["[", if is_negated { "" } else { "^" }, r"\x00-\x{10FFFF}]"]);
        return;
    }
    out.extend(["[", if is_negated { "^" } else { "" }]);
    while let Some(c) = chars.next() {
        if c == ']' {
            out.push(']');
            return;
        }
        let is_single = rewrite_class_atom(c, chars, out);
        if chars.peek() != Some(&'-') {
            continue;
        }
        chars.next();
        match chars.next_if(|end| *end != ']') {
            Some(end) => {
                out.push_str(if is_single { "-" } else { r"\-" });
                rewrite_class_atom(end, chars, out);
            }
            None => out.push_str(r"\-"),
        }
    }
}

/// Rewrites one character or escape of a class; `false` if it is a class by itself.
fn rewrite_class_atom(c: char, chars: &mut Peekable<Chars<'_>>, out: &mut String) -> bool {
    if c != '\\' {
        if matches!(c, '[' | '&' | '~' | '-' | '^') {
            out.push('\\');
        }
        out.push(c);
        return true;
    }
    let escaped = chars.next();
    if let Some((negated, inside)) = escaped.and_then(class_of) {
        out.extend(if negated { ["[^", inside, "]"] } else { ["", inside, ""] });
        return false;
    }
    match escaped {
        Some('b') => out.push_str(r"\x08"),
        Some(property @ ('p' | 'P')) => {
            out.extend(['\\', property]);
            while let Some(c) = chars.next_if(|c| !matches!(c, ']' | '\\')) {
                out.push(c);
                if c == '}' {
                    break;
                }
            }
            return false;
        }
        escaped => rewrite_escape(escaped, chars, out),
    }
    true
}

/// Rewrites an escape that means the same inside and outside of a class.
fn rewrite_escape(escaped: Option<char>, chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    match escaped {
        Some('c') if chars.peek().is_some_and(char::is_ascii_alphabetic) => {
            let letter = chars.next().map_or(0, |letter| letter as u32);
            out.push_str(&format!("\\x{{{:X}}}", letter % 32));
        }
        Some('0') if !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str(r"\x00"),
        escaped => {
            out.push('\\');
            out.extend(escaped);
        }
    }
}

/// The characters of `\d`, `\w` and `\s`, and whether the letter negates them.
fn class_of(letter: char) -> Option<(bool, &'static str)> {
    let inside = match letter.to_ascii_lowercase() {
        'd' => "0-9",
        'w' => "A-Za-z0-9_",
        's' => SPACE,
        _ => return None,
    };
    Some((letter.is_ascii_uppercase(), inside))
}

struct PatternReader<'a> {
    chars: Peekable<Chars<'a>>,
    more: usize,
    depth: usize,
}

impl PatternReader<'_> {
    /// The first alternative; the others are read over.
    fn alternatives(&mut self) -> Option<String> {
        let first = self.sequence()?;
        while self.chars.next_if_eq(&'|').is_some() {
            self.sequence()?;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut out = String::new();
        while let Some(&c) = self.chars.peek() {
            if matches!(c, '|' | ')') {
                break;
            }
            self.chars.next();
            let piece = match c {
                '^' | '$' => continue,
                '(' => self.group()?,
                '[' => self.class()?.to_string(),
                '.' => "a".to_owned(),
                '\\' => self.escape()?.map(String::from).unwrap_or_default(),
                '*' | '+' | '?' => return None,
                c => c.to_string(),
            };
            let times = self.repetition()?;
            if out.len() + piece.len() * times > LONGEST {
                return None;
            }
            out.push_str(&piece.repeat(times));
        }
        Some(out)
    }

    fn group(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > MOST_GROUPS {
            return None;
        }
        if self.chars.next_if_eq(&'?').is_some() {
            match self.chars.next()? {
                ':' => {}
                'P' | '<' => while self.chars.next()? != '>' {},
                _ => return None, // looking ahead and behind
            }
        }
        let inside = self.alternatives()?;
        self.depth -= 1;
        self.chars.next_if_eq(&')').map(|_| inside)
    }

    /// How often what came before is repeated.
    fn repetition(&mut self) -> Option<usize> {
        let (least, most) = match self.chars.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.chars.next();
                let mut inside = String::new();
                while self.chars.peek()? != &'}' {
                    inside.push(self.chars.next()?);
                }
                match inside.split_once(',') {
                    None => inside.parse().ok().map(|times| (times, Some(times)))?,
                    Some((least, "")) => (least.parse().ok()?, None),
                    Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
                }
            }
            _ => return Some(1),
        };
        self.chars.next();
        self.chars.next_if_eq(&'?');
        let times: usize = least + self.more;
        Some(most.map_or(times, |most| times.min(most)).min(LONGEST))
    }

    /// The character of an escape; `Some(None)` for a place between two characters.
    fn escape(&mut self) -> Option<Option<char>> {
        Some(Some(match self.chars.next()? {
            'b' | 'B' | 'A' | 'z' | 'Z' => return Some(None),
            'd' => '1',
            'D' | 'w' => 'a',
            's' | 'W' => ' ',
            'S' => 'a',
            'n' => '\n',
            't' => '\t',
            'p' => self.property()?,
            'u' | 'x' | 'P' | 'k' | '0'..='9' => return None,
            c => c,
        }))
    }

    /// A character that has a Unicode property such as `{L}`, if it is a common one.
    fn property(&mut self) -> Option<char> {
        self.chars.next_if_eq(&'{')?;
        let name: String = self.chars.by_ref().take_while(|c| *c != '}').collect();
        Some(match name.as_str() {
            "L" | "Letter" | "Ll" | "Lowercase_Letter" | "Alphabetic" | "Alpha" => 'a',
            "Lu" | "Uppercase_Letter" => 'A',
            "N" | "Number" | "Nd" | "digit" => '1',
            _ => return None,
        })
    }

    /// A character of a class: the first that it names, or the first plain one that a negated class does not.
    fn class(&mut self) -> Option<char> {
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut named: Vec<(char, char)> = Vec::new();
        loop {
            let c = match self.chars.next()? {
                ']' if !named.is_empty() => break,
                '[' => return None,
                '\\' => match *self.chars.peek()? {
                    'd' => {
                        self.chars.next();
                        named.push(('1', '9'));
                        continue;
                    }
                    'w' => {
                        self.chars.next();
                        named.extend([('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]);
                        continue;
                    }
                    's' => {
                        self.chars.next();
                        named.push((' ', ' '));
                        continue;
                    }
                    _ => self.escape()??,
                },
                c => c,
            };
            let mut end = c;
            if self.chars.peek() == Some(&'-') {
                let mut ahead = self.chars.clone();
                ahead.next();
                if ahead.peek() != Some(&']') {
                    self.chars.next();
                    end = match self.chars.next()? {
                        '\\' => self.escape()??,
                        c => c,
                    };
                }
            }
            named.push((c, end));
        }
        if !negated {
            return named.first().map(|(first, _)| *first);
        }
        ('a'..='z').chain('0'..='9').chain('A'..='Z').find(|c| !named.iter().any(|(from, to)| (from..=to).contains(&c)))
    }
}

#[cfg(test)]
mod tests {
    use super::{of_ecma, text_for};
    use regex::Regex;

    #[test]
    fn what_is_made_is_matched() {
        for pattern in [
            "^[A-Z]{3}$",
            "^[a-z0-9_-]{3,16}$",
            r"^\d{4}-\d{2}-\d{2}$",
            r"^\+?[1-9]\d{1,14}$",
            "^(foo|bar)+$",
            r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
            r"^#(?:[0-9a-fA-F]{3}){1,2}$",
            r"^v(?P<major>\d+)\.(?<minor>\d+)$",
            "[-a]b",
            r"^\$[A-Z]+$",
            "",
            "^(a(b(c)?)*)$",
            "^[^a-y]$",
            r"^\p{Lu}\p{L}+$",
            r"^[\p{L} -]{3}\p{Nd}$",
        ] {
            let regex = Regex::new(&of_ecma(pattern)).unwrap();
            for more in 0..3 {
                let text = text_for(pattern, more).unwrap_or_else(|| panic!("{pattern}"));
                assert!(regex.is_match(&text), "{pattern}: {text}");
            }
        }
        for pattern in ["(?=x)", "*", "a{2", "(", ")", "[", "a{999999}b{999999}", &"(".repeat(500), r"\p{Greek}"] {
            assert_eq!(text_for(pattern, 0).filter(|text| text.len() > 256), None, "{pattern}");
        }
    }

    #[test]
    fn patterns_mean_what_ecma_262_says() {
        for (pattern, matched, other) in [
            (r"^\p{L}+$", "José", "a1"),
            (r"^[\p{L}\p{N}_-]+$", "ß٣-_", "a b"),
            (r"^[\p{L}-]$", "-", "--"),
            (r"^\P{L}$", "1", "é"),
            (r"^\p{Script=Greek}+$", "λόγος", "logos"),
            (r"^\d$", "1", "٣"),
            (r"^\D$", "٣", "1"),
            (r"^\w+$", "a_1", "é"),
            (r"^\W$", "é", "_"),
            (r"^\s$", "\u{FEFF}", "\u{85}"),
            (r"^[\S]$", "\u{85}", "\u{FEFF}"),
            (r"^[\D]$", "٣", "1"),
            (r"^[^\W_]$", "a", "_"),
            (r"é\b", "éa", "é "),
            (r"^é\Bé", "éé", "éa"),
            (r"^.$", "\u{85}", "\r"),
            (r"^.$", "a", "\u{2028}"),
            (r"^[[]$", "[", "a"),
            (r"^[[:alpha:]]$", ":]", "a"),
            (r"^[a&&b]$", "&", "&&"),
            (r"^[a-z&&[aeiou]]$", "x]", "x"),
            (r"^[+--]$", ",", "."),
            (r"^[a~~b]$", "~", "c"),
            (r"^[\w-.]$", "-", ","),
            (r"^[a-]$", "-", "b"),
            (r"^[]a]|b", "b", "a"),
            (r"^[^]$", "\n", ""),
            (r"^[\b]$", "\u{8}", "b"),
            (r"^\cJ[\cJ]\0[\0]$", "\n\n\0\0", "\n"),
            (r"^\<\/\-$", "</-", "/-"),
            (r"^\u0041[\u0042-\u0043]\x44$", "ABD", "ADD"),
        ] {
            let regex = Regex::new(&of_ecma(pattern)).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(regex.is_match(matched), "{pattern} matches {matched:?}");
            assert!(!regex.is_match(other), "{pattern} does not match {other:?}");
        }
        for pattern in ["(?=x)", "(?!x)", "(?<=x)", r"(a)\1", r"\k<a>", "[a", "[", r"[\", r"\", "(", r"[\p{L", "[z-a]"]
        {
            assert!(Regex::new(&of_ecma(pattern)).is_err(), "{pattern}");
        }
    }
}
