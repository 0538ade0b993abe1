//! The command runner: runs the commands of tools. A command runs without the sandbox only if the call asks for that,
//! or if no sandbox is available.
//!
//! The runner gets the masks from the workspace and the helper from the sandbox, and runs the command through the
//! process module. `inside` runs commands in the sandbox, `report` describes how a command ended, and `facts` answers
//! the policy.

mod facts;
mod inside;
mod made;
mod network;
mod on_copy;
mod refused;
mod report;
mod service;

pub use made::{MadeChange, MadeChanges};
pub use report::add_note;
pub(crate) use report::{CommandOutcome, in_file, spilled};
pub use service::{Service, ServiceWatch, WantedService};

use crate::blocking;
use crate::private_copy::{self, KeptChanges, SlowNote};
use crate::session_output::SessionOutput;
use inside::Inside;
use report::{no_container, not_started};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use toolfence_policy::Consent;
use toolfence_policy::toolbox::{Permit, Progress, ToolError};
use toolfence_protocol::limits::size;
use toolfence_protocol::{Error, ErrorKind, Language, Limits, Output, Text, text};
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::{self, Enclosure, Kind, Report};
use toolfence_sandbox::process::{self, Background, Job, Outcome, Overflow};
use toolfence_workspace::undo::History;
use toolfence_workspace::{Workspace, overflow_file};

/// Bytes of a command's result that are reserved for the notes, such as the note that the output was cut.
const AROUND: u64 = 2000;

/// The most bytes of a checker's output that are kept.
const KEPT_OF_CHECKER: usize = 98_000;

/// Returns the most bytes of a command's output that are kept for its result.
pub fn kept_output(limits: &Limits) -> usize {
    size(limits.output_bytes.saturating_sub(AROUND))
}

/// Paths of bash that are tried before the PATH.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];

/// Runs the commands of one project, in the sandbox of the settings.
#[derive(Debug)]
pub struct CommandRunner {
    project: Arc<Sandboxed>,
    environment: Vec<(OsString, OsString)>,
    /// The number of consecutive commands that reached their time limit.
    late: AtomicU32,
    /// The recent input of each job.
    written: Mutex<HashMap<String, String>>,
    /// One channel for each command whose caller is gone; it closes when the thread of the command ends.
    left: Mutex<Vec<mpsc::Receiver<()>>>,
}

/// A project with the sandbox around its commands.
#[derive(Debug)]
struct Sandboxed {
    workspace: Arc<Workspace>,
    settings: isolation::Settings,
    enclosure: OnceLock<Enclosure>,
    copies: PrivateCopies,
    /// The folder with the layers and stashes, or the reason why commands do not run on private copies.
    private: OnceLock<Result<PathBuf, Text>>,
    /// The output of the session's commands that is not in the project.
    output: OnceLock<SessionOutput>,
    /// Whether a result has mentioned why commands do not run on private copies.
    said_why: AtomicBool,
}

/// Whether the host requests that commands run on private copies of the project.
#[derive(Debug, Clone)]
enum PrivateCopies {
    /// The host has not requested them.
    NotAskedFor,
    /// They are kept in this folder of the host's state.
    In(PathBuf),
    /// The user has switched them off; the text names the setting.
    Off(Text),
}

impl Sandboxed {
    fn new(workspace: Arc<Workspace>, settings: isolation::Settings, copies: PrivateCopies) -> Sandboxed {
        Sandboxed {
            workspace,
            settings,
            enclosure: OnceLock::new(),
            copies,
            private: OnceLock::new(),
            output: OnceLock::new(),
            said_why: AtomicBool::new(false),
        }
    }

    fn enclosure(&self) -> &Enclosure {
        self.enclosure.get_or_init(|| Enclosure::new(self.settings.clone(), self.workspace.root().as_ref()))
    }
}

