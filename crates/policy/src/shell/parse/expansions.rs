//! Reads words, quotes and expansions.

use super::grammar::{Closer, Frame, ParseResult, Reader};
use super::is_name;

impl Reader<'_, '_> {
    pub(super) fn read_word(&mut self) -> ParseResult {
        let Some(next) = self.source.peek() else { return self.finish_word() };
        match next {
            ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => return self.finish_word(),
            '(' => return self.refuse("a function, an array or a pattern in brackets"),
            '<' | '>' => {
                if !self.source.is_followed_by('(') {
                    return self.finish_word();
                }
                self.source.take();
                self.source.take();
                // Bash passes a path such as `/dev/fd/63`.
                self.word().push_unknown(false, false);
                self.open_list(Closer::Substitution);
            }
            '\\' => {
                self.source.take();
                // `take_raw`, because the escaped character can itself be the backslash of `\` and a line end.
                let Some(escaped) = self.source.take_raw() else { return self.refuse("a backslash at the end") };
                self.word().push_quoted(escaped);
            }
            '\'' => {
                self.source.take();
                let Some(text) = self.source.take_until('\'') else { return self.refuse("an open quote") };
                let word = self.word();
                word.mark_quoted();
                text.chars().for_each(|character| word.push_quoted(character));
            }
            '"' => {
                self.source.take();
                self.word().mark_quoted();
                self.frames.push(Frame::DoubleQuotes);
            }
            '`' => self.read_backquotes(true)?,
            '$' => self.read_dollar(Frame::Word)?,
            // `a[$(b)]=c` evaluates its subscript.
            '[' if self.word().may_take_subscript() => return self.refuse("a subscript"),
            _ => {
                self.source.take();
                self.word().push_plain(next);
            }
        }
        Ok(())
    }

    pub(super) fn read_double_quotes(&mut self) -> ParseResult {
        match self.source.peek() {
            None => self.refuse("an open quote"),
            Some('"') => {
                self.source.take();
                self.frames.pop();
                Ok(())
            }
            Some('\\') => self.read_backslash(&['$', '`', '"', '\\']),
            Some('`') => self.read_backquotes(false),
            Some('$') => self.read_dollar(Frame::DoubleQuotes),
            Some(next) => {
                self.source.take();
                self.word().push_quoted(next);
                Ok(())
            }
        }
    }

    /// Reads a backslash in double quotes or a here-document: it escapes only some characters and is text before
    /// others.
    fn read_backslash(&mut self, escapable: &[char]) -> ParseResult {
        self.source.take();
        let next = self.source.peek_raw().filter(|next| escapable.contains(next));
        let character = if next.is_some() { self.source.take_raw() } else { None };
        self.word().push_quoted(character.unwrap_or('\\'));
        Ok(())
    }

    /// Reads the text of a here-document. Quotes are text in it, and hide nothing.
    pub(super) fn read_document(&mut self) -> ParseResult {
        match self.source.peek() {
            None => {
                self.frames.pop();
                let word = self.words.pop().expect("the text of the here-document");
                let index = self.document.expect("the here-document that this text belongs to");
                self.parser.documents[index] = word.finish().pop().expect("a plain word is one word");
                Ok(())
            }
            Some('\\') => self.read_backslash(&['$', '`', '\\']),
            Some('`') => self.read_backquotes(false),
            Some('$') => self.read_dollar(Frame::Document),
            Some(next) => {
                self.source.take();
                self.word().push_quoted(next);
                Ok(())
            }
        }
    }

    /// Reads the default in `${x:-text}`.
    pub(super) fn read_default(&mut self) -> ParseResult {
        match self.source.peek() {
            Some('}') => {
                self.source.take();
                self.frames.pop();
                Ok(())
            }
            // Versions and contexts differ in where quotes end and what they protect.
            None | Some('\'' | '"' | '\\' | '{' | '<' | '>' | '(' | ')') => self.refuse("a quote or bracket in ${ }"),
            Some('`') => self.read_backquotes(false),
            Some('$') => self.read_dollar(Frame::Default),
            Some(_) => {
                self.source.take();
                Ok(())
            }
        }
    }

    /// Adds the script in backquotes to the texts. It ends at the next backquote, even inside quotes.
    fn read_backquotes(&mut self, splits: bool) -> ParseResult {
        self.source.take();
        let Some(script) = self.source.take_until('`') else { return self.refuse("an open backquote") };
        // Bash removes backslashes before it reads the script, and which ones depends on the quotes around the
        // backquotes.
        if script.contains('\\') {
            return self.refuse("a backslash in backquotes");
        }
        self.word().push_unknown(splits, false);
        self.add_text(script.to_owned(), None)
    }

