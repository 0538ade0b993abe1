//! Readable calls that do not count where they stand: quoted, fenced in, commented out, indented, under another info
//! word.
//!
//! What is found here is never a call. It is reported so that the session can remind the model of the right form.

use super::call::{self, Draft};
use super::dialect::blocks;
use super::event::{Event, Ignored, Span};
use super::wrong_form::WrongForm;
use crate::fence::{self, Opening};
use crate::json::{self, Unique};
use crate::{Catalog, Dialects, Repair, ToolCall};
use serde_json::{Deserializer, Value};
use std::sync::Arc;

/// A block that may hold a call.
#[derive(Debug)]
struct Suspect {
    why: Ignored,
    /// The first word of the info string, or nothing.
    word: String,
    mark: u8,
    length: usize,
    /// Empty while there were only blank lines.
    body: String,
    span: Span,
    /// It did not begin with a bracket, or is too long: it is no call, and nothing of it is kept.
    hopeless: bool,
}

/// Watches what is no tool block.
#[derive(Debug)]
pub(super) struct IgnoredCalls {
    /// The open fenced code block, when it is no tool block.
    fence: Option<Suspect>,
    /// A tool block drawn inside of something else.
    drawn: Option<Suspect>,
    /// A call in the right form but under the wrong word: a call after all where nothing else in the reply is one.
    candidate: Option<IgnoredCall>,
    /// The first call in a form that no dialect has.
    wrong_form: WrongForm,
    dialects: Dialects,
    /// Bytes of a body that are kept; a longer one is not looked at.
    limit: usize,
    catalog: Option<Arc<Catalog>>,
}

/// A block under the wrong word that could be a call, of a tool on offer and with arguments that fit.
#[derive(Debug)]
pub(super) struct IgnoredCall {
    pub(super) draft: Draft,
    pub(super) body: String,
    pub(super) span: Span,
    why: Ignored,
}

/// Bytes of an info word that are kept: a longer one is no tool's name.
const MOST_WORD: usize = 128;

/// What the button of a web page that copies a block is called: it is copied with the page.
const BUTTONS: [&str; 6] = ["Copy code", "Copy", "Copiar código", "Copiar", "Edit", "Editar"];

impl IgnoredCalls {
    /// `dialects`: those that are read. Where none is, neither candidates nor calls outside of any fence are looked for.
    pub(super) fn new(limit: usize, dialects: Dialects, catalog: Option<Arc<Catalog>>) -> IgnoredCalls {
        IgnoredCalls {
            fence: None,
            drawn: None,
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

    /// A fenced code block opens that is no tool block.
    pub(super) fn fence(&mut self, why: Ignored, opening: Opening<'_>, span: Span) {
        self.fence = Some(Suspect::new(why, opening, span));
    }

    /// A line of the open fenced code block; `span` is the line's without its ending.
    pub(super) fn inside(&mut self, line: &str, span: Span) -> Option<Event<'static>> {
        // A longer fence, and one of Markdown or without a word, is an example.
        let may_call = |fence: &Suspect| {
            fence.why == Ignored::InfoWord && fence.length == 3 && matches!(&*fence.word, "xml" | "json" | "python")
        };
        if self.fence.as_ref().is_some_and(may_call) {
            self.watch_form(line, span, true);
        }
        if let Some(suspect) = &mut self.fence {
            suspect.push(line, span, self.limit);
        }
        self.drawn(Ignored::OuterFence, line, span)
    }

    /// The open fenced code block ends with the line of this span.
    pub(super) fn fence_ends(&mut self, span: Option<Span>) -> Option<Event<'static>> {
        let mut suspect = self.fence.take()?;
        let drawn = self.drawn.take();
        let drawn = drawn.and_then(|drawn| self.judge(drawn, false));
        suspect.span.end = span.map_or(suspect.span.end, |span| span.end);
        self.judge(suspect, span.is_some()).or(drawn)
    }

