//! Generates the OpenAPI description from the table of routes and from the types of requests and answers. A test
//! compares it with `openapi.json`, and updates that file if `UPDATE=1` is set.

use super::project::Prefix;
use super::request::{Asked, Fields, Given};
use super::routes::{MOST_OF_NAME, OPENAPI, ROUTES};
use super::sessions::{Start, Stretch};
use super::types::*;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use toolfence_kit::Update;
use toolfence_protocol::{Effect, FinishReason, Text};
use toolfence_session::StopReason;

impl<T: JsonSchema> JsonSchema for Given<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<const VALUE: bool> JsonSchema for Is<VALUE> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Is_{VALUE}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"const": VALUE})
    }
}

/// The arguments of a tool, as its schema in GET /api/tools describes them.
#[derive(JsonSchema)]
#[schemars(rename = "Args")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct ToolArgs(Map<String, Value>);

/// The names of all reasons for which turns end.
pub(super) fn stop(_: &mut SchemaGenerator) -> Schema {
    let all = [
        StopReason::Answered,
        StopReason::Empty,
        StopReason::Unfinished(FinishReason::Length),
        StopReason::FormatErrors,
        StopReason::RoundLimit,
        StopReason::Loop,
        StopReason::Cancelled,
        StopReason::Failed(Text::from("why")),
    ];
    let names = all.iter().map(|reason| Some(reason.name())).chain([None]);
    json_schema!({"enum": names.collect::<Vec<_>>()})
}

pub(super) fn finish(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": [FinishReason::Stop, FinishReason::Length, FinishReason::Cut]})
}

pub(super) fn stopped() -> FinishReason {
    FinishReason::Stop
}

pub(super) fn effect(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": [Effect::Read, Effect::Write, Effect::Execute]})
}

pub(super) fn always(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "boolean"}, {"const": "project"}], "default": false})
}

/// Records are described by the schema of the session file.
pub(super) fn records(_: &mut SchemaGenerator) -> Schema {
    let record = json!({
        "type": "object", "required": ["v", "id", "role", "timestamp"],
        "description": "A record as coder export --format json writes it.",
    });
    json_schema!({"type": "array", "items": record})
}

pub(super) fn undone(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["object", "null"], "required": ["turn", "title", "done", "refused", "notes"]})
}

/// Requires a member of this value, which distinguishes the object from the alternatives.
pub(super) fn is(name: &'static str, value: impl Into<Value>) -> impl Transform {
    let value = value.into();
    move |schema: &mut Schema| {
        member(schema, name, json!({"const": value}));
        let required = schema.ensure_object().entry("required").or_insert_with(|| json!([]));
        required.as_array_mut().unwrap().insert(0, name.into());
    }
}

/// Allows a member to be absent or to have this value.
pub(super) fn may_be(name: &'static str, value: bool) -> impl Transform {
    move |schema: &mut Schema| {
        member(
            schema,
            name,
            json!({"type": "boolean", "not": {"const": !value}, "description": "It may be left out."}),
        );
    }
}

fn member(schema: &mut Schema, name: &str, described: Value) {
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    properties.as_object_mut().unwrap().insert(name.to_owned(), described);
}

/// Simplifies a generated schema.
fn usual(schema: &mut Schema) {
    // Names of Rust types mean nothing to clients.
    schema.remove("format");
    // An enum with a single value is a constant.
    if let Some([only]) = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
        let only = only.clone();
        schema.remove("enum");
        schema.remove("type");
        schema.insert("const".to_owned(), only);
    }
    // Requests with unknown fields are refused, and answers have none.
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// Accepts names of two words also in camelCase.
fn twins(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, described) in std::mem::take(properties) {
        let mut twin = described.clone();
        properties.insert(name.clone(), described);
        if let Some((first, second)) = name.split_once('_') {
            let (start, rest) = second.split_at(1);
            twin.as_object_mut().unwrap().remove("description");
            properties.insert(format!("{first}{}{rest}", start.to_uppercase()), twin);
        }
    }
}

