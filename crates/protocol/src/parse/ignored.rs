//! Readable calls in places where they do not count: in a quote, a longer fence, a comment or indented code, or under
//! another info word.
//!
//! Nothing found here is a call. It is reported so that the session can remind the model of the correct form.

use super::call::{self, Draft};
use super::dialect::blocks;
use super::event::{Event, Ignored, Span};
use super::wrong_form::WrongForm;
use crate::fence::{self, Opening};
use crate::json::{self, Unique};
use crate::{Catalog, Dialects, Repair, ToolCall};
use serde_json::{Deserializer, Value};
use std::sync::Arc;

/// A block that may contain a call.
#[derive(Debug)]
struct Suspect {
    why: Ignored,
    /// The first word of the info string, or an empty string.
    word: String,
    mark: u8,
    length: usize,
    /// The content; empty while there were only blank lines.
    body: String,
    span: Span,
    /// Whether it cannot be a call, because it does not begin with a bracket or is too long. Nothing of it is kept.
    is_ruled_out: bool,
}

/// Watches text that is not a tool block.
#[derive(Debug)]
pub(super) struct IgnoredCalls {
    /// The open fenced code block, if it is not a tool block.
    fence: Option<Suspect>,
    /// A tool block inside of something else.
    nested: Option<Suspect>,
    /// A call in the correct form under the wrong word. It counts if nothing else in the reply is a call.
    candidate: Option<IgnoredCall>,
    /// The first call in a form that no dialect has.
    wrong_form: WrongForm,
    dialects: Dialects,
    /// The maximum number of bytes in a body; longer ones are not examined.
    limit: usize,
    catalog: Option<Arc<Catalog>>,
}

/// A block under the wrong word that could be a call: the tool is on offer and the arguments fit.
#[derive(Debug)]
pub(super) struct IgnoredCall {
    pub(super) draft: Draft,
    pub(super) body: String,
    pub(super) span: Span,
    why: Ignored,
}

/// The maximum number of bytes in an info word; a longer one is not the name of a tool.
const MOST_WORD: usize = 128;

/// Labels of the button that copies a block from a web page; the label is copied with the block.
const BUTTONS: [&str; 6] = ["Copy code", "Copy", "Copiar código", "Copiar", "Edit", "Editar"];

impl IgnoredCalls {
    /// Creates a watcher. `dialects` are those that are read; without any, it looks neither for candidates nor for
    /// calls outside of fences.
    pub(super) fn new(limit: usize, dialects: Dialects, catalog: Option<Arc<Catalog>>) -> IgnoredCalls {
        IgnoredCalls {
            fence: None,
            nested: None,
            candidate: None,
            wrong_form: WrongForm::default(),
            dialects,
            limit,
            catalog,
        }
    }

    fn is_lenient(&self) -> bool {
        !self.dialects.is_empty()
    }

    /// Opens a fenced code block that is not a tool block.
    pub(super) fn open_fence(&mut self, why: Ignored, opening: Opening<'_>, span: Span) {
        self.fence = Some(Suspect::new(why, opening, span));
    }

