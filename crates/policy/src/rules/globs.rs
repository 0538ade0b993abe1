//! Globs for names: globs of users, patterns of the built-in tables, and patterns that a shell would expand.
//!
//! A user's glob is matched in time linear in glob and name. Its syntax is that of the `glob` crate, which parses it
//! first and reports errors. The crate's matcher is not used: it backtracks at every star and takes minutes for a few
//! of them, and a project's file may contain any glob.

use glob::Pattern;
use toolfence_protocol::{Error, ErrorKind, Result, text};

/// A user's glob with its original spelling. It matches at any depth, ignores case, and includes everything below a
/// match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserGlob {
    /// The glob as the user wrote it.
    pub shown: String,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// This character, in lower case.
    Char(char),
    /// `?`: any character of a name.
    Any,
    /// `*`: any run of characters of a name.
    Run,
    /// `**/`: any number of folders.
    Folders,
    /// `**` at the end: all the rest.
    Rest,
    /// `[a-z]`, or with `true` `[!a-z]`.
    Set(bool, Vec<(char, char)>),
}

impl UserGlob {
    /// Parses a user's glob that includes everything below its matches.
    ///
    /// # Errors
    /// Fails if the text is no glob; the error contains it and the position of the mistake.
    pub fn new(shown: &str) -> Result<UserGlob> {
        let bare = bare(shown);
        UserGlob::read(shown, bare.strip_suffix("/**").unwrap_or(bare))
    }

    /// Parses a user's glob for names of files: it matches only with [`matches`](UserGlob::matches) and does not include anything
    /// below.
    ///
    /// # Errors
    /// Fails if the text is no glob; the error contains it and the position of the mistake.
    pub fn of_files(shown: &str) -> Result<UserGlob> {
        UserGlob::read(shown, bare(shown))
    }

    fn read(shown: &str, bare: &str) -> Result<UserGlob> {
        let anywhere = if bare.starts_with("**/") { bare.to_owned() } else { format!("**/{bare}") };
        Pattern::new(&anywhere).map_err(|cause| {
            Error::because(text!("read the path glob {glob}", glob = format!("{shown:?}")), cause)
                .of_kind(ErrorKind::InvalidInput)
        })?;
        Ok(UserGlob { shown: shown.to_owned(), tokens: tokens(&anywhere) })
    }

    /// Returns whether the path or a folder above it matches.
    pub fn covers(&self, path: &str) -> bool {
        matches(&self.tokens, path, true)
    }

    /// Returns whether the path matches.
    pub fn matches(&self, path: &str) -> bool {
        matches(&self.tokens, path, false)
    }
}

fn bare(glob: &str) -> &str {
    glob.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/')
}

fn tokens(glob: &str) -> Vec<Token> {
    let glob: Vec<char> = glob.to_lowercase().chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < glob.len() {
        let (token, length) = token(&glob[at..]);
        at += length;
        // `**/**/` means the same as `**/`, and every token costs a step for each character of a name.
        if !(matches!(token, Token::Run | Token::Folders) && out.last() == Some(&token)) {
            out.push(token);
        }
    }
    out
}

/// Returns the first token, and its number of characters.
fn token(glob: &[char]) -> (Token, usize) {
    match glob {
        ['*', '*', '/', ..] => (Token::Folders, 3),
        ['*', '*'] => (Token::Rest, 2),
        ['*', ..] => (Token::Run, 1),
        ['?', ..] => (Token::Any, 1),
        ['[', rest @ ..] => set(rest).map_or((Token::Char('['), 1), |(set, length)| (set, length + 1)),
        [c, ..] => (Token::Char(*c), 1),
        [] => (Token::Rest, 1),
    }
}

/// Parses the text after a `[` through its `]`. A `]` at the beginning is one of the characters.
fn set(rest: &[char]) -> Option<(Token, usize)> {
    let not = rest.first() == Some(&'!');
    let begin = usize::from(not);
    let end = begin + 1 + rest.get(begin + 1..)?.iter().position(|c| *c == ']')?;
    let mut ranges = Vec::new();
    let mut chars = &rest[begin..end];
    while let [first, more @ ..] = chars {
        (ranges, chars) = match more {
            ['-', last, after @ ..] => (with(ranges, *first, *last), after),
            _ => (with(ranges, *first, *first), more),
        };
    }
    Some((Token::Set(not, ranges), end + 1))
}

fn with(mut ranges: Vec<(char, char)>, first: char, last: char) -> Vec<(char, char)> {
    ranges.push((first, last));
    ranges
}

/// Reads the path once, with the set of all positions of the glob that may be reached. With `above`, a match of a
/// folder above it is enough.
fn matches(tokens: &[Token], path: &str, above: bool) -> bool {
    let mut reached = vec![false; tokens.len() + 1];
    reached[0] = true;
    spread(tokens, &mut reached, true);
    let mut next = vec![false; tokens.len() + 1];
    for (index, c) in path.chars().flat_map(char::to_lowercase).enumerate() {
        // The glob matched a folder above, and everything below a match is included.
        if above && c == '/' && index > 0 && reached[tokens.len()] {
            return true;
        }
        next.fill(false);
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match token {
                Token::Char(wanted) if *wanted == c => next[at + 1] = true,
                Token::Any if c != '/' => next[at + 1] = true,
                Token::Set(not, ranges) if c != '/' && in_ranges(ranges, c) != *not => next[at + 1] = true,
                Token::Run if c != '/' => next[at] = true,
                Token::Folders | Token::Rest => next[at] = true,
                _ => {}
            }
        }
        std::mem::swap(&mut reached, &mut next);
        spread(tokens, &mut reached, c == '/');
    }
    !path.is_empty() && reached[tokens.len()]
}

