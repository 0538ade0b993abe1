//! The format of the final answer (`response_format`) in a request with tools.
//!
//! A server that enforces the format would keep the model from writing calls. So the proxy holds the format back until
//! the model has answered without a call. If that answer does not match, the proxy asks once more and sends the format.
//! This module does not depend on HTTP.

use serde_json::Value;
use serde_json::value::RawValue;
use toolfence_protocol::{Args, Catalog, Text, ToolCall, ToolSpec, json, text};

/// The most bytes of a schema in the instructions.
const MOST_SHOWN: usize = 16 << 10;

/// The format that the client requires of the final answer.
#[derive(Debug)]
pub(super) struct AnswerFormat {
    /// The JSON text from the client.
    pub(super) raw: Box<RawValue>,
    /// The schema of the answer, if any.
    schema: Option<Value>,
    /// A catalog of one tool whose arguments are those that the schema allows.
    allowed: Catalog,
}

impl AnswerFormat {
    /// Reads a `response_format`. Returns `None` if any text is valid.
    pub(super) fn read(format: &RawValue) -> Option<AnswerFormat> {
        let read: Value = serde_json::from_str(format.get()).ok()?;
        let schema = match read.get("type")?.as_str()? {
            "json_object" => None,
            "json_schema" => Some(read.pointer("/json_schema/schema").cloned().unwrap_or(Value::Bool(true))),
            _ => return None,
        };
        let spec = ToolSpec::from_json_schema("answer", "", schema.as_ref().unwrap_or(&Value::Bool(true)));
        Some(AnswerFormat { raw: format.to_owned(), schema, allowed: [spec].into_iter().collect() })
    }

    /// Returns the instructions for the model. `alone`: the request has no tools.
    pub(super) fn instructions(&self, alone: bool) -> Text {
        let shown = self.schema.as_ref().map(Value::to_string).filter(|schema| schema.len() <= MOST_SHOWN);
        match (shown, alone) {
            (None, false) => text!(
                "- When you call no tool, your whole reply is one JSON object, without a fence and without other \
                 text.\n"
            ),
            (Some(schema), false) => text!(
                "- When you call no tool, your whole reply is one JSON object, without a fence and without other text, \
                 that fits this JSON Schema: {schema}\n",
                schema
            ),
            (None, true) => text!("Your whole reply is one JSON object, without a fence and without other text."),
            (Some(schema), true) => text!(
                "Your whole reply is one JSON object, without a fence and without other text, that fits this JSON \
                 Schema: {schema}",
                schema
            ),
        }
    }

    /// Returns the answer without a fence and surrounding white space, if it matches the format.
    pub(super) fn fitting<'a>(&self, answer: &'a str) -> Option<&'a str> {
        let answer = without_fence(answer.trim());
        let Ok(Value::Object(members)) = json::strict(answer) else { return None };
        let args: Args = members;
        let mut call = ToolCall::new("", "answer", args.clone());
        // Arguments that `resolve` had to change do not match the schema.
        let allowed = self.schema.is_none() || self.allowed.resolve(&mut call).is_ok() && call.args == args;
        allowed.then_some(answer)
    }
}

/// Returns the content of a code fence around the whole answer, or else the whole answer.
pub(super) fn without_fence(answer: &str) -> &str {
    let inside = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside =
        inside.and_then(|inside| inside.split_once('\n')).filter(|(info, _)| matches!(info.trim(), "" | "json"));
    inside.map_or(answer, |(_, inside)| inside.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_checked_against_the_format() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
        let raw = |value: &Value| serde_json::value::to_raw_value(value).unwrap();
        let of = |value: Value| AnswerFormat::read(&raw(&value));
        let strict = of(json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})).unwrap();
        let any = of(json!({"type": "json_object"})).unwrap();
        assert!(of(json!({"type": "text"})).is_none() && of(json!(7)).is_none());
        for (answer, fits, is_object) in [
            ("{\"n\": 1}", true, true),
            (" {\"n\": 1}\n", true, true),
            ("```json\n{\"n\": 1}\n```", true, true),
            ("{\"n\": \"1\"}", false, true),
            ("{\"n\": 1, \"reason\": \"x\"}", false, true),
            ("{\"n\": 1, \"n\": 1}", false, false),
            ("It is {\"n\": 1}", false, false),
            ("[1]", false, false),
            ("", false, false),
        ] {
            assert_eq!(strict.fitting(answer).is_some(), fits, "{answer}");
            assert_eq!(any.fitting(answer).is_some(), is_object, "{answer}");
            assert!(strict.fitting(answer).is_none_or(|answer| answer == "{\"n\": 1}"));
        }
    }
}
