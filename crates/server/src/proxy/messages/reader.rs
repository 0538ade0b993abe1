//! Reads requests of the Messages API.

use crate::proxy::conversation::{Message, NeutralRequest, Part, PastCall, PastResult, Role, role_of};
use crate::proxy::offer::{Choice, MOST_BYTES, function, hash, tools_too_large};
use crate::proxy::raw::{Elements, Members, as_text};
use crate::proxy::trouble::Trouble;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::borrow::Cow;
use toolfence_protocol::{ToolSpec, text};

/// The error code that makes clients with server-side conversations send the whole conversation.
const NO_THREADS: &str = "thread_unsupported_request";

/// The greatest nesting of blocks: a search result in a result of a call.
const MOST_LEVELS: usize = 2;

/// Reads the body of a request.
pub(crate) fn read(body: &str) -> Result<NeutralRequest<'_>, Trouble> {
    let wrong = |error: serde_json::Error| {
        let error = error.to_string();
        Trouble::request(text!("The body is not a request of the Messages API: {error}", error))
    };
    let request: Members<'_> = serde_json::from_str(body).map_err(wrong)?;
    if request.get("thread").is_some() {
        let advice =
            text!("thread is not supported: this proxy keeps no conversations. Send all messages, without thread.");
        return Err(Trouble::request(advice).with_code(NO_THREADS));
    }
    let mut messages: Vec<Message<'_>> = Vec::new();
    if let Some(system) = request.borrowed("system") {
        messages.push(Message::new(Role::System, parts(system, "system", 0)?));
    }
    let raw: Elements<'_> = match request.borrowed("messages") {
        Some(messages) => serde_json::from_str(messages.get()).map_err(wrong)?,
        None => return Err(Trouble::request(text!("messages is missing"))),
    };
    for (index, message) in raw.0.into_iter().enumerate() {
        messages.push(read_message(message, &format!("messages[{index}]"))?);
    }
    let tools = request.get("tools").map(specs).transpose()?.unwrap_or_default();
    let (choice, several) = request.get("tool_choice").map_or(Ok((Choice::Auto, true)), read_choice)?;
    let streamed = request.get("stream").is_some_and(|value| value.get() == "true");
    let format = request.get("output_config").and_then(format);
    Ok(NeutralRequest {
        members: members(&request, streamed),
        model: request.text("model").unwrap_or_default().into_owned(),
        messages,
        choice: if tools.is_empty() { Choice::None } else { choice },
        tools,
        tools_hash: hash(request.get("tools")),
        several,
        format,
        streamed,
    })
}

/// Returns the members of the upstream's request except its messages.
fn members<'a>(request: &Members<'a>, streamed: bool) -> Members<'a> {
    let mut members = Members::default();
    for (name, upstream) in [
        ("model", "model"),
        ("max_tokens", "max_tokens"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("stop_sequences", "stop"),
    ] {
        if let Some(value) = request.borrowed(name).filter(|value| value.get() != "[]") {
            members.set(upstream, &value);
        }
    }
    members.set("stream", &streamed);
    if streamed {
        // Without this option the upstream's stream has no usage, which this API reports at the end of an answer.
        members.set("stream_options", &json!({"include_usage": true}));
    }
    members
}

fn read_message<'a>(raw: &'a RawValue, place: &str) -> Result<Message<'a>, Trouble> {
    #[derive(Deserialize)]
    struct GivenTool<'a> {
        #[serde(borrow)]
        role: Cow<'a, str>,
        #[serde(default, borrow)]
        content: Option<&'a RawValue>,
    }
    let message: GivenTool<'a> =
        serde_json::from_str(raw.get()).map_err(|error| Trouble::request(format!("{place}: {error}")))?;
    let Some(role) = role_of(&message.role) else {
        let name = format!("{:.64?}", message.role);
        return Err(Trouble::request(text!("{place}.role is {name}; use user, assistant or system", place, name)));
    };
    let place = format!("{place}.content");
    Ok(Message::new(role, message.content.map(|content| parts(content, &place, 0)).transpose()?.unwrap_or_default()))
}

/// A block of a content. One struct reads all kinds of blocks, because most members belong to only one kind.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default, borrow)]
    source: Option<&'a RawValue>,
    #[serde(default, borrow)]
    title: Option<Cow<'a, str>>,
}

/// Reads a content: a string or an array of blocks. `level`: the number of enclosing blocks.
fn parts<'a>(content: &'a RawValue, place: &str, level: usize) -> Result<Vec<Part<'a>>, Trouble> {
    if let Some(text) = as_text(content) {
        return Ok(vec![Part::Text(text)]);
    }
    let wrong = |error: serde_json::Error| Trouble::request(format!("{place}: {error}"));
    let elements: Elements<'a> = serde_json::from_str(content.get()).map_err(wrong)?;
    let mut parts = Vec::new();
    for (index, element) in elements.0.into_iter().enumerate() {
        let place = format!("{place}[{index}]");
        let block: Block<'a> =
            serde_json::from_str(element.get()).map_err(|error| Trouble::request(format!("{place}: {error}")))?;
        parts.extend(read_block(block, &place, level)?);
    }
    Ok(parts)
}

