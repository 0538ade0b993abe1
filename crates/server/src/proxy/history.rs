//! The messages of a request as text: calls as the blocks that the model is taught, their answers as results.
//!
//! A call is shown to the model as it is taught to write one, so that its own history teaches it the same: long texts stand below
//! the object. The messages come out as strict templates want them: one system message first, then user and assistant in turn, and
//! images next to the text. This module knows no replies.

use super::conversation::{Message, Part, PastCall, PastResult, Role};
use super::raw::Members;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use toolfence_protocol::format::{Format, results};
use toolfence_protocol::{Catalog, Output, ToolResult, ToolSpec, fence};

/// Words that may end a body, the one of the instructions first.
const TAGS: [&str; 8] = ["EOF", "END", "TEXT", "BODY", "LINES", "DATA", "END_OF_TEXT", "END_OF_BODY"];

/// Bytes of a text that is shown below the object.
const MOST_BODY: usize = 1 << 20;

/// Tokens of an image and those around a message, roughly.
const MEDIA_TOKENS: u64 = 1000;
const MESSAGE_TOKENS: u64 = 4;

/// Messages while they are written again.
pub(super) struct History<'a, 'c> {
    /// All instructions. Templates refuse a system message after the first message, or a second one.
    system: Written<'a>,
    /// The other messages; user and assistant alternate, as strict templates require it.
    written: Vec<Written<'a>>,
    /// The tools on offer, where the model is taught to write long texts below the object.
    bodies: Option<&'c Catalog>,
    /// Which tool a call of this id was for.
    names: HashMap<String, String>,
    /// Results that are not yet written into the last message, and what they show besides text.
    results: Vec<ToolResult>,
    media: Vec<Cow<'a, RawValue>>,
}

/// A message of the upstream's request.
struct Written<'a> {
    role: &'static str,
    members: Members<'a>,
    /// Texts next to each other are one part.
    parts: Vec<WrittenPart<'a>>,
}

enum WrittenPart<'a> {
    Text(String),
    Media(Cow<'a, RawValue>),
}

impl<'a, 'c> History<'a, 'c> {
    /// Returns the messages as a JSON array, and roughly their tokens: one system message that ends with `instructions`, then user and
    /// assistant in turn. `bodies` has the tools on offer if the model is taught to write long texts below the object.
    pub(super) fn project(
        messages: Vec<Message<'a>>,
        instructions: &str,
        bodies: Option<&'c Catalog>,
    ) -> (String, u64) {
        let mut history = History {
            system: Written { role: "system", members: Members::default(), parts: Vec::new() },
            written: Vec::new(),
            bodies,
            names: HashMap::new(),
            results: Vec::new(),
            media: Vec::new(),
        };
        let mut has_system = false;
        for message in messages {
            if message.role == Role::System {
                history.system(message, !has_system);
                has_system = true;
            } else {
                history.message(message);
            }
        }
        history.end_results();
        history.system.add_text(instructions, "\n\n");
        let system = (has_system || !instructions.is_empty()).then_some(history.system);
        let written: Vec<Written<'a>> = system.into_iter().chain(history.written).collect();
        let tokens = written.iter().map(Written::tokens).sum();
        let messages: Vec<String> = written.into_iter().map(Written::print).collect();
        (format!("[{}]", messages.join(",")), tokens)
    }

    fn system(&mut self, message: Message<'a>, is_first: bool) {
        if is_first {
            self.system.members = message.members;
        }
        let mut gap = "\n\n";
        for part in message.parts {
            match part {
                Part::Text(text) => self.system.add_text(&text, std::mem::replace(&mut gap, "\n")),
                Part::Media(media) => self.system.parts.push(WrittenPart::Media(media)),
                Part::Call(_) | Part::Result(_) => {}
            }
        }
    }

