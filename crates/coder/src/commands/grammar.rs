//! `coder grammar`: prints a grammar or schema for constrained decoding, so that a model cannot write malformed calls.

use crate::args::GrammarArguments;
use crate::choices::GrammarFormat;
use crate::failure::Failure;
use crate::terminal::Terminal;
use std::process::ExitCode;
use toolfence_protocol::grammar::{self, GrammarOptions, Start};
use toolfence_protocol::{Catalog, text};

/// Prints the grammar or the schema.
pub(crate) fn run(arguments: &GrammarArguments) -> Result<ExitCode, Failure> {
    let catalog = catalog(&arguments.tools)?;
    let mut options = GrammarOptions::default();
    let text = match arguments.format {
        GrammarFormat::Gbnf => grammar::gbnf(&catalog, &options),
        GrammarFormat::Lazy => {
            options.start = Start::Trigger;
            grammar::gbnf(&catalog, &options)
        }
        GrammarFormat::Schema => format!("{:#}", grammar::json_schema(&catalog, &options)),
    };
    Terminal::stdout().line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the built-in tools with these names, or all of them if `names` is empty.
fn catalog(names: &[String]) -> Result<Catalog, Failure> {
    let all: Catalog = toolfence_policy::toolset::builtins().iter().cloned().collect();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        all.find(name).cloned().ok_or_else(|| {
            let tools: Vec<&str> = all.specs().iter().map(|spec| spec.name.as_ref()).collect();
            Failure::wrong_use(text!(
                "there is no tool {name}; the tools are {tools}",
                name = format!("{name:?}"),
                tools = tools.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}
