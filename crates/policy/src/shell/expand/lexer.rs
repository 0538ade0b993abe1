//! A raw word, character by character, to atoms. One pass; what is nested is read again from its own text.

use super::Part;
use crate::shell::syntax::MOST_DEPTH;
use std::iter::Peekable;
use std::str::Chars;

/// The smallest piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Atom {
    Char {
        c: char,
        quoted: bool,
    },
    /// What is the same wherever it stands.
    Part(Part),
    Variable {
        name: String,
        quoted: bool,
    },
    /// A variable with the text that may stand for it.
    Fallback {
        name: String,
        text: String,
        quoted: bool,
    },
    /// A sum of numbers and of variables.
    Sum(Vec<String>),
}

impl Atom {
    /// What is not understood: only a run would tell.
    pub(crate) const UNKNOWN: Atom = Atom::Part(Part::Unknown);
}

/// The atoms of a word, and the substitutions it holds.
pub(crate) fn word(raw: &str, substitutions: &mut Vec<String>) -> Vec<Atom> {
    let mut lexer = Lexer::new(raw, substitutions, 0);
    lexer.tilde(raw);
    while let Some(c) = lexer.chars.next() {
        lexer.unquoted(c);
    }
    lexer.atoms
}

/// The substitutions of a here-document's body; and its text, where nothing in it expands.
pub(crate) fn heredoc(body: &str, substitutions: &mut Vec<String>) -> Option<String> {
    let mut lexer = Lexer::new(body, substitutions, 0);
    lexer.double_quoted(None);
    text_of(&lexer.atoms)
}

/// The text of atoms of which each is a character.
fn text_of(atoms: &[Atom]) -> Option<String> {
    atoms.iter().map(|atom| if let Atom::Char { c, .. } = atom { Some(*c) } else { None }).collect()
}

/// The name of an array all or one of whose elements are meant.
fn elements(inner: &str) -> Option<&str> {
    let (name, subscript) = inner.strip_suffix(']')?.split_once('[')?;
    let number = !subscript.is_empty() && subscript.bytes().all(|byte| byte.is_ascii_digit());
    (is_name(name) && (number || matches!(subscript, "@" | "*"))).then_some(name)
}

/// The variables in a text that computes with numbers and with nothing else, and sets none of them.
fn sum(text: &str) -> Option<Vec<String>> {
    let of_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let plain = |c: char| of_name(c) || " \t+-*/%()<>&|^~!?:,$=".contains(c);
    let marks = text.split('$').skip(1).all(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()));
    let words = text.split(|c| !of_name(c)).filter(|word| !word.bytes().all(|byte| byte.is_ascii_digit()));
    let names: Vec<String> = words.map(str::to_owned).collect();
    let sets = ["++", "--", "="].iter().any(|mark| text.contains(mark)) && !names.is_empty();
    let odd = names.iter().any(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    (text.chars().all(plain) && marks && !sets && !odd).then_some(names)
}

