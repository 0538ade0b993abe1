//! What the policy asks of the world, answered by the same resolution that opens the files.

pub(crate) mod history;
mod repository;

use crate::root::resolve::{Last, Spot, Trouble};
use crate::root::twins::Twins;
use crate::root::{path_arg, secrets};
use crate::{Workspace, masks, names};
use history::History;
use rustix::fd::AsFd;
use rustix::fs::{Access, AtFlags, FileType};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolfence_policy::{Facts, HistoryFact, PathFact, ProgramFact, RepositoryFact, Seen, Walls};

impl Facts for Workspace {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        let fact = self.fact_of(cwd, path);
        tracing::debug!(root = %self.root().display(), cwd, asked = path, ?fact, "path judged");
        fact
    }

    fn is_there(&self, path: &str) -> Option<bool> {
        let relative = path_arg::relative(path, &self.spellings()).ok()?;
        let spot = self.follow(&relative).ok()?;
        Some(!matches!(spot.last, Last::Missing(_)))
    }

    fn link(&self, path: &str) -> Option<String> {
        let relative = path_arg::relative(path, &self.spellings()).ok()?;
        self.link_of(&relative)
    }

    fn instead(&self, path: &str) -> Vec<String> {
        self.with_relative_spelling(path_arg::outside(path), path).suggestions
    }

    fn program(&self, program: &str) -> ProgramFact {
        if program.is_empty() || program.contains(['/', '\0']) {
            return ProgramFact::Unknown;
        }
        let Some(found) = found(self, program) else { return ProgramFact::Missing };
        match found.canonicalize() {
            Ok(real) if real.starts_with(&self.canonical) => ProgramFact::Project,
            Ok(_) => ProgramFact::System,
            Err(_) => ProgramFact::Unknown,
        }
    }

    fn program_paths(&self, cwd: &str, program: &str) -> Vec<String> {
        let start = match program.contains('/') {
            // An absolute path takes the place of the folders before it.
            true => Some(self.root().join(cwd).join(program)),
            false => found(self, program),
        };
        start.filter(|_| !program.contains('\0')).map(links).unwrap_or_default()
    }

    fn repository(&self, cwd: &str) -> RepositoryFact {
        let fact = repository::fact(self, cwd);
        tracing::debug!(cwd, ?fact, "repository judged");
        fact
    }

    fn is_used_by_git(&self, path: &str) -> bool {
        let Ok(relative) = path_arg::relative(path, &self.spellings()) else { return false };
        masks::is_used_by_git(self, &self.root().join(relative))
    }

    fn history_has_blocked(&self, cwd: &str) -> HistoryFact {
        self.history().fact(&self.root().join(cwd))
    }

    fn seen(&self, cwd: &str, path: &str) -> Seen {
        let joined = joined(cwd, path);
        let Ok(relative) = path_arg::relative(&joined, &self.spellings()) else {
            return if joined.starts_with(['/', '~']) { Seen::Missing } else { Seen::Unknown };
        };
        match self.open_relative(&relative) {
            Err(Trouble::Outside | Trouble::Sys(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG)) => Seen::Missing,
            Err(_) => Seen::Unknown,
            Ok(opened) if opened.kind() == FileType::Directory => Seen::Folder,
            Ok(opened) if secrets::is_public(&opened) => Seen::Certificates,
            Ok(_) => Seen::File,
        }
    }

    fn walls(&self) -> Walls {
        // The first command is being judged; one of the next may ask.
        self.history();
        let mut walls = Walls::default();
        walls.hold = self.enclosure().report().holds;
        walls
    }
}

impl Workspace {
    fn history(&self) -> &Arc<History> {
        self.history.get_or_init(|| {
            let history = Arc::new(History::new(self.rules.clone(), self.git().cloned()));
            history.begin(self.root());
            history
        })
    }

    fn fact_of(&self, cwd: &str, path: &str) -> PathFact {
        let joined = joined(cwd, path);
        // A shell takes "" for no file at all, and a tilde for somebody's home.
        if path.is_empty() || path.contains('\0') {
            return PathFact::Unknown;
        }
        if path.starts_with('~') {
            return PathFact::Outside;
        }
        let Ok(relative) = path_arg::relative(&joined, &self.spellings()) else {
            return if joined.starts_with('/') { PathFact::Outside } else { PathFact::Unknown };
        };
        match self.follow(&relative) {
            Ok(spot) => self.inside(&spot, &relative),
            Err(Trouble::Outside) => PathFact::Outside,
            Err(Trouble::Sys(_)) => PathFact::Unknown,
        }
    }

    fn inside(&self, spot: &Spot, relative: &Path) -> PathFact {
        let folder = rustix::fs::fstat(&spot.folder)
            .map_err(Trouble::from)
            .and_then(|stat| self.name_of(spot.folder.as_fd(), &stat, Some(spot.folder_name.clone())));
        let folder = match folder {
            Ok(folder) => folder,
            Err(Trouble::Outside) => return PathFact::Outside,
            Err(Trouble::Sys(_)) => return PathFact::Unknown,
        };
        let real = names::text_of(&real_name(&folder, &spot.last));
        let mut spellings = names::spellings(&real);
        spellings.extend(names::spellings(&names::text_of(relative)));
        match self.twin(spot) {
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

    /// The blocked name of the same file, if it has one.
    fn twin(&self, spot: &Spot) -> Result<Option<String>, ()> {
        let Last::File(name) = &spot.last else { return Ok(None) };
        let stat = match rustix::fs::statat(&spot.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(_) => return Err(()),
        };
        if !Twins::possible(&stat) {
            return Ok(None);
        }
        Twins::of(self).find(&stat).map(|twin| twin.map(str::to_owned)).map_err(|_| ())
    }
}

fn joined(cwd: &str, path: &str) -> String {
    if path.starts_with(['/', '~']) || cwd.is_empty() { path.to_owned() } else { format!("{cwd}/{path}") }
}

fn real_name(folder: &Path, last: &Last) -> PathBuf {
    match last {
        Last::Folder => folder.to_owned(),
        Last::File(name) => folder.join(name),
        Last::Missing(names) => names.iter().fold(folder.to_owned(), |path, name| path.join(name)),
    }
}

/// A path and what it is a link to, step by step. Folders on the way are the kernel's business.
fn links(start: PathBuf) -> Vec<String> {
    /// As many links as the kernel follows in one path (path_resolution(7)).
    const MOST: usize = 40;
    let mut all = vec![start.to_string_lossy().into_owned()];
    let mut here = start;
    while let (Ok(target), true) = (std::fs::read_link(&here), all.len() <= MOST) {
        here = here.parent().unwrap_or(Path::new("/")).join(target);
        all.push(here.to_string_lossy().into_owned());
    }
    all
}

/// Where the PATH finds a program.
pub(crate) fn found(workspace: &Workspace, program: &str) -> Option<PathBuf> {
    std::env::split_paths(workspace.search_path()).map(|folder| folder.join(program)).find(|path| runs(path))
}

/// Whether this is a file that may be run.
fn runs(path: &Path) -> bool {
    let is_file =
        rustix::fs::stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    is_file && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}
