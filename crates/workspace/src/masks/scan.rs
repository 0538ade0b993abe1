//! Walks the project to find the paths that must be masked.
//!
//! The tree is walked to its full depth before every command that runs in the sandbox. A folder is only read again if
//! its timestamps show that it has changed. A folder that cannot be read is hidden as a whole, and so is one with an
//! entry whose path is too long for the kernel.

use crate::git::made::looks_bare;
use crate::masks::Masks;
use crate::masks::folders::Folder;
use crate::masks::repositories::{Access, Protection, Repository, WantedAccess};
use crate::masks::set::{HeldFile, MaskSet, WalkCost};
use crate::names;
use crate::root::hops::{Hop, NAMEABLE};
use crate::root::ignores::Ignores;
use crate::root::walk::{Order, Walk};
use crate::stop::Stop;
use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};
use toolfence_sandbox::project::{Mask, MaskKind, Number, number_of};

/// The maximum number of folders of a project. The walk fails in a larger one.
const MOST_FOLDERS: usize = 1_000_000;

/// The maximum number of masks of a command. Each is a mount, and a namespace has at most 100,000 of them.
const MOST_MASKS: usize = 20_000;

/// The maximum number of walks while the project changes, and the pause between them.
const MOST_TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// Finds the paths to mask for a command that has this access to repositories.
pub(super) fn find(masks: &Masks, access: Access, stop: &Stop) -> Result<MaskSet, ToolFailure> {
    let started = Instant::now();
    for _ in 0..MOST_TRIES {
        let mut scan = Scan::begin(masks, Purpose::Mask);
        scan.wanted = Some((access, WantedAccess::default()));
        let scanned = scan.tree(stop).and_then(|()| scan.repositories()).and_then(|()| scan.twins(stop));
        let mut set = match scanned {
            Ok(()) => scan.finish(),
            Err(ScanError::Failure(failure)) => return Err(failure),
            Err(ScanError::Moved) => {
                std::thread::sleep(PAUSE);
                continue;
            }
        };
        set.cost.microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let WalkCost { folders, read, microseconds } = set.cost;
        tracing::debug!(folders, read, microseconds, masks = set.list.len(), "the project was walked for the sandbox");
        return if set.list.len() > MOST_MASKS { Err(too_much(text!("blocked files"))) } else { Ok(set) };
    }
    Err(ToolFailure::new(
        ErrorCode::Conflict,
        text!(
            "Folders of the project keep moving, so the sandbox cannot be set up and nothing was run. Wait until the \
             program that moves them has ended, and try again."
        ),
    ))
}

/// The reason why a walk failed.
pub(super) enum ScanError {
    Failure(ToolFailure),
    /// An entry that existed a moment ago was moved.
    Moved,
}

impl From<ToolFailure> for ScanError {
    fn from(failure: ToolFailure) -> ScanError {
        ScanError::Failure(failure)
    }
}

/// The purpose of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Masks for a command that is about to run or may be running, which must be complete.
    Mask,
    /// The check after a command. All its processes have ended, so folders that it has made unreadable may be opened.
    Quarantine,
}

pub(super) struct Scan<'w> {
    masks: &'w Masks,
    pub(super) set: MaskSet,
    /// Hidden files that have more than one name.
    linked: HashSet<Number>,
    /// Folders that must not be moved because of the hidden files in them.
    kept: HashSet<PathBuf>,
    /// The masks that repositories need, if they are wanted.
    wanted: Option<(Access, WantedAccess)>,
    purpose: Purpose,
    pub(super) opened: UnlockedFolders<'w>,
}

/// Folders that were made readable, with their original modes. Dropping it restores the modes; until then the entries
/// of the folders can be read and renamed.
pub(super) struct UnlockedFolders<'w> {
    masks: &'w Masks,
    folders: Vec<(PathBuf, Mode)>,
}

impl Drop for UnlockedFolders<'_> {
    fn drop(&mut self) {
        for (at, mode) in self.folders.drain(..).rev() {
            let (above, last) = (at.parent().unwrap_or(Path::new("")), at.file_name().unwrap_or(OsStr::new(".")));
            if let Ok(above) = self.masks.root.open_exact(above) {
                let _ = rustix::fs::chmodat(above, last, mode, AtFlags::empty());
            }
        }
    }
}