/// Whether `${...}` gives a part of the value of a variable, or a changed one, by text that stands there and expands nothing.
fn is_cut(inner: &str) -> bool {
    let end = inner.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(end);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./*?:,+@ =".contains(&byte);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let cut = match rest.as_bytes().first() {
        Some(b'%' | b'#') => rest.trim_start_matches(['%', '#']).bytes().all(plain),
        Some(b'/') => rest[1..].trim_start_matches(['#', '%']).bytes().all(plain),
        Some(b'^' | b',') => matches!(rest, "^" | "^^" | "," | ",,"),
        Some(b':') => rest.len() > 1 && digits(&rest[1..]),
        _ => false,
    };
    is_name(name) && cut
}

/// Whether `(`, the first character, is closed by the last one and not before.
fn is_enclosed(text: &str) -> bool {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', None | Some('"')) => escaped = true,
            (_, Some(mark)) if c == mark => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            ('(', None) => depth += 1,
            (')', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return c == ')' && at + 1 == text.len();
        }
    }
    false
}

/// What commands print that are judged by themselves, or a number.
fn output(quoted: bool) -> Atom {
    Atom::Part(if quoted { Part::Output } else { Part::Outputs })
}

/// Whether a command does nothing but print words that stand in it.
fn only_prints(text: &str) -> bool {
    let plain = |byte: u8| super::is_plain(byte) || byte == b' ' || !byte.is_ascii();
    ["echo ", "printf "].iter().any(|program| text.starts_with(program)) && text.bytes().all(plain)
}

/// A name and the word behind `:-` or its kin, where nothing in it expands, its quotes undone.
fn fallback(inner: &str) -> Option<(&str, String)> {
    let (name, rest) = inner.split_at(inner.find(|c: char| c != '_' && !c.is_ascii_alphanumeric())?);
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    // What matches names of files may match any, and `<(` runs a command.
    let expands = |raw: &str| raw.contains(['$', '`', '<', '>', '*', '?', '[']);
    let raw = rest.strip_prefix(['-', '+']).filter(|raw| is_name(name) && !expands(raw))?;
    Some((name, text_of(&word(raw, &mut Vec::new()))?))
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) && !text.is_empty()
}

struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    atoms: Vec<Atom>,
    substitutions: &'a mut Vec<String>,
    depth: usize,
}

impl<'a> Lexer<'a> {
    fn new(raw: &'a str, substitutions: &'a mut Vec<String>, depth: usize) -> Lexer<'a> {
        Lexer { chars: raw.chars().peekable(), atoms: Vec::new(), substitutions, depth }
    }

    fn tilde(&mut self, raw: &str) {
        let Some(rest) = raw.strip_prefix('~') else { return };
        let user = rest.split('/').next().unwrap_or("");
        if !user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte)) {
            return;
        }
        // `~+` and `~-` are folders of the shell; everybody's home is as good as one's own.
        let somebody = !user.starts_with(['+', '-']) && !user.starts_with(|c: char| c.is_ascii_digit());
        self.atoms.push(Atom::Part(if somebody { Part::Home } else { Part::Unknown }));
        for _ in 0..=user.len() {
            self.chars.next();
        }
    }

    fn push(&mut self, c: char, quoted: bool) {
        self.atoms.push(Atom::Char { c, quoted });
    }

    fn unquoted(&mut self, c: char) {
        match c {
            '\\' => match self.chars.next() {
                Some('\n') | None => {}
                Some(escaped) => self.push(escaped, true),
            },
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(Some('"')),
            '$' if self.chars.peek() == Some(&'\'') => self.ansi_quoted(),
            // The text may be changed by a translation.
            '$' if self.chars.peek() == Some(&'"') => self.atoms.push(Atom::UNKNOWN),
            '$' => self.dollar(false),
            '`' => self.backquoted(false),
            // One that stands by itself is no part of a word; this one is in the text of a parameter.
            '<' | '>' if self.chars.peek() == Some(&'(') => {
                let text = self.enclosed('(', ')');
                self.substitutions.push(text);
                self.atoms.push(Atom::UNKNOWN);
            }
            _ => self.push(c, false),
        }
    }

    /// Quotes leave a mark even when they hold nothing: an empty word is a word.
    fn single_quoted(&mut self) {
        while let Some(c) = self.chars.next() {
            if c == '\'' {
                return;
            }
            self.push(c, true);
        }
    }

    /// Up to the closing mark, or to the end of the text.
    fn double_quoted(&mut self, end: Option<char>) {
        while let Some(c) = self.chars.next() {
            match c {
                _ if Some(c) == end => return,
                '\\' => match self.chars.next_if(|next| matches!(next, '$' | '`' | '"' | '\\' | '\n')) {
                    Some('\n') => {}
                    Some(escaped) => self.push(escaped, true),
                    None => self.push('\\', true),
                },
                '$' => self.dollar(true),
                '`' => self.backquoted(true),
                _ => self.push(c, true),
            }
        }
    }

    fn ansi_quoted(&mut self) {
        self.chars.next();
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '\\' => self.ansi_escape(),
                _ => self.push(c, true),
            }
        }
    }

    fn ansi_escape(&mut self) {
        let Some(c) = self.chars.next() else { return };
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\x07',
            'b' => '\x08',
            'e' | 'E' => '\x1b',
            'f' => '\x0c',
            'v' => '\x0b',
            '\\' | '\'' | '"' | '?' => c,
            'x' => return self.ansi_number(0, 2, 16),
            'u' => return self.ansi_number(0, 4, 16),
            'U' => return self.ansi_number(0, 8, 16),
            '0'..='7' => return self.ansi_number(c.to_digit(8).unwrap_or(0), 2, 8),
            // Control characters by `\cx`, and escapes that bash keeps as they are.
            _ => return self.atoms.push(Atom::UNKNOWN),
        };
        self.push(plain, true);
    }

    fn ansi_number(&mut self, first: u32, most: usize, radix: u32) {
        let mut number = first;
        for _ in 0..most {
            let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            number = number.wrapping_mul(radix).wrapping_add(digit);
            self.chars.next();
        }
        // A NUL ends the string and a byte over 127 is part of a character: neither is followed.
        match char::from_u32(number).filter(|c| ('\x01'..='\x7f').contains(c)) {
            Some(c) => self.push(c, true),
            None => self.atoms.push(Atom::UNKNOWN),
        }
    }

    fn dollar(&mut self, quoted: bool) {
        match self.chars.peek().copied() {
            Some('(') => self.substitution(quoted),
            Some('{') => self.parameter(quoted),
            Some('[') => {
                let inner = self.enclosed('[', ']');
                self.arithmetic(&inner, quoted);
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => self.named(quoted),
            Some(c) if c.is_ascii_digit() || "@*-".contains(c) => {
                self.chars.next();
                self.atoms.push(Atom::Variable { name: c.to_string(), quoted: quoted && !"@*".contains(c) });
            }
            Some('#' | '?' | '$' | '!') => {
                self.chars.next();
                self.atoms.push(Atom::Part(Part::Number));
            }
            _ => self.push('$', quoted),
        }
    }

    fn named(&mut self, quoted: bool) {
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|c| *c == '_' || c.is_ascii_alphanumeric()) {
            name.push(c);
        }
        self.atoms.push(Atom::Variable { name, quoted });
    }

    fn substitution(&mut self, quoted: bool) {
        let text = self.enclosed('(', ')');
        // Where it is no sum, it may be a command of groups, `$((ls) | (wc))`: a question.
        match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).filter(|_| is_enclosed(&text)) {
            Some(inner) => self.arithmetic(inner, quoted),
            None => self.output(text, quoted),
        }
    }

    fn arithmetic(&mut self, text: &str, quoted: bool) {
        match sum(text) {
            Some(names) if names.is_empty() => self.atoms.push(output(quoted)),
            Some(names) => self.atoms.push(Atom::Sum(names)),
            None => self.inside(text),
        }
    }

    fn parameter(&mut self, quoted: bool) {
        let inner = self.enclosed('{', '}');
        if is_name(&inner) {
            self.atoms.push(Atom::Variable { name: inner, quoted });
        } else if inner == "#" || inner == "?" || inner.strip_prefix('#').is_some_and(is_name) {
            self.atoms.push(Atom::Part(Part::Number));
        } else if matches!(inner.as_str(), "@" | "*") {
            self.atoms.push(Atom::Variable { name: inner, quoted: false });
        } else if inner.strip_prefix("HOME").is_some_and(|rest| rest.starts_with(['%', '#', ':', '?', '/']))
            && !inner.contains(['$', '`', '-', '=', '+'])
        {
            // However it is cut, it is about the home folder.
            self.atoms.push(Atom::Variable { name: "HOME".into(), quoted });
        } else if let Some(name) = elements(&inner) {
            self.atoms.push(Atom::Variable { name: name.to_owned(), quoted: false });
        } else if let Some((name, text)) = fallback(&inner) {
            self.atoms.push(Atom::Fallback { name: name.to_owned(), text, quoted });
        } else if is_cut(&inner) {
            self.atoms.push(Atom::Part(if quoted { Part::Value } else { Part::Values }));
        } else {
            self.inside(&inner);
        }
    }

    /// Something only a run would tell, which may hold substitutions of its own.
    fn inside(&mut self, text: &str) {
        self.atoms.push(Atom::UNKNOWN);
        if self.depth < MOST_DEPTH && text.contains(['$', '`', '<', '>']) {
            let mut lexer = Lexer::new(text, self.substitutions, self.depth + 1);
            while let Some(c) = lexer.chars.next() {
                lexer.unquoted(c);
            }
        }
    }

    fn backquoted(&mut self, quoted: bool) {
        let mut text = String::new();
        while let Some(c) = self.chars.next() {
            match c {
                '`' => break,
                '\\' => match self.chars.next_if(|c| matches!(c, '\\' | '`' | '$') || quoted && *c == '"') {
                    Some(escaped) => text.push(escaped),
                    None => text.push('\\'),
                },
                _ => text.push(c),
            }
        }
        self.output(text, quoted);
    }

    fn output(&mut self, text: String, quoted: bool) {
        // What other commands print are names of the project or numbers. What the line itself says may be any word.
        self.atoms.push(if only_prints(&text) { Atom::UNKNOWN } else { output(quoted) });
        self.substitutions.push(text);
    }

    /// What stands between an opener, which is next, and its closer.
    fn enclosed(&mut self, open: char, close: char) -> String {
        self.chars.next();
        let mut inner = String::new();
        super::ends::skip(&mut self.chars, (open, close), 0, &mut inner);
        inner
    }
}
