//! `coder completions` and `coder man`, generated from the same description of the command line as `--help`.

use crate::args::{CompletionsArguments, ManArguments};
use crate::failure::Failure;
use crate::help;
use clap::Command;
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use toolfence_protocol::text;

/// Prints the completion script of a shell.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    let mut command = help::described(help::language_for_help());
    clap_complete::generate(arguments.shell, &mut command, "coder", &mut script);
    let script = with_fixes(arguments.shell, String::from_utf8_lossy(&script).into_owned(), &command);
    let script = with_personas(arguments.shell, script);
    io::stdout().write_all(script.as_bytes()).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

/// Works around limitations of the scripts that clap_complete generates.
fn with_fixes(shell: Shell, script: String, command: &Command) -> String {
    match shell {
        // The script reads the first word as the MESSAGE of `coder MESSAGE` and the second one as the command, so it
        // completes nothing after a command. A message needs no completion, so its line is removed.
        Shell::Zsh => {
            let lines = script.lines().filter(|line| !line.starts_with("'::message -- "));
            let lines: Vec<String> = lines.map(|line| line.replace("$line[2]", "$line[1]")).collect();
            lines.join("\n") + "\n"
        }
        // While the value of an option is still missing, argparse fails on the whole line and nothing is offered, so it
        // runs again without the last word. The script also lacks the values of positional arguments.
        Shell::Fish => {
            let parse = "    argparse -s (__fish_coder_global_optspecs) -- $cmd 2>/dev/null\n";
            let retry = format!("{} || set -e cmd[-1] && {}", parse.trim_end(), parse.trim_start());
            let words = command.get_subcommands().flat_map(|inner| {
                let values = inner.get_positionals().flat_map(clap::Arg::get_possible_values);
                let values: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
                let name = inner.get_name();
                let line = format!(
                    "complete -c coder -n \"__fish_coder_using_subcommand {name}\" -f -a \"{}\"\n",
                    values.join(" ")
                );
                (!values.is_empty()).then_some(line)
            });
            let words: String = words.collect();
            script.replace(parse, &retry) + &words
        }
        _ => script,
    }
}

/// Makes the script complete names of personas. clap_complete knows only that the value is a file.
fn with_personas(shell: Shell, script: String) -> String {
    const NAMES: &str = "$(coder personas --names 2>/dev/null)";
    match shell {
        Shell::Bash => {
            let mut after_persona = false;
            let line = |line: &str| {
                let files = "COMPREPLY=($(compgen -f \"${cur}\"))";
                let line = match after_persona && line.trim() == files {
                    true => line.replace(files, &format!("COMPREPLY=($(compgen -f -W \"{NAMES}\" -- \"${{cur}}\"))")),
                    false => line.to_owned(),
                };
                after_persona = line.trim() == "--persona)";
                line + "\n"
            };
            script.lines().map(line).collect()
        }
        Shell::Zsh => {
            let (head, rest) = script.split_once("\n\n").unwrap_or((&script, ""));
            let names = format!(
                "_coder_personas() {{\n    _alternative \"personas:persona:({NAMES})\" \"files:file:_files\"\n}}"
            );
            let rest = rest.replace(":NAME|FILE:_default' \\", ":NAME|FILE:_coder_personas' \\");
            format!("{head}\n\n{names}\n\n{rest}")
        }
        Shell::Fish => {
            let line = |line: &str| match line.contains(" -l persona -d ") {
                true => format!("{line} -a '(coder personas --names 2>/dev/null)'\n"),
                false => format!("{line}\n"),
            };
            script.lines().map(line).collect()
        }
        _ => script,
    }
}

/// Prints the manual page of the program, or writes one page per command into a folder.
pub(crate) fn man(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let command = help::described(help::language_for_help());
    match &arguments.output {
        None => {
            let page = page(&command, "coder").map_err(Failure::output)?;
            io::stdout().write_all(&page).map_err(Failure::output)?;
        }
        Some(folder) => {
            let cannot = |cause: io::Error| {
                Failure::broken(text!(
                    "cannot write {path}: {error}",
                    path = folder.display().to_string(),
                    error = cause.to_string()
                ))
            };
            std::fs::create_dir_all(folder).map_err(cannot)?;
            write_pages(&command, "coder", folder).map_err(cannot)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of a command and its subcommands.
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
