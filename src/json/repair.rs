//! The tolerant reader: one pass, no recursion, every liberty it takes is named.
//!
//! It is asked only when strict reading failed. Lossless repairs have one sane reading; what would be a guess is either
//! named lossy or refused. Text around the objects is passed over only when it holds nothing that could be part of one.

use super::{MOST_NESTING, Problem, Reading, strict::duplicate};
use crate::Repair;
use serde_json::{Map, Value};

pub(super) fn read(text: &str, closed: bool) -> Result<Reading, Problem> {
    let mut reader = Reader { text, at: 0, repairs: Vec::new(), stack: Vec::new() };
    let values = match reader.values(closed) {
        Ok(values) => values,
        Err(problem) => return Err(Problem { inside: !reader.stack.is_empty(), ..problem }),
    };
    if values.is_empty() {
        return Err(Problem::new(0, "there is no JSON object; write one object with name and args"));
    }
    Ok(Reading { values, repairs: reader.repairs })
}

/// What is open around the place that is read.
enum Frame {
    Object(Map<String, Value>, Option<String>),
    Array(Vec<Value>),
}

/// What comes next inside the innermost frame.
enum Next {
    Value,
    Key,
    /// A comma, a closing bracket, or whatever a missing comma leaves.
    After,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    repairs: Vec<Repair>,
    stack: Vec<Frame>,
}

