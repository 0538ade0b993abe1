//! Valid JSON to a value, with duplicate keys as errors.
//!
//! Read here, for most blocks are short and half of the work is in their strings. `serde_json` reads numbers that are no
//! short whole ones, and says what is wrong with a text; what is valid and what it means is the same to both.

mod problem;

pub(super) use problem::duplicate;

use super::Problem;
use super::plain::{plain, plain_of_key, unescaped};
use serde_json::{Map, Number, Value};

/// The deepest nesting: that of `serde_json`.
const MOST_DEPTH: usize = 127;

/// Bytes of a decoded string whose room is handed over with it; a shorter one is copied, and the room used again.
const LONG: usize = 4096;

/// Digits of a whole number that fit into every type.
const FEW_DIGITS: usize = 18;

/// The value, where the text is valid.
pub(super) fn value(text: &str) -> Option<Value> {
    let mut decoded = String::new();
    let mut reader = Reader::new(text, &mut decoded, Begun::default());
    let value = reader.value(&mut ())?;
    reader.is_over().then_some(value)
}

pub(super) fn read(text: &str) -> Result<Value, Problem> {
    value(text).ok_or_else(|| problem::of(text))
}

/// Is told of the strings of a value while it is built, and where they stand. `false` gives up.
pub(crate) trait Listen {
    /// An object or array opens; what is given is asked for again at its keys, its elements and its end.
    fn enter(&mut self) -> usize {
        0
    }
    /// The value of this key of the object comes next; it is no string.
    fn key(&mut self, _container: usize, _key: &str) -> bool {
        true
    }
    /// This element of the array comes next.
    fn element(&mut self, _container: usize, _index: usize) {}
    fn leave(&mut self, _container: usize) {}
    /// A key of the object has a string.
    fn member(&mut self, container: usize, member: &Member<'_>) -> bool {
        self.key(container, member.key) && self.text(member.text)
    }
    /// The string of a key or an element that was told.
    fn text(&mut self, _text: &str) -> bool {
        true
    }
}

impl Listen for () {}

/// A key and its string. Where each begins in the text, if it stands there as it is: without escapes.
pub(crate) struct Member<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_at: Option<usize>,
    pub(crate) text: &'a str,
    pub(crate) text_at: Option<usize>,
}

/// A string that was read: as it stands in the text, or in the room for strings with escapes.
#[derive(Clone, Copy)]
enum Text<'a> {
    Plain(&'a str),
    Decoded,
}

impl Text<'_> {
    /// `at`, where it begins, if it stands there as it is.
    fn stands_at(self, at: usize) -> Option<usize> {
        matches!(self, Text::Plain(_)).then_some(at)
    }
}

/// What a string says as far as it was decoded when it came. Places are in the text that is read.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    /// Behind its quote; 0 where nothing is kept.
    pub(crate) start: usize,
    /// Up to here it is decoded.
    pub(crate) end: usize,
    pub(crate) text: String,
}

