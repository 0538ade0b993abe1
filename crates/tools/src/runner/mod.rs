//! The command runner: a command that a tool wants run, inside the sandbox where it stands, or not at all. And how its end is
//! told.
//!
//! It asks the masks of the workspace what to hide, the sandbox which helper to start, and the process module to hold it.

mod appeared;
mod git_call;
mod refused;

pub(super) use appeared::Appeared;

use super::{RESULT_LIMIT, blocking, terminal};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use toolfence_policy::{Facts, HistoryFact, PathFact, ProgramFact, RepositoryFact, Sandbox, Seen};
use toolfence_protocol::{Error, ErrorCode, ErrorKind, Output, Text, ToolFailure};
use toolfence_sandbox::isolation::{self, Enclosure, Kind, Request};
use toolfence_sandbox::process::{self, Background, Job, Outcome, Overflow, Prespawn, environment};
use toolfence_toolbox::ToolError;
use toolfence_workspace::{
    Access, Configurations, Guarded, Hooks, MaskSet, RecordedCommand, Running, Stop, Unmasked, Workspace, overflow_file,
};

/// How often the sandbox is set up anew where the project changes meanwhile.
const MOST_TRIES: u32 = 4;

/// The most seconds a command in the foreground may run.
pub(super) const MOST_SECONDS: u64 = 600;

/// Bytes of output that are kept: the sentence about the cut and the notes need room too.
pub(super) const KEPT: usize = RESULT_LIMIT - 2000;

/// What is said of a command that nothing held.
const UNSUPERVISED: &str = "There is no helper that holds what a command starts (toolfence-sandbox or coder, in the PATH), so a \
                            process that left the process group of this one may go on running, and its memory had no limit.";

/// What is said where the file with all of the output is not there.
const NO_FILE: &str =
    "The file with all of the output was removed: lines of a blocked file, which appeared meanwhile, may be in it.";

/// Where bash is looked for, before the PATH of the commands.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];

/// Runs the commands of one project, in the sandbox that the settings ask for.
#[derive(Debug)]
pub struct CommandRunner {
    project: Arc<Sandboxed>,
    environment: Vec<(OsString, OsString)>,
    /// The helper for the next command, and for the next one that only looks.
    ahead: [Prespawn; 2],
    /// How many ran into their time one after the other.
    late: AtomicU32,
    /// For each command whose caller is gone: closed when its thread is at its end.
    left: Mutex<Vec<mpsc::Receiver<()>>>,
}

/// A project with the sandbox around its commands.
#[derive(Debug)]
struct Sandboxed {
    workspace: Arc<Workspace>,
    settings: isolation::Settings,
    enclosure: OnceLock<Enclosure>,
}

impl Sandboxed {
    fn enclosure(&self) -> &Enclosure {
        self.enclosure.get_or_init(|| Enclosure::new(self.settings.clone(), self.workspace.root().as_ref()))
    }

    /// Whether the settings and the sandbox let any hook of git run.
    fn may_run_hooks(&self) -> bool {
        self.workspace.masks().approves_hooks()
            && self.settings.mode != isolation::Mode::ReadOnly
            && self.enclosure().report().holds
    }

    /// What has to be masked in a call that is git alone, and what becomes of hooks in it.
    fn masks_of_git(&self, command: &str, stop: &Stop) -> Result<(MaskSet, Hooks), ToolFailure> {
        let masks = self.workspace.masks();
        let mut hooks = Hooks::default();
        if self.may_run_hooks() && !git_call::moves_hooks(command) {
            let set = masks.find(Access::WriteWithHooks, stop)?;
            hooks = masks.hooks_of(&set);
            if !hooks.run.is_empty() {
                return Ok((set, hooks));
            }
        }
        Ok((masks.find(Access::Write, stop)?, hooks))
    }
}

