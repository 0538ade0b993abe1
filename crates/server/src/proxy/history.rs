//! Converts the messages of a request to text: calls become the blocks that the instructions teach, and their results
//! text.
//!
//! Calls in the history have the form that the instructions teach, so that the model sees consistent examples: long
//! texts follow the object. The messages satisfy strict chat templates: one system message first, then user and
//! assistant in turn, with images next to the text. This module does not handle replies.

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

/// Candidates for the word that ends a body. The first one is the word in the instructions.
const TAGS: [&str; 8] = ["EOF", "END", "TEXT", "BODY", "LINES", "DATA", "END_OF_TEXT", "END_OF_BODY"];

/// The most bytes of a text that is written below the object.
const MOST_BODY: usize = 1 << 20;

/// Rough estimates of the tokens of an image and of the overhead of a message.
const MEDIA_TOKENS: u64 = 1000;
const MESSAGE_TOKENS: u64 = 4;

/// The messages during the conversion.
pub(super) struct History<'a, 'c> {
    /// All instructions. Templates refuse a system message after the first message, or a second one.
    system: UpstreamMessage<'a>,
    /// The other messages. User and assistant alternate, as strict templates require.
    written: Vec<UpstreamMessage<'a>>,
    /// The tools on offer, if the instructions teach long texts below the object.
    bodies: Option<&'c Catalog>,
    /// The names of the called tools by the ids of the calls.
    names: HashMap<String, String>,
    /// Results that are not yet written into the last message, and their media.
    results: Vec<ToolResult>,
    media: Vec<Cow<'a, RawValue>>,
}

/// A message of the upstream's request.
struct UpstreamMessage<'a> {
    role: &'static str,
    members: Members<'a>,
    /// Adjacent texts are merged into one part.
    parts: Vec<WrittenPart<'a>>,
}

enum WrittenPart<'a> {
    Text(String),
    Media(Cow<'a, RawValue>),
}