/// Reads a text piece by piece; `None` where it is not valid.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Room for a string with escapes in it.
    decoded: &'a mut String,
    begun: Begun,
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of the text; `decoded` is room that it may use.
    pub(crate) fn new(text: &'a str, decoded: &'a mut String, begun: Begun) -> Reader<'a> {
        Reader { text, at: 0, depth: 0, decoded, begun }
    }

    /// Whether nothing but blanks is left.
    pub(crate) fn is_over(&mut self) -> bool {
        self.next().is_none()
    }

    /// Opens the object or array that comes next; whether there is something in it.
    pub(crate) fn opens(&mut self, opener: u8, closer: u8) -> Option<bool> {
        self.expect(opener)?;
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        Some(self.next()? != closer || self.closes())
    }

    /// Behind a member or an element: whether another one comes.
    pub(crate) fn goes_on(&mut self, closer: u8) -> Option<bool> {
        match self.next()? {
            b',' => {
                self.at += 1;
                Some(true)
            }
            byte if byte == closer => Some(self.closes()),
            _ => None,
        }
    }

    /// The key that comes next.
    #[inline(always)]
    pub(crate) fn key(&mut self) -> Option<&str> {
        self.expect(b'"')?;
        let text = self.rest_of_key()?;
        Some(self.str(text))
    }

    /// The string that comes next.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Option<&str> {
        self.expect(b'"')?;
        let text = self.rest_of_string()?;
        Some(self.str(text))
    }

    #[inline(always)]
    fn str(&self, text: Text<'a>) -> &str {
        match text {
            Text::Plain(text) => text,
            Text::Decoded => self.decoded,
        }
    }

    #[inline(always)]
    fn owned(&mut self, text: Text<'a>) -> String {
        if let Text::Plain(text) = text { owned(text) } else { self.decoded_value() }
    }

    /// Where a long text fills most of its room, it takes it along.
    #[inline(never)]
    fn decoded_value(&mut self) -> String {
        let long = self.decoded.len() >= LONG.max(self.decoded.capacity() / 2);
        if long { std::mem::take(self.decoded).into_boxed_str().into_string() } else { owned(self.decoded) }
    }

    /// The string whose quote this is behind.
    #[inline(always)]
    fn rest_of_string(&mut self) -> Option<Text<'a>> {
        let length = plain(&self.text.as_bytes()[self.at..]);
        self.ends_or_goes_on(length)
    }

    /// The same, of a key.
    #[inline(always)]
    fn rest_of_key(&mut self) -> Option<Text<'a>> {
        let length = plain_of_key(&self.text.as_bytes()[self.at..]);
        self.ends_or_goes_on(length)
    }

    /// So many bytes of a string stand for themselves: it ends there, or an escape comes.
    #[inline(always)]
    fn ends_or_goes_on(&mut self, length: usize) -> Option<Text<'a>> {
        let (text, start) = (self.text, self.at);
        let end = start + length;
        self.at = end + 1;
        match text.as_bytes().get(end)? {
            b'"' => Some(Text::Plain(&text[start..end])),
            b'\\' => self.decode(start).map(|()| Text::Decoded),
            _ => None,
        }
    }

    /// The colon behind a key.
    pub(crate) fn colon(&mut self) -> Option<()> {
        self.expect(b':')
    }

    /// The object that comes next.
    pub(crate) fn object(&mut self, listener: &mut impl Listen) -> Option<Map<String, Value>> {
        let container = listener.enter();
        let mut object = Map::new();
        let mut more = self.opens(b'{', b'}')?;
        while more {
            self.expect(b'"')?;
            let (key_at, key) = (self.at, self.rest_of_key()?);
            let (key_at, key) = (key.stands_at(key_at), owned(self.str(key)));
            self.colon()?;
            // Each value goes into the object where it is made: one for all would be put together byte by byte.
            let twice = match self.next()? {
                b'"' => {
                    self.at += 1;
                    let (at, text) = (self.at, self.rest_of_string()?);
                    let member = Member { key: &key, key_at, text: self.str(text), text_at: text.stands_at(at) };
                    if !listener.member(container, &member) {
                        return None;
                    }
                    let text = self.owned(text);
                    object.insert(key, Value::String(text))
                }
                _ if listener.key(container, &key) => object.insert(key, self.value(listener)?),
                _ => return None,
            };
            if twice.is_some() {
                return None;
            }
            more = self.goes_on(b'}')?;
        }
        listener.leave(container);
        Some(object)
    }

    fn array(&mut self, listener: &mut impl Listen) -> Option<Vec<Value>> {
        let container = listener.enter();
        let mut array = Vec::new();
        let mut more = self.opens(b'[', b']')?;
        while more {
            listener.element(container, array.len());
            array.push(self.value(listener)?);
            more = self.goes_on(b']')?;
        }
        listener.leave(container);
        Some(array)
    }

    fn value(&mut self, listener: &mut impl Listen) -> Option<Value> {
        match self.next()? {
            b'"' => {
                self.at += 1;
                let text = self.rest_of_string()?;
                listener.text(self.str(text)).then(|| Value::String(self.owned(text)))
            }
            b'{' => self.object(listener).map(Value::Object),
            b'[' => self.array(listener).map(Value::Array),
            b't' => self.literal("true", Value::Bool(true)),
            b'f' => self.literal("false", Value::Bool(false)),
            b'n' => self.literal("null", Value::Null),
            _ => self.number().map(Value::Number),
        }
    }

    /// The next byte that is no blank.
    fn next(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        let found = self.next()? == byte;
        self.at += 1;
        found.then_some(())
    }

    /// Closes the innermost object or array: nothing more comes in it.
    fn closes(&mut self) -> bool {
        self.at += 1;
        self.depth -= 1;
        false
    }

    fn literal(&mut self, word: &str, value: Value) -> Option<Value> {
        let found = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        found.then_some(value)
    }

    fn number(&mut self) -> Option<Number> {
        let rest = &self.text.as_bytes()[self.at..];
        let digits = rest.iter().take(FEW_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
        let usual = digits > 0 && (rest[0] != b'0' || digits == 1);
        if usual && !rest.get(digits).is_some_and(is_in_number) {
            self.at += digits;
            return Some(
                rest[..digits].iter().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0')).into(),
            );
        }
        let length = rest.iter().take_while(|byte| is_in_number(byte)).count();
        let number = &self.text[self.at..self.at + length];
        self.at += length;
        if length > 0 { serde_json::from_str(number).ok() } else { None }
    }

    // Not part of `string`, so that the usual one pays nothing for it.
    /// The string that began at `start`, with its first escape, behind whose backslash this is.
    #[inline(never)]
    fn decode(&mut self, mut start: usize) -> Option<()> {
        let mut more = true;
        if self.begun.start == start {
            *self.decoded = std::mem::take(&mut self.begun.text);
            start = self.begun.end;
            more = self.find_escape(start)?;
        } else {
            self.decoded.clear();
            self.decoded.reserve(self.text.len() - start);
        }
        while more {
            self.decoded.push_str(&self.text[start..self.at - 1]);
            self.escape()?;
            start = self.at;
            more = self.find_escape(start)?;
        }
        self.decoded.push_str(&self.text[start..self.at - 1]);
        Some(())
    }

    /// Goes behind the next backslash, or the end of the string; whether it is a backslash.
    #[inline(always)]
    fn find_escape(&mut self, start: usize) -> Option<bool> {
        let end = start + plain(&self.text.as_bytes()[start..]);
        self.at = end + 1;
        match self.text.as_bytes().get(end)? {
            b'"' => Some(false),
            b'\\' => Some(true),
            _ => None,
        }
    }

    /// Decodes what stands behind a backslash.
    fn escape(&mut self) -> Option<()> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        match unescaped(byte) {
            Some(short) => self.decoded.push(short as char),
            None if byte == b'u' => self.unicode()?,
            None => return None,
        }
        Some(())
    }

    /// Decodes the character of one code unit, or of two.
    #[inline(never)]
    fn unicode(&mut self) -> Option<()> {
        let first = self.code_unit()?;
        let pair = (0xd800..0xdc00).contains(&first);
        let units = if pair { [first, self.low_surrogate()?] } else { [first, 0] };
        let used = if pair { &units[..] } else { &units[..1] };
        self.decoded.push(char::decode_utf16(used.iter().copied()).next()?.ok()?);
        Some(())
    }

    fn low_surrogate(&mut self) -> Option<u16> {
        let escaped = self.text.as_bytes()[self.at..].starts_with(b"\\u");
        self.at += 2;
        if escaped { self.code_unit() } else { None }
    }

    fn code_unit(&mut self) -> Option<u16> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| {
            let digit = (*digit as char).to_digit(16).and_then(|digit| u16::try_from(digit).ok())?;
            Some(unit << 4 | digit)
        })
    }
}

