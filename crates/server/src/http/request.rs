//! Reads the fields of request bodies, and builds the message to the model from them.

use super::ApiState;
use super::access;
use super::answer::Trouble;
use super::types::{
    AgentRequest, Approval, ApprovalRequest, CancelRequest, Context, ContextHistory, Denial, DirectRequest, Edit,
    LoginRequest, MOST_OF_PROMPT, MarkdownRequest, ModelRequest, ReplyRequest, TurnRequest, UndoRequest,
};
use crate::body::{self, BodyProblem};
use crate::question::Always;
use axum::extract::{FromRequest, Request};
use serde_json::{Map, Value};
use std::mem::take;
use std::sync::Arc;
use toolfence_protocol::json::strict;
use toolfence_protocol::{Args, Catalog, FinishReason, Text, close_names, text};
use toolfence_session::persona::Persona;

/// The most entries of the context that are used: the last ones.
const MOST_CONTEXT: usize = 20;

/// The most characters of a client's text that an error repeats.
const MOST_ECHOED: usize = 100;

/// The task of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    pub(super) work: Work,
    /// Entries of the context that were left out.
    pub(super) dropped: usize,
    /// Whether the client wants the answer as events.
    pub(super) stream: bool,
    /// The persona that answers, if it is not the server's default.
    pub(super) persona: Option<String>,
}

/// The work of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Work {
    /// A model answers the prompt, with one tool or with all tools.
    Model { prompt: String, message: String, tool: Option<String> },
    /// A tool runs without a model.
    Tool { name: String, args: Args },
    /// A client has sent the reply of its model. `title` is for the undo history.
    Reply { title: String },
}

impl Work {
    /// Returns the title in the undo history: one line.
    pub(super) fn title(&self) -> &str {
        match self {
            Work::Model { prompt, .. } => prompt.trim_start().lines().next().unwrap_or_default(),
            Work::Tool { name, .. } | Work::Reply { title: name } => name,
        }
    }
}

/// A field with the name under which the client sent it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedField<T> {
    /// The name that the client wrote: some fields have two.
    pub(super) field: String,
    pub(super) value: T,
}

impl<T> NamedField<T> {
    /// Returns an error about this field.
    fn wrong(&self, message: Text) -> Trouble {
        Trouble::field(self.field.clone(), message)
    }
}

/// The members of an object that a client sent, each taken once.
#[derive(Debug)]
pub(super) struct Fields {
    /// The path of the object in the body, which errors add before field names.
    place: String,
    members: Map<String, Value>,
    /// The names of the fields that were read.
    #[cfg(test)]
    pub(super) asked: Vec<&'static str>,
}

impl Fields {
    fn new(place: String, members: Map<String, Value>) -> Fields {
        Fields {
            place,
            members,
            #[cfg(test)]
            asked: Vec::new(),
        }
    }

    /// # Errors
    /// Fails if the body is not a JSON object or has a duplicate member.
    pub(super) fn parse(body: &[u8]) -> Result<Fields, Trouble> {
        let wrong = |why: Text| Trouble::new(400, "invalid_body", text!("The body is not a JSON object: {why}", why));
        let text = std::str::from_utf8(body).map_err(|error| wrong(error.to_string().into()))?;
        match strict(text).map_err(|problem| wrong(problem.message))? {
            Value::Object(members) => Ok(Fields::new(String::new(), members)),
            _ => Err(wrong(text!("it is a different value"))),
        }
    }

