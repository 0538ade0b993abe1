//! `bash`: one command line, its output in the order written, its exit status.

use super::{RESULT_LIMIT, blocking, spec_of};
use crate::process::{self, Job, Outcome, environment};
use crate::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use crate::workspace::Workspace;
use crate::{ErrorCode, Output, ToolFailure, ToolSpec};
use rustix::fd::{AsFd, OwnedFd};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Seconds a command may run unless it says otherwise, and at most.
const SECONDS: (u64, u64) = (30, 600);

/// Where bash is looked for, before the PATH of the commands.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];

/// The tool.
#[derive(Debug)]
pub struct Bash {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    shell: OsString,
    environment: Vec<(OsString, OsString)>,
}

impl Bash {
    /// On one workspace, with what of this process's environment may be passed on.
    pub fn new(workspace: Arc<Workspace>) -> Bash {
        let shell = SHELLS.iter().copied().find(|shell| Path::new(shell).exists()).unwrap_or("bash");
        let environment = environment(std::env::vars_os(), workspace.search_path());
        Bash { spec: spec_of("bash"), workspace, shell: shell.into(), environment }
    }

    async fn command(&self, permit: &Permit<'_>) -> Result<Output, ToolError> {
        if permit.flag("background", false) {
            return Err(no_background().into());
        }
        let command = permit.text("command").unwrap_or_default();
        let seconds = permit.count("timeout").unwrap_or(SECONDS.0).min(SECONDS.1);
        let folder = self.folder(permit.text("cwd").unwrap_or(".")).await?;
        let job = Job {
            program: &self.shell,
            args: &["--noprofile", "--norc", "-c", command].map(OsStr::new),
            folder: folder.as_fd(),
            environment: &self.environment,
            limit: Duration::from_secs(seconds),
            // The sentence about the cut and the notes need room too.
            keep: RESULT_LIMIT - 1000,
        };
        let outcome = process::run(&job).await.map_err(|error| not_started(&error))?;
        Ok(output_of(outcome, seconds))
    }

    async fn folder(&self, path: &str) -> Result<OwnedFd, ToolError> {
        let path = path.to_owned();
        blocking(&self.workspace, move |workspace, _| workspace.folder(&path)).await
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.command(&permit).await })
    }
}

fn output_of(outcome: Outcome, seconds: u64) -> Output {
    let failure = failure_of(&outcome, seconds);
    let mut text = outcome.output;
    if let Some(note) = left_running(outcome.lingered, outcome.escaped) {
        let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!("{lead}[{note}]\n"));
    }
    Output {
        truncated: outcome.truncated,
        total_bytes: outcome.total_bytes,
        exit_code: Some(outcome.exit_code),
        failure,
        ..Output::text(text)
    }
}

fn left_running(lingered: bool, escaped: bool) -> Option<&'static str> {
    if escaped {
        return Some(
            "At least one process it started could not be ended: it left the process group, as setsid does, still \
             holds the output and may go on running. End it by its process id if it is not wanted.",
        );
    }
    lingered.then_some("Processes it left running in the background were ended with it.")
}

fn failure_of(outcome: &Outcome, seconds: u64) -> Option<ToolFailure> {
    if outcome.timed_out {
        let more = format!("Give a longer timeout ({} at most), or do it in smaller steps.", SECONDS.1);
        let message = format!("The command did not end within {seconds} s and was ended. {more}");
        return Some(ToolFailure::new(ErrorCode::Timeout, message));
    }
    let message = match (outcome.signal, outcome.exit_code) {
        (Some(signal), code) => format!("The command was ended by signal {signal} (status {code})."),
        (None, 0) => return None,
        (None, code) => format!("The command ended with status {code}."),
    };
    Some(ToolFailure::new(ErrorCode::ExitStatus, message))
}

fn no_background() -> ToolFailure {
    let message = "Background jobs are not available yet. Run the command in the foreground with a timeout.";
    ToolFailure::new(ErrorCode::InvalidArgument, message)
}

fn not_started(error: &std::io::Error) -> ToolFailure {
    ToolFailure::new(ErrorCode::IoError, format!("The command could not be run: {error}."))
}
