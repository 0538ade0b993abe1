//! `coder policy explain`: what the policy says to a call, and why.

use crate::args::{ExplainArguments, Options, PolicyCommand};
use crate::failure::Failure;
use crate::marks;
use crate::setup::Setup;
use crate::terminal::{Style, Terminal};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence::policy::{Decision, Effective, Judgement, Met};
use toolfence::{Args, ToolCall, ToolFailure};

/// Explains, or compares with other settings.
pub(crate) fn run(options: &Options, command: &PolicyCommand) -> Result<ExitCode, Failure> {
    match command {
        PolicyCommand::Explain(arguments) => explain(options, arguments),
        PolicyCommand::Replay(arguments) => super::replay::run(options, arguments),
    }
}

fn explain(options: &Options, arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let mut out = Terminal::stdout();
    if arguments.batch {
        return batch(&setup, &mut out);
    }
    let call = asked_call(arguments)?;
    let command = call.args.get("command").and_then(Value::as_str).map(str::to_owned);
    let decision = decide(&setup, call).map_err(|failure| Failure::wrong_use(failure.message.to_string()))?;
    match arguments.json {
        true => out.line(&told(&setup, &decision).to_string())?,
        false => shown(&setup, command.as_deref(), &decision, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    id: Value,
    command: Option<String>,
    tool: Option<String>,
    #[serde(default)]
    args: Args,
}

fn batch(setup: &Setup, out: &mut Terminal) -> Result<ExitCode, Failure> {
    super::batch(out, r#"{"id":..,"command":..} or {"id":..,"tool":..,"args":..}"#, |asked: Asked| {
        let call = match (asked.command, asked.tool) {
            (Some(command), None) if asked.args.is_empty() => bash(&command),
            (None, Some(tool)) => ToolCall::new("1", tool, asked.args),
            _ => return Err("either a command is wanted, or a tool with its args".into()),
        };
        let decision = decide(setup, call).map_err(|failure| failure.message.to_string())?;
        let mut value = told(setup, &decision);
        value["id"] = asked.id;
        Ok(value)
    })
}

/// A call of bash with this command.
pub(crate) fn bash(command: &str) -> ToolCall {
    ToolCall::new("1", "bash", Args::from_iter([("command".to_owned(), command.into())]))
}

fn asked_call(arguments: &ExplainArguments) -> Result<ToolCall, Failure> {
    let Some(tool) = &arguments.tool else { return Ok(bash(arguments.command.as_deref().unwrap_or_default())) };
    let args = serde_json::from_str(arguments.args.as_deref().unwrap_or("{}"))
        .map_err(|error| Failure::wrong_use(format!("--args is not a JSON object: {error}")))?;
    Ok(ToolCall::new("1", tool, args))
}

/// Judges a call. All ten tools are known, those that are not on offer yet too: the question is about the rules.
pub(crate) fn decide(setup: &Setup, mut call: ToolCall) -> Result<Decision, ToolFailure> {
    let catalog = toolfence::tool::catalog();
    let spec = catalog.resolve(&mut call)?;
    Ok(setup.policy.judge(&call, spec, &*setup.commands))
}

fn told(setup: &Setup, decision: &Decision) -> Value {
    let effective = setup.policy.effective(decision, &*setup.commands);
    let marks: Vec<[usize; 2]> = decision.marks.iter().map(|mark| [mark.start, mark.end]).collect();
    let mut value = json!({
        "v": super::SCHEMA, "verdict": decision.judgement, "effective": effective, "rule": decision.rule,
        "reason": decision.reason, "commands": decision.commands, "met": decision.met, "marks": marks,
        "writes_git": decision.writes_git, "targets": decision.targets,
    });
    match decision.always() {
        Ok(rules) => value["always"] = rules.iter().map(ToString::to_string).collect(),
        Err(why) => value["not_always"] = why.to_string().into(),
    }
    value
}

fn shown(setup: &Setup, command: Option<&str>, decision: &Decision, out: &mut Terminal) -> Result<(), Failure> {
    let (style, verdict) = named(decision.judgement);
    out.styled(style, verdict)?;
    out.line(&format!(": {}", done(setup.policy.effective(decision, &*setup.commands))))?;
    out.line(&format!("  rule    {}", decision.rule))?;
    out.line(&format!("  reason  {}", decision.reason))?;
    if decision.writes_git {
        out.line("  git     the repository is writable for this call: it is git alone")?;
    }
    if let Some(text) = command.filter(|_| !decision.marks.is_empty()) {
        marks::rows(text, &decision.marks, false).iter().try_for_each(|row| out.write(row))?;
    }
    for (index, command) in decision.commands.iter().enumerate() {
        out.line(&format!("  runs    {command}"))?;
        decision.met.iter().filter(|met| met.command == Some(index)).try_for_each(|met| rule(met, out))?;
    }
    decision.met.iter().filter(|met| met.command.is_none()).try_for_each(|met| rule(met, out))?;
    match decision.always() {
        Ok(rules) => rules.iter().try_for_each(|rule| out.line(&format!("  always  would store: {rule}"))),
        Err(why) if decision.judgement == Judgement::Ask => out.line(&format!("  always  is not on offer: {why}")),
        Err(_) => Ok(()),
    }
}

fn rule(met: &Met, out: &mut Terminal) -> Result<(), Failure> {
    out.line(&format!("  met     {} by {}: {}", named(met.judgement).1, met.rule, met.reason))
}

/// What is done, in words.
pub(crate) fn done(effective: Effective) -> &'static str {
    match effective {
        Effective::Run => "it runs",
        Effective::Ask => "a person is asked",
        Effective::Deny => "it does not run",
    }
}

/// A judgement as a word, and how it looks.
pub(crate) fn named(judgement: Judgement) -> (Style, &'static str) {
    match judgement {
        Judgement::Allow => (Style::Good, "allow"),
        Judgement::Ask => (Style::Action, "ask"),
        Judgement::Deny => (Style::Bad, "deny"),
    }
}