    /// Returns an error about the member of this name.
    fn wrong(&self, name: &str, message: Text) -> Trouble {
        Trouble::field(format!("{}{name}", self.place), message)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn missing(&self, name: &str) -> Trouble {
        self.wrong(name, text!("{name} is missing.", name))
    }

    /// Takes the value under either name and converts it with `read`. A null counts as absent.
    fn take<T>(
        &mut self,
        snake: &'static str,
        camel: &'static str,
        wanted: fn() -> Text,
        read: fn(Value) -> Option<T>,
    ) -> Result<Option<NamedField<T>>, Trouble> {
        #[cfg(test)]
        self.asked.extend([snake, camel]);
        // Members that are left are unknown fields. `shift_remove` keeps their order, so `end` reports the first of
        // them.
        let first = self.members.shift_remove(snake).map(|value| (snake, value));
        let second = if snake == camel { None } else { self.members.shift_remove(camel).map(|value| (camel, value)) };
        if first.is_some() && second.is_some() {
            return Err(self.wrong(
                camel,
                text!("Both {one} and {other} were sent; send one of them.", one = snake, other = camel),
            ));
        }
        let Some((name, value)) = first.or(second).filter(|(_, value)| !value.is_null()) else { return Ok(None) };
        let value = read(value).ok_or_else(|| self.wrong(name, wanted()))?;
        Ok(Some(NamedField { field: format!("{}{name}", self.place), value }))
    }

    fn text(&mut self, snake: &'static str, camel: &'static str) -> Result<Option<NamedField<String>>, Trouble> {
        self.take(
            snake,
            camel,
            || text!("Expected a string."),
            |value| match value {
                Value::String(text) => Some(text),
                _ => None,
            },
        )
    }

    fn flag(&mut self, name: &'static str) -> Result<bool, Trouble> {
        let flag = self.take(name, name, || text!("Expected true or false."), |value| value.as_bool())?;
        Ok(flag.is_some_and(|flag| flag.value))
    }

    fn always(&mut self, name: &'static str) -> Result<Always, Trouble> {
        let wanted = || text!("Expected true, false or \"project\".");
        let always = self.take(name, name, wanted, |value| Always::try_from(value).ok())?;
        Ok(always.map_or(Always::No, |always| always.value))
    }

    fn object(&mut self, name: &'static str) -> Result<Option<NamedField<Args>>, Trouble> {
        self.take(
            name,
            name,
            || text!("Expected an object."),
            |value| match value {
                Value::Object(object) => Some(object),
                _ => None,
            },
        )
    }

    fn context(
        &mut self,
        snake: &'static str,
        camel: &'static str,
    ) -> Result<Option<NamedField<ContextHistory>>, Trouble> {
        let list = self.take(
            snake,
            camel,
            || text!("Expected a list."),
            |value| match value {
                Value::Array(list) => Some(list),
                _ => None,
            },
        )?;
        let Some(NamedField { field, value: list }) = list else { return Ok(None) };
        let dropped = list.len().saturating_sub(MOST_CONTEXT);
        // Entries that are not used are not checked either.
        let entries = list.into_iter().enumerate().skip(dropped);
        let entries = entries.map(|(index, entry)| {
            let place = format!("{field}[{index}]");
            match entry {
                Value::Object(members) => Context::read(&mut Fields::new(place + ".", members)),
                _ => Err(Trouble::field(place, text!("Expected an object."))),
            }
        });
        let entries = entries.collect::<Result<_, _>>()?;
        Ok(Some(NamedField { field, value: ContextHistory { entries, dropped } }))
    }

    /// # Errors
    /// Fails if the object has an unknown member.
    fn end(&self) -> Result<(), Trouble> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(name) => Err(self.wrong(&echoed(name), text!("There is no field with this name."))),
        }
    }
}

fn echoed(text: &str) -> String {
    text.chars().take(MOST_ECHOED).collect()
}

/// A type that a request body is read into.
pub(super) trait ReadBody: Sized {
    /// # Errors
    /// Fails if a field is missing, unknown or of the wrong type.
    fn read(fields: &mut Fields) -> Result<Self, Trouble>;
}

