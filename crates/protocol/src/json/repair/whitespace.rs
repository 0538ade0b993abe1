//! Whitespace and comments between tokens.

use super::{Problem, RepairReader};
use crate::{Repair, text};

/// Returns `true` for the white space of JSON. Other blanks may be part of a string that has lost its quotes.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns `true` if a byte certainly begins neither whitespace nor a comment.
pub(super) fn is_token(byte: u8) -> bool {
    matches!(byte, b'!'..=0x7f) && !matches!(byte, b'#' | b'/')
}

impl RepairReader<'_> {
    /// Skips whitespace and comments.
    pub(super) fn skip_whitespace(&mut self) -> Result<(), Problem> {
        while !self.peek().is_some_and(is_token) {
            if self.peek().is_some_and(is_space) {
                self.advance(1);
            } else if !self.skip_comment()? {
                break;
            }
        }
        Ok(())
    }

    /// Skips a comment, if one begins here.
    pub(super) fn skip_comment(&mut self) -> Result<bool, Problem> {
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
            // If brackets turn out to be missing or surplus, they may be these.
            self.comment_hides_members |= comment.contains(['{', '}', '[', ']', '"']);
        }
        self.advance(length);
        self.note(Repair::Comment);
        Ok(true)
    }
}

/// Returns `true` if a comment ends like a part of an object or array: with a comma and a key, or with a comma.
fn holds_members(comment: &str) -> bool {
    let key_ends = ["\":", "':", "\u{2019}:", "\u{201d}:"];
    let key = comment.split_once(',').is_some_and(|(_, more)| key_ends.iter().any(|end| more.contains(end)));
    key || comment.trim_end().ends_with(',')
}
