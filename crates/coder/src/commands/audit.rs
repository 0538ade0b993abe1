//! `coder audit`: prints decisions and results from the transcripts of conversations and single runs.

use super::stats::is_copied;
use crate::args::{AuditArguments, Options};
use crate::failure::Failure;
use crate::preview::one_line;
use crate::rules;
use crate::shown::Words;
use crate::terminal::{Style, Terminal};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use toolfence_agent::redact::Redactor;
use toolfence_agent::transcript::{Head, Record, RecordedCall, RecordedResult, rfc3339};
use toolfence_protocol::clip;
use toolfence_protocol::{Language, text};

/// The most characters of a call or message that are printed.
const LONGEST: usize = 100;

/// The most bytes of a text in a line of `--json`. The transcript has the whole text.
const LONGEST_TEXT: usize = 2000;

/// The interval at which `--follow` reads the transcripts.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Prints the selected entries, and with `--follow` new ones until the process is stopped.
pub(crate) fn run(options: &Options, arguments: &AuditArguments) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open(options)?;
    let store = super::sessions::store(&project)?;
    let redactor = rules.redactor(None);
    let since = arguments.since.and_then(|age| SystemTime::now().checked_sub(age)).map(rfc3339);
    let mut followed: HashMap<PathBuf, Followed> = HashMap::new();
    let mut out = Terminal::stdout();
    loop {
        let mut lines = Vec::new();
        for path in store.all_files() {
            followed.entry(path.clone()).or_default().read_new(&path, &redactor, &mut lines);
        }
        lines.retain(|line| is_selected(line, arguments, since.as_deref()));
        // Sessions run concurrently. RFC 3339 timestamps sort as strings.
        lines.sort_by(|one, other| one["at"].as_str().cmp(&other["at"].as_str()));
        for line in &lines {
            print(line, arguments.json, &mut out)?;
        }
        if !arguments.follow {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// A transcript file and the offset up to which it was read.
#[derive(Default)]
struct Followed {
    at: u64,
    head: Option<Head>,
}

impl Followed {
    /// Appends lines for the records that were written since the last call. An unreadable file adds nothing.
    fn read_new(&mut self, path: &Path, redactor: &Redactor, lines: &mut Vec<Value>) {
        let Ok(mut file) = File::open(path) else { return };
        // Transcripts only grow, so a file with the same length has nothing new.
        if file.metadata().is_ok_and(|meta| meta.len() == self.at) || file.seek(SeekFrom::Start(self.at)).is_err() {
            return;
        }
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        // A line without its newline is still being written.
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) && line.ends_with(b"\n") {
            self.at += line.len() as u64;
            if let Ok(record) = serde_json::from_slice::<Record>(&line) {
                self.record(record, path, redactor, lines);
            }
            line.clear();
        }
    }

    fn record(&mut self, mut record: Record, path: &Path, redactor: &Redactor, lines: &mut Vec<Value>) {
        if let Some(mut head) = record.session.take() {
            // As long as the original of a fork exists, it provides the lines of the copied records.
            head.fork = head.fork.filter(|fork| path.with_file_name(format!("{}.jsonl", fork.session)).exists());
            lines.push(event(&record, &head, "session", json!({"root": head.root})));
            self.head = Some(head);
            return;
        }
        let Some(head) = &self.head else { return };
        if head.fork.as_ref().is_some_and(|fork| is_copied(&record, fork)) {
            return;
        }
        // Redact again: some secrets became known only after the record was written.
        record.redact(redactor);
        if let (Some(call), Some(result)) = (&record.tool_call, &record.tool_result) {
            lines.extend(lines_of(call, result).map(|(name, members)| event(&record, head, name, members)));
        }
    }
}

/// Returns the lines of one call: approval questions, the start of the run, and the result.
fn lines_of(call: &RecordedCall, result: &RecordedResult) -> impl Iterator<Item = (&'static str, Value)> {
    let decision = call.decision.as_ref();
    let call_fields = || {
        json!({
            "id": call.id, "tool": result.tool_name, "args": short(&json!(call.args)), "repairs": call.repairs,
            "rule": decision.and_then(|decision| decision.rule.as_deref()),
            "reason": decision.and_then(|decision| decision.reason.as_deref()),
        })
    };
    let mut lines = Vec::new();
    for asked in &call.asked {
        let (answer, by) = if asked.answer == "nobody" { ("no", "nobody") } else { (asked.answer.as_str(), "person") };
        let mut line = call_fields();
        line["answer"] = answer.into();
        line["by"] = by.into();
        line["why"] = short(&json!(asked.why));
        line["ms"] = asked.ms.into();
        lines.push(("ask", line));
    }
    let code = result.error.as_ref().map(|error| error.code.as_str());
    // A refused call did not run, so its execution time is 0.
    let is_refused = matches!(code, Some("denied" | "permission_denied")) && result.execution_time_ms == 0;
    if let Some(decision) = decision.filter(|decision| decision.verdict != "deny" && !is_refused) {
        let mut line = call_fields();
        line["verdict"] = decision.verdict.as_str().into();
        line["by"] = decision.by.as_str().into();
        lines.push(("run", line));
    }
    let mut line = json!({
        "id": call.id, "tool": result.tool_name, "success": result.success, "code": code,
        "message": result.error.as_ref().map(|error| short(&json!(error.message))), "status": result.exit_code,
        "bytes": result.output_bytes, "truncated": result.truncated, "ms": result.execution_time_ms,
    });
    if lines.is_empty() {
        // Without an "ask" or "run" line, only this line has the arguments and repairs.
        line["args"] = short(&json!(call.args));
        line["repairs"] = json!(call.repairs);
    }
    lines.push(("result", line));
    lines.into_iter()
}

fn event(record: &Record, head: &Head, event: &str, members: Value) -> Value {
    let mut line = json!({
        "v": super::SCHEMA, "at": record.timestamp, "session": head.id, "turn": record.turn, "event": event,
    });
    if let (Some(line), Value::Object(members)) = (line.as_object_mut(), members) {
        line.extend(members);
    }
    line
}

/// Clips the long texts in a value.
fn short(value: &Value) -> Value {
    match value {
        Value::String(text) => clip::clip(text, LONGEST_TEXT, Language::English).text.into(),
        Value::Array(items) => items.iter().map(short).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), short(value))).collect(),
        other => other.clone(),
    }
}

