//! `coder audit`: the log of decisions and results, for people.

use crate::args::{AuditArguments, Options};
use crate::failure::Failure;
use crate::messages;
use crate::preview::one_line;
use crate::setup::Setup;
use crate::shown::Words;
use crate::terminal::{Style, Terminal};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use toolfence::program::clip;

/// Logs that made room for the present one.
const OLDER: u32 = 4;

/// Characters of a call that are shown.
const LONGEST: usize = 100;

/// How often a log that is followed is looked at.
const GLANCE: Duration = Duration::from_millis(250);

/// Prints what is asked for.
pub(crate) fn run(options: &Options, arguments: &AuditArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let Some(path) = setup.log_file() else { return Err(Failure::wrong_use(messages::nothing_is_kept_in_the_log())) };
    let mut out = Terminal::stdout();
    let since = arguments.since.map(|age| now().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)));
    let show = |line: &str, out: &mut Terminal| match serde_json::from_str::<Value>(line) {
        Ok(value) if wanted(&value, arguments, since) => shown(&value, line, arguments.json, out),
        _ => Ok(()),
    };
    for older in (1..=OLDER).rev().map(|number| numbered(&path, number)) {
        for line in
            File::open(older).map(BufReader::new).into_iter().flat_map(|file| file.lines().map_while(Result::ok))
        {
            show(&line, &mut out)?;
        }
    }
    let mut at = 0;
    loop {
        at = read_on(&path, at, |line| show(line, &mut out))?;
        if !arguments.follow {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(GLANCE);
    }
}

/// Reads the whole lines behind a place of the log; gives the place behind them. A log that is shorter by now is a new one.
fn read_on(path: &Path, at: u64, mut show: impl FnMut(&str) -> Result<(), Failure>) -> Result<u64, Failure> {
    let Ok(mut file) = File::open(path) else { return Ok(0) };
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut at = if length < at { 0 } else { at };
    if file.seek(SeekFrom::Start(at)).is_err() {
        return Ok(at);
    }
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) && line.ends_with(b"\n") {
        at += line.len() as u64;
        show(String::from_utf8_lossy(&line).trim_end())?;
        line.clear();
    }
    Ok(at)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn wanted(line: &Value, arguments: &AuditArguments, since: Option<u64>) -> bool {
    let (event, code) = (&line["event"], line["code"].as_str().unwrap_or_default());
    let is_denied =
        event == "result" && matches!(code, "denied" | "permission_denied") || event == "ask" && line["answer"] == "no";
    let is_failed = event == "result" && line["success"] == false;
    let any = arguments.denied || arguments.asked || arguments.failed;
    let kind =
        !any || arguments.denied && is_denied || arguments.asked && event == "ask" || arguments.failed && is_failed;
    let session = |name: &String| line["session"].as_str().is_some_and(|session| session.starts_with(name.as_str()));
    kind && since.is_none_or(|since| line["at"].as_u64().unwrap_or(0) >= since)
        && arguments.session.as_ref().is_none_or(session)
        && arguments.tool.as_ref().is_none_or(|tool| line["tool"] == tool.as_str())
}

fn shown(value: &Value, line: &str, as_json: bool, out: &mut Terminal) -> Result<(), Failure> {
    if as_json {
        return out.line(line);
    }
    let word = |key: &str| one_line(value[key].as_str().unwrap_or_default());
    let age = super::undo::age(value["at"].as_u64().unwrap_or(0));
    let session: String = word("session").chars().take(8).collect();
    let call = || {
        let args = value["args"].as_object();
        let first = args.and_then(|args| args.values().find_map(Value::as_str)).unwrap_or_default();
        clip::middle(&format!("{} {}", word("tool"), one_line(first)), LONGEST).into_owned()
    };
    let (style, what) = match value["event"].as_str().unwrap_or_default() {
        "session" => (Style::Dim, messages::log_session(word("root"))),
        "run" if value["by"] == "person" => (Style::Action, messages::log_run_by_person(call(), word("rule"))),
        "run" => (Style::Action, messages::log_run(call(), word("rule"))),
        "ask" if value["by"] == "nobody" => (Style::Plain, messages::log_nobody_asked(call(), word("rule"))),
        "ask" => (Style::Plain, messages::log_asked(call(), word("answer"), word("rule"))),
        "result" if value["success"] == true => {
            (Style::Good, messages::log_succeeded(word("tool"), value["ms"].as_u64().unwrap_or(0)))
        }
        "result" => {
            (Style::Bad, messages::log_failed(word("tool"), word("code"), clip::middle(&word("message"), LONGEST)))
        }
        _ => return Ok(()),
    };
    out.styled_line(style, &format!("{:>10}  {session}  {}", age.words(), what.words()))
}
