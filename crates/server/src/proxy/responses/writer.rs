//! Writes answers of the Responses API.
//!
//! An answer is a list of items: a message, reasoning, or a call. One item is open at a time. It is streamed as events,
//! and added to the answer when it is done. The last event of a stream repeats all items.

use super::reader::Request;
use super::texts::PastTexts;
use super::{CUSTOM_INPUT, Origin, REASONING_ID};
use crate::proxy::output::{Finish, FinishedBy, Output, Writer};
use crate::proxy::trouble::Trouble;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use toolfence_protocol::Language;

/// Writes one answer.
pub(crate) struct ResponsesWriter {
    language: Language,
    /// The suffix of the ids of the answer and its items.
    ids: String,
    created: u64,
    model: String,
    several: bool,
    tool_choice: Value,
    /// The tools whose name or kind of call is different for the client, by their names in the catalog.
    origins: HashMap<String, Origin>,
    /// The estimated tokens of the request, used if the upstream reports none.
    input_tokens: u64,
    sequence: u64,
    /// The completed items.
    items: Vec<Value>,
    open: Option<Open>,
    /// The store for the texts of messages.
    texts: Arc<PastTexts>,
}

/// The item that is being written.
enum Open {
    Message { text: String },
    Reasoning { text: String },
    Call { id: String, origin: Origin, arguments: String },
}

impl ResponsesWriter {
    pub(crate) fn new(
        request: &mut Request<'_>,
        ids: String,
        created: u64,
        language: Language,
        texts: Arc<PastTexts>,
    ) -> ResponsesWriter {
        ResponsesWriter {
            language,
            ids,
            created,
            model: request.asked.model.clone(),
            several: request.asked.several,
            tool_choice: std::mem::take(&mut request.tool_choice),
            origins: std::mem::take(&mut request.origins),
            input_tokens: 0,
            sequence: 0,
            items: Vec::new(),
            open: None,
            texts,
        }
    }

    /// Writes one event.
    fn send(&mut self, kind: &str, mut event: Value, out: &mut String) {
        event["type"] = kind.into();
        event["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    }

    /// Writes an event about the open item.
    fn send_of_item(&mut self, kind: &str, mut event: Value, out: &mut String) {
        event["output_index"] = self.items.len().into();
        if let Some(open) = &self.open {
            event["item_id"] = self.item_id(open).into();
        }
        self.send(kind, event, out);
    }

    fn item_id(&self, open: &Open) -> String {
        let prefix = match open {
            Open::Message { .. } => "msg",
            Open::Reasoning { .. } => REASONING_ID,
            Open::Call { origin, .. } if origin.is_custom => "ctc",
            Open::Call { .. } => "fc",
        };
        format!("{prefix}_{}_{}", self.ids, self.items.len())
    }

    /// Returns the current state of the open item.
    fn item(&self, open: &Open, is_done: bool) -> Value {
        let id = self.item_id(open);
        let status = if is_done { "completed" } else { "in_progress" };
        match open {
            Open::Message { text } => {
                let content = if is_done { json!([text_part(text)]) } else { json!([]) };
                json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content})
            }
            Open::Reasoning { text } => {
                let summary = if is_done { json!([summary_part(text)]) } else { json!([]) };
                json!({"type": "reasoning", "id": id, "summary": summary})
            }
            Open::Call { id: call_id, origin: Origin { name, is_custom: true, .. }, arguments } => {
                let input = if is_done { custom_input(arguments) } else { String::new() };
                json!({
                    "type": "custom_tool_call", "id": id, "call_id": call_id, "name": name, "input": input,
                    "status": status,
                })
            }
            Open::Call { id: call_id, origin: Origin { name, namespace, .. }, arguments } => {
                let arguments = if is_done { arguments } else { "" };
                let mut item = json!({
                    "type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments,
                    "status": status,
                });
                if let Some(namespace) = namespace {
                    item["namespace"] = namespace.as_str().into();
                }
                item
            }
        }
    }

    /// Closes the open item and opens another.
    fn open(&mut self, open: Open, out: &mut String) {
        self.close(out);
        let event = json!({"output_index": self.items.len(), "item": self.item(&open, false)});
        let is_text = matches!(open, Open::Message { .. });
        let is_reasoning = matches!(open, Open::Reasoning { .. });
        self.open = Some(open);
        self.send("response.output_item.added", event, out);
        if is_text {
            self.send_of_item("response.content_part.added", json!({"content_index": 0, "part": text_part("")}), out);
        } else if is_reasoning {
            let event = json!({"summary_index": 0, "part": summary_part("")});
            self.send_of_item("response.reasoning_summary_part.added", event, out);
        }
    }

    /// Ends the open item. A call whose arguments are not complete is left out: a client would run it.
    fn close(&mut self, out: &mut String) {
        match &self.open {
            None => return,
            Some(Open::Message { text }) => {
                let (done, part) = (json!({"content_index": 0, "text": text, "logprobs": []}), text_part(text));
                self.send_of_item("response.output_text.done", done, out);
                self.send_of_item("response.content_part.done", json!({"content_index": 0, "part": part}), out);
            }
            Some(Open::Reasoning { text }) => {
                let (done, part) = (json!({"summary_index": 0, "text": text}), summary_part(text));
                self.send_of_item("response.reasoning_summary_text.done", done, out);
                self.send_of_item(
                    "response.reasoning_summary_part.done",
                    json!({"summary_index": 0, "part": part}),
                    out,
                );
            }
            Some(Open::Call { .. }) => {
                self.open = None;
                return;
            }
        }
        self.item_done(out);
    }

