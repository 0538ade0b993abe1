//! `coder tools`: lists the available tools.

use crate::args::{Options, ToolsArguments};
use crate::failure::Failure;
use crate::rules;
use crate::servers;
use crate::shown::language;
use crate::terminal::{Style, Terminal, print_note};
use crate::translations::in_language;
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence_protocol::{Param, ParamKind, ToolSpec, text};

/// Lists the tools with their signatures.
pub(crate) fn run(options: &Options, arguments: &ToolsArguments) -> Result<ExitCode, Failure> {
    let (_, rules) = rules::open(options)?;
    let catalog = rules.toolbox.catalog();
    let mut out = Terminal::stdout();
    if arguments.json {
        let tools: Vec<Value> = catalog.specs().iter().map(tool_as_json).collect();
        out.line(&json!({"v": super::SCHEMA, "tools": tools}).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !servers::rules(&rules.config).is_empty() {
        print_note(&text!(
            "The tools of MCP servers are not listed here: `coder mcp list` starts the servers and shows their tools."
        ));
    }
    for spec in catalog.specs() {
        out.styled(Style::Action, &spec.signature())?;
        out.line(&format!("\n    {}", in_language(&spec.purpose, language())))?;
        for param in &spec.params {
            out.styled(Style::Dim, &format!("    {:<18} {}\n", param.name, in_language(&param.help, language())))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn tool_as_json(spec: &ToolSpec) -> Value {
    let params: Vec<Value> = spec.params.iter().map(param_as_json).collect();
    json!({
        "name": spec.name, "aliases": spec.aliases, "purpose": spec.purpose,
        "signature": spec.signature(), "params": params, "schema": spec.json_schema(),
    })
}

fn param_as_json(param: &Param) -> Value {
    json!({
        "name": param.name, "aliases": param.aliases, "type": kind_as_json(&param.kind), "required": param.required,
        "default": param.default, "help": param.help,
    })
}

fn kind_as_json(kind: &ParamKind) -> Value {
    match kind {
        ParamKind::Path | ParamKind::Command | ParamKind::Patch | ParamKind::Text { .. } => "string".into(),
        ParamKind::Integer { least, most } => json!({"integer": [least, most]}),
        ParamKind::Flag => "boolean".into(),
        ParamKind::Choice(words) => json!({"one_of": words}),
        ParamKind::Texts => "strings".into(),
        ParamKind::Objects(fields) => json!({"objects": fields.iter().map(param_as_json).collect::<Vec<_>>()}),
        _ => "any".into(),
    }
}
