//! `coder parse`: prints the parser's events for a reply, as JSON lines or for people.

use crate::args::{Options as CommandLine, ParseArguments};
use crate::choices::End;
use crate::commands::read_stdin;
use crate::config::Config;
use crate::explain::explained;
use crate::failure::Failure;
use crate::rules::read_dialects;
use crate::terminal::Terminal;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use toolfence_protocol::parse::{Event, Options, Parser};
use toolfence_protocol::{Catalog, FinishReason, Text, ToolSpec, text};

/// Parses one or more replies from stdin and prints their events.
pub(crate) fn run(options: &CommandLine, arguments: &ParseArguments) -> Result<ExitCode, Failure> {
    let mut out = Terminal::stdout();
    if arguments.batch {
        return batch(options, arguments, &mut out);
    }
    let reply = read_stdin()?;
    let reader = ReplyReader::new(options, arguments)?;
    let events = reader.read(&reply, arguments.chunk, finish_reason(arguments.finish));
    for event in events {
        match arguments.explain {
            true => out.line(&explained(&event))?,
            false => out.line(&versioned(&event).to_string())?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReply {
    id: Value,
    text: String,
    #[serde(default)]
    chunk: Option<usize>,
    #[serde(default)]
    finish: Option<FinishReason>,
    #[serde(default)]
    dialects: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
}

/// The expected form of a line of a batch.
const EXPECTED: &str =
    r#"{"id":..,"text":..,"chunk":..?,"finish":..?,"dialects":..?,"tools":[..]?} or a record of a transcript"#;

/// Returns the reply in a line of a batch, or `None` for a transcript record that is not a reply.
fn stored_reply(line: Value) -> Result<Option<StoredReply>, Text> {
    let role = line.get("role").and_then(Value::as_str).filter(|_| line.get("v").is_some());
    match role {
        None => {
            let stored = serde_json::from_value(line);
            stored
                .map(Some)
                .map_err(|error| text!("expected {wanted}: {error}", wanted = EXPECTED, error = error.to_string()))
        }
        Some("assistant") => {
            // `raw` is the whole reply; a record has it only if it differs from `content`.
            let text = line.get("raw").or(line.get("content")).and_then(Value::as_str).unwrap_or_default().to_owned();
            let id = line.get("id").cloned().unwrap_or_default();
            Ok(Some(StoredReply { id, text, chunk: None, finish: None, dialects: None, tools: None }))
        }
        Some(_) => Ok(None),
    }
}

fn batch(options: &CommandLine, arguments: &ParseArguments, out: &mut Terminal) -> Result<ExitCode, Failure> {
    let reader = ReplyReader::new(options, arguments)?;
    super::batch(out, EXPECTED.into(), |line: Value| {
        let Some(stored) = stored_reply(line)? else { return Ok(Value::Null) };
        if stored.chunk == Some(0) {
            return Err(text!("a chunk needs at least 1 byte"));
        }
        let reason = stored.finish.unwrap_or(finish_reason(arguments.finish));
        let chunk = stored.chunk.or(arguments.chunk);
        let mut reader = reader.clone();
        if let Some(names) = &stored.dialects {
            read_dialects(names, &mut reader.options)?;
        }
        if let Some(tools) = &stored.tools {
            reader.options.catalog = Some(Arc::new(catalog(tools)?));
        }
        let events = reader.read(&stored.text, chunk, reason);
        Ok(json!({"v": super::SCHEMA, "id": stored.id, "events": events}))
    })
}

fn finish_reason(end: End) -> FinishReason {
    match end {
        End::Stop => FinishReason::Stop,
        End::Length => FinishReason::Length,
        End::Cut => FinishReason::Cut,
    }
}

/// Parser options for all replies. The catalog is built once.
#[derive(Clone)]
struct ReplyReader {
    options: Options,
}

impl ReplyReader {
    fn new(options: &CommandLine, arguments: &ParseArguments) -> Result<ReplyReader, Failure> {
        let mut parser = Options::default();
        parser.strict = arguments.strict;
        parser.limits = (&Config::typed(options)?.limits()).into();
        parser.reasoning = options.reasoning.map(Into::into).unwrap_or_default();
        parser.settled_only = !arguments.progress;
        read_dialects(options.dialects.as_deref().unwrap_or("all"), &mut parser).map_err(Failure::wrong_use)?;
        parser.catalog = Some(match &arguments.tools {
            Some(file) => Arc::new(read_tools(file)?),
            None => toolfence_policy::toolset::catalog(),
        });
        Ok(ReplyReader { options: parser })
    }

    /// Parses a reply and merges adjacent events. Provisional events are included only with `--progress`.
    fn read(&self, reply: &str, chunk: Option<usize>, reason: FinishReason) -> Vec<Event<'static>> {
        let mut parser = Parser::new(self.options.clone());
        let mut events = Vec::new();
        let mut rest = reply;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(piece_length(rest, chunk));
            parser.push(piece);
            collect(&mut parser, &mut events);
            rest = after;
        }
        parser.finish(reason);
        collect(&mut parser, &mut events);
        events
    }
}

fn read_tools(file: &Path) -> Result<Catalog, Failure> {
    let bad = |cause: Text| {
        Failure::wrong_use(text!(
            "{file} does not contain an array of function definitions: {cause}",
            file = file.display().to_string(),
            cause
        ))
    };
    let text = std::fs::read_to_string(file).map_err(|error| bad(Text::from(&error)))?;
    let tools: Vec<Value> = serde_json::from_str(&text).map_err(|error| bad(error.to_string().into()))?;
    catalog(&tools).map_err(bad)
}

/// Builds a catalog from an array of function definitions, each with or without an enclosing `function` object.
fn catalog(tools: &[Value]) -> Result<Catalog, Text> {
    let tool = |value: &Value| {
        let function = value.get("function").unwrap_or(value);
        let name = function.get("name").and_then(Value::as_str).ok_or_else(|| text!("a tool has no name"))?;
        let description = function.get("description").and_then(Value::as_str).unwrap_or_default();
        let schema = function.get("parameters").unwrap_or(&Value::Null);
        Ok(ToolSpec::from_json_schema(name.to_owned(), description.to_owned(), schema))
    };
    tools.iter().map(tool).collect()
}

/// Returns the length of the next piece: at most `chunk` bytes without splitting a character, but at least one
/// character.
fn piece_length(text: &str, chunk: Option<usize>) -> usize {
    let most = chunk.unwrap_or(text.len()).min(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    (first..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(first)
}

fn collect(parser: &mut Parser, events: &mut Vec<Event<'static>>) {
    while let Some(event) = parser.poll() {
        let rest = match events.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        events.extend(rest.map(Event::into_owned));
    }
}

fn versioned(event: &Event<'_>) -> Value {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    value["v"] = super::SCHEMA.into();
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_never_split_a_character() {
        let text = "aé漢😀";
        for chunk in 1..8 {
            let (mut rest, mut most) = (text, 0);
            while !rest.is_empty() {
                let length = piece_length(rest, Some(chunk));
                most = most.max(length);
                rest = &rest[length..];
            }
            assert!(most <= chunk.max(4));
        }
        assert_eq!(piece_length(text, Some(3)), 3);
        assert_eq!(piece_length(text, Some(2)), 1);
        assert_eq!(piece_length(text, None), text.len());
    }
}
