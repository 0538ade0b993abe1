//! Answers the policy's questions about files and programs by the same resolution that opens files.

mod repository;

use crate::root::resolve::{Last, ResolveError, Spot};
use crate::root::twins::Twins;
use crate::root::{Root, path_arg, path_log};
use crate::{Workspace, names};
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use toolfence_policy::{EntryKind, Facts, PathFact, ProgramFact};

impl Facts for Workspace {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        let fact = fact_of(self.root(), cwd, path);
        path_log::log_decision(self.root(), cwd, path, &fact);
        fact
    }

    fn is_there(&self, path: &str) -> Option<bool> {
        let relative = path_arg::relative(path, &self.root().spellings()).ok()?;
        let spot = self.root().follow(&relative).ok()?;
        Some(!matches!(spot.last, Last::Missing(_)))
    }

    fn link(&self, path: &str) -> Option<String> {
        let relative = path_arg::relative(path, &self.root().spellings()).ok()?;
        self.root().link_of(&relative)
    }

    fn instead(&self, path: &str) -> Vec<String> {
        self.root().with_relative_spelling(path_arg::outside_error(path), path).suggestions
    }

    fn program(&self, program: &str) -> ProgramFact {
        if program.is_empty() || program.contains(['/', '\0']) {
            return ProgramFact::Unknown;
        }
        let Some(found) = self.root().programs().find(program) else { return ProgramFact::Missing };
        // A program in the PATH can be a link into the project.
        match found.canonicalize() {
            Ok(real) if real.starts_with(self.root().path()) => ProgramFact::Project,
            Ok(_) => ProgramFact::System,
            Err(_) => ProgramFact::Unknown,
        }
    }

    fn is_plain_repository(&self, cwd: &str) -> bool {
        let is_plain = repository::is_plain(self.root(), cwd);
        tracing::debug!(cwd, is_plain, "repository judged");
        is_plain
    }

    fn is_used_by_git(&self, path: &str) -> bool {
        let Ok(relative) = path_arg::relative(path, &self.root().spellings()) else { return false };
        self.masks().is_used_by_git(&self.root().path().join(relative))
    }

    fn entry_kind(&self, cwd: &str, path: &str) -> EntryKind {
        let joined = join_cwd(cwd, path);
        let Ok(relative) = path_arg::relative(&joined, &self.root().spellings()) else {
            return if joined.starts_with(['/', '~']) { EntryKind::Missing } else { EntryKind::Unknown };
        };
        match self.root().open_relative(&relative) {
            Err(ResolveError::Outside | ResolveError::Sys(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG)) => {
                EntryKind::Missing
            }
            Err(_) => EntryKind::Unknown,
            Ok(opened) if opened.kind() == FileType::Directory => EntryKind::Folder,
            Ok(opened) if opened.is_public_pem() => EntryKind::Certificates,
            Ok(_) => EntryKind::File,
        }
    }

    fn sandbox_holds(&self) -> bool {
        // The host that runs the commands knows whether their sandbox holds.
        false
    }
}

fn fact_of(root: &Root, cwd: &str, path: &str) -> PathFact {
    let joined = join_cwd(cwd, path);
    // A shell treats "" as no file, and expands a tilde to a home folder.
    if path.is_empty() || path.contains('\0') {
        return PathFact::Unknown;
    }
    if path.starts_with('~') {
        return PathFact::Outside;
    }
    let Ok(relative) = path_arg::relative(&joined, &root.spellings()) else {
        return if joined.starts_with('/') { PathFact::Outside } else { PathFact::Unknown };
    };
    match root.follow(&relative) {
        Ok(spot) => inside(root, &spot, &relative),
        Err(ResolveError::Outside) => PathFact::Outside,
        Err(ResolveError::Sys(_)) => PathFact::Unknown,
    }
}

fn inside(root: &Root, spot: &Spot, relative: &Path) -> PathFact {
    let folder = rustix::fs::fstat(&spot.folder)
        .map_err(ResolveError::from)
        .and_then(|stat| root.name_of(spot.folder.as_fd(), &stat, Some(spot.folder_name.clone())));
    let folder = match folder {
        Ok(folder) => folder,
        Err(ResolveError::Outside) => return PathFact::Outside,
        Err(ResolveError::Sys(_)) => return PathFact::Unknown,
    };
    let real = names::text_of(&join_missing(&folder, &spot.last));
    // The rules must see the real name, the name as it was written, and a blocked name of the same file.
    let mut spellings = names::spellings(&real);
    spellings.extend(names::spellings(&names::text_of(relative)));
    match twin(root, spot) {
        Ok(twin) => spellings.extend(twin),
        Err(()) => return PathFact::Unknown,
    }
    let mut names: Vec<String> = Vec::new();
    for name in spellings {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    PathFact::Inside { names }
}

/// Returns the blocked name of the same file, if it has one.
fn twin(root: &Root, spot: &Spot) -> Result<Option<String>, ()> {
    let Last::File(name) = &spot.last else { return Ok(None) };
    let stat = match rustix::fs::statat(&spot.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(_) => return Err(()),
    };
    if !Twins::possible(&stat) {
        return Ok(None);
    }
    Twins::new(root).find(&stat).map(|twin| twin.map(str::to_owned)).map_err(|_| ())
}

fn join_cwd(cwd: &str, path: &str) -> String {
    if path.starts_with(['/', '~']) || cwd.is_empty() { path.to_owned() } else { format!("{cwd}/{path}") }
}

fn join_missing(folder: &Path, last: &Last) -> PathBuf {
    match last {
        Last::Folder => folder.to_owned(),
        Last::File(name) => folder.join(name),
        Last::Missing(names) => names.iter().fold(folder.to_owned(), |path, name| path.join(name)),
    }
}