    /// Adds a line of the open fenced code block; `span` is that of the line without its ending.
    pub(super) fn fenced_line(&mut self, line: &str, span: Span) -> Option<Event<'static>> {
        // Longer fences, and fences with a Markdown word or no word, are examples.
        let may_call = |fence: &Suspect| {
            fence.why == Ignored::InfoWord && fence.length == 3 && matches!(&*fence.word, "xml" | "json" | "python")
        };
        if self.fence.as_ref().is_some_and(may_call) {
            self.watch_form(line, span, true);
        }
        if let Some(suspect) = &mut self.fence {
            suspect.push(line, span, self.limit);
        }
        self.nested_line(Ignored::OuterFence, line, span)
    }

    /// Ends the open fenced code block, with the closing fence at `span` if there is one.
    pub(super) fn end_fence(&mut self, span: Option<Span>) -> Option<Event<'static>> {
        let mut suspect = self.fence.take()?;
        let nested = self.nested.take();
        let nested = nested.and_then(|nested| self.judge(nested, false));
        suspect.span.end = span.map_or(suspect.span.end, |span| span.end);
        self.judge(suspect, span.is_some()).or(nested)
    }

    /// Adds a line in a place where fences do not count.
    pub(super) fn nested_line(&mut self, why: Ignored, line: &str, span: Span) -> Option<Event<'static>> {
        let line = line.trim_start_matches([' ', '\t']);
        let Some(suspect) = &mut self.nested else {
            let opening = fence::opening(line)?;
            let is_command =
                why == Ignored::Html && blocks::is_shell(opening.word(), self.dialects, self.catalog.as_deref());
            if opening.word() != "tool" && !is_command {
                return None;
            }
            let start = span.end - line.len();
            self.nested = Some(Suspect::new(why, opening, Span { start, end: span.end }));
            return None;
        };
        if fence::closes(line, suspect.mark, suspect.length) {
            let mut suspect = self.nested.take()?;
            suspect.span.end = span.end;
            return self.judge(suspect, false);
        }
        suspect.push(line, span, self.limit);
        None
    }

    /// Ends everything that is being watched.
    pub(super) fn end_all(&mut self) -> Option<Event<'static>> {
        self.end_fence(None).or_else(|| self.end_nested())
    }

    /// Looks for a call in a form that no dialect has, in a line of prose or HTML, or of a fenced code block if
    /// `fenced`.
    pub(super) fn watch_form(&mut self, line: &str, span: Span, fenced: bool) {
        self.wrong_form.line(line, span, fenced, self.dialects, self.catalog.as_deref());
    }

    /// Returns the event for a call in a form that no dialect has, at the end of a reply without a call.
    pub(super) fn take_wrong_form(&mut self) -> Option<Event<'static>> {
        self.wrong_form.take(self.dialects, self.catalog.as_deref())
    }

    /// Adds a line of prose that is not blank. It ends a nested block, unless that block is in prose itself. `quoted`:
    /// the line belongs to a quote or may be part of a code span.
    pub(super) fn prose_line(&mut self, line: &str, span: Span, quoted: bool) -> Option<Event<'static>> {
        if let Some(suspect) = &mut self.nested
            && suspect.is_in_prose()
        {
            suspect.push(line, span, self.limit);
            return None;
        }
        let ended = self.end_nested();
        if self.is_lenient() && !quoted {
            self.nested = Suspect::in_prose(line, span, self.limit);
        }
        ended
    }

    /// Ends the open paragraph, if there is one.
    pub(super) fn end_paragraph(&mut self) -> Option<Event<'static>> {
        if self.nested.as_ref().is_some_and(Suspect::is_in_prose) { self.end_nested() } else { None }
    }

    fn end_nested(&mut self) -> Option<Event<'static>> {
        let suspect = self.nested.take()?;
        self.judge(suspect, true)
    }

    /// Returns `true` if some block could be a call.
    pub(super) fn has_candidate(&self) -> bool {
        self.candidate.is_some()
    }

    /// Takes the block that could be a call, after a reply that ended by itself and contains no other call.
    pub(super) fn take_candidate(&mut self) -> Option<IgnoredCall> {
        self.candidate.take()
    }

    /// Drops the candidate, because something else in the reply is a call or may still be one.
    pub(super) fn drop_candidate(&mut self) -> Option<Event<'static>> {
        let IgnoredCall { body, span, why, .. } = self.candidate.take()?;
        Some(Event::Ignored { why, id: None, name: None, body: body.into(), span })
    }

    /// Judges a suspect: it is a candidate, an ignored call, or neither. `closed`: it ended properly.
    fn judge(&mut self, suspect: Suspect, closed: bool) -> Option<Event<'static>> {
        if self.is_lenient()
            && closed
            && let Some(draft) = suspect.candidate(self.catalog.as_deref())
        {
            let Suspect { why, body, span, .. } = suspect;
            // The last candidate counts; an earlier one is reported as ignored.
            let before = self.drop_candidate();
            self.candidate = Some(IgnoredCall { draft, body, span, why });
            return before;
        }
        if suspect.why == Ignored::Html && suspect.word != "tool" {
            let Suspect { why, body, span, .. } = suspect;
            return Some(Event::Ignored { why, id: None, name: None, body: body.into(), span });
        }
        let known = |name: &str| call::spec(self.catalog.as_deref(), name).is_some();
        suspect.judge(known)
    }
}

impl Suspect {
    fn new(why: Ignored, opening: Opening<'_>, span: Span) -> Suspect {
        let word = Some(opening.word()).filter(|word| word.len() <= MOST_WORD).unwrap_or("?").to_owned();
        Suspect {
            why,
            word,
            mark: opening.mark,
            length: opening.length,
            body: String::new(),
            span,
            is_ruled_out: false,
        }
    }