/// Reads one block. Reasoning, and calls of tools that ran elsewhere, are left out: the model has no use for them.
fn read_block<'a>(block: Block<'a>, place: &str, level: usize) -> Result<Option<Part<'a>>, Trouble> {
    let missing = |member: &str| Trouble::request(text!("{place}.{member} is missing", place, member));
    Ok(Some(match &*block.kind {
        "text" => Part::Text(block.text.ok_or_else(|| missing("text"))?),
        "image" => image(block.source.ok_or_else(|| missing("source"))?),
        "document" => document(block.source.ok_or_else(|| missing("source"))?, block.title.as_deref()),
        // A search result can contain other search results, so the nesting needs a limit.
        "search_result" if level < MOST_LEVELS => {
            let texts = block.content.map(|content| parts(content, place, level + 1)).transpose()?.unwrap_or_default();
            let texts =
                texts.into_iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
            Part::Text(block.title.into_iter().chain(texts).collect::<Vec<_>>().join("\n").into())
        }
        "tool_use" if level == 0 => Part::Call(PastCall {
            id: Some(block.id.ok_or_else(|| missing("id"))?),
            name: block.name.ok_or_else(|| missing("name"))?,
            arguments: block.input.map_or("{}", RawValue::get).into(),
        }),
        "tool_result" if level == 0 => Part::Result(PastResult {
            id: block.tool_use_id.ok_or_else(|| missing("tool_use_id"))?,
            name: None,
            content: block.content.map(|content| parts(content, place, level + 1)).transpose()?.unwrap_or_default(),
            failed: block.is_error.unwrap_or(false),
        }),
        "thinking" | "redacted_thinking" => return Ok(None),
        kind => {
            tracing::debug!(target: "toolfence", place, kind, "a block is left out");
            return Ok(None);
        }
    }))
}

/// The source of an image or a document.
#[derive(Deserialize)]
struct Source<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    media_type: Cow<'a, str>,
    #[serde(default, borrow)]
    data: Cow<'a, str>,
    #[serde(default, borrow)]
    url: Option<Cow<'a, str>>,
}

impl Source<'_> {
    fn url(&self) -> Option<String> {
        match &*self.kind {
            "base64" => Some(format!("data:{};base64,{}", self.media_type, self.data)),
            _ => self.url.as_ref().map(|url| url.clone().into_owned()),
        }
    }
}

fn image<'a>(source: &RawValue) -> Part<'a> {
    let url = serde_json::from_str::<Source<'_>>(source.get()).ok().and_then(|source| source.url());
    let Some(url) = url else { return Part::Text("[image]".into()) };
    let part = to_raw_value(&json!({"type": "image_url", "image_url": {"url": url}}));
    part.map_or_else(|_| Part::Text("[image]".into()), |part| Part::Media(Cow::Owned(part)))
}

/// Converts a document: text becomes text, another file a media part.
fn document<'a>(source: &RawValue, title: Option<&str>) -> Part<'a> {
    let name = title.unwrap_or("document");
    let Ok(source) = serde_json::from_str::<Source<'_>>(source.get()) else {
        return Part::Text(format!("[{name}]").into());
    };
    match (&*source.kind, source.url()) {
        ("text", _) => Part::Text(source.data.into_owned().into()),
        ("base64", Some(url)) => {
            let part = to_raw_value(&json!({"type": "file", "file": {"filename": name, "file_data": url}}));
            part.map_or_else(|_| Part::Text(format!("[{name}]").into()), |part| Part::Media(Cow::Owned(part)))
        }
        (_, Some(url)) => Part::Text(format!("[{name}]({url})").into()),
        (_, None) => Part::Text(format!("[{name}]").into()),
    }
}

/// Returns the tools that the client runs. Tools with another type run on Anthropic's server, so the upstream does not
/// have them.
fn specs(tools: &RawValue) -> Result<Vec<ToolSpec>, Trouble> {
    if tools.get().len() > MOST_BYTES {
        return Err(Trouble::request(tools_too_large()));
    }
    let tools: Elements<'_> =
        serde_json::from_str(tools.get()).map_err(|error| Trouble::request(format!("tools: {error}")))?;
    let mut specs = Vec::new();
    for (index, tool) in tools.0.into_iter().enumerate() {
        let place = format!("tools[{index}]");
        let tool: Value =
            serde_json::from_str(tool.get()).map_err(|error| Trouble::request(format!("{place}: {error}")))?;
        match tool.get("type").and_then(Value::as_str) {
            None | Some("custom") => specs.push(function(&tool, "input_schema", &place)?),
            Some(kind) => tracing::info!(target: "toolfence", place, kind, "a tool that no client runs is left out"),
        }
    }
    Ok(specs)
}

fn read_choice(choice: &RawValue) -> Result<(Choice, bool), Trouble> {
    #[derive(Deserialize)]
    struct Given {
        #[serde(rename = "type")]
        kind: String,
        name: Option<String>,
        #[serde(default)]
        disable_parallel_tool_use: Option<bool>,
    }
    let wrong = || {
        Trouble::request(text!(
            "tool_choice must be an object of the type auto, any, none, or tool with the name of a tool"
        ))
    };
    let given: Given = serde_json::from_str(choice.get()).map_err(|_| wrong())?;
    let choice = match (given.kind.as_str(), given.name) {
        ("auto", _) => Choice::Auto,
        ("any", _) => Choice::Required,
        ("none", _) => Choice::None,
        ("tool", Some(name)) => Choice::This(name),
        _ => return Err(wrong()),
    };
    Ok((choice, !given.disable_parallel_tool_use.unwrap_or(false)))
}

/// Converts `output_config.format` to the form of Chat Completions.
fn format(config: &RawValue) -> Option<Box<RawValue>> {
    let config: Value = serde_json::from_str(config.get()).ok()?;
    let format = config.get("format")?;
    let schema = (format.get("type")? == "json_schema").then(|| format.get("schema")).flatten()?;
    to_raw_value(&json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}})).ok()
}
