//! What stands outside of the objects: prose, labels, fences, brackets too many or too few.
//!
//! Text is passed over only when it holds nothing that could be part of an object.

use super::look_ahead::Look;
use super::{Frame, Next, Problem, RepairReader, read_decoded};
use crate::Repair;
use crate::messages;
use serde_json::{Map, Value};

/// What was passed over before the next value.
#[derive(Clone, Copy, Default)]
struct Passed {
    /// Words and labels.
    text: bool,
    /// Nothing but whitespace and this one mark: a comma or a semicolon behind an object.
    separator: Option<u8>,
}

const LITERALS: [&str; 10] = ["true", "false", "null", "True", "False", "None", "undefined", "NaN", "Infinity", "nil"];

impl RepairReader<'_> {
    /// Every object and array of the text.
    pub(super) fn values(&mut self) -> Result<Vec<Value>, Problem> {
        let mut values = Vec::with_capacity(1);
        let mut separators = false;
        while let Some(passed) = self.around(&mut values)? {
            separators |= passed.separator.is_some();
            if values.is_empty() && self.is_encoded() {
                return self.decode_all();
            }
            let next = self.first(&mut values)?;
            values.push(self.value(next)?);
        }
        // An array whose opening bracket is missing looks like this.
        if separators && self.has_surplus_closers() {
            return self.problem(messages::too_many_closers());
        }
        if values.is_empty() {
            return Err(Problem::new(0, messages::no_object()));
        }
        Ok(values)
    }

    /// What the value that begins here begins with: a bracket, or a member where the bracket is missing.
    fn first(&mut self, values: &mut Vec<Value>) -> Result<Next, Problem> {
        if matches!(self.peek(), Some(b'{' | b'[')) {
            return self.open();
        }
        match values.pop() {
            Some(Value::Object(members)) if !self.has_surplus_closers() && !self.has(Repair::InnerQuotes) => {
                self.note(Repair::EarlyCloser);
                self.push(Frame::Object(members, None))
            }
            None => {
                self.note(Repair::MissingOpener);
                self.push(Frame::Object(Map::new(), None))
            }
            Some(_) => self.problem(messages::member_outside_of_object()),
        }
    }

    /// Passes over text up to the next value; `None` at the end of the text.
    fn around(&mut self, values: &mut [Value]) -> Result<Option<Passed>, Problem> {
        let mut passed = Passed::default();
        loop {
            let plain = self.rest().bytes().take_while(|byte| !may_matter(*byte)).count();
            let between = match plain {
                0 => "",
                _ => self.rest()[..plain].trim_matches([' ', '\t', '\n', '\r', '\u{feff}']),
            };
            match between.as_bytes() {
                [] => {}
                [mark @ (b',' | b';')] if !values.is_empty() && !passed.text && passed.separator.is_none() => {
                    passed.separator = Some(*mark);
                }
                _ => passed.text = true,
            }
            self.go_on(plain);
            match self.peek() {
                None => {
                    self.note_passed(passed);
                    return Ok(None);
                }
                Some(b'{') => return Ok(Some(self.note_passed(passed))),
                Some(b'[') => match self.label() {
                    0 => return Ok(Some(self.note_passed(passed))),
                    length => {
                        passed.text = true;
                        self.go_on(length);
                    }
                },
                Some(byte @ (b'}' | b']')) => {
                    let behind_value = !values.is_empty() && !passed.text && passed.separator.is_none();
                    self.surplus(byte, behind_value)?;
                }
                Some(b'"') => {
                    let fits = if values.is_empty() { !passed.text } else { passed.separator == Some(b',') };
                    return self.member(fits).map(|()| Some(Passed { text: false, ..passed }));
                }
                Some(b'`' | b'~') => self.fence(&mut passed)?,
                Some(b'/' | b'#') if self.begins_line() => self.comment_around(&mut passed)?,
                Some(_) => {
                    passed.text = true;
                    self.go_on(1);
                }
            }
        }
    }

    /// Notes what was passed over before a value, or at the end.
    fn note_passed(&mut self, passed: Passed) -> Passed {
        if passed.separator.is_some() {
            self.note(Repair::Separator);
        }
        if passed.text {
            self.note(Repair::SurroundingText);
        }
        passed
    }

    fn has_surplus_closers(&self) -> bool {
        self.has(Repair::SurplusClosers) || self.has(Repair::MisplacedClosers)
    }

    /// A comment on a line of its own; or text that begins as one does.
    fn comment_around(&mut self, passed: &mut Passed) -> Result<(), Problem> {
        let start = self.at;
        if !self.comment()? {
            passed.text = true;
            self.go_on(1);
        } else if self.text[start..self.at].contains('{') {
            self.at = start;
            return self.problem(messages::comment_may_hold_members());
        }
        Ok(())
    }

    /// The length of a word in brackets that is no array: `[TOOL_CALLS]`.
    fn label(&mut self) -> usize {
        let word = |byte: &u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'/' | b' ');
        let length = self.rest().bytes().skip(1).take(40).take_while(word).count();
        let inside = self.rest()[1..].get(..length).unwrap_or_default().trim();
        let ends = self.rest().as_bytes().get(length + 1) == Some(&b']');
        if ends && !inside.is_empty() && !LITERALS.contains(&inside) { length + 2 } else { 0 }
    }

    fn surplus(&mut self, byte: u8, behind_value: bool) -> Result<(), Problem> {
        if !behind_value || self.has(Repair::EarlyCloser) || self.has(Repair::InnerQuotes) {
            return self.problem(messages::bracket_outside_of_object(format!("{:?}", byte as char)));
        }
        let rest = self.rest();
        // The whole run of them at once: a look for each would be a square.
        let behind = rest.trim_start_matches(['}', ']', ' ', '\t', '\n', '\r']);
        // A comment may have swallowed what these brackets close, or one of them may have come too early.
        let sure = behind.is_empty() && !self.swallowed && !self.outer_members;
        self.note(if sure { Repair::SurplusClosers } else { Repair::MisplacedClosers });
        self.go_on(rest.len() - behind.len());
        Ok(())
    }

    /// A quote outside of brackets: a member without its brace, where one fits.
    fn member(&mut self, fits: bool) -> Result<(), Problem> {
        let mut look = Look::new(self.text, self.at, b'"');
        let is_key = look.key();
        if fits && is_key {
            return Ok(());
        }
        Err(Problem { inside: true, ..Problem::new(self.at, messages::quote_outside_of_object()) })
    }

    /// Backticks or tildes: a fence inside the block, or inline code around the object.
    fn fence(&mut self, passed: &mut Passed) -> Result<(), Problem> {
        let mark = self.peek().unwrap_or_default();
        let length = self.rest().bytes().take_while(|byte| *byte == mark).count();
        let fence = length >= 3 && self.begins_line();
        let behind = self.rest()[length..].bytes().next();
        let before = self.text[..self.at].bytes().next_back();
        let inline = mark == b'`'
            && length < 3
            && (matches!(behind, Some(b'{' | b'[')) || matches!(before, Some(b'}' | b']')) || before == Some(b'`'));
        if mark == b'~' && !fence {
            passed.text = true;
            self.go_on(length);
            return Ok(());
        }
        if !fence && !inline {
            return self.problem(messages::backtick_outside_of_object());
        }
        self.go_on(length);
        if fence {
            let word = self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            self.go_on(word);
        }
        self.note(Repair::InnerFence);
        Ok(())
    }

    /// Whether only whitespace stands before this place on its line.
    pub(super) fn begins_line(&mut self) -> bool {
        let before = &self.text.as_bytes()[..self.at];
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        matches!(before.get(before.len().wrapping_sub(blanks + 1)), None | Some(b'\n' | b'\r'))
    }

    /// Whether the object that begins here has its quotes escaped, as the text of a string has them.
    fn is_encoded(&mut self) -> bool {
        if self.decoded {
            return false;
        }
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'{' | b'[' | b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't')) => at += 2,
                _ => break,
            }
        }
        bytes[at..].starts_with(b"\\\"")
    }

    /// Takes one level of escapes off the rest of the text and reads that.
    fn decode_all(&mut self) -> Result<Vec<Value>, Problem> {
        let raw = self.rest();
        if let Some(at) = bare_quote(raw) {
            self.at += at;
            return self.problem(messages::mixed_escapes());
        }
        let text = self.unescape(raw, self.at, '"')?;
        let at = self.at;
        let reading = read_decoded(&text, self.closed);
        let reading = reading.map_err(|problem| Problem { at, ..problem })?;
        for repair in reading.repairs {
            self.note(repair);
        }
        self.go_on(raw.len());
        Ok(reading.values)
    }
}

/// Whether a byte outside of the objects may be more than text.
fn may_matter(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b'"' | b'`' | b'~' | b'/' | b'#' | b'\\')
}

/// The first quote without a backslash.
fn bare_quote(raw: &str) -> Option<usize> {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        if bytes[at + found] == b'"' {
            return Some(at + found);
        }
        at = (at + found + 2).min(bytes.len());
    }
    None
}
