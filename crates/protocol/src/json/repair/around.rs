//! Text outside of the objects: prose, labels and surplus closing brackets.
//!
//! Text is skipped only if it contains nothing that could be part of an object.

use super::{Problem, RepairReader};
use crate::{Repair, text};
use serde_json::Value;

/// The text that was skipped before the next value.
#[derive(Clone, Copy, Default)]
struct Skipped {
    /// Words and labels.
    text: bool,
    /// Only whitespace and one comma or semicolon after an object.
    separator: bool,
}

const LITERALS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];

impl RepairReader<'_> {
    /// Reads every object and array of the text.
    pub(super) fn values(&mut self) -> Result<Vec<Value>, Problem> {
        let mut values = Vec::with_capacity(1);
        let mut separators = false;
        while let Some(skipped) = self.skip_to_value(!values.is_empty())? {
            separators |= skipped.separator;
            let next = self.open()?;
            values.push(self.value(next)?);
        }
        // An array whose opening bracket is missing looks like this.
        if separators && self.is_made(Repair::SurplusClosers) {
            return self.problem(text!("there are more closing brackets than opening ones; count them"));
        }
        if values.is_empty() {
            return Err(Problem::new(0, text!("there is no JSON object; write one object with name and args")));
        }
        Ok(values)
    }

    /// Skips text up to the next value; returns `None` at the end of the text.
    fn skip_to_value(&mut self, follows_value: bool) -> Result<Option<Skipped>, Problem> {
        let mut skipped = Skipped::default();
        loop {
            let plain = self.rest().bytes().take_while(|byte| !may_matter(*byte)).count();
            let between = match plain {
                0 => "",
                _ => self.rest()[..plain].trim_matches([' ', '\t', '\n', '\r', '\u{feff}']),
            };
            match between.as_bytes() {
                [] => {}
                [b',' | b';'] if follows_value && !skipped.text && !skipped.separator => skipped.separator = true,
                _ => skipped.text = true,
            }
            self.advance(plain);
            match self.peek() {
                None => {
                    self.note_skipped(skipped);
                    return Ok(None);
                }
                Some(b'{') => return Ok(Some(self.note_skipped(skipped))),
                Some(b'[') => match self.label_length() {
                    0 => return Ok(Some(self.note_skipped(skipped))),
                    length => {
                        skipped.text = true;
                        self.advance(length);
                    }
                },
                Some(byte @ (b'}' | b']')) => {
                    self.skip_surplus(byte, follows_value && !skipped.text && !skipped.separator)?;
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
                Some(b'/' | b'#') if self.begins_line() => self.skip_outer_comment(&mut skipped)?,
                Some(_) => {
                    skipped.text = true;
                    self.advance(1);
                }
            }
        }
    }

    /// Records the text that was skipped before a value or at the end.
    fn note_skipped(&mut self, skipped: Skipped) -> Skipped {
        if skipped.separator {
            self.note(Repair::Separator);
        }
        if skipped.text {
            self.note(Repair::SurroundingText);
        }
        skipped
    }

    /// Skips a comment on a line of its own, or text that begins like one.
    fn skip_outer_comment(&mut self, skipped: &mut Skipped) -> Result<(), Problem> {
        let start = self.at;
        if !self.skip_comment()? {
            skipped.text = true;
            self.advance(1);
        } else if self.text[start..self.at].contains('{') {
            self.at = start;
            return self.problem(text!("this comment may hold members of the object; leave comments out"));
        }
        Ok(())
    }

    /// Returns the length of a word in brackets that is not an array: `[TOOL_CALLS]`. Returns 0 for anything else.
    fn label_length(&mut self) -> usize {
        let word = |byte: &u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'/' | b' ');
        let length = self.rest().bytes().skip(1).take(40).take_while(word).count();
        let inside = self.rest()[1..].get(..length).unwrap_or_default().trim();
        let ends = self.rest().as_bytes().get(length + 1) == Some(&b']');
        if ends && !inside.is_empty() && !LITERALS.contains(&inside) { length + 2 } else { 0 }
    }

    /// Skips surplus closing brackets at the end of the text. Anywhere else it is not clear what they were meant to
    /// close.
    fn skip_surplus(&mut self, byte: u8, follows_value: bool) -> Result<(), Problem> {
        let bracket = format!("{:?}", byte as char);
        if !follows_value || self.is_made(Repair::InnerQuotes) {
            return self.problem(text!("{bracket} is outside of the object; remove it", bracket));
        }
        let is_end = self.rest().trim_start_matches(['}', ']', ' ', '\t', '\n', '\r']).is_empty();
        // These brackets may belong to brackets in a comment, or an earlier bracket may have closed an object before
        // its last member.
        if !is_end || self.comment_hides_members || self.outer_members {
            return self.problem(text!("{bracket} closes nothing that is open here", bracket));
        }
        self.note(Repair::SurplusClosers);
        self.at = self.text.len();
        Ok(())
    }

    /// Returns `true` if only whitespace precedes this position on its line.
    pub(super) fn begins_line(&mut self) -> bool {
        let before = &self.text.as_bytes()[..self.at];
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        matches!(before.get(before.len().wrapping_sub(blanks + 1)), None | Some(b'\n' | b'\r'))
    }
}

/// Returns `true` if a byte outside of the objects may be more than text.
fn may_matter(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b'"' | b'`' | b'/' | b'#')
}
