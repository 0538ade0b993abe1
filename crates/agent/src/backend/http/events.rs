//! What one event of a stream says: an answer's next piece, why it ended, or that something went wrong.

use super::calls::Piece;
use crate::backend::{Chunk, Usage};
use serde_json::Value;
use toolfence_protocol::FinishReason;

/// One event of a stream, read.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Text and thoughts, in order.
    pub(super) texts: Vec<Spoken>,
    /// Pieces of calls of the server's own channel.
    pub(super) calls: Vec<Piece>,
    /// The server's word for why the reply ended.
    pub(super) reason: Option<String>,
    /// What the reply has cost so far, by the server's count.
    pub(super) usage: Option<Usage>,
    /// What the server says went wrong.
    pub(super) error: Option<Value>,
}

/// A piece of text, and to which channel it belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Answer(String),
    Thought(String),
}

impl Spoken {
    pub(super) fn as_chunk(&self) -> Chunk<'_> {
        match self {
            Spoken::Answer(text) => Chunk::Text(text),
            Spoken::Thought(text) => Chunk::Reasoning(text),
        }
    }
}

/// Reads the data of one event. Members that are not known are passed over: servers add their own.
pub(super) fn read(data: &str) -> Result<Said, serde_json::Error> {
    let mut event: Value = serde_json::from_str(data)?;
    let mut said = Said::default();
    if let Some(error) = event.get_mut("error").map(Value::take)
        && !error.is_null()
    {
        said.error = Some(error);
        return Ok(said);
    }
    said.usage = usage_of(&event);
    let Some(choice) = event.pointer_mut("/choices/0") else { return Ok(said) };
    said.reason = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    // A whole reply has a message in the place of what is new.
    let name = if choice.get("delta").is_some() { "delta" } else { "message" };
    let Some(delta) = choice.get_mut(name) else { return Ok(said) };
    // The field has three names in use; a server that fills several says the same in all.
    for name in ["reasoning_content", "reasoning", "thinking"] {
        if let Some(text) = delta.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            said.texts.push(Spoken::Thought(text.to_owned()));
            break;
        }
    }
    match delta.get("content") {
        Some(Value::String(text)) if !text.is_empty() => said.texts.push(Spoken::Answer(text.clone())),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| part_of(part, &mut said.texts)),
        _ => {}
    }
    for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        said.calls.push(Piece::of(call));
    }
    Ok(said)
}

/// A part of a content that is a list, as Mistral's models and gateways to those of others send it. What thinks has its text in
/// a list of parts, in a string of its own, or in the place of an answer's.
fn part_of(part: &Value, texts: &mut Vec<Spoken>) {
    let thinks = matches!(part.get("type").and_then(Value::as_str), Some("thinking" | "reasoning"));
    let spoken = |text: &str| if thinks { Spoken::Thought(text.to_owned()) } else { Spoken::Answer(text.to_owned()) };
    texts.extend(part.get("text").and_then(Value::as_str).map(spoken));
    for name in ["thinking", "reasoning"] {
        match part.get(name) {
            Some(Value::String(thought)) => texts.push(Spoken::Thought(thought.clone())),
            Some(Value::Array(thoughts)) => {
                let inner = thoughts.iter().filter_map(|thought| thought.get("text")?.as_str());
                texts.extend(inner.map(|text| Spoken::Thought(text.to_owned())));
            }
            _ => {}
        }
    }
}

/// The counts of an event. Each name is a server's own; of those that count as they go, the last event has the whole.
fn usage_of(event: &Value) -> Option<Usage> {
    let number = |paths: &[&str]| paths.iter().find_map(|path| event.pointer(path)?.as_u64());
    // OpenAI and most servers, then DeepSeek, then llama.cpp, which counts what it still knew apart.
    if let Some(output) = number(&["/usage/completion_tokens"]) {
        let cached = number(&["/usage/prompt_tokens_details/cached_tokens", "/usage/prompt_cache_hit_tokens"]);
        return Some(Usage::counted(number(&["/usage/prompt_tokens"])?, cached.unwrap_or(0), output));
    }
    let (output, read) = (number(&["/timings/predicted_n"])?, number(&["/timings/prompt_n"])?);
    let cached = number(&["/timings/cache_n"]).unwrap_or(0);
    Some(Usage::counted(read.saturating_add(cached), cached, output))
}

/// What the server's word for an end means. A word that is not known to be an end by the model itself is a cut: a call is
/// never made from half of one.
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
    fn costs_are_read_under_every_name() {
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
            let said = read(event).expect("it is JSON");
            assert_eq!(
                said.usage,
                want.map(|(input, cached, output)| Usage::counted(input, cached, output)),
                "{event}"
            );
        }
    }

    #[test]
    fn texts_and_thoughts_are_told_apart() {
        let thought = |text: &str| Spoken::Thought(text.into());
        let answer = |text: &str| Spoken::Answer(text.into());
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
            let said = read(&format!("{{\"choices\":[{{\"delta\":{delta}}}]}}")).expect("it is JSON");
            assert_eq!(said.texts, want, "{delta}");
        }
        for odd in ["[]", "7", "{}", "{\"choices\":[]}", "{\"choices\":[7]}", "{\"error\":null}"] {
            assert!(read(odd).expect("it is JSON").texts.is_empty(), "{odd}");
        }
    }
}
