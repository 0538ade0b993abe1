//! A command that a tool wants run: inside the walls where they stand, or not at all. And how its end is told.

use super::{RESULT_LIMIT, blocking, terminal};
use crate::process::{self, Ahead, Job, Live, Outcome, Overflow, environment};
use crate::toolbox::ToolError;
use crate::walls::{self, Errand, Kind};
use crate::workspace::{Command, Covers, Stop, Workspace};
use crate::{ErrorCode, Output, ToolFailure};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How often the walls are raised anew where the project changes under them.
const MOST_TRIES: u32 = 4;

/// The most seconds a command in the foreground may run.
pub(super) const MOST_SECONDS: u64 = 600;

/// Bytes of output that are kept: the sentence about the cut and the notes need room too.
pub(super) const KEPT: usize = RESULT_LIMIT - 2000;

/// Where bash is looked for, before the PATH of the commands.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];

/// Where the commands of a session run.
#[derive(Debug)]
pub(super) struct Commands {
    workspace: Arc<Workspace>,
    environment: Vec<(OsString, OsString)>,
    /// The helper for the next one, and for the next one that only looks.
    ahead: [Ahead; 2],
    /// How many ran into their time one after the other.
    late: AtomicU32,
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
}

/// A checker that shall run.
#[derive(Debug)]
pub(super) struct Checking<'a> {
    /// The program by its absolute path, and its arguments.
    pub(super) words: &'a [OsString],
    /// Its stdin.
    pub(super) input: &'a str,
    pub(super) seconds: u64,
    /// Whether it may run without walls.
    pub(super) harmless: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    notes: Vec<String>,
    seconds: Option<u64>,
    /// The last of its words: to a shell, the command line.
    command: String,
}

impl Commands {
    pub(super) fn new(workspace: Arc<Workspace>) -> Commands {
        let environment = environment(std::env::vars_os(), workspace.search_path());
        Commands { workspace, environment, ahead: [Ahead::new(), Ahead::new()], late: AtomicU32::new(0) }
    }

    pub(super) fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Whether there are walls here; they are tried out at the first call.
    pub(super) async fn is_walled(&self) -> Result<bool, ToolError> {
        blocking(&self.workspace, |workspace, _| Ok(workspace.enclosure().report().kind > Kind::Nothing)).await
    }

    /// Whether walls hold everything that runs.
    pub(super) async fn is_held(&self) -> Result<bool, ToolError> {
        blocking(&self.workspace, |workspace, _| Ok(workspace.enclosure().report().holds)).await
    }

