//! Builds the result of a command that has ended, or that was not run.

use super::network::mentions_failed_lookup;
use super::{CommandRunner, refused};
use crate::run::EndedRun;
use crate::terminal;
use serde_json::{Value, json};
use std::io;
use std::sync::atomic::Ordering;
use toolfence_protocol::{ErrorCode, Output, Text, ToolFailure, text};
use toolfence_sandbox::process::Outcome;
use toolfence_workspace::overflow_file;

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct CommandOutcome {
    pub(crate) outcome: Outcome,
    /// The private copy of the project that it ran on.
    pub(crate) copy: Option<EndedRun>,
    pub(crate) notes: Vec<Text>,
    /// The overflow file of its output, if there is one.
    pub(crate) file: Option<String>,
    pub(crate) seconds: Option<u64>,
    /// The maximum time limit that it could have had.
    pub(crate) most_seconds: u64,
    /// The last argument: for a shell, the command line.
    pub(crate) command: String,
    /// Whether it could use the network.
    pub(crate) has_network: bool,
}

impl CommandOutcome {
    /// Returns `true` if the command failed without network, and its output mentions a failed name lookup.
    pub(crate) fn misses_network(&self) -> bool {
        let outcome = &self.outcome;
        let has_failed = outcome.exit_code != 0 || outcome.timed_out || outcome.signal.is_some();
        has_failed && !outcome.stopped && !self.has_network && mentions_failed_lookup(&outcome.output)
    }
}

