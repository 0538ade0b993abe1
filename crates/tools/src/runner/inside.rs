//! Commands inside the sandbox: what is hidden from each, the watch while it runs, and what it left behind.

use super::{CommandRunner, Sandboxed, git_call, refused};
use crate::{blocking, messages};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use toolfence_policy::toolbox::ToolError;
use toolfence_protocol::{ErrorCode, Text, ToolFailure};
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::{InSession, Request};
use toolfence_sandbox::process::{self, Background, Job, Outcome};
use toolfence_workspace::{Access, Configurations, MaskSet, Running, Stop, Unmasked, Workspace};

/// How often the sandbox is set up anew where the project changes meanwhile.
const MOST_TRIES: u32 = 4;

/// What is special about a command that runs inside.
pub(super) struct Inside<'a> {
    pub(super) words: &'a [&'a OsStr],
    pub(super) folder: &'a Path,
    pub(super) network: bool,
    pub(super) looks: bool,
    /// Whether it may write build folders although it only looks.
    pub(super) writes_builds: bool,
    pub(super) writes_git: bool,
}

impl CommandRunner {
    /// Runs what cannot write in the project inside, or not at all: it was cleared because the sandbox is set up.
    pub(super) async fn run_inside(
        &self,
        job: &Job<'_>,
        inside: &Inside<'_>,
    ) -> Result<(Outcome, Vec<Text>), ToolError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let masks = Arc::new(
                blocking(self.workspace(), |workspace, stop| workspace.masks().find(Access::Read, stop)).await?,
            );
            let ended = tokio::select! {
                biased;
                ended = self.run_masked(job, inside, &masks) => ended,
                disturbed = self.disturbed(&masks) => return Err(disturbed.into()),
            };
            match ended {
                // A file was put where another was looked at: the masks would be beside it.
                Err(error) if process::is_changed(&error) && tries < MOST_TRIES => {}
                ended => {
                    let outcome = ended.map_err(|error| not_sandboxed(&error))?;
                    return Ok((outcome, Vec::new()));
                }
            }
        }
    }

    /// Runs what may write in the project inside, or not at all. Afterwards takes away what appeared meanwhile and would make
    /// git run something on the host; the sentences say what.
    pub(super) async fn run_writing(
        &self,
        job: &Job<'_>,
        live: &Background,
        inside: &Inside<'_>,
        left: mpsc::Sender<()>,
    ) -> Result<(Outcome, Vec<Text>), ToolError> {
        let writes_git = inside.writes_git;
        let mut tries = 0;
        loop {
            tries += 1;
            let command = inside.words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            let look = move |project: &Sandboxed, stop: &Stop| {
                let masks = project.workspace.masks();
                let access = if writes_git { Access::Write } else { Access::Read };
                let set = masks.find(access, stop)?;
                let configurations = writes_git.then(|| Configurations::before(masks, &set, &command));
                let running = masks.running(&set, project.enclosure().settler());
                Ok((Arc::new(set), running, configurations))
            };
            let (masks, running, configurations) = blocking(&self.project, look).await?;
            let mut disturbance = None;
            let ended = {
                let mut run = pin!(self.run_masked(job, inside, &masks));
                let watch = self.watch(&masks, &running);
                tokio::select! {
                    biased;
                    ended = &mut run => ended,
                    why = watch => {
                        disturbance = Some(why);
                        live.stop();
                        // Only when no process is left can what it planted be taken away for good.
                        run.await
                    }
                }
            };
            if let Err(error) = &ended
                && process::is_changed(error)
                && tries < MOST_TRIES
            {
                continue;
            }
            drop(left);
            let outcome = ended.as_ref().ok().cloned();
            let settle = move |workspace: &Workspace, _: &Stop| {
                let mut notes = workspace.masks().settle(&masks);
                notes.extend(outcome.iter().flat_map(|outcome| refused::told(workspace, &masks, outcome)));
                notes.extend(configurations.into_iter().flat_map(|before| before.settle(workspace.masks())));
                // The record goes when there is nothing left to do.
                drop(running);
                Ok(notes)
            };
            let notes = blocking(self.workspace(), settle).await?;
            return match (disturbance, ended) {
                (Some(mut failure), _) => {
                    for note in notes {
                        failure.message.push(" [");
                        failure.message.push(note);
                        failure.message.push("]");
                    }
                    Err(failure.into())
                }
                (None, ended) => Ok((ended.map_err(|error| not_sandboxed(&error))?, notes)),
            };
        }
    }

    async fn run_masked(&self, job: &Job<'_>, inside: &Inside<'_>, masks: &MaskSet) -> io::Result<Outcome> {
        let Inside { words, folder, network, looks, writes_builds, writes_git } = *inside;
        let writable_folders = match writes_builds {
            true => self.build_folders().await?,
            false => Vec::new(),
        };
        let mut environment =
            environment::sandboxed(job.environment, self.workspace().root().path(), self.has_network(network));
        if writes_git {
            git_call::only_git(&mut environment, self.workspace().masks());
        }
        let variables: Vec<&OsStr> = environment.iter().map(|(name, _)| name.as_os_str()).collect();
        let in_session = (!writes_git).then(|| self.enclosure().enter_session());
        let request = Request {
            command: words,
            folder,
            masks: masks.list(),
            layer: None,
            network,
            looks,
            writable_folders: &writable_folders,
            only_git: writes_git,
            // A planted configuration of git or a program in a toolchain must not run where the repository can be written.
            session: !writes_git,
            sockets: in_session.as_ref().is_none_or(InSession::is_alone),
            variables: &variables,
        };
        let entry = self.enclosure().entry(&request).ok_or_else(|| io::Error::other(messages::no_plan_for_masks()))?;
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let helper = Job { program: &entry.program, args: &arguments, environment: &environment, ..*job };
        process::run_supervised(&helper, &entry.told).await
    }

    async fn build_folders(&self) -> io::Result<Vec<PathBuf>> {
        let found = blocking(self.workspace(), |workspace, stop| Ok(workspace.build_folders(stop))).await;
        match found {
            Ok(found) => Ok(found),
            Err(ToolError::Respond(failure)) => Err(io::Error::other(failure.message)),
            Err(ToolError::Fatal(error)) => Err(io::Error::other(error)),
        }
    }

    /// Waits until a blocked file is not the one that was hidden: an editor that saves a file by renaming another over it takes the
    /// mask away with it.
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

    /// Waits until something has to end a command that may write: a blocked file that is not hidden any more, or something
    /// that git on the host would run. Says meanwhile that this host is there.
    async fn watch(&self, masks: &Arc<MaskSet>, running: &Running) -> ToolFailure {
        let mut pace = Pace::new();
        loop {
            pace.wait().await;
            running.sign_of_life();
            let masks = Arc::clone(masks);
            let look = move |workspace: &Workspace, stop: &Stop| {
                let planted = workspace.masks().planted(&masks, stop).map(|name| planted(&name));
                Ok(planted.or_else(|| workspace.masks().replaced(&masks).map(unmasked)))
            };
            if let Ok(Some(failure)) = blocking(self.workspace(), look).await {
                return failure;
            }
        }
    }
}

/// When the project is looked at again while a command runs: each second, but no more than half of the time.
struct Pace {
    pause: Duration,
    woke: Instant,
}

impl Pace {
    /// Documented as the time in which a repository that appears and would run something is noticed.
    const EACH: Duration = Duration::from_secs(1);

    fn new() -> Pace {
        Pace { pause: Pace::EACH, woke: Instant::now() }
    }

    async fn wait(&mut self) {
        let took = self.woke.elapsed().saturating_sub(self.pause);
        self.pause = Pace::EACH.saturating_sub(took).max(took);
        self.woke = Instant::now();
        tokio::time::sleep(self.pause).await;
    }
}

fn planted(name: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::Denied, messages::planted(name))
}

fn unmasked(found: Unmasked) -> ToolFailure {
    let message = match found {
        Unmasked::Blocked(name) => messages::blocked_file_changed(name),
        Unmasked::Used(name) => messages::used_file_replaced(name),
    };
    ToolFailure::new(ErrorCode::Conflict, message)
}

pub(super) fn not_sandboxed(error: &io::Error) -> ToolFailure {
    ToolFailure::new(ErrorCode::IoError, messages::not_sandboxed(Text::from(error)))
}
