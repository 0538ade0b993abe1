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

/// What ECMA-262 takes for white space, as the inside of a class.
const SPACE: &str = r"\t\n\x0B\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

/// The pattern in the words of the engine that matches it. ECMA-262, whose patterns JSON Schema has, knows more white space than that
/// engine, and control characters by their letters.
pub(super) fn of_ecma(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let (mut chars, mut in_class) = (pattern.chars(), false);
    while let Some(c) = chars.next() {
        match c {
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let letter = chars.clone().nth(1).filter(char::is_ascii_alphabetic);
        match (chars.next(), letter) {
            (Some('s'), _) if in_class => out.push_str(SPACE),
            (Some('s'), _) => out.extend(["[", SPACE, "]"]),
            (Some('S'), _) if !in_class => out.extend(["[^", SPACE, "]"]),
            (Some('c'), Some(letter)) => {
                chars.next();
                out.push_str(&format!("\\x{{{:X}}}", letter as u32 % 32));
            }
            (escaped, _) => {
                out.push(c);
                out.extend(escaped);
            }
        }
    }
    out
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
            'u' | 'x' | 'p' | 'P' | 'k' | '0'..='9' => return None,
            c => c,
        }))
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
    use super::text_for;
    use regex_lite::Regex;

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
        ] {
            let regex = Regex::new(pattern).unwrap();
            for more in 0..3 {
                let text = text_for(pattern, more).unwrap_or_else(|| panic!("{pattern}"));
                assert!(regex.is_match(&text), "{pattern}: {text}");
            }
        }
        for pattern in ["(?=x)", "*", "a{2", "(", ")", "[", "a{999999}b{999999}", &"(".repeat(500), r"\p{L}"] {
            assert_eq!(text_for(pattern, 0).filter(|text| text.len() > 256), None, "{pattern}");
        }
    }
}
