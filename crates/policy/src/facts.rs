//! The questions of the policy about the system, which the host answers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use toolfence_protocol::{ToolCall, ToolFailure};

/// The host's answers about files and programs. Every answer may be "unknown"; then the user is asked.
pub trait Facts: Send + Sync {
    /// Returns what `path` names. The path is absolute, or relative to `cwd`, which is relative to the root (`""` is
    /// the root).
    fn path(&self, cwd: &str, path: &str) -> PathFact;

    /// Returns whether `path`, as in [`Facts::path`] from the root, exists; `None` if that is unknown.
    fn is_there(&self, path: &str) -> Option<bool> {
        let _ = path;
        None
    }

    /// Returns the link inside the root through which `path`, as in [`Facts::path`] from the root, leads: the one by
    /// which it leaves the root, or else the last one. It is relative to the root; `None` if there is no link or that
    /// is unknown.
    fn link(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }

    /// Returns the paths below the root that may be meant by a `path` that leads out of it.
    fn instead(&self, path: &str) -> Vec<String> {
        let _ = path;
        Vec::new()
    }

    /// Returns what `program`, a name without a slash, resolves to.
    fn program(&self, program: &str) -> ProgramFact;

    /// Returns `true` if the repository that git would find in `cwd`, a folder as in [`Facts::path`], lies in the
    /// project and names no program that git would run.
    fn is_plain_repository(&self, cwd: &str) -> bool {
        let _ = cwd;
        false
    }

    /// Returns whether git on this machine would run or read the file at `path`, as in [`Facts::path`] from the root,
    /// because the configuration of a repository or a link in it leads there: a hook, an included file, a program.
    #[doc(hidden)]
    fn is_used_by_git(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// Returns the kind of file at `path`, with links followed; `cwd` and `path` are as in [`Facts::path`]. The policy
    /// asks this if the name alone does not show whether the file is a secret.
    #[doc(hidden)]
    fn entry_kind(&self, cwd: &str, path: &str) -> EntryKind {
        let _ = (cwd, path);
        EntryKind::Unknown
    }

    /// Plans a call before the user is asked about it. The call has the taught names of tool and arguments. Returns the
    /// diff of its changes, if it changes files and their texts can be compared.
    ///
    /// # Errors
    /// Returns a failure that the call is certain to have: its file does not exist, or the passage to replace does not
    /// occur. Such a call is answered without a question.
    fn plan(&self, call: &ToolCall) -> Result<Option<String>, ToolFailure> {
        let _ = call;
        Ok(None)
    }

    /// Returns the text written to a job so far, or its end. A job may be a shell, and a command may be written in
    /// several pieces.
    fn written_to(&self, job: &str) -> String {
        let _ = job;
        String::new()
    }

    /// Returns whether commands would run in a sandbox that confines files, processes and network.
    fn sandbox_holds(&self) -> bool;

    /// Returns `true` if commands run on a private copy of the project: changes reach the project only after the rules
    /// or the user have accepted them.
    fn has_private_copy(&self) -> bool {
        false
    }

    /// Returns `true` if commands see the project itself and cannot change it, except for build folders, unless their
    /// call asks for [`Write`](toolfence_protocol::Request::Write).
    fn is_project_read_only(&self) -> bool {
        false
    }
}

/// Asks a host about each path once: several rules look at the same path, and their answers must agree.
pub(crate) struct AskedOnce<'f> {
    host: &'f dyn Facts,
    paths: Mutex<HashMap<(String, String), PathFact>>,
}

impl<'f> AskedOnce<'f> {
    pub(crate) fn new(host: &'f dyn Facts) -> AskedOnce<'f> {
        AskedOnce { host, paths: Mutex::default() }
    }
}

impl Facts for AskedOnce<'_> {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.entry((cwd.to_owned(), path.to_owned())).or_insert_with(|| self.host.path(cwd, path)).clone()
    }

    fn is_there(&self, path: &str) -> Option<bool> {
        self.host.is_there(path)
    }

    fn link(&self, path: &str) -> Option<String> {
        self.host.link(path)
    }

    fn instead(&self, path: &str) -> Vec<String> {
        self.host.instead(path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        self.host.program(program)
    }

    fn is_plain_repository(&self, cwd: &str) -> bool {
        self.host.is_plain_repository(cwd)
    }

    fn is_used_by_git(&self, path: &str) -> bool {
        self.host.is_used_by_git(path)
    }

    fn entry_kind(&self, cwd: &str, path: &str) -> EntryKind {
        self.host.entry_kind(cwd, path)
    }

    fn plan(&self, call: &ToolCall) -> Result<Option<String>, ToolFailure> {
        self.host.plan(call)
    }

    fn sandbox_holds(&self) -> bool {
        self.host.sandbox_holds()
    }

    fn written_to(&self, job: &str) -> String {
        self.host.written_to(job)
    }

    fn has_private_copy(&self) -> bool {
        self.host.has_private_copy()
    }

    fn is_project_read_only(&self) -> bool {
        self.host.is_project_read_only()
    }
}

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// No file, or no file in the project.
    Missing,
    /// A folder.
    Folder,
    /// A PEM file with nothing but certificates or public keys.
    Certificates,
    /// Another file.
    File,
    /// Unknown to the host.
    Unknown,
}

/// Where a path leads, with links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFact {
    /// Inside the root. A file that does not exist yet counts as where it would be created.
    Inside {
        /// The real path relative to the root (`""` is the root itself) first, then every other name to check against
        /// the block rules: its case-folded NFKC form, and the blocked file of which it is a hard link.
        names: Vec<String>,
    },
    /// Outside the root.
    Outside,
    /// Unknown to the host.
    Unknown,
}

/// What a program's name resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramFact {
    /// A program of the system, through a fixed PATH.
    System,
    /// A program inside the project, which the model may have written.
    Project,
    /// No such program.
    Missing,
    /// Unknown to the host.
    Unknown,
}

/// A host without knowledge: every fact is unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFacts;

impl Facts for NoFacts {
    fn path(&self, _: &str, _: &str) -> PathFact {
        PathFact::Unknown
    }

    fn program(&self, _: &str) -> ProgramFact {
        ProgramFact::Unknown
    }

    fn sandbox_holds(&self) -> bool {
        false
    }
}
