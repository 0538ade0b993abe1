//! What is between tokens: whitespace and comments.

use super::{Problem, RepairReader};
use crate::{Repair, text};

/// The white space of JSON. Other blanks may be part of a string that has lost its quotes.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether a byte certainly begins neither whitespace nor a comment.
pub(super) fn is_token(byte: u8) -> bool {
    matches!(byte, b'!'..=0x7f) && !matches!(byte, b'#' | b'/')
}

impl RepairReader<'_> {
    /// Skips whitespace and comments.
    pub(super) fn whitespace(&mut self) -> Result<(), Problem> {
        while !self.peek().is_some_and(is_token) {
            if self.peek().is_some_and(is_space) {
                self.go_on(1);
            } else if !self.comment()? {
                break;
            }
        }
        Ok(())
    }

    /// Passes over a comment, if one begins here.
    pub(super) fn comment(&mut self) -> Result<bool, Problem> {
        let rest = self.rest();
        let length = if rest.starts_with("//") || rest.starts_with('#') {
            memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            match memchr::memmem::find(&rest.as_bytes()[2..], b"*/") {
                Some(end) => end + 4,
                None => return self.problem(text!("the comment that begins here is not closed")),
            }
        } else {
            return Ok(false);
        };
        let line_comment = !rest.starts_with("/*");
        if line_comment && !self.stack.is_empty() {
            let comment = &rest[..length];
            if !self.begins_line() && holds_members(comment) {
                return self.problem(text!("this comment may hold members of the object; leave comments out"));
            }
            self.swallowed |= comment.contains(['{', '}', '[', ']', '"']);
        }
        self.go_on(length);
        self.note(Repair::Comment);
        Ok(true)
    }
}

/// Whether a comment goes on as an object or array does: with a comma and a key, or with a comma at its end.
fn holds_members(comment: &str) -> bool {
    let key_ends = ["\":", "':", "\u{2019}:", "\u{201d}:"];
    let key = comment.split_once(',').is_some_and(|(_, more)| key_ends.iter().any(|end| more.contains(end)));
    key || comment.trim_end().ends_with(',')
}
