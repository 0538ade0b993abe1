//! The changes that the next commit would make, as text, without the contents of blocked files.
//!
//! A staged file need not be on the disk, so only its name is judged, not its content.

use crate::git::Git;
use crate::git::diff::{self, ChangedName};
use crate::{Workspace, names};
use std::ffi::OsStr;
use std::path::Path;
use toolfence_protocol::{Error, ErrorKind, Result, text};

/// The maximum size of all diffs in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// The maximum number of blocked files that are left out of the diffs. Each is an argument of git.
const MOST_BLOCKED: usize = 1000;

/// The maximum number of subjects that are read.
const MOST_SUBJECTS: usize = 10;

/// The changes that the next commit would make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextCommit {
    /// The changed files, in the order of their names.
    pub files: Vec<CommittedFile>,
    /// The diffs of the files that are not blocked, each from its line `diff --git`.
    pub diffs: Vec<String>,
    /// Whether there are more diffs than the 4 MiB that were read.
    pub is_cut: bool,
    /// The subjects of the last ten commits, the newest first.
    pub subjects: Vec<String>,
}

/// A file that the next commit would change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedFile {
    /// The letter of `git diff --name-status`, such as `M` or `A`.
    pub status: char,
    /// The path of the file below the top of the repository.
    pub name: String,
    /// The path of the file before the commit, if it is renamed or copied.
    pub old_name: Option<String>,
    /// Whether the path rules block it, so that its content is in none of the diffs.
    pub is_blocked: bool,
}

impl Workspace {
    /// Reads the changes that the next commit in the repository around the root would make: the staged ones, or, with
    /// `all`, the changes of all tracked files like `git commit -a`. Returns `None` if the root is not in a working
    /// tree.
    ///
    /// # Errors
    /// Git is not installed, or it failed.
    #[doc(hidden)]
    pub fn next_commit(&self, all: bool) -> Result<Option<NextCommit>> {
        let git = self.git()?;
        let failed = |error| Error::because(text!("read the changes of the repository"), error);
        let Some(next) = diff::NextCommit::find(git, self.root_path(), all).map_err(failed)? else { return Ok(None) };
        let names = next.names().map_err(failed)?;
        let files: Vec<CommittedFile> = names.iter().map(|changed| self.committed_file(changed)).collect();
        let blocked = names.iter().zip(&files).filter(|(_, file)| file.is_blocked);
        // A renamed file has the content of its old name, which may be blocked. Without the old name, git reports a new
        // file.
        let without = blocked.flat_map(|(changed, _)| [Some(&changed.name), changed.old_name.as_ref()]).flatten();
        let without: Vec<&OsStr> = without.map(AsRef::as_ref).collect();
        let (diffs, is_cut) = if names.is_empty() {
            (Vec::new(), false)
        } else if without.len() > MOST_BLOCKED {
            (Vec::new(), true)
        } else {
            next.diffs(&without, MOST_BYTES).map_err(failed)?
        };
        Ok(Some(NextCommit {
            files,
            diffs: diffs.iter().map(|diff| String::from_utf8_lossy(diff).into_owned()).collect(),
            is_cut,
            subjects: next.subjects(MOST_SUBJECTS).map_err(failed)?,
        }))
    }

    /// Returns the path of the host's git.
    ///
    /// # Errors
    /// Git is not installed outside of the project.
    #[doc(hidden)]
    pub fn git_program(&self) -> Result<&Path> {
        self.git().map(Git::program)
    }

    fn git(&self) -> Result<&Git> {
        let git = self.root().programs().git();
        git.ok_or_else(|| Error::with_kind(ErrorKind::NotFound, text!("git is not installed")))
    }

    fn committed_file(&self, changed: &ChangedName) -> CommittedFile {
        let rules = self.root().rules();
        let is_blocked = |name: &OsStr| {
            names::spellings(&name.to_string_lossy()).iter().any(|spelling| rules.blocks(spelling).is_some())
        };
        CommittedFile {
            status: changed.status,
            name: names::display(Path::new(&changed.name)),
            old_name: changed.old_name.as_ref().map(|name| names::display(Path::new(name))),
            is_blocked: is_blocked(&changed.name) || changed.old_name.as_deref().is_some_and(is_blocked),
        }
    }
}
