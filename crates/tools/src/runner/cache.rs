//! A folder of the host for what checkers keep between two runs. It lives as long as the runner.
//!
//! A checker may run code of the project, so only checkers see the folder, and its content is limited after each run.

use super::CommandRunner;
use crate::blocking;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use toolfence_project::Project;
use toolfence_sandbox::isolation::{Kind, Shared};
use toolfence_toolbox::ToolError;

/// The most files in the folder, and the most bytes of each.
const MOST_FILES: usize = 64;
const MOST_BYTES: u64 = 64 << 20;

/// How many names are tried for the folder.
const MOST_NAMES: u32 = 1000;

/// The folder, and how the sandbox of a checker shares it.
#[derive(Debug)]
pub(super) struct CacheFolder {
    path: PathBuf,
    pub(super) shared: Shared,
}

impl CacheFolder {
    /// Makes a folder among the temporary files, which only this user can open; `None` if a sandbox cannot share it.
    fn create(project: &dyn Project) -> io::Result<Option<CacheFolder>> {
        let base = std::env::temp_dir().canonicalize()?;
        let process = std::process::id();
        for number in 0..MOST_NAMES {
            let path = base.join(format!("toolfence-checks-{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let shared = Shared::of(std::slice::from_ref(&path), project);
                    let folder = CacheFolder { path, shared: shared.clone().unwrap_or_default() };
                    // Dropping the folder removes it.
                    return Ok(shared.is_ok().then_some(folder));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Removes everything but files with the names that [`CommandRunner::checker_cache`] gives, or all of it if there is too much.
    pub(super) fn tidy(&self) {
        let is_kept = |entry: &fs::DirEntry| {
            let is_own = entry.file_name().to_str().is_some_and(|name| name.ends_with(".tsbuildinfo"));
            is_own && entry.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES)
        };
        let mut kept = 0;
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            kept += 1;
            if kept <= MOST_FILES && is_kept(&entry) {
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // What cannot be removed is removed with the folder, or remains as temporary files do.
            let _ = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
    }
}

impl Drop for CacheFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl CommandRunner {
    /// The file in which a checker keeps what its next run about `subject` reuses; `None` if its sandbox cannot share one.
    pub(crate) async fn checker_cache(&self, subject: &str) -> Result<Option<PathBuf>, ToolError> {
        let folder = blocking(&self.project, |project, _| {
            let report = project.enclosure().report();
            let is_shared = report.holds && report.kind != Kind::Container;
            let create = || CacheFolder::create(project.workspace.root().as_ref()).ok().flatten();
            let folder = project.cache.get_or_init(|| if is_shared { create() } else { None });
            Ok(folder.as_ref().map(|folder| folder.path.clone()))
        })
        .await?;
        let mut hasher = DefaultHasher::new();
        subject.hash(&mut hasher);
        Ok(folder.map(|folder| folder.join(format!("{:016x}.tsbuildinfo", hasher.finish()))))
    }
}