    fn message(&mut self, message: Message<'a>) {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        if self.written.last().is_none_or(|last| last.role != role) {
            self.end_results();
            self.written.push(Written { role, members: message.members, parts: Vec::new() });
        }
        let mut gap = "\n\n";
        for part in message.parts {
            match part {
                Part::Result(result) => self.result(result),
                Part::Call(call) => self.call(&call),
                Part::Text(text) => {
                    self.end_results();
                    self.last().add_text(&text, gap);
                }
                Part::Media(media) => {
                    self.end_results();
                    self.last().parts.push(WrittenPart::Media(media));
                }
            }
            gap = "\n";
        }
    }

    fn last(&mut self) -> &mut Written<'a> {
        if self.written.is_empty() {
            self.written.push(Written { role: "user", members: Members::default(), parts: Vec::new() });
        }
        let last = self.written.len() - 1;
        &mut self.written[last]
    }

    /// Writes a call below the text of its message.
    fn call(&mut self, call: &PastCall<'_>) {
        let bodies = self.bodies;
        let last = self.last();
        let mut text = match last.parts.pop() {
            Some(WrittenPart::Text(text)) => text,
            other => {
                last.parts.extend(other);
                String::new()
            }
        };
        block(call, bodies, &mut text);
        last.parts.push(WrittenPart::Text(text));
        if let Some(id) = &call.id {
            self.names.insert(id.clone().into_owned(), call.name.clone().into_owned());
        }
    }

    fn result(&mut self, result: PastResult<'a>) {
        let id = result.id.into_owned();
        let name = result.name.map(Cow::into_owned).or_else(|| self.names.get(&id).cloned());
        let mut text = String::new();
        for part in result.content {
            if !text.is_empty() {
                text.push('\n');
            }
            match part {
                Part::Text(more) => text.push_str(&more),
                Part::Media(media) => {
                    // It follows the results; here is its place among their texts.
                    text.push_str(&format!("[{}]", media_kind(&media)));
                    self.media.push(media);
                }
                Part::Call(_) | Part::Result(_) => {}
            }
        }
        let mut answer = ToolResult::new(id, name.unwrap_or_else(|| "unknown".into()), Output::text(text), 0);
        answer.success = !result.failed;
        self.results.push(answer);
    }

    /// Writes the results into the last message, with what they show next to them.
    fn end_results(&mut self) {
        if self.results.is_empty() {
            return;
        }
        let mut format = Format::default();
        format.message_limit = usize::MAX;
        let text = results(&std::mem::take(&mut self.results), &format);
        let media = std::mem::take(&mut self.media);
        let last = self.last();
        last.add_text(&text, "\n\n");
        last.parts.extend(media.into_iter().map(WrittenPart::Media));
    }
}

impl<'a> Written<'a> {
    /// Adds a text; a gap divides it from the text before it.
    fn add_text(&mut self, text: &str, gap: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(WrittenPart::Text(last)) => {
                let there = last.len() - last.trim_end_matches('\n').len();
                last.push_str(gap.get(there..).unwrap_or_default());
                last.push_str(text);
            }
            _ => self.parts.push(WrittenPart::Text(text.to_owned())),
        }
    }

    /// The tokens of the message, roughly: about four bytes are one.
    fn tokens(&self) -> u64 {
        let part = |part: &WrittenPart<'_>| match part {
            WrittenPart::Text(text) => text.len().div_ceil(4) as u64,
            WrittenPart::Media(_) => MEDIA_TOKENS,
        };
        MESSAGE_TOKENS + self.parts.iter().map(part).sum::<u64>()
    }

    /// The message as JSON. Its content is a string if it is only text: not all templates take parts.
    fn print(mut self) -> String {
        self.members.set("role", &self.role);
        match &self.parts[..] {
            [] => self.members.set("content", &""),
            [WrittenPart::Text(text)] => self.members.set("content", text),
            parts => {
                let parts: Vec<Cow<'_, RawValue>> = parts.iter().filter_map(WrittenPart::raw).collect();
                self.members.set("content", &parts.iter().map(AsRef::as_ref).collect::<Vec<&RawValue>>());
            }
        }
        self.members.print()
    }
}

impl WrittenPart<'_> {
    fn raw(&self) -> Option<Cow<'_, RawValue>> {
        match self {
            WrittenPart::Text(text) => to_raw_value(&json!({"type": "text", "text": text})).ok().map(Cow::Owned),
            WrittenPart::Media(media) => Some(Cow::Borrowed(media)),
        }
    }
}

