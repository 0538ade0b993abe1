//! A strict JSON lexer for streamed text. It deviates in one point: strings may contain raw control characters.
//!
//! The lexer checks the whole syntax but builds nothing; it reports what it finds to a [`Watch`]. It does not check for
//! duplicate keys or numbers that exceed a double; [`read`](super::read) does. Several objects or arrays may follow one
//! another, separated by whitespace. There is no recursion; each nesting level takes one bit.

/// The deepest nesting that the lexer can follow: one bit of a `u128` for each level.
pub const MOST_NESTING: usize = 128;

/// The callbacks of the lexer. Offsets count bytes from the beginning of the input.
pub trait Watch {
    /// Called for an opening bracket at offset `at`.
    fn open(&mut self, _object: bool, _at: usize) {}
    /// Called for a closing bracket; `end` is one past it.
    fn close(&mut self, _end: usize) {}
    /// Called for a piece of a string, decoded. `key` is whether the string is a key.
    fn text(&mut self, _piece: &str, _key: bool) {}
    /// Called at the end of a string. `start` is its opening quote, `end` is one past its closing quote, and `escaped`
    /// is whether it contained a backslash.
    fn text_end(&mut self, _key: bool, _start: usize, _end: usize, _escaped: bool) {}
    /// Called after a number or literal.
    fn scalar(&mut self) {}
}

impl Watch for () {}

