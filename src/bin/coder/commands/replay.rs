//! `coder policy replay`: recorded calls, judged as your files have it and as other settings would.
//!
//! A record is one JSON line; what it may look like is told in the help of the command. Nothing is run, and what the
//! rules ask of the world is answered by the project as it is now.

use crate::args::{Options, ReplayArguments};
use crate::commands::policy::{call_of_command, decide, done, named};
use crate::config::Layers;
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::messages;
use crate::preview::label;
use crate::setup::Setup;
use crate::shown::Words;
use crate::terminal::{Terminal, tell};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence::policy::{Decision, Effective, Judgement};
use toolfence::{Args, Effect, Repair, Text, ToolCall, ToolFailure};

/// Compares.
pub(crate) fn run(options: &Options, arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    let now = Setup::of(Layers::read(options)?.without_typed_rules(), options)?;
    let mut other = Layers::read(options)?;
    if let Some(path) = &arguments.config {
        other = other.with_own(path)?;
    }
    let then = Setup::of(other, options)?;
    let mut replay = Replay { now, then, arguments, out: Terminal::stdout(), count: Count::default() };
    for (index, line) in super::lines_of(&arguments.file)?.enumerate() {
        let line = line?;
        let line = if index == 0 { line.trim_start_matches('\u{feff}') } else { &line };
        if !line.trim().is_empty() {
            replay.line(line, index + 1)?;
        }
    }
    replay.end()
}

#[derive(Default)]
struct Count {
    calls: usize,
    differ: usize,
    unreadable: usize,
}

/// A recorded line. What else it holds does not matter here.
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    id: Value,
    event: Option<String>,
    #[serde(alias = "tool")]
    name: Option<String>,
    #[serde(default)]
    args: Args,
    command: Option<String>,
    #[serde(default)]
    repairs: Vec<Repaired>,
    /// The events of one reply.
    events: Option<Vec<Record>>,
    /// The call of a record of a transcript; the others have a role and no call.
    tool_call: Option<Box<Record>>,
    role: Option<String>,
}

/// With whether it is lossless, or by its name alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Repaired {
    Told {
        #[serde(default)]
        kind: String,
        lossless: bool,
    },
    Named(String),
}

impl Repaired {
    /// The repair; one of another version is unknown here, and then whether it was a guess.
    fn known(&self) -> Result<Repair, bool> {
        let (name, lossless) = match self {
            Repaired::Told { kind, lossless } => (kind, *lossless),
            Repaired::Named(name) => (name, false),
        };
        Repair::ALL.iter().copied().find(|repair| repair.name() == name).ok_or(!lossless)
    }
}

struct Replay<'a> {
    now: Setup,
    then: Setup,
    arguments: &'a ReplayArguments,
    out: Terminal,
    count: Count,
}

/// What one side says.
#[derive(Serialize)]
struct Judged {
    verdict: Judgement,
    effective: Effective,
    rule: String,
    reason: Text,
}

