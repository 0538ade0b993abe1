//! `--debug`: writes internal events to stderr as JSON lines. `debug.schema.json` in this folder describes them.
//!
//! The code that displays calls and results writes their lines as well. All other lines are tracing events of this
//! project's crates: an event with a name becomes an `event` of that name, with its fields as members; any other
//! becomes a `note`. Events of the HTTP client are left out, because they would contain keys.

use crate::choices::SCHEMA as VERSION;
use crate::shown::steers;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use toolfence_agent::transcript::rfc3339;
use toolfence_protocol::format;
use toolfence_protocol::{Language, ToolCall, ToolResult};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The JSON Schema of the lines.
pub(crate) const SCHEMA: &str = include_str!("debug.schema.json");

/// The names of tracing events that become events of their own.
const NAMED: &[&str] = &["path"];

type Output = Box<dyn Fn(String) + Send>;

/// The destination of the lines, which all threads share; `None` if lines are disabled.
static OUTPUT: Mutex<Option<Output>> = Mutex::new(None);

/// Starts writing lines to standard error.
pub(crate) fn start() {
    start_to(|line| write(&line));
}

/// Starts passing lines to a function.
pub(crate) fn start_to(output: impl Fn(String) + Send + 'static) {
    *OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(output));
    // An error means that an earlier call of this function has set the subscriber.
    let _ = tracing::subscriber::set_global_default(Registry::default().with(Lines));
}

/// Stops writing lines.
pub(crate) fn stop() {
    *OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Returns `true` if lines are enabled.
pub(crate) fn is_on() -> bool {
    OUTPUT.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Writes a line to standard error.
pub(crate) fn write(line: &str) {
    crate::status::end();
    // A single write keeps the lines of two threads from mixing. If standard error is gone, the line is lost.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Writes the root of the project.
pub(crate) fn root(root: &Path) {
    if is_on() {
        line("root", json!({"root": root.display().to_string()}));
    }
}

/// Writes a call as it was parsed.
pub(crate) fn call(call: &ToolCall) {
    if is_on() {
        let repairs = call.repairs.iter();
        let repairs: Vec<Value> =
            repairs.map(|repair| json!({"kind": repair.name(), "lossless": repair.lossless()})).collect();
        line(
            "call",
            json!({"id": call.id, "tool": call.name, "args": call.args, "reason": call.reason, "repairs": repairs}),
        );
    }
}

/// Writes the result of a call.
pub(crate) fn result(result: &ToolResult) {
    if is_on() {
        line("result", json!({"id": result.id, "result": format::envelope(result, Language::English)}));
    }
}

fn line(event: &str, members: Value) {
    let mut line = json!({"v": VERSION, "at": rfc3339(SystemTime::now()), "event": event});
    if let (Some(line), Value::Object(members)) = (line.as_object_mut(), members) {
        line.extend(members);
    }
    if let Some(output) = &*OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) {
        output(safe(&line.to_string()));
    }
}

/// The tracing layer that converts events to lines.
struct Lines;

/// The fields of a span, stored with it.
struct SpanFields(Map<String, Value>);

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Lines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let target = metadata.target();
        *metadata.level() <= Level::DEBUG && (target.starts_with("toolfence") || target.starts_with("coder"))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(SpanFields(fields.0));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let (metadata, mut fields) = (event.metadata(), fields.0);
        let named = NAMED.contains(&metadata.name());
        let mut members = match named {
            true => fields,
            false => {
                let message = fields.remove("message").unwrap_or_default();
                let level = metadata.level().as_str().to_ascii_lowercase();
                let note = json!({"level": level, "target": metadata.target(), "message": message, "fields": fields});
                note.as_object().cloned().unwrap_or_default()
            }
        };
        // Calls run in parallel, so each event names its own call, which is the enclosing span.
        let span = context.event_span(event);
        if let Some(known) =
            span.as_ref().and_then(|span| span.extensions().get::<SpanFields>().map(|known| known.0.clone()))
            && !known.is_empty()
        {
            members.insert("call".to_owned(), Value::Object(known));
        }
        line(if named { metadata.name() } else { "note" }, Value::Object(members));
    }
}

/// Collects the fields of an event or a span as members of an object.
struct Fields(Map<String, Value>);

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.add(field, value.to_string());
    }

    /// Values with `Display` arrive here too; their `Debug` form is the displayed text. A test checks that no event has
    /// a field in Rust's `Debug` syntax.
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

/// Escapes control characters in a JSON line, which does not change its value: they occur only in strings, where each
/// character can be written as UTF-16 escapes.
fn safe(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        if !steers(c, &line[at..]) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_stays_the_same_and_steers_nothing() {
        let text = "a\u{9b}31m \u{202e}b \u{e0041} \u{7f} ä";
        let line = serde_json::to_string(text).unwrap();
        let written = safe(&line);
        assert_eq!(written, "\"a\\u009b31m \\u202eb \\udb40\\udc41 \\u007f ä\"");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    /// Each event with a name in the code is in the schema.
    #[test]
    fn the_schema_has_every_event() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let events = schema["properties"]["event"]["enum"].as_array().unwrap();
        for name in NAMED.iter().chain(&["root", "call", "result", "note"]) {
            assert!(events.contains(&(*name).into()) && schema["$defs"].get(*name).is_some(), "{name}");
        }
    }
}
