//! The fast path: a tool block in canonical form that is there to its end when it opens.
//!
//! Law: the fast path yields exactly the slow path's events. On any doubt it returns `false` and has changed nothing,
//! and the slow path reads the block. The test below reads every case file with the fast path on and off.
//!
//! Canonical is one line with an object of `name`, then `args`, and perhaps `reason`, between two fences. Such a block is
//! read by `serde_json` alone, without the lexer and the preview, in a third of the time. A reply that streams in small
//! chunks takes the slow path, for there a block is never there to its end when it opens.

use super::call::undecorated;
use super::containers::LineKind;
use super::event::Span;
use super::parser::Parser;
use crate::json::{MOST_NESTING, Unique};
use crate::{Args, ToolCall};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Bytes of a line that is read at once. What is found in it waits in the queue.
const MOST_LINE: usize = 1 << 20;

/// Bytes of the path to an argument. The preview cuts long paths; here they are left to it.
const MOST_PATH: usize = 128;

/// Values in the arguments. Each string is looked for from the first value on when its event is delivered, so many of
/// them would take a time that grows with their square.
const MOST_VALUES: usize = 64;

impl Parser {
    /// Reads the tool block that the line before has opened, and passes it. Returns whether it did.
    pub(super) fn fast_block(&mut self) -> bool {
        let limits = &self.options.limits;
        let plain = !self.block.forged && !self.block.drifted_word && !self.after_broken && !self.skipping;
        // `serde_json` has a limit of its own for the nesting, just below the lexer's.
        if !plain || self.calls >= limits.calls || limits.nesting < MOST_NESTING {
            return false;
        }
        let most = limits.block.min(MOST_LINE);
        let (start, number) = (self.input.offset(self.input.at), self.input.line);
        let read = self.read_canonical(most);
        if !read {
            self.input.go_back(start, number);
        }
        read
    }

    fn read_canonical(&mut self, most: usize) -> bool {
        let Some(object) = self.input.next_line(most).filter(|line| line.ended) else { return false };
        let line = self.input.slice(self.input.at, object.end);
        // The event lends its body from the reply, and a body ends its lines with a line feed.
        if !line.ends_with('}') || self.input.slice(object.end, object.next) != "\n" {
            return false;
        }
        let Some(LineKind::Inside(content)) = self.containers.in_fence(line) else { return false };
        if content.pad > 0 || content.text.len() >= most {
            return false;
        }
        let body = self.input.span(object.end - content.text.len(), object.next);
        self.input.pass(object);
        let Some(closing) = self.input.next_line(most).filter(|line| line.ended) else { return false };
        let fence = self.input.slice(self.input.at, closing.end);
        let Some(LineKind::Closes(_)) = self.containers.in_fence(fence) else { return false };
        let text = self.input.text(Span { end: body.end - 1, ..body });
        let Ok(Canonical { name, args, reason }) = serde_json::from_str(text) else { return false };
        let mut held = Held::default();
        if !args.iter().all(|(key, value)| held.takes(key, value, 0)) {
            return false;
        }

        let id = self.block.preview.ids.give();
        let call = Box::new(ToolCall { id, name, args, reason, repairs: Vec::new() });
        self.block.span.end = self.input.offset(closing.end);
        let span = self.block.span;
        self.queue.push_call(call, held.texts, body, span);
        self.calls += 1;
        self.containers.close_fence();
        self.input.pass(closing);
        self.input.use_up(span.end);
        self.resume_prose();
        true
    }
}

/// What the arguments of a call hold.
#[derive(Default)]
struct Held {
    values: usize,
    /// Strings that are not empty. The preview has an event for each.
    texts: usize,
}

impl Held {
    /// Counts the value of `key`, which stands `above` bytes down a path, and those in it. Returns whether it is left to
    /// the fast path: no string may be the announcement of a verbatim body, and the preview may cut no path and meet no
    /// empty step.
    fn takes(&mut self, key: &str, value: &Value, above: usize) -> bool {
        let path = above + key.len() + 1;
        self.values += 1;
        if key.is_empty() || path > MOST_PATH || self.values > MOST_VALUES {
            return false;
        }
        match value {
            Value::String(text) => {
                self.texts += usize::from(!text.is_empty());
                !text.starts_with("<<")
            }
            Value::Object(members) => members.iter().all(|(key, value)| self.takes(key, value, path)),
            // The number of an element has at most as many digits as the most values.
            Value::Array(elements) => elements.iter().all(|value| self.takes("64", value, path)),
            _ => true,
        }
    }
}

