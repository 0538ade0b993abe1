//! Reads Chat Completions requests.
//!
//! The upstream uses the same API, so members that do not concern tools are forwarded as their original text.

use crate::proxy::conversation::{Message, NeutralRequest, Part, PastCall, PastResult, Role, role_of};
use crate::proxy::offer::{Choice, MOST_BYTES, function, hash, tools_too_large};
use crate::proxy::raw::{Elements, Members, as_text};
use crate::proxy::trouble::Trouble;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use toolfence_protocol::{ToolSpec, text};

/// Reads the body of a request. The second value is `true` if the client wants the usage at the end of a stream.
/// Returns `None` if the request does not concern tools and can be forwarded unchanged.
pub(crate) fn read(body: &str) -> Result<Option<(NeutralRequest<'_>, bool)>, Trouble> {
    let wrong = |error: serde_json::Error| {
        Trouble::request(text!("The body is not a chat request: {error}", error = error.to_string()))
    };
    let mut request: Members<'_> = serde_json::from_str(body).map_err(wrong)?;
    if request.get("functions").is_some_and(|functions| functions.get() != "[]") {
        return Err(Trouble::request(text!(
            "functions is the old form: send each function in tools, as {{\"type\": \"function\", \"function\": ..}}, \
             and tool_choice for function_call"
        )));
    }
    let raw: Elements<'_> = match request.borrowed("messages") {
        Some(messages) => serde_json::from_str(messages.get()).map_err(wrong)?,
        None => Elements(Vec::new()),
    };
    let tools = request.get("tools").map(specs).transpose()?.unwrap_or_default();
    let choice =
        if tools.is_empty() { Choice::None } else { request.get("tool_choice").map_or(Ok(Choice::Auto), choice)? };
    let has_tools = request.get("tools").is_some_and(|tools| tools.get() != "[]");
    // A history with calls is translated even without tools, because the upstream supports only text.
    if !has_tools && !raw.0.iter().any(|message| is_about_tools(message)) {
        return Ok(None);
    }
    if choice != Choice::None && request.get("n").is_some_and(|n| n.get() != "1") {
        return Err(Trouble::request(text!("n must be 1 if there are tools; send the request several times instead")));
    }
    let messages = raw.0.iter().enumerate().map(|(index, message)| read_message(message, index));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    // A server that enforces the format would keep the model from writing calls.
    let format = request.get("response_format").filter(|_| choice != Choice::None).map(ToOwned::to_owned);
    let usage =
        request.get("stream_options").and_then(|options| serde_json::from_str::<StreamOptions>(options.get()).ok());
    let several = request.get("parallel_tool_calls").is_none_or(|value| value.get() != "false");
    let streamed = request.get("stream").is_some_and(|value| value.get() == "true");
    let (model, tools_hash) = (request.text("model").unwrap_or_default().into_owned(), hash(request.get("tools")));
    request.remove(&["tools", "tool_choice", "parallel_tool_calls"]);
    if format.is_some() {
        request.remove(&["response_format"]);
    }
    let asked =
        NeutralRequest { members: request, model, messages, tools, tools_hash, choice, several, format, streamed };
    Ok(Some((asked, usage.is_some_and(|options| options.include_usage))))
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// The members of a message that concern function calling.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default, borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    function_call: Option<&'a RawValue>,
}

fn is_about_tools(message: &RawValue) -> bool {
    let Ok(head) = serde_json::from_str::<Head<'_>>(message.get()) else { return false };
    let is_answer = matches!(head.role.as_deref(), Some("tool" | "function"));
    is_answer || head.tool_calls.is_some() || head.function_call.is_some()
}

fn read_message<'a>(raw: &'a RawValue, index: usize) -> Result<Message<'a>, Trouble> {
    let mut members: Members<'a> =
        serde_json::from_str(raw.get()).map_err(|error| Trouble::request(format!("messages[{index}]: {error}")))?;
    let name = members.text("role").unwrap_or_default().into_owned();
    let mut parts = content(members.borrowed("content"));
    if matches!(name.as_str(), "tool" | "function") {
        let id = members.text("tool_call_id").unwrap_or_default().into_owned().into();
        let name = members.text("name").map(|name| name.into_owned().into());
        let result = PastResult { id, name, content: parts, failed: false };
        return Ok(Message::new(Role::User, vec![Part::Result(result)]));
    }
    let Some(role) = role_of(&name) else {
        let name = format!("{name:.64?}");
        return Err(Trouble::request(text!(
            "messages[{index}].role is {name}; use system, developer, user, assistant or tool",
            index = index as u64,
            name
        )));
    };
    if role == Role::Assistant {
        parts.extend(calls(&members));
        members.remove(&["tool_calls", "function_call", "refusal"]);
    }
    Ok(Message { role, parts, members })
}

