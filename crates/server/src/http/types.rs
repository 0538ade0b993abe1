//! The types of request bodies and answers in JSON. Every answer is serialized from one of them, and every request body
//! is read into one.
//!
//! `openapi.json` is generated from them. Their doc comments are its descriptions, so they are written for users of the
//! API.

use super::request::NamedField;
use crate::question::{About, Always};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use toolfence_agent::transcript::{Record, Summary, rfc3339};
use toolfence_protocol::{
    Args, Effect, ErrorCode, FinishReason, Language, Param, ParamKind, ToolFailure, ToolResult, ToolSpec,
};

#[cfg(test)]
use super::openapi::{self, ToolArgs};
#[cfg(test)]
use schemars::JsonSchema;

/// The most characters of a prompt.
pub(super) const MOST_OF_PROMPT: usize = 200_000;

// Request bodies.

/// Field names may also be written in camelCase: toolType, contextHistory.
#[cfg_attr(test, derive(JsonSchema), schemars(untagged))]
pub(super) enum AgentRequest {
    Model(ModelRequest),
    Direct(DirectRequest),
}

/// A model answers.
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct ModelRequest {
    #[cfg_attr(test, schemars(flatten))]
    pub(super) turn: TurnRequest,
    /// The client's record of earlier turns, newest last. Only the last 20 entries are used.
    pub(super) context_history: Option<NamedField<ContextHistory>>,
}

/// A model answers in a conversation, which keeps its own context.
#[cfg_attr(test, derive(JsonSchema), schemars(transform = openapi::may_be("direct", false)))]
pub(super) struct TurnRequest {
    /// The request of the user.
    #[cfg_attr(test, schemars(length(min = 1, max = MOST_OF_PROMPT), regex(pattern = r"\S")))]
    pub(super) prompt: NamedField<String>,
    /// auto, or the name or an alias of the one tool that the model may use.
    pub(super) tool_type: Option<NamedField<String>>,
    /// The persona that answers: a name from /api/personas.
    pub(super) persona: Option<NamedField<String>>,
    /// Send events instead of one answer.
    #[cfg_attr(test, schemars(default))]
    pub(super) stream: bool,
}

/// A tool runs without a model. It is named by tool_type or toolType.
#[cfg_attr(test, derive(JsonSchema), schemars(transform = openapi::require_value("direct", true)))]
pub(super) struct DirectRequest {
    /// The tool.
    pub(super) tool_type: Option<NamedField<String>>,
    /// The persona that has the tool: a name from /api/personas.
    pub(super) persona: Option<NamedField<String>>,
    #[cfg_attr(test, schemars(with = "Option<ToolArgs>"))]
    pub(super) args: Option<Args>,
    /// No model reads it.
    #[cfg_attr(test, schemars(length(min = 1, max = MOST_OF_PROMPT), regex(pattern = r"\S")))]
    pub(super) prompt: Option<NamedField<String>>,
    /// No model reads it.
    pub(super) context_history: Option<NamedField<ContextHistory>>,
    /// Send events instead of one answer.
    #[cfg_attr(test, schemars(default))]
    pub(super) stream: bool,
}

/// The entries of the client's context that are used.
#[cfg_attr(test, derive(JsonSchema), schemars(transparent, inline))]
pub(super) struct ContextHistory {
    pub(super) entries: Vec<Context>,
    /// The number of older entries that were left out.
    #[cfg_attr(test, schemars(skip))]
    pub(super) dropped: usize,
}

/// An earlier request of the user and its outcome.
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Context {
    pub(super) timestamp: String,
    pub(super) prompt: String,
    pub(super) result: String,
}

/// A reply of a model, or a piece of one.
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct ReplyRequest {
    pub(super) text: String,
    /// Why the reply ended: by itself, by the model's length limit, or because its stream broke.
    #[cfg_attr(test, schemars(default = "openapi::stopped", schema_with = "openapi::finish"))]
    pub(super) finish: FinishReason,
    /// More pieces of this reply follow; its calls run after the last one.
    #[cfg_attr(test, schemars(default))]
    pub(super) more: bool,
    /// Send events instead of one answer.
    #[cfg_attr(test, schemars(default))]
    pub(super) stream: bool,
}

/// The decision about a waiting call.
#[cfg_attr(test, derive(JsonSchema), schemars(untagged))]
pub(super) enum ApprovalRequest {
    Approval(Approval),
    Edit(Edit),
    Denial(Denial),
}

/// Run it, or keep what it changed.
#[cfg_attr(test, derive(JsonSchema), schemars(transform = openapi::require_value("decision", "approve")))]
pub(super) struct Approval {
    /// true: also run similar calls, or keep their changes, for the rest of the turn. "project": keep all changes in
    /// the project for the rest of the turn, if the question's field project is true.
    #[cfg_attr(test, schemars(default, schema_with = "openapi::always"))]
    pub(super) always: Always,
}