/// A command to run.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The working folder, as the model named it.
    pub folder: String,
    /// The time limit; `None` for a job that ends with the session.
    pub seconds: Option<u64>,
    /// The maximum time limit that a call may set.
    pub most_seconds: u64,
    /// Whether the command may use the network.
    pub network: bool,
    /// Whether the command runs outside the sandbox.
    pub outside: bool,
    /// The most bytes of the output that are kept.
    pub keep: usize,
    /// Whether the command works without write access to the project.
    pub looks: bool,
    /// Whether a job may write to the build folders of the project.
    pub writes_builds: bool,
    /// Whether the command runs on a private copy of the project. If there are no copies, the project is read-only for
    /// it.
    pub on_private_copy: bool,
    /// The language of the notes in its output.
    pub language: Language,
}

/// A checker to run.
#[derive(Debug)]
pub struct Checking<'a> {
    /// The program by its absolute path, and its arguments.
    pub words: &'a [OsString],
    /// The stdin of the checker.
    pub input: &'a str,
    /// The time limit.
    pub seconds: u64,
    /// Whether the checker reads nothing but its stdin, so that it may run without a sandbox.
    pub harmless: bool,
}

impl CommandRunner {
    /// Returns a runner for commands in this project, in the sandbox of these settings. The project is read-only for
    /// them, except for build folders, unless a call has `write: true` or [`CommandRunner::private_copies`] is set.
    pub fn new(workspace: Arc<Workspace>, settings: isolation::Settings) -> CommandRunner {
        let environment = environment::without_sandbox(std::env::vars_os(), workspace.root().programs().search_path());
        CommandRunner {
            project: Arc::new(Sandboxed::new(workspace, settings, PrivateCopies::NotAskedFor)),
            environment,
            late: AtomicU32::new(0),
            written: Mutex::default(),
            left: Mutex::default(),
        }
    }

    /// Runs commands on private copies of the project, if the sandbox can mount them: the changes of a command reach
    /// the project only after the rules or the user have accepted them. `state` is the folder of the host's state, in
    /// which the copies are kept.
    ///
    /// Finishes the exchange of files that an earlier process did not complete because it was killed. Call it before
    /// any undo.
    #[must_use]
    pub fn private_copies(self, state: &Path) -> CommandRunner {
        // The history is in a subfolder of the host's folder for the project; the copies are kept next to it.
        let folder = History::folder(state, self.workspace().root_path());
        match folder.parent() {
            Some(folder) => {
                on_copy::finish_exchanges(self.workspace(), folder);
                self.with_copies(PrivateCopies::In(folder.to_owned()))
            }
            None => self,
        }
    }

    /// Makes the project read-only for commands, because the user has switched private copies off. `why` is a sentence
    /// for the user and the model.
    #[must_use]
    pub fn without_private_copies(self, why: Text) -> CommandRunner {
        self.with_copies(PrivateCopies::Off(why))
    }

    fn with_copies(mut self, copies: PrivateCopies) -> CommandRunner {
        let Sandboxed { workspace, settings, .. } = &*self.project;
        self.project = Arc::new(Sandboxed::new(Arc::clone(workspace), settings.clone(), copies));
        self
    }

