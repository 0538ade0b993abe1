//! `coder prompt`: prints persona and instructions as text to paste into a web chat.

use crate::args::{Options, PromptArguments, dialects_in_instructions};
use crate::choices::PromptFormat;
use crate::failure::Failure;
use crate::project::Project;
use crate::rules::{self, Rules};
use crate::terminal::Terminal;
use serde_json::json;
use std::process::ExitCode;
use toolfence_protocol::{Catalog, Dialect, Language, ToolSpec, prompt, text};

/// Prints the prompt as text or JSON.
pub(crate) fn run(options: &Options, arguments: &PromptArguments) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open_with_servers(options, false)?;
    let persona = rules.persona.text.trim();
    let mut catalog = rules.policy.marked(&rules.toolbox.catalog(), &*project.commands);
    if arguments.no_session {
        catalog = without_jobs(&catalog);
    }
    let instructions = match arguments.dialect.as_deref() {
        None => prompt::instructions(&catalog, rules.language),
        Some(name) => in_dialect(name, &catalog, rules.language)?,
    };
    let text = joined(&rules, &instructions);
    let mut out = Terminal::stdout();
    match arguments.format {
        PromptFormat::Text => out.line(&text)?,
        PromptFormat::Json => {
            let name = &rules.persona.name;
            let mut value = json!({"v": super::SCHEMA, "name": name, "persona": persona, "instructions": instructions, "text": text});
            if let Some(dialect) = &arguments.dialect {
                value["dialect"] = dialect.as_str().into();
            }
            out.line(&value.to_string())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the tools and arguments that need a process which outlives the reply.
fn without_jobs(catalog: &Catalog) -> Catalog {
    let tools = catalog.specs().iter().filter(|tool| tool.name != "job").cloned();
    let without_background = |mut tool: ToolSpec| {
        tool.params.retain(|param| param.name != "background");
        tool
    };
    tools.map(without_background).collect()
}

/// Returns the persona and the instructions as one text.
pub(crate) fn text(project: &Project, rules: &Rules) -> String {
    let catalog = rules.policy.marked(&rules.toolbox.catalog(), &*project.commands);
    joined(rules, &prompt::instructions(&catalog, rules.language))
}

fn joined(rules: &Rules, instructions: &str) -> String {
    format!("{}\n\n{}", rules.persona.text.trim(), instructions.trim_end())
}

/// Returns the instructions for a model that writes a dialect.
fn in_dialect(name: &str, catalog: &Catalog, language: Language) -> Result<String, Failure> {
    let names = || dialects_in_instructions().collect::<Vec<_>>().join(", ");
    let unknown = || {
        Failure::wrong_use(text!(
            "there are no instructions for the dialect {name}, only for those whose calls are JSON between two tokens: \
             {shown}",
            name,
            shown = names()
        ))
    };
    let dialect = Dialect::ALL.iter().find(|dialect| dialect.name() == name).ok_or_else(unknown)?;
    prompt::instructions_in(catalog, language, *dialect).ok_or_else(unknown)
}
