//! The tolerant reader: one pass, no recursion, and a name for every deviation that it accepts.
//!
//! It runs only after strict reading failed. A lossless repair has only one plausible reading; a guess is either named
//! as lossy or refused. A text with two plausible readings is refused: no string is ever shortened silently.
//!
//! This file handles brackets. `around` reads the text outside of them, and `members` reads keys, commas and colons.
//! `strings` finds the end of a string with `look_ahead`, and `escapes` decodes its content. `scalars` reads values
//! without quotes, and `whitespace` skips whitespace and comments.

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

/// An open object or array around the current position.
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

/// What the innermost frame expects next.
enum Next {
    Value,
    Key,
    /// A comma, a closing bracket, or the text after a missing comma.
    After,
}

struct RepairReader<'a> {
    text: &'a str,
    at: usize,
    /// Whether missing brackets may be added at the end.
    closed: bool,
    repairs: Vec<Repair>,
    stack: Vec<Frame>,
    /// The number of frames that are objects.
    objects: usize,
    /// Whether a comment at the end of a line contained what may have been members or brackets.
    comment_hides_members: bool,
    /// Whether the last value of the innermost frame is an object.
    after_object: bool,
    /// Whether, inside of the arguments, a member follows an object: with a surplus bracket it may have belonged to
    /// that object.
    outer_members: bool,
    /// Whether, inside of the arguments, a nested object has several members: with a missing bracket the later ones may
    /// have belonged to the outer object.
    inner_members: bool,
}

/// The initial capacity for repairs and open frames, enough for nearly every text.
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
            comment_hides_members: false,
            after_object: false,
            outer_members: false,
            inner_members: false,
        }
    }

    fn note(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    fn is_made(&self, repair: Repair) -> bool {
        self.repairs.contains(&repair)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    fn problem<T>(&self, message: Text) -> Result<T, Problem> {
        Err(Problem::new(self.at, message))
    }

    fn in_object(&self) -> bool {
        self.stack.last().is_some_and(Frame::is_object)
    }

    /// Returns `true` if the byte closes some frame of the stack.
    fn closes_any(&self, byte: u8) -> bool {
        match byte {
            b'}' => self.objects > 0,
            b']' => self.stack.len() > self.objects,
            _ => false,
        }
    }

    /// Returns `true` if the byte closes the innermost frame.
    fn closes(&self, byte: u8) -> bool {
        self.stack.last().is_some_and(|frame| frame.closer() == byte)
    }

    /// Reads to the end of the outermost object or array.
    fn value(&mut self, mut next: Next) -> Result<Value, Problem> {
        loop {
            self.skip_whitespace()?;
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

    /// Handles the end of the text with open brackets.
    fn end(&mut self, next: &Next) -> Result<Value, Problem> {
        // More digits may have followed.
        let in_number = self.text.trim_end().ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        // The missing brackets may be in a comment, or in a string whose end was a guess.
        let doubtful = self.comment_hides_members || in_number || self.is_made(Repair::InnerQuotes);
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

    /// Opens the object or array whose bracket is here.
    fn open(&mut self) -> Result<Next, Problem> {
        let object = self.peek() == Some(b'{');
        let next = self.push(if object { Frame::Object(Map::new(), None) } else { Frame::Array(Vec::new()) })?;
        self.advance(1);
        Ok(next)
    }

    fn push(&mut self, frame: Frame) -> Result<Next, Problem> {
        if self.stack.len() == MOST_NESTING {
            return self.problem(text!("nested deeper than {most}; flatten it", most = MOST_NESTING));
        }
        let object = frame.is_object();
        self.objects += usize::from(object);
        self.after_object = false;
        self.stack.push(frame);
        Ok(if object { Next::Key } else { Next::Value })
    }

    /// Closes the innermost frame. Returns the whole value if it was the last frame.
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
        self.push_value(value);
        // After `put`, which resets it.
        self.after_object = object;
        None
    }

    fn push_value(&mut self, value: Value) {
        self.after_object = false;
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
    fn each_repair_is_named() {
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
    fn ambiguous_texts_are_refused() {
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
