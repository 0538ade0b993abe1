//! Generates the OpenAPI description from the table of routes and from the types of requests and answers. A test
//! compares it with `openapi.json`, and updates that file if `UPDATE=1` is set.

use super::project::Prefix;
use super::request::{Fields, NamedField, ReadBody};
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

impl<T: JsonSchema> JsonSchema for NamedField<T> {
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

/// Describes only the required members of a record. The schema of the session file has the rest.
pub(super) fn records(_: &mut SchemaGenerator) -> Schema {
    let record = json!({
        "type": "object", "required": ["v", "id", "role", "timestamp"],
        "description": "A record, as written by coder export --format json.",
    });
    json_schema!({"type": "array", "items": record})
}

pub(super) fn undone(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["object", "null"], "required": ["turn", "title", "done", "refused", "notes"]})
}

/// Requires a member of this value, which distinguishes the object from the alternatives.
pub(super) fn require_value(name: &'static str, value: impl Into<Value>) -> impl Transform {
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
fn simplify(schema: &mut Schema) {
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
fn add_camel_case(schema: &mut Schema) {
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
            let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(simplify));
            settings.with(|settings| settings.definitions_path = "/components/schemas".into())
        };
        let requests = settings().for_deserialize().with_transform(RecursiveTransform(add_camel_case));
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
    fn query<T: JsonSchema>(mut self, names: &[&str]) -> Self {
        let mut all = T::json_schema(&mut self.schemas.requests);
        RecursiveTransform(simplify).transform(&mut all);
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

    fn body<T: JsonSchema>(mut self) -> Self {
        let schema = self.schemas.requests.subschema_for::<T>();
        self.described["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        self
    }

    fn answer<T: JsonSchema>(self, status: &str, description: &str) -> Self {
        let schema = self.schemas.answers.subschema_for::<T>();
        self.answer_of(status, description, "application/json", schema.into())
    }

    fn answer_of(mut self, status: &str, description: &str, kind: &str, schema: Value) -> Self {
        let answer = &mut self.described["responses"][status];
        answer["description"] = description.into();
        let known = answer["content"][kind]["schema"].take();
        // An answer with two schemas matches one of them.
        answer["content"][kind]["schema"] = if known.is_null() { schema } else { json!({"oneOf": [known, schema]}) };
        self
    }

    /// Adds the answers of a turn.
    fn turn_answers(self, description: &str, description_of_pending: &str) -> Self {
        self.answer::<AgentAnswer>("200", description)
            .answer::<AgentAnswer>("202", description_of_pending)
            .answer::<AgentAnswer>("502", "The backend failed.")
    }

    /// Declares that the turn may also be answered as a stream of events.
    fn streams(self) -> Self {
        self.turn_answers("The turn has ended.", "A call waits for an approval. Answering it continues the turn.")
            .event_answer("The turn has ended.")
    }

    fn event_answer(self, description: &str) -> Self {
        let events = "Events whose names and data are lines of coder pipe: $defs/out of coder pipe --schema.";
        let schema = json!({"type": "string", "description": events});
        self.answer_of("200", description, "text/event-stream", schema)
    }
}

/// Describes a route, without the parameters in its path.
fn operation<'a>(route: (&str, &str), schemas: &'a mut Schemas) -> Operation<'a> {
    match route {
        ("GET", "/api/health") => schemas.operation("health", "Reports that the server is running. Needs no token.")
            .open()
            .answer::<Done<Health>>("200", "It is running."),
        ("POST", "/api/login") => schemas.operation("login", "Exchanges the token for a cookie that a page sends by itself.")
            .open()
            .body::<LoginRequest>()
            .answer::<Done<Login>>("200", "The cookie is set."),
        ("POST", "/api/agent") => schemas.operation("run_turn", "Runs a turn. The turn ends if the client disconnects.")
            .body::<AgentRequest>()
            .streams(),
        ("POST", "/api/approvals/{id}") => schemas.operation("answer_approval", "Answers a waiting call.")
            .body::<ApprovalRequest>()
            .answer::<Done<Answered>>("200", "")
            .turn_answers(
                "The answer was passed to a stream; or, if the turn answers in JSON, the turn has ended.",
                "The next call waits for an approval.",
            ),
        ("GET", "/api/project") => schemas.operation("describe_project", "Describes the project and the model that answers.")
            .answer::<Done<ProjectOverview>>("200", "The project."),
        ("GET", "/api/files") => {
            let summary = "Completes a path. Ignored and blocked files are left out, and hidden ones unless the last name begins with a dot.";
            schemas.operation("complete_path", summary)
                .query::<Prefix>(&["prefix"])
                .answer::<Done<Files>>("200", "At most 50 paths of files and folders.")
        }
        ("GET", "/api/tools") => {
            schemas.operation("list_tools", "Lists the tools.").answer::<Done<Tools>>("200", "The tools.")
        }
        ("GET", "/api/personas") => {
            schemas.operation("list_personas", "Lists the personas. chosen answers if a request names none.")
                .answer::<Done<Personas>>("200", "The personas.")
        }
        ("GET", "/api/outputs/{id}") => schemas.operation(
            "read_output",
            "Reads an output that was too long for a result, from a byte offset on. Its id is output_id in the data of the result.",
        )
        .query::<Stretch>(&["offset"])
        .answer::<Done<Output>>("200", "A piece of the output."),
        ("GET", "/api/sessions") => schemas.operation(
            "list_sessions",
            "Lists the recorded conversations about the project, newest first.",
        )
        .query::<Stretch>(&["offset", "limit"])
        .answer::<Done<Sessions>>("200", "A part of the list."),
        ("GET", "/api/sessions/{id}") => schemas.operation("get_session", "Returns the conversation whose name begins with id.")
            .answer::<Done<OneSession>>("200", "The conversation."),
        ("GET", "/api/sessions/{id}/messages") => schemas.operation("list_messages", "Lists the records of a conversation.")
            .query::<Stretch>(&["newest", "offset", "limit"])
            .answer::<Done<Messages>>("200", "A part of the records."),
        ("POST", "/api/sessions/{id}/turns") => schemas.operation(
            "run_session_turn",
            "Runs a turn in the conversation whose name begins with id, or in a new one if id is new. The header X-Session names it.",
        )
        .body::<TurnRequest>()
        .streams(),
        ("GET", "/api/sessions/{id}/events") => schemas.operation(
            "follow_turn",
            "Streams the events of the running or the last turn of a conversation. Each has an id, with which a client resumes.",
        )
        .query::<Start>(&["after"])
        .event_answer("The events, to the end of the turn."),
        ("POST", "/api/sessions/{id}/cancel") => schemas.operation(
            "cancel_turn",
            "Cancels the running turn of a conversation, and answers when it has ended.",
        )
        .body::<CancelRequest>()
        .answer::<Done<Cancel>>("200", "No turn of the conversation is running."),
        ("POST", "/api/sessions/{id}/replies") => schemas.operation(
            "read_reply",
            "Reads a model's reply that the client sends, runs its calls, and answers with the text to send to the model.",
        )
        .body::<ReplyRequest>()
        .turn_answers(
            "The calls have their results.",
            "A call waits for an approval, and the answer to that has the results; or, with more, the piece was added.",
        )
        .event_answer("The calls have their results."),
        ("GET", "/api/sessions/{id}/instructions") => schemas.operation(
            "show_instructions",
            "Returns the text that a client must send first to a model whose replies it sends here.",
        )
        .answer::<Done<Instructions>>("200", "The text."),
        ("POST", "/api/undo") => schemas.operation("undo", "Undoes the changes of the last turn, if no turn is running.")
            .body::<UndoRequest>()
            .answer::<Done<Undo>>("200", "What was undone or redone."),
        ("POST", "/api/redo") => schemas.operation("redo", "Redoes the last undo, if no turn is running.")
            .body::<UndoRequest>()
            .answer::<Done<Undo>>("200", "What was undone or redone."),
        ("POST", "/api/markdown") => schemas.operation("render_markdown", "Renders Markdown for the page.")
            .body::<MarkdownRequest>()
            .answer::<Done<Html>>("200", "The HTML."),
        ("GET", "/openapi.json") => schemas.operation("description", "Returns this document.")
            .answer_of("200", "The document.", "application/json", json!({"type": "object"})),
        (method, path) => panic!("{method} {path} is not described"),
    }
}

fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for &(method, path) in ROUTES {
        let operation = operation((method, path), &mut schemas);
        let described =
            operation.answer::<Refusal>("default", "The request was refused; the status and the code give the reason.");
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
fn format_json(value: &Value, open: bool) -> String {
    match value {
        Value::Object(members) if open => {
            let lines = members.iter().map(|(name, value)| {
                let open = matches!(name.as_str(), "paths" | "components" | "schemas");
                format!("{}:{}", json!(name), format_json(value, open))
            });
            format!("{{\n{}\n}}", lines.collect::<Vec<_>>().join(",\n"))
        }
        _ => value.to_string(),
    }
}

#[test]
fn the_description_is_made_from_the_types() {
    let made = format_json(&document(), true) + "\n";
    match Update::from_environment() {
        Update::Always => {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi.json");
            std::fs::write(file, made).unwrap();
        }
        Update::Never => assert!(made == OPENAPI, "openapi.json is another; UPDATE=1 writes it:\n{made}"),
    }
}

/// Reads a body that has only `field`. Returns the names of all fields that the type looks up, and whether it used
/// `field`.
fn read<T: ReadBody>(field: &str) -> (BTreeSet<String>, bool) {
    let body = json!({field: null}).to_string();
    let mut fields = Fields::parse(body.as_bytes()).unwrap();
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