/// Run it with these arguments, if the policy agrees. A call that has run cannot be edited.
#[cfg_attr(test, derive(JsonSchema), schemars(transform = openapi::require_value("decision", "edit")))]
pub(super) struct Edit {
    #[cfg_attr(test, schemars(with = "ToolArgs"))]
    pub(super) args: Args,
}

/// Do not run it, or drop what it changed.
#[cfg_attr(test, derive(JsonSchema), schemars(transform = openapi::require_value("decision", "deny")))]
pub(super) struct Denial {
    /// The reason that the model receives.
    pub(super) reason: Option<String>,
}

/// An empty object.
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
pub(super) struct CancelRequest {}

/// The token, which is exchanged for a cookie.
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct LoginRequest {
    pub(super) token: String,
}

/// Markdown text of a model.
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct MarkdownRequest {
    pub(super) text: String,
}

/// An empty object.
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
pub(super) struct UndoRequest {}

// Answers.

/// A field with a constant value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Is<const VALUE: bool>;

impl<const VALUE: bool> Serialize for Is<VALUE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(VALUE)
    }
}

/// The request succeeded.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "{T}Answer"))]
pub(super) struct Done<T> {
    pub(super) success: Is<true>,
    /// One sentence that describes what happened.
    pub(super) message: String,
    pub(super) data: T,
    pub(super) error: (),
}

/// The request was refused.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Refusal {
    pub(super) success: Is<false>,
    /// One sentence that describes the problem.
    pub(super) message: String,
    pub(super) data: (),
    pub(super) error: Failure,
}

/// The problem, for programs and for people.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Failure {
    pub(super) code: Cow<'static, str>,
    /// The field of the request that is wrong.
    pub(super) field: Option<String>,
    pub(super) message: String,
}

/// A turn has ended or waits for an approval.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct AgentAnswer {
    /// false if the turn has no answer.
    pub(super) success: bool,
    /// One sentence that describes what happened.
    pub(super) message: String,
    pub(super) data: TurnSoFar,
    pub(super) error: Option<Failure>,
}

/// The results of a turn so far.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Turn"))]
pub(super) struct TurnSoFar {
    /// The prose of the last reply; null for a direct call.
    pub(super) answer: Option<String>,
    pub(super) calls: Vec<Call>,
    /// The number of requests to the model.
    pub(super) rounds: u32,
    /// The reason why the turn ended; null while it waits for an approval or for the model's next reply.
    #[cfg_attr(test, schemars(schema_with = "openapi::stop"))]
    pub(super) stop: Option<&'static str>,
    pub(super) usage: Option<Tokens>,
    /// The number of context entries that were left out.
    pub(super) context_dropped: usize,
    /// The conversation that records the turn.
    pub(super) session: Option<String>,
    /// For a reply that the client has sent: the text to send to the model; null if the model has nothing to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) results: Option<String>,
    pub(super) pending: Option<PendingCall>,
}

impl TurnSoFar {
    /// Returns the state of a turn of this conversation in which nothing has happened.
    pub(super) fn new(session: String) -> TurnSoFar {
        TurnSoFar {
            answer: None,
            calls: Vec::new(),
            rounds: 0,
            stop: None,
            usage: None,
            context_dropped: 0,
            session: Some(session),
            results: None,
            pending: None,
        }
    }
}

/// A call with its result.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Call {
    /// Unique within one reply of the model.
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "i32"))]
    pub(super) exit_code: Option<i32>,
    pub(super) output: String,
    /// Whether a part of the output was cut.
    pub(super) truncated: bool,
    /// Bytes of the whole output.
    pub(super) output_bytes: u64,
    pub(super) execution_time_ms: u64,
    pub(super) error: Option<CallError>,
    /// Data that the model does not receive: diffs, files, ranges, and output_id, the name of an output that was too
    /// long.
    pub(super) data: Option<Value>,
    /// null for a block that cannot be read.
    #[cfg_attr(test, schemars(with = "Option<ToolArgs>"))]
    pub(super) args: Option<Args>,
}

impl Call {
    /// Returns the call with this result, and with the arguments that it ran with.
    pub(super) fn new(result: &ToolResult, args: Option<Args>, language: Language) -> Call {
        let error = result.error.as_ref().map(|ToolFailure { code, message, suggestions, .. }| CallError {
            code: *code,
            message: message.render(language),
            suggestions: suggestions.clone(),
        });
        Call {
            id: result.id.clone(),
            tool: result.tool.clone(),
            success: result.success,
            exit_code: result.exit_code,
            output: result.output.clone(),
            truncated: result.truncated,
            output_bytes: result.output_bytes,
            execution_time_ms: result.execution_time_ms,
            error,
            data: result.data.clone(),
            args,
        }
    }
}

