//! `bash`: one command line, its output in the order written, its exit status.

use super::{RESULT_LIMIT, blocking, spec_of};
use crate::process::{self, Job, Outcome, environment};
use crate::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use crate::walls::{self, Errand, Kind};
use crate::workspace::{Covers, Workspace};
use crate::{ErrorCode, Output, ToolFailure, ToolSpec};
use rustix::fd::{AsFd, OwnedFd};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Seconds a command may run unless it says otherwise, and at most.
const SECONDS: (u64, u64) = (30, 600);

/// Where bash is looked for, before the PATH of the commands.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];

/// How often the walls are raised anew where the project changes under them.
const MOST_TRIES: u32 = 4;

/// The tool. Commands run inside the walls of the workspace where these can be raised; see
/// [`Workspace::walls`](crate::workspace::Workspace::walls).
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
        let seconds = permit.count("timeout").unwrap_or(SECONDS.0).min(SECONDS.1);
        let (folder, name) = self.folder(permit.text("cwd").unwrap_or(".")).await?;
        let command = permit.text("command").unwrap_or_default();
        let words: [&OsStr; 5] =
            [&self.shell, "--noprofile".as_ref(), "--norc".as_ref(), "-c".as_ref(), OsStr::new(command)];
        let job = Job {
            program: words[0],
            args: &words[1..],
            folder: folder.as_fd(),
            environment: &self.environment,
            limit: Duration::from_secs(seconds),
            // The sentence about the cut and the notes need room too.
            keep: RESULT_LIMIT - 2000,
        };
        if permit.flag("outside_walls", false) || !self.is_walled().await? {
            let outcome = process::run(&job).await.map_err(|error| not_started(&error))?;
            return Ok(output_of(outcome, seconds, &[]));
        }
        let inside = Inside { words: &words, folder: &name, network: permit.flag("network", false) };
        let (outcome, notes) = self.run_inside(&job, &inside).await?;
        Ok(output_of(outcome, seconds, &notes))
    }

    async fn folder(&self, path: &str) -> Result<(OwnedFd, PathBuf), ToolError> {
        let path = path.to_owned();
        blocking(&self.workspace, move |workspace, _| workspace.named_folder(&path)).await
    }

    /// Whether there are walls here; they are tried out at the first call.
    async fn is_walled(&self) -> Result<bool, ToolError> {
        blocking(&self.workspace, |workspace, _| Ok(workspace.enclosure().report().kind > Kind::Nothing)).await
    }

    /// Runs it inside, or not at all: it was cleared because the walls stand.
    async fn run_inside(&self, job: &Job<'_>, inside: &Inside<'_>) -> Result<(Outcome, Vec<String>), ToolError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let covers = blocking(&self.workspace, Workspace::covers).await?;
            match self.run_covered(job, inside, &covers).await {
                Ok(outcome) => {
                    let notes = blocking(&self.workspace, move |workspace, _| Ok(workspace.settle(&covers))).await?;
                    return Ok((outcome, notes));
                }
                // A file was put where another was looked at: the covers would be beside it.
                Err(error) if process::is_changed(&error) && tries < MOST_TRIES => {}
                Err(error) => return Err(not_walled(&error).into()),
            }
        }
    }

    async fn run_covered(&self, job: &Job<'_>, inside: &Inside<'_>, covers: &Covers) -> io::Result<Outcome> {
        let Inside { words, folder, network } = *inside;
        let errand = Errand { command: words, folder, covers: covers.list(), network };
        let entry = self.workspace.enclosure().entry(&errand);
        let entry = entry.ok_or_else(|| io::Error::other("there is no plan for them"))?;
        let argument = [OsStr::new(entry.argument)];
        let environment = walls::environment(job.environment, self.workspace.root());
        let helper = Job { program: &entry.program, args: &argument, environment: &environment, ..*job };
        process::run_kept(&helper, &entry.told).await
    }
}

/// What is special about a command that runs inside.
struct Inside<'a> {
    words: &'a [&'a OsStr],
    folder: &'a Path,
    network: bool,
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.command(&permit).await })
    }
}

fn output_of(outcome: Outcome, seconds: u64, notes: &[String]) -> Output {
    let failure = failure_of(&outcome, seconds);
    let mut text = outcome.output;
    for note in left_running(outcome.lingered, outcome.escaped).into_iter().chain(notes.iter().map(String::as_str)) {
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

fn not_walled(error: &io::Error) -> ToolFailure {
    let message = format!(
        "The walls around the command could not be raised ({error}), so it was not run. Try again; if it fails again, ask \
         the user, who can allow it with outside_walls: true."
    );
    ToolFailure::new(ErrorCode::IoError, message)
}

fn not_started(error: &io::Error) -> ToolFailure {
    ToolFailure::new(ErrorCode::IoError, format!("The command could not be run: {error}."))
}
