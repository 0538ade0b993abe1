//! `coder pipe`: serves a session to a chat client over JSON lines.

use crate::args::{Options, PipeArguments};
use crate::failure::{Failure, INTERRUPTED};
use crate::rules;
use crate::terminal::Terminal;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::io::{BufReader, stdin, stdout};
use toolfence_agent::agent::Canceller;
use toolfence_agent::transcript::Store;
use toolfence_server::pipe::{Ending, Pipe, SCHEMA};

/// Serves the client on stdin and stdout until it disconnects.
pub(crate) fn run(options: &Options, arguments: &PipeArguments) -> Result<ExitCode, Failure> {
    if arguments.schema {
        Terminal::stdout().line(SCHEMA.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (project, rules) = rules::open_with_servers(options, false)?;
    let mut pipe = Pipe::new(rules.toolbox.clone(), rules.policy.clone(), project.commands.clone());
    pipe.session.language = rules.language;
    pipe.session.format = rules.format.clone();
    pipe.session.limits = rules.config.limits();
    pipe.session.parser = rules.parser()?;
    pipe.session.window = rules.window();
    pipe.persona = rules.persona.text.clone();
    pipe.transcript = rules.new_transcript(&project, None, Store::runs)?;
    pipe.history = project.history.clone().map(|history| (history, project.workspace.clone()));
    pipe.checks = rules.project_checks(&project).map(Arc::new);
    let canceller = Canceller::default();
    let served = crate::runtime::run(canceller.clone(), async {
        pipe.serve(BufReader::new(stdin()), stdout(), &canceller).await
    })?;
    project.print_notes();
    Ok(match served.map_err(Failure::broken)? {
        Ending::Cancelled => INTERRUPTED.into(),
        _ => ExitCode::SUCCESS,
    })
}
