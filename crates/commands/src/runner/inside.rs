//! Commands in a sandbox on the project itself: the masks of each command, the watch while it runs, and the check
//! afterwards.

use super::{CommandRunner, refused};
use crate::blocking;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use toolfence_policy::toolbox::ToolError;
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::Request;
use toolfence_sandbox::process::{self, Job, Outcome};
use toolfence_workspace::{Access, MaskSet, Stop, Unmasked, Workspace};

/// The most attempts to set up the sandbox, if the project changes while the files to mask are determined.
const MOST_TRIES: u32 = 4;

/// The options of a command in the sandbox.
pub(super) struct Inside<'a> {
    pub(super) words: &'a [&'a OsStr],
    pub(super) folder: &'a Path,
    pub(super) network: bool,
    pub(super) looks: bool,
    /// Whether the command may write build folders although the rest of the project is read-only.
    pub(super) writes_builds: bool,
}

impl CommandRunner {
    /// Runs, in the sandbox, a command that cannot write to the project. If the sandbox cannot be set up, the command
    /// does not run: it was permitted only because there is a sandbox.
    pub(super) async fn run_inside(&self, job: &Job<'_>, inside: &Inside<'_>) -> Result<Outcome, ToolError> {
        let (ended, _) = self.run_watched(job, inside).await?;
        ended.map_err(ToolError::from)
    }

    /// Runs, in the sandbox, a command that may write to the project. If the sandbox cannot be set up, the command does
    /// not run. Repositories are read-only for it. New files that git on the host would run are renamed afterwards; the
    /// returned sentences name them.
    pub(super) async fn run_writing(
        &self,
        job: &Job<'_>,
        inside: &Inside<'_>,
        left: mpsc::Sender<()>,
    ) -> Result<(Outcome, Vec<Text>), ToolError> {
        let (ended, masks) = self.run_watched(job, inside).await?;
        // A cancelled caller waits only until `left` is closed; the quarantine reads the whole project.
        drop(left);
        let outcome = ended.as_ref().ok().cloned();
        let settle = move |workspace: &Workspace, _: &Stop| {
            // Also if the command was ended: it may already have planted a file.
            let mut notes = workspace.masks().quarantine(&masks);
            notes.extend(outcome.iter().flat_map(|outcome| refused::explain_refusals(workspace, &masks, outcome)));
            Ok(notes)
        };
        let notes = blocking(self.workspace(), settle).await?;
        match ended {
            Ok(outcome) => Ok((outcome, notes)),
            Err(mut disturbed) => {
                for note in notes {
                    disturbed.message.push(" [");
                    disturbed.message.push(note);
                    disturbed.message.push("]");
                }
                Err(disturbed.into())
            }
        }
    }

