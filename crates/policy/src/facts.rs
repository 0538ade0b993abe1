//! What the policy must know of the world, and asks the host.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use toolfence_protocol::{ToolCall, ToolFailure};

/// The host's knowledge of the world. Every answer may be "unknown"; then a person is asked.
pub trait Facts: Send + Sync {
    /// What `path` names. It is as written: relative to `cwd` (itself relative to the root; "" is the root), or absolute.
    fn path(&self, cwd: &str, path: &str) -> PathFact;

    /// Whether something is at `path`, as in [`Facts::path`] from the root; nothing where the host cannot tell.
    fn is_there(&self, path: &str) -> Option<bool> {
        let _ = path;
        None
    }

    /// The link inside the root that `path`, as in [`Facts::path`] from the root, goes by: the one by which it leaves the
    /// root, or else the last one on its way. Relative to the root; nothing where there is none or the host cannot tell.
    fn link(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }

    /// Paths below the root that may be what is meant by `path`, which leads out of it.
    fn instead(&self, path: &str) -> Vec<String> {
        let _ = path;
        Vec::new()
    }

    /// What `program`, a name without a slash, resolves to.
    fn program(&self, program: &str) -> ProgramFact;

    /// Returns `true` if the repository that git would find in `cwd`, a folder as in [`Facts::path`], lies in the project and names no
    /// program that git would run.
    fn is_plain_repository(&self, cwd: &str) -> bool {
        let _ = cwd;
        false
    }

    /// Whether git on this machine would run or read what is at `path`, as in [`Facts::path`] from the root, because the
    /// configuration of a repository or a link in it leads there: a hook, an included file, a program.
    #[doc(hidden)]
    fn is_used_by_git(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// What is at `path`, links followed; `cwd` and `path` as in [`Facts::path`]. Asked where a name alone does not tell
    /// whether it is one of a secret.
    #[doc(hidden)]
    fn seen(&self, cwd: &str, path: &str) -> Seen {
        let _ = (cwd, path);
        Seen::Unknown
    }

    /// Plans a call that the user would be asked about, under the canonical names of tool and arguments. Returns the diff of what it
    /// would change, if it changes files and their texts can be compared.
    ///
    /// # Errors
    /// The failure that the call is certain to have: its file does not exist, or the passage to replace does not occur. Such a
    /// call is answered without a question.
    fn plan(&self, call: &ToolCall) -> Result<Option<String>, ToolFailure> {
        let _ = call;
        Ok(None)
    }

    /// What was written to a job so far, or the end of it. A job may be a shell, and a command may come in several pieces.
    fn written_to(&self, job: &str) -> String {
        let _ = job;
        String::new()
    }

    /// Whether a sandbox would be around a command that fully holds: files, processes and network.
    fn sandbox_holds(&self) -> bool;

    /// Returns `true` if commands run on a private copy of the project: what one changes reaches the project only after the rules or
    /// the user have accepted it.
    fn has_private_copy(&self) -> bool {
        false
    }

    /// Returns `true` if commands see the project itself and cannot change it, except for build folders, unless their call asks for
    /// [`Write`](toolfence_protocol::Request::Write).
    fn is_project_read_only(&self) -> bool {
        false
    }
}

/// Asks a host about each path once: several rules look at the same path, and one call gets one answer about it.
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

    fn seen(&self, cwd: &str, path: &str) -> Seen {
        self.host.seen(cwd, path)
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

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seen {
    /// Nothing, or nothing in the project.
    Missing,
    /// A folder.
    Folder,
    /// A file in PEM that holds certificates or public keys and nothing else.
    Certificates,
    /// Another file.
    File,
    /// The host cannot tell.
    Unknown,
}

/// What a path names, links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFact {
    /// Inside the root. What does not exist yet counts as where it would be made.
    Inside {
        /// The real path relative to the root ("" is the root itself) first, then every other spelling the block rules
        /// must be tried on: its case-folded NFKC form, the blocked file it is a hard link of.
        names: Vec<String>,
    },
    /// Outside the root.
    Outside,
    /// The host cannot tell.
    Unknown,
}

/// What a program's name resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramFact {
    /// A program of the system, through a fixed PATH.
    System,
    /// A program inside the project: its author may be the model.
    Project,
    /// No such program.
    Missing,
    /// The host cannot tell.
    Unknown,
}

/// A host that knows nothing: every fact is unknown.
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
