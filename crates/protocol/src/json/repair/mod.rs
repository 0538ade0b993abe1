//! The tolerant reader: one pass, no recursion, every liberty it takes is named.
//!
//! It is asked only when strict reading failed. Lossless repairs have one sane reading; what would be a guess is either
//! named lossy or refused. A text that can be read in two ways is refused: no string is ever shortened in silence.
//!
//! This file has the brackets, `around` what stands outside of them, `members` keys, commas and colons, `strings` where
//! a string ends (with `look_ahead`), `escapes` what a string says, `scalars` everything without quotes, `whitespace`
//! what stands between tokens.

mod around;
mod delimiter;
mod escapes;
mod look_ahead;
mod members;
mod scalars;
mod strings;
mod whitespace;

use super::{MOST_NESTING, Problem, Reading};
use crate::{Repair, Text, text};
use serde_json::{Map, Value};

/// Reads the text.
pub(super) fn read(text: &str, closed: bool) -> Result<Reading, Problem> {
    let mut reader = RepairReader::new(text, closed);
    match reader.values() {
        Ok(values) => Ok(Reading { values, repairs: reader.repairs }),
        Err(problem) => Err(Problem { inside: problem.inside || !reader.stack.is_empty(), ..problem }),
    }
}

/// What is open around the place that is read.
enum Frame {
    Object(Map<String, Value>, Option<String>),
    Array(Vec<Value>),
}

impl Frame {
    fn is_object(&self) -> bool {
        matches!(self, Frame::Object(..))
    }

    fn closer(&self) -> u8 {
        if self.is_object() { b'}' } else { b']' }
    }
}

/// What comes next inside the innermost frame.
enum Next {
    Value,
    Key,
    /// A comma, a closing bracket, or whatever a missing comma leaves.
    After,
}

struct RepairReader<'a> {
    text: &'a str,
    at: usize,
    /// Brackets missing at the end may be added.
    closed: bool,
    repairs: Vec<Repair>,
    stack: Vec<Frame>,
    /// How many frames of the stack are objects.
    objects: usize,
    /// A comment behind something on its line held what may have been members or brackets.
    swallowed: bool,
    /// The last value of the innermost frame is an object.
    behind_object: bool,
    /// Inside of the arguments a member follows an object: with a bracket too many it may have been one of that object.
    outer_members: bool,
    /// Inside of the arguments an object in an object has several members: with a bracket too few the later ones may have
    /// been those of the outer one.
    inner_members: bool,
}

/// Room for repairs and for what is open: nearly every text needs some.
const USUAL: usize = 4;

