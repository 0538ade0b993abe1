//! `coder exec`: runs the calls in a reply from stdin and prints their results.

use crate::args::{ExecArguments, Options};
use crate::commands::read_stdin;
use crate::debug;
use crate::exec::{Reply, Report, Session, run_alone, run_host};
use crate::failure::Failure;
use crate::runtime::run_with_signals;
use crate::terminal::{Terminal, print_note};
use std::process::ExitCode;
use toolfence_protocol::text;

/// Runs the calls of the text on stdin, or ends the session.
pub(crate) fn run(options: &Options, arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let name = &arguments.session.session;
    if arguments.session.host {
        return run_host(options, name);
    }
    if arguments.end {
        let session = Session::open(options, name)?;
        let found = run_with_signals(async |signals| {
            tokio::select! {
                status = signals.next() => Err(Failure::signalled(status)),
                found = session.end() => found,
            }
        })?;
        if !found {
            print_note(&text!("This project has no exec session of this name."));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.no_session {
        // Without a session, this process writes the lines of --debug itself.
        let reply = Reply { debug: false, ..reply(options, arguments)? };
        let status = run_with_signals(async |signals| run_alone(options, reply, signals, &mut print).await)?;
        return Ok(status.into());
    }
    let session = Session::open(options, name)?;
    let reply = reply(options, arguments)?;
    let status = run_with_signals(async |signals| session.send(reply, signals, &mut print).await)?;
    Ok(status.into())
}

fn reply(options: &Options, arguments: &ExecArguments) -> Result<Reply, Failure> {
    let text = read_stdin()?;
    let text = if arguments.bare && !text.trim().is_empty() { fenced(&text) } else { text };
    let ExecArguments { json, explain, .. } = *arguments;
    Ok(Reply { text, json, explain, debug: options.debug, ..Reply::default() })
}

/// Wraps the content of a tool block in fences that are longer than any fence inside.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}tool\n{text}\n{fence}\n")
}

/// Prints a report of the session.
fn print(report: Report) -> Result<(), Failure> {
    match report {
        Report::Note(note) => print_note(&note),
        Report::Debug(line) => debug::write(&line),
        Report::Output(output) => Terminal::stdout().line(&output)?,
        _ => {}
    }
    Ok(())
}
