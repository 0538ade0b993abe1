//! What of the project the walls must treat apart: blocked files and their other names, sockets, repositories and what
//! their configuration makes git run.
//!
//! The tree is walked to its full depth before every command that is walled in. A folder that has not changed since it was
//! read is not read again: its times say so. What cannot be looked at is hidden as a whole, and so is a folder in which
//! there is something that no path is short enough to name.

mod appeared;
mod configurations;
mod folders;
mod hooks;
mod repositories;
mod running;
mod settle;
mod watch;

use crate::root::hops::{Hop, NAMEABLE};
use crate::root::ignores::Ignores;
use crate::root::resolve;
use crate::root::walk::{Order, Walk};
use crate::{Stop, Workspace, names};
pub use appeared::Withheld;
pub use configurations::Configurations;
use folders::Folder;
pub(crate) use folders::Memory;
pub use hooks::Guarded;
pub use hooks::Hooks;
pub use repositories::Access;
pub(crate) use repositories::is_used_by_git;
use repositories::{Repository, Standing, Used, Wanted};
pub use running::Running;
pub(crate) use running::Settler;
pub(crate) use running::settle_for_a_host;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use toolfence_git::made::looks_bare;
use toolfence_protocol::{ErrorCode, ToolFailure};
use toolfence_sandbox::walls::{Enclosure, Identity, Mask, MaskKind, Settings, identity_of};
pub use watch::Unmasked;

/// Folders looked at before the walk is given up.
const MOST_FOLDERS: usize = 1_000_000;

/// The most covers: each is a mount, and a namespace has 100,000 of them at most.
const MOST_COVERS: usize = 20_000;

/// How often the project is walked anew where it changes meanwhile, and the pause between.
const MOST_TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// What the walls have to cover, and what was there when it was looked for.
#[derive(Debug, Clone, Default)]
pub struct MaskSet {
    /// A folder stands before what is in it.
    pub(crate) list: Vec<Mask>,
    repositories: Vec<Repository>,
    /// Folders of repositories that are writable but cannot be moved.
    kept: Vec<PathBuf>,
    /// What git on the host uses in the project, and where it was.
    held: Vec<Held>,
    /// What git on the host uses, or would use if it were there, and how it is reached.
    used: Vec<Used>,
    /// Whether hooks run: then not only git writes what is kept.
    with_hooks: bool,
    looked: Looked,
}

/// A read-only file or folder that git on the host uses. It cannot be renamed itself, but a folder above it can, and then
/// something else can be put at its path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    path: PathBuf,
    is: Identity,
    /// The folder it is in.
    above: Identity,
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

impl MaskSet {
    /// What to tell the walls.
    pub fn list(&self) -> &[Mask] {
        &self.list
    }

    /// Folders of repositories that are writable but cannot be moved, relative to the root.
    pub fn kept(&self) -> impl Iterator<Item = &Path> {
        self.kept.iter().map(PathBuf::as_path)
    }

    /// Whether hooks run in the call.
    pub fn with_hooks(&self) -> bool {
        self.with_hooks
    }

    /// What a command could not write, or what in its call only git writes. A folder that is kept for a blocked file in it is
    /// neither.
    fn out_of_reach(&self) -> impl Iterator<Item = &Mask> {
        let of_git: HashSet<&Path> = self.kept().collect();
        self.list.iter().filter(move |mask| match mask.how {
            MaskKind::Freeze => true,
            MaskKind::Keep => !self.with_hooks && of_git.contains(mask.path.as_path()),
            _ => false,
        })
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
        Workspace { walls: settings, enclosure: Default::default(), settler: Default::default(), ..self }
    }

    /// The walls around the commands of this project.
    pub fn enclosure(&self) -> &Enclosure {
        self.enclosure.get_or_init(|| {
            let is = rustix::fs::fstat(&self.root).map_or(Identity(0, 0), |stat| identity_of(&stat));
            let hides = |shown: &Path, below: &Path, folder: bool| self.hides_beside(shown, below, folder);
            Enclosure::new(self.walls.clone(), &self.canonical, is, self.search_path(), &hides)
        })
    }

    /// What the walls have to cover now, around a command that only reads repositories.
    ///
    /// # Errors
    /// The walk was stopped, or there is too much to be sure of.
    pub fn masks(&self, stop: &Stop) -> Result<MaskSet, ToolFailure> {
        self.masks_for(Access::Read, stop)
    }