/// What shall run.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// The program, and its arguments.
    pub(super) words: Vec<OsString>,
    /// The folder it runs in, as the model named it.
    pub(super) folder: String,
    /// How long it may run; `None` for a job that ends with the session.
    pub(super) seconds: Option<u64>,
    pub(super) network: bool,
    pub(super) outside: bool,
    /// Bytes of its output that are kept.
    pub(super) keep: usize,
    /// Whether it misses nothing where it cannot write in the project.
    pub(super) looks: bool,
    /// Whether it runs nothing but git and may write the repositories of the project.
    pub(super) writes_git: bool,
}

/// A checker that shall run.
#[derive(Debug)]
pub(super) struct Checking<'a> {
    /// The program by its absolute path, and its arguments.
    pub(super) words: &'a [OsString],
    /// The stdin of the checker.
    pub(super) input: &'a str,
    pub(super) seconds: u64,
    /// Whether it may run without a sandbox.
    pub(super) harmless: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    notes: Vec<Text>,
    seconds: Option<u64>,
    /// The last of its words: to a shell, the command line.
    command: String,
}

impl CommandRunner {
    /// Runs commands in this project, in this sandbox.
    pub fn new(workspace: Arc<Workspace>, settings: isolation::Settings) -> CommandRunner {
        let environment = environment(std::env::vars_os(), workspace.root().programs().search_path());
        CommandRunner {
            project: Arc::new(Sandboxed { workspace, settings, enclosure: OnceLock::new() }),
            environment,
            ahead: [Prespawn::new(), Prespawn::new()],
            late: AtomicU32::new(0),
            left: Mutex::default(),
        }
    }

