//! `coder prompt`: persona and instructions as text to paste where only a web page is there to chat in.

use crate::args::{Options, PromptArguments, dialects_in_instructions};
use crate::choices::PromptFormat;
use crate::failure::Failure;
use crate::messages;
use crate::setup::Setup;
use crate::terminal::Terminal;
use serde_json::json;
use std::process::ExitCode;
use toolfence_protocol::{Catalog, Dialect, Language, prompt};

/// Prints the text.
pub(crate) fn run(options: &Options, arguments: &PromptArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?.with_servers(false)?;
    let persona = setup.persona.text.trim();
    let catalog = setup.marked_catalog();
    let instructions = match arguments.dialect.as_deref() {
        None => prompt::instructions(&catalog, setup.language),
        Some(name) => in_dialect(name, &catalog, setup.language)?,
    };
    let text = joined(&setup, &instructions);
    let mut out = Terminal::stdout();
    match arguments.format {
        PromptFormat::Text => out.line(&text)?,
        PromptFormat::Json => {
            let name = &setup.persona.name;
            let mut value = json!({"v": super::SCHEMA, "name": name, "persona": persona, "instructions": instructions, "text": text});
            if let Some(dialect) = &arguments.dialect {
                value["dialect"] = dialect.as_str().into();
            }
            out.line(&value.to_string())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The persona and the instructions as one text.
pub(crate) fn text(setup: &Setup) -> String {
    let instructions = prompt::instructions(&setup.marked_catalog(), setup.language);
    joined(setup, &instructions)
}

fn joined(setup: &Setup, instructions: &str) -> String {
    format!("{}\n\n{}", setup.persona.text.trim(), instructions.trim_end())
}

/// The instructions for a model that writes this dialect.
fn in_dialect(name: &str, catalog: &Catalog, language: Language) -> Result<String, Failure> {
    let shown = || dialects_in_instructions().collect::<Vec<_>>().join(", ");
    let unknown = || Failure::wrong_use(messages::dialect_not_shown(name, shown()));
    let dialect = Dialect::ALL.iter().find(|dialect| dialect.name() == name).ok_or_else(unknown)?;
    prompt::instructions_in(catalog, language, *dialect).ok_or_else(unknown)
}
