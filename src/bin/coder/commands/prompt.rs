//! `coder prompt`: persona and instructions as text to paste where only a web page is there to chat in.

use crate::args::{Options, PromptArguments, PromptFormat};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::terminal::Terminal;
use serde_json::json;
use std::process::ExitCode;
use toolfence::prompt;

/// Prints the text.
pub(crate) fn run(options: &Options, arguments: &PromptArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let persona = setup.persona.text.trim();
    let instructions = prompt::instructions(&setup.toolbox.catalog(), setup.language);
    let text = setup.told();
    let mut out = Terminal::stdout();
    match arguments.format {
        PromptFormat::Text => out.line(&text)?,
        PromptFormat::Json => {
            let name = &setup.persona.name;
            let value = json!({"v": super::SCHEMA, "name": name, "persona": persona, "instructions": instructions, "text": text});
            out.line(&value.to_string())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
