//! The records of a transcript.

use super::VERSION;
use crate::redact::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use toolfence_protocol::{Args, ErrorCode, Image, Language, Message, Text, ToolCall, ToolFailure, ToolResult};

/// The role of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The first line, which describes the session. Its content is the instructions.
    Head,
    /// A message of the user.
    User,
    /// A reply of the model.
    Assistant,
    /// A call and its result.
    Tool,
    /// Another text for the model, or a change of the conversation.
    #[default]
    Note,
}

/// The kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// The model received this text in addition to messages of the user and results of tools.
    Told,
    /// The end of a turn that has no answer. Not sent to the model.
    End,
    /// The conversation was replaced as a whole by the `history` of the record. Only earlier versions write this.
    History,
    /// The user removed the last turn. It is no longer sent to the model.
    #[serde(rename = "taken_back")]
    TakenBack,
    /// The user cleared the conversation and began another one. Not sent to the model.
    Cleared,
}

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// The version of the record's format.
    pub v: u32,
    /// Unique in the session.
    pub id: String,
    /// The previous record, or `None` for the head.
    pub parent: Option<String>,
    /// The role of the record.
    pub role: Role,
    /// The time of writing: RFC 3339 in UTC, with milliseconds.
    pub timestamp: String,
    /// The user turn of the record, counted from 1; 0 for the head.
    #[serde(default)]
    pub turn: u64,
    /// The text for people: the user's words, the prose of a reply without its calls, or a note.
    #[serde(default)]
    pub content: String,
    /// The images of a user's message or of a tool's result. Images are not redacted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The description of the session. Only a head has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Head>,
    /// The kind of a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The whole text of a reply, if it differs from the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The text of a reply that is sent back to the model, if it differs from both `raw` and the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The reasoning of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<String>,
    /// The model that wrote a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The usage of a reply, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The duration of a reply, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<RecordedTimes>,
    /// The state that the backend of a reply needs with the next request, if that backend keeps the conversation by
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether a reply has calls, whose records follow. If no record follows, the process was killed while the first
    /// call ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_calls: bool,
    /// The call of a record with the role `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<RecordedCall>,
    /// The result of the call of a record with the role `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<RecordedResult>,
    /// The messages of a note of the kind `history`, which replace all earlier ones for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Message>>,
    /// The images of that history, which earlier records contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history_images: Vec<HistoryImage>,
}

/// An image of a history that was replaced as a whole. It refers to an earlier record, since each image is only written
/// once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryImage {
    /// The message of the history, counted from 0.
    pub message: usize,
    /// The record that contains the image.
    pub record: String,
    /// The index among its images, counted from 0.
    pub image: usize,
}

/// The description of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Head {
    /// The name of the session.
    pub id: String,
    /// The root of the session's project.
    pub root: String,
    /// The first words of the user.
    #[serde(default)]
    pub title: String,
    /// The model at the beginning of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
}

/// The origin of a forked session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The session.
    pub session: String,
    /// The last record that both sessions have.
    pub message: String,
}

/// The tokens of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// Tokens of the request that the server had cached.
    #[serde(default)]
    pub cached: u64,
    /// Whether these numbers are estimates, because the server reported none.
    #[serde(default)]
    pub estimated: bool,
}

/// The duration of a reply in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTimes {
    /// From the request to the end of the reply.
    pub total_ms: u64,
    /// From the request to the first piece of the reply, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
}

/// An answer to the question whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// `yes`, `always`, `no`, `edit`, or `nobody` if there was no user to ask.
    pub answer: String,
    /// The time until the answer, in milliseconds.
    #[serde(default)]
    pub ms: u64,
    /// The reason for a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A call as it was parsed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The id of the call in the reply.
    pub id: String,
    /// The tool; empty if the block named none.
    pub name: String,
    /// The arguments of the call.
    #[serde(default)]
    pub args: Args,
    /// The model's reason for the call.
    #[serde(default)]
    pub reason: Option<String>,
    /// The names of the repairs that were necessary to parse it.
    #[serde(default)]
    pub repairs: Vec<String>,
    /// The decision about the call, if one was made.
    #[serde(default)]
    pub decision: Option<RecordedDecision>,
    /// The answers of the user, if the call needed approval. An edited call needs approval again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<RecordedAnswer>,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDecision {
    /// The rule, or `None` if only the result shows that it was denied.
    pub rule: Option<String>,
    /// Why the rule applies. Records of version 1 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// `policy`, `person`, or `nobody` if there was no user to ask.
    pub by: String,
}

/// The result of a call: its output, or why it did not run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecordedResult {
    /// The tool's name in the catalog.
    pub tool_name: String,
    /// Whether the call succeeded.
    pub success: bool,
    /// The exit status of a command.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The output that the model received.
    #[serde(default)]
    pub output: String,
    /// Whether the output was shortened.
    #[serde(default)]
    pub truncated: bool,
    /// The size of the whole output in bytes.
    #[serde(default)]
    pub output_bytes: u64,
    /// The duration in milliseconds.
    #[serde(default)]
    pub execution_time_ms: u64,
    /// Why the call failed.
    #[serde(default)]
    pub error: Option<RecordedError>,
    /// The data for hosts: diffs, files, ranges.
    #[serde(default)]
    pub data: Option<Value>,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedError {
    /// The kind of failure.
    pub code: String,
    /// The message for the model.
    pub message: String,
    /// Suggestions for another attempt.
    #[serde(default)]
    pub suggestions: Vec<String>,
}

