//! Systems without a sandbox: everything is said to be down, and nothing is set up.

use super::{Entry, Kind, Report, Request, Settings};
use crate::project::Project;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// Does nothing on this system, where no program is ever started as a helper.
pub fn enter_if_asked() {}

/// Never anything: a supervisor needs what Linux has.
pub fn supervised(_: &[&OsStr]) -> Option<Entry> {
    None
}

/// Nothing: there is no sandbox in which something could be shared.
#[derive(Debug, Clone, Default)]
pub struct Shared;

impl Shared {
    /// Nothing.
    ///
    /// # Errors
    /// None.
    pub fn of(_: &[PathBuf], _: &dyn Project) -> Result<Shared, Text> {
        Ok(Shared)
    }

    /// Nothing is hidden, so nothing is revealed.
    pub fn reveals(&self, _: &Shared) -> bool {
        false
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        true
    }
}

/// No sandbox.
#[derive(Debug)]
pub struct Enclosure {
    settings: Settings,
    report: Report,
}

impl Enclosure {
    /// Around nothing.
    pub fn new(settings: Settings, _: &dyn Project) -> Enclosure {
        let why = vec![text!("There is a sandbox on Linux only.")];
        Enclosure { settings, report: Report { kind: Kind::Nothing, why, helper: None, holds: false } }
    }

    /// That there are none.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Why no command may run: a container was asked for, and is not kept on this system.
    pub fn refusal(&self) -> Option<Text> {
        self.settings.container.as_ref().map(|_| Text::join(self.report.why.clone(), " "))
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Never anything: a supervisor needs what Linux has.
    pub fn supervised(&self, _: &[&OsStr]) -> Option<Entry> {
        None
    }

    /// Never anything.
    pub fn entry(&self, _: &Request<'_>) -> Option<Entry> {
        None
    }

    /// Nothing is hidden.
    pub fn shows(&self, _: &Path, _: &Shared) -> bool {
        true
    }

    /// Never anything.
    pub fn entry_sharing(&self, _: &Request<'_>, _: &Shared) -> Option<Entry> {
        None
    }
}
