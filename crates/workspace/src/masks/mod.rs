//! The paths of the project that the sandbox must mask for a command: blocked files and their hard links, sockets,
//! repositories, and files that their configuration makes git run. Also quarantines new files that git on the host
//! would run after a command.
//!
//! This module knows only the parts of git that matter to masks; the module `git` asks git itself. It runs no command
//! and sets up no sandbox: the command runner calls it before, during and after a command.

mod folders;
mod owners;
mod quarantine;
mod replaced;
mod repositories;
mod scan;
mod set;

pub use replaced::Unmasked;
pub use repositories::{Access, GitFiles};
pub use set::{MaskSet, WalkCost};

use crate::git::Git;
use crate::git::config::{Configured, Memory, plain, pointed};
use crate::root::Root;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolfence_policy::rules::git_config::is_harmless;
use toolfence_protocol::{Text, ToolFailure};

/// Finds the masks of one project for each command, and caches the configuration of its repositories.
#[derive(Debug)]
pub struct Masks {
    root: Arc<Root>,
    folders: folders::Memory,
    configurations: Memory,
}

impl Masks {
    pub(crate) fn new(root: Arc<Root>) -> Masks {
        let (folders, configurations) = (folders::Memory::default(), Memory::default());
        Masks { root, folders, configurations }
    }

    /// Finds the paths to mask for a command that has this access to repositories.
    ///
    /// # Errors
    /// The walk was stopped, or the project is too large.
    pub fn find(&self, access: Access, stop: &Stop) -> Result<MaskSet, ToolFailure> {
        scan::find(self, access, stop)
    }

    /// Returns the first entry of the project, at any depth, whose owner or group is not that of this process. Ignores
    /// the entries of `.git`.
    pub fn first_foreign(&self, stop: &Stop) -> Option<PathBuf> {
        owners::first_foreign(&self.root, stop)
    }

    /// Finds, while a command runs, a masked file that was replaced, so that the command may be able to read or write
    /// it.
    pub fn replaced(&self, before: &MaskSet) -> Option<Unmasked> {
        replaced::find(&self.root, before)
    }

    /// Renames new files that would make git run programs outside of the sandbox, after all processes of a command have
    /// ended. Returns a sentence about each.
    pub fn quarantine(&self, before: &MaskSet) -> Vec<Text> {
        quarantine::quarantine(self, before)
    }

    /// Returns the configuration that git reads in the repository of the root, or above it; `None` if there is no
    /// repository or no git.
    pub fn git_configuration(&self) -> Option<Arc<Configured>> {
        let top = self.root.path().ancestors().find(|folder| folder.join(".git").exists())?;
        let dot_git = top.join(".git");
        let git_dir = if dot_git.is_file() { pointed(&dot_git, "gitdir:")? } else { dot_git };
        self.configured(top, &[plain(&git_dir)])
    }

    /// Returns the harmless settings of the user's own git configuration that the project's repository does not set
    /// itself. Commands cannot read them, because the user's home folder is hidden.
    pub fn git_settings(&self) -> Vec<(String, String)> {
        let Some(configured) = self.git_configuration() else { return Vec::new() };
        let is_set = |key: &str| configured.local.iter().any(|(other, _)| other == key);
        let global = configured.global.iter().filter(|(key, value)| is_harmless(key, value.as_deref()) && !is_set(key));
        global.filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect()
    }

    /// Returns `true` if git on the host would run or read the file at this absolute path because of a repository in a
    /// folder above it.
    pub(crate) fn is_used_by_git(&self, path: &Path) -> bool {
        repositories::is_used_by_git(self, path)
    }

    /// Returns the host's git, if one is installed outside of the project.
    fn host_git(&self) -> Option<&Git> {
        self.root.programs().git()
    }

    /// Returns git's configuration of a repository; `None` if there is no git, or git cannot list it.
    fn configured(&self, top: &Path, dirs: &[PathBuf]) -> Option<Arc<Configured>> {
        match self.configurations.configured(self.host_git()?, top, dirs) {
            Ok(configured) => Some(configured),
            // Git would run nothing here either until a user fixes the configuration. The whole repository is read-only
            // meanwhile.
            Err(error) => {
                tracing::debug!(top = %top.display(), %error, "git did not list the configuration");
                None
            }
        }
    }

    /// Returns the relative folder of hooks that the user's own configuration sets for every repository.
    pub fn hooks_everywhere(&self) -> Option<PathBuf> {
        // Outside of a repository, git lists only the configuration of the user and the system.
        self.configured(Path::new("/"), &[])?.hooks_everywhere.clone()
    }
}