/// Marks the positions after tokens that can match nothing. `**/` can match nothing only at the beginning of a name.
fn spread(tokens: &[Token], reached: &mut [bool], begins: bool) {
    for (at, token) in tokens.iter().enumerate() {
        let nothing = matches!(token, Token::Run | Token::Rest) || *token == Token::Folders && begins;
        reached[at + 1] |= reached[at] && nothing;
    }
}

fn in_ranges(ranges: &[(char, char)], c: char) -> bool {
    // A range such as `[@-_]` contains capitals and no small letters, and case is ignored.
    let upper = c.to_uppercase().next().unwrap_or(c);
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&c) || (*first..=*last).contains(&upper))
}

/// Returns whether `pattern` (lower case, `*` for any run of bytes) matches all of `name`, ignoring ASCII case. It is
/// called for every file of a walk, and linear except for backtracking to one star, because the patterns of the tables
/// have at most two.
pub(crate) fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            // Only the last star needs another try: an earlier one with a longer match would leave less for the rest.
            back = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|byte| byte.eq_ignore_ascii_case(&name[n])) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((star, from)) = back {
            back = Some((star, from + 1));
            (p, n) = (star + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// Returns whether some name may match both the shell pattern `glob` and the `pattern` of a table: the texts before
/// their first special character and after the last one are compatible. There may be false matches, and missing ones
/// only where letters beyond ASCII differ in case.
pub(crate) fn may_meet(glob: &str, pattern: &str) -> bool {
    let is_special = |byte: &u8| b"*?[]()|!+@".contains(byte);
    let (glob, pattern) = (glob.as_bytes(), pattern.as_bytes());
    let agree = |a: &mut dyn Iterator<Item = &u8>, b: &mut dyn Iterator<Item = &u8>| {
        a.zip(b).take_while(|(a, b)| !is_special(a) && !is_special(b)).all(|(a, b)| a.eq_ignore_ascii_case(b))
    };
    agree(&mut glob.iter(), &mut pattern.iter()) && agree(&mut glob.iter().rev(), &mut pattern.iter().rev())
}

#[cfg(test)]
mod tests {
    use super::*;
    use glob::MatchOptions;
    use toolfence_kit::Random;

    const OPTIONS: MatchOptions =
        MatchOptions { case_sensitive: false, require_literal_separator: true, require_literal_leading_dot: false };

    /// Returns the result of the `glob` crate for a path and the folders above it.
    fn expected(pattern: &Pattern, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter(|&end| end > 0).any(|end| pattern.matches_with(&path[..end], OPTIONS))
    }

    fn text(random: &mut Random, pieces: &[&str], most: usize) -> String {
        (0..=random.below(most)).map(|_| *random.pick(pieces)).collect()
    }

    #[test]
    fn it_matches_as_the_glob_crate_does() {
        let mut random = Random::new(7);
        let (mut matched, mut tried) = (0, 0);
        for _ in 0..60_000 {
            let glob =
                "**/".to_owned() + &text(&mut random, &["a", "B", "*", "?", "/", "**/", "[ab]", "[!b]", "[]a-c]"], 6);
            let path = text(&mut random, &["a", "b", "C", "]", "/"], 7);
            // No file has an empty name in its path, and a folder is named without its slash.
            if path.contains("//") || path.starts_with('/') || path.ends_with('/') || glob.ends_with('/') {
                continue;
            }
            let Ok(pattern) = Pattern::new(&glob) else { continue };
            let expected = expected(&pattern, &path);
            assert_eq!(matches(&tokens(&glob), &path, true), expected, "{glob} {path}");
            assert_eq!(matches(&tokens(&glob), &path, false), pattern.matches_with(&path, OPTIONS), "{glob} {path}");
            (matched, tried) = (matched + usize::from(expected), tried + 1);
        }
        assert!(tried > 10_000 && matched > tried / 20, "{matched} of {tried}");
    }

    #[test]
    fn names_match_with_stars() {
        assert!(matches_name(b"*.pem", b"Server.PEM"));
        assert!(matches_name(b"a*b*c", b"aXbYbZc"));
        assert!(!matches_name(b"a*b*c", b"aXbYbZ"));
        assert!(!matches_name(b".env", b".environment"));
    }

    #[test]
    fn patterns_meet_where_their_ends_do_not_rule_it_out() {
        for (glob, pattern) in [(".e*", ".env"), ("*", "*.pem"), ("*.p[e]m", "*.pem"), ("a*.KEY", "*.key")] {
            assert!(may_meet(glob, pattern), "{glob} {pattern}");
        }
        for (glob, pattern) in [("*.rs", "*.pem"), (".eslint*", ".env"), ("id_*.txt", "id_rsa"), ("?.txt", "*.key")] {
            assert!(!may_meet(glob, pattern), "{glob} {pattern}");
        }
    }
}