/// Extracts a request body, which must be JSON.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: ReadBody> FromRequest<Arc<ApiState>> for JsonBody<T> {
    type Rejection = Trouble;

    async fn from_request(request: Request, shared: &Arc<ApiState>) -> Result<JsonBody<T>, Trouble> {
        access::require_json(request.headers())?;
        let limit = shared.options.body;
        let within = shared.connections.patience(shared.options.arrival);
        let body = body::read(request.into_body(), limit, within).await.map_err(|problem| match problem {
            BodyProblem::TooLarge => {
                Trouble::new(413, "too_large", text!("The body has more than {bytes} bytes.", bytes = limit))
            }
            BodyProblem::TooSlow => Trouble::new(408, "timeout", text!("The body arrived too slowly.")),
            BodyProblem::BrokeOff(_) => Trouble::new(400, "invalid_body", text!("The body ended early.")),
        })?;
        T::read(&mut Fields::parse(&body)?).map(JsonBody)
    }
}

impl ReadBody for AgentRequest {
    fn read(fields: &mut Fields) -> Result<AgentRequest, Trouble> {
        let direct = fields.flag("direct")?;
        let prompt = fields.text("prompt", "prompt")?;
        let tool_type = fields.text("tool_type", "toolType")?;
        let persona = fields.text("persona", "persona")?;
        let context_history = fields.context("context_history", "contextHistory")?;
        let args = fields.object("args")?;
        let stream = fields.flag("stream")?;
        fields.end()?;
        if direct {
            let args = args.map(|args| args.value);
            let request = DirectRequest { tool_type, persona, args, prompt, context_history, stream };
            return Ok(AgentRequest::Direct(request));
        }
        if let Some(args) = args {
            return Err(
                args.wrong(text!("args are the arguments of a direct call; without direct the model writes them."))
            );
        }
        let prompt = prompt.ok_or_else(|| fields.missing("prompt"))?;
        let turn = TurnRequest { prompt, tool_type, persona, stream };
        Ok(AgentRequest::Model(ModelRequest { turn, context_history }))
    }
}

/// Parses the fields of a turn outside of a conversation too, so that the error for a field without a meaning in a
/// conversation gives the reason.
impl ReadBody for TurnRequest {
    fn read(fields: &mut Fields) -> Result<TurnRequest, Trouble> {
        match AgentRequest::read(fields)? {
            AgentRequest::Model(ModelRequest { turn, context_history: None }) => Ok(turn),
            AgentRequest::Model(ModelRequest { context_history: Some(context), .. }) => {
                Err(context.wrong(text!("A conversation has its own context; leave this field out.")))
            }
            AgentRequest::Direct(_) => Err(fields.wrong(
                "direct",
                text!(
                    "A direct call has no model to talk with, so it belongs to no conversation; send it to /api/agent."
                ),
            )),
        }
    }
}

impl ReadBody for Context {
    fn read(fields: &mut Fields) -> Result<Context, Trouble> {
        let mut text = |name| fields.text(name, name);
        let (timestamp, prompt, result) = (text("timestamp")?, text("prompt")?, text("result")?);
        let there = |name, text: Option<NamedField<String>>| match text {
            Some(text) => Ok(text.value),
            None => Err(fields.missing(name)),
        };
        let (timestamp, prompt) = (there("timestamp", timestamp)?, there("prompt", prompt)?);
        let context = Context { timestamp, prompt, result: there("result", result)? };
        fields.end()?;
        Ok(context)
    }
}

impl ReadBody for ApprovalRequest {
    fn read(fields: &mut Fields) -> Result<ApprovalRequest, Trouble> {
        let decision = fields.text("decision", "decision")?;
        let (mut always, mut args) = (fields.always("always")?, fields.object("args")?);
        let mut reason = fields.text("reason", "reason")?;
        fields.end()?;
        let decision = decision.ok_or_else(|| fields.missing("decision"))?;
        let request = match decision.value.as_str() {
            "approve" => ApprovalRequest::Approval(Approval { always: take(&mut always) }),
            "edit" => {
                let args = args.take().ok_or_else(|| fields.missing("args"))?;
                ApprovalRequest::Edit(Edit { args: args.value })
            }
            "deny" => ApprovalRequest::Denial(Denial { reason: reason.take().map(|reason| reason.value) }),
            _ => return Err(decision.wrong(text!("The decision must be approve, edit or deny."))),
        };
        // The decision has taken its fields; a field that is left does not belong to it.
        for (name, is_left) in
            [("args", args.is_some()), ("always", always != Always::No), ("reason", reason.is_some())]
        {
            if is_left {
                return Err(fields.wrong(name, text!("{name} does not fit this decision.", name)));
            }
        }
        Ok(request)
    }
}