    /// The project in which the commands run.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.project.workspace
    }

    /// The sandbox around the commands. The first call looks the machine over, which takes some milliseconds.
    pub fn enclosure(&self) -> &Enclosure {
        self.project.enclosure()
    }

    /// What becomes of hooks of git in a call that is git alone and that would run now.
    pub fn hooks(&self, stop: &Stop) -> Hooks {
        if !self.project.may_run_hooks() {
            return Hooks::default();
        }
        let masks = self.project.workspace.masks();
        masks.find(Access::WriteWithHooks, stop).map_or_else(|_| Hooks::default(), |set| masks.hooks_of(&set))
    }

    /// Whether there is a sandbox here; it is tried out at the first call.
    pub(super) async fn is_sandboxed(&self) -> Result<bool, ToolError> {
        blocking(&self.project, |project, _| Ok(project.enclosure().report().kind > Kind::Nothing)).await
    }

    /// Whether a checker may run where no sandbox holds it.
    pub(super) fn may_run_outside(&self, harmless: bool) -> bool {
        harmless && self.enclosure().refusal().is_none()
    }

    /// Whether the sandbox holds everything that runs.
    pub(super) async fn is_held(&self) -> Result<bool, ToolError> {
        blocking(&self.project, |project, _| Ok(project.enclosure().report().holds)).await
    }

    /// Runs it to its end. Dropping the future ends it, and comes back when no process of it is left.
    ///
    /// The command has a thread of its own, because what it planted has to be taken away after its end, also where the
    /// caller is gone.
    pub(super) async fn run(self: &Arc<CommandRunner>, wanted: Wanted) -> Result<Ran, ToolError> {
        let started = |error: io::Error| ToolError::Respond(not_started(&error));
        let workspace = Arc::clone(self.workspace());
        let live = Background::new(wanted.keep, false).map_err(started)?;
        let live = Arc::new(live.overflow(Overflow::new(move || overflow_file::create(workspace.root()))));
        let (say, ended) = oneshot::channel();
        let ((running, thread), (left, gone)) = (mpsc::channel::<()>(), mpsc::channel());
        let (commands, its_live) = (Arc::clone(self), Arc::clone(&live));
        let work = move || {
            let _running = running;
            let ran = block_on(commands.run_live(&wanted, &its_live, false, left, &Appeared::default()));
            // Nobody may wait for it any more.
            let _ = say.send(ran);
        };
        std::thread::Builder::new().name("command".into()).spawn(work).map_err(started)?;
        let mut waiting = Waiting { commands: self, live: &live, gone, thread: Some(thread) };
        let ran = ended.await.map_err(|_| {
            ToolError::Fatal(Error::with_kind(ErrorKind::Internal, "A thread that ran a command has died."))
        })?;
        waiting.thread = None;
        ran
    }

    /// Waits until what commands left is settled whose callers are gone.
    pub(super) fn wait_for_left(&self, deadline: Instant) {
        let left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in left {
            // The sender is dropped at the end of the thread, and says nothing before.
            let _ = thread.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        }
    }

    /// Runs it to its end on the calling thread. `left` is dropped when no process of it is left.
    pub(super) async fn run_live(
        &self,
        wanted: &Wanted,
        live: &Background,
        of_job: bool,
        left: mpsc::Sender<()>,
        appeared: &Appeared,
    ) -> Result<Ran, ToolError> {
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
        if let Some(why) = self.enclosure().refusal().filter(|_| !wanted.outside) {
            return Err(no_container(&why).into());
        }
        let looks = sandboxed && wanted.looks && self.enclosure().report().holds;
        let told = if self.cannot_write(sandboxed, looks) { None } else { Some(self.tell_beginning().await?) };
        let started = Instant::now();
        let writes_git = sandboxed && wanted.writes_git;
        let inside = Inside { words: &words, folder: &name, network: wanted.network, looks, writes_git };
        let (outcome, notes) = if !sandboxed {
            let ran = self.run_outside(&job, &words).await?;
            drop(left);
            ran
        } else if told.is_some() {
            self.run_writing(&job, live, &inside, left, appeared).await?
        } else {
            let ran = self.run_inside(&job, &inside, appeared).await?;
            drop(left);
            ran
        };
        tracing::debug!(
            sandboxed,
            status = outcome.exit_code,
            timed_out = outcome.timed_out,
            bytes = outcome.total_bytes,
            looks,
            microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            "a command ended"
        );
        // Of a command that nobody waits for, the end of the turn looks at what it left.
        if let Some(told) = told.filter(|_| !live.is_killed()) {
            self.tell_end(told).await?;
        }
        let file = live.file().map(|(name, all)| match appeared.takes_file(self.workspace(), &name) {
            true => NO_FILE.to_owned(),
            false => spilled(&name, all, of_job),
        });
        let notes = file.into_iter().map(Text::from).chain(notes).collect();
        let command = wanted.words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Ran { outcome, notes, seconds: wanted.seconds, command })
    }

    /// Runs it without a sandbox: supervised, so that it leaves nothing behind, wherever there is a helper for that.
    async fn run_outside(&self, job: &Job<'_>, words: &[&OsStr]) -> Result<(Outcome, Vec<Text>), ToolError> {
        let Some(entry) = self.enclosure().supervised(words) else {
            let outcome = process::run(job).await.map_err(|error| not_started(&error))?;
            return Ok((outcome, vec![UNSUPERVISED.into()]));
        };
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let helper = Job { program: &entry.program, args: &arguments, ..*job };
        let outcome = process::run_supervised(&helper, &entry.told).await.map_err(|error| not_started(&error))?;
        Ok((outcome, Vec::new()))
    }

    /// Whether a sandbox that holds leaves nothing of the project to write to: then nothing has to be kept of it.
    fn cannot_write(&self, sandboxed: bool, looks: bool) -> bool {
        let enclosure = self.enclosure();
        sandboxed && enclosure.report().holds && (looks || enclosure.settings().mode == isolation::Mode::ReadOnly)
    }

    async fn tell_beginning(&self) -> Result<RecordedCommand, ToolError> {
        blocking(self.workspace(), |workspace, stop| Ok(workspace.changes().command_begins(stop))).await
    }

    async fn tell_end(&self, told: RecordedCommand) -> Result<(), ToolError> {
        let ended = |workspace: &Workspace, stop: &Stop| {
            workspace.changes().command_ended(told, stop);
            Ok(())
        };
        blocking(self.workspace(), ended).await
    }

    /// Runs a checker where it cannot change the project: inside, or where no sandbox holds a harmless one far from it. `None`
    /// where that cannot be.
    pub(super) async fn check(&self, checking: &Checking<'_>) -> Result<Option<Outcome>, ToolError> {
        let report = blocking(&self.project, |project, _| Ok(project.enclosure().report().clone())).await?;
        let live = Background::fed(KEPT, checking.input.as_bytes()).map_err(|error| not_started(&error))?;
        let words: Vec<&OsStr> = checking.words.iter().map(OsString::as_os_str).collect();
        let top = rustix::fs::open("/", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let top = top.map_err(|errno| not_started(&errno.into()))?;
        let (root, name) = self.folder(".").await?;
        // What stands in a project says nothing to one that only reads a text: which version of it shall run, for one.
        let name = if checking.harmless { PathBuf::from("/") } else { name };
        let job = Job {
            program: words[0],
            args: &words[1..],
            folder: if report.holds { root.as_fd() } else { top.as_fd() },
            environment: &self.environment,
            limit: Duration::from_secs(checking.seconds),
            keep: KEPT,
            overflow: None,
            live: Some(&live),
        };
        if report.holds {
            let inside = Inside { words: &words, folder: &name, network: false, looks: true, writes_git: false };
            return self.run_inside(&job, &inside, &Appeared::default()).await.map(|(outcome, _)| Some(outcome));
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

    /// Runs what cannot write in the project inside, or not at all: it was cleared because the sandbox is set up.
    async fn run_inside(
        &self,
        job: &Job<'_>,
        inside: &Inside<'_>,
        appeared: &Appeared,
    ) -> Result<(Outcome, Vec<Text>), ToolError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let masks = Arc::new(
                blocking(self.workspace(), |workspace, stop| workspace.masks().find(Access::Read, stop)).await?,
            );
            appeared.begin(&masks);
            let ended = tokio::select! {
                biased;
                ended = self.run_masked(job, inside, &masks) => ended,
                disturbed = self.disturbed(&masks, job.live, appeared) => return Err(disturbed.into()),
            };
            match ended {
                // A file was put where another was looked at: the masks would be beside it.
                Err(error) if process::is_changed(&error) && tries < MOST_TRIES => {}
                ended => {
                    let outcome = ended.map_err(|error| not_sandboxed(&error))?;
                    return Ok((self.delivered(outcome, appeared).await?, appeared.note().into_iter().collect()));
                }
            }
        }
    }

    /// What may be told of the output.
    async fn delivered(&self, mut outcome: Outcome, appeared: &Appeared) -> Result<Outcome, ToolError> {
        // A command that said nothing has nothing to withhold.
        if outcome.total_bytes > 0 {
            appeared.look(self.workspace()).await?;
        }
        outcome.output = appeared.deliver(outcome.output);
        Ok(outcome)
    }

    /// Runs what may write in the project inside, or not at all. Afterwards takes away what appeared meanwhile and would make
    /// git run something on the host; the sentences say what.
    async fn run_writing(
        &self,
        job: &Job<'_>,
        live: &Background,
        inside: &Inside<'_>,
        left: mpsc::Sender<()>,
        appeared: &Appeared,
    ) -> Result<(Outcome, Vec<Text>), ToolError> {
        let writes_git = inside.writes_git;
        let mut tries = 0;
        loop {
            tries += 1;
            let command = inside.words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            let look = move |project: &Sandboxed, stop: &Stop| {
                let masks = project.workspace.masks();
                let (set, hooks) = match writes_git {
                    true => project.masks_of_git(&command, stop)?,
                    false => (masks.find(Access::Read, stop)?, Hooks::default()),
                };
                let guarded = set.with_hooks().then(|| Guarded::before(masks, &set));
                let configurations = writes_git.then(|| Configurations::before(masks, &set, &command));
                let of_hooks = guarded.clone().zip(configurations.clone());
                let running = masks.running(&set, of_hooks, project.enclosure().settler());
                Ok((Arc::new(set), running, guarded, configurations.map(Arc::new), hooks.off))
            };
            let (masks, running, guarded, configurations, off) = blocking(&self.project, look).await?;
            appeared.begin(&masks);
            let mut disturbance = None;
            let ended = {
                let mut run = pin!(self.run_masked(job, inside, &masks));
                let watch = self.watch(&masks, &running, configurations.as_ref(), live, appeared);
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
            let ended = match ended {
                Ok(outcome) => Ok(self.delivered(outcome, appeared).await?),
                Err(error) => Err(error),
            };
            let outcome = ended.as_ref().ok().cloned();
            let settle = move |workspace: &Workspace, _: &Stop| {
                // First what leads git to other configurations: what is judged behind it is asked of git.
                let mut notes = guarded.map(|guarded| guarded.settle(workspace.masks())).unwrap_or_default();
                notes.extend(workspace.masks().settle(&masks));
                notes.extend(off);
                notes.extend(
                    outcome.iter().flat_map(|outcome| refused::told(workspace, &masks, outcome)).map(Text::from),
                );
                notes.extend(configurations.into_iter().flat_map(|before| before.settle(workspace.masks())));
                // The record goes when there is nothing left to do.
                drop(running);
                Ok(notes)
            };
            let mut notes = blocking(self.workspace(), settle).await?;
            notes.extend(appeared.note());
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
        let Inside { words, folder, network, looks, writes_git } = *inside;
        let only_git = writes_git && !masks.with_hooks();
        let request = Request { command: words, folder, masks: masks.list(), network, looks, only_git };
        let entry = self.enclosure().entry(&request);
        let entry = entry.ok_or_else(|| io::Error::other("there is no plan for them"))?;
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let mut environment = isolation::environment(job.environment, self.workspace().root().path());
        if writes_git {
            git_call::only_git(&mut environment, self.workspace().masks(), masks.with_hooks());
        }
        let helper = Job { program: &entry.program, args: &arguments, environment: &environment, ..*job };
        if writes_git {
            // One that waits would wait for a call whose plan nobody knows.
            return process::run_supervised(&helper, &entry.told).await;
        }
        process::run_prespawned(&helper, &entry.told, entry.beginning, &self.ahead[usize::from(looks)]).await
    }

    /// Waits until a blocked file is not the one that was hidden: an editor that saves a file by renaming another over it takes the
    /// mask away with it. One that was not there is noted, so that its lines can be withheld even if it is gone at the end.
    async fn disturbed(&self, masks: &Arc<MaskSet>, live: Option<&Background>, appeared: &Appeared) -> ToolFailure {
        let mut pace = Pace::new();
        loop {
            pace.wait().await;
            let masks = Arc::clone(masks);
            let look = move |workspace: &Workspace, _: &Stop| Ok(workspace.masks().replaced(&masks));
            if let Ok(Some(found)) = blocking(self.workspace(), look).await {
                return unmasked(found);
            }
            // What cannot be looked at now is looked at before anything is delivered.
            let _ = appeared.look(self.workspace()).await;
            appeared.takes_file_of(self.workspace(), live);
        }
    }

    /// Waits until something has to end a command that may write: a blocked file that is not hidden any more, or something
    /// that git on the host would run. Says meanwhile that this host is there.
    async fn watch(
        &self,
        masks: &Arc<MaskSet>,
        running: &Running,
        configurations: Option<&Arc<Configurations>>,
        live: &Background,
        appeared: &Appeared,
    ) -> ToolFailure {
        let mut pace = Pace::new();
        loop {
            pace.wait().await;
            running.sign_of_life();
            let (masks, configurations) = (Arc::clone(masks), configurations.map(Arc::clone));
            let look = move |workspace: &Workspace, stop: &Stop| {
                let configured =
                    configurations.and_then(|before| before.planted(workspace.masks())).map(|name| changed(&name));
                let planted = configured.or_else(|| workspace.masks().planted(&masks, stop).map(|name| planted(&name)));
                Ok(planted.or_else(|| workspace.masks().replaced(&masks).map(unmasked)))
            };
            if let Ok(Some(failure)) = blocking(self.workspace(), look).await {
                return failure;
            }
            let _ = appeared.look(self.workspace()).await;
            appeared.takes_file_of(self.workspace(), Some(live));
        }
    }

    /// The answer to a call, once the command has ended.
    pub(super) fn output(&self, ran: Ran) -> Output {
        let Ran { outcome, notes, seconds, command } = ran;
        let row = if outcome.timed_out { self.late.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        self.late.store(row, Ordering::Relaxed);
        let memory = self.enclosure().settings().memory;
        let failure = failure_of(&outcome, seconds, row, memory);
        let missed = terminal::missed(&command, &outcome);
        let left = left_running(outcome.lingered, outcome.escaped);
        let masked = refused::masked_from_git(outcome.exit_code, &outcome.output);
        let mut text = Text::from(outcome.output);
        for note in left.into_iter().chain(missed).chain(masked).map(Text::from).chain(notes) {
            noted(&mut text, note);
        }
        let mut output = Output::text(text);
        output.truncated = outcome.truncated;
        output.total_bytes = outcome.total_bytes;
        output.exit_code = Some(outcome.exit_code);
        output.failure = failure;
        output
    }
}

/// Runs a command to its end on the calling thread.
pub(super) fn block_on(run: impl Future<Output = Result<Ran, ToolError>>) -> Result<Ran, ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ToolError::Fatal(Error::because("start a job", error)))?;
    let ran = runtime.block_on(run);
    // Nothing that counts is left on it.
    runtime.shutdown_background();
    ran
}

impl Facts for CommandRunner {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        self.workspace().path(cwd, path)
    }

    fn is_there(&self, path: &str) -> Option<bool> {
        self.workspace().is_there(path)
    }

    fn link(&self, path: &str) -> Option<String> {
        self.workspace().link(path)
    }

    fn instead(&self, path: &str) -> Vec<String> {
        self.workspace().instead(path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        self.workspace().program(program)
    }

    fn program_paths(&self, cwd: &str, program: &str) -> Vec<String> {
        self.workspace().program_paths(cwd, program)
    }

    fn repository(&self, cwd: &str) -> RepositoryFact {
        self.workspace().repository(cwd)
    }

    fn is_used_by_git(&self, path: &str) -> bool {
        self.workspace().is_used_by_git(path)
    }

    fn history_has_blocked(&self, cwd: &str) -> HistoryFact {
        self.workspace().history_has_blocked(cwd)
    }

    fn seen(&self, cwd: &str, path: &str) -> Seen {
        self.workspace().seen(cwd, path)
    }

    fn sandbox(&self) -> Sandbox {
        let mut sandbox = self.workspace().sandbox();
        sandbox.hold = self.enclosure().report().holds;
        sandbox
    }
}

/// The words that start a command line.
pub(super) fn shell_line(line: &str) -> Vec<OsString> {
    let shell = SHELLS.iter().copied().find(|shell| Path::new(shell).exists()).unwrap_or("bash");
    [shell, "--noprofile", "--norc", "-c", line].map(OsString::from).into()
}

/// What is special about a command that runs inside.
struct Inside<'a> {
    words: &'a [&'a OsStr],
    folder: &'a Path,
    network: bool,
    looks: bool,
    writes_git: bool,
}