/// The kind of a part that is not text, as a word: `image` for `image_url`.
fn media_kind(media: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        name: String,
    }
    let kind = serde_json::from_str::<Kind>(media.get()).map(|kind| kind.name).unwrap_or_default();
    let word = kind.trim_start_matches("input_").trim_end_matches("_url");
    let is_word = !word.is_empty() && word.len() <= 32 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_word { word.to_owned() } else { "attachment".to_owned() }
}

/// Writes one call as a block.
fn block(call: &PastCall<'_>, bodies: Option<&Catalog>, out: &mut String) {
    let (name, arguments) = (&call.name, &call.arguments);
    let id = call.id.as_deref().filter(|id| !id.is_empty());
    let id = id.map(|id| format!("\"id\": {}, ", Value::from(id))).unwrap_or_default();
    let spec = bodies.and_then(|catalog| catalog.specs().iter().find(|spec| spec.name == *name));
    let (args, below) = spec
        .and_then(|spec| with_bodies(spec, arguments))
        .unwrap_or_else(|| (literal(&args(arguments)), String::new()));
    let call = format!("{{{id}\"name\": {}, \"args\": {args}}}{below}", Value::from(name.as_ref()));
    if !out.is_empty() {
        out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
    }
    let marks = "`".repeat(fence::safe_length(&call));
    out.push_str(&format!("{marks}tool\n{call}\n{marks}\n"));
}

/// The arguments with their long texts below the object: the announcements in their places, and what follows the object. `None`
/// where there is no long text, or where something else may be taken for an announcement.
fn with_bodies(spec: &ToolSpec, arguments: &str) -> Option<(String, String)> {
    let mut args: Members<'_> = serde_json::from_str(arguments).ok()?;
    let texts: Vec<(String, String)> = args
        .texts()
        .filter(|(name, text)| spec.takes_text(name) && is_body(text))
        .filter_map(|(name, text)| Some((name.to_owned(), body(spec, name, &text)?)))
        .collect();
    let tag = TAGS.iter().find(|tag| !texts.iter().any(|(_, text)| text.contains(**tag)))?;
    let mut below = String::new();
    for (name, text) in &texts {
        args.set(name, &format!("<<{tag}"));
        below.push_str(&format!("\n{text}{tag}"));
    }
    let args = args.print();
    (!texts.is_empty() && args.matches('<').count() == 2 * texts.len()).then_some((args, below))
}

/// Whether a text is easier to write below the object, and the same when it is read from there: a reader of Markdown knows other
/// line endings and no NUL.
fn is_body(text: &str) -> bool {
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.len() <= MOST_BODY && text.lines().nth(1).is_some() && text.chars().all(plain)
}

/// The lines of a body that is read as this text. Where a body keeps its last line ending, the text needs one.
fn body(spec: &ToolSpec, name: &str, text: &str) -> Option<String> {
    match spec.keeps_final_newline(name) {
        true => text.ends_with('\n').then(|| text.to_owned()),
        false => Some(format!("{text}\n")),
    }
}

/// JSON in which no string announces a body: where one begins like that, be it behind white space, the first such character is
/// written as an escape.
fn literal(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 16);
    let mut rest = json;
    while let Some(at) = rest.find("<<") {
        out.push_str(&rest[..at]);
        // In JSON these characters stand nowhere but in a string, so a quote before them is its beginning or one of its characters.
        let mut before = out.trim_end();
        while let Some(shorter) = without_space(before) {
            before = shorter.trim_end();
        }
        out.push_str(if before.ends_with('"') { "\\u003c" } else { "<" });
        rest = &rest[at + 1..];
    }
    out + rest
}

/// JSON without the escaped white space at its end.
fn without_space(json: &str) -> Option<&str> {
    let short = ["\\n", "\\r", "\\t", "\\f"].iter().find_map(|space| json.strip_suffix(space));
    short.or_else(|| {
        let (before, digits) = json.split_at_checked(json.len().checked_sub(4)?)?;
        let space = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        before.strip_suffix("\\u").filter(|_| space.is_whitespace())
    })
}

/// The arguments as they were written where that is an object; what is not stays a string.
fn args(arguments: &str) -> Cow<'_, str> {
    let text = arguments.trim();
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if text.starts_with('{') => Cow::Borrowed(text),
        _ if text.is_empty() => Cow::Borrowed("{}"),
        _ => Cow::Owned(Value::from(arguments).to_string()),
    }
}