    fn call_done(&mut self, out: &mut String) {
        let Some(Open::Call { origin, arguments, .. }) = &self.open else { return };
        if origin.is_custom {
            let input = custom_input(arguments);
            self.send_of_item("response.custom_tool_call_input.delta", json!({"delta": input}), out);
            self.send_of_item("response.custom_tool_call_input.done", json!({"input": input}), out);
        } else {
            let event = json!({"name": origin.name, "arguments": arguments});
            self.send_of_item("response.function_call_arguments.done", event, out);
        }
        self.item_done(out);
    }

    fn item_done(&mut self, out: &mut String) {
        let Some(open) = &self.open else { return };
        if let Open::Message { text } = open {
            self.texts.keep(self.item_id(open), text.clone());
        }
        let item = self.item(open, true);
        let event = json!({"output_index": self.items.len(), "item": item});
        self.send("response.output_item.done", event, out);
        self.items.push(item);
        self.open = None;
    }

    /// Returns the object of the whole answer.
    fn response(&self, status: &str) -> Value {
        json!({
            "id": format!("resp_{}", self.ids), "object": "response", "created_at": self.created, "status": status,
            "model": self.model, "output": self.items, "parallel_tool_calls": self.several,
            "tool_choice": self.tool_choice, "tools": [], "error": null, "incomplete_details": null,
            "instructions": null, "metadata": {}, "temperature": null, "top_p": null,
        })
    }

    fn finished(&self, finish: &Finish) -> (&'static str, Value) {
        let reason = match &finish.reason {
            FinishedBy::Stop | FinishedBy::Calls => None,
            FinishedBy::Length => Some("max_output_tokens"),
            FinishedBy::Other(reason) => Some(reason.as_str()),
        };
        let mut response = self.response(if reason.is_some() { "incomplete" } else { "completed" });
        if let Some(reason) = reason {
            response["incomplete_details"] = json!({"reason": reason});
        }
        response["usage"] = usage(finish.usage.as_ref(), self.input_tokens);
        (if reason.is_some() { "response.incomplete" } else { "response.completed" }, response)
    }

    fn failed(&mut self, trouble: &Trouble, out: &mut String) {
        self.close(out);
        // Codex ignores `error` events, so a failure is a `response.failed` event.
        let mut response = self.response("failed");
        response["error"] = json!({"code": "server_error", "message": trouble.message.render(self.language)});
        self.send("response.failed", json!({"response": response}), out);
    }
}

impl Writer for ResponsesWriter {
    fn note_input(&mut self, tokens: u64) {
        self.input_tokens = tokens;
    }

    fn begin(&mut self, out: &mut String) {
        for kind in ["response.created", "response.in_progress"] {
            let response = self.response("in_progress");
            self.send(kind, json!({"response": response}), out);
        }
    }

    fn event(&mut self, output: &Output, out: &mut String) {
        match output {
            Output::Text(piece) => {
                if !matches!(self.open, Some(Open::Message { .. })) {
                    self.open(Open::Message { text: String::new() }, out);
                }
                if let Some(Open::Message { text }) = &mut self.open {
                    text.push_str(piece);
                }
                let event = json!({"content_index": 0, "delta": piece, "logprobs": []});
                self.send_of_item("response.output_text.delta", event, out);
            }
            Output::Reasoning(piece) => {
                if !matches!(self.open, Some(Open::Reasoning { .. })) {
                    self.open(Open::Reasoning { text: String::new() }, out);
                }
                if let Some(Open::Reasoning { text }) = &mut self.open {
                    text.push_str(piece);
                }
                let event = json!({"summary_index": 0, "delta": piece});
                self.send_of_item("response.reasoning_summary_text.delta", event, out);
            }
            Output::CallStarted { id, name, .. } => {
                let plain = || Origin { namespace: None, name: name.clone(), is_custom: false };
                let origin = self.origins.get(name).cloned().unwrap_or_else(plain);
                self.open(Open::Call { id: id.clone(), origin, arguments: String::new() }, out);
            }
            Output::Arguments { text, .. } => {
                let Some(Open::Call { arguments, origin, .. }) = &mut self.open else { return };
                arguments.push_str(text);
                // The arguments of a custom tool are JSON around its input, so they cannot be streamed as the input.
                if !origin.is_custom {
                    self.send_of_item("response.function_call_arguments.delta", json!({"delta": text}), out);
                }
            }
            Output::CallDone { .. } => self.call_done(out),
            Output::Finished(finish) => {
                self.close(out);
                let (kind, response) = self.finished(finish);
                self.send(kind, json!({"response": response}), out);
            }
            Output::Failed(trouble) => self.failed(trouble, out),
        }
    }

    fn complete_answer(&mut self, outputs: Vec<Output>) -> String {
        let (mut events, mut response) = (String::new(), Value::Null);
        for output in &outputs {
            self.event(output, &mut events);
            // Only the completed items matter here, so the events are discarded.
            events.clear();
            if let Output::Finished(finish) = output {
                response = self.finished(finish).1;
            }
        }
        response.to_string()
    }

    fn keeps_text(&self) -> bool {
        true
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// Returns the input text of a custom tool from the arguments of its call.
fn custom_input(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    arguments[CUSTOM_INPUT].as_str().unwrap_or_default().to_owned()
}

/// Converts the usage to the form of this API. Some clients refuse an answer without it.
fn usage(usage: Option<&Value>, input: u64) -> Value {
    let count = |pointer: &str| usage.and_then(|usage| usage.pointer(pointer)).and_then(Value::as_u64).unwrap_or(0);
    let input = if usage.is_some() { count("/prompt_tokens") } else { input };
    let output = count("/completion_tokens");
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": count("/prompt_tokens_details/cached_tokens")},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": count("/completion_tokens_details/reasoning_tokens")},
        "total_tokens": count("/total_tokens").max(input.saturating_add(output)),
    })
}
