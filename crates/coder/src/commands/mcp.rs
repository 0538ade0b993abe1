//! `coder mcp`: lists the MCP servers and their tools, and manages trust in them.

use crate::args::{McpCommand, McpListArguments, McpTrustArguments, Options};
use crate::config::trust;
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::project::Project;
use crate::rules::{self, Rules};
use crate::servers::{self, StartedServer};
use crate::shown::{Words, escaped};
use crate::terminal::{Style, Terminal};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::process::ExitCode;
use toolfence_mcp::Health;
use toolfence_policy::toolbox::Tool;
use toolfence_protocol::{Text, ToolSpec, text};

/// Runs a subcommand of `coder mcp`.
pub(crate) fn run(options: &Options, command: &McpCommand) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open(options)?;
    match command {
        McpCommand::List(arguments) => list(&project, &rules, arguments),
        McpCommand::Trust(arguments) if arguments.forget => forget(&project, &rules, arguments),
        McpCommand::Trust(arguments) => trust(&project, &rules, options.yes, arguments),
    }
}

fn list(project: &Project, rules: &Rules, arguments: &McpListArguments) -> Result<ExitCode, Failure> {
    let places = &project.places;
    let all = servers::start(&rules.config, places, &project.commands, None);
    let mut out = Terminal::stdout();
    let state = |found: &StartedServer| match &found.started {
        Err(_) => "failed",
        Ok(_) if found.is_trusted(places) => "trusted",
        Ok(_) => "untrusted",
    };
    let status = if all.iter().all(|found| found.started.is_ok()) { ExitCode::SUCCESS } else { UNSUCCESSFUL.into() };
    if arguments.json {
        let servers: Vec<Value> = all.iter().map(|found| server_as_json(found, state(found))).collect();
        out.line(&json!({"v": super::SCHEMA, "servers": servers}).to_string())?;
        return Ok(status);
    }
    if all.is_empty() {
        out.line(&no_servers())?;
    }
    for found in &all {
        let (style, line) = match (&found.started, state(found)) {
            (Err(why), _) => (Style::Bad, text!("failed: {why}", why = escaped(&why.words()).into_owned())),
            (Ok(_), "trusted") => (Style::Good, text!("trusted")),
            (Ok(_), _) => (
                Style::Bad,
                text!(
                    "not trusted: `coder mcp trust {name}` shows the descriptions of its tools and asks",
                    name = found.rule.name.as_str()
                ),
            ),
        };
        in_rows(&mut out, style, &format!("{}  {}", found.rule.name, line.words()))?;
        print_server(found, &mut out)?;
    }
    Ok(status)
}

/// Prints the command of a server, its tools and notes.
fn print_server(found: &StartedServer, out: &mut Terminal) -> Result<(), Failure> {
    in_rows(out, Style::Dim, &format!("    {}  ({})", found.rule.command.0.join(" "), found.origin))?;
    let Ok(server) = &found.started else { return Ok(()) };
    if !server.is_sandboxed() {
        out.styled_line(
            Style::Bad,
            &text!("The MCP server {name} runs without a sandbox.", name = found.rule.name.as_str()),
        )?;
    }
    for tool in server.tools() {
        let ToolSpec { purpose, .. } = tool.spec();
        in_rows(out, Style::Plain, &format!("    {}", tool.spec().signature()))?;
        in_rows(out, Style::Dim, &format!("        {purpose}"))?;
    }
    server.notes().iter().try_for_each(|note| out.styled_line(Style::Bad, note))
}

/// Prints a line. On a terminal, continuation rows are indented like its beginning.
fn in_rows(out: &mut Terminal, style: Style, line: &str) -> Result<(), Failure> {
    let rows = out.in_rows(line).into_owned();
    out.exact_line(style, &rows)
}

/// `/mcp`: prints the servers of a conversation, their states and the names of their tools.
pub(crate) fn overview(project: &Project, out: &mut Terminal) -> Result<(), Failure> {
    if project.servers.is_empty() {
        return out.line(&no_servers());
    }
    for found in project.servers.iter() {
        print_state(found, out)?;
        let Ok(server) = &found.started else { continue };
        let name = |tool: &str| tool.strip_prefix(&format!("{}.", found.rule.name)).unwrap_or(tool).to_owned();
        let names: Vec<String> = server.tools().map(|tool| name(&tool.spec().name)).collect();
        in_rows(out, Style::Dim, &format!("    {}", names.join(", ")))?;
    }
    Ok(())
}

/// `/mcp NAME`: prints the state of a server, its tools and its last lines on stderr.
pub(crate) fn print_details(project: &Project, name: &str, out: &mut Terminal) -> Result<(), Failure> {
    let found = find(project, name)?;
    print_state(found, out)?;
    print_server(found, out)?;
    let errors = found.started.as_ref().map(|server| server.health().errors).unwrap_or_default();
    if !errors.is_empty() {
        in_rows(out, Style::Plain, &format!("    {}", text!("the last lines of its stderr:").words()))?;
    }
    errors.iter().try_for_each(|line| out.exact_line(Style::Dim, &format!("    | {line}")))
}

/// Prints the state of the server with this name in one line.
pub(crate) fn print_state_of(project: &Project, name: &str, out: &mut Terminal) -> Result<(), Failure> {
    print_state(find(project, name)?, out)
}

