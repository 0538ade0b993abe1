//! The messages of a request as text: calls as the blocks that the model is taught, their answers as results.
//!
//! What has nothing to do with tools stays the text it was. A call is shown to the model as it is taught to write one, so that its
//! own history teaches it the same: long texts stand below the object. This module knows no replies.

use super::raw::{Elements, Members, as_text};
use super::trouble::Trouble;
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

/// Messages while they are written again.
pub(super) struct History<'a> {
    /// The array so far, without its end.
    out: String,
    /// What the system message is to say besides, until it has said it.
    told: Option<&'a str>,
    /// The tools on offer, where the model is taught to write long texts below the object.
    bodies: Option<&'a Catalog>,
    /// Which tool a call of this id was for.
    names: HashMap<String, String>,
    /// Answers that wait for the message they are told in.
    results: Vec<ToolResult>,
}

impl<'a> History<'a> {
    /// The messages as a JSON array, with `told` at the end of the first system message. `bodies`: the tools on offer, where
    /// the model is taught to write long texts below the object.
    pub(super) fn project(
        messages: &[&RawValue],
        told: Option<&'a str>,
        bodies: Option<&'a Catalog>,
    ) -> Result<String, Trouble> {
        let mut history = History { out: "[".to_owned(), told, bodies, names: HashMap::new(), results: Vec::new() };
        if !messages.iter().any(|message| is_system(message)) {
            history.tell();
        }
        for (index, message) in messages.iter().enumerate() {
            let read = serde_json::from_str::<Members<'_>>(message.get());
            let mut read = read.map_err(|error| Trouble::request(format!("messages[{index}]: {error}")))?;
            history.message(message.get(), &mut read);
        }
        history.end_results();
        history.out.push(']');
        Ok(history.out)
    }

    fn message(&mut self, raw: &str, message: &mut Members<'_>) {
        match message.text("role").as_deref() {
            Some("tool" | "function") => return self.result(message),
            Some("user") if !self.results.is_empty() => {
                let before = self.told_results();
                let content = joined(&before, message.get("content"), true);
                message.set("content", &content);
                return self.push(&message.print());
            }
            _ => self.end_results(),
        }
        let role = message.text("role").unwrap_or_default().into_owned();
        if is_system_role(&role)
            && let Some(told) = self.told.take()
        {
            let content = joined(told, message.get("content"), false);
            message.set("content", &content);
        } else if role == "assistant" && (message.get("tool_calls").is_some() || message.get("function_call").is_some())
        {
            let content = self.calls(message);
            message.remove(&["tool_calls", "function_call", "refusal"]);
            message.set("content", &content);
        } else {
            return self.push(raw);
        }
        self.push(&message.print());
    }

    fn push(&mut self, message: &str) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        self.out.push_str(message);
    }

    /// The system message where the request has none.
    fn tell(&mut self) {
        if let Some(told) = self.told.take() {
            self.push(&json!({"role": "system", "content": told}).to_string());
        }
    }

    /// What an assistant message says, then its calls.
    fn calls(&mut self, message: &Members<'_>) -> String {
        let mut text = plain_text(message.get("content"));
        let calls = message.get("tool_calls").and_then(|calls| serde_json::from_str::<Elements<'_>>(calls.get()).ok());
        for call in calls.into_iter().flat_map(|calls| calls.0) {
            self.call(call, &mut text);
        }
        if let Some(function) = message.get("function_call") {
            block(None, function, self.bodies, &mut text);
        }
        text
    }

    fn call(&mut self, call: &RawValue, text: &mut String) {
        let Ok(call) = serde_json::from_str::<Members<'_>>(call.get()) else { return };
        let id = call.text("id").unwrap_or_default();
        let function = call.get("function");
        let Some(name) = function.and_then(|function| block(Some(&id), function, self.bodies, text)) else { return };
        self.names.insert(id.into_owned(), name);
    }

    /// An answer to a call.
    fn result(&mut self, message: &Members<'_>) {
        let id = message.text("tool_call_id").unwrap_or_default().into_owned();
        let name = message.text("name").map(Cow::into_owned).or_else(|| self.names.get(&id).cloned());
        let output = Output::text(plain_text(message.get("content")));
        self.results.push(ToolResult::new(id, name.unwrap_or_else(|| "unknown".into()), output, 0));
    }

    fn told_results(&mut self) -> String {
        let mut format = Format::default();
        format.message_limit = usize::MAX;
        results(&std::mem::take(&mut self.results), &format)
    }

    /// The answers as a message of their own.
    fn end_results(&mut self) {
        if !self.results.is_empty() {
            let told = self.told_results();
            self.push(&json!({"role": "user", "content": told}).to_string());
        }
    }
}

