//! One word of a command with its quoting undone.
//!
//! Knows quotes, escapes, braces, `~` and the script's own literal assignments; knows no commands and no files. Linear.

mod braces;
mod ends;
mod lexer;
mod variables;

use std::borrow::Cow;

pub(crate) use lexer::heredoc;
pub(crate) use variables::{Values, Variables};

/// The most values of one variable, words of one brace expansion, and bytes of a value that are followed.
pub(crate) const MOST_VALUES: usize = 8;
const MOST_WORDS: usize = 64;
const MOST_VALUE_BYTES: usize = 512;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text that stands for itself.
    Text(String),
    /// A character that matches names of files.
    Glob(char),
    /// The home folder of the user.
    Home,
    /// What commands print that are judged by themselves, or a number; within quotes, so that it stays in one word.
    Output,
    /// What such commands print, without quotes: any number of words.
    Outputs,
    /// A number, or nothing.
    Number,
    /// A name that another command found.
    Found,
    /// The value of a variable, within quotes: one word, whatever it is.
    Value,
    /// The value of a variable without quotes: any number of words.
    Values,
    /// What is not understood: to expand it may do more than give a value.
    Unknown,
}

/// A word after expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// Set where a variable was followed: good enough to refuse by, not to allow by.
    guessed: bool,
    /// Set where it may become more words than one, or none.
    loose: bool,
    /// Whether its first character is certain; `None` while it has none.
    begun: Option<bool>,
}

impl Word {
    /// A word nobody knows.
    pub(crate) fn unknown() -> Word {
        Word { parts: vec![Part::Unknown], guessed: true, ..Word::default() }
    }

    /// The file under which the shell gives a command the output of another one.
    pub(crate) fn stream() -> Word {
        let parts = vec![Part::Text("/dev/fd/".to_owned()), Part::Number];
        Word { parts, begun: Some(true), ..Word::default() }
    }

    pub(crate) fn text(text: &str) -> Word {
        Word { parts: vec![Part::Text(text.to_owned())], begun: Some(true), ..Word::default() }
    }

    /// Any name below a folder.
    pub(crate) fn below(folder: &str) -> Word {
        let text = Part::Text(format!("{}/", folder.trim_end_matches('/')));
        Word { parts: vec![text, Part::Found], ..Word::default() }
    }

    /// A name that another command found.
    pub(crate) fn found() -> Word {
        Word { parts: vec![Part::Found], ..Word::default() }
    }

    /// Whether it is a name that another command found, with or without the folder it is below.
    pub(crate) fn is_found(&self) -> bool {
        !self.guessed && matches!(self.parts.as_slice(), [Part::Found] | [Part::Text(_), Part::Found])
    }

    /// Whether all that is not certain in it is the output of commands that are judged by themselves.
    pub(crate) fn is_output(&self) -> bool {
        let harmless =
            |part: &Part| matches!(part, Part::Text(_) | Part::Glob(_) | Part::Output | Part::Outputs | Part::Number);
        !self.guessed && self.parts.iter().all(harmless)
    }

    /// The word itself, when it is certain.
    pub(crate) fn literal(&self) -> Option<&str> {
        if self.guessed || self.loose { None } else { self.guess() }
    }

    /// The word itself, when it is certain or followed from the script's own assignments.
    pub(crate) fn guess(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether its parts are text and glob characters, all certain.
    pub(crate) fn is_glob(&self) -> bool {
        let certain = self.parts.iter().all(|part| matches!(part, Part::Text(_) | Part::Glob(_)));
        !self.guessed && certain && self.parts.iter().any(|part| matches!(part, Part::Glob(_)))
    }

    /// Whether more than a name of a file, or an output that stays one word, is left to a run to tell.
    pub(crate) fn is_uncertain(&self) -> bool {
        let uncertain = |part: &Part| matches!(part, Part::Unknown | Part::Value | Part::Values | Part::Home);
        self.guessed || self.parts.iter().any(uncertain)
    }

    /// Whether to expand it may do more than give a value.
    pub(crate) fn is_hidden(&self) -> bool {
        self.parts.contains(&Part::Unknown)
    }

    /// Whether only a run would tell it: it is neither literal nor names of files.
    pub(crate) fn is_open(&self) -> bool {
        self.literal().is_none() && !self.is_glob() && !self.is_found()
    }

    /// Whether it may become more words than one, or none.
    pub(crate) fn is_loose(&self) -> bool {
        self.loose || self.is_glob() || self.parts.iter().any(|part| matches!(part, Part::Outputs | Part::Values))
    }

    /// Whether it surely is a number, and no negative one.
    pub(crate) fn is_number(&self) -> bool {
        !self.guessed && self.parts == [Part::Number]
    }

    /// Whether it may turn out to be an option.
    pub(crate) fn may_be_option(&self) -> bool {
        if self.is_found() || self.is_number() {
            return false;
        }
        let splits = self.is_open() && self.is_loose();
        splits || self.begun == Some(false) || self.pattern().starts_with(['*', '?', '[', '-'])
    }

    /// The word as a pattern: glob characters as they are, `*` for what is unknown, `~` for the home folder.
    pub(crate) fn pattern(&self) -> Cow<'_, str> {
        if let [Part::Text(text)] = self.parts.as_slice() {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Glob(c) => out.push(*c),
                Part::Home => out.push('~'),
                Part::Output | Part::Outputs | Part::Number | Part::Found => out.push('*'),
                Part::Value | Part::Values | Part::Unknown => out.push('*'),
            }
        }
        Cow::Owned(out)
    }

    fn push(&mut self, part: Part) {
        let certain = match &part {
            Part::Text(text) if text.is_empty() => None,
            Part::Text(_) | Part::Glob(_) => Some(!self.guessed),
            _ => Some(false),
        };
        self.begun = self.begun.or(certain);
        match (self.parts.last_mut(), part) {
            (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
            (_, part) => self.parts.push(part),
        }
    }
}