/// A command that a call waits for. Dropped before its end, it ends the command and waits until no process of it is left.
struct Waiting<'a> {
    commands: &'a CommandRunner,
    live: &'a Background,
    /// Closed when no process of it is left.
    gone: mpsc::Receiver<()>,
    thread: Option<mpsc::Receiver<()>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        /// The kernel takes milliseconds to end them; a broken disk may hold one for ever.
        const PATIENCE: Duration = Duration::from_secs(2);
        if let Some(thread) = self.thread.take() {
            self.live.kill();
            let _ = self.gone.recv_timeout(PATIENCE);
            self.commands.left.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
    }
}

/// A sentence of ours on a line of its own behind the output.
pub(super) fn noted(text: &mut Text, note: impl Into<Text>) {
    let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    text.push(lead);
    text.push("[");
    text.push(note);
    text.push("]\n");
}

/// Of a job, which is looked at again and again, the file has what came since the last look that showed all.
pub(super) fn spilled(name: &str, all: bool, of_job: bool) -> String {
    let what = match (of_job, all) {
        (false, true) => "All of the output",
        (false, false) => "The first part of the output",
        (true, true) => "All output since it became too much to show",
        (true, false) => "The first 64 MiB of output since it became too much to show",
    };
    format!("{what} is in {name}: read_file and search can look into it.")
}