impl<'a, 'c> History<'a, 'c> {
    /// Returns the messages as a JSON array, and a rough estimate of their tokens: one system message that ends with
    /// `instructions`, then user and assistant in turn. `bodies` has the tools on offer if the instructions teach long
    /// texts below the object.
    pub(super) fn project(
        messages: Vec<Message<'a>>,
        instructions: &str,
        bodies: Option<&'c Catalog>,
    ) -> (String, u64) {
        let mut history = History {
            system: UpstreamMessage { role: "system", members: Members::default(), parts: Vec::new() },
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
        let written: Vec<UpstreamMessage<'a>> = system.into_iter().chain(history.written).collect();
        let tokens = written.iter().map(UpstreamMessage::tokens).sum();
        let messages: Vec<String> = written.into_iter().map(UpstreamMessage::print).collect();
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
            self.written.push(UpstreamMessage { role, members: message.members, parts: Vec::new() });
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

    fn last(&mut self) -> &mut UpstreamMessage<'a> {
        if self.written.is_empty() {
            self.written.push(UpstreamMessage { role: "user", members: Members::default(), parts: Vec::new() });
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
                    // Media follow the results; this marks their place in the text.
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

    /// Writes the results into the last message, followed by their media.
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

impl<'a> UpstreamMessage<'a> {
    /// Adds a text, separated by `gap` from the text before it.
    fn add_text(&mut self, text: &str, gap: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(WrittenPart::Text(last)) => {
                // Line ends that the text has already are a part of the gap.
                let there = last.len() - last.trim_end_matches('\n').len();
                last.push_str(gap.get(there..).unwrap_or_default());
                last.push_str(text);
            }
            _ => self.parts.push(WrittenPart::Text(text.to_owned())),
        }
    }

    /// Estimates the tokens of the message at four bytes each.
    fn tokens(&self) -> u64 {
        let part = |part: &WrittenPart<'_>| match part {
            WrittenPart::Text(text) => text.len().div_ceil(4) as u64,
            WrittenPart::Media(_) => MEDIA_TOKENS,
        };
        MESSAGE_TOKENS + self.parts.iter().map(part).sum::<u64>()
    }

    /// Returns the message as JSON. If it has only text, its content is a string: not all templates accept parts.
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

/// Returns the kind of a media part as a word: `image` for `image_url`.
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
        .unwrap_or_else(|| (escape_announcements(&args(arguments)), String::new()));
    let call = format!("{{{id}\"name\": {}, \"args\": {args}}}{below}", Value::from(name.as_ref()));
    if !out.is_empty() {
        out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
    }
    // The fence is longer than any run of backticks in the call, so no text of the call can close the block.
    let marks = "`".repeat(fence::safe_length(&call));
    out.push_str(&format!("{marks}tool\n{call}\n{marks}\n"));
}

/// Moves long texts of the arguments below the object. Returns the object with the announcements of the texts, and the
/// text that follows it. Returns `None` if there is no long text, or if another string looks like an announcement.
fn with_bodies(spec: &ToolSpec, arguments: &str) -> Option<(String, String)> {
    let mut args: Members<'_> = serde_json::from_str(arguments).ok()?;
    let texts: Vec<(String, String)> = args
        .texts()
        .filter(|(name, text)| spec.takes_text(name) && is_body(text))
        .filter_map(|(name, text)| Some((name.to_owned(), body(spec, name, &text)?)))
        .collect();
    // A tag that occurs in a text could end that text early.
    let tag = TAGS.iter().find(|tag| !texts.iter().any(|(_, text)| text.contains(**tag)))?;
    let mut below = String::new();
    for (name, text) in &texts {
        args.set(name, &format!("<<{tag}"));
        below.push_str(&format!("\n{text}{tag}"));
    }
    let args = args.print();
    (!texts.is_empty() && args.matches('<').count() == 2 * texts.len()).then_some((args, below))
}

/// Returns `true` if a text is easier to write below the object and survives the round trip. Markdown normalizes line
/// endings and does not allow NUL.
fn is_body(text: &str) -> bool {
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.len() <= MOST_BODY && text.lines().nth(1).is_some() && text.chars().all(plain)
}

/// Returns the lines of a body that is read as this text; `None` if a body keeps its last line ending and the text has
/// none.
fn body(spec: &ToolSpec, name: &str, text: &str) -> Option<String> {
    match spec.keeps_final_newline(name) {
        true => text.ends_with('\n').then(|| text.to_owned()),
        false => Some(format!("{text}\n")),
    }
}

/// Escapes the first character of each string that would look like the announcement of a body, also after white space.
fn escape_announcements(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 16);
    let mut rest = json;
    while let Some(at) = rest.find("<<") {
        out.push_str(&rest[..at]);
        // In JSON these characters occur only in strings, so a quote before them begins the string or is escaped in it.
        let mut before = out.trim_end();
        while let Some(shorter) = without_space(before) {
            before = shorter.trim_end();
        }
        out.push_str(if before.ends_with('"') { "\\u003c" } else { "<" });
        rest = &rest[at + 1..];
    }
    out + rest
}

/// Removes one escaped white space character from the end of JSON text; `None` if it has none there.
fn without_space(json: &str) -> Option<&str> {
    let short = ["\\n", "\\r", "\\t", "\\f"].iter().find_map(|space| json.strip_suffix(space));
    short.or_else(|| {
        let (before, digits) = json.split_at_checked(json.len().checked_sub(4)?)?;
        let space = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        before.strip_suffix("\\u").filter(|_| space.is_whitespace())
    })
}

/// Returns the arguments unchanged if they are an object; anything else becomes a JSON string.
fn args(arguments: &str) -> Cow<'_, str> {
    let text = arguments.trim();
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if text.starts_with('{') => Cow::Borrowed(text),
        _ if text.is_empty() => Cow::Borrowed("{}"),
        _ => Cow::Owned(Value::from(arguments).to_string()),
    }
}
