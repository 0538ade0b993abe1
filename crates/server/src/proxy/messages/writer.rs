//! Writes answers of the Messages API.
//!
//! An answer is a list of blocks: text, reasoning or a call. One block is open at a time. Clients require `event:`
//! lines, the end of every block, and a unique id.

use crate::proxy::output::{Finish, FinishedBy, Output, Writer};
use crate::proxy::trouble::Trouble;
use serde_json::{Value, json};
use toolfence_protocol::Language;

/// Writes one answer.
pub(crate) struct MessagesWriter {
    language: Language,
    id: String,
    model: String,
    /// The estimated tokens of the request, used if the upstream reports none.
    input_tokens: u64,
    /// The number of completed blocks.
    blocks: usize,
    open: Option<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
    Call,
}

impl MessagesWriter {
    pub(crate) fn new(digits: &str, model: String, language: Language) -> MessagesWriter {
        MessagesWriter { language, id: format!("msg_{digits}"), model, input_tokens: 0, blocks: 0, open: None }
    }

    fn message(&self, content: Value, stop_reason: Option<&str>, usage: Value) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": stop_reason, "stop_sequence": null, "usage": usage,
        })
    }

    /// Closes the open block and opens another.
    fn open(&mut self, kind: Block, block: Value, out: &mut String) {
        self.close(out);
        self.open = Some(kind);
        send("content_block_start", json!({"index": self.blocks, "content_block": block}), out);
    }

    fn close(&mut self, out: &mut String) {
        if self.open.take().is_some() {
            send("content_block_stop", json!({"index": self.blocks}), out);
            self.blocks += 1;
        }
    }

    fn delta(&self, delta: Value, out: &mut String) {
        send("content_block_delta", json!({"index": self.blocks, "delta": delta}), out);
    }

    /// Converts the usage to the form of this API.
    fn usage(&self, usage: Option<&Value>) -> Value {
        let count = |pointer: &str| usage.and_then(|usage| usage.pointer(pointer)).and_then(Value::as_u64);
        let cached = count("/prompt_tokens_details/cached_tokens").unwrap_or(0);
        // In the Messages API, `input_tokens` does not include cached tokens. In Chat Completions, `prompt_tokens`
        // does.
        let input = count("/prompt_tokens").unwrap_or(self.input_tokens).saturating_sub(cached);
        json!({
            "input_tokens": input, "output_tokens": count("/completion_tokens").unwrap_or(0),
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached,
        })
    }
}

impl Writer for MessagesWriter {
    fn note_input(&mut self, tokens: u64) {
        self.input_tokens = tokens;
    }

    fn begin(&mut self, out: &mut String) {
        send("message_start", json!({"message": self.message(json!([]), None, self.usage(None))}), out);
    }

    fn event(&mut self, output: &Output, out: &mut String) {
        match output {
            Output::Text(text) => {
                if self.open != Some(Block::Text) {
                    self.open(Block::Text, json!({"type": "text", "text": ""}), out);
                }
                self.delta(json!({"type": "text_delta", "text": text}), out);
            }
            Output::Reasoning(text) => {
                if self.open != Some(Block::Thinking) {
                    self.open(Block::Thinking, json!({"type": "thinking", "thinking": "", "signature": ""}), out);
                }
                self.delta(json!({"type": "thinking_delta", "thinking": text}), out);
            }
            Output::CallStarted { id, name, .. } => {
                self.open(Block::Call, json!({"type": "tool_use", "id": id, "name": name, "input": {}}), out);
            }
            Output::Arguments { text, .. } => {
                self.delta(json!({"type": "input_json_delta", "partial_json": text}), out);
            }
            Output::CallDone { .. } => self.close(out),
            Output::Finished(Finish { reason, usage }) => {
                self.close(out);
                let delta = json!({"stop_reason": stop_reason(reason), "stop_sequence": null});
                send("message_delta", json!({"delta": delta, "usage": self.usage(usage.as_ref())}), out);
                send("message_stop", json!({}), out);
            }
            Output::Failed(trouble) => {
                out.push_str(&format!("event: error\ndata: {}\n\n", error(trouble, self.language)));
            }
        }
    }

    fn complete_answer(&mut self, outputs: Vec<Output>) -> String {
        let (mut content, mut end) = (Vec::new(), None);
        for output in outputs {
            match output {
                Output::Text(text) => content.push(json!({"type": "text", "text": text})),
                Output::Reasoning(text) => content.push(json!({"type": "thinking", "thinking": text, "signature": ""})),
                Output::CallStarted { id, name, .. } => {
                    content.push(json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
                }
                Output::Arguments { text, .. } => {
                    if let Some(call) = content.last_mut() {
                        call["input"] = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
                    }
                }
                Output::Finished(finish) => end = Some(finish),
                Output::CallDone { .. } | Output::Failed(_) => {}
            }
        }
        let reason = end.as_ref().map(|end| stop_reason(&end.reason));
        let usage = self.usage(end.as_ref().and_then(|end| end.usage.as_ref()));
        self.message(content.into(), reason, usage).to_string()
    }
}

/// Writes one event.
fn send(kind: &str, mut event: Value, out: &mut String) {
    event["type"] = kind.into();
    out.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
}

fn stop_reason(reason: &FinishedBy) -> &'static str {
    match reason {
        FinishedBy::Calls => "tool_use",
        FinishedBy::Length => "max_tokens",
        FinishedBy::Other(reason) if reason == "content_filter" => "refusal",
        FinishedBy::Stop | FinishedBy::Other(_) => "end_turn",
    }
}

/// Returns the error object of this API.
pub(crate) fn error(trouble: &Trouble, language: Language) -> String {
    let kind = match trouble.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    let mut error = json!({"type": kind, "message": trouble.message.render(language)});
    if let Some(code) = trouble.code {
        error["details"] = json!({"error_code": code});
    }
    json!({"type": "error", "error": error}).to_string()
}