/// The schemas at the end of the document.
struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Schemas {
    fn new() -> Schemas {
        let settings = || {
            let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(usual));
            settings.with(|settings| settings.definitions_path = "/components/schemas".into())
        };
        let requests = settings().for_deserialize().with_transform(RecursiveTransform(twins));
        Schemas { requests: requests.into_generator(), answers: settings().for_serialize().into_generator() }
    }

    /// Begins an operation, to which answers are added.
    fn operation(&mut self, id: &str, summary: &str) -> Operation<'_> {
        Operation { schemas: self, described: json!({"operationId": id, "summary": summary}) }
    }

    fn all(mut self) -> Map<String, Value> {
        let mut all = self.requests.take_definitions(true);
        for (name, schema) in self.answers.take_definitions(true) {
            let other = all.insert(name.clone(), schema.clone());
            assert!(other.is_none_or(|other| other == schema), "two schemas have the name {name}");
        }
        all
    }
}

/// The description of an operation.
struct Operation<'a> {
    schemas: &'a mut Schemas,
    described: Value,
}

impl Operation<'_> {
    /// Declares that the operation needs no token.
    fn open(mut self) -> Self {
        self.described["security"] = json!([]);
        self
    }

    /// Adds query parameters: the fields of `T` with these names.
    fn asks<T: JsonSchema>(mut self, names: &[&str]) -> Self {
        let mut all = T::json_schema(&mut self.schemas.requests);
        RecursiveTransform(usual).transform(&mut all);
        let all = all.as_value()["properties"].as_object().unwrap();
        let parameters = names.iter().map(|name| {
            let mut parameter = json!({"name": name, "in": "query", "schema": all[*name]});
            if let Some(described) = parameter["schema"].as_object_mut().unwrap().remove("description") {
                parameter["description"] = described;
            }
            parameter
        });
        self.described["parameters"] = parameters.collect();
        self
    }

    fn takes<T: JsonSchema>(mut self) -> Self {
        let schema = self.schemas.requests.subschema_for::<T>();
        self.described["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        self
    }

    fn gives<T: JsonSchema>(self, status: &str, description: &str) -> Self {
        let schema = self.schemas.answers.subschema_for::<T>();
        self.gives_of(status, description, "application/json", schema.into())
    }

    fn gives_of(mut self, status: &str, description: &str, kind: &str, schema: Value) -> Self {
        let answer = &mut self.described["responses"][status];
        answer["description"] = description.into();
        let known = answer["content"][kind]["schema"].take();
        // An answer with two schemas matches one of them.
        answer["content"][kind]["schema"] = if known.is_null() { schema } else { json!({"oneOf": [known, schema]}) };
        self
    }

    /// Adds the answers of a turn.
    fn gives_turn(self, description: &str, description_of_pending: &str) -> Self {
        self.gives::<AgentAnswer>("200", description)
            .gives::<AgentAnswer>("202", description_of_pending)
            .gives::<AgentAnswer>("502", "The backend failed.")
    }

    /// Declares that the turn may also be answered as a stream of events.
    fn streams(self) -> Self {
        self.gives_turn("The turn is over.", "A call waits for an approval; the answer to that goes on from here.")
            .gives_events("The turn is over.")
    }

    fn gives_events(self, description: &str) -> Self {
        let events = "Events whose names and data are lines of coder pipe: $defs/out of coder pipe --schema.";
        let schema = json!({"type": "string", "description": events});
        self.gives_of("200", description, "text/event-stream", schema)
    }
}

