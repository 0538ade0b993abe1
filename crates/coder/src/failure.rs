//! Why a command ended early, and the status that says so.

use crate::shown::Words;
use crate::status;
use std::io;
use std::process::ExitCode;
use toolfence_protocol::{FinishReason, Text, text};
use toolfence_session::StopReason;

/// Something that was asked for did not succeed.
pub(crate) const UNSUCCESSFUL: u8 = 1;
/// The command line, a file or a setting was wrong.
pub(crate) const WRONG_USE: u8 = 2;
/// The backend or the machine failed.
pub(crate) const BROKEN: u8 = 3;
/// Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// SIGTERM, as a shell tells it.
pub(crate) const TERMINATED: u8 = 143;
/// SIGHUP: the terminal is gone.
pub(crate) const HUNG_UP: u8 = 129;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: Text,
}

impl Failure {
    /// A failure that the user can fix. The message describes the problem and the fix.
    pub(crate) fn wrong_use(message: impl Into<Text>) -> Failure {
        Failure { status: WRONG_USE, message: message.into() }
    }

    /// The backend or the machine failed.
    pub(crate) fn broken(message: impl Into<Text>) -> Failure {
        Failure { status: BROKEN, message: message.into() }
    }

    /// Output could not be written because its reader has closed it: the program ends quietly, as with `coder ... |
    /// head`.
    pub(crate) fn output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure { status: 0, message: Text::default() },
            _ => Failure::broken(text!("cannot write the output: {error}", error = Text::from(&error))),
        }
    }

    /// A signal ended the program.
    pub(crate) fn signalled(status: u8) -> Failure {
        Failure { status, message: text!("ended by a signal") }
    }

    /// Another process has reported the failure already.
    pub(crate) fn reported(status: u8) -> Failure {
        Failure { status, message: Text::default() }
    }

    /// Whether a signal ended the program.
    pub(crate) fn is_by_signal(&self) -> bool {
        [INTERRUPTED, TERMINATED, HUNG_UP].contains(&self.status)
    }

    /// The turn ended without doing what was asked.
    pub(crate) fn unsuccessful(message: Text) -> Failure {
        Failure { status: UNSUCCESSFUL, message }
    }

    /// Says it on stderr and gives the status.
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

/// The status of a turn that ended so.
///
/// # Errors
/// Every end but an answer, with what to do.
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