impl<'a> RepairReader<'a> {
    fn new(text: &'a str, closed: bool) -> RepairReader<'a> {
        RepairReader {
            text,
            at: 0,
            closed,
            repairs: Vec::with_capacity(USUAL),
            stack: Vec::with_capacity(USUAL),
            objects: 0,
            swallowed: false,
            behind_object: false,
            outer_members: false,
            inner_members: false,
        }
    }

    fn note(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    fn has(&self, repair: Repair) -> bool {
        self.repairs.contains(&repair)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn go_on(&mut self, bytes: usize) {
        self.at += bytes;
    }

    fn problem<T>(&self, message: Text) -> Result<T, Problem> {
        Err(Problem::new(self.at, message))
    }

    fn in_object(&self) -> bool {
        self.stack.last().is_some_and(Frame::is_object)
    }

    /// Whether the byte closes some frame of the stack.
    fn closes_any(&self, byte: u8) -> bool {
        match byte {
            b'}' => self.objects > 0,
            b']' => self.stack.len() > self.objects,
            _ => false,
        }
    }

    /// Whether the byte closes the innermost frame.
    fn closes(&self, byte: u8) -> bool {
        self.stack.last().is_some_and(|frame| frame.closer() == byte)
    }

    /// Reads on to the end of the outermost object or array.
    fn value(&mut self, mut next: Next) -> Result<Value, Problem> {
        loop {
            self.whitespace()?;
            if self.peek().is_none() {
                return self.end(&next);
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
    fn end(&mut self, next: &Next) -> Result<Value, Problem> {
        // More digits may have been to come.
        let in_number = self.text.trim_end().ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        let doubtful = self.swallowed || in_number || self.has(Repair::InnerQuotes);
        if !self.closed || !matches!(next, Next::After) || doubtful {
            return self.problem(text!("the object is not finished; write it to its last closing bracket"));
        }
        self.note(Repair::FinalClosers);
        if self.inner_members {
            self.note(Repair::MiddleClosers);
        }
        loop {
            if let Some(whole) = self.close() {
                return Ok(whole);
            }
        }
    }

    /// Opens the object or array whose bracket stands here.
    fn open(&mut self) -> Result<Next, Problem> {
        let object = self.peek() == Some(b'{');
        let next = self.push(if object { Frame::Object(Map::new(), None) } else { Frame::Array(Vec::new()) })?;
        self.go_on(1);
        Ok(next)
    }

    fn push(&mut self, frame: Frame) -> Result<Next, Problem> {
        if self.stack.len() == MOST_NESTING {
            return self.problem(text!("nested deeper than {most}; flatten it", most = MOST_NESTING));
        }
        let object = frame.is_object();
        self.objects += usize::from(object);
        self.behind_object = false;
        self.stack.push(frame);
        Ok(if object { Next::Key } else { Next::Value })
    }

    /// Closes the innermost frame; gives the whole value when it was the last one.
    fn close(&mut self) -> Option<Value> {
        let value = match self.stack.pop()? {
            Frame::Object(members, _) => {
                self.objects -= 1;
                Value::Object(members)
            }
            Frame::Array(items) => Value::Array(items),
        };
        if self.stack.is_empty() {
            return Some(value);
        }
        let object = value.is_object();
        self.put(value);
        self.behind_object = object;
        None
    }

    fn put(&mut self, value: Value) {
        self.behind_object = false;
        match self.stack.last_mut() {
            Some(Frame::Object(members, key)) => {
                members.insert(key.take().unwrap_or_default(), value);
            }
            Some(Frame::Array(items)) => items.push(value),
            None => {}
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use Repair::{
        Comment, FinalClosers, InvalidEscape, MissingComma, PythonLiteral, Quotes, RawControl, Separator,
        SurroundingText, TrailingComma, UnquotedKey,
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
        reads("Call: {\"a\": \"b\"}", &ab, &[SurroundingText]);
        reads("{\"a\": \"b\"};", &ab, &[Separator]);
        reads("{\"a\": \"b\"", &ab, &[FinalClosers]);
        reads("{\"a\": [True, None, [\"x\"", &json!({"a": [true, null, ["x"]]}), &[PythonLiteral, FinalClosers]);
        reads("{\"a\": 1 \"b\": 2}", &json!({"a": 1, "b": 2}), &[MissingComma]);
        reads("{\"a\": \"x\ny\"}", &json!({"a": "x\ny"}), &[RawControl]);
        reads(r#"{"a": "\d+\."}"#, &json!({"a": "\\d+\\."}), &[InvalidEscape]);
        reads(r#"{"a": "it\'s"}"#, &json!({"a": "it's"}), &[InvalidEscape]);
        reads(r#"{"a": "\ud83d\ude00",}"#, &json!({"a": "😀"}), &[TrailingComma]);
    }

    #[test]
    fn what_would_be_a_guess_is_refused() {
        let texts = [
            "",
            "no object",
            "{\"a\": \"b",
            "{\"a\":",
            "{\"a\": \"b\"} \"c\"",
            "{\"a\": 1, \"a\": 2,}",
            "[1e999,]",
            "{\"a\": /* b}",
            "{\"a\": 1,",
            "[,]",
            "[1,, 2]",
            "[{} {}]",
            "{\"a\": 1 b: 2}",
            "{\"a\": undefined}",
            "{\"a\": NaN}",
            "{\"a\": 0x1f}",
            "{\"a\": .5}",
            "{\"a\": 1}} and more",
            "{\"a\": 1}, \"b\": 2}",
            "\"a\": 1}",
            "```\n{\"a\": 1}\n```",
            r#"{\"a\": 1}"#,
            r#""{\"a\": 1}""#,
            r#"{\n"a": 1}"#,
            "{\u{a0}\"a\": 1}",
            r#"{"a": "C:\new\dir"}"#,
            r#"{"a": "\d+\n"}"#,
        ];
        for text in texts {
            assert!(read(text, true).is_err(), "{text}: {:?}", read(text, true));
        }
        assert!(read("{\"a\": 1", false).is_err(), "a text that may be cut is not completed");
        assert!(read(&"[".repeat(100_000), true).is_err());
    }
}
