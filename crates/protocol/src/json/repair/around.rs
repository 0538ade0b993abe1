//! What is outside of the objects: prose, labels and surplus closing brackets.
//!
//! Text is skipped only if it holds nothing that could be part of an object.

use super::{Problem, RepairReader};
use crate::{Repair, text};
use serde_json::Value;

/// What was skipped before the next value.
#[derive(Clone, Copy, Default)]
struct Passed {
    /// Words and labels.
    text: bool,
    /// Nothing but whitespace and one comma or semicolon after an object.
    separator: bool,
}

const LITERALS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];

impl RepairReader<'_> {
    /// Every object and array of the text.
    pub(super) fn values(&mut self) -> Result<Vec<Value>, Problem> {
        let mut values = Vec::with_capacity(1);
        let mut separators = false;
        while let Some(passed) = self.around(!values.is_empty())? {
            separators |= passed.separator;
            let next = self.open()?;
            values.push(self.value(next)?);
        }
        // An array whose opening bracket is missing looks like this.
        if separators && self.has(Repair::SurplusClosers) {
            return self.problem(text!("there are more closing brackets than opening ones; count them"));
        }
        if values.is_empty() {
            return Err(Problem::new(0, text!("there is no JSON object; write one object with name and args")));
        }
        Ok(values)
    }

    /// Skips text up to the next value; `None` at the end of the text.
    fn around(&mut self, follows_value: bool) -> Result<Option<Passed>, Problem> {
        let mut passed = Passed::default();
        loop {
            let plain = self.rest().bytes().take_while(|byte| !may_matter(*byte)).count();
            let between = match plain {
                0 => "",
                _ => self.rest()[..plain].trim_matches([' ', '\t', '\n', '\r', '\u{feff}']),
            };
            match between.as_bytes() {
                [] => {}
                [b',' | b';'] if follows_value && !passed.text && !passed.separator => passed.separator = true,
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
                    self.surplus(byte, follows_value && !passed.text && !passed.separator)?;
                }
                Some(b'"') => {
                    return Err(Problem {
                        inside: true,
                        ..Problem::new(
                            self.at,
                            text!("a quote is outside of the object; inside a string write quotes as \\\""),
                        )
                    });
                }
                Some(b'`') => {
                    return self.problem(text!(
                        "a backtick is outside of the object; write the object alone, and the closing fence on a line \
                         of its own"
                    ));
                }
                Some(b'/' | b'#') if self.begins_line() => self.comment_around(&mut passed)?,
                Some(_) => {
                    passed.text = true;
                    self.go_on(1);
                }
            }
        }
    }

    /// Notes what was skipped before a value, or at the end.
    fn note_passed(&mut self, passed: Passed) -> Passed {
        if passed.separator {
            self.note(Repair::Separator);
        }
        if passed.text {
            self.note(Repair::SurroundingText);
        }
        passed
    }

    /// A comment on a line of its own; or text that begins as one does.
    fn comment_around(&mut self, passed: &mut Passed) -> Result<(), Problem> {
        let start = self.at;
        if !self.comment()? {
            passed.text = true;
            self.go_on(1);
        } else if self.text[start..self.at].contains('{') {
            self.at = start;
            return self.problem(text!("this comment may hold members of the object; leave comments out"));
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

    /// Skips brackets that close nothing at the end of the text. Anywhere else it is not clear what they were to close.
    fn surplus(&mut self, byte: u8, follows_value: bool) -> Result<(), Problem> {
        let bracket = format!("{:?}", byte as char);
        if !follows_value || self.has(Repair::InnerQuotes) {
            return self.problem(text!("{bracket} is outside of the object; remove it", bracket));
        }
        let is_end = self.rest().trim_start_matches(['}', ']', ' ', '\t', '\n', '\r']).is_empty();
        // A comment may hold what these brackets close, or one of them may have come too early.
        if !is_end || self.swallowed || self.outer_members {
            return self.problem(text!("{bracket} closes nothing that is open here", bracket));
        }
        self.note(Repair::SurplusClosers);
        self.at = self.text.len();
        Ok(())
    }

    /// Whether only whitespace stands before this place on its line.
    pub(super) fn begins_line(&mut self) -> bool {
        let before = &self.text.as_bytes()[..self.at];
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        matches!(before.get(before.len().wrapping_sub(blanks + 1)), None | Some(b'\n' | b'\r'))
    }
}

/// Whether a byte outside of the objects may be more than text.
fn may_matter(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b'"' | b'`' | b'/' | b'#')
}
