//! JSON of the API: what an upstream's answer says, and what the client's answer looks like.
//!
//! Pure: text in, text out. This module knows no connections and no parser.

use super::raw::{Elements, as_text};
use super::reply::Delta;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Bytes of an upstream's account of tokens; a longer one is not one.
const MOST_USAGE: usize = 16 << 10;

/// An answer of the upstream, whole or one chunk of it.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    created: Option<&'a RawValue>,
    #[serde(default, borrow)]
    model: Option<&'a RawValue>,
    #[serde(default, borrow)]
    system_fingerprint: Option<&'a RawValue>,
    #[serde(default, borrow)]
    choices: Option<&'a RawValue>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    /// What went wrong there.
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// What a piece says.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) finish: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ChoiceFields<'a> {
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MessageFields<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
}

impl Piece<'_> {
    /// The first choice.
    pub(super) fn said(&self) -> Said {
        let choices = self.choices.and_then(|choices| serde_json::from_str::<Elements<'_>>(choices.get()).ok());
        let Some(first) = choices.and_then(|choices| choices.0.first().copied()) else { return Said::default() };
        let choice: ChoiceFields<'_> = serde_json::from_str(first.get()).unwrap_or_default();
        let message = choice.delta.or(choice.message);
        let message: MessageFields<'_> =
            message.and_then(|message| serde_json::from_str(message.get()).ok()).unwrap_or_default();
        Said {
            text: text(message.content),
            reasoning: text(message.reasoning_content.or(message.reasoning)),
            finish: choice.finish_reason.and_then(as_text).map(Cow::into_owned),
        }
    }
}

/// A string, or the texts of an array of parts.
fn text(value: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(default, borrow)]
        text: Option<Cow<'a, str>>,
    }
    let Some(value) = value else { return String::new() };
    if let Some(text) = as_text(value) {
        return text.into_owned();
    }
    let parts = serde_json::from_str::<Elements<'_>>(value.get()).map(|parts| parts.0).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| serde_json::from_str::<Part<'_>>(part.get()).ok()?.text);
    texts.collect()
}

/// Tokens, summed over all requests that one answer took.
#[derive(Debug, Default)]
pub(super) struct Usage {
    before: Map<String, Value>,
    /// Of the request that is under way; servers that tell it more than once tell the whole each time.
    latest: Map<String, Value>,
}

impl Usage {
    pub(super) fn seen(&mut self, piece: &Piece<'_>) {
        let usage = piece.usage.filter(|usage| usage.get().len() <= MOST_USAGE);
        if let Some(Value::Object(usage)) = usage.and_then(|usage| serde_json::from_str(usage.get()).ok()) {
            self.latest = usage;
        }
    }

    /// Another request begins.
    pub(super) fn next(&mut self) {
        add(&mut self.before, std::mem::take(&mut self.latest));
    }

    pub(super) fn sum(&self) -> Option<Value> {
        let mut sum = self.before.clone();
        add(&mut sum, self.latest.clone());
        (!sum.is_empty()).then_some(Value::Object(sum))
    }
}

fn add(sum: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (sum.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => add(known, more),
            (Some(known @ Value::Number(_)), Value::Number(more)) => {
                let counts = known.as_u64().zip(more.as_u64());
                *known = counts.map_or(Value::Number(more), |(a, b)| a.saturating_add(b).into());
            }
            (_, value) => {
                sum.insert(key, value);
            }
        }
    }
}

/// What every chunk of an answer says alike.
#[derive(Debug)]
pub(super) struct Stamp {
    fields: Option<String>,
    /// Where the upstream gives no id or time.
    id: String,
    created: u64,
}

impl Stamp {
    pub(super) fn new(id: String, created: u64) -> Stamp {
        Stamp { fields: None, id, created }
    }

    /// The first piece names the answer; further requests change nothing of it.
    pub(super) fn seen(&mut self, piece: &Piece<'_>) {
        if self.fields.is_some() {
            return;
        }
        let own = |value: Value| value.to_string();
        let of = |value: Option<&RawValue>, own: String| {
            // A line feed would end the event in its middle.
            let fits = |value: &&RawValue| value.get().len() < 4096 && !value.get().contains(['\n', '\r']);
            value.filter(fits).map_or(own, |value| value.get().to_owned())
        };
        let id = of(piece.id, own(self.id.as_str().into()));
        let created = of(piece.created, own(self.created.into()));
        let model = of(piece.model, own("".into()));
        let fingerprint = of(piece.system_fingerprint, own(Value::Null));
        let fields =
            format!("\"id\":{id},\"created\":{created},\"model\":{model},\"system_fingerprint\":{fingerprint}");
        self.fields = Some(fields);
    }

    fn fields(&self) -> String {
        let own = || format!("\"id\":{},\"created\":{},\"model\":\"\"", Value::from(self.id.as_str()), self.created);
        self.fields.clone().unwrap_or_else(own)
    }

    /// Writes an event that adds `delta` to the message.
    pub(super) fn chunk(&self, delta: &Value, finish: Option<&str>, out: &mut String) {
        let (fields, finish) = (self.fields(), Value::from(finish));
        out.push_str(&format!(
            "data: {{\"object\":\"chat.completion.chunk\",{fields},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]}}\n\n"
        ));
    }

    /// Writes an event that tells the usage alone.
    pub(super) fn usage(&self, usage: &Value, out: &mut String) {
        let fields = self.fields();
        out.push_str(&format!(
            "data: {{\"object\":\"chat.completion.chunk\",{fields},\"choices\":[],\"usage\":{usage}}}\n\n"
        ));
    }

    /// A whole answer.
    pub(super) fn whole(&self, message: &Whole, finish: &str, usage: Option<Value>) -> String {
        let (fields, message, finish) = (self.fields(), message.message(), Value::from(finish));
        let usage = usage.map(|usage| format!(",\"usage\":{usage}")).unwrap_or_default();
        format!(
            "{{\"object\":\"chat.completion\",{fields},\"choices\":[{{\"index\":0,\"message\":{message},\"logprobs\":null,\"finish_reason\":{finish}}}]{usage}}}"
        )
    }
}

/// The delta of a chunk.
pub(super) fn delta(delta: &Delta) -> Value {
    match delta {
        Delta::Text(text) => json!({"content": text}),
        Delta::Reasoning(text) => json!({"reasoning_content": text}),
        Delta::Call { index, id, name } => {
            let function = json!({"name": name, "arguments": ""});
            json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        }
        Delta::Arguments { index, text } => json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}),
    }
}

/// A message that is told whole.
#[derive(Debug, Default)]
pub(super) struct Whole {
    text: String,
    reasoning: String,
    calls: Vec<(String, String, String)>,
}

impl Whole {
    pub(super) fn take(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(&text),
            Delta::Reasoning(text) => self.reasoning.push_str(&text),
            Delta::Call { id, name, .. } => self.calls.push((id, name, String::new())),
            Delta::Arguments { text, .. } => {
                if let Some((.., arguments)) = self.calls.last_mut() {
                    arguments.push_str(&text);
                }
            }
        }
    }

    fn message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if self.text.is_empty() && !self.calls.is_empty() {
            message["content"] = Value::Null;
        }
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = self.reasoning.as_str().into();
        }
        if !self.calls.is_empty() {
            let call = |(id, name, arguments): &(String, String, String)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
            message["tool_calls"] = self.calls.iter().map(call).collect();
        }
        message
    }
}
