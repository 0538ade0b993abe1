//! `coder`: the terminal program of the `toolfence` project.

#![forbid(unsafe_code)]

mod agents_files;
mod args;
mod argument_values;
mod by_hand;
mod checks;
mod choices;
mod clipboard;
mod commands;
mod commit_message;
mod config;
mod confirm;
mod debug;
mod edit;
mod exec;
mod explain;
mod failure;
mod help;
mod images;
mod input;
mod json_output;
mod markdown;
mod marks;
mod mentions;
mod model;
mod not_kept;
mod outcome;
mod personas;
mod preview;
mod program;
mod project;
mod proposals;
mod prose;
mod question;
#[cfg(test)]
mod reference;
mod rules;
mod runtime;
mod server;
mod servers;
mod shown;
mod slash;
mod status;
mod style;
mod terminal;
mod theme;
mod thoughts;
mod translations;
mod view;

use args::{Cli, Command, PolicyCommand};
use choices::OutputFormat;
use commands::sessions::Start;
use failure::Failure;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use toolfence_protocol::text;

fn main() -> ExitCode {
    // This must come first: a sandboxed command is started through this program, which then does not return from here.
    toolfence_sandbox::isolation::enter_if_asked();
    shown::set_language(config::locale::language());
    let cli = help::parse();
    if let Some(lang) = cli.options.lang {
        shown::set_language(lang.into());
    }
    if cli.options.debug && !is_host(&cli) {
        debug::start();
    }
    run(&cli).unwrap_or_else(Failure::report)
}

/// Returns `true` if this process is the host of an exec session, which sends the lines of `--debug` to its client.
fn is_host(cli: &Cli) -> bool {
    match &cli.command {
        Some(Command::Exec(arguments)) => arguments.session.host,
        Some(Command::Clip(arguments)) => arguments.session.host,
        _ => false,
    }
}

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    let options = &cli.options;
    if cli.debug_schema {
        terminal::Terminal::stdout().line(debug::SCHEMA.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let last = if cli.r#continue { Start::Last } else { Start::New };
    if options.backend == Some(None) && !matches!(cli.command, Some(Command::Doctor(_))) {
        return Err(Failure::wrong_use(text!("{argument} needs a value", argument = "--backend <BACKEND>")));
    }
    if let Some(message) = &cli.message {
        match (&cli.command, &cli.prompt) {
            (Some(_), _) => {
                return Err(Failure::wrong_use(text!("-p cannot be combined with a command")));
            }
            (None, Some(_)) => {
                return Err(Failure::wrong_use(text!("give the message once: as an argument, or after -p")));
            }
            // A single word is more often a mistyped command than a message.
            (None, None) if !message.contains(char::is_whitespace) => return Err(help::no_command(message)),
            (None, None) => {}
        }
    }
    match (&cli.command, &cli.prompt) {
        (Some(_), _) if cli.r#continue => Err(Failure::wrong_use(text!(
            "--continue cannot be combined with a command; `coder resume NAME` continues a conversation by its name"
        ))),
        (Some(_), Some(_)) => Err(Failure::wrong_use(text!("-p cannot be combined with a command"))),
        (None, Some(prompt)) => commands::ask::run(options, prompt, &cli.image, &last, cli.format()),
        (None, None) => match &cli.message {
            // Without a terminal the user cannot continue the conversation, so handle the message as -p does.
            Some(message) if !(io::stdin().is_terminal() && io::stdout().is_terminal()) => {
                commands::ask::run(options, message, &cli.image, &last, cli.format())
            }
            message => commands::chat::run(options, &last, message.as_deref()),
        },
        (Some(Command::Demo), _) => commands::demo::run(options),
        (Some(Command::Exec(arguments)), _) => commands::exec::run(options, arguments),
        (Some(Command::Clip(arguments)), _) => commands::clip::run(options, arguments),
        (Some(Command::Parse(arguments)), _) => commands::parse::run(options, arguments),
        (Some(Command::Tools(arguments)), _) => commands::tools::run(options, arguments),
        (Some(Command::Prompt(arguments)), _) => commands::prompt::run(options, arguments),
        (Some(Command::Grammar(arguments)), _) => commands::grammar::run(arguments),
        (Some(Command::Pipe(arguments)), _) => commands::pipe::run(options, arguments),
        (Some(Command::Proxy(arguments)), _) => commands::proxy::run(options, arguments),
        (Some(Command::Serve(arguments)), _) => commands::serve::run(options, arguments),
        (Some(Command::Policy { command: PolicyCommand::Explain(arguments) }), _) => {
            commands::policy::explain(options, arguments)
        }
        (Some(Command::Doctor(arguments)), _) => commands::doctor::run(options, arguments),
        (Some(Command::Sessions(arguments)), _) => commands::sessions::list(options, arguments),
        (Some(Command::Resume(arguments)), _) => match &arguments.prompt {
            Some(prompt) => commands::ask::run(
                options,
                prompt,
                &arguments.image,
                &Start::from_arguments(arguments),
                OutputFormat::Text,
            ),
            None => commands::chat::run(options, &Start::from_arguments(arguments), None),
        },
        (Some(Command::Export(arguments)), _) => commands::export::run(options, arguments),
        (Some(Command::Stats(arguments)), _) => commands::stats::run(options, arguments),
        (Some(Command::Audit(arguments)), _) => commands::audit::run(options, arguments),
        (Some(Command::Keep(arguments)), _) => commands::keep::run(options, arguments),
        (Some(Command::Undo(arguments)), _) => commands::undo::undo(options, arguments),
        (Some(Command::Redo(arguments)), _) => commands::undo::redo(options, arguments),
        (Some(Command::Diff(arguments)), _) => commands::undo::diff(options, arguments),
        (Some(Command::Commit(arguments)), _) => commands::commit::run(options, arguments),
        (Some(Command::Personas(arguments)), _) => commands::personas::run(options, arguments),
        (Some(Command::Config { command }), _) => commands::config::run(options, command),
        (Some(Command::Mcp { command }), _) => commands::mcp::run(options, command),
        (Some(Command::Completions(arguments)), _) => commands::manual::completions(arguments),
        (Some(Command::Man(arguments)), _) => commands::manual::man(arguments),
    }
}
