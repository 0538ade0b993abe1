//! A request as the core knows it: messages, tools and what is wanted of the answer, in the words of no API.
//!
//! The reader of each API makes one. Texts are borrowed from the body of the request as far as they can be.

use super::offer::Choice;
use super::raw::Members;
use serde_json::value::RawValue;
use std::borrow::Cow;
use toolfence_protocol::ToolSpec;

/// A request.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// The members of the upstream's request besides its messages, in the words of Chat Completions.
    pub(super) members: Members<'a>,
    /// The model that is asked for.
    pub(super) model: String,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) tools: Vec<ToolSpec>,
    /// Identifies the list of tools: it is the same in every request of a conversation.
    pub(super) tools_hash: u64,
    pub(super) choice: Choice,
    /// Whether a reply may have more than one call.
    pub(super) several: bool,
    /// What the client wants of the final answer, as the `response_format` of Chat Completions.
    pub(super) format: Option<Box<RawValue>>,
    /// Whether the client wants the answer as a stream.
    pub(super) streamed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Instructions: `system` and `developer`.
    System,
    /// The person, and the results of calls.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<'a>>,
    /// The message as the client wrote it, if the upstream speaks its API: members besides role and content are passed on.
    pub(super) members: Members<'a>,
}

/// A part of a message.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    /// What is not text, such as an image, as a part of Chat Completions.
    Media(Cow<'a, RawValue>),
    Call(PastCall<'a>),
    Result(PastResult<'a>),
}

/// A call that the model made earlier.
#[derive(Debug)]
pub(super) struct PastCall<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    /// The text of a JSON object, as far as the client sends one.
    pub(super) arguments: Cow<'a, str>,
}

/// The answer to such a call.
#[derive(Debug)]
pub(super) struct PastResult<'a> {
    pub(super) id: Cow<'a, str>,
    /// The tool, where the client says it; otherwise the call has it.
    pub(super) name: Option<Cow<'a, str>>,
    /// Texts and media.
    pub(super) content: Vec<Part<'a>>,
    pub(super) failed: bool,
}

impl<'a> Message<'a> {
    /// A message of an API that the upstream does not speak.
    pub(super) fn new(role: Role, parts: Vec<Part<'a>>) -> Message<'a> {
        Message { role, parts, members: Members::default() }
    }
}

/// The words that two APIs use for the roles; results have one of their own in some.
pub(super) fn role_of(name: &str) -> Option<Role> {
    match name {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}