/// The state of the lexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Outside of any value.
    Between {
        /// The number of complete objects and arrays.
        values: usize,
    },
    /// Inside a value, outside a string.
    Inside,
    /// Inside a string of a value.
    InString,
    /// After a syntax error; nothing more is read.
    Broken {
        /// The first byte that does not fit.
        at: usize,
        /// Whether it is inside a value that has begun.
        inside: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Value,
    /// Expects a value or `]`.
    FirstElement,
    /// Expects a key or `}`.
    FirstKey,
    Key,
    Colon,
    /// Expects a comma or a closing bracket.
    After,
    String,
    Escape,
    /// Expects this many hexadecimal digits.
    Hex(u8),
    /// Expects a backslash, then a `u`, after a high surrogate.
    LowBackslash,
    LowU,
    Number(Number),
    Literal(&'static [u8]),
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Digits,
    Dot,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// Lexes JSON piece by piece.
#[derive(Debug, Clone)]
pub struct Lexer {
    state: State,
    /// One bit per level: whether it is an object. The lowest bit is the innermost level.
    objects: u128,
    depth: usize,
    most_depth: usize,
    values: usize,
    at: usize,
    string_start: usize,
    key: bool,
    escaped: bool,
    control: bool,
    unit: u16,
    high: u16,
    /// A buffer for text that contains escapes.
    decoded: String,
}

impl Lexer {
    /// Creates a lexer before the first byte that accepts nesting up to `nesting` levels, at most [`MOST_NESTING`].
    pub fn new(nesting: usize) -> Lexer {
        Lexer {
            state: State::Between,
            objects: 0,
            depth: 0,
            most_depth: nesting.min(MOST_NESTING),
            values: 0,
            at: 0,
            string_start: 0,
            key: false,
            escaped: false,
            control: false,
            unit: 0,
            high: 0,
            decoded: String::new(),
        }
    }

    /// Returns the state of the lexer.
    pub fn status(&self) -> Status {
        match self.state {
            State::Between => Status::Between { values: self.values },
            State::Broken => Status::Broken { at: self.at, inside: self.depth > 0 },
            State::String | State::Escape | State::Hex(_) | State::LowBackslash | State::LowU => Status::InString,
            _ => Status::Inside,
        }
    }

    /// Returns `true` if a string contained a raw control character, which JSON forbids.
    pub fn saw_control(&self) -> bool {
        self.control
    }

    /// Returns `true` if the error is too deep nesting.
    pub fn is_too_deep(&self) -> bool {
        self.state == State::Broken && self.depth > self.most_depth
    }

    /// Reads the next piece. After an error nothing more is read.
    pub fn feed(&mut self, piece: &str, watch: &mut impl Watch) {
        let bytes = piece.as_bytes();
        let mut at = 0;
        // A byte that ends a number is read again in the next state, so not every step consumes one.
        while at < bytes.len() {
            if self.state == State::String {
                at = self.run_of_text(piece, at, watch);
            } else if self.state == State::Broken {
                return;
            } else if self.step(bytes[at], watch) {
                at += 1;
                self.at += 1;
            }
        }
    }

    /// Reads text of a string up to its end, the end of the piece or an escape that is not short. Returns the position
    /// after it.
    fn run_of_text(&mut self, piece: &str, from: usize, watch: &mut impl Watch) -> usize {
        let bytes = piece.as_bytes();
        let mut at = self.plain_run(bytes, from);
        if bytes.get(at) == Some(&b'\\') && short_escape(bytes, at).is_some() {
            at = self.decoded_run(piece, from, at, watch);
        } else if at > from {
            watch.text(&piece[from..at], self.key);
        }
        self.at += at - from;
        match bytes.get(at) {
            None => return at,
            Some(b'"') => {
                self.at += 1;
                watch.text_end(self.key, self.string_start, self.at, self.escaped);
                self.state = if self.key { State::Colon } else { State::After };
            }
            // A longer escape, or a short one whose second byte has not arrived.
            Some(_) => {
                self.at += 1;
                self.escaped = true;
                self.state = State::Escape;
            }
        }
        at + 1
    }

    /// Returns the end of the unescaped text, which may include raw control characters.
    fn plain_run(&mut self, bytes: &[u8], from: usize) -> usize {
        let end = memchr::memchr2(b'"', b'\\', &bytes[from..]).map_or(bytes.len(), |at| from + at);
        // The loop has no early exit, so that the compiler can vectorise it.
        self.control |= bytes[from..end].iter().fold(false, |control, byte| control | (*byte < b' '));
        end
    }

    /// Decodes text with short escapes, the first one at `at`, and passes it to the watch in one piece. Returns the end
    /// of the text.
    fn decoded_run(&mut self, piece: &str, from: usize, mut at: usize, watch: &mut impl Watch) -> usize {
        let bytes = piece.as_bytes();
        self.decoded.clear();
        self.decoded.push_str(&piece[from..at]);
        while let Some(character) = short_escape(bytes, at) {
            let run = self.plain_run(bytes, at + 2);
            self.decoded.push(character);
            self.decoded.push_str(&piece[at + 2..run]);
            at = run;
        }
        self.escaped = true;
        watch.text(&self.decoded, self.key);
        at
    }

    /// Reads one byte outside the text of a string. Returns `true` if it was consumed.
    fn step(&mut self, byte: u8, watch: &mut impl Watch) -> bool {
        match self.state {
            State::Number(number) => return self.number(number, byte, watch),
            State::Escape => self.escape(byte, watch),
            State::Hex(left) => self.hex(left, byte, watch),
            State::LowBackslash if byte == b'\\' => self.state = State::LowU,
            State::LowU if byte == b'u' => self.state = State::Hex(4),
            State::Literal(rest) if rest.first() == Some(&byte) => self.literal(&rest[1..], watch),
            // A high surrogate without a low one is half a character.
            State::LowBackslash | State::LowU | State::Literal(_) => return self.fail(),
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {}
            _ => return self.token(byte, watch),
        }
        self.state != State::Broken
    }

    fn fail(&mut self) -> bool {
        self.state = State::Broken;
        false
    }

    fn token(&mut self, byte: u8, watch: &mut impl Watch) -> bool {
        match (self.state, byte) {
            (State::Between | State::Value | State::FirstElement, b'{' | b'[') => self.open(byte == b'{', watch),
            (State::FirstElement, b']') | (State::FirstKey, b'}') => self.close(watch),
            (State::Value | State::FirstElement, _) => return self.value(byte),
            (State::FirstKey | State::Key, b'"') => self.string(true),
            (State::Colon, b':') => self.state = State::Value,
            (State::After, b',') => self.state = if self.objects & 1 == 1 { State::Key } else { State::Value },
            (State::After, b'}') if self.objects & 1 == 1 => self.close(watch),
            (State::After, b']') if self.objects & 1 == 0 => self.close(watch),
            _ => return self.fail(),
        }
        self.state != State::Broken
    }

    fn value(&mut self, byte: u8) -> bool {
        self.state = match byte {
            b'"' => {
                self.string(false);
                return true;
            }
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Digits),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            _ => return self.fail(),
        };
        true
    }

    fn open(&mut self, object: bool, watch: &mut impl Watch) {
        self.depth += 1;
        // `depth` stays above the limit, because `is_too_deep` reads it.
        if self.depth > self.most_depth {
            self.state = State::Broken;
            return;
        }
        self.objects = self.objects << 1 | u128::from(object);
        self.state = if object { State::FirstKey } else { State::FirstElement };
        watch.open(object, self.at);
    }

    fn close(&mut self, watch: &mut impl Watch) {
        self.depth -= 1;
        self.objects >>= 1;
        watch.close(self.at + 1);
        if self.depth == 0 {
            self.values += 1;
            self.state = State::Between;
        } else {
            self.state = State::After;
        }
    }

    fn string(&mut self, key: bool) {
        self.key = key;
        self.escaped = false;
        self.string_start = self.at;
        self.state = State::String;
    }

    fn literal(&mut self, rest: &'static [u8], watch: &mut impl Watch) {
        self.state = State::Literal(rest);
        if rest.is_empty() {
            self.state = State::After;
            watch.scalar();
        }
    }

    fn escape(&mut self, byte: u8, watch: &mut impl Watch) {
        match (unescaped(byte), byte) {
            (Some(short), _) => {
                self.state = State::String;
                watch.text(char::from(short).encode_utf8(&mut [0]), self.key);
            }
            (None, b'u') => {
                self.unit = 0;
                self.high = 0;
                self.state = State::Hex(4);
            }
            _ => self.state = State::Broken,
        }
    }

    fn hex(&mut self, left: u8, byte: u8, watch: &mut impl Watch) {
        let Some(digit) = (byte as char).to_digit(16).and_then(|digit| u16::try_from(digit).ok()) else {
            self.state = State::Broken;
            return;
        };
        self.unit = self.unit << 4 | digit;
        self.state = State::Hex(left - 1);
        if left == 1 {
            self.code_unit(watch);
        }
    }

    /// Handles four complete digits: a character, or half of a surrogate pair.
    fn code_unit(&mut self, watch: &mut impl Watch) {
        let unit = std::mem::take(&mut self.unit);
        let high = std::mem::take(&mut self.high);
        // 0 is no surrogate: it means that no high one precedes.
        if high == 0 && (0xd800..0xdc00).contains(&unit) {
            self.high = unit;
            self.state = State::LowBackslash;
            return;
        }
        let units = [high, unit];
        let units = if high == 0 { &units[1..] } else { &units[..] };
        match char::decode_utf16(units.iter().copied()).next() {
            Some(Ok(c)) => {
                self.state = State::String;
                watch.text(c.encode_utf8(&mut [0; 4]), self.key);
            }
            _ => self.state = State::Broken,
        }
    }

    /// Reads one byte of a number, or the first byte after it, which is not consumed.
    fn number(&mut self, number: Number, byte: u8, watch: &mut impl Watch) -> bool {
        use Number::{Digits, Dot, E, Exponent, Fraction, Minus, Sign, Zero};
        let next = match (number, byte) {
            (Minus, b'0') => Zero,
            (Minus, b'1'..=b'9') | (Digits, b'0'..=b'9') => Digits,
            (Zero | Digits, b'.') => Dot,
            (Dot | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Digits | Fraction, b'e' | b'E') => E,
            (E, b'+' | b'-') => Sign,
            (E | Sign | Exponent, b'0'..=b'9') => Exponent,
            (Minus | Dot | E | Sign, _) => return self.fail(),
            _ => {
                self.state = State::After;
                watch.scalar();
                return false;
            }
        };
        self.state = State::Number(next);
        true
    }
}

/// Returns the character that a backslash and this byte represent; it takes one byte.
pub(super) fn unescaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 8,
        b'f' => 0xc,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// Returns the character of the complete two-byte escape at `at`, if there is one.
fn short_escape(bytes: &[u8], at: usize) -> Option<char> {
    match bytes.get(at..at + 2)? {
        [b'\\', byte] => unescaped(*byte).map(char::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Status {
        let mut whole = Lexer::new(4);
        whole.feed(text, &mut ());
        let mut bytewise = Lexer::new(4);
        for (at, c) in text.char_indices() {
            bytewise.feed(&text[at..at + c.len_utf8()], &mut ());
        }
        assert_eq!(whole.status(), bytewise.status(), "{text}");
        whole.status()
    }

    #[test]
    fn agrees_with_serde_json_on_whole_objects() {
        let texts = [
            r#"{"a": [1, -0.5e+3, true, false, null, "x\n\u00e9\ud83d\ude00"], "b": {}}"#,
            r#"{"a": 01}"#,
            r#"{"a": 1,}"#,
            r#"[1 2]"#,
            r#"{"a" 1}"#,
            r#"{a: 1}"#,
            r#"[1.]"#,
            r#"[-]"#,
            r#"["\ud800"]"#,
            r#"["\udc00"]"#,
            r#"["\ud800\u0041"]"#,
            r#"["\x"]"#,
            r#"[tru]"#,
            r#"[,]"#,
            r#"{"a":[}"#,
        ];
        for text in texts {
            let valid = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(status(text) == Status::Between { values: 1 }, valid, "{text}");
        }
    }

    #[test]
    fn status_describes_the_position() {
        assert_eq!(status(""), Status::Between { values: 0 });
        assert_eq!(status("{} \n[]"), Status::Between { values: 2 });
        assert_eq!(status(r#"{"a": "b"#), Status::InString);
        assert_eq!(status(r#"{"a": 1"#), Status::Inside);
        assert_eq!(status("{} x"), Status::Broken { at: 3, inside: false });
        assert_eq!(status("{'a'"), Status::Broken { at: 1, inside: true });
        assert_eq!(status("[[[[[1]]]]]"), Status::Broken { at: 4, inside: true });
        assert_eq!(status("[\"a\nb\"]"), Status::Between { values: 1 });
    }
}
