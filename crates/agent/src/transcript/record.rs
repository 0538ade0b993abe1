//! The records of a transcript: what a line holds.

use super::VERSION;
use crate::redact::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use toolfence_protocol::{Args, ErrorCode, Image, Language, Message, Text, ToolCall, ToolFailure, ToolResult};

/// Whose a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The first line: what the session is. Its content is the instructions.
    Head,
    /// What the user said.
    User,
    /// A reply of the model.
    Assistant,
    /// A call and its result.
    Tool,
    /// What else the model was told, or what happened to the conversation.
    #[default]
    Note,
}

/// What a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// The model was told this besides what the user said and what tools gave back.
    Told,
    /// How a turn ended that has no answer. No model is told it.
    End,
    /// The conversation was replaced as a whole by the `history` of the record. Only earlier versions write this.
    History,
    /// The user took back the last turn. It is no longer sent to the model.
    #[serde(rename = "taken_back")]
    TakenBack,
    /// The user put the conversation aside and began another one. No model is told it.
    Cleared,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// The version of its form.
    pub v: u32,
    /// Unique in the session.
    pub id: String,
    /// The record before it; none for the head.
    pub parent: Option<String>,
    /// Whose it is.
    pub role: Role,
    /// When it was written: RFC 3339 in UTC, with milliseconds.
    pub timestamp: String,
    /// The user turn it belongs to, counted from 1; 0 for the head.
    #[serde(default)]
    pub turn: u64,
    /// What a person reads: the user's words, the prose of a reply without its calls, a note.
    #[serde(default)]
    pub content: String,
    /// Of a user or a tool: what the message or the result shows. Nothing is taken out of an image, whatever stands in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Of a head: what the session is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Head>,
    /// Of a note: what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Of a reply: all of it as the model wrote it, where that is not the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Of a reply: what of it went back to the model, where that is neither `raw` nor the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Of a reply: what the model thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<String>,
    /// Of a reply: who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of a reply: what it cost, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Of a reply: how long it took, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<RecordedTimes>,
    /// Of a reply: what its backend wants back with the next request, for it keeps the conversation by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Of a reply: it has calls, and their records follow. If none does, the process was killed while the first call ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_calls: bool,
    /// Of a tool: the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<RecordedCall>,
    /// Of a tool: the result of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<RecordedResult>,
    /// Of a note of the kind `history`: what the model is sent instead of all before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Message>>,
    /// Of such a note: the images of that history, which stand in records before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history_images: Vec<HistoryImage>,
}

/// An image of a history that was replaced as a whole: an image is written down once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryImage {
    /// The message of the history, counted from 0.
    pub message: usize,
    /// The record that has the image.
    pub record: String,
    /// Which of its images, counted from 0.
    pub image: usize,
}

/// What a session is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Head {
    /// Its name.
    pub id: String,
    /// The project it is about.
    pub root: String,
    /// The first words of the user.
    #[serde(default)]
    pub title: String,
    /// Who answered when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
}

/// Where a session was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The session.
    pub session: String,
    /// The last of its records that this one has too.
    pub message: String,
}

/// Tokens of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// What was sent.
    pub input: u64,
    /// What came back.
    pub output: u64,
    /// What of that which was sent the server still knew.
    #[serde(default)]
    pub cached: u64,
    /// Whether they were counted here because the server did not tell.
    #[serde(default)]
    pub estimated: bool,
}

/// How long a reply took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTimes {
    /// From the request to the end of the reply.
    pub total_ms: u64,
    /// Until its first piece, where one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
}

