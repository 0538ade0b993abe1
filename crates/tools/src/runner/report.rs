//! What is told of a command that has ended, or that was not run.

use super::{CommandRunner, refused};
use crate::terminal;
use std::io;
use std::sync::atomic::Ordering;
use toolfence_protocol::{ErrorCode, Output, Text, ToolFailure};
use toolfence_sandbox::process::Outcome;
use toolfence_toolset::MOST_COMMAND_SECONDS;

/// What came of it.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(super) notes: Vec<Text>,
    pub(super) seconds: Option<u64>,
    /// The last of its words: to a shell, the command line.
    pub(super) command: String,
}

impl CommandRunner {
    /// The answer to a call, once the command has ended.
    pub(crate) fn output(&self, ran: Ran) -> Output {
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

/// A sentence of ours on a line of its own behind the output.
pub(crate) fn noted(text: &mut Text, note: impl Into<Text>) {
    let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    text.push(lead);
    text.push("[");
    text.push(note);
    text.push("]\n");
}

/// Of a job, which is looked at again and again, the file has what came since the last look that showed all.
pub(crate) fn spilled(name: &str, all: bool, of_job: bool) -> String {
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
    let more = format!("Give a longer timeout ({MOST_COMMAND_SECONDS} at most), or do it in smaller steps.");
    let message = format!("The command did not end within {seconds} s and was ended. {more}");
    if in_a_row < MANY {
        return message;
    }
    format!(
        "{message} This is number {in_a_row} in a row. Do not try the same again: find out first what it waits for, or run \
         it with background: true and poll it."
    )
}

pub(super) fn no_container(why: &str) -> ToolFailure {
    let message = format!(
        "Commands run in a container here, and there is none: {why} Nothing was run. Tell the user, who can mend it or set \
         sandbox.container to off."
    );
    ToolFailure::new(ErrorCode::IoError, message)
}

pub(super) fn not_started(error: &io::Error) -> ToolFailure {
    ToolFailure::new(ErrorCode::IoError, format!("The command could not be run, or not to its end: {error}."))
}