impl Record {
    /// Creates a record without any optional field.
    pub(super) fn new(role: Role, content: impl Into<String>) -> Record {
        Record { v: VERSION, role, content: content.into(), ..Record::default() }
    }

    /// Returns the text of a reply that is sent back to the model.
    pub fn sent_text(&self) -> &str {
        self.kept.as_deref().or(self.raw.as_deref()).unwrap_or(&self.content)
    }

    /// Returns a reply as the model wrote it.
    pub fn written_text(&self) -> &str {
        self.raw.as_deref().unwrap_or(&self.content)
    }

    /// Returns the result in a record of the role `tool` in the session's form, or `None` for any other record.
    pub(super) fn result(&self) -> Option<ToolResult> {
        let (call, result) = (self.tool_call.as_ref()?, self.tool_result.as_ref()?);
        // The constructor of a failed result needs a failure, which the fields below overwrite.
        let mut restored = ToolResult::refused(&call.id, &result.tool_name, ToolFailure::new(ErrorCode::IoError, ""));
        restored.success = result.success;
        restored.output.clone_from(&result.output);
        restored.truncated = result.truncated;
        restored.output_bytes = result.output_bytes;
        restored.execution_time_ms = result.execution_time_ms;
        restored.exit_code = result.exit_code;
        restored.data.clone_from(&result.data);
        restored.error = result.error.as_ref().map(|error| {
            // An unknown code of a later version still means a failure.
            let code = serde_json::from_value(Value::from(error.code.as_str())).unwrap_or(ErrorCode::IoError);
            ToolFailure::new(code, error.message.clone()).suggest(error.suggestions.iter().cloned())
        });
        restored.images.clone_from(&self.images);
        Some(restored)
    }

    /// Removes secrets from the record.
    pub fn redact(&mut self, redactor: &Redactor) {
        let clean = |text: &mut String| {
            if let Cow::Owned(new) = redactor.text(text) {
                *text = new;
            }
        };
        clean(&mut self.content);
        let replies = [&mut self.raw, &mut self.kept, &mut self.thoughts];
        replies.into_iter().flatten().for_each(clean);
        if let Some(head) = &mut self.session {
            clean(&mut head.title);
        }
        if let Some(call) = &mut self.tool_call {
            if let Value::Object(args) = redactor.value(&Value::Object(std::mem::take(&mut call.args))) {
                call.args = args;
            }
            call.reason.iter_mut().for_each(clean);
            call.asked.iter_mut().filter_map(|asked| asked.why.as_mut()).for_each(clean);
            call.decision.iter_mut().filter_map(|decision| decision.reason.as_mut()).for_each(clean);
        }
        if let Some(result) = &mut self.tool_result {
            clean(&mut result.output);
            result.data = result.data.as_ref().map(|data| redactor.value(data));
            if let Some(error) = &mut result.error {
                clean(&mut error.message);
                error.suggestions.iter_mut().for_each(clean);
            }
        }
        // The name of an image may be a path with a secret in it. Its bytes are not redacted.
        let rename = |images: &mut Vec<Image>| {
            for image in images {
                if let Cow::Owned(name) = redactor.text(image.name()) {
                    *image = image.clone().named(name);
                }
            }
        };
        rename(&mut self.images);
        for message in self.history.iter_mut().flatten() {
            clean(&mut message.content);
            rename(&mut message.images);
        }
    }
}

impl RecordedCall {
    /// Returns the call, if it could be parsed.
    pub(super) fn call(&self) -> Option<ToolCall> {
        if self.name.is_empty() {
            return None;
        }
        let mut call = ToolCall::new(&self.id, &self.name, self.args.clone());
        call.reason.clone_from(&self.reason);
        Some(call)
    }

    /// Creates the record of a parsed call.
    pub(super) fn from_call(call: &ToolCall) -> RecordedCall {
        RecordedCall {
            id: call.id.clone(),
            name: call.name.clone(),
            args: call.args.clone(),
            reason: call.reason.clone(),
            repairs: call.repairs.iter().map(|repair| repair.name().to_owned()).collect(),
            decision: None,
            asked: Vec::new(),
        }
    }
}

impl RecordedResult {
    /// Creates the record of a result. Its failure is written in the language that the model received it in.
    pub(super) fn from_result(result: &ToolResult, language: Language) -> RecordedResult {
        let words = |text: &Text| text.render(language);
        RecordedResult {
            tool_name: result.tool.clone(),
            success: result.success,
            exit_code: result.exit_code,
            output: result.output.clone(),
            truncated: result.truncated,
            output_bytes: result.output_bytes,
            execution_time_ms: result.execution_time_ms,
            error: result.error.as_ref().map(|error| RecordedError {
                code: code(error.code),
                message: words(&error.message),
                suggestions: error.suggestions.clone(),
            }),
            data: result.data.clone(),
        }
    }
}

/// Returns the name of a kind of failure.
fn code(code: ErrorCode) -> String {
    serde_json::to_value(code).ok().and_then(|code| code.as_str().map(str::to_owned)).unwrap_or_default()
}
