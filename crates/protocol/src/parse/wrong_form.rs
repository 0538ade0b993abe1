//! Calls in a form that no dialect has: `<tool_call>read_file {"path": "a"}`, `<read_file><path>a</path></read_file>`,
//! `Action: read_file`.
//!
//! Such a text is shown as prose and watched to the end of its paragraph. It is a call that went wrong where the name of a tool
//! on offer stands first in it, and something like arguments behind the name. Prose that speaks of a token or of a tool has no
//! arguments there and stays prose.

use super::call::{self, is_args, is_name, named_spec};
use super::dialect;
use super::event::{Event, Ignored, Span};
use crate::clip::floor_boundary;
use crate::fence;
use crate::tool::ToolSpec;
use crate::{Catalog, Dialects};

/// Bytes that are kept of a paragraph. A name and the beginning of its arguments stand at its beginning.
const MOST_BODY: usize = 4096;

/// Places that are looked at in one paragraph.
const MOST_PLACES: usize = 16;

/// Bytes of the name of a tool, and of a label before it.
const MOST_WORD: usize = 128;

/// A paragraph that may hold calls in a form of their own.
#[derive(Debug)]
pub(super) struct WrongForm {
    /// Places of the reply that were not reached yet, in order.
    ahead: Vec<Place>,
    /// Those that were: where they stand in the body, and in the reply.
    places: Vec<(usize, Place)>,
    body: String,
    /// Where the body ends in the reply.
    end: usize,
    dialects: Dialects,
}

/// Where a call may begin.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: usize,
    /// The token of a dialect that stands there, if one does.
    opener: &'static str,
}

impl WrongForm {
    pub(super) fn new(dialects: Dialects) -> WrongForm {
        WrongForm { ahead: Vec::new(), places: Vec::new(), body: String::new(), end: 0, dialects }
    }

    /// At `at` of the reply the token stands, or a call without one may begin.
    pub(super) fn place(&mut self, at: usize, opener: &'static str) {
        if self.ahead.len() + self.places.len() < MOST_PLACES && self.ahead.iter().all(|place| place.at != at) {
            self.ahead.push(Place { at, opener });
        }
    }

    /// Takes a line, or a part of one. Returns whether the paragraph is over.
    pub(super) fn line(&mut self, text: &str, span: Span) -> bool {
        if fence::is_blank(text) {
            return !self.is_bare();
        }
        let mut from = 0;
        if self.body.is_empty() {
            let Some(first) = self.ahead.first().filter(|first| first.at < span.end) else { return false };
            from = first.at.saturating_sub(span.start);
        } else {
            self.body.push('\n');
        }
        let reached = self.ahead.iter().take_while(|place| place.at < span.end).count();
        for place in self.ahead.drain(..reached) {
            let inside = place.at.saturating_sub(span.start).max(from) - from;
            self.places.push((self.body.len() + inside, place));
        }
        let text = text.get(from..).unwrap_or_default();
        self.body.push_str(&text[..floor_boundary(text, MOST_BODY.saturating_sub(self.body.len()))]);
        self.end = span.end;
        self.body.len() + 4 > MOST_BODY
    }

    /// Whether nothing stands behind the last token yet: a blank line may come before the name.
    fn is_bare(&self) -> bool {
        let last = self.places.last().map_or(0, |(at, place)| at + place.opener.len());
        self.body.get(last..).unwrap_or_default().trim().is_empty()
    }

    /// The event for the first call of the paragraph.
    pub(super) fn judge(self, catalog: Option<&Catalog>) -> Option<Event<'static>> {
        let &(from, place) = self.places.iter().find(|(at, place)| {
            let behind = self.body.get(at + place.opener.len()..).unwrap_or_default();
            is_call(behind, |text| dialect::may_end(text, 0, place.opener, self.dialects), catalog)
        })?;
        let span = Span { start: place.at, end: self.end };
        let body = self.body[from..].to_owned().into();
        Some(Event::Ignored { why: Ignored::WrongForm, id: None, name: None, body, span })
    }
}

/// Whether a line of prose may begin a call without any token: `[read_file(`, `read_file(path="a")`, `<read_file>`,
/// `Action: read_file`.
pub(super) fn may_begin(line: &str, catalog: Option<&Catalog>) -> bool {
    let line = line.trim_matches([' ', '\t']);
    let (rest, mark) = match line.as_bytes().first() {
        Some(b'[') => (&line[1..], "("),
        Some(b'<') => (&line[1..], ">"),
        Some(b'A') if line.starts_with("Action:") => (line["Action:".len()..].trim_start(), ""),
        Some(byte) if byte.is_ascii_alphabetic() && line.ends_with(')') => (line, "("),
        _ => return false, // nearly every line
    };
    let (name, behind) = word(rest);
    behind.starts_with(mark) && named_spec(catalog, name).is_some()
}

/// Whether a text begins with the name of a tool and something like arguments. `ends`: whether a closing token of the dialect
/// stands in it.
fn is_call(text: &str, ends: impl Fn(&str) -> bool, catalog: Option<&Catalog>) -> bool {
    let mut rest = text;
    // A label before the name, such as `"name": `.
    for _ in 0..2 {
        rest = rest.trim_start_matches(is_around);
        let (label, behind) = word(rest);
        let value = behind.trim_start_matches(is_around).strip_prefix([':', '=']);
        match value.filter(|_| is_name(label) || matches!(label, "Action" | "tool_call" | "call" | "invoke")) {
            Some(value) => rest = value,
            None => break,
        }
    }
    rest = rest.trim_start_matches(is_around);
    let (name, behind) = word(rest);
    let name = name.trim_end_matches([':', '.', '/', '-']);
    call::spec(catalog, name).is_some_and(|spec| has_arguments(behind, spec, ends))
}

/// Whether what stands behind the name of a tool is like arguments for it.
fn has_arguments(behind: &str, spec: &ToolSpec, ends: impl Fn(&str) -> bool) -> bool {
    if behind.starts_with('(') {
        return true;
    }
    let rest = behind
        .trim_start_matches(|c: char| is_around(c) && c != '{' && c != '<' || matches!(c, '>' | ']' | ',' | ':' | ')'));
    if rest.starts_with('{') || rest.starts_with("ARGS]") || rest.starts_with("Action Input") {
        return true;
    }
    let tag = rest.strip_prefix('<').filter(|tag| tag.starts_with(char::is_alphabetic));
    if ends(behind) {
        // A call of a tool that needs nothing but its name; or anything else before the closing token.
        let alone = tag.is_none() && rest.starts_with(['<', '|']);
        return !alone || spec.params.iter().all(|param| !param.required);
    }
    let (key, behind) = word(tag.unwrap_or(rest));
    let is_value = behind.trim_start_matches(is_around).starts_with([':', '=', '>']);
    is_value && (tag.is_some() || spec.find(key).is_some() || is_args(key))
}

/// What models write around names: brackets, quotes, white space.
fn is_around(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, '{' | '[' | '<' | '"' | '\'' | '`' | '*')
}

/// The word that a text begins with, and what stands behind it. A longer one is no name.
fn word(text: &str) -> (&str, &str) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\\' | '/');
    let near = &text[..floor_boundary(text, MOST_WORD)];
    text.split_at(near.find(|c| !is_name(c)).unwrap_or(near.len()))
}