    /// What the walls have to cover now, around a command that has this access to repositories.
    ///
    /// # Errors
    /// Those of [`Workspace::masks`].
    pub fn masks_for(&self, access: Access, stop: &Stop) -> Result<MaskSet, ToolFailure> {
        let started = Instant::now();
        let mut masks = self.looked_over(access, stop)?;
        masks.with_hooks = access == Access::WriteWithHooks;
        masks.looked.microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(looked = ?masks.looked, masks = masks.list.len(), "the project was walked for the walls");
        if masks.list.len() > MOST_COVERS { Err(too_much("blocked files")) } else { Ok(masks) }
    }

    fn looked_over(&self, access: Access, stop: &Stop) -> Result<MaskSet, ToolFailure> {
        for _ in 0..MOST_TRIES {
            let mut looking = Looking::begin(self, Purpose::Mask);
            looking.wanted = Some((access, Wanted::default()));
            let looked = looking.tree(stop).and_then(|()| looking.repositories()).and_then(|()| looking.twins(stop));
            match looked {
                Ok(()) => return Ok(looking.done()),
                Err(Hitch::Failure(failure)) => return Err(failure),
                Err(Hitch::Moved) => std::thread::sleep(PAUSE),
            }
        }
        let message = "Folders of the project are moved all the time, so the walls cannot be raised and nothing was run. \
                       Wait until whatever moves them has ended, and try again.";
        Err(ToolFailure::new(ErrorCode::Conflict, message))
    }

    /// After all processes of a command have ended: takes away what appeared meanwhile and would make git run something
    /// outside the walls. Answers with what was done, in sentences.
    pub fn settle(&self, before: &MaskSet) -> Vec<String> {
        settle::settle(self, before)
    }

    /// While a command runs: the name of something that has appeared and would make git run something outside the walls.
    pub fn planted(&self, before: &MaskSet, stop: &Stop) -> Option<String> {
        let (suspects, _) = settle::suspects(self, before, Purpose::Watch, stop)?;
        suspects.first().map(|suspect| names::shown(suspect.path()))
    }

    /// While a command runs: what is not the file any more that was covered, so that the command may be able to read or write it.
    pub fn disturbed(&self, before: &MaskSet) -> Option<Unmasked> {
        watch::disturbed(self, before)
    }

    /// While a command runs, and before its output is delivered: adds to `withheld` what stands in blocked files that were not
    /// there before.
    pub fn appeared(&self, before: &MaskSet, withheld: &mut Withheld, stop: &Stop) {
        appeared::look(self, before, withheld, stop);
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

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Something runs beside it or may: what is covered must be right.
    Mask,
    /// A command runs beside it; what is missed now is seen at the next look.
    Watch,
    /// No process of the command is left, so what it shut may be opened.
    Settle,
}

struct Looking<'w> {
    workspace: &'w Workspace,
    masks: MaskSet,
    /// Hidden files that have more than one name.
    linked: HashSet<Identity>,
    /// Folders that are kept in their place for what is hidden in them.
    kept: HashSet<PathBuf>,
    /// What repositories ask for, where that is wanted.
    wanted: Option<(Access, Wanted)>,
    purpose: Purpose,
    opened: Opened<'w>,
}

/// Folders that were opened to be looked at, with the modes they had. Dropped, it gives them back: what is in the folders can
/// be looked at and renamed until then.
struct Opened<'w> {
    workspace: &'w Workspace,
    folders: Vec<(PathBuf, Mode)>,
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        for (at, mode) in self.folders.drain(..).rev() {
            let (above, last) = (at.parent().unwrap_or(Path::new("")), at.file_name().unwrap_or(OsStr::new(".")));
            if let Ok(above) = resolve::open_exact(self.workspace.root.as_fd(), above) {
                let _ = rustix::fs::chmodat(above, last, mode, AtFlags::empty());
            }
        }
    }
}

