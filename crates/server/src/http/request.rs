//! What a request asks for: its body, its fields, and the message to the model that becomes of them.

use super::Shared;
use super::answer::Trouble;
use crate::messages;
use hyper::body::{Body as _, Incoming};
use serde_json::{Map, Value};
use std::future::poll_fn;
use std::pin::Pin;
use tokio::time::timeout;
use toolfence_protocol::json::strict;
use toolfence_protocol::{Args, Catalog, Text, close_names};
use toolfence_session::persona::Persona;

/// Characters of a prompt.
const MOST_OF_PROMPT: usize = 200_000;

/// Entries of the context that count: the last ones.
const MOST_CONTEXT: usize = 20;

/// Characters of what a client wrote that are said back.
const MOST_ECHOED: usize = 100;

/// What a turn is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    pub(super) work: Work,
    /// Entries of the context that were left out.
    pub(super) dropped: usize,
    /// The field of the context, where there is one.
    context: Option<String>,
    /// The answer is wanted as events.
    pub(super) stream: bool,
    /// Who answers, where that is not whom the server has for it.
    pub(super) persona: Option<String>,
}

/// Who does it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Work {
    /// A model, with one tool or all.
    Model { prompt: String, message: String, tool: Option<String> },
    /// A tool alone.
    Tool { name: String, args: Args },
}

impl Work {
    /// What can be undone of it is called so: one line.
    pub(super) fn title(&self) -> &str {
        match self {
            Work::Model { prompt, .. } => prompt.trim_start().lines().next().unwrap_or_default(),
            Work::Tool { name, .. } => name,
        }
    }
}

impl Order {
    /// In a conversation the model has its own context, and somebody to talk to.
    pub(super) fn in_conversation(mut self) -> Result<Order, Trouble> {
        if let Some(field) = self.context {
            return Err(Trouble::field(field, messages::conversation_has_its_context()));
        }
        let Work::Model { prompt, message, .. } = &mut self.work else {
            return Err(Trouble::field("direct", messages::nobody_talks_in_a_direct_call()));
        };
        message.clone_from(prompt);
        Ok(self)
    }
}

/// The body of a request, which may not be larger than the limit or come too slowly.
pub(super) async fn body(mut body: Incoming, shared: &Shared) -> Result<Vec<u8>, Trouble> {
    let limit = shared.options.body;
    let large = || Trouble::new(413, "too_large", messages::body_too_large(limit));
    if body.size_hint().lower() > limit as u64 {
        return Err(large());
    }
    let read = async {
        let mut whole = Vec::new();
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame.map_err(|_| Trouble::new(400, "invalid_body", messages::body_broke_off()))?;
            let Ok(bytes) = frame.into_data() else { continue };
            if whole.len() + bytes.len() > limit {
                return Err(large());
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    };
    let late = || Trouble::new(408, "timeout", messages::body_too_slow());
    timeout(shared.options.arrival, read).await.map_err(|_| late())?
}

/// The members of an object that a client sent, each taken once.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// # Errors
    /// The body is no JSON object, or has a member twice.
    pub(super) fn of(body: &[u8]) -> Result<Fields, Trouble> {
        let wrong = |why: Text| Trouble::new(400, "invalid_body", messages::body_is_no_object(why));
        let text = std::str::from_utf8(body).map_err(|error| wrong(error.to_string().into()))?;
        match strict(text).map_err(|problem| wrong(problem.message))? {
            Value::Object(fields) => Ok(Fields(fields)),
            _ => Err(wrong(messages::other_value())),
        }
    }

    /// The value under either name, with the name; null is as good as nothing.
    fn take(&mut self, snake: &str, camel: &str) -> Result<Option<(String, Value)>, Trouble> {
        let first = self.0.shift_remove(snake).map(|value| (snake, value));
        let second = if snake == camel { None } else { self.0.shift_remove(camel).map(|value| (camel, value)) };
        if first.is_some() && second.is_some() {
            return Err(Trouble::field(camel, messages::field_is_there_twice(snake, camel)));
        }
        let found = first.or(second).filter(|(_, value)| !value.is_null());
        Ok(found.map(|(name, value)| (name.to_owned(), value)))
    }

    pub(super) fn text(&mut self, snake: &str, camel: &str) -> Result<Option<(String, String)>, Trouble> {
        match self.take(snake, camel)? {
            None => Ok(None),
            Some((name, Value::String(text))) => Ok(Some((name, text))),
            Some((name, _)) => Err(Trouble::field(name, messages::wants_a_string())),
        }
    }

    pub(super) fn flag(&mut self, snake: &str, camel: &str) -> Result<bool, Trouble> {
        match self.take(snake, camel)? {
            None => Ok(false),
            Some((_, Value::Bool(flag))) => Ok(flag),
            Some((name, _)) => Err(Trouble::field(name, messages::wants_true_or_false())),
        }
    }

    pub(super) fn object(&mut self, snake: &str, camel: &str) -> Result<Option<(String, Args)>, Trouble> {
        match self.take(snake, camel)? {
            None => Ok(None),
            Some((name, Value::Object(object))) => Ok(Some((name, object))),
            Some((name, _)) => Err(Trouble::field(name, messages::wants_an_object())),
        }
    }

    fn list(&mut self, snake: &str, camel: &str) -> Result<Option<(String, Vec<Value>)>, Trouble> {
        match self.take(snake, camel)? {
            None => Ok(None),
            Some((name, Value::Array(list))) => Ok(Some((name, list))),
            Some((name, _)) => Err(Trouble::field(name, messages::wants_a_list())),
        }
    }

    /// # Errors
    /// There is a member that nobody knows.
    pub(super) fn end(self) -> Result<(), Trouble> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((name, _)) => Err(Trouble::field(echoed(&name), messages::no_such_field())),
        }
    }
}

