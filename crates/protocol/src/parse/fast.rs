//! The fast path: a tool block in canonical form that is there to its end when it opens.
//!
//! Law: the fast path yields exactly the slow path's events. On any doubt it changes nothing, and the slow path
//! reads the block. The test below reads every case file with the fast path on and off.
//!
//! Canonical is one line with an object of `name`, then `args`, and perhaps `reason`, between two fences. Such a block is
//! read by `serde_json` alone, without the lexer and the preview. A reply that streams in small
//! chunks takes the slow path, for there a block is never there to its end when it opens.

use super::block::Block;
use super::call::undecorated;
use super::containers::{Containers, LineKind};
use super::input::Input;
use super::queue::{Queue, Queued};
use crate::json::Unique;
use crate::{Args, ToolCall};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Bytes of a line that is read at once. What is found in it waits in the queue.
const MOST_LINE: usize = 1 << 20;

/// Bytes of the path to an argument. The preview cuts long paths; here they are left to it.
const MOST_PATH: usize = 128;

/// Values in the arguments. Each string waits in the queue with the path to it, so many short ones would take many times
/// the memory of the line.
const MOST_VALUES: usize = 64;

/// Reads the block that has just opened, queues its events and passes it. Returns whether it did. `most` bytes of a line
/// are read at most.
pub(super) fn read(
    block: &mut Block,
    input: &mut Input,
    containers: &mut Containers,
    queue: &mut Queue,
    most: usize,
) -> bool {
    let (start, number) = (input.offset(input.at), input.line);
    let read = read_canonical(block, input, containers, queue, most.min(MOST_LINE)).is_some();
    if !read {
        input.go_back(start, number);
    }
    read
}

fn read_canonical(
    block: &mut Block,
    input: &mut Input,
    containers: &mut Containers,
    queue: &mut Queue,
    most: usize,
) -> Option<()> {
    let object = input.next_line(most).filter(|line| line.ended)?;
    let line = input.slice(input.at, object.end);
    // The event lends its body from the reply, and a body ends its lines with a line feed.
    if !line.ends_with('}') || input.slice(object.end, object.next) != "\n" {
        return None;
    }
    let Some(LineKind::Inside(content)) = containers.in_fence(line) else { return None };
    if content.pad > 0 || content.text.len() >= most {
        return None;
    }
    let body = input.span(object.end - content.text.len(), object.next);
    input.pass(object);
    let closing = input.next_line(most).filter(|line| line.ended)?;
    let Some(LineKind::Closes(_)) = containers.in_fence(input.slice(input.at, closing.end)) else { return None };
    let Canonical { name, args, reason } = serde_json::from_str(input.text(body)).ok()?;
    let mut values = 0;
    if !args.iter().all(|(key, value)| is_plain(key, value, 0, &mut values)) {
        return None;
    }

    // Here nothing is doubtful any more: from now on the state changes.
    block.span.end = input.offset(closing.end);
    let (id, span) = (block.preview.ids.give(), block.span);
    queue.started(&id, &name);
    args.iter().for_each(|(key, value)| queue_strings(&id, key, value, queue));
    let call = Box::new(ToolCall { id, name, args, reason, repairs: Vec::new(), dialect: None });
    if queue.holds() {
        queue.hold(call, 0, input.text(body), span, None);
    } else {
        queue.push(Queued::Call { call, body, span });
    }
    containers.close_leaf();
    input.pass(closing);
    input.use_up(span.end);
    Some(())
}

/// Counts the value of `key`, which stands `above` bytes down a path, and those in it. Returns whether it is left to the fast
/// path: the values are few, no string may be the announcement of a verbatim body, and the preview may cut no path and
/// meet no empty step.
fn is_plain(key: &str, value: &Value, above: usize, values: &mut usize) -> bool {
    let path = above + key.len() + 1;
    *values += 1;
    if key.is_empty() || path > MOST_PATH || *values > MOST_VALUES {
        return false;
    }
    match value {
        Value::String(text) => !text.trim_start().starts_with("<<"),
        Value::Object(members) => members.iter().all(|(key, value)| is_plain(key, value, path, values)),
        // The number of an element has at most as many digits as the most values.
        Value::Array(elements) => elements.iter().all(|value| is_plain("64", value, path, values)),
        _ => true,
    }
}

/// Queues the strings in the value at `path`.
fn queue_strings(id: &str, path: &str, value: &Value, queue: &mut Queue) {
    match value {
        Value::String(text) => queue.progress(id, path, text),
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| queue_strings(id, &format!("{path}/{key}"), value, queue));
        }
        Value::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(at, value)| queue_strings(id, &format!("{path}/{at}"), value, queue));
        }
        _ => {}
    }
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
            (Some(name), Some(args)) if !name.is_empty() && undecorated(&name) == name => {
                Ok(Canonical { name, args, reason })
            }
            _ => Err(other()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::FinishReason;
    use crate::parse::{Event, Options, Parser, Reasoning};
    use toolfence_kit::{CaseFiles, Pieces, Random};

    /// The replies of the case files, and blocks that are nearly canonical or just so.
    fn replies() -> Vec<String> {
        let in_cases = CaseFiles::of("parse").replies().into_iter().map(|case| case.reply);
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
            format!("say\n```tool\n{object}\n```\n{indented}{returns}````tool\n  {object}  \n````` \n<think>x</think>{indented}\n\n</think>\n")
        });
        in_cases.chain(blocks).collect()
    }

    fn events(
        reply: &str,
        fast: bool,
        settled_only: bool,
        reasoning: Reasoning,
        chunk: impl FnMut() -> usize,
    ) -> (Vec<Event<'static>>, bool) {
        let mut parser = Parser::new(Options { settled_only, reasoning, ..Options::default() });
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
                assert!(!(parser.is_undecided() && parser.is_exact()), "what may be a thought is not exact");
                // Whether text comes before or after it is decided depends on the chunks, so only what is known is compared.
                exact &= parser.is_exact() || reasoning == Reasoning::Unknown;
            }
        };
        for piece in Pieces::by(reply, chunk) {
            parser.push(piece);
            poll(&mut parser);
        }
        parser.finish(FinishReason::Stop);
        poll(&mut parser);
        (events, exact)
    }

    #[test]
    fn the_fast_path_yields_the_events_of_the_slow_path() {
        let replies = replies();
        assert!(replies.len() > 150, "the case files are there");
        let mut random = Random::new(7);
        for reply in &replies {
            let both = |reasoning| [(false, reasoning), (true, reasoning)];
            for (settled_only, reasoning) in [Reasoning::Known, Reasoning::Unknown].into_iter().flat_map(both) {
                let slow = events(reply, false, settled_only, reasoning, || usize::MAX);
                assert_eq!(events(reply, true, settled_only, reasoning, || usize::MAX), slow, "{reply}");
                for _ in 0..8 {
                    let longest = 1 + random.below(reply.len() + 1);
                    let chunked = events(reply, true, settled_only, reasoning, || 1 + random.below(longest));
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