impl CommandRunner {
    /// Returns the result of a call after the command has ended.
    pub(crate) fn output(&self, ran: CommandOutcome) -> Output {
        let offline = ran.misses_network().then(without_network);
        let CommandOutcome { outcome, notes, file, seconds, most_seconds, command, .. } = ran;
        // A command that ends in time starts the count of timeouts in a row again.
        let row = if outcome.timed_out { self.late.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        self.late.store(row, Ordering::Relaxed);
        let memory = self.enclosure().settings().memory;
        let failure = failure_of(&outcome, (seconds, most_seconds), row, memory);
        let missed = terminal::missing_input_note(&command, &outcome);
        let left = left_running(outcome.lingered, outcome.escaped);
        let masked = refused::masked_from_git(outcome.exit_code, &outcome.output);
        let mut text = Text::from(outcome.output);
        for note in left.into_iter().chain(missed).chain(masked).chain(offline).chain(notes) {
            add_note(&mut text, note);
        }
        let mut output = Output::text(text);
        output.truncated = outcome.truncated;
        output.total_bytes = outcome.total_bytes;
        output.exit_code = Some(outcome.exit_code);
        output.failure = failure;
        output.data = file.as_deref().map(|name| in_file(name, outcome.total_lines));
        output
    }
}

/// Returns the data for a host about output in an overflow file: its name, and the number of lines.
pub(crate) fn in_file(name: &str, lines: u64) -> Value {
    json!({"output_id": overflow_file::id(name), "output_lines": lines})
}

/// Adds a note on a line of its own after the output.
pub fn add_note(text: &mut Text, note: impl Into<Text>) {
    let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    text.push(lead);
    text.push("[");
    text.push(note);
    text.push("]\n");
}

/// Returns the note about the overflow file. A job is polled repeatedly, so its file has only the output since the last
/// poll that could show everything.
pub(crate) fn spilled(name: &str, all: bool, of_job: bool) -> Text {
    match (of_job, all) {
        (false, true) => text!("All of the output is in {name}: read_file and search can look into it.", name),
        (false, false) => {
            text!("The first part of the output is in {name}: read_file and search can look into it.", name)
        }
        (true, true) => text!(
            "All output since it became too much to show is in {name}: read_file and search can look into it.",
            name
        ),
        (true, false) => text!(
            "The first 64 MiB of output since it became too much to show is in {name}: read_file and search can look \
             into it.",
            name
        ),
    }
}

/// Returns the note for a command that may have failed because it had no network. It does not state the reason of the
/// failure, because a command can print the message of a failed lookup for another one.
fn without_network() -> Text {
    text!(
        "The command ran without network. If it needs the network, run it with bash and \"network\": true; the user \
         may be asked."
    )
}

/// Messages that programs print for `EXDEV`.
const OTHER_DEVICE: &[&str] = &[
    "nvalid cross-device link",
    "cross-device link not permitted",
    "Link entre dispositivos inválido",
    "[Errno 18]",
    "os error 18",
];

/// The end of git's message if `git clone` of a local path has created a hard link that is another file: an overlay in
/// a user namespace copies the file instead.
const OTHER_FILE: &str = "hardlink different from source";

/// Returns the advice for a command on a private copy that failed because of a limit of overlays, judged by its output.
pub(crate) fn advice_on_copy(outcome: &Outcome) -> Option<Text> {
    let mentions = |message: &&str| memchr::memmem::find(outcome.output.as_bytes(), message.as_bytes()).is_some();
    if outcome.exit_code == 0 {
        return None;
    }
    // An overlay in a user namespace cannot redirect a renamed folder of the project, so the kernel returns `EXDEV`.
    if OTHER_DEVICE.iter().any(mentions) {
        return Some(text!(
            "On the private copy of the project, a folder cannot be renamed in one step. Use `mv`, which copies it; \
             `git mv` takes the names of the files in it."
        ));
    }
    mentions(&OTHER_FILE).then(|| {
        text!(
            "On the private copy of the project, `git clone` cannot link to the files of a local repository. Use `git \
             clone --no-hardlinks`."
        )
    })
}

fn left_running(lingered: bool, escaped: bool) -> Option<Text> {
    if escaped {
        return Some(text!(
            "At least one process it started may still be running: it could not be ended, or its supervisor was ended \
             first. End it by its process id if you do not need it."
        ));
    }
    lingered.then(|| text!("Processes it left running in the background were ended with it."))
}

fn failure_of(
    outcome: &Outcome,
    (seconds, most): (Option<u64>, u64),
    late_in_a_row: u32,
    memory: u64,
) -> Option<ToolFailure> {
    // The caller asked the command to stop, so its end is not a failure.
    if outcome.stopped {
        return None;
    }
    if outcome.memory_exceeded {
        return Some(ToolFailure::new(
            ErrorCode::ExitStatus,
            text!(
                "The command was ended: it used more than {most} MiB of memory, with all it had started. Do it in \
                 smaller pieces or with fewer processes at a time; the user can change the limit with the setting \
                 sandbox.memory.",
                most = memory >> 20
            ),
        ));
    }
    if outcome.timed_out {
        return Some(ToolFailure::new(
            ErrorCode::Timeout,
            timeout_failure(seconds.unwrap_or_default(), most, late_in_a_row),
        ));
    }
    let message = match (outcome.signal, outcome.exit_code) {
        (Some(signal), code) => {
            text!("The command was ended by signal {signal} (status {status}).", signal, status = code)
        }
        (None, 0) => return None,
        (None, code) => text!("The command ended with status {status}.", status = code),
    };
    Some(ToolFailure::new(ErrorCode::ExitStatus, message))
}

fn timeout_failure(seconds: u64, most: u64, in_a_row: u32) -> Text {
    /// The number of timeouts in a row from which the note advises against another try.
    const MANY: u32 = 3;
    let message = text!(
        "The command did not end within {seconds} s and was ended. Give a longer timeout ({most} at most), or do it in \
         smaller steps.",
        seconds,
        most
    );
    if in_a_row < MANY {
        message
    } else {
        message.then(text!(
            "This is number {times} in a row. Do not try the same again: find out first what it waits for, or run it \
             with background: true and poll it.",
            times = in_a_row
        ))
    }
}

pub(crate) fn no_container(why: Text) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::IoError,
        text!(
            "Commands run in a container here, which is missing: {why} Nothing was run. Tell the user, who can repair \
             it or set sandbox.container to off.",
            why
        ),
    )
}

pub(crate) fn not_started(error: &io::Error) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::IoError,
        text!("The command could not be run, or not to its end: {error}.", error = Text::from(error)),
    )
}
