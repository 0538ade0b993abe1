//! `coder completions` and `coder man`: both come from the description of the command line that `--help` shows.

use crate::args::{CompletionsArguments, ManArguments};
use crate::failure::Failure;
use crate::help;
use crate::messages;
use clap::Command;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Prints what the shell reads.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::described(help::settled_language()), "coder", &mut script);
    io::stdout().write_all(&script).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the page of the program, or writes one for each command.
pub(crate) fn man(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let command = help::described(help::settled_language());
    match &arguments.output {
        None => {
            let page = page(&command, "coder").map_err(Failure::output)?;
            io::stdout().write_all(&page).map_err(Failure::output)?;
        }
        Some(folder) => {
            let cannot = |cause: io::Error| {
                Failure::broken(messages::cannot_write(folder.display().to_string(), cause.to_string()))
            };
            std::fs::create_dir_all(folder).map_err(cannot)?;
            write_pages(&command, "coder", folder).map_err(cannot)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of a command and of each below it.
fn write_pages(command: &Command, name: &str, folder: &Path) -> io::Result<()> {
    std::fs::write(folder.join(format!("{name}.1")), page(command, name)?)?;
    let inner = command.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set());
    for command in inner {
        write_pages(command, &format!("{name}-{}", command.get_name()), folder)?;
    }
    Ok(())
}

fn page(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name).render(&mut page)?;
    Ok(page)
}
