//! Writes Chat Completions answers.

use crate::proxy::output::{Finish, FinishedBy, Output, Writer};
use crate::proxy::piece::Piece;
use crate::proxy::trouble::Trouble;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolfence_protocol::Language;

/// Writes one answer.
pub(crate) struct ChatWriter {
    language: Language,
    /// The id and the time of the answer, if the upstream sends none.
    id: String,
    created: u64,
    /// The members that all chunks of the answer share, once the upstream has sent them.
    shared: Option<String>,
    /// Whether the client wants the usage at the end of a stream.
    wants_usage: bool,
    /// Whether a chunk with the role was sent.
    has_role: bool,
}

impl ChatWriter {
    pub(crate) fn new(id: String, created: u64, wants_usage: bool, language: Language) -> ChatWriter {
        ChatWriter { language, id, created, shared: None, wants_usage, has_role: false }
    }

    fn shared(&self) -> String {
        let own = || format!("\"id\":{},\"created\":{},\"model\":\"\"", Value::from(self.id.as_str()), self.created);
        self.shared.clone().unwrap_or_else(own)
    }

    /// Writes a chunk that adds `delta` to the message.
    fn chunk(&mut self, mut delta: Value, finish: Option<&str>, out: &mut String) {
        if !std::mem::replace(&mut self.has_role, true) {
            delta["role"] = "assistant".into();
        }
        let (shared, finish) = (self.shared(), Value::from(finish));
        out.push_str(&format!(
            "data: {{\"object\":\"chat.completion.chunk\",{shared},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]}}\n\n"
        ));
    }

    fn finish(&mut self, finish: &Finish, out: &mut String) {
        let delta = if self.has_role { json!({}) } else { json!({"content": ""}) };
        self.chunk(delta, Some(reason(&finish.reason)), out);
        if let Some(usage) = finish.usage.as_ref().filter(|_| self.wants_usage) {
            let shared = self.shared();
            out.push_str(&format!(
                "data: {{\"object\":\"chat.completion.chunk\",{shared},\"choices\":[],\"usage\":{usage}}}\n\n"
            ));
        }
        out.push_str("data: [DONE]\n\n");
    }
}

impl Writer for ChatWriter {
    /// The first piece identifies the answer; those of further requests do not change it.
    fn note_upstream(&mut self, piece: &Piece<'_>) {
        if self.shared.is_some() {
            return;
        }
        let raw = |value: Option<&RawValue>, own: Value| {
            // A line feed would end the event early.
            let fits = |value: &&RawValue| value.get().len() < 4096 && !value.get().contains(['\n', '\r']);
            value.filter(fits).map_or_else(|| own.to_string(), |value| value.get().to_owned())
        };
        let id = raw(piece.id, self.id.as_str().into());
        let created = raw(piece.created, self.created.into());
        let model = raw(piece.model, "".into());
        let fingerprint = raw(piece.system_fingerprint, Value::Null);
        let shared =
            format!("\"id\":{id},\"created\":{created},\"model\":{model},\"system_fingerprint\":{fingerprint}");
        self.shared = Some(shared);
    }

    fn event(&mut self, output: &Output, out: &mut String) {
        let delta = match output {
            Output::Text(text) => json!({"content": text}),
            Output::Reasoning(text) => json!({"reasoning_content": text}),
            Output::CallStarted { index, id, name } => {
                let function = json!({"name": name, "arguments": ""});
                json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
            }
            Output::Arguments { index, text } => {
                json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
            }
            Output::CallDone { .. } => return,
            Output::Finished(finish) => return self.finish(finish, out),
            Output::Failed(trouble) => {
                out.push_str(&format!("data: {}\n\n", error(trouble, self.language)));
                return;
            }
        };
        self.chunk(delta, None, out);
    }

    fn complete_answer(&mut self, outputs: Vec<Output>) -> String {
        let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        let (mut finish, mut usage) = ("stop".to_owned(), String::new());
        for output in outputs {
            match output {
                Output::Text(more) => text.push_str(&more),
                Output::Reasoning(more) => reasoning.push_str(&more),
                Output::CallStarted { id, name, .. } => {
                    calls.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}}));
                }
                Output::Arguments { text, .. } => {
                    if let Some(call) = calls.last_mut() {
                        call["function"]["arguments"] = text.into();
                    }
                }
                Output::Finished(end) => {
                    finish = reason(&end.reason).to_owned();
                    usage = end.usage.map(|usage| format!(",\"usage\":{usage}")).unwrap_or_default();
                }
                Output::CallDone { .. } | Output::Failed(_) => {}
            }
        }
        let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
        let mut message = json!({"role": "assistant", "content": content});
        if !reasoning.is_empty() {
            message["reasoning_content"] = reasoning.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let (shared, finish) = (self.shared(), Value::from(finish));
        format!(
            "{{\"object\":\"chat.completion\",{shared},\"choices\":[{{\"index\":0,\"message\":{message},\"logprobs\":null,\"finish_reason\":{finish}}}]{usage}}}"
        )
    }
}

fn reason(reason: &FinishedBy) -> &str {
    match reason {
        FinishedBy::Stop => "stop",
        FinishedBy::Calls => "tool_calls",
        FinishedBy::Length => "length",
        FinishedBy::Other(reason) => reason,
    }
}

/// Returns the error object of OpenAI's APIs.
pub(crate) fn error(trouble: &Trouble, language: Language) -> String {
    let (message, kind) = (trouble.message.render(language), trouble.kind);
    json!({"error": {"message": message, "type": kind, "param": null, "code": kind}}).to_string()
}
