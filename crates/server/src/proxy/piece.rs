//! Reads the upstream's answer: a Chat Completions answer, whole or one chunk of it.
//!
//! This module does no I/O and does not depend on the parser.

use super::raw::{Elements, as_text};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The most bytes of the upstream's usage; a longer one is ignored.
const MOST_USAGE: usize = 16 << 10;

/// An answer of the upstream, whole or one chunk of it.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(default, borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) created: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) system_fingerprint: Option<&'a RawValue>,
    #[serde(default, borrow)]
    choices: Option<&'a RawValue>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    /// The error that the upstream reports.
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The content of a piece.
#[derive(Debug, Default)]
pub(super) struct PieceContent {
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
    /// Returns the content of the first choice.
    pub(super) fn content(&self) -> PieceContent {
        let choices = self.choices.and_then(|choices| serde_json::from_str::<Elements<'_>>(choices.get()).ok());
        let Some(first) = choices.and_then(|choices| choices.0.first().copied()) else {
            return PieceContent::default();
        };
        let choice: ChoiceFields<'_> = serde_json::from_str(first.get()).unwrap_or_default();
        // A chunk of a stream has `delta`, and a whole answer has `message`.
        let message = choice.delta.or(choice.message);
        let message: MessageFields<'_> =
            message.and_then(|message| serde_json::from_str(message.get()).ok()).unwrap_or_default();
        PieceContent {
            text: text(message.content),
            reasoning: text(message.reasoning_content.or(message.reasoning)),
            finish: choice.finish_reason.and_then(as_text).map(Cow::into_owned),
        }
    }
}

/// Reads a string, or joins the texts of an array of parts.
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

/// Token counts, summed over all requests for one answer.
#[derive(Debug, Default)]
pub(super) struct Usage {
    before: Map<String, Value>,
    /// The usage of the current request. Servers that report it repeatedly report the total each time.
    latest: Map<String, Value>,
}

impl Usage {
    pub(super) fn add_piece(&mut self, piece: &Piece<'_>) {
        let usage = piece.usage.filter(|usage| usage.get().len() <= MOST_USAGE);
        if let Some(Value::Object(usage)) = usage.and_then(|usage| serde_json::from_str(usage.get()).ok()) {
            self.latest = usage;
        }
    }

    /// Begins another request.
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
