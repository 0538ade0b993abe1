//! What of the project the sandbox must mask for a command: blocked files and their other names, sockets, repositories and
//! what their configuration makes git run. And what a command has left that git on the host would run.
//!
//! This module knows git where it matters to masks; what git itself says is asked of the crate `toolfence-git`. It starts no
//! command and raises no sandbox: the command runner asks it before, while and after a command runs.

mod folders;
mod owners;
mod replaced;
mod repositories;
mod scan;
mod set;
mod settle;

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

/// What the sandbox must mask of one project, found anew for each command, and what is known of its repositories.
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

    /// Finds what has to be masked around a command that has this access to repositories.
    ///
    /// # Errors
    /// The walk was stopped, or there is too much to be sure of.
    pub fn find(&self, access: Access, stop: &Stop) -> Result<MaskSet, ToolFailure> {
        scan::find(self, access, stop)
    }

    /// The first entry of the project whose owner or group is not that of this process, at any depth; what is in `.git` does not count.
    pub fn first_foreign(&self, stop: &Stop) -> Option<PathBuf> {
        owners::first_foreign(&self.root, stop)
    }

    /// While a command runs: a file that was masked and is another one now, so that the command may be able to read or write
    /// it.
    pub fn replaced(&self, before: &MaskSet) -> Option<Unmasked> {
        replaced::find(&self.root, before)
    }

    /// After all processes of a command have ended: takes away what appeared meanwhile and would make git run something
    /// outside the sandbox. Answers with what was done, in sentences.
    pub fn settle(&self, before: &MaskSet) -> Vec<Text> {
        settle::settle(self, before)
    }

    /// The configuration that git reads in the repository of the root, or above it; `None` where there is no repository or no
    /// git.
    pub fn git_configuration(&self) -> Option<Arc<Configured>> {
        let top = self.root.path().ancestors().find(|folder| folder.join(".git").exists())?;
        let dot_git = top.join(".git");
        let git_dir = if dot_git.is_file() { pointed(&dot_git, "gitdir:")? } else { dot_git };
        self.configured(top, &[plain(&git_dir)])
    }

    /// The settings of the user's own configuration of git that are harmless and that the project's repository does not set itself. The
    /// home, where the configuration is, is hidden from commands.
    pub fn git_settings(&self) -> Vec<(String, String)> {
        let Some(configured) = self.git_configuration() else { return Vec::new() };
        let is_set = |key: &str| configured.local.iter().any(|(other, _)| other == key);
        let global = configured.global.iter().filter(|(key, value)| is_harmless(key, value.as_deref()) && !is_set(key));
        global.filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect()
    }

    /// Whether git on the host would run or read what is at this absolute path, because of a repository in a folder above it.
    pub(crate) fn is_used_by_git(&self, path: &Path) -> bool {
        repositories::is_used_by_git(self, path)
    }

    /// The host's git, if one is installed outside of the project.
    fn host_git(&self) -> Option<&Git> {
        self.root.programs().git()
    }

    /// What git says of the configuration of a repository; `None` where there is no git, or git cannot list it.
    fn configured(&self, top: &Path, dirs: &[PathBuf]) -> Option<Arc<Configured>> {
        match self.configurations.configured(self.host_git()?, top, dirs) {
            Ok(configured) => Some(configured),
            // Git would not run anything here either, until a person mends it: the whole of it is read-only meanwhile.
            Err(error) => {
                tracing::debug!(top = %top.display(), %error, "git did not list the configuration");
                None
            }
        }
    }

    /// A relative folder of hooks that the person's own configuration names for every repository.
    pub fn hooks_everywhere(&self) -> Option<PathBuf> {
        // Where there is no repository, git lists the person's and the system's configuration alone.
        self.configured(Path::new("/"), &[])?.hooks_everywhere.clone()
    }
}