/// The string with this number, counted from 0 without those that are empty, and the path to it.
pub(super) fn text_of(args: &Args, mut number: usize) -> Option<(Cow<'_, str>, &str)> {
    for (key, value) in args {
        if let Some((below, text)) = text_in(value, &mut number) {
            let path = if below.is_empty() { key.into() } else { format!("{key}{below}").into() };
            return Some((path, text));
        }
    }
    None
}

/// The string with this number in a value, and the path to it. Takes from `number` the strings that it passes.
fn text_in<'a>(value: &'a Value, number: &mut usize) -> Option<(String, &'a str)> {
    let (step, (below, text)) = match value {
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) if *number == 0 => return Some((String::new(), text)),
        Value::String(_) => {
            *number -= 1;
            return None;
        }
        Value::Object(members) => {
            members.iter().find_map(|(key, value)| text_in(value, number).map(|found| (key.clone(), found)))?
        }
        Value::Array(elements) => {
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(index, value)| text_in(value, number).map(|found| (index.to_string(), found)))?
        }
        _ => return None,
    };
    Some((format!("/{step}{below}"), text))
}

/// A call of the canonical shape.
struct Canonical {
    name: String,
    args: Args,
    reason: Option<String>,
}

impl<'de> Deserialize<'de> for Canonical {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Canonical, D::Error> {
        deserializer.deserialize_map(CanonicalVisitor)
    }
}

struct CanonicalVisitor;