impl Reader<'_> {
    fn note(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn problem<T>(&self, message: impl Into<String>) -> Result<T, Problem> {
        Err(Problem::new(self.at, message))
    }

    fn values(&mut self, closed: bool) -> Result<Vec<Value>, Problem> {
        let mut values = Vec::new();
        self.surrounding()?;
        while self.at < self.text.len() {
            values.push(self.value(closed)?);
            self.surrounding()?;
        }
        Ok(values)
    }

    /// Passes over text up to the next object or array, or to the end.
    fn surrounding(&mut self) -> Result<(), Problem> {
        let stop = self.rest().find(['{', '[']).unwrap_or(self.rest().len());
        let between = &self.rest()[..stop];
        if let Some(at) = between.find(['}', ']', '"', '`']) {
            let odd = between[at..].chars().next().unwrap_or_default();
            return Err(Problem::new(self.at + at, format!("{odd:?} stands outside of the object; remove it")));
        }
        if !between.trim().is_empty() {
            self.note(Repair::SurroundingText);
        }
        self.at += stop;
        Ok(())
    }

    /// Reads one object or array, `self.at` being its bracket.
    fn value(&mut self, closed: bool) -> Result<Value, Problem> {
        let mut next = self.open()?;
        loop {
            self.blanks()?;
            if self.peek().is_none() {
                return self.end(&next, closed);
            }
            next = match next {
                Next::Value => self.element()?,
                Next::Key => self.key()?,
                Next::After => match self.after()? {
                    Ok(next) => next,
                    Err(whole) => return Ok(whole),
                },
            };
        }
    }

    /// The text is over with brackets open.
    fn end(&mut self, next: &Next, closed: bool) -> Result<Value, Problem> {
        if !closed || !matches!(next, Next::After) {
            return self.problem("the object is not finished");
        }
        self.note(Repair::FinalClosers);
        loop {
            if let Some(whole) = self.close() {
                return Ok(whole);
            }
        }
    }

    fn open(&mut self) -> Result<Next, Problem> {
        if self.stack.len() == MOST_NESTING {
            return self.problem(format!("nested deeper than {MOST_NESTING}"));
        }
        let object = self.peek() == Some(b'{');
        self.at += 1;
        self.stack.push(if object { Frame::Object(Map::new(), None) } else { Frame::Array(Vec::new()) });
        Ok(if object { Next::Key } else { Next::Value })
    }

    /// Closes the innermost frame; gives the whole value when it was the last one.
    fn close(&mut self) -> Option<Value> {
        let value = match self.stack.pop()? {
            Frame::Object(members, _) => Value::Object(members),
            Frame::Array(items) => Value::Array(items),
        };
        if self.stack.is_empty() {
            return Some(value);
        }
        self.put(value);
        None
    }

    fn put(&mut self, value: Value) {
        match self.stack.last_mut() {
            Some(Frame::Object(members, key)) => {
                members.insert(key.take().unwrap_or_default(), value);
            }
            Some(Frame::Array(items)) => items.push(value),
            None => {}
        }
    }

    /// Whether the byte closes the innermost frame.
    fn closes(&self, byte: u8) -> bool {
        match self.stack.last() {
            Some(Frame::Object(..)) => byte == b'}',
            Some(Frame::Array(_)) => byte == b']',
            None => false,
        }
    }

    /// A comma, a closing bracket, or a missing comma. `Err` is the whole value.
    fn after(&mut self) -> Result<Result<Next, Value>, Problem> {
        let byte = self.peek().unwrap_or_default();
        let in_object = matches!(self.stack.last(), Some(Frame::Object(..)));
        let next = if in_object { Next::Key } else { Next::Value };
        if self.closes(byte) {
            self.at += 1;
            return Ok(self.close().map_or(Ok(Next::After), Err));
        }
        if byte == b',' {
            self.at += 1;
            self.blanks()?;
            if self.peek().is_some_and(|byte| self.closes(byte)) {
                self.note(Repair::TrailingComma);
                return Ok(Ok(Next::After));
            }
            return Ok(Ok(next));
        }
        if in_object && byte == b'"' {
            self.note(Repair::MissingComma);
            return Ok(Ok(next));
        }
        if !in_object && matches!(byte, b'"' | b'{' | b'[') {
            self.note(Repair::MissingArrayComma);
            return Ok(Ok(next));
        }
        self.problem(
            "a comma or a closing bracket is wanted; inside a string write quotes as \\\" and backslashes as \\\\",
        )
    }

    fn key(&mut self) -> Result<Next, Problem> {
        if self.peek() == Some(b'}') {
            return Ok(Next::After);
        }
        let start = self.at;
        let key = if let Some(key) = self.string()? { key } else { self.bare_key()? };
        self.blanks()?;
        if self.peek() != Some(b':') {
            return self.problem("a colon is wanted after the key");
        }
        self.at += 1;
        match self.stack.last_mut() {
            Some(Frame::Object(members, _)) if members.contains_key(&key) => Err(Problem::new(start, duplicate(&key))),
            Some(Frame::Object(_, pending)) => {
                *pending = Some(key);
                Ok(Next::Value)
            }
            _ => self.problem("a key stands outside of an object"),
        }
    }

    fn bare_key(&mut self) -> Result<String, Problem> {
        let word = self.word();
        if word.is_empty() || word.as_bytes()[0].is_ascii_digit() {
            return self.problem("a key in double quotes is wanted");
        }
        self.at += word.len();
        self.note(Repair::UnquotedKey);
        Ok(word)
    }

    /// Letters, digits, `_`, `$` and `-` from here.
    fn word(&self) -> String {
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$-".contains(byte);
        self.rest().bytes().take_while(word).map(char::from).collect()
    }

    fn element(&mut self) -> Result<Next, Problem> {
        match self.peek() {
            Some(b'{' | b'[') => return self.open(),
            Some(b']') if matches!(self.stack.last(), Some(Frame::Array(items)) if items.is_empty()) => {}
            _ => {
                let value = match self.string()? {
                    Some(text) => Value::String(text),
                    None => self.scalar()?,
                };
                self.put(value);
            }
        }
        Ok(Next::After)
    }

    fn scalar(&mut self) -> Result<Value, Problem> {
        let length =
            self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        let word = &self.text[self.at..self.at + length];
        let value = match word {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::Null),
            _ => None,
        };
        let python = value.is_some();
        let Some(value) = value.or_else(|| serde_json::from_str(word).ok()) else {
            return self
                .problem("a value is wanted here: a string in double quotes, a number, true, false, null, { or [");
        };
        if python {
            self.note(Repair::PythonLiteral);
        }
        self.at += length;
        Ok(value)
    }

    /// Passes over blanks and comments.
    fn blanks(&mut self) -> Result<(), Problem> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{feff}', '\u{a0}']).len();
            let rest = self.rest();
            let length = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => end + 2,
                    None => return self.problem("the comment is not closed"),
                }
            } else {
                return Ok(());
            };
            self.at += length;
            self.note(Repair::Comment);
        }
    }

    /// A string in double, single or typographic quotes, if one begins here.
    fn string(&mut self) -> Result<Option<String>, Problem> {
        let Some(open) = self.rest().chars().next() else { return Ok(None) };
        let close = match open {
            '"' => '"',
            '\'' => '\'',
            '\u{201c}' | '\u{201d}' => '\u{201d}',
            '\u{2018}' | '\u{2019}' => '\u{2019}',
            _ => return Ok(None),
        };
        let start = self.at;
        self.at += open.len_utf8();
        let string = Text::default().read(self, close, start)?;
        if open != '"' {
            self.note(Repair::Quotes);
        }
        Ok(Some(string))
    }
}

/// A string being read: what it holds, and which escapes were met.
#[derive(Default)]
struct Text {
    out: String,
    letter_escape: bool,
    invalid_escape: bool,
}