    fn read_dollar(&mut self, context: Frame) -> ParseResult {
        self.source.take();
        let splits = context == Frame::Word;
        match self.source.peek() {
            // `$((` is read as arithmetic. If it turns out to be `$(` and a subshell, the text is refused.
            Some('(') => {
                self.source.take();
                if self.source.take_if('(') {
                    return self.read_arithmetic(splits);
                }
                self.word().push_unknown(splits, false);
                self.open_list(Closer::Substitution);
            }
            Some('{') => {
                self.source.take();
                return self.read_parameter(splits);
            }
            Some('[') => return self.refuse("arithmetic"),
            // `$'..'` and `$".."` exist only outside of quotes; elsewhere the `$` is text.
            Some('\'') if splits => {
                self.source.take();
                return self.read_ansi_quotes();
            }
            Some('"') if splits => {
                self.source.take();
                self.word().mark_quoted();
                self.frames.push(Frame::DoubleQuotes);
            }
            Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                self.take_name();
                self.word().push_unknown(splits, false);
            }
            Some(first) if first.is_ascii_digit() || "@*#?-$!".contains(first) => {
                self.source.take();
                // `"$@"` is several words also in quotes. `$#`, `$?`, `$$` and `$!` are numbers.
                self.word().push_unknown(splits || first == '@', "#?$!".contains(first));
            }
            _ => self.word().push_quoted('$'),
        }
        Ok(())
    }

    fn take_name(&mut self) -> String {
        let mut name = String::new();
        while let Some(next) = self.source.peek().filter(|next| next.is_ascii_alphanumeric() || *next == '_') {
            self.source.take();
            name.push(next);
        }
        name
    }

    /// Reads what follows `${`.
    fn read_parameter(&mut self, splits: bool) -> ParseResult {
        let is_length = self.source.take_if('#');
        if is_length && self.source.take_if('}') {
            self.word().push_unknown(splits, true);
            return Ok(());
        }
        let Some(first) = self.source.peek() else { return self.refuse("an open ${") };
        let is_special = "@*?-$!".contains(first);
        if is_special {
            self.source.take();
        } else {
            let name = self.take_name();
            let is_position = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            if !is_name(&name) && !is_position {
                return self.refuse("a parameter");
            }
        }
        self.word().push_unknown(splits || first == '@', is_length || "?$!".contains(first));
        if self.source.take_if('}') {
            return Ok(());
        }
        if is_length || is_special {
            return self.refuse("a parameter");
        }
        self.source.take_if(':');
        match self.source.take() {
            // `=` is missing here because `${x:=a}` sets the variable, and other operators match patterns or take
            // parts.
            Some('-' | '+' | '?') => {
                self.frames.push(Frame::Default);
                Ok(())
            }
            _ => self.refuse("a parameter with an operator"),
        }
    }

    /// Reads `$((..))` of numbers, names and operators up to its end.
    fn read_arithmetic(&mut self, splits: bool) -> ParseResult {
        let mut depth = 0;
        loop {
            match self.source.peek_raw() {
                Some(')') if depth == 0 => {
                    self.source.take();
                    // `$((a) b)` is a substitution that begins with a subshell.
                    if self.source.peek_raw() != Some(')') {
                        return self.refuse("arithmetic");
                    }
                    self.source.take();
                    self.word().push_unknown(splits, true);
                    return Ok(());
                }
                Some(')') => depth -= 1,
                Some('(') => depth += 1,
                Some('$') => {
                    self.source.take_raw();
                    // `$#` and `$?` are always numbers.
                    if matches!(self.source.peek_raw(), Some('#' | '?')) {
                        self.source.take_raw();
                        continue;
                    }
                    let in_braces = self.source.peek_raw() == Some('{');
                    if in_braces {
                        self.source.take_raw();
                    }
                    let name = self.take_name();
                    if !is_name(&name) || (in_braces && !self.source.take_if('}')) {
                        return self.refuse("arithmetic");
                    }
                    // Bash evaluates the value as an expression, so `check_sums` must know that it is a number.
                    self.parser.names_in_sums.push(name);
                    continue;
                }
                Some(next) if next.is_ascii_alphanumeric() || next == '_' => {
                    let name = self.take_name();
                    if is_name(&name) {
                        self.parser.names_in_sums.push(name);
                    }
                    continue;
                }
                Some(next) if " \t\n+-*/%<>=!&|^~?:,".contains(next) => {}
                // Bash expands quoted text and subscripts in arithmetic again: `$(('$(a)'))` runs `a`.
                _ => return self.refuse("arithmetic"),
            }
            self.source.take_raw();
        }
    }

    /// Reads `$'..'` with its escapes.
    fn read_ansi_quotes(&mut self) -> ParseResult {
        self.word().mark_quoted();
        loop {
            match self.source.take_raw() {
                None => return self.refuse("an open quote"),
                Some('\'') => return Ok(()),
                Some('\\') => self.read_ansi_escape()?,
                Some(next) => self.word().push_quoted(next),
            }
        }
    }

    fn read_ansi_escape(&mut self) -> ParseResult {
        let Some(kind) = self.source.take_raw() else { return self.refuse("an open quote") };
        let code = match kind {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '\'' | '"' | '?' => kind as u32,
            '0'..='7' => {
                let first = kind as u32 - '0' as u32;
                self.take_digits(first, 8, 2).0 & 0xff
            }
            'x' | 'u' | 'U' => {
                let most = if kind == 'x' { 2 } else { if kind == 'u' { 4 } else { 8 } };
                let (code, count) = self.take_digits(0, 16, most);
                if count == 0 {
                    return self.refuse("an escape without digits");
                }
                code
            }
            'c' => match self.source.take_raw() {
                Some(letter) if letter.is_ascii_alphabetic() => letter as u32 & 0x1f,
                _ => return self.refuse("an escape"),
            },
            _ => {
                self.word().push_quoted('\\');
                self.word().push_quoted(kind);
                return Ok(());
            }
        };
        match char::from_u32(code) {
            // The result is unknown for these: NUL ends the text, bash marks its own words with 01 and 7F, and above 7F
            // the locale decides about the bytes.
            Some(character) if !matches!(code, 0 | 1 | 127..) => self.word().push_quoted(character),
            _ => self.word().push_unknown(false, false),
        }
        Ok(())
    }

    /// Takes up to `most` digits after `value`. Returns the number and how many digits were taken.
    fn take_digits(&mut self, mut value: u32, radix: u32, most: usize) -> (u32, usize) {
        let mut count = 0;
        while count < most
            && let Some(digit) = self.source.peek_raw().and_then(|next| next.to_digit(radix))
        {
            self.source.take_raw();
            value = value.wrapping_mul(radix).wrapping_add(digit);
            count += 1;
        }
        (value, count)
    }
}
