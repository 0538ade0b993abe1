//! The API on systems without a sandbox, where nothing is set up.

use super::{Entry, Kind, Report, Request, Settings};
use crate::project::Project;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// Does nothing on this system, where no program is ever started as a helper.
pub fn enter_if_asked() {}

/// Returns `None`: a supervisor needs Linux.
pub fn supervised(_: &[&OsStr]) -> Option<Entry> {
    None
}

/// An empty list, because there is no sandbox to share paths with.
#[derive(Debug, Clone, Default)]
pub struct SharedPaths;

impl SharedPaths {
    /// Returns an empty list.
    ///
    /// # Errors
    /// None.
    pub fn open(_: &[PathBuf], _: &dyn Project) -> Result<SharedPaths, Text> {
        Ok(SharedPaths)
    }

    /// Returns `false`, because nothing is hidden.
    pub fn reveals(&self, _: &SharedPaths) -> bool {
        false
    }

    /// Returns `true`.
    pub fn is_empty(&self) -> bool {
        true
    }
}

/// The settings and the report of a system without a sandbox.
#[derive(Debug)]
pub struct Enclosure {
    settings: Settings,
    report: Report,
}

impl Enclosure {
    /// Returns an enclosure without a sandbox.
    pub fn new(settings: Settings, _: &dyn Project) -> Enclosure {
        let why = vec![text!("There is a sandbox on Linux only.")];
        Enclosure { settings, report: Report { kind: Kind::Nothing, why, helper: None, holds: false } }
    }

    /// Returns the report that there is no sandbox.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns why no command may run: the settings require a container, which this system does not support.
    pub fn refusal(&self) -> Option<Text> {
        self.settings.container.as_ref().map(|_| Text::join(self.report.why.clone(), " "))
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns `None`: a supervisor needs Linux.
    pub fn supervised(&self, _: &[&OsStr]) -> Option<Entry> {
        None
    }

    /// Returns `None`.
    pub fn entry(&self, _: &Request<'_>) -> Option<Entry> {
        None
    }

    /// Returns `true`, because nothing is hidden.
    pub fn is_visible(&self, _: &Path, _: &SharedPaths) -> bool {
        true
    }

    /// Returns `None`.
    pub fn entry_sharing(&self, _: &Request<'_>, _: &SharedPaths) -> Option<Entry> {
        None
    }
}
