//! What may stand between tokens: whitespace, comments, and what models take for whitespace.

use super::{Problem, RepairReader};
use crate::Repair;
use crate::invisible::{self, Invisible};
use crate::messages;

/// The character of whitespace that a text begins with: its bytes, and the repair where JSON has no such whitespace.
/// The reader and its look ahead share this, so that they cannot differ.
pub(super) fn one_space(text: &str) -> Option<(usize, Option<Repair>)> {
    let mut chars = text.chars();
    match chars.next()? {
        ' ' | '\t' | '\n' | '\r' => Some((1, None)),
        '\\' if matches!(chars.next(), Some('n' | 'r' | 't')) => Some((2, Some(Repair::EscapedWhitespace))),
        space @ ('\u{a0}' | '\u{202f}') => Some((space.len_utf8(), Some(Repair::NoBreakSpace))),
        // Characters that turn the direction of the text are not taken for whitespace.
        odd if odd.is_whitespace() || invisible::kind(odd) == Some(Invisible::ZeroWidth) => {
            Some((odd.len_utf8(), Some(Repair::UnusualWhitespace)))
        }
        _ => None,
    }
}

/// Whether a byte certainly begins neither whitespace nor a comment.
pub(super) fn is_token(byte: u8) -> bool {
    matches!(byte, b'!'..=0x7f) && !matches!(byte, b'#' | b'/' | b'\\')
}

impl RepairReader<'_> {
    /// Passes over whitespace and comments.
    pub(super) fn whitespace(&mut self) -> Result<(), Problem> {
        while !self.peek().is_some_and(is_token) {
            if let Some((length, repair)) = one_space(self.rest()) {
                if let Some(repair) = repair {
                    self.note(repair);
                }
                self.go_on(length);
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
                None => return self.problem(messages::comment_not_closed()),
            }
        } else {
            return Ok(false);
        };
        let line_comment = !rest.starts_with("/*");
        if line_comment && !self.stack.is_empty() {
            let comment = &rest[..length];
            if !self.begins_line() && holds_members(comment) {
                return self.problem(messages::comment_may_hold_members());
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