impl Text {
    /// Reads up to the closing mark.
    fn read(mut self, reader: &mut Reader<'_>, close: char, start: usize) -> Result<String, Problem> {
        loop {
            let rest = reader.rest();
            let stop = rest.find(|c: char| c == close || c == '\\' || c < ' ');
            let Some(stop) = stop else { return Err(Problem::new(start, "the string that begins here is not closed")) };
            self.out.push_str(&rest[..stop]);
            let met = rest[stop..].chars().next().unwrap_or_default();
            let length = met.len_utf8();
            reader.at += stop + length;
            if met == close {
                break;
            }
            if met == '\\' {
                self.escape(reader)?;
            } else {
                self.out.push(met);
                reader.note(Repair::RawControl);
            }
        }
        if self.invalid_escape {
            reader.note(if self.letter_escape { Repair::AmbiguousEscape } else { Repair::InvalidEscape });
        }
        Ok(self.out)
    }

    /// What stands behind a backslash.
    fn escape(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        let Some(c) = reader.rest().chars().next() else { return reader.problem("the string is not closed") };
        let plain = match c {
            '"' | '\\' | '/' => Some(c),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            _ => None,
        };
        if c == 'u'
            && let Some((decoded, length)) = unicode(reader.rest())
        {
            let Some(decoded) = decoded else {
                return reader.problem("a lone surrogate is half a character; write the character itself");
            };
            self.letter_escape = true;
            reader.at += length;
            self.out.push(decoded);
            return Ok(());
        }
        reader.at += c.len_utf8();
        self.letter_escape |= plain.is_some() && c.is_ascii_alphabetic();
        match plain {
            Some(decoded) => self.out.push(decoded),
            None if c == '\'' => {
                reader.note(Repair::InvalidEscape);
                self.out.push(c);
            }
            None => {
                self.invalid_escape = true;
                self.out.extend(['\\', c]);
            }
        }
        Ok(())
    }
}

/// `uXXXX`, or two of them that are one character, and their length without the first backslash; no character where they
/// are half of one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use Repair::{
        AmbiguousEscape, Comment, FinalClosers, InvalidEscape, MissingArrayComma, MissingComma, PythonLiteral, Quotes,
        RawControl, SurroundingText, TrailingComma, UnquotedKey,
    };
    use serde_json::json;

    fn reads(text: &str, wanted: &Value, repairs: &[Repair]) {
        let reading = read(text, true).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
        assert_eq!((&reading.values[..], &reading.repairs[..]), (std::slice::from_ref(wanted), repairs), "{text}");
    }

    #[test]
    fn each_repair() {
        let ab = json!({"a": "b"});
        reads("{\"a\": \"b\",}", &ab, &[TrailingComma]);
        reads("{\"a\": /* x */ \"b\" // y\n}", &ab, &[Comment]);
        reads("{\"a\": \"b\" # y\n}", &ab, &[Comment]);
        reads("{'a': \u{201c}b\u{201d}}", &ab, &[Quotes]);
        reads("{a: \"b\"}", &ab, &[UnquotedKey]);
        reads("Call: {\"a\": \"b\"};", &ab, &[SurroundingText]);
        reads("{\"a\": \"b\"", &ab, &[FinalClosers]);
        reads("{\"a\": [True, None, [\"x\"", &json!({"a": [true, null, ["x"]]}), &[PythonLiteral, FinalClosers]);
        reads("{\"a\": 1 \"b\": 2}", &json!({"a": 1, "b": 2}), &[MissingComma]);
        reads("[{} {}]", &json!([{}, {}]), &[MissingArrayComma]);
        reads("{\"a\": \"x\ny\"}", &json!({"a": "x\ny"}), &[RawControl]);
        reads(r#"{"a": "\d+\."}"#, &json!({"a": "\\d+\\."}), &[InvalidEscape]);
        reads(r#"{"a": "it\'s"}"#, &json!({"a": "it's"}), &[InvalidEscape]);
        reads(r#"{"a": "C:\new\dir"}"#, &json!({"a": "C:\new\\dir"}), &[AmbiguousEscape]);
        reads(r#"{"a": "\ud83d\ude00",}"#, &json!({"a": "😀"}), &[TrailingComma]);
    }

    #[test]
    fn what_would_be_a_guess_is_refused() {
        let texts = [
            "",
            "no object",
            "{\"a\": \"b",
            "{\"a\":",
            "{\"a\": \"b\"}}",
            "{\"a\": \"b\"} \"c\"",
            "{\"a\": 1, \"a\": 2,}",
            "{'a': 'it's'}",
            "{\"a\": \"say \"hi\" now\"}",
            "{\"a\": NaN}",
            "[1e999,]",
            "{\"a\": 01,}",
            "{\"a\": /* b}",
            "{\"a\": 1,",
            "[,]",
        ];
        for text in texts {
            assert!(read(text, true).is_err(), "{text}: {:?}", read(text, true));
        }
        assert!(read("{\"a\": 1", false).is_err(), "a text that may be cut is not completed");
        assert!(read(&"[".repeat(100_000), true).is_err());
    }
}
