//! Keys, colons, commas, elements and closing brackets.

use super::look_ahead::is_word;
use super::{Frame, Next, Problem, RepairReader};
use crate::json::strict::duplicate;
use crate::{Repair, text};
use serde_json::Value;

impl RepairReader<'_> {
    /// Reads a comma or a closing bracket, or accepts a missing comma. The inner `Err` is the complete value.
    pub(super) fn after(&mut self) -> Result<Result<Next, Value>, Problem> {
        let byte = self.peek().unwrap_or_default();
        if matches!(byte, b'}' | b']') {
            return self.closer(byte);
        }
        if byte == b',' {
            return self.comma().map(Ok);
        }
        // Only before a key in double quotes. Any other key may be content of the preceding string.
        if byte == b'"' && self.in_object() {
            self.note(Repair::MissingComma);
            return Ok(Ok(Next::Key));
        }
        self.refuse_odd_mark()?;
        self.problem(text!(
            "expected a comma or a closing bracket; inside a string write quotes as \\\" and backslashes as \\\\, or \
             give a long text as a verbatim body"
        ))
    }

    fn closer(&mut self, byte: u8) -> Result<Result<Next, Value>, Problem> {
        while !self.closes(byte) {
            if !self.closes_any(byte) {
                return self.problem(text!(
                    "{bracket} closes nothing that is open here",
                    bracket = format!("{:?}", byte as char)
                ));
            }
            // The missing bracket may be in a string whose end was a guess.
            if self.is_made(Repair::InnerQuotes) {
                return self.problem(text!("a closing bracket is missing before this one"));
            }
            self.note(Repair::MiddleClosers);
            self.close();
        }
        self.advance(1);
        Ok(self.close().map_or(Ok(Next::After), Err))
    }

    fn comma(&mut self) -> Result<Next, Problem> {
        self.advance(1);
        self.skip_whitespace()?;
        if self.peek().is_some_and(|byte| matches!(byte, b'}' | b']')) {
            self.note(Repair::TrailingComma);
            return Ok(Next::After);
        }
        Ok(if self.in_object() { Next::Key } else { Next::Value })
    }

    pub(super) fn key(&mut self) -> Result<Next, Problem> {
        let empty = matches!(self.stack.last(), Some(Frame::Object(members, _)) if members.is_empty());
        if self.peek() == Some(b'}') && empty {
            return Ok(Next::After);
        }
        // The first frame is the call and the second one has its arguments.
        let inside = self.stack.len() > 2 && self.stack[self.stack.len() - 2].is_object();
        self.inner_members |= !empty && inside;
        self.outer_members |= self.after_object && self.stack.len() > 1;
        let start = self.at;
        let key = match self.string(true)? {
            Some(key) => key,
            None => self.bare_key()?,
        };
        self.skip_whitespace()?;
        self.colon()?;
        match self.stack.last_mut() {
            Some(Frame::Object(members, _)) if members.contains_key(&key) => Err(Problem::new(start, duplicate(&key))),
            Some(Frame::Object(_, pending)) => {
                *pending = Some(key);
                Ok(Next::Value)
            }
            _ => self.problem(text!("a key is outside of an object")),
        }
    }

    fn bare_key(&mut self) -> Result<String, Problem> {
        let rest = self.rest();
        if rest.starts_with("...") || rest.starts_with('\u{2026}') {
            return self.ellipsis();
        }
        self.refuse_odd_mark()?;
        if rest.starts_with('{') {
            return self.problem(text!("the brace is doubled, as in a template; write each brace once"));
        }
        if rest.starts_with('\\') {
            return self.problem(text!(
                "the quotes of the object are escaped; write the object as plain JSON, not as the text of a string"
            ));
        }
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        if length == 0 || rest.as_bytes()[0].is_ascii_digit() || rest.starts_with('-') {
            return self.problem(text!("expected a key in double quotes"));
        }
        if rest.as_bytes().get(length) == Some(&b'"') {
            return self.problem(text!("the key has a quote at its end only; write it in double quotes"));
        }
        self.advance(length);
        self.note(Repair::UnquotedKey);
        Ok(rest[..length].to_owned())
    }

    fn colon(&mut self) -> Result<(), Problem> {
        if self.peek() != Some(b':') {
            self.refuse_odd_mark()?;
            return self.problem(text!("expected a colon after the key; inside a string write quotes as \\\""));
        }
        self.advance(1);
        Ok(())
    }

    /// Refuses a character that only looks like JSON: an HTML entity, a full-width form, or a non-ASCII space.
    pub(super) fn refuse_odd_mark(&self) -> Result<(), Problem> {
        let rest = self.rest();
        if rest.starts_with("&quot;")
            || rest.starts_with("&#34;")
            || rest.starts_with("&#39;")
            || rest.starts_with("&apos;")
        {
            return self.problem(text!("the quotes are HTML entities; write \" instead of &quot;"));
        }
        match rest.chars().next() {
            Some(odd) if matches!(odd, '\u{ff01}'..='\u{ff5e}') || !odd.is_ascii() && odd.is_whitespace() => self
                .problem(text!(
                    "{mark} only looks like a JSON character; write the plain ASCII one",
                    mark = format!("{odd:?}")
                )),
            _ => Ok(()),
        }
    }

    pub(super) fn ellipsis<T>(&self) -> Result<T, Problem> {
        self.problem(text!("an ellipsis replaces part of the text; write all of it"))
    }

    pub(super) fn element(&mut self) -> Result<Next, Problem> {
        match self.peek() {
            Some(b'{' | b'[') => return self.open(),
            Some(b']') if matches!(self.stack.last(), Some(Frame::Array(items)) if items.is_empty()) => {}
            _ => {
                let value = match self.string(false)? {
                    Some(text) => Value::String(text),
                    None => self.scalar()?,
                };
                self.push_value(value);
            }
        }
        Ok(Next::After)
    }
}