impl<'w> Scan<'w> {
    pub(super) fn begin(masks: &'w Masks, purpose: Purpose) -> Scan<'w> {
        Scan {
            masks,
            set: MaskSet::default(),
            linked: HashSet::new(),
            kept: HashSet::new(),
            wanted: None,
            purpose,
            opened: UnlockedFolders { masks, folders: Vec::new() },
        }
    }

    /// Sorts the masks by depth, because a mask on a folder must be mounted before those on its entries, but a folder
    /// that must not be moved is found after its entries. At the same depth, the masks for repositories stay before the
    /// others.
    fn finish(mut self) -> MaskSet {
        self.set.list.sort_by_key(|mask| mask.path.components().count());
        self.set
    }

    pub(super) fn tree(&mut self, stop: &Stop) -> Result<(), ScanError> {
        let mut pending = vec![(Hop::default(), PathBuf::new())];
        while let Some((hop, at)) = pending.pop() {
            if stop.is_stopped() {
                return Err(
                    ToolFailure::new(ErrorCode::Cancelled, text!("The walk over the project was stopped.")).into()
                );
            }
            self.set.cost.folders += 1;
            if self.set.cost.folders > MOST_FOLDERS {
                return Err(too_much(text!("folders")).into());
            }
            let calm = self.purpose != Purpose::Mask;
            let (mut folder, read) = self.masks.folders.folder(&self.masks.root, &hop, &at, calm);
            self.set.cost.read += usize::from(read);
            if matches!(folder, Err(Errno::ACCESS)) && self.unlock(&at) {
                folder = self.masks.folders.folder(&self.masks.root, &hop, &at, calm).0;
            }
            match folder {
                Ok(folder) if self.is_too_deep(&at, &folder) => self.mask(&hop, at, MaskKind::Hide)?,
                Ok(folder) => self.take(&hop, &at, &folder, &mut pending)?,
                // The walk starts again, because it may have missed the moved folder at both places.
                Err(errno) if is_moved(errno) => return Err(ScanError::Moved),
                Err(_) => {
                    self.probe(&at);
                    self.mask(&hop, at, MaskKind::Hide)?;
                }
            }
        }
        Ok(())
    }

    /// Checks a folder that cannot be listed but that git can enter: the names that git would use are known.
    fn probe(&mut self, at: &Path) {
        let kind_of = |name: &str| {
            // The folder itself cannot be opened for reading, but it can be searched.
            let named = at.join(name);
            let stat = rustix::fs::statat(self.masks.root.fd(), &named, AtFlags::SYMLINK_NOFOLLOW).ok()?;
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

    /// Makes a folder readable that its owner has made unreadable. Does so only if no process of a command is left: the
    /// folder was closed by a command, and gets its mode back.
    fn unlock(&mut self, at: &Path) -> bool {
        if self.purpose != Purpose::Quarantine {
            return false;
        }
        let (above, last) = (at.parent().unwrap_or(Path::new("")), at.file_name().unwrap_or(OsStr::new(".")));
        let Ok(stat) = self.masks.root.stat_exact(at) else { return false };
        let mode = Mode::from_raw_mode(stat.st_mode);
        let done = self
            .masks
            .root
            .open_exact(above)
            .and_then(|above| rustix::fs::chmodat(above, last, mode | Mode::RWXU, AtFlags::empty()));
        if done.is_ok() {
            self.opened.folders.push((at.to_owned(), mode));
        }
        done.is_ok()
    }

    /// Returns `true` if an entry that matters has a path that is too long for the kernel, so that nothing could be
    /// mounted there. The folder, which is the deepest with a valid path, is then hidden with everything in it.
    fn is_too_deep(&self, at: &Path, folder: &Folder) -> bool {
        // The masks of a repository are on paths below `.git`, which are not longer than this.
        const IN_GIT: usize = 64;
        let above = self.masks.root.path().as_os_str().len() + 1 + at.as_os_str().len() + 1;
        let names = [&folder.folders, &folder.hidden, &folder.frozen].into_iter().flatten();
        let longest = names.map(|name| name.len()).chain(folder.repository.map(|_| IN_GIT)).max();
        // No command can run in a root whose path is that long, because nothing in it can be named.
        !at.as_os_str().is_empty() && longest.is_some_and(|longest| above + longest >= NAMEABLE)
    }

    fn take(
        &mut self,
        hop: &Hop,
        at: &Path,
        folder: &Folder,
        pending: &mut Vec<(Hop, PathBuf)>,
    ) -> Result<(), ScanError> {
        let hop = hop.towards(self.masks.root.fd(), at);
        for name in &folder.frozen {
            self.mask(&hop, at.join(name), MaskKind::Freeze)?;
        }
        if !folder.hidden.is_empty() {
            let is_ignored = |folder: &Path| {
                !folder.as_os_str().is_empty() && Ignores::above(&self.masks.root, folder).is_within(folder)
            };
            let here = is_ignored(at);
            for name in &folder.hidden {
                let path = at.join(name);
                let folders = self.masks.root.folders_of_rule(&path);
                // A mask in a folder that git ignores must not prevent a build from removing the folder. If the folder
                // is part of the rule, the folder around it must be an ignored one.
                let around = at.ancestors().nth(folders).unwrap_or(Path::new(""));
                let removable = here && (folders == 0 || is_ignored(around));
                // If the file were moved out of the folder that is part of its rule, the next command could read it.
                for above in at.ancestors().take(if removable { 0 } else { folders }) {
                    if self.kept.insert(above.to_owned()) {
                        // The hop may be for a folder below this one.
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

    /// Records the repository of `.git` in this folder, or the folder itself if it is one.
    fn repository(&mut self, folder: &Path, kind: Option<FileType>) {
        let at = if kind.is_some() { folder.join(".git") } else { folder.to_owned() };
        let identity = self.masks.root.stat_exact(&at).ok().map(|stat| number_of(&stat));
        let is_hidden = kind.is_some() && self.masks.root.rules().leaves_out(&names::text_of(&at));
        let standing = match &mut self.wanted {
            // Nothing can be mounted in a hidden folder.
            Some((access, wanted)) if !is_hidden => wanted.add(self.masks, *access, folder, kind),
            _ => Protection::Protected,
        };
        let link = std::fs::read_link(self.masks.root.path().join(&at)).ok();
        self.set.repositories.push(Repository { at, identity, link, standing });
    }

    /// Adds the masks that the repositories need.
    fn repositories(&mut self) -> Result<(), ScanError> {
        let Some((access, mut wanted)) = self.wanted.take() else { return Ok(()) };
        wanted.add_above(self.masks);
        if access == Access::Copy {
            self.set.git_files = wanted.into_git_files(self.masks.root.path());
            return Ok(());
        }
        let (frozen, used) = wanted.into_parts();
        self.set.used = used;
        // The mask of a file in a repository must be mounted after the mask of the repository.
        let set = std::mem::take(&mut self.set.list);
        for path in frozen {
            // It may be in another folder: the settings name the folder of hooks.
            self.mask(&Hop::default(), path, MaskKind::Freeze)?;
        }
        let root = &self.masks.root;
        self.set.held = self
            .set
            .list
            .iter()
            .filter_map(|mask| {
                let above = root.stat_exact(mask.path.parent()?).ok()?;
                Some(HeldFile { path: mask.path.clone(), identity: mask.identity.number(), above: number_of(&above) })
            })
            .collect();
        let guarded: HashSet<&Path> = self.set.list.iter().map(|mask| mask.path.as_path()).collect();
        // A folder with a hidden entry must also keep the mask that its repository needs.
        let set: Vec<Mask> = set
            .into_iter()
            .filter(|mask| mask.how != MaskKind::Keep || !guarded.contains(mask.path.as_path()))
            .collect();
        self.set.list.extend(set);
        Ok(())
    }

    fn mask(&mut self, hop: &Hop, path: PathBuf, how: MaskKind) -> Result<(), ScanError> {
        let stat = hop.stat(self.masks.root.fd(), &path).map_err(|_| ScanError::Moved)?;
        let identity = hop.identity(self.masks.root.fd(), &path).map_err(|_| ScanError::Moved)?;
        // If the entry was exchanged between both calls, the mask could be meant for another file.
        if identity.number() != number_of(&stat) {
            return Err(ScanError::Moved);
        }
        let file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if matches!(how, MaskKind::Hide | MaskKind::HideRemovable) && file {
            self.masks.root.remember_masked(identity.number());
            if stat.st_nlink > 1 {
                self.linked.insert(identity.number());
            }
        }
        // Nothing can be mounted on a link.
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            self.set.list.push(Mask { path, identity, how });
        }
        Ok(())
    }

    /// Finds the hard links of hidden files. The kernel does not list them, so all files are checked.
    fn twins(&mut self, stop: &Stop) -> Result<(), ScanError> {
        if self.linked.is_empty() {
            return Ok(());
        }
        let (root, mut found) = (&self.masks.root, Vec::new());
        let report = Walk::new(root, Order::Depth, stop).everything().each(|node| {
            if node.kind == FileType::RegularFile
                && node.blocked.is_none()
                && let Ok(stat) = root.stat_exact(&node.name)
                && self.linked.contains(&number_of(&stat))
                && let Ok(identity) = root.identity_exact(&node.name)
            {
                found.push(Mask { path: node.name, identity, how: MaskKind::Hide });
            }
            ControlFlow::Continue(())
        });
        self.set.list.extend(found);
        let complete = report.check_start(".").is_ok_and(|report| report.complete);
        if complete { Ok(()) } else { Err(too_much(text!("files to find the other names of a blocked one")).into()) }
    }
}

fn is_moved(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::AGAIN)
}

fn too_much(what: Text) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::TooLarge,
        text!(
            "The project has too many {what} for the sandbox to be sure of it, so nothing was run. Ask the user to \
             work in a smaller folder.",
            what
        ),
    )
}