fn left_running(lingered: bool, escaped: bool) -> Option<&'static str> {
    if escaped {
        return Some(
            "At least one process it started may go on running: it could not be ended, or what held it was ended before it. \
             End it by its process id if it is not wanted.",
        );
    }
    lingered.then_some("Processes it left running in the background were ended with it.")
}

fn failure_of(outcome: &Outcome, seconds: Option<u64>, late_in_a_row: u32, memory: u64) -> Option<ToolFailure> {
    if outcome.stopped {
        return None;
    }
    if outcome.memory_exceeded {
        return Some(ToolFailure::new(ErrorCode::ExitStatus, too_much_memory(memory)));
    }
    if outcome.timed_out {
        return Some(ToolFailure::new(ErrorCode::Timeout, late(seconds.unwrap_or_default(), late_in_a_row)));
    }
    let message = match (outcome.signal, outcome.exit_code) {
        (Some(signal), code) => format!("The command was ended by signal {signal} (status {code})."),
        (None, 0) => return None,
        (None, code) => format!("The command ended with status {code}."),
    };
    Some(ToolFailure::new(ErrorCode::ExitStatus, message))
}

fn too_much_memory(most: u64) -> String {
    format!(
        "The command was ended: it used more than {} MiB of memory, with all it had started. Do it in smaller pieces or with \
         fewer processes at a time; the user can change the limit with the setting sandbox.memory.",
        most >> 20
    )
}