    /// Begins a suspect in a line of prose: an object, a fence after other text, or the remains of a block from a web
    /// page.
    fn in_prose(line: &str, span: Span, limit: usize) -> Option<Suspect> {
        let text = line.trim_end_matches([' ', '\t']);
        let (why, own) = if text.starts_with('{') {
            (Ignored::Unfenced, true)
        } else if text == "tool" {
            (Ignored::Unfenced, false)
        } else if text.strip_suffix("tool").is_some_and(|before| before.ends_with("```")) {
            (Ignored::NotAtLineStart, false)
        } else {
            return None; // nearly every line
        };
        let word = if text == "tool" { "tool" } else { "?" }.to_owned();
        let start = span.end - line.len();
        let span = Span { start, end: span.end };
        let mut suspect = Suspect { why, word, mark: 0, length: 0, body: String::new(), span, is_ruled_out: false };
        if own {
            suspect.push(line, span, limit);
        }
        Some(suspect)
    }

    fn is_in_prose(&self) -> bool {
        matches!(self.why, Ignored::Unfenced | Ignored::NotAtLineStart)
    }

    /// Returns the call that this would be under the correct word: of a tool on offer, in the exact form, with
    /// arguments that fit.
    fn candidate(&self, catalog: Option<&Catalog>) -> Option<Draft> {
        let tool_line = self.why == Ignored::Unfenced && self.word == "tool";
        if self.why != Ignored::InfoWord && !tool_line {
            return None;
        }
        let body = self.body.strip_prefix("tool\n").unwrap_or(&self.body);
        let value = json::strict(body.trim()).ok()?;
        let Value::Object(object) = value else { return None };
        let named = self.word.strip_prefix("tool:").unwrap_or(&self.word);
        let draft = if call::spec(catalog, named).is_some() {
            Draft { name: named.to_owned(), args: object, ..Draft::default() }
        } else {
            let is_args = |key: &str| matches!(key, "args" | "arguments" | "parameters");
            let exact = |key: &String| is_args(key) || matches!(key.as_str(), "name" | "reason" | "id");
            if object.keys().filter(|key| is_args(key)).count() != 1 || !object.keys().all(exact) {
                return None;
            }
            call::drafts(vec![Value::Object(object)], &[], catalog).ok()?.pop()?
        };
        let mut call = ToolCall::new("", draft.name.clone(), draft.args.clone());
        catalog?.resolve(&mut call).ok()?;
        Some(Draft { repairs: vec![Repair::WrongWord], ..draft })
    }

    fn push(&mut self, line: &str, span: Span, limit: usize) {
        self.span.end = span.end;
        if self.is_ruled_out {
            return; // nearly every line
        }
        if self.body.is_empty() {
            let content = line.trim_start();
            if content.is_empty() || self.word == "tool" && BUTTONS.contains(&content.trim_end()) {
                return;
            }
            // A model that writes the word on a line of its own means a tool block.
            if self.why == Ignored::InfoWord && self.word.is_empty() && content.trim_end() == "tool" {
                self.word = "tool".to_owned();
                return;
            }
            // Only an object or an array can be a call, so no other text is kept.
            self.is_ruled_out = !content.starts_with(['{', '[']);
        } else if self.body.len() + line.len() >= limit {
            self.is_ruled_out = true;
            self.body = String::new();
        }
        if !self.is_ruled_out {
            self.body.push_str(line);
            self.body.push('\n');
        }
    }

    /// Returns the event for a readable call. `known` returns whether a tool of this name is on offer. Other text may
    /// surround an unfenced object, so it needs a known name.
    fn judge(self, known: impl Fn(&str) -> bool) -> Option<Event<'static>> {
        if self.body.is_empty() {
            return None;
        }
        let is_call = |values: &[Value]| {
            let name = |value: &Value| value.get("name").and_then(Value::as_str).is_some_and(&known);
            call::is_call(values) && (self.why != Ignored::Unfenced || values.iter().any(name))
        };
        let call = match json::read(&self.body, true) {
            Ok(reading) => is_call(&reading.values),
            // The text after the object may be its verbatim bodies, which are not JSON.
            Err(_) => before_bodies(&self.body).is_some_and(|value| is_call(&[value])),
        };
        let Suspect { why, span, body, .. } = self;
        call.then_some(Event::Ignored { why, id: None, name: None, body: body.into(), span })
    }
}

/// Returns the object that precedes other lines, which may be its verbatim bodies.
fn before_bodies(body: &str) -> Option<Value> {
    let mut values = Deserializer::from_str(body).into_iter::<Unique>();
    let Unique(value) = values.next()?.ok()?;
    let after = body[values.byte_offset()..].lines().next().unwrap_or_default();
    fence::is_blank(after).then_some(value)
}
