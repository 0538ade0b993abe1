//! The lines of the pipe in both directions. `schema.json` describes them.

use crate::question::{About, Always};
use serde::Deserialize;
use serde_json::{Value, json};
use toolfence_policy::Pending;
use toolfence_protocol::format::{self, Format};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{
    Args, Effect, ErrorCode, FinishReason, Language, Message, Output, Role, Text, ToolCall, ToolFailure, ToolResult,
    ToolSpec, text,
};
use toolfence_session::{Compacted, StopReason};

/// The version of the protocol, sent as `"v"` in every line. It increases when a field is removed or changes its
/// meaning.
pub const VERSION: u32 = 1;

/// The JSON Schema of the lines, as text: `$defs/in` for the client's lines, `$defs/out` for the pipe's.
pub const SCHEMA: &str = include_str!("schema.json");

/// A line of the client.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ClientLine {
    /// Tools that the client runs itself.
    Tools { tools: Vec<HostTool> },
    /// Changes the options of the session.
    Options {
        #[serde(default)]
        limits: serde_json::Map<String, Value>,
        #[serde(default)]
        results: Results,
    },
    /// A piece of the model's reply.
    Chunk { text: String },
    /// The reply is complete.
    End {
        #[serde(default = "stop")]
        reason: FinishReason,
    },
    /// Approves a call.
    Approve {
        id: String,
        #[serde(default)]
        always: Always,
    },
    /// Approves a call with other arguments, which are judged again.
    Edit { id: String, args: Args },
    /// Denies a call.
    Deny { id: String, reason: Option<String> },
    /// The result of a call that the client ran.
    ToolResult(HostResult),
    /// Ends the turn.
    Cancel {},
}

/// The format of results for the model. Absent fields do not change.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Results {
    format: Option<format::Kind>,
    data: Option<bool>,
    nonce: Option<String>,
    break_tokens: Option<bool>,
}

impl Results {
    pub(super) fn set(self, format: &mut Format) {
        format.kind = self.format.unwrap_or(format.kind);
        format.data = self.data.unwrap_or(format.data);
        format.break_tokens = self.break_tokens.unwrap_or(format.break_tokens);
        if let Some(nonce) = self.nonce {
            format.nonce = Some(nonce).filter(|nonce| !nonce.is_empty());
        }
    }
}

fn stop() -> FinishReason {
    FinishReason::Stop
}

/// A tool of the client, in the form that function calling uses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Value,
    effect: Option<Effect>,
}

impl HostTool {
    /// # Errors
    /// Fails if the name is not valid.
    pub(super) fn spec(self) -> Result<ToolSpec, Text> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(fits) {
            return Err(text!(
                "{name} is not a valid tool name: use 1 to 64 letters, digits, _ - .",
                name = format!("{:?}", self.name)
            ));
        }
        // A tool with no declared effect may do anything.
        let effect = self.effect.unwrap_or(Effect::Execute);
        Ok(ToolSpec::from_json_schema(self.name, self.description, &self.parameters).effect(move |_| effect))
    }
}

/// The result of a call that the client ran.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostResult {
    pub(super) id: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    truncated: bool,
    exit_code: Option<i32>,
    data: Option<Value>,
    error: Option<HostError>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostError {
    code: ErrorCode,
    message: String,
}

impl HostResult {
    /// Converts the result to the output of the tool.
    pub(super) fn output(self) -> Output {
        let mut output = Output::text(self.output);
        output.truncated = self.truncated;
        output.exit_code = self.exit_code;
        output.data = self.data;
        output.failure = self.error.map(|error| ToolFailure::new(error.code, error.message));
        output
    }
}

/// Builds a line. Version and event come first, for human readers.
fn event_line(event: &str, fields: Value) -> Value {
    let mut line = json!({"v": VERSION, "event": event});
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
    }
    line
}

pub(super) fn ready(instructions: &str, tools: &[&str]) -> Value {
    let fields = json!({"version": env!("CARGO_PKG_VERSION"), "instructions": instructions, "tools": tools});
    event_line("ready", fields)
}

/// Builds the line for a part of the reply, as `coder parse` prints it, in the given language.
pub fn reply_event(event: &Event<'_>, language: Language) -> Value {
    let mut fields = serde_json::to_value(event).unwrap_or_default();
    if let Event::Malformed { error, .. } = event {
        fields["error"]["message"] = error.message.render(language).into();
    }
    let name = fields["event"].as_str().unwrap_or_default().to_owned();
    event_line(&name, fields)
}

/// Builds the question whether a call may run, or whether to keep its changes.
pub fn ask(pending: &Pending, language: Language) -> Value {
    let (call, decision) = (pending.call(), pending.decision());
    let always: Vec<String> = pending.always().unwrap_or_default().iter().map(ToString::to_string).collect();
    let mut fields = call_fields(call);
    fields["effect"] = json!(pending.effect());
    fields["rule"] = decision.rule.as_str().into();
    fields["why"] = decision.reason.render(language).into();
    fields["commands"] = json!(decision.commands);
    fields["targets"] = json!(decision.targets);
    fields["always"] = json!(always);
    fields["project"] = pending.all_changes().is_some().into();
    fields["about"] = json!(About::describe(pending));
    if let Some(diff) = pending.diff() {
        fields[if pending.has_run() { "changes" } else { "diff" }] = diff.into();
    }
    event_line("ask", fields)
}

/// Builds the line for a call that begins to run, in the pipe or, with the event `run`, in the client.
pub fn begins(event: &str, call: &ToolCall) -> Value {
    event_line(event, call_fields(call))
}

fn call_fields(call: &ToolCall) -> Value {
    json!({"id": call.id, "tool": call.name, "args": call.args, "reason": call.reason})
}

/// Builds the line for the progress of a running call.
pub fn progress(id: &str, note: &str) -> Value {
    event_line("note", json!({"id": id, "text": note}))
}

/// Builds the line for the result of a call.
pub fn result(result: &ToolResult, language: Language) -> Value {
    event_line("result", format::envelope(result, language))
}

/// Builds the line with the messages that replace those of the turn, without the last one: it has the results and
/// follows in its own line.
pub fn compacted(done: &Compacted, messages: &[Message]) -> Value {
    let mut fields = serde_json::to_value(done).unwrap_or_default();
    // Messages of the pipe have no images.
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("images");
    }
    // The session does not have the user's prompt: a user message before the first reply is a note.
    let (note, turn) = match messages {
        [first, rest @ ..] if first.role == Role::User => (first.content.trim(), rest),
        all => ("", all),
    };
    fields["note"] = json!(Some(note).filter(|note| !note.is_empty()));
    fields["turn"] = json!(turn);
    event_line("compacted", fields)
}

pub(crate) fn results(text: &str) -> Value {
    event_line("results", json!({"text": text}))
}

pub(super) fn stop_model() -> Value {
    event_line("stop_model", json!({}))
}

/// Builds the line for the end of a turn. The client must put `text` at the beginning of its next user message.
pub fn end_line(reason: &StopReason, text: Option<&str>) -> Value {
    event_line("stop", json!({"reason": reason.name(), "text": text}))
}

/// Builds the line for lost events of an HTTP stream. The records of this turn have their content.
#[cfg(feature = "http")]
pub(crate) fn gap(turn: u64) -> Value {
    event_line("gap", json!({"turn": turn}))
}

/// Builds the line for an error.
pub fn error(message: &Text, language: Language) -> Value {
    event_line("error", json!({"message": message.render(language)}))
}