/// A text of its own. A box gets its room in place, where a `String` asks a function that has to be told what for.
#[inline]
pub(crate) fn owned(text: &str) -> String {
    Box::<str>::from(text).into_string()
}

fn is_in_number(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

#[cfg(test)]
mod tests {
    use super::problem::Unique;
    use super::*;

    /// Valid is what `serde_json` takes, without keys that stand twice, and it means the same.
    fn is_serde_json(text: &str) -> bool {
        let theirs = serde_json::from_str::<Unique>(text).ok();
        let theirs = theirs.map(|Unique| serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(format!("{:?}", value(text)), format!("{theirs:?}"), "{text}");
        theirs.is_some()
    }

    #[test]
    fn numbers_and_escapes_are_as_serde_json_has_them() {
        let numbers = "0 -0 1 -1 00 01 -01 - + +1 1. .1 1.5 -1.50 1e2 1E+2 1e-2 1e 1e+ 1e400 -1e400 1e-400 0.1e1 1-2 1x 0x1 \
            999999999999999999 1000000000000000000 9223372036854775807 -9223372036854775808 -9223372036854775809 \
            18446744073709551615 18446744073709551616 0.1 2.2250738585072011e-308 123456789012345678901234567890 \
            true false null nul tru falsee Null NaN nullnull";
        let strings = r#"\" \\ \/ \b \f \n \r \t \u0041 \u00e9 \u00E9 \u0000 \ud83d\ude00 \ud800 \udc00 \ud800\u0041
            \ud800x \ud800\n \ud83d\ud83d \u \u1 \u123 \u12g4 \u+123 \u-123 \x \U0041 \é \ é 😀 \u00e9é\té /"#;
        let strings = strings.split_whitespace().chain(["", " ", "\n", "\t", "\u{0}", "\u{1f}", "\u{7f}", "\u{2028}"]);
        let strings: Vec<String> = strings.map(|text| format!("\"{text}\"")).collect();
        let (mut valid, mut not) = (0, 0);
        for token in numbers.split_whitespace().chain(strings.iter().map(String::as_str)) {
            for pad in 0..10 {
                let pad = "x".repeat(pad);
                let texts = [
                    format!("{token}{pad}"),
                    format!(" [ {token},\"{pad}\"]"),
                    format!("{{\"{pad}\":{token}\n}}"),
                    format!("{{{token}: 0}}"),
                    format!("[\"{pad}{}\"]", token.trim_matches('"')),
                    format!("\"{pad}\\\"{}", token.trim_start_matches('"')),
                ];
                for text in texts {
                    *if is_serde_json(&text) { &mut valid } else { &mut not } += 1;
                }
            }
        }
        assert!(valid > 1000 && not > 1000, "{valid} {not}");
    }

    #[test]
    fn text_ends_where_serde_json_ends_it() {
        let (mut valid, mut not) = (0, 0);
        for before in 0..70 {
            for special in ["\\n", "\\", "\"", "\u{0}", "\u{1f}", " ", "\u{7f}", "\u{e9}", "\u{2028}"] {
                for (escape, behind) in
                    [("", ""), ("\\n", ""), ("", "yyyyyyyyyyyyyyyyyyyy"), ("\\n", "\u{e9}yyyyyyyyyyyyyyyyyyyy")]
                {
                    let text = format!("\"{escape}{}{special}{behind}\"", "x".repeat(before));
                    *if is_serde_json(&text) { &mut valid } else { &mut not } += 1;
                }
            }
        }
        assert!(valid > 1000 && not > 1000, "{valid} {not}");
    }

    #[test]
    fn shapes_are_as_serde_json_has_them() {
        let pieces = ["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", " "];
        let texts = (0..100_000).map(|number: usize| {
            let digits = (0..5).map(|place| number / 10_usize.pow(place) % 10);
            digits.map(|digit| pieces[digit]).collect::<String>()
        });
        let valid = texts.filter(|text| is_serde_json(text)).count();
        assert!(valid > 100, "{valid}");
        for text in
            ["{\"a\":{\"b\":[1,{\"c\":[]}]},\"d\":[[],{}]}", "{\"a\":1,\"b\":2,\"a\":3}", "\u{feff}{}", "", "\u{a0}1"]
        {
            is_serde_json(text);
        }
    }

    #[test]
    fn nesting_ends_where_serde_json_ends_it() {
        for depth in [1, 126, 127, 128, 129, 100_000] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(is_serde_json(&text), depth < 128, "{depth}");
        }
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let problem = read("{\"a\": 1,\n \"a\": 2}").unwrap_err();
        assert!(problem.message.contains("stands twice"), "{problem:?}");
        assert!(problem.at > 9);
        assert!(read("[1e400]").unwrap_err().message.contains("out of range"));
        assert!(read(&"[".repeat(1000)).unwrap_err().message.contains("recursion"));
    }
}
