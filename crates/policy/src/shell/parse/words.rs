//! Classifies a word: a literal, several, a pattern, or unknown.

use super::{ShellWord, is_name};

/// Maximum number of words and bytes of a brace list. A longer one is unknown, because a list can be quadratic in its
/// text.
const MAX_BRACE_WORDS: usize = 64;
const MAX_BRACE_BYTES: usize = 4096;

/// The position of a word, which decides how bash expands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordPlace {
    /// Before the name of a command or at it: an assignment, a reserved word or the name.
    Leading,
    /// An argument or a word of `for`.
    Argument,
    /// The target of a redirection.
    Target,
    /// A here-string, or a word of `case` or `[[`: neither braces nor file names are expanded.
    Plain,
}

/// A word that is being read.
pub(super) struct WordBuilder {
    pub(super) place: WordPlace,
    pub(super) position: usize,
    /// The text without quotes, as far as it is known.
    text: String,
    known: bool,
    /// Set by quotes, escapes and expansions. Such a word is neither reserved nor the descriptor of a redirection.
    quoted: bool,
    several: bool,
    number: bool,
    /// The unquoted characters of `text` that bash can expand, with their offsets.
    marks: Vec<(usize, char)>,
    /// The offset of the `=` of an assignment.
    equals: Option<usize>,
}

impl WordBuilder {
    pub(super) fn new(place: WordPlace, position: usize) -> Self {
        let (text, marks) = (String::new(), Vec::new());
        Self { place, position, text, known: true, quoted: false, several: false, number: true, marks, equals: None }
    }

    /// Appends an unquoted character.
    pub(super) fn push_plain(&mut self, character: char) {
        // A quoted name is no assignment: `"a"=b` is the name of a program.
        if character == '=' && self.place == WordPlace::Leading && self.equals.is_none() && !self.quoted {
            let name = self.text.strip_suffix('+').unwrap_or(&self.text);
            if is_name(name) {
                self.equals = Some(self.text.len());
                // Whether the value is a number does not depend on the name before it.
                self.number = true;
                self.text.push(character);
                return;
            }
        }
        if matches!(character, '{' | '}' | ',' | '~' | '*' | '?' | '[' | ']') {
            if self.known {
                self.marks.push((self.text.len(), character));
            } else if matches!(character, '{' | '*' | '?' | '[') {
                self.several = true;
            }
        }
        self.push_text(character);
    }

    /// Appends a quoted character.
    pub(super) fn push_quoted(&mut self, character: char) {
        self.quoted = true;
        self.push_text(character);
    }

    fn push_text(&mut self, character: char) {
        self.number &= character.is_ascii_digit();
        if self.known {
            self.text.push(character);
        }
    }

    /// Records a quote, which can be empty.
    pub(super) fn mark_quoted(&mut self) {
        self.quoted = true;
    }

    /// Records an expansion; `several` if it can be any number of words.
    pub(super) fn push_unknown(&mut self, several: bool, number: bool) {
        self.known = false;
        self.quoted = true;
        self.several |= several;
        self.number &= number;
    }

    /// Returns the text, if it is a plain word without quotes and expansions: only such a word can be reserved.
    pub(super) fn plain(&self) -> Option<&str> {
        if self.quoted { None } else { Some(&self.text) }
    }

    /// Reports whether the word so far is the name of a variable in the position of an assignment, so that a `[` would
    /// begin a subscript.
    pub(super) fn may_take_subscript(&self) -> bool {
        self.place == WordPlace::Leading && is_name(&self.text)
    }

    /// Returns the name of the variable, if this word is an assignment.
    pub(super) fn assigned_name(&self) -> Option<&str> {
        let equals = self.equals?;
        let name = &self.text[..equals];
        Some(name.strip_suffix('+').unwrap_or(name))
    }

    /// Returns the value of this assignment, in which bash expands neither braces nor file names.
    pub(super) fn finish_value(self) -> ShellWord {
        let start = self.equals.map_or(0, |equals| equals + 1);
        let value = &self.text[start..];
        // Bash expands `~` at the start of a value and after each `:`.
        let is_home = |&(at, mark): &(usize, char)| mark == '~' && (at == start || self.text[..at].ends_with(':'));
        let home = self.marks.iter().find(|mark| is_home(mark)).map(|mark| mark.0 - start);
        match home {
            None if self.known => ShellWord::Literal(value.to_owned()),
            Some(0) if self.known && !self.quoted && !value.contains(':') && is_home_path(value) => {
                ShellWord::Home(value.to_owned())
            }
            _ => unknown(&value[..home.unwrap_or(value.len())], false, self.number),
        }
    }