/// Reads a content: a string or an array of parts. A part that is not text is forwarded.
fn content<'a>(content: Option<&'a RawValue>) -> Vec<Part<'a>> {
    let Some(content) = content else { return Vec::new() };
    if let Some(text) = as_text(content) {
        return vec![Part::Text(text)];
    }
    let Ok(elements) = serde_json::from_str::<Elements<'a>>(content.get()) else {
        return vec![Part::Text(content.get().into())];
    };
    let part = |part: &'a RawValue| {
        let members = serde_json::from_str::<Members<'_>>(part.get()).unwrap_or_default();
        match members.text("text").or_else(|| members.text("refusal")) {
            Some(text) => Part::Text(text.into_owned().into()),
            None if members.get("type").is_some() => Part::Media(Cow::Borrowed(part)),
            None => Part::Text(part.get().into()),
        }
    };
    elements.0.into_iter().map(part).collect()
}

/// Returns the calls of an assistant message.
fn calls<'a>(members: &Members<'a>) -> Vec<Part<'a>> {
    let elements =
        members.borrowed("tool_calls").and_then(|calls| serde_json::from_str::<Elements<'_>>(calls.get()).ok());
    let call = |id: Option<Cow<'a, str>>, function: &RawValue| {
        let function = serde_json::from_str::<Members<'_>>(function.get()).ok()?;
        let name = function.text("name")?.into_owned().into();
        let arguments = function.text("arguments").unwrap_or_default().into_owned().into();
        Some(Part::Call(PastCall { id, name, arguments }))
    };
    let mut calls: Vec<Part<'a>> = Vec::new();
    for element in elements.into_iter().flat_map(|elements| elements.0) {
        let Ok(members) = serde_json::from_str::<Members<'_>>(element.get()) else { continue };
        let id = members.text("id").unwrap_or_default().into_owned();
        calls.extend(members.get("function").and_then(|function| call(Some(id.into()), function)));
    }
    calls.extend(members.get("function_call").and_then(|function| call(None, function)));
    calls
}

fn specs(tools: &RawValue) -> Result<Vec<ToolSpec>, Trouble> {
    if tools.get().len() > MOST_BYTES {
        return Err(Trouble::request(tools_too_large()));
    }
    let tools: Elements<'_> =
        serde_json::from_str(tools.get()).map_err(|error| Trouble::request(format!("tools: {error}")))?;
    tools.0.iter().enumerate().map(|(index, tool)| spec(tool, index)).collect()
}

fn spec(tool: &RawValue, index: usize) -> Result<ToolSpec, Trouble> {
    let place = format!("tools[{index}]");
    let tool: Value =
        serde_json::from_str(tool.get()).map_err(|error| Trouble::request(format!("{place}: {error}")))?;
    if tool.get("type").is_some_and(|kind| kind != "function") {
        return Err(Trouble::request(text!(
            "tools[{index}].type is not \"function\"; only functions can be called through text",
            index = index as u64
        )));
    }
    let described = tool
        .get("function")
        .ok_or_else(|| Trouble::request(text!("tools[{index}].function is missing", index = index as u64)))?;
    function(described, "parameters", &format!("{place}.function"))
}

fn choice(choice: &RawValue) -> Result<Choice, Trouble> {
    let choice: Value = serde_json::from_str(choice.get()).unwrap_or_default();
    match (choice.as_str(), choice.pointer("/function/name").and_then(Value::as_str)) {
        (Some("auto"), _) => Ok(Choice::Auto),
        (Some("none"), _) => Ok(Choice::None),
        (Some("required" | "any"), _) => Ok(Choice::Required),
        (None, Some(name)) => Ok(Choice::This(name.to_owned())),
        _ => Err(Trouble::request(text!(
            "tool_choice must be \"auto\", \"none\", \"required\", or {{\"type\": \"function\", \"function\": \
             {{\"name\": ..}}}}"
        ))),
    }
}