/// The reason why a call failed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct CallError {
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) code: ErrorCode,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) suggestions: Vec<String>,
}

/// A call that waits for an approval: before it runs, or before what it changed is kept.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Pending"))]
pub(super) struct PendingCall {
    pub(super) id: String,
    pub(super) tool: String,
    #[cfg_attr(test, schemars(with = "ToolArgs"))]
    pub(super) args: Args,
    /// The reason that the model gave for the call.
    pub(super) reason: Option<String>,
    #[cfg_attr(test, schemars(schema_with = "openapi::effect"))]
    pub(super) effect: Effect,
    /// The name of the rule that asks.
    pub(super) rule: String,
    /// The reason for the question, in a sentence.
    pub(super) why: String,
    /// The simple commands that would run.
    pub(super) commands: Vec<String>,
    /// The files that would change.
    pub(super) targets: Vec<ChangedFile>,
    /// The rules that always would allow for the rest of the turn.
    pub(super) always: Vec<String>,
    /// Whether always: "project" is accepted.
    pub(super) project: bool,
    /// call: may it run? changes: it ran on a private copy of the project; keep its changes? output: copy its build
    /// output into the project? network: it failed without network; may it run again with it?
    pub(super) about: About,
    /// Before the call runs, the change as a unified diff; null if it is not text or not known. After the call has run,
    /// its changes: removals, then diffs, then new files.
    pub(super) diff: Option<String>,
    /// The id in the path of POST /api/approvals/{id}.
    pub(super) approval: String,
}

impl PendingCall {
    /// Returns the call in question, with the id of its approval.
    pub(super) fn new(
        pending: &toolfence_policy::Pending,
        approval: &str,
        diff: Option<String>,
        language: Language,
    ) -> PendingCall {
        let (call, decision) = (pending.call(), pending.decision());
        let target = |target: &toolfence_policy::Target| ChangedFile {
            name: target.name.clone(),
            written: target.written.clone(),
            link: target.link.clone(),
        };
        PendingCall {
            id: call.id.clone(),
            tool: call.name.clone(),
            args: call.args.clone(),
            reason: call.reason.clone(),
            effect: pending.effect(),
            rule: decision.rule.clone(),
            why: decision.reason.render(language),
            commands: decision.commands.clone(),
            targets: decision.targets.iter().map(target).collect(),
            always: pending.always().unwrap_or_default().iter().map(ToString::to_string).collect(),
            project: pending.all_changes().is_some(),
            about: About::describe(pending),
            diff,
            approval: approval.to_owned(),
        }
    }
}

/// A file that a call would change.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Target"))]
pub(super) struct ChangedFile {
    /// The real path in the project.
    pub(super) name: String,
    /// The path in the call's arguments, if it is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) written: Option<String>,
    /// The symbolic link that the path leads through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) link: Option<String>,
}

/// Token counts.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Usage"))]
pub(super) struct Tokens {
    pub(super) input: u64,
    /// The part of the input that the model's server had in its cache.
    pub(super) cached: u64,
    pub(super) output: u64,
    /// Whether a part of the counts is an estimate from the length of the texts.
    pub(super) estimated: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline, rename = "Approval"))]
pub(super) struct Answered {
    pub(super) answer: Decided,
}

