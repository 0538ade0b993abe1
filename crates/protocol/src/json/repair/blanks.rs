//! What may stand between tokens: blanks, comments, and what models take for blanks.

use super::{Problem, Reader};
use crate::Repair;
use crate::invisible::{self, Invisible};

/// A blank that JSON does not know, at the beginning of the text.
pub(super) fn odd_blank(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    // What JSON knows is not odd; marks that turn the text around are not taken for a blank.
    let zero_width = invisible::kind(first) == Some(Invisible::ZeroWidth);
    let odd = first.is_whitespace() && !matches!(first, ' ' | '\t' | '\n' | '\r') || zero_width;
    odd.then(|| first.len_utf8())
}

/// Whether a byte is certainly no part of a blank or of a comment.
#[inline]
pub(super) fn is_token(byte: u8) -> bool {
    matches!(byte, b'!'..=0x7f) && !matches!(byte, b'#' | b'/' | b'\\')
}

impl Reader<'_> {
    /// Passes over blanks and comments.
    #[inline(always)]
    pub(super) fn blanks(&mut self) -> Result<(), Problem> {
        // Nearly always there is none, or one.
        if self.peek() == Some(b' ') {
            self.go_on(1);
        }
        if self.peek().is_some_and(is_token) { Ok(()) } else { self.more_blanks() }
    }

    #[inline(never)]
    fn more_blanks(&mut self) -> Result<(), Problem> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.go_on(1),
                Some(b'/' | b'#') if self.comment()? => {}
                Some(b'\\') if matches!(self.rest().as_bytes().get(1), Some(b'n' | b'r' | b't')) => {
                    self.note(Repair::EscapedBlank);
                    self.go_on(2);
                }
                Some(b'\x0b' | b'\x0c' | 0x80..) => match odd_blank(self.rest()) {
                    Some(length) => {
                        self.note(Repair::OddBlank);
                        self.go_on(length);
                    }
                    None => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
    }

    /// Passes over a comment, if one begins here.
    pub(super) fn comment(&mut self) -> Result<bool, Problem> {
        let rest = self.rest();
        let length = if rest.starts_with("//") || rest.starts_with('#') {
            memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            match memchr::memmem::find(&rest.as_bytes()[2..], b"*/") {
                Some(end) => end + 4,
                None => return self.problem("the comment that begins here is not closed"),
            }
        } else {
            return Ok(false);
        };
        let line_comment = !rest.starts_with("/*");
        if line_comment && !self.stack.is_empty() && !self.begins_line() {
            let comment = &rest[..length];
            if holds_members(comment) {
                return self.problem("this comment may hold members of the object; leave comments out");
            }
            self.swallowed |= comment.contains(['{', '}', '[', ']', '"']);
        }
        self.steps += length;
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