#[derive(Deserialize)]
struct Role<'a> {
    #[serde(default, borrow)]
    role: Option<Cow<'a, str>>,
}

fn is_system(message: &RawValue) -> bool {
    let role = serde_json::from_str::<Role<'_>>(message.get()).ok().and_then(|message| message.role);
    role.is_some_and(|role| is_system_role(&role))
}

fn is_system_role(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

/// Writes one call as a block and gives its name.
fn block(id: Option<&str>, function: &RawValue, bodies: Option<&Catalog>, out: &mut String) -> Option<String> {
    let function = serde_json::from_str::<Members<'_>>(function.get()).ok()?;
    let name = function.text("name")?.into_owned();
    let arguments = function.text("arguments").unwrap_or_default();
    let id = id.filter(|id| !id.is_empty()).map(|id| format!("\"id\": {}, ", Value::from(id))).unwrap_or_default();
    let spec = bodies.and_then(|catalog| catalog.specs().iter().find(|spec| spec.name == name));
    let (args, below) = spec
        .and_then(|spec| with_bodies(spec, &arguments))
        .unwrap_or_else(|| (literal(&args(&arguments)), String::new()));
    let call = format!("{{{id}\"name\": {}, \"args\": {args}}}{below}", Value::from(name.as_str()));
    if !out.is_empty() {
        out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
    }
    let marks = "`".repeat(fence::safe_length(&call));
    out.push_str(&format!("{marks}tool\n{call}\n{marks}\n"));
    Some(name)
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

/// The text of a content: a string, or an array of parts. A part that is no text stays JSON.
fn plain_text(content: Option<&RawValue>) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = as_text(content) {
        return text.into_owned();
    }
    let Ok(parts) = serde_json::from_str::<Elements<'_>>(content.get()) else { return content.get().to_owned() };
    let mut out = String::new();
    for part in parts.0 {
        if !out.is_empty() {
            out.push('\n');
        }
        let members = serde_json::from_str::<Members<'_>>(part.get()).unwrap_or_default();
        match members.text("text").or_else(|| members.text("refusal")) {
            Some(text) => out.push_str(&text),
            None => out.push_str(part.get()),
        }
    }
    out
}

/// A content with text before or behind it; parts stay parts.
fn joined(text: &str, content: Option<&RawValue>, before: bool) -> Box<RawValue> {
    let array = content.filter(|content| content.get().starts_with('['));
    let joined = match array.and_then(|array| array.get().trim_end().strip_prefix('[')?.strip_suffix(']')) {
        Some(parts) => {
            let part = json!({"type": "text", "text": text}).to_string();
            let comma = if parts.trim().is_empty() { "" } else { "," };
            let array = if before { format!("[{part}{comma}{parts}]") } else { format!("[{parts}{comma}{part}]") };
            return RawValue::from_string(array).unwrap_or_else(|_| text_value(text));
        }
        None => plain_text(content),
    };
    match (joined.is_empty(), before) {
        (true, _) => text_value(text),
        (false, true) => text_value(&format!("{text}\n\n{joined}")),
        (false, false) => text_value(&format!("{}\n\n{text}", joined.trim_end())),
    }
}

fn text_value(text: &str) -> Box<RawValue> {
    to_raw_value(text).unwrap_or_default()
}