/// The decision about a call that waited.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) enum Decided {
    Approved,
    Edited,
    Denied,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Login {
    /// The value that a page sends with the cookie in the header X-Page-Key.
    pub(super) page_key: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Html {
    /// HTML without scripts, styles and images. HTML in the Markdown is text, and links lead to http, https and mailto.
    pub(super) html: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Health {
    pub(super) status: Status,
    pub(super) version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) enum Status {
    Ok,
}

/// The project that is served, and the model that answers.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct ProjectOverview {
    /// The path of its folder.
    pub(super) folder: String,
    /// The git branch of the folder; null without a repository, and if no branch is checked out.
    pub(super) branch: Option<String>,
    pub(super) model: Option<String>,
    /// The base URL of the model's server.
    pub(super) server: Option<String>,
    /// The size of the model's context window in tokens, if the settings specify one.
    pub(super) window: Option<u64>,
    /// The price of a million tokens, if the settings specify one for this model.
    pub(super) price: Option<TokenPrice>,
}

/// The price of a million tokens, in the user's currency.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct TokenPrice {
    pub(super) input: f64,
    /// Input that the server of the model had in its cache.
    pub(super) cached: f64,
    pub(super) output: f64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Files {
    /// Paths relative to the folder of the project. The path of a folder ends with a slash.
    pub(super) files: Vec<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Tools {
    pub(super) tools: Vec<Tool>,
}

/// A tool as a client needs it to call it directly.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Tool {
    name: Cow<'static, str>,
    /// Other names that are accepted.
    aliases: Vec<Cow<'static, str>>,
    purpose: Cow<'static, str>,
    signature: String,
    params: Vec<ToolParam>,
    /// The JSON Schema of the arguments: an object with type, properties and required.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))]
    schema: Value,
}

impl From<&ToolSpec> for Tool {
    fn from(spec: &ToolSpec) -> Tool {
        Tool {
            name: spec.name.clone(),
            aliases: spec.aliases.clone(),
            purpose: spec.purpose.clone(),
            signature: spec.signature(),
            params: spec.params.iter().map(ToolParam::from).collect(),
            schema: spec.json_schema(),
        }
    }
}

/// An argument of a tool.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Param"))]
pub(super) struct ToolParam {
    name: Cow<'static, str>,
    #[serde(rename = "type")]
    kind: ToolParamType,
    required: bool,
    help: Cow<'static, str>,
}

impl From<&Param> for ToolParam {
    fn from(param: &Param) -> ToolParam {
        let kind = match &param.kind {
            ParamKind::Path | ParamKind::Command | ParamKind::Patch | ParamKind::Text { .. } => ToolParamType::String,
            ParamKind::Integer { .. } => ToolParamType::Integer,
            ParamKind::Flag => ToolParamType::Boolean,
            ParamKind::Choice(_) => ToolParamType::Choice,
            ParamKind::Texts => ToolParamType::Strings,
            ParamKind::Objects(_) => ToolParamType::Objects,
            _ => ToolParamType::Any,
        };
        ToolParam { name: param.name.clone(), kind, required: param.required, help: param.help.clone() }
    }
}

/// The type of an argument.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) enum ToolParamType {
    String,
    Integer,
    Boolean,
    Choice,
    Strings,
    Objects,
    Any,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Personas {
    pub(super) personas: Vec<PersonaOfServer>,
    /// The persona that answers if a request names none.
    pub(super) chosen: Option<String>,
}

/// A persona that can answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Persona"))]
pub(super) struct PersonaOfServer {
    pub(super) name: String,
    /// One line; it may be empty.
    pub(super) description: String,
    pub(super) tools: Vec<Cow<'static, str>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Output {
    pub(super) text: String,
    /// The offset of the piece in bytes.
    pub(super) offset: u64,
    /// The offset of the next piece; null if this is the last one.
    pub(super) next: Option<u64>,
    /// Bytes of the whole output.
    pub(super) bytes: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Sessions {
    pub(super) sessions: Vec<Session>,
    /// The total number of entries.
    pub(super) total: usize,
    /// The index of the first entry in this answer.
    pub(super) offset: usize,
    /// Whether new conversations are recorded.
    pub(super) recording: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline, rename = "Session"))]
pub(super) struct OneSession {
    pub(super) session: Session,
}

/// A recorded conversation.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Session {
    id: String,
    /// The first words of the user's first prompt.
    title: String,
    /// The time when it began, as RFC 3339.
    began: String,
    /// The time of its last change, as RFC 3339.
    changed: String,
    /// The number of turns.
    turns: u64,
    /// Whether the user cleared it and has sent no prompt in it since.
    cleared: bool,
    /// The model that answered when it began.
    model: Option<String>,
    fork: Option<ForkOf>,
    /// Bytes of its file.
    bytes: u64,
    /// Whether a turn of it is running on this server: /api/sessions/{id}/events has its events.
    running: bool,
}

impl Session {
    pub(super) fn new(summary: &Summary, running: bool) -> Session {
        let fork = summary.fork.as_ref();
        Session {
            id: summary.id.clone(),
            title: summary.title.clone(),
            began: summary.began.clone(),
            // File times are coarser than the clock, so the modification time may precede the beginning of the session.
            changed: rfc3339(summary.changed).max(summary.began.clone()),
            turns: summary.turns,
            cleared: summary.cleared,
            model: summary.model.clone(),
            fork: fork.map(|fork| ForkOf { session: fork.session.clone(), message: fork.message.clone() }),
            bytes: summary.bytes,
            running,
        }
    }
}

/// The origin of a forked conversation.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Fork"))]
pub(super) struct ForkOf {
    session: String,
    /// The last record that both conversations share.
    message: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Messages {
    #[cfg_attr(test, schemars(schema_with = "openapi::records"))]
    pub(super) messages: Vec<Record>,
    /// The total number of entries.
    pub(super) total: usize,
    /// The index of the first entry in this answer.
    pub(super) offset: usize,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Instructions {
    /// The persona and the instructions, as coder prompt prints them.
    pub(super) text: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Cancel {
    /// false if no turn of the conversation was running.
    pub(super) cancelled: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Undo {
    /// What was undone, as printed by coder undo --json; null if there was nothing to undo.
    #[cfg_attr(test, schemars(schema_with = "openapi::undone"))]
    pub(super) undone: Option<Value>,
}
