//! Which wall could not be raised, and why, on one line.

use std::io;
use std::path::Path;

/// What the helper tells the host instead of how the command ended.
#[derive(Debug)]
pub(super) struct Trouble {
    wall: &'static str,
    at: Option<String>,
    cause: io::Error,
}

impl Trouble {
    pub(super) fn new(wall: &'static str, cause: io::Error) -> Trouble {
        Trouble { wall, at: None, cause }
    }

    pub(super) fn at(wall: &'static str, at: &Path, cause: io::Error) -> Trouble {
        Trouble { wall, at: Some(at.display().to_string()), cause }
    }

    /// `changed` where the host has to look at the project again, else `failed`, and the sentence.
    pub(super) fn line(&self) -> String {
        let word = if self.cause.kind() == io::ErrorKind::StaleNetworkFileHandle { "changed" } else { "failed" };
        let at = self.at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        let sentence = format!("{}{at}: {}", self.wall, self.cause);
        let plain: String = sentence.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{word} {plain}\n")
    }
}
