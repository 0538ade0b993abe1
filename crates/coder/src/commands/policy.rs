//! `coder policy explain`: prints what the policy decides about a call, and why.

use crate::args::{ExplainArguments, Options};
use crate::failure::Failure;
use crate::marks;
use crate::project::Project;
use crate::rules::{self, Rules};
use crate::terminal::{Style, Terminal};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence_policy::{AskMode, Decision, Effective, Judgement, Policy};
use toolfence_protocol::text;
use toolfence_protocol::{Args, ParamKind, Text, ToolCall, ToolFailure};
use toolfence_tools::CommandRunner;

/// Explains the decision about one call, or about each of a batch.
pub(crate) fn explain(options: &Options, arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open(options)?;
    let mut out = Terminal::stdout();
    if arguments.batch {
        return batch(&project, &rules, &mut out);
    }
    let call = call_from(arguments)?;
    let command = command_of(&call);
    let decision = decide(&project, &rules, call).map_err(|failure| Failure::wrong_use(failure.message))?;
    match arguments.json {
        true => out.line(&decision_as_json(&rules, &decision).to_string())?,
        false => print_decision(&rules.policy, &project.commands, command.as_deref(), &decision, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `/policy`: explains the decision about a command, including the approvals given in the conversation.
pub(crate) fn typed(policy: &Policy, commands: &CommandRunner, line: &str, out: &mut Terminal) -> Result<(), Failure> {
    let mut call = call_of_command(line);
    let catalog = toolfence_policy::toolset::catalog();
    let judged = catalog.resolve(&mut call).and_then(|spec| policy.judge_read(&call, spec, commands));
    let decision = judged.map_err(|failure| Failure::wrong_use(failure.message))?;
    print_decision(policy, commands, Some(line), &decision, out)
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

fn batch(project: &Project, rules: &Rules, out: &mut Terminal) -> Result<ExitCode, Failure> {
    super::batch(
        out,
        text!("{{\"id\":..,\"command\":..}} or {{\"id\":..,\"tool\":..,\"args\":..}}"),
        |request: BatchLine| {
            let call = match (request.command, request.tool) {
                (Some(command), None) if request.args.is_empty() => call_of_command(&command),
                (None, Some(tool)) => ToolCall::new("1", tool, request.args),
                _ => return Err(text!("expected a command, or a tool with its args")),
            };
            let decision = decide(project, rules, call).map_err(|failure| failure.message)?;
            let mut value = decision_as_json(rules, &decision);
            value["id"] = request.id;
            Ok(value)
        },
    )
}

/// Returns a call of the tool that runs shell commands.
pub(crate) fn call_of_command(command: &str) -> ToolCall {
    let catalog = toolfence_policy::toolset::catalog();
    let named = catalog.specs().iter().find_map(|spec| {
        let param = spec.params.iter().find(|param| param.kind == ParamKind::Command)?;
        Some((spec.name.clone().into_owned(), param.name.clone().into_owned()))
    });
    // Without such a tool the call has an empty name, and the policy rejects it.
    let (tool, argument) = named.unwrap_or_default();
    ToolCall::new("1", tool, Args::from_iter([(argument, command.into())]))
}

/// Returns the shell command of a call, if its tool has one.
fn command_of(call: &ToolCall) -> Option<String> {
    let catalog = toolfence_policy::toolset::catalog();
    let (_, command) = catalog.find(&call.name)?.only_argument(&ParamKind::Command, &call.args)?;
    Some(command.to_owned())
}

fn call_from(arguments: &ExplainArguments) -> Result<ToolCall, Failure> {
    let Some(tool) = &arguments.tool else {
        return Ok(call_of_command(arguments.command.as_deref().unwrap_or_default()));
    };
    let args = serde_json::from_str(arguments.args.as_deref().unwrap_or("{}")).map_err(|error| {
        Failure::wrong_use(text!("--args is not a JSON object: {error}", error = error.to_string()))
    })?;
    Ok(ToolCall::new("1", tool, args))
}

/// Judges a call. All built-in tools are accepted, even those that are not available now, because the question is about
/// the rules.
pub(crate) fn decide(project: &Project, rules: &Rules, mut call: ToolCall) -> Result<Decision, ToolFailure> {
    let catalog = toolfence_policy::toolset::catalog();
    let spec = catalog.resolve(&mut call)?;
    rules.policy.judge_read(&call, spec, &*project.commands)
}

fn decision_as_json(rules: &Rules, decision: &Decision) -> Value {
    let effective = rules.policy.effective(decision);
    let modes: serde_json::Map<String, Value> = MODES
        .iter()
        .map(|mode| (mode.name().to_owned(), json!(rules.policy.clone().ask(*mode).effective(decision))))
        .collect();
    let marks: Vec<[usize; 2]> = decision.marks.iter().map(|mark| [mark.start, mark.end]).collect();
    let mut value = json!({
        "v": super::SCHEMA, "verdict": decision.judgement, "effective": effective, "rule": decision.rule,
        "reason": decision.reason, "commands": decision.commands, "met": decision.met, "marks": marks,
        "modes": modes, "targets": decision.targets,
    });
    match decision.always() {
        Ok(rules) => value["always"] = rules.iter().map(ToString::to_string).collect(),
        Err(why) => value["not_always"] = why.to_string().into(),
    }
    value
}

fn print_decision(
    policy: &Policy,
    commands: &CommandRunner,
    command: Option<&str>,
    decision: &Decision,
    out: &mut Terminal,
) -> Result<(), Failure> {
    let (style, verdict) = judgement_word(decision.judgement);
    out.styled(style, verdict)?;
    out.line(&text!(", by the rule {rule}: {reason}", rule = &*decision.rule, reason = decision.reason.clone()))?;
    if let Some(text) = command.filter(|_| !decision.marks.is_empty()) {
        marks::rows(text, &decision.marks, false, marks::ROOM).iter().try_for_each(|row| out.write(row))?;
    }
    decision.commands.iter().try_for_each(|command| out.line(&text!("  command  {command}", command)))?;
    // The first line has named the deciding rule already.
    for met in decision.met.iter().filter(|met| met.rule != decision.rule || met.reason != decision.reason) {
        let verdict = judgement_word(met.judgement).1;
        out.line(&text!(
            "  also     {verdict}, by {rule}: {reason}",
            verdict,
            rule = &*met.rule,
            reason = met.reason.clone()
        ))?;
    }
    for mode in MODES {
        let mine = policy.clone().ask(*mode);
        let marked = if mine.settings().ask == policy.settings().ask { "*" } else { " " };
        let name = format!("{:<9}", mode.name());
        out.line(&text!("{marked} {name}  {outcome}", marked, name, outcome = outcome(&mine, decision)))?;
    }
    if let Some(why) = policy.refusal_outside(decision) {
        out.line(&why)?;
    }
    if !commands.enclosure().report().holds {
        out.line(&text!(
            "There is no sandbox here, so only a short list of commands runs without a question. See `coder doctor`."
        ))?;
    }
    match decision.always() {
        Ok(rules) => {
            rules.iter().try_for_each(|rule| out.line(&text!("  always  would store: {rule}", rule = rule.to_string())))
        }
        Err(why) if decision.judgement == Judgement::Ask => out.line(&text!("  always  not available: {why}", why)),
        Err(_) => Ok(()),
    }
}

/// The modes, starting with the one that asks most.
const MODES: &[AskMode] = &[AskMode::Always, AskMode::Risky, AskMode::Sandboxed, AskMode::Never];

/// Describes what happens with a call under a policy.
fn outcome(policy: &Policy, decision: &Decision) -> Text {
    let is_allowed = decision.rule == "commands.allow";
    match (policy.effective(decision), policy.settings().ask) {
        (Effective::Run, AskMode::Risky) if decision.is_confined && !is_allowed => {
            text!("runs in the sandbox; you are asked about its changes")
        }
        (Effective::Run, AskMode::Risky | AskMode::Sandboxed | AskMode::Never) if decision.is_confined => {
            text!("runs in the sandbox; its changes are kept")
        }
        (effective, _) => describe_effect(effective),
    }
}

/// Describes an effective decision.
pub(crate) fn describe_effect(effective: Effective) -> Text {
    match effective {
        Effective::Run => text!("it runs"),
        Effective::Ask => text!("a person is asked"),
        Effective::Deny => text!("it does not run"),
    }
}

/// Returns the word for a judgement and its style.
pub(crate) fn judgement_word(judgement: Judgement) -> (Style, &'static str) {
    match judgement {
        Judgement::Allow => (Style::Good, "allow"),
        Judgement::Ask => (Style::Action, "ask"),
        Judgement::Deny => (Style::Bad, "deny"),
    }
}
