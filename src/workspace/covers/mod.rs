//! What of the project the walls must treat apart: blocked files and their other names, sockets, repositories.
//!
//! The tree is walked to its full depth before every command that is walled in. A folder that has not changed since it was
//! read is not read again: its times say so. What cannot be looked at is hidden as a whole.

mod folders;
mod repositories;
mod settle;
mod watch;

use super::walk::{Order, Walk};
use super::{Stop, Workspace, resolve};
use crate::walls::{Cover, Enclosure, How, Identity, Settings};
use crate::{ErrorCode, ToolFailure};
use folders::Folder;
pub(super) use folders::Memory;
use repositories::Repository;
use rustix::fd::AsFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Folders looked at before the walk is given up.
const MOST_FOLDERS: usize = 1_000_000;

/// The most covers: each is a mount, and a namespace has 100,000 of them at most.
const MOST_COVERS: usize = 20_000;

/// How often the project is walked anew where it changes meanwhile, and the pause between.
const MOST_TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// What the walls have to cover, and what was there when it was looked for.
#[derive(Debug, Clone, Default)]
pub struct Covers {
    /// A folder stands before what is in it.
    pub(super) list: Vec<Cover>,
    repositories: Vec<Repository>,
    looked: Looked,
}

/// What a walk cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Looked {
    /// Folders of the tree.
    pub folders: usize,
    /// How many of them had to be read.
    pub read: usize,
    /// Wall time in microseconds.
    pub microseconds: u64,
}

impl Covers {
    /// What to tell the walls.
    pub fn list(&self) -> &[Cover] {
        &self.list
    }

    /// What the walk cost.
    pub fn looked(&self) -> Looked {
        self.looked
    }
}

impl Workspace {
    /// The same with other walls than the default ones around its commands.
    #[must_use]
    pub fn walls(self, settings: Settings) -> Workspace {
        Workspace { walls: settings, enclosure: Default::default(), ..self }
    }

    /// The walls around the commands of this project.
    pub fn enclosure(&self) -> &Enclosure {
        self.enclosure.get_or_init(|| {
            let is = rustix::fs::fstat(&self.root).map_or(Identity(0, 0), |stat| Identity::of(&stat));
            let hides = |shown: &Path, below: &Path, folder: bool| self.hides_beside(shown, below, folder);
            Enclosure::new(self.walls.clone(), &self.canonical, is, self.search_path(), &hides)
        })
    }

    /// What the walls have to cover now.
    ///
    /// # Errors
    /// The walk was stopped, or there is too much to be sure of.
    pub fn covers(&self, stop: &Stop) -> Result<Covers, ToolFailure> {
        let started = Instant::now();
        let mut covers = self.looked_over(stop)?;
        covers.looked.microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(looked = ?covers.looked, covers = covers.list.len(), "the project was walked for the walls");
        if covers.list.len() > MOST_COVERS { Err(too_much("blocked files")) } else { Ok(covers) }
    }

    fn looked_over(&self, stop: &Stop) -> Result<Covers, ToolFailure> {
        for _ in 0..MOST_TRIES {
            let mut looking = Looking::begin(self, false);
            match looking.tree(stop).and_then(|()| looking.twins(stop)) {
                Ok(()) => return Ok(looking.done()),
                Err(Hitch::Failure(failure)) => return Err(failure),
                Err(Hitch::Moved) => std::thread::sleep(PAUSE),
            }
        }
        let message = "Folders of the project are moved all the time, so the walls cannot be raised and nothing was run. \
                       Wait until whatever moves them has ended, and try again.";
        Err(ToolFailure::new(ErrorCode::Conflict, message))
    }

    /// After a command: takes away what it left for git to run outside the walls. Answers with what was done, in sentences.
    pub fn settle(&self, before: &Covers) -> Vec<String> {
        settle::settle(self, before)
    }

    /// While a command runs: the name of a blocked file that is not the one that was covered any more, so that the command may
    /// be able to read it; with `new_ones_too` also of one that has appeared since.
    pub fn disturbed(&self, before: &Covers, new_ones_too: bool, stop: &Stop) -> Option<String> {
        watch::disturbed(self, before, new_ones_too, stop)
    }
}

/// Why a walk did not come to its end.
enum Hitch {
    Failure(ToolFailure),
    /// What was there a moment ago is not there.
    Moved,
}