fn echoed(text: &str) -> String {
    text.chars().take(MOST_ECHOED).collect()
}

/// Reads what a turn is asked for.
pub(super) fn order(body: &[u8], shared: &Shared) -> Result<Order, Trouble> {
    let (catalog, language) = (&shared.catalog, shared.options.language);
    let mut fields = Fields::of(body)?;
    let prompt = fields.text("prompt", "prompt")?;
    let tool = fields.text("tool_type", "toolType")?;
    let context = fields.list("context_history", "contextHistory")?;
    let direct = fields.flag("direct", "direct")?;
    let args = fields.object("args", "args")?;
    let stream = fields.flag("stream", "stream")?;
    let persona = fields.text("persona", "persona")?;
    fields.end()?;
    if let Some((name, prompt)) = &prompt {
        let characters = prompt.chars().count();
        if characters > MOST_OF_PROMPT {
            return Err(Trouble::field(name, messages::prompt_too_long(characters, MOST_OF_PROMPT)));
        }
        if prompt.trim().is_empty() {
            return Err(Trouble::field(name, messages::prompt_is_blank()));
        }
    }
    let named = match &tool {
        Some((name, tool)) if tool != "auto" => Some(named(name, tool, catalog)?),
        _ => None,
    };
    let persona = match &persona {
        Some((field, name)) => Some(known(field, name, &shared.personas)?),
        None => None,
    };
    if let (Some(persona), Some((field, _)), Some(tool)) = (persona, &tool, &named)
        && !has_tool(persona, tool)
    {
        let tools = persona.tools.as_deref().unwrap_or_default().join(", ");
        return Err(Trouble::field(field, messages::persona_has_no_such_tool(&persona.name, tool, tools)));
    }
    let persona = persona.map(|persona| persona.name.clone());
    let named_context = context.as_ref().map(|(name, _)| name.clone());
    let (context, dropped) = match &context {
        Some((name, entries)) => context_of(name, entries)?,
        None => (String::new(), 0),
    };
    if direct {
        let Some(name) = named else {
            let field = tool.map_or_else(|| "tool_type".to_owned(), |(name, _)| name);
            return Err(Trouble::field(field, messages::direct_needs_a_tool(names(catalog))));
        };
        let args = args.map(|(_, args)| args).unwrap_or_default();
        return Ok(Order { work: Work::Tool { name, args }, dropped, context: named_context, stream, persona });
    }
    if let Some((name, _)) = args {
        return Err(Trouble::field(name, messages::args_are_for_direct()));
    }
    let Some((_, prompt)) = prompt else {
        return Err(Trouble::field("prompt", messages::field_is_missing("prompt")));
    };
    let message = match context.is_empty() {
        true => messages::request_of_the_user(&prompt),
        false => messages::request_with_context(context, &prompt),
    };
    let message = message.into_string(language);
    let work = Work::Model { prompt, message, tool: named };
    Ok(Order { work, dropped, context: named_context, stream, persona })
}

/// The persona of this name.
fn known<'a>(field: &str, name: &str, personas: &'a [Persona]) -> Result<&'a Persona, Trouble> {
    personas.iter().find(|persona| persona.name == name).ok_or_else(|| {
        let names = personas.iter().map(|persona| persona.name.as_str()).collect::<Vec<_>>().join(", ");
        Trouble::field(field, messages::unknown_persona(format!("{:?}", echoed(name)), names))
    })
}

/// Whether a persona has this tool.
pub(super) fn has_tool(persona: &Persona, tool: &str) -> bool {
    persona.tools.as_ref().is_none_or(|tools| tools.iter().any(|own| own == tool))
}

/// The tool of this name or alias.
fn named(field: &str, name: &str, catalog: &Catalog) -> Result<String, Trouble> {
    if let Some(spec) = catalog.find(name) {
        return Ok(spec.name.to_string());
    }
    let known = catalog.specs().iter().map(|spec| spec.name.as_ref());
    let close = close_names(&echoed(name), known).into_iter().next();
    let name = format!("{:?}", echoed(name));
    Err(Trouble::field(
        field,
        match close {
            Some(close) => messages::unknown_tool_like(name, close, names(catalog)),
            None => messages::unknown_tool(name, names(catalog)),
        },
    ))
}

fn names(catalog: &Catalog) -> String {
    catalog.specs().iter().map(|spec| spec.name.as_ref()).collect::<Vec<&str>>().join(", ")
}

/// The lines of the context, and how many entries were left out. They stand in the order of the client: the newest one is the last.
fn context_of(field: &str, entries: &[Value]) -> Result<(String, usize), Trouble> {
    let dropped = entries.len().saturating_sub(MOST_CONTEXT);
    let mut lines = Vec::new();
    for (index, entry) in entries.iter().enumerate().skip(dropped) {
        let place = format!("{field}[{index}]");
        let Value::Object(entry) = entry else { return Err(Trouble::field(place, messages::wants_an_object())) };
        let text = |name: &str| match entry.get(name) {
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(Trouble::field(format!("{place}.{name}"), messages::wants_a_string())),
            None => Err(Trouble::field(format!("{place}.{name}"), messages::field_is_missing(name))),
        };
        lines.push(format!("[{}] {} -> {}", text("timestamp")?, text("prompt")?, text("result")?));
        let known = |name: &&String| matches!(name.as_str(), "timestamp" | "prompt" | "result");
        if let Some(other) = entry.keys().find(|name| !known(name)) {
            return Err(Trouble::field(format!("{place}.{}", echoed(other)), messages::no_such_field()));
        }
    }
    Ok((lines.join("\n"), dropped))
}
