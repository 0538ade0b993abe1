//! What the person leaves to commands of the repositories of a project.

use crate::messages;
use toolfence_protocol::{Error, ErrorKind, Result, close_names};
use toolfence_rules::{GIT_HOOKS, UserGlob};

/// What commands may do with the repositories of a project beyond the default, which is to read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitSettings {
    writable: Vec<UserGlob>,
    hooks: Vec<String>,
}

impl GitSettings {
    /// The default: repositories are read-only, and no hook is approved.
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
        Ok(GitSettings { writable, ..self })
    }

    /// Approves hooks of git, such as `pre-commit`, for calls that run nothing but git: whatever program a repository of the
    /// project has under that name. They run where the sandbox holds, and where each hook that stands in the repositories of
    /// the project is approved; else none runs.
    ///
    /// # Errors
    /// A name that is no hook of git.
    pub(crate) fn hooks<S: AsRef<str>>(self, names: impl IntoIterator<Item = S>) -> Result<GitSettings> {
        let named = |name: S| {
            let name = name.as_ref();
            if GIT_HOOKS.contains(&name) {
                return Ok(name.to_owned());
            }
            let close = close_names(name, GIT_HOOKS.iter().copied());
            let shown = format!("{name:?}");
            Err(Error::with_kind(
                ErrorKind::InvalidInput,
                match close.first() {
                    Some(close) => messages::no_such_hook_but_close(shown, close),
                    None => messages::no_such_hook(shown),
                },
            ))
        };
        let hooks = names.into_iter().map(named).collect::<Result<_>>()?;
        Ok(GitSettings { hooks, ..self })
    }

    /// The globs of [`GitSettings::writable`].
    pub(super) fn globs(&self) -> impl Iterator<Item = &str> {
        self.writable.iter().map(|glob| glob.shown.as_str())
    }

    /// Whether a repository at this path, relative to the root, is left to commands.
    pub(super) fn leaves_writable(&self, path: &str) -> bool {
        self.writable.iter().any(|glob| glob.covers(path))
    }

    /// Whether the person approves any hook.
    pub(super) fn approves_hooks(&self) -> bool {
        !self.hooks.is_empty()
    }

    /// Whether the person approves the hook of this name.
    pub(super) fn approves_hook(&self, name: &str) -> bool {
        self.hooks.iter().any(|approved| approved == name)
    }
}
