//! Errors that end a command, and its exit status.

use crate::shown::Words;
use crate::status;
use std::io;
use std::process::ExitCode;
use toolfence_protocol::{FinishReason, Text, text};
use toolfence_session::StopReason;

/// The request was not fulfilled.
pub(crate) const UNSUCCESSFUL: u8 = 1;
/// The command line, a file or a setting is invalid.
pub(crate) const WRONG_USE: u8 = 2;
/// The backend or the machine failed.
pub(crate) const BROKEN: u8 = 3;
/// The user pressed Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// The exit status that shells use for SIGTERM.
pub(crate) const TERMINATED: u8 = 143;
/// The exit status that shells use for SIGHUP: the terminal is gone.
pub(crate) const HUNG_UP: u8 = 129;

/// The reason why a command ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: Text,
}

impl Failure {
    /// Returns a failure that the user can fix. The message describes the problem and the fix.
    pub(crate) fn wrong_use(message: impl Into<Text>) -> Failure {
        Failure { status: WRONG_USE, message: message.into() }
    }

    /// Returns a failure of the backend or the machine.
    pub(crate) fn broken(message: impl Into<Text>) -> Failure {
        Failure { status: BROKEN, message: message.into() }
    }

    /// Returns a failure for an output error. If the reader has closed the pipe, as in `coder ... | head`, the program
    /// ends without a message and with status 0.
    pub(crate) fn output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure { status: 0, message: Text::default() },
            _ => Failure::broken(text!("cannot write the output: {error}", error = Text::from(&error))),
        }
    }

    /// Returns the failure of a program that a signal ended.
    pub(crate) fn signalled(status: u8) -> Failure {
        Failure { status, message: text!("ended by a signal") }
    }

    /// Returns a failure that another process has already reported.
    pub(crate) fn reported(status: u8) -> Failure {
        Failure { status, message: Text::default() }
    }

    /// Returns `true` if a signal ended the program.
    pub(crate) fn is_by_signal(&self) -> bool {
        [INTERRUPTED, TERMINATED, HUNG_UP].contains(&self.status)
    }

    /// Returns the failure of a turn that did not fulfil the request.
    pub(crate) fn unsuccessful(message: Text) -> Failure {
        Failure { status: UNSUCCESSFUL, message }
    }

    /// Prints the message on standard error and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        if !self.message.is_empty() {
            status::say(&format!("coder: {}", self.message.words()));
        }
        ExitCode::from(self.status)
    }

    /// Returns the message, for a program that continues.
    pub(crate) fn message(&self) -> &Text {
        &self.message
    }
}

/// Returns the exit status of a turn that ended for this reason.
///
/// # Errors
/// The turn ended without an answer. The message explains what to do.
pub(crate) fn status_of(stopped: &StopReason) -> Result<ExitCode, Failure> {
    let message = match stopped {
        StopReason::Answered => return Ok(ExitCode::SUCCESS),
        StopReason::Cancelled => return Err(Failure { status: INTERRUPTED, message: text!("stopped") }),
        StopReason::Failed(cause) => return Err(Failure::broken(cause.clone())),
        StopReason::Empty => text!("the model's reply is empty; ask again, or in other words"),
        StopReason::Unfinished(FinishReason::Length) => {
            text!("the answer reached the length limit; raise the backend's limit, or ask the model to continue")
        }
        StopReason::Unfinished(_) => text!("the answer ended early; ask the model to continue"),
        StopReason::FormatErrors => {
            text!("the model could not write a readable call; a stronger model, or --lang, may help")
        }
        StopReason::RoundLimit => text!("the turn reached its limit of rounds; write \"continue\" to continue"),
        StopReason::Loop => text!("the model repeats itself; ask in other words"),
        _ => text!("the turn ended"),
    };
    Err(Failure::unsuccessful(message))
}