impl ReadBody for LoginRequest {
    fn read(fields: &mut Fields) -> Result<LoginRequest, Trouble> {
        let token = fields.text("token", "token")?;
        fields.end()?;
        Ok(LoginRequest { token: token.ok_or_else(|| fields.missing("token"))?.value })
    }
}

impl ReadBody for MarkdownRequest {
    fn read(fields: &mut Fields) -> Result<MarkdownRequest, Trouble> {
        let text = fields.text("text", "text")?;
        fields.end()?;
        Ok(MarkdownRequest { text: text.ok_or_else(|| fields.missing("text"))?.value })
    }
}

impl ReadBody for ReplyRequest {
    fn read(fields: &mut Fields) -> Result<ReplyRequest, Trouble> {
        let (text, finish) = (fields.text("text", "text")?, fields.text("finish", "finish")?);
        let (more, stream) = (fields.flag("more")?, fields.flag("stream")?);
        fields.end()?;
        let finish = match finish.as_ref().map(|finish| finish.value.as_str()) {
            None | Some("stop") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some("cut") => FinishReason::Cut,
            Some(_) => return Err(fields.wrong("finish", text!("This must be stop, length or cut."))),
        };
        let text = text.ok_or_else(|| fields.missing("text"))?.value;
        Ok(ReplyRequest { text, finish, more, stream })
    }
}

impl ReadBody for UndoRequest {
    fn read(fields: &mut Fields) -> Result<UndoRequest, Trouble> {
        fields.end()?;
        Ok(UndoRequest {})
    }
}

impl ReadBody for CancelRequest {
    fn read(fields: &mut Fields) -> Result<CancelRequest, Trouble> {
        fields.end()?;
        Ok(CancelRequest {})
    }
}

impl AgentRequest {
    /// Returns the task of the turn.
    pub(super) async fn order(self, shared: &ApiState) -> Result<Order, Trouble> {
        let language = shared.options.language;
        match self {
            AgentRequest::Model(ModelRequest { turn, context_history }) => {
                let mut order = turn.order(shared).await?;
                let (lines, dropped) = context_history.map(|context| context.value.lines()).unwrap_or_default();
                order.dropped = dropped;
                if let Work::Model { prompt, message, .. } = &mut order.work {
                    let sentence = match lines.is_empty() {
                        true => text!("User Request:\n{prompt}", prompt = &*prompt),
                        false => text!(
                            "Context History:\n{context}\n\nUser Request:\n{prompt}",
                            context = lines,
                            prompt = &*prompt
                        ),
                    };
                    *message = sentence.into_string(language);
                }
                Ok(order)
            }
            AgentRequest::Direct(DirectRequest { tool_type, persona, args, prompt, context_history, stream }) => {
                prompt.as_ref().map(check_prompt).transpose()?;
                let (tool, persona) = resolve_names(tool_type.as_ref(), persona.as_ref(), shared).await?;
                let Some(name) = tool else {
                    let field = tool_type.map_or_else(|| "tool_type".to_owned(), |tool| tool.field);
                    return Err(Trouble::field(
                        field,
                        text!("direct runs one tool, so name it: {tools}.", tools = names(&shared.catalog)),
                    ));
                };
                let work = Work::Tool { name, args: args.unwrap_or_default() };
                Ok(Order { work, dropped: context_history.map_or(0, |context| context.value.dropped), stream, persona })
            }
        }
    }
}