/// Describes a route, without the parameters in its path.
fn operation<'a>(route: (&str, &str), schemas: &'a mut Schemas) -> Operation<'a> {
    match route {
        ("GET", "/api/health") => schemas.operation("health", "Whether the server is there. It wants no token.")
            .open()
            .gives::<Done<Health>>("200", "It is."),
        ("POST", "/api/login") => schemas.operation("login", "Exchanges the token for a cookie that a page sends by itself.")
            .open()
            .takes::<LoginRequest>()
            .gives::<Done<Login>>("200", "The cookie is set."),
        ("POST", "/api/agent") => schemas.operation("run_turn", "Runs a turn. When the client goes away, the turn ends.")
            .takes::<AgentRequest>()
            .streams(),
        ("POST", "/api/approvals/{id}") => schemas.operation("answer_approval", "Answers a call that waits.")
            .takes::<ApprovalRequest>()
            .gives::<Done<Answered>>("200", "")
            .gives_turn(
                "The answer was passed on to a stream; or, where the turn answers in JSON, the turn is over.",
                "The next call waits.",
            ),
        ("GET", "/api/project") => schemas.operation("describe_project", "The project that is served, and the model that answers.")
            .gives::<Done<ProjectOverview>>("200", "The project."),
        ("GET", "/api/files") => {
            let summary = "Completes a path. Ignored and blocked files are left out, hidden ones unless the last name begins with a dot.";
            schemas.operation("complete_path", summary)
                .asks::<Prefix>(&["prefix"])
                .gives::<Done<Files>>("200", "At most 50 paths of files and folders.")
        }
        ("GET", "/api/tools") => {
            schemas.operation("list_tools", "The tools.").gives::<Done<Tools>>("200", "All of them.")
        }
        ("GET", "/api/personas") => {
            schemas.operation("list_personas", "Who can answer. chosen does where a request names nobody.")
                .gives::<Done<Personas>>("200", "All of them.")
        }
        ("GET", "/api/outputs/{id}") => schemas.operation(
            "read_output",
            "An output that was too long for a result, from a byte on. Its name is output_id in the data of the result.",
        )
        .asks::<Stretch>(&["offset"])
        .gives::<Done<Output>>("200", "A piece of it."),
        ("GET", "/api/sessions") => schemas.operation(
            "list_sessions",
            "The conversations about the project that were written down, the last one first.",
        )
        .asks::<Stretch>(&["offset", "limit"])
        .gives::<Done<Sessions>>("200", "A stretch of the list."),
        ("GET", "/api/sessions/{id}") => schemas.operation("get_session", "The conversation whose name begins so.")
            .gives::<Done<OneSession>>("200", "The conversation."),
        ("GET", "/api/sessions/{id}/messages") => schemas.operation("list_messages", "The records of a conversation.")
            .asks::<Stretch>(&["newest", "offset", "limit"])
            .gives::<Done<Messages>>("200", "A stretch of them."),
        ("POST", "/api/sessions/{id}/turns") => schemas.operation(
            "run_session_turn",
            "Runs a turn in the conversation whose name begins so, or in a new one for the name new. The header X-Session names it.",
        )
        .takes::<TurnRequest>()
        .streams(),
        ("GET", "/api/sessions/{id}/events") => schemas.operation(
            "follow_turn",
            "Streams the events of the running or the last turn of a conversation. Each has an id, with which a client resumes.",
        )
        .asks::<Start>(&["after"])
        .gives_events("The events, to the end of the turn."),
        ("POST", "/api/sessions/{id}/cancel") => schemas.operation(
            "cancel_turn",
            "Cancels the running turn of a conversation, and answers when it has ended.",
        )
        .takes::<CancelRequest>()
        .gives::<Done<Cancel>>("200", "No turn of the conversation runs."),
        ("POST", "/api/sessions/{id}/replies") => schemas.operation(
            "read_reply",
            "Reads a model's reply that the client brings, runs its calls, and answers with the text to send to the model.",
        )
        .takes::<ReplyRequest>()
        .gives_turn(
            "The calls have their results.",
            "A call waits for an approval, whose answer has the results; or, after more, the piece was added.",
        )
        .gives_events("The calls have their results."),
        ("GET", "/api/sessions/{id}/instructions") => schemas.operation(
            "show_instructions",
            "The text to send to a model first whose replies the client brings.",
        )
        .gives::<Done<Instructions>>("200", "The text."),
        ("POST", "/api/undo") => schemas.operation("undo", "Takes back what the last turn changed, while none runs.")
            .takes::<UndoRequest>()
            .gives::<Done<Undo>>("200", "What was done."),
        ("POST", "/api/redo") => schemas.operation("redo", "Takes the last undo back, while no turn runs.")
            .takes::<UndoRequest>()
            .gives::<Done<Undo>>("200", "What was done."),
        ("POST", "/api/markdown") => schemas.operation("render_markdown", "Renders Markdown as the page shows it.")
            .takes::<MarkdownRequest>()
            .gives::<Done<Html>>("200", "The HTML."),
        ("GET", "/openapi.json") => schemas.operation("description", "This document.")
            .gives_of("200", "The document.", "application/json", json!({"type": "object"})),
        (method, path) => panic!("{method} {path} is not described"),
    }
}

fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for &(method, path) in ROUTES {
        let operation = operation((method, path), &mut schemas);
        let described =
            operation.gives::<Refusal>("default", "The request is refused: the status and the code say why.");
        let mut described = described.described;
        if path.contains("{id}") {
            let name = json!({"type": "string", "pattern": format!("^[A-Za-z0-9_-]{{1,{MOST_OF_NAME}}}$")});
            let mut parameters = vec![json!({"name": "id", "in": "path", "required": true, "schema": name})];
            parameters.extend(described["parameters"].as_array().into_iter().flatten().cloned());
            described["parameters"] = parameters.into();
        }
        let path = paths.entry(path).or_insert_with(|| json!({}));
        path[method.to_lowercase()] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "coder serve", "version": env!("CARGO_PKG_VERSION"),
            "description": "Turns and tools of a project over HTTP.",
        },
        "security": [{"token": []}, {"cookie": [], "page_key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "toolfence_8765"},
                "page_key": {"type": "apiKey", "in": "header", "name": "X-Page-Key"},
            },
            "schemas": schemas.all(),
        },
    })
}

/// Formats JSON with one path or schema on a line, for readable diffs. `open`: each member has a line of its own.
fn written(value: &Value, open: bool) -> String {
    match value {
        Value::Object(members) if open => {
            let lines = members.iter().map(|(name, value)| {
                let open = matches!(name.as_str(), "paths" | "components" | "schemas");
                format!("{}:{}", json!(name), written(value, open))
            });
            format!("{{\n{}\n}}", lines.collect::<Vec<_>>().join(",\n"))
        }
        _ => value.to_string(),
    }
}

#[test]
fn the_description_is_made_from_the_types() {
    let made = written(&document(), true) + "\n";
    match Update::from_environment() {
        Update::Always => {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi.json");
            std::fs::write(file, made).unwrap();
        }
        Update::Never => assert!(made == OPENAPI, "openapi.json is another; UPDATE=1 writes it:\n{made}"),
    }
}

/// Returns the fields that a request type reads, and whether it accepts `field`.
fn read<T: Asked>(field: &str) -> (BTreeSet<String>, bool) {
    let body = json!({field: null}).to_string();
    let mut fields = Fields::of(body.as_bytes()).unwrap();
    let _ = T::read(&mut fields);
    (fields.asked.iter().map(|name| (*name).to_owned()).collect(), fields.is_empty())
}

#[test]
fn the_fields_that_are_described_are_those_that_are_read() {
    let described = |names: &[&str]| -> BTreeSet<String> {
        let document = document();
        let schemas = &document["components"]["schemas"];
        let fields = names.iter().flat_map(|name| schemas[name]["properties"].as_object().unwrap().keys());
        fields.cloned().collect()
    };
    assert_eq!(described(&["ModelRequest", "DirectRequest"]), read::<AgentRequest>("prompt").0);
    assert_eq!(described(&["Approval", "Edit", "Denial"]), read::<ApprovalRequest>("args").0);
    assert_eq!(described(&["Context"]), read::<Context>("prompt").0);
    assert_eq!(described(&["ReplyRequest"]), read::<ReplyRequest>("text").0);
    assert_eq!(described(&["LoginRequest"]), read::<LoginRequest>("token").0);
    assert_eq!(described(&["MarkdownRequest"]), read::<MarkdownRequest>("text").0);
    let known = described(&["TurnRequest"]);
    assert!(known.len() > 4 && known.iter().all(|field| read::<TurnRequest>(field).1), "{known:?}");
    assert!(!read::<UndoRequest>("token").1 && !read::<CancelRequest>("token").1);
}
