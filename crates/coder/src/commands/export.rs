//! `coder export`: writes a conversation as Markdown, as its records, or as a web page.

use super::sessions::find_by_id;
use crate::args::{ExportArguments, Options};
use crate::choices::{ExportFormat, ResultsShown, Switch};
use crate::config::redactor;
use crate::failure::Failure;
use crate::rules;
use crate::shown::language;
use crate::terminal::Terminal;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use toolfence_agent::redact::Redactor;
use toolfence_agent::transcript::export::{self, Parts, Results};
use toolfence_agent::transcript::{Record, SCHEMA, StoredSession, lines};
use toolfence_protocol::{Text, text};

/// Prints a conversation, or writes it to a file.
pub(crate) fn run(options: &Options, arguments: &ExportArguments) -> Result<ExitCode, Failure> {
    let mut out = Terminal::stdout();
    if arguments.schema {
        out.line(SCHEMA.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (project, _) = rules::open(options)?;
    let name = arguments.session.as_deref().unwrap_or_default();
    let summary = find_by_id(&project, name)?;
    let mut stored = StoredSession::read(&summary.path).map_err(Failure::wrong_use)?;
    let (from, to) =
        (index_of(&stored, arguments.from.as_deref(), 0)?, index_of(&stored, arguments.to.as_deref(), usize::MAX)?);
    let redact = arguments.redact == Switch::On;
    let text = match arguments.format {
        ExportFormat::Json => as_json(&summary.path, &stored, (from, to), redact)?,
        format => {
            if redact {
                stored.redact(&redactor());
            }
            let chosen: Vec<&Record> = stored
                .records
                .iter()
                .enumerate()
                .filter(|(at, _)| (from..=to).contains(at))
                .map(|(_, record)| record)
                .collect();
            let results = match arguments.outputs {
                ResultsShown::Full => Results::Full,
                ResultsShown::Head => Results::Head,
                ResultsShown::None => Results::None,
            };
            let shown = Parts { thoughts: arguments.thoughts, results, language: language() };
            match format {
                ExportFormat::Html => export::html(&stored, &chosen, shown),
                _ => export::markdown(&stored, &chosen, shown, &toolfence_policy::toolset::catalog()),
            }
        }
    };
    match &arguments.output {
        None => out.write(&text)?,
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Failure::broken(text!(
                "cannot write {path}: {error}",
                path = path.display().to_string(),
                error = Text::from(&error)
            ))
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the head and the records from one index to another (inclusive) as JSON lines.
fn as_json(path: &Path, stored: &StoredSession, (from, to): (usize, usize), redact: bool) -> Result<String, Failure> {
    let mut text = String::new();
    let redactor = redactor();
    let head = lines(path).and_then(|mut lines| lines.next().transpose()).map_err(Failure::broken)?;
    let chosen = stored.lines.iter().enumerate().filter(|(at, _)| (from..=to).contains(at));
    for line in head.iter().chain(chosen.map(|(_, line)| line)) {
        // The record stays a JSON value, so that fields of later versions are kept.
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let value = if redact { redacted(&redactor, value) } else { value };
        text.push_str(&value.to_string());
        text.push('\n');
    }
    Ok(text)
}

/// Redacts the secrets in a record. The data of images is left unchanged, because a match in base64 text is not a
/// secret.
fn redacted(redactor: &Redactor, mut record: Value) -> Value {
    let images = |record: &mut Value| record.get_mut("images").map(Value::take);
    let own = images(&mut record);
    let histories = record.get_mut("history").and_then(Value::as_array_mut);
    let images_of_history: Vec<Option<Value>> = histories.into_iter().flatten().map(images).collect();
    let mut clean = redactor.value(&record);
    let put = |record: &mut Value, images: Option<Value>| {
        let Some(Value::Array(mut images)) = images else { return };
        for image in &mut images {
            if let Some(name) = image.get_mut("name") {
                *name = redactor.value(name);
            }
        }
        record["images"] = images.into();
    };
    put(&mut clean, own);
    let histories = clean.get_mut("history").and_then(Value::as_array_mut);
    histories.into_iter().flatten().zip(images_of_history).for_each(|(message, images)| put(message, images));
    clean
}

/// `/export`: writes the conversation to a new file in the format of the file's extension. An existing file is not
/// overwritten.
pub(crate) fn typed(path: &Path, file: &str) -> Result<(), Failure> {
    let mut stored = StoredSession::read(path).map_err(Failure::wrong_use)?;
    let text = match Path::new(file).extension().and_then(OsStr::to_str) {
        Some("json" | "jsonl") => as_json(path, &stored, (0, usize::MAX), true)?,
        Some(extension @ ("html" | "md")) => {
            stored.redact(&redactor());
            let shown = Parts { thoughts: false, results: Results::Head, language: language() };
            let records: Vec<&Record> = stored.records.iter().collect();
            match extension {
                "html" => export::html(&stored, &records, shown),
                _ => export::markdown(&stored, &records, shown, &toolfence_policy::toolset::catalog()),
            }
        }
        _ => {
            return Err(Failure::wrong_use(text!(
                "name a new file that ends in .md, .html, .json or .jsonl; the last two are JSON lines"
            )));
        }
    };
    let written = File::create_new(file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        Failure::broken(text!("cannot write {path}: {error}", path = file, error = Text::from(&error)))
    })
}

/// Returns the index of a message among the records, or `default` without an id.
fn index_of(stored: &StoredSession, id: Option<&str>, default: usize) -> Result<usize, Failure> {
    let Some(id) = id else { return Ok(default) };
    let at = stored.records.iter().position(|record| record.id == id);
    at.ok_or_else(|| {
        Failure::wrong_use(text!(
            "this conversation has no message {message}; it has {count} {count|message|messages}",
            message = id,
            count = stored.records.len()
        ))
    })
}