impl TurnRequest {
    /// Returns the task of a turn in a conversation, where the model has its own context.
    pub(super) async fn order(self, shared: &ApiState) -> Result<Order, Trouble> {
        check_prompt(&self.prompt)?;
        let (tool, persona) = resolve_names(self.tool_type.as_ref(), self.persona.as_ref(), shared).await?;
        let prompt = self.prompt.value;
        let work = Work::Model { message: prompt.clone(), prompt, tool };
        Ok(Order { work, dropped: 0, stream: self.stream, persona })
    }
}

impl ContextHistory {
    /// Returns the lines for the model in the client's order, newest last, and the number of entries that were left
    /// out.
    fn lines(self) -> (String, usize) {
        let line = |Context { timestamp, prompt, result }: &Context| format!("[{timestamp}] {prompt} -> {result}");
        (self.entries.iter().map(line).collect::<Vec<_>>().join("\n"), self.dropped)
    }
}

/// Checks that a prompt is not blank and not too long.
fn check_prompt(prompt: &NamedField<String>) -> Result<(), Trouble> {
    let characters = prompt.value.chars().count();
    if characters > MOST_OF_PROMPT {
        return Err(prompt.wrong(text!(
            "The prompt has {characters} characters; at most {most} are allowed.",
            characters,
            most = MOST_OF_PROMPT
        )));
    }
    match prompt.value.trim().is_empty() {
        true => Err(prompt.wrong(text!("The prompt is blank."))),
        false => Ok(()),
    }
}

/// Returns the canonical names of the tool and the persona that a request names.
async fn resolve_names(
    tool: Option<&NamedField<String>>,
    persona: Option<&NamedField<String>>,
    shared: &ApiState,
) -> Result<(Option<String>, Option<String>), Trouble> {
    let tool = tool.filter(|tool| tool.value != "auto");
    let named = tool.map(|tool| find_tool(tool, &shared.catalog)).transpose()?;
    let Some(persona) = persona else { return Ok((named, None)) };
    let personas = shared.personas().await?;
    let persona = find_persona(persona, &personas)?;
    if let (Some(tool), Some(name)) = (tool, &named)
        && !has_tool(persona, name)
    {
        let tools = persona.tools.as_deref().unwrap_or_default().join(", ");
        return Err(tool.wrong(text!(
            "The persona {persona} has no tool {tool}; use auto or one of {tools}.",
            persona = &persona.name,
            tool = name,
            tools
        )));
    }
    Ok((named, Some(persona.name.clone())))
}

/// Finds the persona of this name.
fn find_persona<'a>(persona: &NamedField<String>, personas: &'a [Persona]) -> Result<&'a Persona, Trouble> {
    personas.iter().find(|known| known.name == persona.value).ok_or_else(|| {
        let names = personas.iter().map(|persona| persona.name.as_str()).collect::<Vec<_>>().join(", ");
        persona.wrong(text!(
            "There is no persona {name}; use one of {names}.",
            name = format!("{:?}", echoed(&persona.value)),
            names
        ))
    })
}

/// Returns `true` if a persona has this tool.
pub(super) fn has_tool(persona: &Persona, tool: &str) -> bool {
    persona.tools.as_ref().is_none_or(|tools| tools.iter().any(|own| own == tool))
}

/// Resolves a name or an alias to the canonical name of the tool.
fn find_tool(tool: &NamedField<String>, catalog: &Catalog) -> Result<String, Trouble> {
    if let Some(spec) = catalog.find(&tool.value) {
        return Ok(spec.name.to_string());
    }
    let known = catalog.specs().iter().map(|spec| spec.name.as_ref());
    let close = close_names(&echoed(&tool.value), known).into_iter().next();
    let name = format!("{:?}", echoed(&tool.value));
    Err(tool.wrong(match close {
        Some(close) => text!(
            "There is no tool {name}; did you mean {close}? Use auto or one of {tools}.",
            name,
            close,
            tools = names(catalog)
        ),
        None => text!("There is no tool {name}; use auto or one of {tools}.", name, tools = names(catalog)),
    }))
}

fn names(catalog: &Catalog) -> String {
    catalog.specs().iter().map(|spec| spec.name.as_ref()).collect::<Vec<&str>>().join(", ")
}
