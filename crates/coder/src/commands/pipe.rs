//! `coder pipe`: a session for a chat client in any language, over JSON lines.

use crate::args::{Options, PipeArguments};
use crate::failure::{Failure, INTERRUPTED};
use crate::rules::Setup;
use crate::terminal::Terminal;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::io::{BufReader, stdin, stdout};
use toolfence_agent::agent::Canceller;
use toolfence_server::pipe::{Ending, Pipe, SCHEMA};

/// Serves the client on stdin and stdout until it is gone.
pub(crate) fn run(options: &Options, arguments: &PipeArguments) -> Result<ExitCode, Failure> {
    if arguments.schema {
        Terminal::stdout().line(SCHEMA.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let setup = Setup::new(options)?.with_servers(false)?;
    let mut pipe = Pipe::new(setup.toolbox.clone(), setup.policy.clone(), setup.commands.clone());
    pipe.session.language = setup.language;
    pipe.session.format = setup.format.clone();
    pipe.session.limits = setup.config.limits();
    pipe.session.parser = setup.parser()?;
    pipe.session.window = setup.window();
    pipe.persona = setup.persona.text.clone();
    pipe.transcript = setup.run_transcript()?;
    pipe.history = setup.history.clone().map(|history| (history, setup.workspace.clone()));
    pipe.checks = setup.project_checks().map(Arc::new);
    let canceller = Canceller::default();
    let served = crate::runtime::run(canceller.clone(), async {
        pipe.serve(BufReader::new(stdin()), stdout(), &canceller).await
    })?;
    setup.tell_notes();
    Ok(match served.map_err(Failure::broken)? {
        Ending::Cancelled => INTERRUPTED.into(),
        _ => ExitCode::SUCCESS,
    })
}