    /// Returns the words to which bash expands this one.
    pub(super) fn finish(self) -> Vec<ShellWord> {
        // Only `~` is expanded in these places.
        if self.place == WordPlace::Plain {
            let home = self.marks.iter().find(|mark| mark.1 == '~').map(|mark| mark.0);
            return vec![match home {
                None if self.known => ShellWord::Literal(self.text),
                _ => unknown(&self.text[..home.unwrap_or(self.text.len())], false, self.number),
            }];
        }
        let has_list = self.has_brace_list();
        let has_glob = self.has_glob();
        let home = self.marks.iter().find(|&&(at, mark)| mark == '~' && self.expands_home(at)).map(|mark| mark.0);
        if self.known && has_list {
            // A name with `=` would be read as an assignment or not, depending on the version.
            let is_simple =
                !has_glob && !self.quoted_range() && (self.place != WordPlace::Leading || !self.text.contains('='));
            let has_tilde = self.marks.iter().any(|mark| mark.1 == '~');
            if is_simple
                && !has_tilde
                && let Some(words) = self.expand_braces()
            {
                return words;
            }
        }
        // The text before the first mark stays the same in every expansion, so callers can still rely on it.
        if !self.known || has_list || (has_glob && home.is_some()) {
            let first = |wanted: &[char]| self.marks.iter().find(|mark| wanted.contains(&mark.1)).map(|mark| mark.0);
            let end = first(if has_list { &['{', '~', '*', '?', '['] } else { &['~', '*', '?', '['] });
            let prefix = &self.text[..end.unwrap_or(self.text.len())];
            return vec![unknown(prefix, self.several || has_list || has_glob, self.number)];
        }
        vec![match home {
            Some(0) if !self.quoted && is_home_path(&self.text) => ShellWord::Home(self.text),
            Some(at) => unknown(&self.text[..at], false, false),
            None if has_glob => ShellWord::Pattern(self.pattern()),
            None => ShellWord::Literal(self.text),
        }]
    }

    /// Reports whether bash may expand the `~` at this offset: at the start, and in `NAME=~` and `NAME=a:~` also in
    /// arguments.
    fn expands_home(&self, at: usize) -> bool {
        at == 0 || self.text[..at].ends_with([':', '='])
    }

    /// Reports whether an unquoted character makes the word a pattern; `[` does so only with a later `]`.
    fn has_glob(&self) -> bool {
        let last_close = self.marks.iter().rposition(|mark| mark.1 == ']');
        self.marks.iter().enumerate().any(|(index, mark)| match mark.1 {
            '*' | '?' => true,
            '[' => !self.known || last_close.is_some_and(|close| close > index),
            _ => false,
        })
    }

    /// Returns the text with every quoted character of patterns escaped.
    fn pattern(&self) -> String {
        let mut marks = self.marks.iter().peekable();
        let mut pattern = String::new();
        for (at, character) in self.text.char_indices() {
            let is_marked = marks.next_if(|mark| mark.0 == at).is_some();
            if !is_marked && matches!(character, '*' | '?' | '[' | ']' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern
    }

    /// Reports whether the braces of the word can be a list or a range. `{}` and `{a}` are plain text.
    fn has_brace_list(&self) -> bool {
        let Some(open) = self.marks.iter().position(|mark| mark.1 == '{') else { return false };
        !self.known
            || self.marks[open..].iter().any(|mark| mark.1 == ',')
            || self.text[self.marks[open].0..].contains("..")
    }

    /// Reports whether quotes can be inside a range, which then is plain text.
    fn quoted_range(&self) -> bool {
        self.quoted && self.text.contains("..")
    }

    /// Returns the literals of a single brace list, or `None` if the result is uncertain or too large.
    fn expand_braces(&self) -> Option<Vec<ShellWord>> {
        let mut braces = self.marks.iter().filter(|mark| matches!(mark.1, '{' | '}'));
        let (Some(&(open, '{')), Some(&(close, '}')), None) = (braces.next(), braces.next(), braces.next()) else {
            return None;
        };
        let (prefix, suffix, inner) = (&self.text[..open], &self.text[close + 1..], &self.text[open + 1..close]);
        let commas: Vec<usize> = self.marks.iter().filter(|mark| mark.1 == ',').map(|mark| mark.0).collect();
        let commas: Vec<usize> = commas.into_iter().filter(|&at| open < at && at < close).collect();
        let mut items = Vec::new();
        if commas.is_empty() {
            if !inner.contains("..") {
                return Some(vec![ShellWord::Literal(self.text.clone())]);
            }
            let (first, last) = inner.split_once("..")?;
            let (first, last) = (parse_bound(first)?, parse_bound(last)?);
            if first.abs_diff(last) as usize >= MAX_BRACE_WORDS {
                return None;
            }
            let range = first.min(last)..=first.max(last);
            items.extend(range.map(|number| number.to_string()));
            if first > last {
                items.reverse();
            }
        } else {
            let mut start = open + 1;
            for end in commas.into_iter().chain([close]) {
                items.push(self.text[start..end].to_owned());
                start = end + 1;
            }
        }
        let bytes = items.len() * (prefix.len() + suffix.len()) + inner.len();
        // Checked before the words are built, because each item repeats the prefix and the suffix.
        if items.len() > MAX_BRACE_WORDS || bytes > MAX_BRACE_BYTES {
            return None;
        }
        let words: Vec<String> = items.iter().map(|item| format!("{prefix}{item}{suffix}")).collect();
        // Bash drops an empty word unless a part of it is quoted, and which part was quoted is not known here.
        if words.iter().any(String::is_empty) {
            return None;
        }
        Some(words.into_iter().map(ShellWord::Literal).collect())
    }
}

/// Parses the bound of a range of numbers. Returns `None` for a number with leading zeros, because bash pads all
/// numbers of such a range.
fn parse_bound(text: &str) -> Option<u32> {
    let is_plain = text.len() <= 6 && (text == "0" || !text.starts_with(['0', '+']));
    if is_plain { text.parse().ok() } else { None }
}

/// Reports whether a path begins with `~` alone: `~name`, `~+` and `~1` are other folders.
fn is_home_path(path: &str) -> bool {
    path == "~" || path.starts_with("~/")
}

fn unknown(prefix: &str, several: bool, number: bool) -> ShellWord {
    ShellWord::Unknown { prefix: prefix.to_owned(), several, number }
}
