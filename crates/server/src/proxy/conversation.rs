//! The neutral form of a request: messages, tools and the required form of the answer, independent of any API.
//!
//! The reader of each API returns one. Texts are borrowed from the request body if possible.

use super::offer::Choice;
use super::raw::Members;
use serde_json::value::RawValue;
use std::borrow::Cow;
use toolfence_protocol::ToolSpec;

/// A neutral request.
#[derive(Debug)]
pub(super) struct NeutralRequest<'a> {
    /// The members of the request to the upstream, except `messages`, with their names in Chat Completions.
    pub(super) members: Members<'a>,
    /// The requested model.
    pub(super) model: String,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) tools: Vec<ToolSpec>,
    /// Identifies the list of tools: it is the same in every request of a conversation.
    pub(super) tools_hash: u64,
    pub(super) choice: Choice,
    /// Whether a reply may have more than one call.
    pub(super) several: bool,
    /// The format of the final answer, as the `response_format` of Chat Completions.
    pub(super) format: Option<Box<RawValue>>,
    /// Whether the client wants the answer as a stream.
    pub(super) streamed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Instructions: `system` and `developer`.
    System,
    /// The user, and results of calls.
    User,
    /// The model.
    Assistant,
}

/// A message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<'a>>,
    /// The members of the original message, if the client uses the upstream's API. Those other than role and content
    /// are forwarded.
    pub(super) members: Members<'a>,
}

/// A part of a message.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    /// Content other than text, such as an image, in the form of a Chat Completions part.
    Media(Cow<'a, RawValue>),
    Call(PastCall<'a>),
    Result(PastResult<'a>),
}

/// A call that the model made earlier.
#[derive(Debug)]
pub(super) struct PastCall<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    /// The text of a JSON object; clients may send something else.
    pub(super) arguments: Cow<'a, str>,
}

/// The result of an earlier call.
#[derive(Debug)]
pub(super) struct PastResult<'a> {
    pub(super) id: Cow<'a, str>,
    /// The name of the tool, if the client sends it. Otherwise the call with this id has the name.
    pub(super) name: Option<Cow<'a, str>>,
    /// Texts and media.
    pub(super) content: Vec<Part<'a>>,
    pub(super) failed: bool,
}

impl<'a> Message<'a> {
    /// Creates a message of an API that the upstream does not use.
    pub(super) fn new(role: Role, parts: Vec<Part<'a>>) -> Message<'a> {
        Message { role, parts, members: Members::default() }
    }
}

/// Parses the role names that the APIs share. Some APIs have another role for results.
pub(super) fn role_of(name: &str) -> Option<Role> {
    match name {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}