impl From<ToolFailure> for Hitch {
    fn from(failure: ToolFailure) -> Hitch {
        Hitch::Failure(failure)
    }
}

struct Looking<'w> {
    workspace: &'w Workspace,
    covers: Covers,
    /// Hidden files that have more than one name.
    linked: HashSet<Identity>,
    /// Folders that are kept in their place for what is hidden in them.
    kept: HashSet<PathBuf>,
    /// Whether nobody changes anything meanwhile.
    calm: bool,
}

impl<'w> Looking<'w> {
    fn begin(workspace: &'w Workspace, calm: bool) -> Looking<'w> {
        Looking { workspace, covers: Covers::default(), linked: HashSet::new(), kept: HashSet::new(), calm }
    }

    /// A folder that is kept in its place is found after what stands in it.
    fn done(mut self) -> Covers {
        self.covers.list.sort_by_key(|cover| cover.path.components().count());
        self.covers
    }

    fn tree(&mut self, stop: &Stop) -> Result<(), Hitch> {
        let mut pending = vec![PathBuf::new()];
        while let Some(at) = pending.pop() {
            if stop.is_stopped() {
                return Err(ToolFailure::new(ErrorCode::Cancelled, "The walk over the project was stopped.").into());
            }
            self.covers.looked.folders += 1;
            if self.covers.looked.folders > MOST_FOLDERS {
                return Err(too_much("folders").into());
            }
            let (folder, read) = self.workspace.memory.folder(self.workspace, &at, self.calm);
            self.covers.looked.read += usize::from(read);
            match folder {
                Ok(folder) => self.take(&at, &folder, &mut pending)?,
                Err(errno) if is_moved(errno) => return Err(Hitch::Moved),
                Err(_) => self.cover(at, How::Hide)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, at: &Path, folder: &Folder, pending: &mut Vec<PathBuf>) -> Result<(), Hitch> {
        for name in &folder.frozen {
            self.cover(at.join(name), How::Freeze)?;
        }
        for name in &folder.hidden {
            let path = at.join(name);
            // Moved out of the folder that is part of its rule, the file could be read by the next command.
            let folders = self.workspace.folders_of_rule(&path);
            for above in path.ancestors().skip(1).take(folders) {
                if self.kept.insert(above.to_owned()) {
                    self.cover(above.to_owned(), How::Keep)?;
                }
            }
            self.cover(path, How::Hide)?;
        }
        if let Some(kind) = folder.repository {
            let (repository, covers) = repositories::look(self.workspace, at, kind);
            self.covers.repositories.push(repository);
            for (path, how) in covers {
                self.cover(path, how)?;
            }
        }
        pending.extend(folder.folders.iter().map(|name| at.join(name)));
        Ok(())
    }

    fn cover(&mut self, path: PathBuf, how: How) -> Result<(), Hitch> {
        let stat = resolve::stat_exact(self.workspace.root.as_fd(), &path).map_err(|_| Hitch::Moved)?;
        let is = Identity::of(&stat);
        let file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if how == How::Hide && file {
            self.workspace.memory.hide(is);
            if stat.st_nlink > 1 {
                self.linked.insert(is);
            }
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            self.covers.list.push(Cover { path, is, how });
        }
        Ok(())
    }

    /// The other names of hidden files: the kernel does not tell them, so all files are looked at.
    fn twins(&mut self, stop: &Stop) -> Result<(), Hitch> {
        if self.linked.is_empty() {
            return Ok(());
        }
        let mut walk = Walk::new(self.workspace, Order::Depth, stop).everything();
        let files = walk.by_ref().filter(|node| node.kind == FileType::RegularFile && node.blocked.is_none());
        let mut found = Vec::new();
        for node in files {
            let Ok(stat) = resolve::stat_exact(self.workspace.root.as_fd(), &node.name) else { continue };
            let is = Identity::of(&stat);
            if self.linked.contains(&is) {
                found.push(Cover { path: node.name, is, how: How::Hide });
            }
        }
        self.covers.list.extend(found);
        let complete = walk.report(".").is_ok_and(|report| report.complete);
        if complete { Ok(()) } else { Err(too_much("files to find the other names of a blocked one").into()) }
    }
}

fn is_moved(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::AGAIN)
}

fn too_much(what: &str) -> ToolFailure {
    let message = format!(
        "The project has too many {what} for the walls to be sure of it, so nothing was run. Ask the user to work in a \
         smaller folder."
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}