fn late(seconds: u64, in_a_row: u32) -> String {
    /// So many are no accident.
    const MANY: u32 = 3;
    let more = format!("Give a longer timeout ({MOST_SECONDS} at most), or do it in smaller steps.");
    let message = format!("The command did not end within {seconds} s and was ended. {more}");
    if in_a_row < MANY {
        return message;
    }
    format!(
        "{message} This is number {in_a_row} in a row. Do not try the same again: find out first what it waits for, or run \
         it with background: true and poll it."
    )
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
    let message = format!(
        "{name} appeared while the command ran. Git on this machine would run programs because of it, so the command was ended. \
         What it had done by then has stayed, but for this. If the project needs it, ask the user to make it, or to name it in \
         sandbox.git_writable."
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

fn changed(name: &str) -> ToolFailure {
    let message = format!(
        "{name} got a key while a hook ran that would make git on this machine run programs, so the call was ended. What it had \
         done by then has stayed, but for this."
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

fn unmasked(found: Unmasked) -> ToolFailure {
    let why = match found {
        Unmasked::Blocked(name) => format!(
            "{name}, whose content is not for commands, changed on disk while the command ran and could not stay hidden"
        ),
        Unmasked::Used(name) => format!(
            "{name}, which git or toolfence uses, was replaced on disk while the command ran and could not stay read-only"
        ),
    };
    let message =
        format!("{why}, so the command was ended. What it had done by then has stayed. Check before you run it again.");
    ToolFailure::new(ErrorCode::Conflict, message)
}

fn no_container(why: &str) -> ToolFailure {
    let message = format!(
        "Commands run in a container here, and there is none: {why} Nothing was run. Tell the user, who can mend it or set \
         sandbox.container to off."
    );
    ToolFailure::new(ErrorCode::IoError, message)
}

fn not_sandboxed(error: &io::Error) -> ToolFailure {
    let message = format!(
        "the sandbox around the command could not be set up ({error}), so it was not run. Try again; if it fails again, tell \
         the user: `coder doctor` says what is wrong with them."
    );
    ToolFailure::new(ErrorCode::IoError, message)
}

fn not_started(error: &io::Error) -> ToolFailure {
    ToolFailure::new(ErrorCode::IoError, format!("The command could not be run, or not to its end: {error}."))
}
