//! `coder policy explain`: what the policy says to a call, and why.

use crate::args::{ExplainArguments, Options, PolicyCommand};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::terminal::{Style, Terminal};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence::policy::{Decision, Effective, Judgement};
use toolfence::{Args, Catalog, ToolCall, ToolSpec};

/// Explains.
pub(crate) fn run(options: &Options, command: &PolicyCommand) -> Result<ExitCode, Failure> {
    let PolicyCommand::Explain(arguments) = command;
    let setup = Setup::new(options)?;
    let mut out = Terminal::stdout();
    if arguments.batch {
        return batch(&setup, &mut out);
    }
    let decision = decide(&setup, arguments)?;
    match arguments.json {
        true => out.line(&told(&setup, &decision).to_string())?,
        false => explain(&setup, &decision, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    id: Value,
    command: String,
}

fn batch(setup: &Setup, out: &mut Terminal) -> Result<ExitCode, Failure> {
    super::batch(out, r#"{"id":..,"command":..}"#, |asked: Asked| {
        let decision = setup.policy.judge_command(&asked.command, "", &*setup.workspace);
        let mut value = told(setup, &decision);
        value["id"] = asked.id;
        Ok(value)
    })
}

fn decide(setup: &Setup, arguments: &ExplainArguments) -> Result<Decision, Failure> {
    let Some(tool) = &arguments.tool else {
        let command = arguments.command.as_deref().unwrap_or_default();
        return Ok(setup.policy.judge_command(command, "", &*setup.workspace));
    };
    let args: Args = serde_json::from_str(arguments.args.as_deref().unwrap_or("{}"))
        .map_err(|error| Failure::wrong_use(format!("--args is not a JSON object: {error}")))?;
    // All ten are judged, those that are not on offer yet too: the question is about the rules.
    let catalog: Catalog = ToolSpec::builtins().iter().cloned().collect();
    let mut call = ToolCall::new("1", tool, args);
    match catalog.resolve(&mut call) {
        Ok(spec) => Ok(setup.policy.judge(&call, spec, &*setup.workspace)),
        Err(failure) => Err(Failure::wrong_use(failure.message)),
    }
}

fn told(setup: &Setup, decision: &Decision) -> Value {
    let effective = setup.policy.effective(decision, &*setup.workspace);
    json!({
        "v": super::SCHEMA, "verdict": decision.judgement, "effective": effective, "rule": decision.rule,
        "reason": decision.reason, "commands": decision.commands, "met": decision.met,
    })
}

fn explain(setup: &Setup, decision: &Decision, out: &mut Terminal) -> Result<(), Failure> {
    let (style, verdict) = named(decision.judgement);
    let done = match setup.policy.effective(decision, &*setup.workspace) {
        Effective::Run => "it runs",
        Effective::Ask => "a person is asked",
        Effective::Deny => "it does not run",
    };
    out.styled(style, verdict)?;
    out.line(&format!(": {done}"))?;
    out.line(&format!("  rule    {}", decision.rule))?;
    out.line(&format!("  reason  {}", decision.reason))?;
    decision.commands.iter().try_for_each(|command| out.line(&format!("  runs    {command}")))?;
    decision.met.iter().try_for_each(|met| {
        let (_, verdict) = named(met.judgement);
        out.line(&format!("  met     {verdict} by {}: {}", met.rule, met.reason))
    })
}

fn named(judgement: Judgement) -> (Style, &'static str) {
    match judgement {
        Judgement::Allow => (Style::Good, "allow"),
        Judgement::Ask => (Style::Action, "ask"),
        Judgement::Deny => (Style::Bad, "deny"),
    }
}