    /// Runs it to its end. Dropping the future ends it.
    pub(super) async fn run(&self, wanted: &Wanted, live: Option<&Live>) -> Result<Ran, ToolError> {
        let (folder, name) = self.folder(&wanted.folder).await?;
        let words: Vec<&OsStr> = wanted.words.iter().map(OsString::as_os_str).collect();
        let overflow = Overflow::new(|| self.workspace.spill());
        let job = Job {
            program: words[0],
            args: &words[1..],
            folder: folder.as_fd(),
            environment: &self.environment,
            limit: wanted.seconds.map_or(Duration::MAX, Duration::from_secs),
            keep: wanted.keep,
            overflow: Some(&overflow),
            live,
        };
        let walled = !wanted.outside && self.is_walled().await?;
        if let Some(why) = self.workspace.enclosure().refusal().filter(|_| !wanted.outside) {
            return Err(no_container(&why).into());
        }
        let looks = walled && wanted.looks && self.workspace.enclosure().report().holds;
        let told = if self.cannot_write(walled, looks) { None } else { Some(self.tell_beginning().await?) };
        let started = Instant::now();
        let (outcome, notes) = if !walled {
            (process::run(&job).await.map_err(|error| not_started(&error))?, Vec::new())
        } else {
            self.run_inside(&job, &Inside { words: &words, folder: &name, network: wanted.network, looks }).await?
        };
        tracing::debug!(
            walled,
            status = outcome.exit_code,
            timed_out = outcome.timed_out,
            bytes = outcome.total_bytes,
            looks,
            microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            "a command ended"
        );
        if let Some(told) = told {
            self.tell_end(told).await?;
        }
        let file =
            live.map_or_else(|| overflow.file(), Live::file).map(|(name, all)| spilled(&name, all, live.is_some()));
        let notes = file.into_iter().chain(notes).collect();
        let command = wanted.words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Ran { outcome, notes, seconds: wanted.seconds, command })
    }

    /// Whether walls that hold leave nothing of the project to write to: then nothing has to be kept of it.
    fn cannot_write(&self, walled: bool, looks: bool) -> bool {
        let enclosure = self.workspace.enclosure();
        walled && enclosure.report().holds && (looks || enclosure.settings().mode == walls::Mode::ReadOnly)
    }

    async fn tell_beginning(&self) -> Result<Command, ToolError> {
        blocking(&self.workspace, |workspace, stop| Ok(workspace.command_begins(stop))).await
    }

    async fn tell_end(&self, told: Command) -> Result<(), ToolError> {
        let ended = |workspace: &Workspace, stop: &Stop| {
            workspace.command_ended(told, stop);
            Ok(())
        };
        blocking(&self.workspace, ended).await
    }

    /// Runs a checker where it cannot change the project: inside, or where no walls hold a harmless one far from it. `None`
    /// where that cannot be.
    pub(super) async fn check(&self, checking: &Checking<'_>) -> Result<Option<Outcome>, ToolError> {
        let report = blocking(&self.workspace, |workspace, _| Ok(workspace.enclosure().report().clone())).await?;
        let live = Live::fed(KEPT, checking.input.as_bytes()).map_err(|error| not_started(&error))?;
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
            let inside = Inside { words: &words, folder: &name, network: false, looks: true };
            return self.run_inside(&job, &inside).await.map(|(outcome, _)| Some(outcome));
        }
        if !may_run_outside(&self.workspace, checking.harmless) {
            return Ok(None);
        }
        process::run(&job).await.map(Some).map_err(|error| not_started(&error).into())
    }

    async fn folder(&self, path: &str) -> Result<(OwnedFd, PathBuf), ToolError> {
        let path = path.to_owned();
        blocking(&self.workspace, move |workspace, _| workspace.named_folder(&path)).await
    }

    /// Runs it inside, or not at all: it was cleared because the walls stand.
    async fn run_inside(&self, job: &Job<'_>, inside: &Inside<'_>) -> Result<(Outcome, Vec<String>), ToolError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let covers = Arc::new(blocking(&self.workspace, Workspace::covers).await?);
            let ended = tokio::select! {
                biased;
                ended = self.run_covered(job, inside, &covers) => Ok(ended),
                disturbed = self.disturbed(&covers, job.live.is_some()) => Err(disturbed),
            };
            let retry = |error: &io::Error| process::is_changed(error) && tries < MOST_TRIES;
            if ended.as_ref().is_ok_and(|ended| ended.as_ref().err().is_some_and(retry)) {
                // A file was put where another was looked at: the covers would be beside it.
                continue;
            }
            let notes = blocking(&self.workspace, move |workspace, _| Ok(workspace.settle(&covers))).await?;
            return match ended {
                Ok(ended) => Ok((ended.map_err(|error| not_walled(&error))?, notes)),
                Err(disturbed) => Err(disturbed.into()),
            };
        }
    }

    async fn run_covered(&self, job: &Job<'_>, inside: &Inside<'_>, covers: &Covers) -> io::Result<Outcome> {
        let Inside { words, folder, network, looks } = *inside;
        let errand = Errand { command: words, folder, covers: covers.list(), network, looks };
        let entry = self.workspace.enclosure().entry(&errand);
        let entry = entry.ok_or_else(|| io::Error::other("there is no plan for them"))?;
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let environment = walls::environment(job.environment, self.workspace.root());
        let helper = Job { program: &entry.program, args: &arguments, environment: &environment, ..*job };
        process::run_kept_ahead(&helper, &entry.told, entry.beginning, &self.ahead[usize::from(looks)]).await
    }

    /// Waits until a blocked file is not the one that was hidden: whoever saves a file by renaming another over it takes the
    /// mask away with it.
    async fn disturbed(&self, covers: &Arc<Covers>, new_ones_too: bool) -> ToolFailure {
        /// Between two looks; and a look may take this part of the time, where the project is large.
        const PAUSE: Duration = Duration::from_secs(1);
        const PART: u32 = 20;
        let mut pause = PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            let (started, covers) = (Instant::now(), Arc::clone(covers));
            let looked =
                blocking(&self.workspace, move |workspace, stop| Ok(workspace.disturbed(&covers, new_ones_too, stop)));
            if let Ok(Some(name)) = looked.await {
                return unmasked(&name);
            }
            pause = PAUSE.max(started.elapsed() * PART);
        }
    }

    /// The answer to a call, once the command has ended.
    pub(super) fn output(&self, ran: Ran) -> Output {
        let Ran { outcome, notes, seconds, command } = ran;
        let row = if outcome.timed_out { self.late.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        self.late.store(row, Ordering::Relaxed);
        let failure = failure_of(&outcome, seconds, row);
        let missed = terminal::missed(&command, &outcome);
        let mut text = outcome.output;
        let left = left_running(outcome.lingered, outcome.escaped);
        let masked = masked_from_git(outcome.exit_code, &text);
        for note in left.into_iter().chain(missed).chain(masked).chain(notes.iter().map(String::as_str)) {
            noted(&mut text, note);
        }
        Output {
            truncated: outcome.truncated,
            total_bytes: outcome.total_bytes,
            exit_code: Some(outcome.exit_code),
            failure,
            ..Output::text(text)
        }
    }
}

