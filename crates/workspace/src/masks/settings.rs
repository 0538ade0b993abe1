//! What the person leaves to commands of the repositories of a project.

use toolfence_policy::rules::UserGlob;
use toolfence_protocol::Result;

/// What commands may do with the repositories of a project beyond the default, which is to read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitSettings {
    writable: Vec<UserGlob>,
}

impl GitSettings {
    /// The default: repositories are read-only.
    pub(crate) fn new() -> GitSettings {
        GitSettings::default()
    }

    /// Lets commands write the repositories that these path globs name, or that stand below what they name: `target/**` for
    /// those that tests make there. What a command leaves in them, git on the host may run.
    ///
    /// # Errors
    /// A path glob that cannot be read.
    pub(crate) fn writable<S: AsRef<str>>(self, globs: impl IntoIterator<Item = S>) -> Result<GitSettings> {
        let writable = globs.into_iter().map(|glob| UserGlob::new(glob.as_ref())).collect::<Result<_>>()?;
        Ok(GitSettings { writable })
    }

    /// The globs of [`GitSettings::writable`].
    pub(super) fn globs(&self) -> impl Iterator<Item = &str> {
        self.writable.iter().map(|glob| glob.shown.as_str())
    }

    /// Whether a repository at this path, relative to the root, is left to commands.
    pub(super) fn leaves_writable(&self, path: &str) -> bool {
        self.writable.iter().any(|glob| glob.covers(path))
    }
}