/// An answer to the question whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// `yes`, `always`, `no`, `edit`, or `nobody` where nobody was there to be asked.
    pub answer: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub ms: u64,
    /// The reason for a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A call as it was read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecordedCall {
    /// Its id in the reply.
    pub id: String,
    /// The tool; empty where the block named none.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Args,
    /// Why the model wanted it, in its words.
    #[serde(default)]
    pub reason: Option<String>,
    /// What had to be repaired to read it, by name.
    #[serde(default)]
    pub repairs: Vec<String>,
    /// What was decided about it; none where it did not come to that.
    #[serde(default)]
    pub decision: Option<RecordedDecision>,
    /// What was answered where somebody was asked about it. A call that was edited is asked about again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<RecordedAnswer>,
}

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDecision {
    /// The rule; none where a result alone tells that it was denied.
    pub rule: Option<String>,
    /// Why the rule applies. Records of version 1 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// `policy`, `person`, or `nobody` where nobody was there to be asked.
    pub by: String,
}

/// The result of a call: what the tool gave back, or why it did not run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecordedResult {
    /// The tool, as the catalog names it.
    pub tool_name: String,
    /// Whether it did what was asked.
    pub success: bool,
    /// The status of a command.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// What the model read.
    #[serde(default)]
    pub output: String,
    /// Whether that is less than there was.
    #[serde(default)]
    pub truncated: bool,
    /// Bytes of all there was.
    #[serde(default)]
    pub output_bytes: u64,
    /// How long it took.
    #[serde(default)]
    pub execution_time_ms: u64,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<RecordedError>,
    /// What hosts get: diffs, files, ranges.
    #[serde(default)]
    pub data: Option<Value>,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedError {
    /// Which kind.
    pub code: String,
    /// What the model was told.
    pub message: String,
    /// What to try instead.
    #[serde(default)]
    pub suggestions: Vec<String>,
}

impl Record {
    /// A record without anything in it.
    pub(super) fn new(role: Role, content: impl Into<String>) -> Record {
        Record { v: VERSION, role, content: content.into(), ..Record::default() }
    }

    /// What of a reply goes back to the model.
    pub fn sent(&self) -> &str {
        self.kept.as_deref().or(self.raw.as_deref()).unwrap_or(&self.content)
    }

    /// A reply as the model wrote it.
    pub fn written(&self) -> &str {
        self.raw.as_deref().unwrap_or(&self.content)
    }

    /// The result in a record of the role `tool`, in the form in which a session takes results. `None` for any other record.
    pub(super) fn result(&self) -> Option<ToolResult> {
        let (call, result) = (self.tool_call.as_ref()?, self.tool_result.as_ref()?);
        let mut told = ToolResult::refused(&call.id, &result.tool_name, ToolFailure::new(ErrorCode::IoError, ""));
        told.success = result.success;
        told.output.clone_from(&result.output);
        told.truncated = result.truncated;
        told.output_bytes = result.output_bytes;
        told.execution_time_ms = result.execution_time_ms;
        told.exit_code = result.exit_code;
        told.data.clone_from(&result.data);
        told.error = result.error.as_ref().map(|error| {
            // A code of a later version is a failure all the same.
            let code = serde_json::from_value(Value::from(error.code.as_str())).unwrap_or(ErrorCode::IoError);
            ToolFailure::new(code, error.message.clone()).suggest(error.suggestions.iter().cloned())
        });
        told.images.clone_from(&self.images);
        Some(told)
    }

    /// Takes the secrets out of a self.
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
    /// The call, if it could be read.
    pub(super) fn call(&self) -> Option<ToolCall> {
        if self.name.is_empty() {
            return None;
        }
        let mut call = ToolCall::new(&self.id, &self.name, self.args.clone());
        call.reason.clone_from(&self.reason);
        Some(call)
    }

    /// A call that was read.
    pub(super) fn of(call: &ToolCall) -> RecordedCall {
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
    /// Makes the record of a result. Its failure is written in the language in which the model was told of it.
    pub(super) fn of(result: &ToolResult, language: Language) -> RecordedResult {
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

/// The name of a kind of failure.
fn code(code: ErrorCode) -> String {
    serde_json::to_value(code).ok().and_then(|code| code.as_str().map(str::to_owned)).unwrap_or_default()
}