impl Replay<'_> {
    fn line(&mut self, line: &str, number: usize) -> Result<(), Failure> {
        match serde_json::from_str::<Record>(line) {
            Ok(Record { events: Some(events), id, .. }) => {
                events.into_iter().try_for_each(|event| self.record(Record { id: id.clone(), ..event }, number))
            }
            Ok(Record { tool_call: Some(call), id, .. }) => match call.name.as_deref() {
                // A block that could not be read.
                None | Some("") => Ok(()),
                Some(_) => self.record(Record { id, ..*call }, number),
            },
            Ok(Record { role: Some(_), .. }) => Ok(()),
            Ok(record) => self.record(record, number),
            Err(error) => self.unreadable(number, error.to_string().into()),
        }
    }

    fn record(&mut self, record: Record, number: usize) -> Result<(), Failure> {
        let Record { id, event, name, args, command, repairs, .. } = record;
        let mut call = match (name, command, event.as_deref()) {
            (Some(name), None, None | Some("call" | "tool_call" | "run" | "ask")) => ToolCall::new("1", name, args),
            // In the audit log a result has arguments where the call neither ran nor was asked about.
            (Some(name), None, Some("result")) if !args.is_empty() => ToolCall::new("1", name, args),
            (None, Some(command), None) => call_of_command(&command),
            (_, _, Some(_)) => return Ok(()),
            _ => return self.unreadable(number, messages::neither_tool_nor_command()),
        };
        let mut guessed = false;
        for repair in &repairs {
            match repair.known() {
                Ok(repair) => call.repairs.push(repair),
                Err(guess) => guessed |= guess,
            }
        }
        let (now, then) = (said(&self.now, &call, guessed), said(&self.then, &call, guessed));
        let differs = now.verdict != then.verdict || now.effective != then.effective;
        self.count.calls += 1;
        self.count.differ += usize::from(differs);
        if self.arguments.json {
            let told = json!({
                "v": super::SCHEMA, "event": "call", "id": id, "line": number, "tool": call.name, "now": now,
                "then": then, "differs": differs,
            });
            return self.out.line(&told.to_string());
        }
        if differs || self.arguments.all {
            self.out.line(&format!("{number}: {}", label(&call)))?;
            self.side(messages::decided_now(), &now)?;
            self.side(messages::decided_then(), &then)?;
        }
        Ok(())
    }

    fn side(&mut self, name: Text, said: &Judged) -> Result<(), Failure> {
        let (style, verdict) = named(said.verdict);
        self.out.write(&format!("  {}  ", name.words()))?;
        self.out.styled(style, &format!("{verdict:<5}"))?;
        let by = messages::decided_by(done(said.effective), &said.rule, said.reason.clone());
        self.out.line(&format!("  {}", by.words()))
    }

    fn unreadable(&mut self, number: usize, why: Text) -> Result<(), Failure> {
        self.count.unreadable += 1;
        if self.arguments.json {
            let told = json!({"v": super::SCHEMA, "event": "error", "line": number, "error": why});
            return self.out.line(&told.to_string());
        }
        tell(&messages::no_record_of_call(number, why));
        Ok(())
    }

    fn end(mut self) -> Result<ExitCode, Failure> {
        let Count { calls, differ, unreadable } = self.count;
        if calls == 0 {
            return Err(Failure::wrong_use(messages::no_record_in_file()));
        }
        if self.arguments.json {
            let told = json!({
                "v": super::SCHEMA, "event": "summary", "calls": calls, "differ": differ, "unreadable": unreadable,
            });
            self.out.line(&told.to_string())?;
        } else {
            self.out.line(&messages::calls_compared(calls, differ))?;
        }
        Ok(if unreadable == 0 { ExitCode::SUCCESS } else { UNSUCCESSFUL.into() })
    }
}

fn said(setup: &Setup, call: &ToolCall, guessed: bool) -> Judged {
    match decide(setup, call.clone()) {
        Ok(_) if guessed && effect(call) != Effect::Read => refused("malformed_call", messages::read_by_guess()),
        Ok(decision) => judged(setup, decision),
        Err(ToolFailure { code, message, .. }) => {
            let code = serde_json::to_value(code).ok();
            refused(code.as_ref().and_then(Value::as_str).unwrap_or_default(), message)
        }
    }
}

fn effect(call: &ToolCall) -> Effect {
    let catalog = toolfence::tool::catalog();
    let mut call = call.clone();
    catalog.resolve(&mut call).map_or(Effect::Execute, |spec| spec.effect_of(&call.args))
}

fn judged(setup: &Setup, decision: Decision) -> Judged {
    let effective = setup.policy.effective(&decision, &*setup.commands);
    Judged { verdict: decision.judgement, effective, rule: decision.rule, reason: decision.reason }
}

/// What does not even come to the rules.
fn refused(code: &str, why: Text) -> Judged {
    Judged { verdict: Judgement::Deny, effective: Effective::Deny, rule: code.to_owned(), reason: why }
}