    /// Runs a command with its masks. If a masked file is replaced meanwhile, the command is ended, and the failure has
    /// the reason.
    async fn run_watched(
        &self,
        job: &Job<'_>,
        inside: &Inside<'_>,
    ) -> Result<(Result<Outcome, ToolFailure>, Arc<MaskSet>), ToolError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let masks = Arc::new(
                blocking(self.workspace(), |workspace, stop| workspace.masks().find(Access::Read, stop)).await?,
            );
            let ended = {
                let mut run = pin!(self.run_masked(job, inside, &masks));
                tokio::select! {
                    biased;
                    ended = &mut run => Ok(ended),
                    disturbed = self.disturbed(&masks) => {
                        if let Some(live) = job.live {
                            live.stop();
                            // The check for planted files is only reliable when all processes have ended.
                            let _ = run.await;
                        }
                        Err(disturbed)
                    }
                }
            };
            match ended {
                // Another process replaced a file after it was checked, so the mask would hide the wrong file. The next
                // round determines the masks again.
                Ok(Err(error)) if process::is_changed(&error) && tries < MOST_TRIES => {}
                Ok(ended) => return Ok((Ok(ended.map_err(|error| not_sandboxed(&error))?), masks)),
                Err(disturbed) => return Ok((Err(disturbed), masks)),
            }
        }
    }

    async fn run_masked(&self, job: &Job<'_>, inside: &Inside<'_>, masks: &MaskSet) -> io::Result<Outcome> {
        let Inside { words, folder, network, looks, writes_builds } = *inside;
        let writable_folders = match writes_builds {
            true => self.build_folders().await?,
            false => Vec::new(),
        };
        let environment =
            environment::sandboxed(job.environment, self.workspace().root().path(), self.has_network(network));
        let variables: Vec<&OsStr> = environment.iter().map(|(name, _)| name.as_os_str()).collect();
        // Held until the command has ended: it decides whether other commands may use named sockets.
        let in_session = self.enclosure().enter_session();
        let request = Request {
            command: words,
            folder,
            masks: masks.list(),
            layer: None,
            network,
            looks,
            writable_folders: &writable_folders,
            session: true,
            sockets: in_session.is_alone(),
            variables: &variables,
        };
        let entry = self
            .enclosure()
            .entry(&request)
            .ok_or_else(|| io::Error::other(text!("the helper received no plan for the masks")))?;
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let helper = Job { program: &entry.program, args: &arguments, environment: &environment, ..*job };
        process::run_supervised(&helper, &entry.message).await
    }

    async fn build_folders(&self) -> io::Result<Vec<PathBuf>> {
        let found = blocking(self.workspace(), |workspace, stop| Ok(workspace.build_folders(stop))).await;
        match found {
            Ok(found) => Ok(found),
            Err(ToolError::Respond(failure)) => Err(io::Error::other(failure.message)),
            Err(ToolError::Fatal(error)) => Err(io::Error::other(error)),
        }
    }

    /// Waits until a masked file is replaced. An editor that saves a file by renaming another one over it thereby
    /// removes the mask.
    async fn disturbed(&self, masks: &Arc<MaskSet>) -> ToolFailure {
        let mut pace = Pace::new();
        loop {
            pace.wait().await;
            let masks = Arc::clone(masks);
            let look = move |workspace: &Workspace, _: &Stop| Ok(workspace.masks().replaced(&masks));
            if let Ok(Some(found)) = blocking(self.workspace(), look).await {
                return unmasked(found);
            }
        }
    }
}

/// Schedules the checks of the project while a command runs: every second, but at most half of the time.
struct Pace {
    pause: Duration,
    woke: Instant,
}

impl Pace {
    const EACH: Duration = Duration::from_secs(1);

    fn new() -> Pace {
        Pace { pause: Pace::EACH, woke: Instant::now() }
    }

    async fn wait(&mut self) {
        let took = self.woke.elapsed().saturating_sub(self.pause);
        // `took` is the duration of the last check.
        self.pause = Pace::EACH.saturating_sub(took).max(took);
        self.woke = Instant::now();
        tokio::time::sleep(self.pause).await;
    }
}

fn unmasked(found: Unmasked) -> ToolFailure {
    let message = match found {
        Unmasked::Blocked(name) => text!(
            "{name}, which is hidden from commands, changed on disk while the command ran and could no longer be \
             hidden, so the command was ended. Its changes up to then remain. Check them before you run it again.",
            name
        ),
        Unmasked::Used(name) => text!(
            "{name}, which git or toolfence uses, was replaced on disk while the command ran and could not stay \
             read-only, so the command was ended. Its changes up to then remain. Check them before you run it again.",
            name
        ),
    };
    ToolFailure::new(ErrorCode::Conflict, message)
}

pub(super) fn not_sandboxed(error: &io::Error) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::IoError,
        text!(
            "the sandbox around the command could not be set up ({error}), so it was not run. Try again; if it fails \
             again, tell the user: `coder doctor` says what is wrong with them.",
            error = Text::from(error)
        ),
    )
}
