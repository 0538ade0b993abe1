//! Parses one event of a stream: the next piece of an answer, the reason for its end, or an error.

use super::calls::Piece;
use crate::backend::{Chunk, Usage};
use serde_json::Value;
use toolfence_protocol::FinishReason;

/// A parsed event of a stream.
#[derive(Debug, Default)]
pub(super) struct StreamEvent {
    /// Text and reasoning, in order.
    pub(super) texts: Vec<TextPiece>,
    /// Pieces of calls of the server's own channel.
    pub(super) calls: Vec<Piece>,
    /// The server's word for the end of the reply.
    pub(super) reason: Option<String>,
    /// The usage of the reply so far, by the server's count.
    pub(super) usage: Option<Usage>,
    /// The error that the server reported.
    pub(super) error: Option<Value>,
}

/// A piece of text with its channel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextPiece {
    Answer(String),
    Thought(String),
}

impl TextPiece {
    pub(super) fn as_chunk(&self) -> Chunk<'_> {
        match self {
            TextPiece::Answer(text) => Chunk::Text(text),
            TextPiece::Thought(text) => Chunk::Reasoning(text),
        }
    }
}

/// Parses the data of one event. Unknown members are ignored, because servers add their own.
pub(super) fn read(data: &str) -> Result<StreamEvent, serde_json::Error> {
    let mut event: Value = serde_json::from_str(data)?;
    let mut parsed = StreamEvent::default();
    // A server can report an error after the status 200 of its response. A null member is not an error.
    if let Some(error) = event.get_mut("error").map(Value::take)
        && !error.is_null()
    {
        parsed.error = Some(error);
        return Ok(parsed);
    }
    parsed.usage = usage_of(&event);
    let Some(choice) = event.pointer_mut("/choices/0") else { return Ok(parsed) };
    parsed.reason = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    // A whole reply has `message` instead of `delta`.
    let name = if choice.get("delta").is_some() { "delta" } else { "message" };
    let Some(delta) = choice.get_mut(name) else { return Ok(parsed) };
    // The field has three names in use; a server that fills several repeats the same text.
    for name in ["reasoning_content", "reasoning", "thinking"] {
        if let Some(text) = delta.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            parsed.texts.push(TextPiece::Thought(text.to_owned()));
            break;
        }
    }
    match delta.get("content") {
        Some(Value::String(text)) if !text.is_empty() => parsed.texts.push(TextPiece::Answer(text.clone())),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| part_of(part, &mut parsed.texts)),
        _ => {}
    }
    for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        parsed.calls.push(Piece::parse(call));
    }
    Ok(parsed)
}

/// Adds a part of a content that is a list, as Mistral's models and gateways to other models send it. A part with
/// reasoning has its text in a list of parts, in a separate string, or in the member of an answer.
fn part_of(part: &Value, texts: &mut Vec<TextPiece>) {
    let thinks = matches!(part.get("type").and_then(Value::as_str), Some("thinking" | "reasoning"));
    let piece =
        |text: &str| if thinks { TextPiece::Thought(text.to_owned()) } else { TextPiece::Answer(text.to_owned()) };
    texts.extend(part.get("text").and_then(Value::as_str).map(piece));
    for name in ["thinking", "reasoning"] {
        match part.get(name) {
            Some(Value::String(thought)) => texts.push(TextPiece::Thought(thought.clone())),
            Some(Value::Array(thoughts)) => {
                let inner = thoughts.iter().filter_map(|thought| thought.get("text")?.as_str());
                texts.extend(inner.map(|text| TextPiece::Thought(text.to_owned())));
            }
            _ => {}
        }
    }
}

/// Returns the usage in an event, for which servers use different names. If a server counts while it streams, its last
/// event has the total.
fn usage_of(event: &Value) -> Option<Usage> {
    let number = |paths: &[&str]| paths.iter().find_map(|path| event.pointer(path)?.as_u64());
    // OpenAI and most servers, then DeepSeek, then llama.cpp, which counts cached tokens separately.
    if let Some(output) = number(&["/usage/completion_tokens"]) {
        let cached = number(&["/usage/prompt_tokens_details/cached_tokens", "/usage/prompt_cache_hit_tokens"]);
        return Some(Usage::counted(number(&["/usage/prompt_tokens"])?, cached.unwrap_or(0), output));
    }
    let (output, read) = (number(&["/timings/predicted_n"])?, number(&["/timings/prompt_n"])?);
    let cached = number(&["/timings/cache_n"]).unwrap_or(0);
    Some(Usage::counted(read.saturating_add(cached), cached, output))
}

/// Interprets the server's word for the end of a reply. An unknown word counts as a cut, because a half-finished call
/// must never run.
pub(super) fn finish_of(reason: &str) -> FinishReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "complete" | "completed" | "stop_sequence" | "tool_calls" | "tool_use"
        | "function_call" | "eos" | "eos_token" | "stop_token" => FinishReason::Stop,
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => FinishReason::Length,
        _ => FinishReason::Cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_parsed_under_every_name() {
        for (event, want) in [
            (r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#, Some((7, 0, 2))),
            (
                r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}}"#,
                Some((7, 5, 2)),
            ),
            (r#"{"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_cache_hit_tokens":6}}"#, Some((7, 6, 2))),
            (r#"{"choices":[],"timings":{"prompt_n":3,"cache_n":90,"predicted_n":4}}"#, Some((93, 90, 4))),
            (r#"{"usage":null}"#, None),
            (r#"{"usage":{"prompt_tokens":-7,"completion_tokens":2}}"#, None),
            (r#"{"usage":{"total_tokens":9}}"#, None),
            ("[]", None),
        ] {
            let parsed = read(event).expect("it is JSON");
            assert_eq!(
                parsed.usage,
                want.map(|(input, cached, output)| Usage::counted(input, cached, output)),
                "{event}"
            );
        }
    }

    #[test]
    fn texts_and_reasoning_are_distinguished() {
        let thought = |text: &str| TextPiece::Thought(text.into());
        let answer = |text: &str| TextPiece::Answer(text.into());
        for (delta, want) in [
            (r#"{"content":"a"}"#, vec![answer("a")]),
            (r#"{"content":null,"reasoning":"b"}"#, vec![thought("b")]),
            (r#"{"reasoning_content":"b","reasoning":"b","content":"a"}"#, vec![thought("b"), answer("a")]),
            (r#"{"content":[{"type":"text","text":"a"}]}"#, vec![answer("a")]),
            (
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]},{"type":"text","text":"a"}]}"#,
                vec![thought("b"), answer("a")],
            ),
            (r#"{"thinking":"b","content":"a"}"#, vec![thought("b"), answer("a")]),
            (
                r#"{"content":[{"type":"reasoning","text":"b"},{"type":"text","text":"a"}]}"#,
                vec![thought("b"), answer("a")],
            ),
            (r#"{"content":[{"type":"thinking","thinking":"b","signature":"x"}]}"#, vec![thought("b")]),
            (r#"{"content":[{"type":"reasoning","reasoning":[{"text":"b"}]}]}"#, vec![thought("b")]),
            (r#"{"content":7}"#, vec![]),
            ("null", vec![]),
        ] {
            let parsed = read(&format!("{{\"choices\":[{{\"delta\":{delta}}}]}}")).expect("it is JSON");
            assert_eq!(parsed.texts, want, "{delta}");
        }
        for odd in ["[]", "7", "{}", "{\"choices\":[]}", "{\"choices\":[7]}", "{\"error\":null}"] {
            assert!(read(odd).expect("it is JSON").texts.is_empty(), "{odd}");
        }
    }
}