fn is_selected(line: &Value, arguments: &AuditArguments, since: Option<&str>) -> bool {
    let (event, code) = (&line["event"], line["code"].as_str().unwrap_or_default());
    let is_denied =
        event == "result" && matches!(code, "denied" | "permission_denied") || event == "ask" && line["answer"] == "no";
    let is_failed = event == "result" && line["success"] == false;
    let any = arguments.denied || arguments.asked || arguments.failed;
    let kind =
        !any || arguments.denied && is_denied || arguments.asked && event == "ask" || arguments.failed && is_failed;
    let session = |name: &String| line["session"].as_str().is_some_and(|session| session.starts_with(name.as_str()));
    kind && since.is_none_or(|since| line["at"].as_str().is_some_and(|at| at >= since))
        && arguments.session.as_ref().is_none_or(session)
        && arguments.tool.as_ref().is_none_or(|tool| line["tool"] == tool.as_str())
}

fn print(line: &Value, as_json: bool, out: &mut Terminal) -> Result<(), Failure> {
    if as_json {
        return out.line(&line.to_string());
    }
    let word = |key: &str| one_line(line[key].as_str().unwrap_or_default());
    let at: String = word("at").chars().take("2026-01-31T10:00:00".len()).collect();
    let session: String = word("session").chars().take(8).collect();
    let call = || {
        let args = line["args"].as_object();
        let first = args.and_then(|args| args.values().find_map(Value::as_str)).unwrap_or_default();
        clip::middle(&format!("{} {}", word("tool"), one_line(first)), LONGEST).into_owned()
    };
    let (style, what) = match line["event"].as_str().unwrap_or_default() {
        "session" => (Style::Dim, text!("session in {root}", root = word("root"))),
        "run" if line["by"] == "person" => {
            (Style::Action, text!("ran {call}, allowed by a person (rule {rule})", call = call(), rule = word("rule")))
        }
        "run" => (Style::Action, text!("ran {call} (rule {rule})", call = call(), rule = word("rule"))),
        "ask" if line["by"] == "nobody" => (
            Style::Plain,
            text!("denied {call}: no person could be asked (rule {rule})", call = call(), rule = word("rule")),
        ),
        "ask" => (
            Style::Plain,
            text!(
                "asked about {call}: {answer} (rule {rule})",
                call = call(),
                answer = word("answer"),
                rule = word("rule")
            ),
        ),
        "result" if line["success"] == true => (
            Style::Good,
            text!(
                "{tool} succeeded, {milliseconds} ms",
                tool = word("tool"),
                milliseconds = line["ms"].as_u64().unwrap_or(0)
            ),
        ),
        "result" => (
            Style::Bad,
            text!(
                "{tool} failed, {code}: {message}",
                tool = word("tool"),
                code = word("code"),
                message = clip::middle(&word("message"), LONGEST)
            ),
        ),
        _ => return Ok(()),
    };
    out.styled_line(style, &format!("{}  {session}  {}", at.replace('T', " "), what.words()))
}
