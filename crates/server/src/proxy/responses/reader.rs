//! Reads requests of the Responses API.

use super::texts::PastTexts;
use super::{CUSTOM_INPUT, Origin, REASONING_ID, joined};
use crate::proxy::conversation::{Message, NeutralRequest, Part, PastCall, PastResult, Role, role_of};
use crate::proxy::offer::{Choice, MOST_BYTES, function, hash, tools_too_large};
use crate::proxy::raw::{Elements, Members, as_text};
use crate::proxy::trouble::Trouble;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use toolfence_protocol::{ToolSpec, text};

/// A request, and the parts of it that its answer needs.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) asked: NeutralRequest<'a>,
    pub(super) origins: HashMap<String, Origin>,
    /// The client's JSON, which the answer repeats.
    pub(super) tool_choice: Value,
}

/// Reads the body of a request. `texts` has the messages to which the request can refer by their ids.
pub(crate) fn read<'a>(body: &'a str, texts: &PastTexts) -> Result<Request<'a>, Trouble> {
    let wrong = |error: serde_json::Error| {
        let error = error.to_string();
        Trouble::request(text!("The body is not a request of the Responses API: {error}", error))
    };
    let request: Members<'_> = serde_json::from_str(body).map_err(wrong)?;
    for member in ["previous_response_id", "conversation"] {
        if request.get(member).is_some() {
            return Err(Trouble::request(text!(
                "{member} is not supported: this proxy keeps no conversations. Send the whole conversation in input, \
                 and leave {member} out.",
                member
            )));
        }
    }
    let mut messages: Vec<Message<'_>> = Vec::new();
    if let Some(instructions) = request.text("instructions") {
        messages.push(Message::new(Role::System, vec![Part::Text(instructions.into_owned().into())]));
    }
    match request.borrowed("input") {
        None => return Err(Trouble::request(text!("input is missing"))),
        Some(input) => match as_text(input) {
            Some(text) => messages.push(Message::new(Role::User, vec![Part::Text(text)])),
            None => {
                let items: Elements<'_> = serde_json::from_str(input.get()).map_err(wrong)?;
                let mut references = References { texts, room: MOST_REFERRED };
                for (index, item) in items.0.into_iter().enumerate() {
                    messages.extend(read_item(item, &format!("input[{index}]"), &mut references)?);
                }
            }
        },
    }
    let (mut tools, origins) = request.get("tools").map(specs).transpose()?.unwrap_or_default();
    let (choice, allowed) = match request.get("tool_choice") {
        Some(choice) => read_choice(choice)?,
        None => (Choice::Auto, None),
    };
    if let Some(allowed) = allowed {
        tools.retain(|spec| allowed.iter().any(|name| *name == spec.name));
    }
    let streamed = request.get("stream").is_some_and(|value| value.get() == "true");
    let tool_choice = request.get("tool_choice").and_then(|choice| serde_json::from_str(choice.get()).ok());
    let asked = NeutralRequest {
        members: members(&request, streamed),
        model: request.text("model").unwrap_or_default().into_owned(),
        messages,
        choice: if tools.is_empty() { Choice::None } else { choice },
        tools,
        tools_hash: hash(request.get("tools")),
        several: request.get("parallel_tool_calls").is_none_or(|value| value.get() != "false"),
        format: request.get("text").and_then(format),
        streamed,
    };
    Ok(Request { asked, origins, tool_choice: tool_choice.unwrap_or_else(|| "auto".into()) })
}

/// Returns the members of the upstream's request except its messages.
fn members<'a>(request: &Members<'a>, streamed: bool) -> Members<'a> {
    let mut members = Members::default();
    for (name, upstream) in
        [("model", "model"), ("max_output_tokens", "max_tokens"), ("temperature", "temperature"), ("top_p", "top_p")]
    {
        if let Some(value) = request.borrowed(name) {
            members.set(upstream, &value);
        }
    }
    members.set("stream", &streamed);
    if streamed {
        // Without this option a stream has no usage, and some clients refuse an answer without it.
        members.set("stream_options", &json!({"include_usage": true}));
    }
    members
}

/// An item of the input. One struct reads all kinds of items, because items that a client sends back have many members
/// that do not matter here.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    call_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    arguments: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    output: Option<&'a RawValue>,
}

/// The most bytes of all texts that a request refers to. A short reference may mean a long text, so the limit of the
/// body is not enough.
const MOST_REFERRED: usize = 8 << 20;

/// The texts that a request refers to.
struct References<'t> {
    texts: &'t PastTexts,
    /// The remaining bytes.
    room: usize,
}

impl References<'_> {
    /// Returns the message with this id; `None` for reasoning, which the model has no use for.
    fn message<'a>(&mut self, id: &str, place: &str) -> Result<Option<Message<'a>>, Trouble> {
        if id.starts_with(REASONING_ID) {
            return Ok(None);
        }
        let Some(text) = self.texts.get(id) else {
            return Err(Trouble::request(text!(
                "{place} refers to an item that this proxy no longer has. Send the whole item.",
                place
            )));
        };
        let most = MOST_REFERRED as u64;
        // A client may refer to one long text many times, so every reference counts.
        self.room = self.room.checked_sub(text.len()).ok_or_else(|| {
            Trouble::request(text!("The texts that the request refers to have more than {most} bytes.", most))
        })?;
        Ok(Some(Message::new(Role::Assistant, vec![Part::Text(text.into())])))
    }
}