fn find<'a>(project: &'a Project, name: &str) -> Result<&'a StartedServer, Failure> {
    let found = project.servers.iter().find(|found| found.rule.name == name);
    found.ok_or_else(|| Failure::wrong_use(no_such_server(name)))
}

/// Prints the state of a server in one line.
fn print_state(found: &StartedServer, out: &mut Terminal) -> Result<(), Failure> {
    let name = found.rule.name.as_str();
    let (style, line) = match &found.started {
        Err(why) => (
            Style::Bad,
            text!("failed: {why}. `/mcp restart {name}` tries again.", name, why = escaped(&why.words()).into_owned()),
        ),
        Ok(_) if !found.offered => (
            Style::Bad,
            text!(
                "not trusted, so the model does not see its tools. `/mcp restart {name}` shows their descriptions and \
                 asks.",
                name
            ),
        ),
        Ok(server) => match server.health() {
            health if health.differs => (
                Style::Bad,
                text!(
                    "the descriptions of its tools have changed since you trusted them, so calls are refused. `/mcp \
                     restart {name}` shows them and asks.",
                    name
                ),
            ),
            Health { over: Some(why), .. } => (
                Style::Bad,
                text!("trusted; {why}. The next call restarts it.", why = escaped(&why.words()).into_owned()),
            ),
            _ => (Style::Good, text!("trusted, runs, {count} {count|tool|tools}", count = server.tools().count())),
        },
    };
    in_rows(out, style, &format!("{name}  {}", line.words()))
}

fn server_as_json(found: &StartedServer, state: &str) -> Value {
    let tool = |spec: &ToolSpec| json!({"name": spec.name, "signature": spec.signature(), "purpose": spec.purpose});
    let mut server_json = json!({
        "name": found.rule.name, "command": found.rule.command.0, "origin": found.origin.to_string(), "state": state,
    });
    match &found.started {
        Err(why) => server_json["error"] = json!(why),
        Ok(server) => {
            server_json["sandboxed"] = server.is_sandboxed().into();
            server_json["tools"] = server.tools().map(|served| tool(served.spec())).collect();
            server_json["notes"] = json!(server.notes());
        }
    }
    server_json
}

/// Revokes trust without starting a server, so that it also works for names that are no longer in the settings.
fn forget(project: &Project, rules: &Rules, arguments: &McpTrustArguments) -> Result<ExitCode, Failure> {
    let places = &project.places;
    let names = match &arguments.name {
        Some(name) => vec![name.clone()],
        None => servers::rules(&rules.config).into_iter().map(|(rule, _)| rule.name).collect(),
    };
    let mut out = Terminal::stdout();
    if names.is_empty() {
        out.line(&no_servers())?;
    }
    for name in names {
        let key = servers::key(&name);
        trust::forget_one(places, &key)?;
        out.line(&text!("{path} is no longer trusted", path = escaped(&key.display().to_string()).into_owned()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn trust(project: &Project, rules: &Rules, yes: bool, arguments: &McpTrustArguments) -> Result<ExitCode, Failure> {
    let places = &project.places;
    let only = arguments.name.as_deref();
    let all = servers::start(&rules.config, places, &project.commands, only);
    if let Some(name) = only.filter(|_| all.is_empty()) {
        return Err(Failure::wrong_use(no_such_server(name)));
    }
    let mut out = Terminal::stdout();
    if all.is_empty() {
        out.line(&no_servers())?;
    }
    let mut status = ExitCode::SUCCESS;
    for found in &all {
        let name = found.rule.name.as_str();
        let server = match &found.started {
            Ok(server) => server,
            Err(why) => {
                status = UNSUCCESSFUL.into();
                out.styled_line(
                    Style::Bad,
                    &text!("The MCP server {name} was skipped: {why}.", name, why = escaped(&why.words()).into_owned()),
                )?;
                continue;
            }
        };
        server.notes().iter().try_for_each(|note| out.styled_line(Style::Bad, note))?;
        // Without a question on a terminal, the output is the only record of the text that was trusted or refused.
        if yes || !std::io::stdout().is_terminal() {
            out.line(&format!("{}:\n", found.key.display()))?;
            server.trusted_text().lines().try_for_each(|line| out.line(&format!("  | {line}")))?;
            out.line(&text!(
                "If you trust it, the model sees these tools with these descriptions. Each call still asks you, unless \
                 your settings allow it."
            ))?;
        }
        if yes {
            trust::store(places, &[(found.key.clone(), server.trusted_text().to_owned())])?;
        } else if !found.ask(places)? {
            status = UNSUCCESSFUL.into();
            out.line(&text!("The MCP server {name} is not trusted.", name))?;
            continue;
        }
        out.line(&text!(
            "{path} is now trusted: sha256 {hash}",
            path = found.key.display().to_string(),
            hash = trust::hash(server.trusted_text())
        ))?;
    }
    Ok(status)
}

fn no_servers() -> Text {
    text!("The settings have no MCP server. A section [mcp.NAME] with a command adds one.")
}

pub(super) fn no_such_server(name: &str) -> Text {
    text!("The settings have no MCP server {name}; `coder mcp list` lists the servers.", name = format!("{name:?}"))
}