    /// Returns the project in which the commands run.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.project.workspace
    }

    /// Returns the report on the sandbox of the commands. The first call detects the sandbox, which takes some
    /// milliseconds.
    pub fn sandbox_report(&self) -> &Report {
        self.enclosure().report()
    }

    /// Returns the sandbox of the commands. The first call detects it, which takes some milliseconds.
    #[doc(hidden)]
    pub fn enclosure(&self) -> &Enclosure {
        self.project.enclosure()
    }

    /// Returns `true` if a command in the sandbox may use the network, because its call requests it or the settings
    /// allow it for all commands.
    fn has_network(&self, of_call: bool) -> bool {
        of_call || self.enclosure().settings().network
    }

    /// Returns `true` if a sandbox is available. The first call detects it.
    pub async fn is_sandboxed(&self) -> Result<bool, ToolError> {
        blocking(&self.project, |project, _| Ok(project.enclosure().report().kind > Kind::Nothing)).await
    }

    /// Returns `true` if a checker may run although no sandbox confines it.
    pub fn may_run_outside(&self, harmless: bool) -> bool {
        harmless && self.enclosure().refusal().is_none()
    }

    /// Returns `true` if the sandbox confines all commands.
    pub async fn is_held(&self) -> Result<bool, ToolError> {
        blocking(&self.project, |project, _| Ok(project.enclosure().report().holds)).await
    }

    /// Runs a command to its end. Dropping the future ends the command, and blocks until none of its processes is left.
    ///
    /// The command has a thread of its own, because files that it planted must be renamed after its end even if the
    /// caller is gone.
    pub(crate) async fn run(
        self: &Arc<CommandRunner>,
        wanted: CommandRequest,
        progress: &dyn Progress,
    ) -> Result<CommandOutcome, ToolError> {
        let started = |error: io::Error| ToolError::Respond(not_started(&error));
        let workspace = Arc::clone(self.workspace());
        let live = Background::new(wanted.keep, false).map_err(started)?.language(wanted.language);
        let live = Arc::new(live.overflow(Overflow::new(move || overflow_file::create(workspace.root()))));
        // Nothing is sent through the other two channels; they signal by closing. `thread` closes when the thread ends,
        // `gone` as soon as no process of the command is left.
        let (say, ended) = oneshot::channel();
        let ((running, thread), (left, gone)) = (mpsc::channel::<()>(), mpsc::channel());
        let (commands, its_live) = (Arc::clone(self), Arc::clone(&live));
        let work = move || {
            let _running = running;
            let ran = block_on(commands.run_live(&wanted, &its_live, false, left));
            // The caller may be gone.
            let _ = say.send(ran);
        };
        std::thread::Builder::new().name("command".into()).spawn(work).map_err(started)?;
        let mut waiting = Waiting { commands: self, live: &live, gone, thread: Some(thread) };
        let ran = report_output_during(&live, progress, ended).await.map_err(|_| {
            ToolError::Fatal(Error::with_kind(ErrorKind::Internal, text!("A thread that ran a command has died.")))
        })?;
        // The command has ended, so dropping `waiting` must neither kill it nor wait.
        waiting.thread = None;
        ran
    }

    /// Runs the command of a call and returns the result, with the files on a private copy that were kept and those
    /// that were not.
    #[doc(hidden)]
    pub async fn answer(
        self: &Arc<CommandRunner>,
        wanted: CommandRequest,
        shown: &str,
        permit: &Permit<'_>,
        progress: &dyn Progress,
    ) -> Result<Output, ToolError> {
        let mut ran = self.run(wanted.clone(), progress).await?;
        let mut has_run_again = false;
        // The first run of a confined command has not changed the project, so a second run cannot repeat a change.
        if ran.misses_network() && permit.is_confined() {
            has_run_again = match permit.consent_to_network() {
                Consent::Given => true,
                Consent::Ask => {
                    progress.ask(permit.ask_about_network(run_again_with_network(ran.copy.is_some()))).await.is_ok()
                }
                Consent::Refused => false,
            };
        }
        if has_run_again {
            // The files that the first run wrote on its private copy are dropped, but output of earlier commands in it
            // returns to the session.
            if let Some(ended) = ran.copy.take()
                && let Ok(run) = self.read_copy(ended, &SlowNote { progress, language: permit.language() }).await?
            {
                private_copy::discard(self, run).await?;
            }
            ran = self.run(CommandRequest { network: true, ..wanted }, progress).await?;
        }
        let copy = ran.copy.take();
        let on_copy = copy.is_some();
        let advice = if on_copy { report::advice_on_copy(&ran.outcome) } else { None };
        let mut output = self.output(ran);
        if has_run_again {
            add_note(
                &mut output.text,
                text!("This is the second run, with network. The first one failed without network."),
            );
        }
        if let Some(advice) = advice {
            add_note(&mut output.text, advice);
        }
        if let Some(ended) = copy {
            match self.read_copy(ended, &SlowNote { progress, language: permit.language() }).await? {
                Ok(run) => {
                    let asks = private_copy::Acceptance { permit: Some(permit), progress, has_network: has_run_again };
                    private_copy::keep_accepted(self, run, shown, &asks).await?.put_into(&mut output);
                }
                Err(why) => KeptChanges::unread_layer(why).put_into(&mut output),
            }
        }
        if !on_copy && let Some(why) = self.take_reason_against_copies() {
            add_note(&mut output.text, self.describe_fallback(why));
        }
        Ok(output)
    }

    /// Runs a command that checks the project. Its output, such as a build folder, is put into the project; its changes
    /// are not.
    #[doc(hidden)]
    pub async fn run_check(
        self: &Arc<CommandRunner>,
        wanted: CommandRequest,
        shown: &str,
        progress: &dyn Progress,
    ) -> Result<Outcome, ToolError> {
        let noting = SlowNote { progress, language: wanted.language };
        let mut ran = self.run(wanted, progress).await?;
        if let Some(ended) = ran.copy.take()
            && let Ok(run) = self.read_copy(ended, &noting).await?
        {
            let asks = private_copy::Acceptance { permit: None, progress, has_network: false };
            private_copy::keep_accepted(self, run, shown, &asks).await?;
        }
        Ok(ran.outcome)
    }

    /// Records text that was written to a job, for the rules for commands: a job may be a shell.
    pub fn note_input(&self, job: &str, text: &str) {
        /// The most bytes that are kept. Beyond that, only the unfinished line is kept.
        const LONGEST: usize = 16 << 10;
        let mut written = self.written();
        let written = written.entry(job.to_owned()).or_default();
        written.push_str(text);
        if written.len() > LONGEST {
            // A command may be written in several pieces, so the unfinished line must stay whole, however long it is.
            let line = written.rfind('\n').map_or(0, |end| end + 1);
            written.drain(..line);
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the threads of commands whose callers are gone have ended.
    pub(crate) fn wait_for_left(&self, deadline: Instant) {
        let left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in left {
            // The sender is dropped when the thread ends, and sends nothing.
            let _ = thread.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        }
    }

    /// Runs a command to its end on the calling thread. Drops `left` as soon as all processes of the command have
    /// ended.
    pub(crate) async fn run_live(
        &self,
        wanted: &CommandRequest,
        live: &Background,
        of_job: bool,
        left: mpsc::Sender<()>,
    ) -> Result<CommandOutcome, ToolError> {
        // First phase: determine how the command can be confined.
        let (folder, name) = self.folder(&wanted.folder).await?;
        let words: Vec<&OsStr> = wanted.words.iter().map(OsString::as_os_str).collect();
        let job = Job {
            program: words[0],
            args: &words[1..],
            folder: folder.as_fd(),
            environment: &self.environment,
            limit: wanted.seconds.map_or(Duration::MAX, Duration::from_secs),
            keep: wanted.keep,
            overflow: None,
            live: Some(live),
        };
        let sandboxed = !wanted.outside && self.is_sandboxed().await?;
        // The settings require a container that is missing. Another kind of sandbox would give other guarantees.
        if let Some(why) = self.enclosure().refusal().filter(|_| !wanted.outside) {
            return Err(no_container(why).into());
        }
        // The policy has judged that the command only reads; only a sandbox that holds can enforce that.
        let looks = sandboxed && wanted.looks && self.enclosure().report().holds;
        let on_copy = sandboxed && wanted.on_private_copy && !of_job && self.has_private_copies().await?;
        // A job gets no private copy: it may run for a whole session and would not see later changes of the project.
        let is_apart = sandboxed && !on_copy && wanted.on_private_copy;
        let is_fallback = is_apart && self.is_fallback().await?;
        let read_only = is_apart && of_job || is_fallback;
        let writes_project = !on_copy && !read_only && !wanted.looks && !self.cannot_write(sandboxed, looks);
        // Second phase: run the command.
        let started = Instant::now();
        let network = wanted.network;
        let inside = Inside {
            words: &words,
            folder: &name,
            network,
            looks: looks || read_only,
            writes_builds: read_only && (is_fallback || wanted.writes_builds),
        };
        let mut copy = None;
        let (outcome, mut notes) = if on_copy {
            let ended = self.run_on_copy(&job, &name, network).await?;
            // A cancelled caller waits only until `left` is closed. What follows reads the project and may take longer.
            drop(left);
            // Some repositories are read-only on a copy, too, such as a git directory outside of the project.
            let notes = refused::explain_refusals(self.workspace(), &ended.masks, &ended.outcome);
            let outcome = ended.outcome.clone();
            copy = Some(ended);
            (outcome, notes)
        } else if !sandboxed {
            let ran = self.run_outside(&job, &words).await?;
            drop(left);
            ran
        } else if writes_project || read_only {
            self.run_writing(&job, &inside, left).await?
        } else {
            let outcome = self.run_inside(&job, &inside).await?;
            drop(left);
            (outcome, Vec::new())
        };
        // Third phase: collect the notes for the result.
        if read_only && outcome.exit_code != 0 && refused::mentions_read_only(&outcome.output) {
            notes.push(needs_write());
        }
        tracing::debug!(
            sandboxed,
            status = outcome.exit_code,
            timed_out = outcome.timed_out,
            bytes = outcome.total_bytes,
            looks,
            microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            "a command ended"
        );
        if writes_project && self.workspace().changes().are_recorded() {
            notes.push(text!("Undo does not cover what this command changed in the project."));
        }
        let (file, overflow_note) = match live.file() {
            None => (None, None),
            Some((name, all)) => {
                let overflow_note = spilled(&name, all, of_job);
                (Some(name), Some(overflow_note))
            }
        };
        let notes = overflow_note.into_iter().chain(notes).collect();
        let command = wanted.words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let (seconds, most_seconds) = (wanted.seconds, wanted.most_seconds);
        let has_network = !sandboxed || self.has_network(network);
        Ok(CommandOutcome { outcome, copy, notes, file, seconds, most_seconds, command, has_network })
    }

    /// Runs a command without a sandbox. If a helper is available, it supervises the command, so that no process is
    /// left.
    async fn run_outside(&self, job: &Job<'_>, words: &[&OsStr]) -> Result<(Outcome, Vec<Text>), ToolError> {
        let Some(entry) = self.enclosure().supervised(words) else {
            let outcome = process::run(job).await.map_err(|error| not_started(&error))?;
            return Ok((
                outcome,
                vec![text!(
                    "The helper that supervises commands (toolfence-sandbox or coder, in the PATH) is missing, so a \
                     process that left the process group of this command may still be running, and its memory was not \
                     limited."
                )],
            ));
        };
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let helper = Job { program: &entry.program, args: &arguments, ..*job };
        let outcome = process::run_supervised(&helper, &entry.message).await.map_err(|error| not_started(&error))?;
        Ok((outcome, Vec::new()))
    }

    /// Returns `true` if the sandbox makes the whole project read-only, so that no masks against writing are needed.
    fn cannot_write(&self, sandboxed: bool, looks: bool) -> bool {
        let enclosure = self.enclosure();
        sandboxed && enclosure.report().holds && (looks || enclosure.settings().mode == isolation::Mode::ReadOnly)
    }

    /// Runs a checker where it cannot change the project: on a private copy that is dropped afterwards, with the
    /// project read-only if there are no copies, or without a sandbox if it reads only its stdin. Returns `None` if
    /// none of these is possible.
    #[doc(hidden)]
    pub async fn check(&self, checking: &Checking<'_>) -> Result<Option<Outcome>, ToolError> {
        let report = blocking(&self.project, |project, _| Ok(project.enclosure().report().clone())).await?;
        let live = Background::fed(KEPT_OF_CHECKER, checking.input.as_bytes()).map_err(|error| not_started(&error))?;
        let words: Vec<&OsStr> = checking.words.iter().map(OsString::as_os_str).collect();
        let top = rustix::fs::open("/", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let top = top.map_err(|errno| not_started(&errno.into()))?;
        let (root, name) = self.folder(".").await?;
        // A checker that reads only its stdin runs in `/`, so that no file of the project configures it, such as one
        // that selects the checker's version.
        let name = if checking.harmless { PathBuf::from("/") } else { name };
        let job = Job {
            program: words[0],
            args: &words[1..],
            folder: if report.holds { root.as_fd() } else { top.as_fd() },
            environment: &self.environment,
            limit: Duration::from_secs(checking.seconds),
            keep: KEPT_OF_CHECKER,
            overflow: None,
            live: Some(&live),
        };
        if report.holds {
            // A checker that reads only its stdin writes nothing, so it is not worth a private copy.
            if !checking.harmless && self.has_private_copies().await? {
                return self.check_on_copy(&job).await.map(Some);
            }
            let inside = Inside { words: &words, folder: &name, network: false, looks: true, writes_builds: false };
            return self.run_inside(&job, &inside).await.map(Some);
        }
        if !self.may_run_outside(checking.harmless) {
            return Ok(None);
        }
        self.run_outside(&job, &words).await.map(|(outcome, _)| Some(outcome))
    }

    async fn folder(&self, path: &str) -> Result<(OwnedFd, PathBuf), ToolError> {
        let path = path.to_owned();
        blocking(self.workspace(), move |workspace, _| workspace.root().named_folder(&path)).await
    }
}

fn needs_write() -> Text {
    text!(
        "The project is read-only for commands, except for build folders that git ignores. If the command failed \
         because of that, call it again with `\"write\": true`."
    )
}

fn run_again_with_network(on_copy: bool) -> Text {
    match on_copy {
        true => text!(
            "It failed without network, and its output mentions a failed name lookup. Run it again with network? The \
             changes of the first run are dropped."
        ),
        false => {
            text!("It failed without network, and its output mentions a failed name lookup. Run it again with network?")
        }
    }
}

/// Runs a command to its end on the calling thread.
pub(crate) fn block_on(
    run: impl Future<Output = Result<CommandOutcome, ToolError>>,
) -> Result<CommandOutcome, ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ToolError::Fatal(Error::because(text!("start a job"), error)))?;
    let ran = runtime.block_on(run);
    // The command has ended, so no remaining task of the runtime matters.
    runtime.shutdown_background();
    ran
}