/// Reads one item. Reasoning, and calls of tools that ran elsewhere, are left out: the model has no use for them.
fn read_item<'a>(
    raw: &'a RawValue,
    place: &str,
    references: &mut References<'_>,
) -> Result<Option<Message<'a>>, Trouble> {
    let item: Item<'a> =
        serde_json::from_str(raw.get()).map_err(|error| Trouble::request(format!("{place}: {error}")))?;
    let missing = |member: &str| Trouble::request(text!("{place}.{member} is missing", place, member));
    // Some clients send messages without a type.
    let message = match item.kind.as_deref().unwrap_or("message") {
        "message" => {
            let name = item.role.ok_or_else(|| missing("role"))?;
            let Some(role) = role_of(&name) else {
                let name = format!("{name:.64?}");
                return Err(Trouble::request(text!(
                    "{place}.role is {name}; use system, developer, user or assistant",
                    place,
                    name
                )));
            };
            Message::new(role, item.content.map(|content| parts(content, place)).transpose()?.unwrap_or_default())
        }
        kind @ ("function_call" | "custom_tool_call") => {
            let name = item.name.ok_or_else(|| missing("name"))?;
            let name = match item.namespace {
                Some(namespace) => joined(&namespace, &name).into(),
                None => name,
            };
            let arguments = match kind {
                "function_call" => item.arguments.unwrap_or_default(),
                _ => {
                    let input = item.input.and_then(as_text).unwrap_or_default();
                    json!({CUSTOM_INPUT: input}).to_string().into()
                }
            };
            Message::new(Role::Assistant, vec![Part::Call(PastCall { id: item.call_id, name, arguments })])
        }
        "function_call_output" | "custom_tool_call_output" => {
            let id = item.call_id.ok_or_else(|| missing("call_id"))?;
            let content = item.output.map(|output| parts(output, place)).transpose()?.unwrap_or_default();
            Message::new(Role::User, vec![Part::Result(PastResult { id, name: None, content, failed: false })])
        }
        "item_reference" => {
            let id = item.id.ok_or_else(|| missing("id"))?;
            return references.message(&id, place);
        }
        kind => {
            tracing::debug!(target: "toolfence", place, kind, "an item is left out");
            return Ok(None);
        }
    };
    Ok(Some(message))
}

/// A part of a content or of an output.
#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    refusal: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    image_url: Option<&'a RawValue>,
    #[serde(default, borrow)]
    detail: Option<&'a RawValue>,
    #[serde(default, borrow)]
    file_data: Option<&'a RawValue>,
    #[serde(default, borrow)]
    filename: Option<&'a RawValue>,
    #[serde(default, borrow)]
    input_audio: Option<&'a RawValue>,
}

/// Reads a content: a string or an array of parts.
fn parts<'a>(content: &'a RawValue, place: &str) -> Result<Vec<Part<'a>>, Trouble> {
    if let Some(text) = as_text(content) {
        return Ok(vec![Part::Text(text)]);
    }
    let wrong = |error: serde_json::Error| Trouble::request(format!("{place}.content: {error}"));
    let Ok(elements) = serde_json::from_str::<Elements<'a>>(content.get()) else {
        // An output may be any JSON.
        return Ok(vec![Part::Text(content.get().into())]);
    };
    let mut parts = Vec::new();
    for element in elements.0 {
        let part: ContentPart<'a> = serde_json::from_str(element.get()).map_err(wrong)?;
        parts.push(match &*part.kind {
            "input_image" if part.image_url.is_some() => {
                let mut image = json!({"url": part.image_url});
                if let Some(detail) = part.detail {
                    image["detail"] = json!(detail);
                }
                media(&json!({"type": "image_url", "image_url": image}))
            }
            "input_file" if part.file_data.is_some() => {
                media(&json!({"type": "file", "file": {"filename": part.filename, "file_data": part.file_data}}))
            }
            "input_audio" if part.input_audio.is_some() => {
                media(&json!({"type": "input_audio", "input_audio": part.input_audio}))
            }
            kind => match part.text.or(part.refusal) {
                Some(text) => Part::Text(text),
                None => Part::Text(format!("[{kind:.64}]").into()),
            },
        });
    }
    Ok(parts)
}

fn media<'a>(part: &Value) -> Part<'a> {
    to_raw_value(part).map_or_else(|_| Part::Text("".into()), |part| Part::Media(Cow::Owned(part)))
}

