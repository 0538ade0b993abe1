//! Why a command ended early, and the status that says so.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;
use toolfence::FinishReason;
use toolfence::session::StopReason;

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

/// The statuses as `--help` tells them.
pub(crate) const STATUSES: &str = "\
Exit status:
  0    done; for exec: every call succeeded
  1    something that was asked for did not succeed: a call, a turn, a line of a batch, the demo's test; or you said no
       to config trust
  2    wrong use: arguments, files, settings
  3    the backend or the machine failed
  130  interrupted by Ctrl-C
  129  the terminal went away, 143 terminated: what ran was ended first";

/// Why a command ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    message: String,
}

impl Failure {
    /// The person can mend it: what is wrong and what to do.
    pub(crate) fn wrong_use(message: impl Into<String>) -> Failure {
        Failure { status: WRONG_USE, message: message.into() }
    }

    /// The backend or the machine failed.
    pub(crate) fn broken(message: impl Display) -> Failure {
        Failure { status: BROKEN, message: message.to_string() }
    }

    /// Output could not be written. Nobody reads on: a quiet end, as with `coder ... | head`.
    pub(crate) fn output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure { status: 0, message: String::new() },
            _ => Failure::broken(format!("cannot write the output: {error}")),
        }
    }

    /// A signal ended the program.
    pub(crate) fn signalled(status: u8) -> Failure {
        Failure { status, message: "ended by a signal".into() }
    }

    /// The turn ended without doing what was asked.
    fn unsuccessful(message: impl Into<String>) -> Failure {
        Failure { status: UNSUCCESSFUL, message: message.into() }
    }

    /// Says it on stderr and gives the status.
    pub(crate) fn report(self) -> ExitCode {
        if !self.message.is_empty() {
            // Where the terminal is gone there is nobody to tell.
            let _ = writeln!(io::stderr(), "coder: {}", crate::terminal::escaped(&self.message));
        }
        ExitCode::from(self.status)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The status of a turn that ended so.
///
/// # Errors
/// Every end but an answer, with what to do.
pub(crate) fn status_of(stopped: &StopReason) -> Result<ExitCode, Failure> {
    let message = match stopped {
        StopReason::Answered => return Ok(ExitCode::SUCCESS),
        StopReason::Cancelled => return Err(Failure { status: INTERRUPTED, message: "stopped".into() }),
        StopReason::Failed(cause) => return Err(Failure::broken(cause)),
        StopReason::Empty => "the model said nothing; ask again, or in other words",
        StopReason::Unfinished(FinishReason::Length) => {
            "the answer breaks off at the length limit; raise the backend's, or ask it to go on"
        }
        StopReason::Unfinished(_) => "the answer breaks off here; ask it to go on",
        StopReason::FormatErrors => "the model could not write a readable call; a stronger model, or --lang, may help",
        StopReason::RoundLimit => "the rounds of a turn are used up; say \"go on\" to go on",
        StopReason::Loop => "the model repeats the same call; tell it another way",
        _ => "the turn ended",
    };
    Err(Failure::unsuccessful(message))
}