    /// A line in a place where no fence counts.
    pub(super) fn drawn(&mut self, why: Ignored, line: &str, span: Span) -> Option<Event<'static>> {
        let line = line.trim_start_matches([' ', '\t']);
        let Some(suspect) = &mut self.drawn else {
            let opening = fence::opening(line)?;
            let is_command =
                why == Ignored::Html && blocks::is_shell(opening.word(), self.dialects, self.catalog.as_deref());
            if opening.word() != "tool" && !is_command {
                return None;
            }
            let start = span.end - line.len();
            self.drawn = Some(Suspect::new(why, opening, Span { start, end: span.end }));
            return None;
        };
        if fence::closes(line, suspect.mark, suspect.length) {
            let mut suspect = self.drawn.take()?;
            suspect.span.end = span.end;
            return self.judge(suspect, false);
        }
        suspect.push(line, span, self.limit);
        None
    }

    /// What was watched is over, wherever it stood.
    pub(super) fn end_all(&mut self) -> Option<Event<'static>> {
        self.fence_ends(None).or_else(|| self.end_drawn())
    }

    /// Looks for a call in a form that no dialect has, in a line of prose or HTML, or of a fenced code block if `fenced`.
    pub(super) fn watch_form(&mut self, line: &str, span: Span, fenced: bool) {
        self.wrong_form.line(line, span, fenced, self.dialects, self.catalog.as_deref());
    }

    /// The event for a call in a form that no dialect has, at the end of a reply without a call.
    pub(super) fn take_wrong_form(&mut self) -> Option<Event<'static>> {
        self.wrong_form.take(self.dialects, self.catalog.as_deref())
    }

    /// A line of prose that is not blank: what was drawn ends, unless it stands in prose itself.
    /// `quoted`: it belongs to a quote, or may be part of a code span.
    pub(super) fn prose(&mut self, line: &str, span: Span, quoted: bool) -> Option<Event<'static>> {
        if let Some(suspect) = &mut self.drawn
            && suspect.is_in_prose()
        {
            suspect.push(line, span, self.limit);
            return None;
        }
        let ended = self.end_drawn();
        if self.is_lenient() && !quoted {
            self.drawn = Suspect::in_prose(line, span, self.limit);
        }
        ended
    }

    /// A paragraph ends, if one was open.
    pub(super) fn blank(&mut self) -> Option<Event<'static>> {
        if self.drawn.as_ref().is_some_and(Suspect::is_in_prose) { self.end_drawn() } else { None }
    }

    fn end_drawn(&mut self) -> Option<Event<'static>> {
        let suspect = self.drawn.take()?;
        self.judge(suspect, true)
    }

    /// Whether a block could be a call.
    pub(super) fn has_candidate(&self) -> bool {
        self.candidate.is_some()
    }

    /// The block that could be a call, where the reply ended by itself and holds no other.
    pub(super) fn take_candidate(&mut self) -> Option<IgnoredCall> {
        self.candidate.take()
    }

    /// Something else in the reply is a call, or comes later: what could have been one is not.
    pub(super) fn drop_candidate(&mut self) -> Option<Event<'static>> {
        let IgnoredCall { body, span, why, .. } = self.candidate.take()?;
        Some(Event::Ignored { why, id: None, name: None, body: body.into(), span })
    }

    /// Says what a suspect is. `closed`: it came to its end.
    fn judge(&mut self, suspect: Suspect, closed: bool) -> Option<Event<'static>> {
        if self.is_lenient()
            && closed
            && let Some(draft) = suspect.candidate(self.catalog.as_deref())
        {
            let Suspect { why, body, span, .. } = suspect;
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
        Suspect { why, word, mark: opening.mark, length: opening.length, body: String::new(), span, hopeless: false }
    }

    /// A call that begins in a line of prose: an object, a fence behind other text, or what is left of a block on a web page.
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
        let mut suspect = Suspect { why, word, mark: 0, length: 0, body: String::new(), span, hopeless: false };
        if own {
            suspect.push(line, span, limit);
        }
        Some(suspect)
    }

    fn is_in_prose(&self) -> bool {
        matches!(self.why, Ignored::Unfenced | Ignored::NotAtLineStart)
    }

    /// The call that this would be under the right word: of a tool on offer, in the exact form, with arguments that fit.
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
        if self.hopeless {
            return; // nearly every line
        }
        if self.body.is_empty() {
            let content = line.trim_start();
            if content.is_empty() || self.word == "tool" && BUTTONS.contains(&content.trim_end()) {
                return;
            }
            // A model that writes the word on a line of its own means the block that it was taught.
            if self.why == Ignored::InfoWord && self.word.is_empty() && content.trim_end() == "tool" {
                self.word = "tool".to_owned();
                return;
            }
            self.hopeless = !content.starts_with(['{', '[']);
        } else if self.body.len() + line.len() >= limit {
            self.hopeless = true;
            self.body = String::new();
        }
        if !self.hopeless {
            self.body.push_str(line);
            self.body.push('\n');
        }
    }

    /// The event for a readable call. `known`: whether a tool of this name is on offer; where other text than a fence may
    /// stand around an object, a name that is not makes it an object like any other.
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
            Err(_) => before_bodies(&self.body).is_some_and(|value| is_call(&[value])),
        };
        let Suspect { why, span, body, .. } = self;
        call.then_some(Event::Ignored { why, id: None, name: None, body: body.into(), span })
    }
}

/// The object that stands before other lines: they may be its verbatim bodies.
fn before_bodies(body: &str) -> Option<Value> {
    let mut values = Deserializer::from_str(body).into_iter::<Unique>();
    let Unique(value) = values.next()?.ok()?;
    let behind = body[values.byte_offset()..].lines().next().unwrap_or_default();
    fence::is_blank(behind).then_some(value)
}