/// Waits for a future, and meanwhile reports the output of a command.
pub async fn report_output_during<T>(
    live: &Background,
    progress: &dyn Progress,
    awaited: impl Future<Output = T>,
) -> T {
    /// The time between two reports, which a user perceives as immediate.
    const PAUSE: Duration = Duration::from_millis(200);
    /// The most bytes of the end of the output that are reported.
    const MOST: usize = 2048;
    let mut awaited = pin!(awaited);
    let mut seen = 0;
    loop {
        if let Ok(done) = tokio::time::timeout(PAUSE, &mut awaited).await {
            return done;
        }
        let (end, total) = live.last(MOST);
        if total != std::mem::replace(&mut seen, total) {
            // The last bytes may begin within a character.
            let end = String::from_utf8_lossy(&end);
            progress.printed(end.trim_start_matches(char::REPLACEMENT_CHARACTER));
        }
    }
}

/// Returns the program and arguments that run a command line in bash.
pub fn shell_line(line: &str) -> Vec<OsString> {
    let shell = SHELLS.iter().copied().find(|shell| Path::new(shell).exists()).unwrap_or("bash");
    [shell, "--noprofile", "--norc", "-c", line].map(OsString::from).into()
}

/// A command that a call waits for. Dropping it earlier ends the command and blocks until no process of the command is
/// left.
struct Waiting<'a> {
    commands: &'a CommandRunner,
    live: &'a Background,
    /// A channel that closes when no process of the command is left.
    gone: mpsc::Receiver<()>,
    thread: Option<mpsc::Receiver<()>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        /// The time limit for the processes to end. The kernel needs milliseconds, but a process that waits for a disk
        /// may not react to signals.
        const PATIENCE: Duration = Duration::from_secs(2);
        if let Some(thread) = self.thread.take() {
            self.live.kill();
            let _ = self.gone.recv_timeout(PATIENCE);
            self.commands.left.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
    }
}