impl<'de> Visitor<'de> for CanonicalVisitor {
    type Value = Canonical;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a call")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Canonical, A::Error> {
        // Nobody reads the message: the slow path says what is wrong.
        let other = || de::Error::custom("not canonical");
        let (mut name, mut args, mut reason) = (None, None, None);
        // A key with escapes cannot be borrowed, and is an error here.
        while let Some(key) = members.next_key::<&str>()? {
            match key {
                "name" if name.is_none() => name = Some(members.next_value::<String>()?),
                // The preview of a call whose name comes later is another one.
                "args" if args.is_none() && name.is_some() => match members.next_value::<Unique>()? {
                    Unique(Value::Object(object)) => args = Some(object),
                    Unique(_) => return Err(other()),
                },
                "reason" if reason.is_none() => reason = Some(members.next_value::<String>()?),
                _ => return Err(other()),
            }
        }
        match (name, args) {
            (Some(name), Some(args)) if !name.is_empty() && undecorated(&name).len() == name.len() => {
                Ok(Canonical { name, args, reason })
            }
            _ => Err(other()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FinishReason;
    use crate::parse::{Event, Options};

    const CASES: [&str; 8] = [
        include_str!("../../../../tests/cases/parse/bodies.txt"),
        include_str!("../../../../tests/cases/parse/calls.txt"),
        include_str!("../../../../tests/cases/parse/closing.txt"),
        include_str!("../../../../tests/cases/parse/drift.txt"),
        include_str!("../../../../tests/cases/parse/events.txt"),
        include_str!("../../../../tests/cases/parse/not_calls.txt"),
        include_str!("../../../../tests/cases/parse/places.txt"),
        include_str!("../../../../tests/cases/parse/reasoning.txt"),
    ];

    /// The replies of the case files, and blocks that are nearly canonical or just so.
    fn replies() -> Vec<String> {
        let in_cases = CASES.iter().flat_map(|file| file.split("%%% ").skip(1)).map(|case| {
            let reply =
                case.split_once('\n').and_then(|(_, rest)| rest.split_once("%%%\n")).map_or("", |(reply, _)| reply);
            reply.replace('␍', "\r").replace('␉', "\t").replace('␀', "\0")
        });
        let long = "k".repeat(300);
        let many = (0..70).map(|number| format!("\"t{number}\"")).collect::<Vec<_>>().join(", ");
        let objects = [
            r#"{"name": "a", "args": {}}"#,
            r#"{"name": "a", "args": {"x": "", "y": "one\ntwo", "z": [1, "b", {"c": "\u00e9", "d": [["e"]]}], "n": null}}"#,
            r#"{"name": "a", "reason": "r", "args": {"x": "y"}}"#,
            r#"{"name": "a", "args": {"x": "y"}, "reason": "r"}"#,
            r#"{"args": {"x": "y"}, "name": "a"}"#,
            r#"{"name": "a", "id": "call_1", "args": {"x": "y"}}"#,
            r#"{"n\u0061me": "a", "args": {"a/b": "y", "é": "ü"}}"#,
            r#"{"name": "a", "args": {"\n": "y", "a\"b": "ü"}}"#,
            r#"{"name": "functions.a", "args": {}}"#,
            r#"{"name": "", "args": {}}"#,
            r#"{"name": "a", "args": {"x": 1, "x": 2}}"#,
            r#"{"name": "a", "args": {"x": "1"}, "args": {"x": "2"}}"#,
            r#"{"name": "a", "args": {"x": "<<E"}}"#,
            r#"{"name": "a", "args": {"x": ["\u003c<E", "<<e"]}}"#,
            r#"{"name": "a", "args": {"": "y", "x": {"": "z"}}}"#,
            r#"{"name": "a", "args": {"x": 1e400}}"#,
            r#"{"name": "a", "args": {"x": "\ud800"}}"#,
            r#"{"name": "a", "args": "{}"}"#,
            r#"{"name": "a", "args": {"x": "y"}, "more": "z"}"#,
            r#"{"name": "a", "args": {"x": "y"}, "reason": null}"#,
            r#"{"name": "a", "args": {"x": "y"}} {"name": "b", "args": {}}"#,
            &format!(r#"{{"name": "a", "args": {{"{long}": "x", "y": {{"{long}": ["z"]}}}}}}"#),
            &format!(r#"{{"name": "a", "args": {{"x": {}1{}}}}}"#, "[".repeat(126), "]".repeat(126)),
            &format!(r#"{{"name": "a", "args": {{"x": [{many}]}}}}"#),
        ];
        let blocks = objects.map(|object| {
            let indented = format!("- item\n  ```tool\n  {object}\n  ```\n\n\t~~~tool\n\t{object}\n~~~\n");
            let returns = format!("```tool\r\n{object}\r\n```\n~~~tool\n{object}\r~~~\r");
            format!("say\n```tool\n{object}\n```\n{indented}{returns}````tool\n  {object}  \n````` \n<think>x</think>")
        });
        in_cases.chain(blocks).collect()
    }

    fn events(
        reply: &str,
        fast: bool,
        settled_only: bool,
        mut chunk: impl FnMut() -> usize,
    ) -> (Vec<Event<'static>>, bool) {
        let mut parser = Parser::new(Options { settled_only, ..Options::default() });
        parser.fast = fast;
        let mut events: Vec<Event<'static>> = Vec::new();
        let mut exact = true;
        let mut poll = |parser: &mut Parser| {
            while let Some(event) = parser.poll() {
                let apart = match events.last_mut() {
                    Some(last) => last.absorb(event),
                    None => Some(event),
                };
                events.extend(apart.map(Event::into_owned));
                exact &= parser.is_exact();
            }
        };
        let mut rest = reply;
        while !rest.is_empty() {
            let mut end = chunk().min(rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            parser.push(&rest[..end]);
            poll(&mut parser);
            rest = &rest[end..];
        }
        parser.finish(FinishReason::Stop);
        poll(&mut parser);
        (events, exact)
    }

    #[test]
    fn the_fast_path_yields_the_events_of_the_slow_path() {
        let replies = replies();
        assert!(replies.len() > 150, "the case files are there");
        let mut seed = 7_usize;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for reply in &replies {
            for settled_only in [false, true] {
                let slow = events(reply, false, settled_only, || usize::MAX);
                assert_eq!(events(reply, true, settled_only, || usize::MAX), slow, "{reply}");
                for _ in 0..8 {
                    let longest = 1 + random(reply.len() + 1);
                    let chunked = events(reply, true, settled_only, || 1 + random(longest));
                    assert_eq!(chunked, slow, "{reply}");
                }
            }
        }
    }

    #[test]
    fn the_fast_path_is_taken() {
        let reply = "```tool\n{\"name\": \"a\", \"args\": {\"x\": \"y\"}, \"reason\": \"r\"}\n```\n";
        let mut parser = Parser::new(Options::default());
        parser.push(reply);
        assert!(matches!(parser.poll(), Some(Event::Started { .. })));
        // The slow path would not have read the closing fence yet.
        assert_eq!(parser.input.at, reply.len());
    }
}