/// What a raw word of the parse stands for: usually one word; several after braces or where a variable may have several
/// values; and the substitutions inside, as the text they hold.
pub(crate) fn read(raw: &str, variables: &Variables, substitutions: &mut Vec<String>) -> Vec<Word> {
    if raw.bytes().all(is_plain) {
        return vec![Word::text(raw)];
    }
    let atoms = lexer::word(raw, substitutions);
    braces::expand(&atoms).iter().flat_map(|atoms| resolve(atoms, variables)).take(MOST_WORDS).collect()
}

/// Bytes that stand for themselves wherever they are in a word.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:=,+@%^".contains(&byte)
}

/// One reading of a word: the fields that are complete, and the one that more can be added to.
#[derive(Clone, Default)]
struct WordReading {
    fields: Vec<Word>,
    last: Word,
}

/// Every word that atoms without braces may become.
fn resolve(atoms: &[lexer::Atom], variables: &Variables) -> Vec<Word> {
    let mut readings = vec![WordReading::default()];
    let last_bracket = atoms.iter().rposition(|atom| *atom == lexer::Atom::Char { c: ']', quoted: false });
    for (at, atom) in atoms.iter().enumerate() {
        match atom {
            // A tilde that braces brought to the beginning of a word.
            lexer::Atom::Char { c: '~', quoted: false } if at == 0 => all(&mut readings, &Part::Home),
            // A bracket that nothing closes is only a bracket.
            lexer::Atom::Char { c: '[', .. } if last_bracket.is_none_or(|last| last < at) => {
                all(&mut readings, &character('[', true));
            }
            lexer::Atom::Char { c, quoted } => all(&mut readings, &character(*c, *quoted)),
            lexer::Atom::Part(part) => all(&mut readings, part),
            lexer::Atom::Sum(names) => {
                // What is no number is itself read as a sum, in which commands could hide.
                let number = names.iter().all(|name| variables.rely_on_number(name));
                all(&mut readings, if number { &Part::Output } else { &Part::Unknown });
            }
            lexer::Atom::Variable { name, quoted } => {
                let values = variables.known(name);
                if let Some(glob) = values.glob.as_ref().filter(|_| values.sure) {
                    // Within quotes a name that matches stays one word; without, what is in it counts.
                    let parts = |reading: &mut WordReading| {
                        glob.parts.iter().for_each(|part| reading.last.push(part.clone()));
                        reading.last.guessed |= !quoted;
                        reading.last.loose |= !quoted;
                    };
                    readings.iter_mut().for_each(parts);
                    continue;
                }
                readings = follow(readings, name, *quoted, &values);
            }
            lexer::Atom::Fallback { name, text, quoted } => {
                let known = variables.known(name);
                let texts = [text].into_iter().chain(&known.texts).cloned().collect();
                let open = known.open || name == "HOME";
                readings = follow(readings, name, *quoted, &Values { texts, open, ..Values::default() });
            }
        }
    }
    let mut words: Vec<Word> = Vec::new();
    for word in readings.into_iter().flat_map(|reading| reading.fields.into_iter().chain([reading.last])) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn all(readings: &mut [WordReading], part: &Part) {
    readings.iter_mut().for_each(|reading| reading.last.push(part.clone()));
}

fn character(c: char, quoted: bool) -> Part {
    if !quoted && matches!(c, '*' | '?' | '[') { Part::Glob(c) } else { Part::Text(c.to_string()) }
}

/// Each reading with each value behind it, and with one that nobody can tell where the values are not all there are.
fn follow(mut readings: Vec<WordReading>, name: &str, quoted: bool, values: &Values) -> Vec<WordReading> {
    let part = match quoted {
        _ if name == "HOME" => Part::Home,
        true => Part::Value,
        false => Part::Values,
    };
    let sure = values.sure;
    let every = readings.iter().flat_map(|reading| values.texts.iter().map(|value| reading.with(value, quoted, sure)));
    let mut known = every.take(MOST_VALUES + 1).collect::<Vec<_>>();
    let cut = known.len() > MOST_VALUES;
    if known.is_empty() || cut || values.open {
        known.truncate(MOST_VALUES);
        all(&mut readings, &part);
        known.iter_mut().for_each(WordReading::unsure);
        // What nobody can tell goes first: of many readings it has to be among those that are kept.
        readings.truncate(MOST_VALUES);
        readings.append(&mut known);
        return readings;
    }
    known
}

impl WordReading {
    /// This reading with a value behind it. Without quotes, blanks in the value end a field and begin the next.
    fn with(&self, value: &str, quoted: bool, sure: bool) -> WordReading {
        let mut next = self.clone();
        next.last.guessed |= !sure;
        next.last.loose |= !quoted && (!sure || value.trim().is_empty());
        if quoted {
            next.last.push(Part::Text(value.to_owned()));
            return next;
        }
        // A word of nothing is no word, and what follows takes its place.
        next.last.guessed |= value.trim().is_empty();
        for (at, field) in value.split_whitespace().enumerate().take(MOST_WORDS) {
            if at > 0 {
                next.fields.push(std::mem::take(&mut next.last));
                next.last.guessed = !sure;
                next.last.loose = !sure;
            }
            let home = field == "~" || field.starts_with("~/");
            let first = home && !sure && next.last.parts.is_empty();
            first.then(|| next.last.push(Part::Home));
            field.chars().skip(usize::from(first)).for_each(|c| next.last.push(character(c, false)));
        }
        next
    }

    fn unsure(&mut self) {
        self.last.guessed = true;
        self.fields.iter_mut().for_each(|word| word.guessed = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(raw: &str) -> Vec<String> {
        let mut variables = Variables::default();
        variables.may_be("x", Some("a b"));
        read(raw, &variables, &mut Vec::new()).iter().map(|word| word.pattern().into_owned()).collect()
    }

    #[test]
    fn quoting_is_undone() {
        let cases: &[(&str, &[&str])] = &[
            ("plain", &["plain"]),
            (r#""r"m"#, &["rm"]),
            (r"\rm", &["rm"]),
            ("'a b'c", &["a bc"]),
            (r"$'\x72\155\n'", &["rm\n"]),
            (r#""a\"b\c$""#, &[r#"a"b\c$"#]),
            ("~/x", &["~/x"]),
            ("a~", &["a~"]),
            ("$HOME/x", &["~/x"]),
            ("${HOME}", &["~"]),
            ("$y/x", &["*/x"]),
            ("$x/c", &["a", "b/c"]),
            ("\"$x\"", &["a b"]),
            ("-{delete,print}", &["-delete", "-print"]),
            ("{a,b}{c,d}e", &["ace", "ade", "bce", "bde"]),
            ("{a,b{c,d}}e", &["*"]),
            ("{a}", &["{a}"]),
            ("{}", &["{}"]),
            ("{{a}}", &["{{a}}"]),
            ("x{1}..x{2}", &["x{1}..x{2}"]),
            ("{a}{1..2}", &["{a}1", "{a}2"]),
            ("{a,b}c}", &["ac}", "bc}"]),
            ("{a,b", &["{a,b"]),
            ("{a},b}", &["*"]),
            ("{a}b}c,d}", &["*"]),
            ("x{}y,z}", &["*"]),
            ("{a..},b}", &["*"]),
            ("{a}{b,c}", &["*"]),
            ("{a{b},c}", &["*"]),
            ("{a{b,c}", &["*"]),
            ("{{a},b}", &["*"]),
            ("{1..x}{a},b}", &["*"]),
            ("{1.''.3},c}", &["*"]),
            ("{a..c}", &["*"]),
            ("{},c}", &["*"]),
            ("{1..3}", &["1", "2", "3"]),
            ("'{a,b}'", &["{a,b}"]),
            ("$(echo x)y", &["*y"]),
            ("$(ls)y", &["*y"]),
        ];
        for (raw, wanted) in cases {
            assert_eq!(patterns(raw), *wanted, "{raw}");
        }
    }

    #[test]
    fn only_certain_words_are_literal() {
        let read = |raw| read(raw, &Variables::default(), &mut Vec::new()).remove(0);
        assert_eq!(read("'*'").literal(), Some("*"));
        assert_eq!(read("*").literal(), None);
        assert!(read("src/*").is_glob());
        assert_eq!(read("~").literal(), None);
        assert_eq!(read("\"$x\"").literal(), None);
        assert_eq!(read("''").literal(), Some(""));
    }

    #[test]
    fn substitutions_come_as_text() {
        let mut found = Vec::new();
        read(r#"a$(rm -rf x)"`ls \`pwd\``"${y:-$(id)}$((1 + $(w)))"#, &Variables::default(), &mut found);
        assert_eq!(found, ["rm -rf x", "ls `pwd`", "id", "w"]);
    }
}