/// Returns the tools, and the origins of those whose name or kind differs from the catalog.
fn specs(tools: &RawValue) -> Result<(Vec<ToolSpec>, HashMap<String, Origin>), Trouble> {
    if tools.get().len() > MOST_BYTES {
        return Err(Trouble::request(tools_too_large()));
    }
    let tools: Elements<'_> =
        serde_json::from_str(tools.get()).map_err(|error| Trouble::request(format!("tools: {error}")))?;
    let mut read = Tools::default();
    for (index, tool) in tools.0.into_iter().enumerate() {
        let place = format!("tools[{index}]");
        let tool: Value =
            serde_json::from_str(tool.get()).map_err(|error| Trouble::request(format!("{place}: {error}")))?;
        read.tool(&tool, None, &place)?;
    }
    Ok((read.specs, read.origins))
}

#[derive(Default)]
struct Tools {
    specs: Vec<ToolSpec>,
    origins: HashMap<String, Origin>,
}

impl Tools {
    fn tool(&mut self, tool: &Value, namespace: Option<&str>, place: &str) -> Result<(), Trouble> {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("function");
        let mut spec = match kind {
            "function" => function(tool, "parameters", place)?,
            "custom" => custom(tool, place)?,
            "namespace" if namespace.is_none() => {
                let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
                let tools = tool.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                for (index, tool) in tools.iter().enumerate() {
                    self.tool(tool, Some(name), &format!("{place}.tools[{index}]"))?;
                }
                return Ok(());
            }
            kind => {
                tracing::info!(target: "toolfence", place, kind, "a tool that no client runs is left out");
                return Ok(());
            }
        };
        let is_custom = kind == "custom";
        if is_custom || namespace.is_some() {
            let name = spec.name.clone().into_owned();
            let origin = Origin { namespace: namespace.map(str::to_owned), name, is_custom };
            if let Some(namespace) = namespace {
                spec.aliases = vec![spec.name.clone(), format!("{namespace}.{}", spec.name).into()];
                spec.name = joined(namespace, &spec.name).into();
            }
            self.origins.insert(spec.name.clone().into_owned(), origin);
        }
        self.specs.push(spec);
        Ok(())
    }
}

/// Converts a custom tool, whose input is a text. The instructions teach the model to write it below the object,
/// without escapes.
fn custom(tool: &Value, place: &str) -> Result<ToolSpec, Trouble> {
    let schema = json!({
        "type": "object",
        "properties": {CUSTOM_INPUT: {"type": "string"}},
        "required": [CUSTOM_INPUT],
        "additionalProperties": false,
    });
    let mut described = tool.clone();
    // The upstream has no custom tools, so the model gets the grammar as a part of the description.
    if let Some(grammar) = tool.pointer("/format/definition").and_then(Value::as_str) {
        let purpose = tool.get("description").and_then(Value::as_str).unwrap_or_default();
        described["description"] = format!("{purpose}\n{CUSTOM_INPUT}:\n{grammar}").into();
    }
    described["parameters"] = schema;
    function(&described, "parameters", place)
}

/// Returns the calls that the client requires or allows, and the names of the allowed tools if they are restricted.
fn read_choice(choice: &RawValue) -> Result<(Choice, Option<Vec<String>>), Trouble> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Word(String),
        Object {
            #[serde(rename = "type")]
            kind: String,
            name: Option<String>,
            namespace: Option<String>,
            mode: Option<String>,
            #[serde(default)]
            tools: Vec<Tool>,
        },
    }
    #[derive(Deserialize)]
    struct Tool {
        name: Option<String>,
        namespace: Option<String>,
    }
    let full = |name: String, namespace: Option<String>| namespace.map_or(name.clone(), |space| joined(&space, &name));
    let word = |word: &str| match word {
        "auto" => Some(Choice::Auto),
        "none" => Some(Choice::None),
        "required" => Some(Choice::Required),
        _ => None,
    };
    let read = match serde_json::from_str(choice.get()) {
        Ok(Given::Word(name)) => word(&name).map(|choice| (choice, None)),
        Ok(Given::Object { kind, name: Some(name), namespace, .. }) if kind == "function" || kind == "custom" => {
            Some((Choice::This(full(name, namespace)), None))
        }
        Ok(Given::Object { kind, mode, tools, .. }) if kind == "allowed_tools" => {
            let names = tools.into_iter().filter_map(|tool| Some(full(tool.name?, tool.namespace)));
            word(mode.as_deref().unwrap_or("auto")).map(|choice| (choice, Some(names.collect())))
        }
        _ => None,
    };
    read.ok_or_else(|| {
        Trouble::request(text!(
            "tool_choice must be \"auto\", \"none\", \"required\", or an object of the type function, custom or \
             allowed_tools"
        ))
    })
}

/// Converts `text.format` to the form of Chat Completions.
fn format(text: &RawValue) -> Option<Box<RawValue>> {
    let text: Value = serde_json::from_str(text.get()).ok()?;
    let format = text.get("format")?;
    let format = match format.get("type")?.as_str()? {
        "json_schema" => {
            let mut named = format.clone();
            named.as_object_mut()?.shift_remove("type");
            json!({"type": "json_schema", "json_schema": named})
        }
        "json_object" => json!({"type": "json_object"}),
        _ => return None,
    };
    to_raw_value(&format).ok()
}