/// What is told of a git command that met a blocked file: git looks at every file it tracks that has changed.
fn masked_from_git(status: i32, output: &str) -> Option<&'static str> {
    let end = output.trim_end().rsplit('\n').next().unwrap_or_default();
    (status != 0 && end.starts_with("fatal: cannot hash ")).then_some(
        "That file is blocked and hidden from commands, and git tracks it. Leave it out: git diff -- ':(exclude).env', with \
         its name.",
    )
}

/// The words that start a command line.
pub(super) fn shell_line(line: &str) -> Vec<OsString> {
    let shell = SHELLS.iter().copied().find(|shell| Path::new(shell).exists()).unwrap_or("bash");
    [shell, "--noprofile", "--norc", "-c", line].map(OsString::from).into()
}

/// Whether a checker may run where no walls hold it.
pub(super) fn may_run_outside(workspace: &Workspace, harmless: bool) -> bool {
    harmless && workspace.enclosure().refusal().is_none()
}

/// What is special about a command that runs inside.
struct Inside<'a> {
    words: &'a [&'a OsStr],
    folder: &'a Path,
    network: bool,
    looks: bool,
}

/// A sentence of ours on a line of its own behind the output.
pub(super) fn noted(text: &mut String, note: &str) {
    let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    text.push_str(&format!("{lead}[{note}]\n"));
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
            "At least one process it started could not be ended: it left the process group, as setsid does, still \
             holds the output and may go on running. End it by its process id if it is not wanted.",
        );
    }
    lingered.then_some("Processes it left running in the background were ended with it.")
}

fn failure_of(outcome: &Outcome, seconds: Option<u64>, late_in_a_row: u32) -> Option<ToolFailure> {
    if outcome.stopped {
        return None;
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

fn unmasked(name: &str) -> ToolFailure {
    let message = format!(
        "{name}, whose content is not for commands, changed on disk while the command ran and could not stay hidden, so the \
         command was ended. What it had done by then has stayed. Check before you run it again."
    );
    ToolFailure::new(ErrorCode::Conflict, message)
}

fn no_container(why: &str) -> ToolFailure {
    let message = format!(
        "Commands run in a container here, and there is none: {why} Nothing was run. Tell the user, who can mend it or set \
         walls.container to off."
    );
    ToolFailure::new(ErrorCode::IoError, message)
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
