//! `coder policy explain`: what the policy says to a call, and why.

use crate::args::{ExplainArguments, Options};
use crate::failure::Failure;
use crate::marks;
use crate::messages;
use crate::setup::Setup;
use crate::terminal::{Style, Terminal};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence::policy::{Decision, Effective, Judgement, Policy};
use toolfence::program::policy::Met;
use toolfence::tools::CommandRunner;
use toolfence::{Args, ParamKind, Text, ToolCall, ToolFailure};

/// Explains the decision about one call, or about each of a batch.
pub(crate) fn explain(options: &Options, arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let mut out = Terminal::stdout();
    if arguments.batch {
        return batch(&setup, &mut out);
    }
    let call = asked_call(arguments)?;
    let command = command_of(&call);
    let decision = decide(&setup, call).map_err(|failure| Failure::wrong_use(failure.message))?;
    match arguments.json {
        true => out.line(&told(&setup, &decision).to_string())?,
        false => shown(&setup.policy, &setup.commands, command.as_deref(), &decision, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `/policy`: what the policy of a conversation says to a command, with what was allowed in it.
pub(crate) fn typed(policy: &Policy, commands: &CommandRunner, line: &str, out: &mut Terminal) -> Result<(), Failure> {
    let mut call = call_of_command(line);
    let catalog = toolfence::tool::catalog();
    let judged = catalog.resolve(&mut call).and_then(|spec| policy.judge_read(&call, spec, commands, None));
    let decision = judged.map_err(|failure| Failure::wrong_use(failure.message))?;
    shown(policy, commands, Some(line), &decision, out)
}

/// A line of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchLine {
    id: Value,
    command: Option<String>,
    tool: Option<String>,
    #[serde(default)]
    args: Args,
}

fn batch(setup: &Setup, out: &mut Terminal) -> Result<ExitCode, Failure> {
    super::batch(out, messages::a_call_to_judge(), |asked: BatchLine| {
        let call = match (asked.command, asked.tool) {
            (Some(command), None) if asked.args.is_empty() => call_of_command(&command),
            (None, Some(tool)) => ToolCall::new("1", tool, asked.args),
            _ => return Err(messages::command_or_tool()),
        };
        let decision = decide(setup, call).map_err(|failure| failure.message)?;
        let mut value = told(setup, &decision);
        value["id"] = asked.id;
        Ok(value)
    })
}

/// A call of the tool that takes a command, with this one.
pub(crate) fn call_of_command(command: &str) -> ToolCall {
    let catalog = toolfence::tool::catalog();
    let named = catalog.specs().iter().find_map(|spec| {
        let param = spec.params.iter().find(|param| param.kind == ParamKind::Command)?;
        Some((spec.name.clone().into_owned(), param.name.clone().into_owned()))
    });
    // Without such a tool the call names none, and whoever judges it says so.
    let (tool, argument) = named.unwrap_or_default();
    ToolCall::new("1", tool, Args::from_iter([(argument, command.into())]))
}

/// The command of a call, where its tool takes one.
fn command_of(call: &ToolCall) -> Option<String> {
    let catalog = toolfence::tool::catalog();
    let (_, command) = catalog.find(&call.name)?.sole(&ParamKind::Command, &call.args)?;
    Some(command.to_owned())
}

fn asked_call(arguments: &ExplainArguments) -> Result<ToolCall, Failure> {
    let Some(tool) = &arguments.tool else {
        return Ok(call_of_command(arguments.command.as_deref().unwrap_or_default()));
    };
    let args = serde_json::from_str(arguments.args.as_deref().unwrap_or("{}"))
        .map_err(|error| Failure::wrong_use(messages::args_not_object(error.to_string())))?;
    Ok(ToolCall::new("1", tool, args))
}

/// Judges a call as it was read. All ten tools are known, those that are not on offer yet too: the question is about the rules.
pub(crate) fn decide(setup: &Setup, mut call: ToolCall) -> Result<Decision, ToolFailure> {
    let catalog = toolfence::tool::catalog();
    let spec = catalog.resolve(&mut call)?;
    setup.policy.judge_read(&call, spec, &*setup.commands, None)
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

fn shown(
    policy: &Policy,
    commands: &CommandRunner,
    command: Option<&str>,
    decision: &Decision,
    out: &mut Terminal,
) -> Result<(), Failure> {
    let (style, verdict) = named(decision.judgement);
    out.styled(style, verdict)?;
    out.write(": ")?;
    out.line(&done(policy.effective(decision, commands)))?;
    out.line(&messages::by_rule(&*decision.rule))?;
    out.line(&messages::for_reason(decision.reason.clone()))?;
    if let Some(why) = policy.refusal_outside(decision) {
        out.line(&why)?;
    }
    if decision.writes_git {
        out.line(&messages::git_writable())?;
    }
    if let Some(text) = command.filter(|_| !decision.marks.is_empty()) {
        marks::rows(text, &decision.marks, false, marks::ROOM).iter().try_for_each(|row| out.write(row))?;
    }
    for (index, command) in decision.commands.iter().enumerate() {
        out.line(&messages::would_run(command))?;
        decision.met.iter().filter(|met| met.command == Some(index)).try_for_each(|met| rule(met, out))?;
    }
    decision.met.iter().filter(|met| met.command.is_none()).try_for_each(|met| rule(met, out))?;
    match decision.always() {
        Ok(rules) => rules.iter().try_for_each(|rule| out.line(&messages::always_would_store(rule.to_string()))),
        Err(why) if decision.judgement == Judgement::Ask => out.line(&messages::always_stores_nothing(why)),
        Err(_) => Ok(()),
    }
}

fn rule(met: &Met, out: &mut Terminal) -> Result<(), Failure> {
    out.line(&messages::met_rule(named(met.judgement).1, &*met.rule, met.reason.clone()))
}

/// What is done, in words.
pub(crate) fn done(effective: Effective) -> Text {
    match effective {
        Effective::Run => messages::it_runs(),
        Effective::Ask => messages::person_is_asked(),
        Effective::Deny => messages::it_does_not_run(),
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