impl<'w> Looking<'w> {
    fn begin(workspace: &'w Workspace, purpose: Purpose) -> Looking<'w> {
        Looking {
            workspace,
            masks: MaskSet::default(),
            linked: HashSet::new(),
            kept: HashSet::new(),
            wanted: None,
            purpose,
            opened: Opened { workspace, folders: Vec::new() },
        }
    }

    /// A folder that is kept in its place is found after what stands in it. Of the same depth, what repositories ask for stays
    /// before the masks.
    fn done(mut self) -> MaskSet {
        self.masks.list.sort_by_key(|mask| mask.path.components().count());
        self.masks
    }

    fn tree(&mut self, stop: &Stop) -> Result<(), Hitch> {
        let mut pending = vec![(Hop::default(), PathBuf::new())];
        while let Some((hop, at)) = pending.pop() {
            if stop.is_stopped() {
                return Err(ToolFailure::new(ErrorCode::Cancelled, "The walk over the project was stopped.").into());
            }
            self.masks.looked.folders += 1;
            if self.masks.looked.folders > MOST_FOLDERS {
                return Err(too_much("folders").into());
            }
            let calm = self.purpose != Purpose::Mask;
            let (mut folder, read) = self.workspace.memory.folder(self.workspace, &hop, &at, calm);
            self.masks.looked.read += usize::from(read);
            if matches!(folder, Err(Errno::ACCESS)) && self.open_up(&at) {
                folder = self.workspace.memory.folder(self.workspace, &hop, &at, calm).0;
            }
            match folder {
                Ok(folder) if self.is_too_deep(&at, &folder) => self.mask(&hop, at, MaskKind::Hide)?,
                Ok(folder) => self.take(&hop, &at, &folder, &mut pending)?,
                Err(errno) if is_moved(errno) => return Err(Hitch::Moved),
                Err(_) => {
                    self.probe(&at);
                    self.mask(&hop, at, MaskKind::Hide)?;
                }
            }
        }
        Ok(())
    }

    /// A folder that cannot be listed can still be one that git enters: what it would look for there has names.
    fn probe(&mut self, at: &Path) {
        let kind_of = |name: &str| {
            // The folder itself cannot be opened to be read; to pass through it is enough.
            let named = at.join(name);
            let stat = rustix::fs::statat(&self.workspace.root, &named, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(FileType::from_raw_mode(stat.st_mode))
        };
        let is_bare = looks_bare(
            ["HEAD", "objects", "refs", "commondir"]
                .into_iter()
                .filter(|name| kind_of(name).is_some())
                .map(str::as_bytes),
        );
        if let Some(kind) = kind_of(".git") {
            self.repository(at, Some(kind));
        }
        if is_bare {
            self.repository(at, None);
        }
    }

    /// Lets a folder be listed that its owner shut against that. Only where no process of a command is left: what a command
    /// has shut is opened to be looked over, and gets its mode back.
    fn open_up(&mut self, at: &Path) -> bool {
        if self.purpose != Purpose::Settle {
            return false;
        }
        let (above, last) = (at.parent().unwrap_or(Path::new("")), at.file_name().unwrap_or(OsStr::new(".")));
        let Ok(stat) = resolve::stat_exact(self.workspace.root.as_fd(), at) else { return false };
        let mode = Mode::from_raw_mode(stat.st_mode);
        let done = resolve::open_exact(self.workspace.root.as_fd(), above)
            .and_then(|above| rustix::fs::chmodat(above, last, mode | Mode::RWXU, AtFlags::empty()));
        if done.is_ok() {
            self.opened.folders.push((at.to_owned(), mode));
        }
        done.is_ok()
    }

    /// Whether something in the folder that matters has a path that the kernel does not take, so that nothing could be mounted
    /// there. Then the folder, which is the deepest that has a path, is hidden with all that is in it.
    fn is_too_deep(&self, at: &Path, folder: &Folder) -> bool {
        // What is covered of a repository is below `.git`.
        const IN_GIT: usize = 64;
        let above = self.workspace.root().as_os_str().len() + 1 + at.as_os_str().len() + 1;
        let names = [&folder.folders, &folder.hidden, &folder.frozen].into_iter().flatten();
        let longest = names.map(|name| name.len()).chain(folder.repository.map(|_| IN_GIT)).max();
        // A root with so long a path has no command in it anyway: nothing can be named there.
        !at.as_os_str().is_empty() && longest.is_some_and(|longest| above + longest >= NAMEABLE)
    }

    fn take(&mut self, hop: &Hop, at: &Path, folder: &Folder, pending: &mut Vec<(Hop, PathBuf)>) -> Result<(), Hitch> {
        let hop = hop.towards(self.workspace.root.as_fd(), at);
        for name in &folder.frozen {
            self.mask(&hop, at.join(name), MaskKind::Freeze)?;
        }
        if !folder.hidden.is_empty() {
            let is_ignored = |folder: &Path| {
                !folder.as_os_str().is_empty() && Ignores::above(self.workspace, folder).is_within(folder)
            };
            let here = is_ignored(at);
            for name in &folder.hidden {
                let path = at.join(name);
                let folders = self.workspace.folders_of_rule(&path);
                // A mask in a folder that git ignores must not keep a build from removing the folder. Where the folder is part
                // of the rule, it is the folder around it that has to be one of the build.
                let around = at.ancestors().nth(folders).unwrap_or(Path::new(""));
                let removable = here && (folders == 0 || is_ignored(around));
                // Moved out of the folder that is part of its rule, the file could be read by the next command.
                for above in at.ancestors().take(if removable { 0 } else { folders }) {
                    if self.kept.insert(above.to_owned()) {
                        // The way may go on from a folder that is already below it.
                        self.mask(&Hop::default(), above.to_owned(), MaskKind::Keep)?;
                    }
                }
                self.mask(&hop, path, if removable { MaskKind::HideRemovable } else { MaskKind::Hide })?;
            }
        }
        if folder.repository.is_some() {
            self.repository(at, folder.repository);
        }
        if folder.is_bare {
            self.repository(at, None);
        }
        pending.extend(folder.folders.iter().map(|name| (hop.clone(), at.join(name))));
        Ok(())
    }

    /// Notes the repository that `.git` in this folder stands for, or the folder itself.
    fn repository(&mut self, folder: &Path, kind: Option<FileType>) {
        let at = if kind.is_some() { folder.join(".git") } else { folder.to_owned() };
        let is = resolve::stat_exact(self.workspace.root.as_fd(), &at).ok().map(|stat| identity_of(&stat));
        let standing = match &mut self.wanted {
            Some((access, wanted)) => wanted.add(self.workspace, *access, folder, kind),
            None => Standing::Protected,
        };
        let link = std::fs::read_link(self.workspace.root().join(&at)).ok();
        self.masks.repositories.push(Repository { at, is, link, standing });
    }

    /// Covers what the repositories ask for.
    fn repositories(&mut self) -> Result<(), Hitch> {
        let Some((access, mut wanted)) = self.wanted.take() else { return Ok(()) };
        wanted.add_above(self.workspace, access);
        let (asked, used) = wanted.into_parts();
        self.masks.used = used;
        // A mask of a file in a repository has to lie over the cover of the repository.
        let masks = std::mem::take(&mut self.masks.list);
        for (path, how) in asked {
            // It may be elsewhere: a folder of hooks is where the settings say.
            self.mask(&Hop::default(), path, how)?;
        }
        let root = self.workspace.root.as_fd();
        self.masks.held = self
            .masks
            .list
            .iter()
            .filter_map(|mask| {
                let above = resolve::stat_exact(root, mask.path.parent()?).ok()?;
                Some(Held { path: mask.path.clone(), is: mask.is, above: identity_of(&above) })
            })
            .collect();
        let guarded: HashSet<&Path> = self.masks.list.iter().map(|mask| mask.path.as_path()).collect();
        // Kept for what is hidden in it, a folder must not lose what its repository asks for.
        let masks: Vec<Mask> = masks
            .into_iter()
            .filter(|mask| mask.how != MaskKind::Keep || !guarded.contains(mask.path.as_path()))
            .collect();
        let kept = self.masks.list.iter().filter(|mask| mask.how == MaskKind::Keep);
        self.masks.kept = kept.map(|mask| mask.path.clone()).collect();
        self.masks.list.extend(masks);
        Ok(())
    }

    fn mask(&mut self, hop: &Hop, path: PathBuf, how: MaskKind) -> Result<(), Hitch> {
        let stat = hop.stat(self.workspace.root.as_fd(), &path).map_err(|_| Hitch::Moved)?;
        let is = identity_of(&stat);
        let file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if matches!(how, MaskKind::Hide | MaskKind::HideRemovable) && file {
            self.workspace.memory.hide(is);
            if stat.st_nlink > 1 {
                self.linked.insert(is);
            }
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            self.masks.list.push(Mask { path, is, how });
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
            let is = identity_of(&stat);
            if self.linked.contains(&is) {
                found.push(Mask { path: node.name, is, how: MaskKind::Hide });
            }
        }
        self.masks.list.extend(found);
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
