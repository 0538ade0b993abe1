//! Exchanges entries of the project with entries of a stash, all or none.
//!
//! A *stash* is a folder on the project's file system. It has an entry for each path that is to change: the next
//! version of the project's file, link or folder, or none if the path is to be removed. [`Stash::exchange`] swaps them
//! with what the project has. Nothing is copied and nothing is deleted, so a folder of any size costs one rename, and
//! the stash then has the previous versions: `Stash::restore` undoes the change and makes it again.
//! [`Changes::exchange`](crate::Changes::exchange) makes the exchange a part of the turn: its record in the undo
//! history names the stash, and the stash names the record. [`recover`] keeps it as long as that record exists.
//!
//! Each swap is one rename, which keeps the inode number of what it moves. So the state of an exchange that was cut
//! short can be read from the disk: [`recover`] finishes it.

mod list;
mod plan;
mod record;
mod remove;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use record::{Contents, StashedChange, SwapEffect};
pub use remove::remove_tree;

use crate::fault;
use crate::root::Root;
use crate::stat::Stamp;
use crate::undo::Unrestored;
use plan::{Plan, Side, Swap};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use toolfence_sandbox::project::random_name;

/// The folder with the entries. Each is named by its number in the plan.
const ENTRIES: &str = "entries";

/// The plan, which is written before the first swap.
const PLAN: &str = "plan.json";

/// A plan that is being written.
const NEW_PLAN: &str = "plan.new";

/// The path of the record in the undo history to which the stash belongs.
const RECORD: &str = "record";

/// A folder that exists while an exchange is under way. Creating and removing a folder is atomic.
const UNDER_WAY: &str = "under-way";

/// The maximum number of files that are synced one by one before an exchange. If there are more, the whole file system
/// is synced.
const MOST_SYNCED: usize = 64;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A time on the file system's clock. A file that is changed afterwards has a later change time (ctime), which no
/// process can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64, i64);

impl Moment {
    /// Returns the time of an entry's last change.
    pub fn changed_at(stat: &Stat) -> Moment {
        #[allow(clippy::useless_conversion, reason = "the types of these fields differ between systems")]
        Moment(stat.st_ctime.into(), stat.st_ctime_nsec as i64)
    }

    /// Returns the seconds and nanoseconds since 1970.
    pub fn parts(self) -> (i64, i64) {
        (self.0, self.1)
    }

    /// Returns the moment of these seconds and nanoseconds since 1970.
    pub fn from_parts(seconds: i64, nanoseconds: i64) -> Moment {
        Moment(seconds, nanoseconds)
    }

    /// Waits for the next tick of the clock of the file system that `place` is on, some milliseconds, and returns it.
    /// Changes made before the call are earlier than this moment.
    ///
    /// # Errors
    /// No file can be created in `place`.
    pub fn next(place: &Path) -> io::Result<Moment> {
        DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        let file = tempfile_in(place)?;
        let first = Moment::changed_at(&rustix::fs::fstat(&file)?);
        loop {
            std::thread::sleep(std::time::Duration::from_millis(1));
            // A change of the mode always updates the ctime, which shows that the clock has ticked.
            rustix::fs::fchmod(&file, Mode::RUSR)?;
            let now = Moment::changed_at(&rustix::fs::fstat(&file)?);
            if now > first {
                return Ok(now);
            }
        }
    }
}

/// Returns `true` if the project has an entry at `path` that no process has changed since `since`. A folder counts as
/// changed if an entry in it was created, removed or renamed.
pub fn is_unchanged_since(root: &Root, path: &Path, since: Moment) -> bool {
    // A change in the same tick as `since` was made after it.
    root.stat_exact(path).is_ok_and(|stat| Moment::changed_at(&stat) < since)
}

/// Creates a file without a name.
fn tempfile_in(place: &Path) -> io::Result<OwnedFd> {
    let name = place.join(random_name()?);
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(&name, flags, Mode::RUSR)?;
    // Without a name, the file disappears even if this process is killed.
    rustix::fs::unlink(&name)?;
    Ok(file)
}

/// The reason why an exchange was not made. The project is as it was before.
#[derive(Debug)]
pub enum ExchangeError {
    /// Another process changed these paths in the meantime.
    Conflict(Vec<PathBuf>),
    /// The system refused to move the entry at this path.
    System(PathBuf, Errno),
    /// The plan cannot be written or read.
    Plan(io::Error),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExchangeError::Conflict(paths) => {
                let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "changed by another process: {}", paths.join(", "))
            }
            ExchangeError::System(path, errno) => write!(f, "{}: {}", path.display(), io::Error::from(*errno)),
            ExchangeError::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExchangeError {}

/// Whether the entry at a path of the project is compared with the one that the swap put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    Compare,
    /// The entry is assumed to be the swapped one: for a dry run.
    Assume,
}

/// The entries of an exchange with a project, before or after it is made.
#[derive(Debug)]
pub struct Stash {
    path: PathBuf,
    /// Holds the lock of the stash.
    folder: OwnedFd,
    entries: OwnedFd,
    plan: Plan,
    conflicts: Vec<PathBuf>,
    /// Bytes of the files that the project has at the planned paths.
    replaced_bytes: u64,
}

impl Stash {
    /// Creates an empty stash in the folder `place`, which is created if it is missing and must be on the project's
    /// file system.
    ///
    /// # Errors
    /// The folder cannot be created or locked.
    pub fn create(place: &Path) -> io::Result<Stash> {
        DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        loop {
            let path = place.join(random_name()?);
            rustix::fs::mkdir(&path, Mode::RWXU)?;
            match Stash::create_in(path) {
                // Until the folder is locked, the recovery of another session can mistake it for a leftover and delete
                // it.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock) => {}
                created => return created,
            }
        }
    }

    fn create_in(path: PathBuf) -> io::Result<Stash> {
        let folder = locked(&path)?;
        rustix::fs::mkdirat(&folder, ENTRIES, Mode::RWXU)?;
        let entries = rustix::fs::openat(&folder, ENTRIES, FOLDER, Mode::empty())?;
        Ok(Stash { path, folder, entries, plan: Plan::default(), conflicts: Vec::new(), replaced_bytes: 0 })
    }

    /// Opens a stash that was exchanged.
    ///
    /// # Errors
    /// It is in use, or its plan cannot be read.
    #[cfg(test)]
    pub(crate) fn open(path: &Path) -> io::Result<Stash> {
        Stash::read(path.to_owned(), locked(path)?)
    }

    fn read(path: PathBuf, folder: OwnedFd) -> io::Result<Stash> {
        let entries = rustix::fs::openat(&folder, ENTRIES, FOLDER, Mode::empty())?;
        let plan = Plan::read(&folder)?;
        Ok(Stash { path, folder, entries, plan, conflicts: Vec::new(), replaced_bytes: 0 })
    }

    /// Returns the folder of the stash.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Plans that the project gets an entry at `path`: a file, a link, or a folder with everything in it. The entry is
    /// moved out of `folder`, where it has the name `name`. If it `replaces` an entry of the project, that entry must
    /// exist and must not have changed since `since`; otherwise the project must have no entry at the path.
    ///
    /// # Errors
    /// The entry cannot be moved, for instance because it is on another file system, or the project's entry cannot be
    /// read.
    pub fn plan_entry(
        &mut self,
        root: &Root,
        path: &Path,
        (folder, name): (BorrowedFd<'_>, &OsStr),
        replaces: bool,
        since: Moment,
    ) -> Result<(), ExchangeError> {
        let before = self.project_side(root, path, since)?;
        // `project_side` may have recorded a conflict at this path already.
        if before.is_entry() != replaces && self.conflicts.last().is_none_or(|last| last != path) {
            self.conflicts.push(path.to_owned());
        }
        let failed = |errno| ExchangeError::System(path.to_owned(), errno);
        let number = self.plan.swaps.len().to_string();
        let stat = stat_at(folder, name).map_err(failed)?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        // Moving a folder to another one changes its `..`, which requires write permission for the moved folder.
        let is_shut = is_folder && stat.st_mode & 0o300 != 0o300;
        if is_shut {
            rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty()).map_err(failed)?;
        }
        rustix::fs::renameat(folder, name, &self.entries, number.as_str()).map_err(failed)?;
        if is_shut {
            let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
            rustix::fs::chmodat(&self.entries, number.as_str(), mode, AtFlags::empty()).map_err(failed)?;
        }
        let after = self.stashed_side(&number).map_err(failed)?;
        self.plan.swaps.push(Swap::new(path, before, after));
        Ok(())
    }

    /// Plans that the entry at `path` is removed, a folder with everything in it. Nothing in it must have changed since
    /// `since`.
    ///
    /// # Errors
    /// The project's entry cannot be read.
    pub fn remove(&mut self, root: &Root, path: &Path, since: Moment) -> Result<(), ExchangeError> {
        let before = self.project_side(root, path, since)?;
        self.plan.swaps.push(Swap::new(path, before, Side::Absent));
        Ok(())
    }

    /// Records that another process changed the entry at `path`, so that [`exchange`](Stash::exchange) is refused.
    pub fn conflicts_at(&mut self, path: &Path) {
        self.conflicts.push(path.to_owned());
    }

    /// Plans that the folder at `path` gets other permission bits.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn set_mode(&mut self, root: &Root, path: &Path, mode: u32) -> Result<(), ExchangeError> {
        let stat = root.stat_exact(path).map_err(|errno| ExchangeError::System(path.to_owned(), errno))?;
        let (before, after) = (stat.st_mode & 0o7777, stat.st_mode & 0o7000 | mode & 0o777);
        self.plan.swaps.push(Swap::new(path, Side::Mode(before), Side::Mode(after)));
        Ok(())
    }

    /// Swaps all entries of the stash with those of the project, or none.
    ///
    /// # Errors
    /// Another process changed one of the project's entries, or the system refused. The project is then as it was
    /// before, including the changes of the other process.
    pub fn exchange(&mut self, root: &Root) -> Result<(), ExchangeError> {
        self.refuse_conflicts()?;
        // Synced before the first swap, so that a power failure leaves no empty file in the project.
        self.sync_entries().map_err(ExchangeError::Plan)?;
        let all = (0..self.plan.swaps.len()).collect();
        let order = self.begin(all, true)?;
        let mut failure = None;
        for &number in &order {
            match self.swap(root, number, true) {
                Ok(()) => self.plan.swaps[number].is_exchanged = true,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        // A process may have written to a file that it had open before the swap.
        let has_changed = |number: &usize| !self.is_content(*number, true);
        if failure.is_none()
            && let Some(number) = order.iter().copied().find(has_changed)
        {
            failure = Some(ExchangeError::Conflict(vec![self.plan.swaps[number].path.clone()]));
        }
        if failure.is_some() {
            // In reverse order, because a later swap can be inside of a folder that an earlier one put into the
            // project.
            for &number in order.iter().rev() {
                // If another process has changed an entry since the swap, the entry stays: the change is newer than
                // ours.
                if self.plan.swaps[number].is_exchanged && self.swap(root, number, false).is_ok() {
                    self.plan.swaps[number].is_exchanged = false;
                }
            }
        }
        // If the end cannot be recorded, recovery finishes the exchange.
        let _ = self.finish();
        failure.map_or(Ok(()), Err)
    }

    /// Restores the previous versions in the project, or, with `is_forward`, the new ones. Returns the paths that were
    /// skipped because another process changed them or the system refused.
    ///
    /// # Errors
    /// The plan cannot be written. Nothing was changed.
    #[cfg(test)]
    pub(crate) fn restore(&mut self, root: &Root, is_forward: bool) -> Result<Vec<PathBuf>, ExchangeError> {
        if self.plan.swaps.iter().all(|swap| !swap.is_recorded) {
            self.plan.swaps.iter_mut().for_each(|swap| swap.is_recorded = true);
        }
        let (chosen, mut skipped) = self.choose(root, is_forward, &|_| Ok(Trust::Compare));
        skipped.extend(self.swap_chosen(root, chosen, is_forward)?);
        Ok(skipped.into_iter().map(|(number, _)| self.plan.swaps[number].path.clone()).collect())
    }

    /// Returns the numbers of the swaps that can be made in this direction, and of those that cannot. Leaves out swaps
    /// that were already made, and those whose path already has the entry that the swap would put there. `judge`
    /// decides about each path.
    ///
    /// If a folder that is to be removed now has other entries in it, its unchanged entries are chosen one by one.
    pub(crate) fn choose(
        &mut self,
        root: &Root,
        is_forward: bool,
        judge: &dyn Fn(&Path) -> Result<Trust, Unrestored>,
    ) -> (Vec<usize>, Vec<(usize, Unrestored)>) {
        let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
        // `split` appends swaps, so this is not a loop over a fixed range.
        let mut number = 0;
        while let Some(swap) = self.plan.swaps.get(number) {
            if swap.is_recorded && swap.is_exchanged != is_forward {
                match judge(&swap.path) {
                    Ok(Trust::Assume) => chosen.push(number),
                    Ok(Trust::Compare) if self.renew(root, number, is_forward).is_ok() => chosen.push(number),
                    Ok(Trust::Compare) if self.is_so_already(root, number, is_forward) => {}
                    Ok(Trust::Compare) if self.split(root, number, is_forward) => {
                        skipped.push((number, Unrestored::NotEmpty));
                    }
                    Ok(Trust::Compare) => skipped.push((number, Unrestored::Changed)),
                    Err(why) => skipped.push((number, why)),
                }
            }
            number += 1;
        }
        (chosen, skipped)
    }

    /// Makes the chosen swaps. Returns those that were skipped because another process changed the entry or the system
    /// refused.
    ///
    /// # Errors
    /// The plan cannot be written. Nothing was changed.
    pub(crate) fn swap_chosen(
        &mut self,
        root: &Root,
        chosen: Vec<usize>,
        is_forward: bool,
    ) -> Result<Vec<(usize, Unrestored)>, ExchangeError> {
        let mut skipped = Vec::new();
        if chosen.is_empty() {
            return Ok(skipped);
        }
        for number in self.begin(chosen, is_forward)? {
            match self.swap(root, number, is_forward) {
                Ok(()) => self.plan.swaps[number].is_exchanged = is_forward,
                Err(ExchangeError::System(_, errno)) => skipped.push((number, Unrestored::System(errno.to_string()))),
                Err(_) => skipped.push((number, Unrestored::Changed)),
            }
        }
        let _ = self.finish();
        Ok(skipped)
    }

    /// Plans the entries of a folder that is to be removed as swaps of their own, so that the folder itself stays.
    /// Returns `false` if there is no such folder.
    fn split(&mut self, root: &Root, number: usize, is_forward: bool) -> bool {
        let swap = &self.plan.swaps[number];
        let (from, to) = if is_forward { (&swap.before, &swap.after) } else { (&swap.after, &swap.before) };
        let (Side::Entry { mode, latest, list: Some(list), .. }, Side::Absent) = (from, to) else { return false };
        if !root.stat_exact(&swap.path).is_ok_and(|stat| stat.st_mode == *mode) {
            return false;
        }
        let (folder, is_exchanged) = (swap.path.clone(), swap.is_exchanged);
        let sides = list::sides(list, *latest);
        // The swaps of the entries replace the one of the folder.
        self.plan.swaps[number].is_recorded = false;
        for (name, side) in sides {
            let (before, after) = if is_forward { (side, Side::Absent) } else { (Side::Absent, side) };
            let swap = Swap::new(&folder.join(name), before, after);
            self.plan.swaps.push(Swap { is_exchanged, is_recorded: true, ..swap });
        }
        true
    }

    /// Returns `true` if the project already has the entry that a swap would put there.
    fn is_so_already(&self, root: &Root, number: usize, is_forward: bool) -> bool {
        let Swap { path, before, after, .. } = &self.plan.swaps[number];
        let to = if is_forward { after } else { before };
        let above = root.open_exact(path.parent().unwrap_or(Path::new("")));
        // If the folder above cannot be opened, the project has no entry at this path.
        let (Ok(above), Some(name)) = (above, path.file_name()) else { return matches!(to, Side::Absent) };
        match (stat_at(above.as_fd(), name), to) {
            (Err(errno), Side::Absent) => errno == Errno::NOENT,
            (Ok(stat), Side::Mode(mode)) => stat.st_mode & 0o7777 == *mode,
            (Ok(stat), Side::Entry { .. }) if !to.is_folder() => {
                Side::new(above.as_fd(), name, &stat).has_content_of(to)
            }
            _ => false,
        }
    }

    /// Compares the project's entry with the one that is to be swapped out, and updates the record of both entries,
    /// because an entry with the same content may have been rewritten.
    fn renew(&mut self, root: &Root, number: usize, is_forward: bool) -> Result<(), Errno> {
        let swap = &self.plan.swaps[number];
        let (from, to) = if is_forward { (&swap.before, &swap.after) } else { (&swap.after, &swap.before) };
        let above = root.open_exact(swap.path.parent().unwrap_or(Path::new("")))?;
        let name = swap.path.file_name().ok_or(Errno::INVAL)?;
        let stat = stat_at(above.as_fd(), name);
        let new_from = match from {
            Side::Entry { .. } => {
                let stat = stat?;
                let now = Side::of_known(above.as_fd(), name, &stat, from);
                let is_same = match from.is_folder() {
                    true => from.is_folder_at(above.as_fd(), name, &stat),
                    false => now.has_content_of(from),
                };
                if !is_same {
                    return Err(Errno::BUSY);
                }
                now.with_content_of(from)
            }
            Side::Absent if matches!(stat, Err(Errno::NOENT)) => Side::Absent,
            Side::Mode(mode) if stat?.st_mode & 0o7777 == *mode => Side::Mode(*mode),
            Side::Absent | Side::Mode(_) => return Err(Errno::BUSY),
        };
        let new_to = match to {
            Side::Entry { .. } => {
                let name = number.to_string();
                let stat = stat_at(self.entries.as_fd(), name.as_ref())?;
                Side::of_known(self.entries.as_fd(), name.as_ref(), &stat, to).with_content_of(to)
            }
            Side::Absent => Side::Absent,
            Side::Mode(mode) => Side::Mode(*mode),
        };
        let swap = &mut self.plan.swaps[number];
        (swap.before, swap.after) = if is_forward { (new_from, new_to) } else { (new_to, new_from) };
        Ok(())
    }

    /// Writes the plan of the chosen swaps. Returns them in the order in which they must be made.
    fn begin(&mut self, chosen: Vec<usize>, is_forward: bool) -> Result<Vec<usize>, ExchangeError> {
        if self.is_under_way() {
            // The previous exchange could not record its end.
            self.finish().map_err(ExchangeError::Plan)?;
        }
        self.plan.choose(chosen, is_forward);
        self.list_folders().map_err(ExchangeError::Plan)?;
        // The plan is on the disk before the marker: recovery reads it as soon as the marker exists.
        self.plan.write(&self.folder).map_err(ExchangeError::Plan)?;
        fault::point();
        rustix::fs::mkdirat(&self.folder, UNDER_WAY, Mode::RWXU).map_err(|errno| ExchangeError::Plan(errno.into()))?;
        // After a power failure, only the marker shows that swaps may have been made.
        let _ = rustix::fs::fsync(&self.folder);
        Ok(self.plan.chosen.clone())
    }

    /// Records, for each folder that the project is about to get, what is in it. A later swap back must not take what
    /// another process puts into it.
    fn list_folders(&mut self) -> io::Result<()> {
        let Plan { swaps, chosen, is_forward } = &mut self.plan;
        let mut folders = Vec::new();
        for number in chosen {
            let Swap { before, after, .. } = &swaps[*number];
            if if *is_forward { after } else { before }.is_folder() {
                folders.push((*number, list::of_folder(self.entries.as_fd(), number.to_string().as_ref())));
            }
        }
        if folders.is_empty() {
            return Ok(());
        }
        // All listed entries were last changed before this moment.
        let now = Moment::next(&self.path)?;
        for (number, list) in folders {
            let Swap { before, after, .. } = &mut swaps[number];
            if *is_forward { after } else { before }.set_content((now.0, now.1), list);
        }
        Ok(())
    }

    fn is_under_way(&self) -> bool {
        stat_at(self.folder.as_fd(), UNDER_WAY.as_ref()).is_ok()
    }

    /// Records that the exchange is over. If that fails, it counts as under way, and recovery finishes it in its
    /// direction.
    fn finish(&self) -> io::Result<()> {
        fault::point();
        let written = self.plan.write(&self.folder);
        let Plan { chosen, is_forward, swaps, .. } = &self.plan;
        // If every swap was reverted, the plan on the disk already says so, and the marker must not make recovery
        // repeat the exchange.
        let nothing_was_made = chosen.iter().all(|number| swaps[*number].is_exchanged != *is_forward);
        if written.is_ok() || nothing_was_made {
            fault::point();
            rustix::fs::unlinkat(&self.folder, UNDER_WAY, AtFlags::REMOVEDIR)?;
        }
        written
    }

    /// Swaps one entry: one rename, or one change of a mode.
    fn swap(&self, root: &Root, number: usize, is_forward: bool) -> Result<(), ExchangeError> {
        let Swap { path, before, after, .. } = &self.plan.swaps[number];
        let (from, to) = if is_forward { (before, after) } else { (after, before) };
        let failed = |errno: Errno| match errno {
            // With these errors, another process has created, removed or replaced an entry on the path.
            Errno::EXIST | Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE => {
                ExchangeError::Conflict(vec![path.clone()])
            }
            errno => ExchangeError::System(path.clone(), errno),
        };
        let above = root.open_exact(path.parent().unwrap_or(Path::new(""))).map_err(failed)?;
        let name = path.file_name().ok_or_else(|| failed(Errno::INVAL))?;
        let entry = number.to_string();
        let entry = OsStr::new(entry.as_str());
        fault::point();
        let (folder, entries) = (above.as_fd(), self.entries.as_fd());
        if let (Side::Mode(from), Side::Mode(mode)) = (from, to) {
            return set_mode(folder, name, *from, *mode).map_err(failed);
        }
        exchange_names((folder, name, from), (entries, entry, to)).map_err(failed)?;
        if self.is_content(number, is_forward) {
            return Ok(());
        }
        // Another process replaced the entry after it was compared. Its version is moved back.
        exchange_names((entries, entry, from), (folder, name, to)).map_err(failed)?;
        Err(ExchangeError::Conflict(vec![path.clone()]))
    }

    /// Returns `true` if the swap moved the compared entry into the stash, so no process has replaced or changed it in
    /// between.
    fn is_content(&self, number: usize, is_forward: bool) -> bool {
        let Swap { before, after, .. } = &self.plan.swaps[number];
        let side = if is_forward { before } else { after };
        let Side::Entry { stamp, mode, .. } = side else { return true };
        let name = number.to_string();
        let Ok(stat) = stat_at(self.entries.as_fd(), name.as_str().as_ref()) else { return false };
        if stat.st_mode != *mode || !Stamp::new(&stat).is_content_of(stamp) {
            return false;
        }
        // The rename changes the ctime of the folder itself, so its entries are compared instead.
        !side.is_folder() || side.is_folder_at(self.entries.as_fd(), name.as_str().as_ref(), &stat)
    }

    /// Returns the project's entry at a path. Records a conflict if it changed since `since`.
    fn project_side(&mut self, root: &Root, path: &Path, since: Moment) -> Result<Side, ExchangeError> {
        let failed = |errno| ExchangeError::System(path.to_owned(), errno);
        let name = path.file_name().ok_or_else(|| failed(Errno::INVAL))?;
        let above = root.open_exact(path.parent().unwrap_or(Path::new("")));
        let (above, stat) = match above.and_then(|above| stat_at(above.as_fd(), name).map(|stat| (above, stat))) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Side::Absent),
            Err(errno) => return Err(failed(errno)),
        };
        let mut side = Side::new(above.as_fd(), name, &stat);
        let mut has_changed = Moment::changed_at(&stat) >= since;
        let bytes = |stat: &Stat| u64::try_from(stat.st_size).unwrap_or(0);
        if side.is_folder() {
            let mut is_old = |entry: remove::VisitedEntry<'_>| {
                self.replaced_bytes += bytes(entry.stat);
                Moment::changed_at(entry.stat) < since
            };
            has_changed = has_changed || !remove::walk(above.as_fd(), name, &mut is_old).map_err(failed)?;
        } else {
            self.replaced_bytes += bytes(&stat);
        }
        if has_changed {
            self.conflicts.push(path.to_owned());
        }
        // Everything in the folder was last changed before this moment, unless there is a conflict.
        side.set_content((since.0, since.1), None);
        Ok(side)
    }

    /// Returns the stash's entry with this name.
    fn stashed_side(&self, name: &str) -> rustix::io::Result<Side> {
        let stat = stat_at(self.entries.as_fd(), name.as_ref())?;
        Ok(Side::new(self.entries.as_fd(), name.as_ref(), &stat))
    }

    /// Syncs the entries, because they come from an overlay that is mounted `volatile`, which does not sync its files.
    fn sync_entries(&self) -> io::Result<()> {
        let entries = (0..self.plan.swaps.len()).filter(|number| self.plan.swaps[*number].after.is_entry());
        let names: Vec<String> = entries.map(|number| number.to_string()).collect();
        let mut files = Vec::new();
        for name in &names {
            let stat = stat_at(self.entries.as_fd(), name.as_str().as_ref())?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile if files.len() < MOST_SYNCED => files.push(name),
                FileType::Symlink => {}
                // A folder, whose files are not known here, or too many files: the whole file system is synced.
                _ => return Ok(rustix::fs::syncfs(&self.entries)?),
            }
        }
        for name in files {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match rustix::fs::openat(&self.entries, name.as_str(), flags, Mode::empty()) {
                Ok(file) => rustix::fs::fdatasync(&file)?,
                // A file without read permission cannot be opened.
                Err(Errno::ACCESS) => return Ok(rustix::fs::syncfs(&self.entries)?),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Deletes the stash with everything in it: the next versions before an exchange, the previous ones after it.
    ///
    /// # Errors
    /// Something in it cannot be deleted.
    pub fn delete(self) -> io::Result<()> {
        delete(&self.path, &self.folder)
    }
}

/// Finishes the exchanges whose process was killed, and deletes all stashes that neither a session nor the undo history
/// uses. Returns the number of finished exchanges. A swap whose entry another process has changed since is left as it
/// is.
///
/// A host calls this when it opens a project, before it uses its [`History`](crate::undo::History): the history
/// compares the records of the killed process with the project, so the exchange must be complete by then. `place` holds
/// the stashes of this project only.
pub fn recover(root: &Root, place: &Path) -> usize {
    let mut finished = 0;
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        // A stash that is locked belongs to a running session.
        let Ok(folder) = locked(&path) else { continue };
        let is_recorded = record::record_of(&folder).is_some_and(|record| record.exists());
        if stat_at(folder.as_fd(), UNDER_WAY.as_ref()).is_err() {
            if is_stash(&folder) && !is_recorded {
                let _ = delete(&path, &folder);
            }
            continue;
        }
        // A plan of another version of this program, for instance, is kept with the entries that it names.
        let Ok(mut stash) = Stash::read(path, folder) else { continue };
        // If the system refuses, the next start tries again.
        if stash.finish_swaps(root).is_ok() {
            finished += 1;
            // Without a record, no undo can use the previous versions.
            let _ = if is_recorded { stash.finish() } else { stash.delete() };
        }
    }
    finished
}

/// Returns `true` if a folder has no entries but those of a stash. An empty folder counts too: its process may have
/// been killed before it created any.
fn is_stash(folder: &OwnedFd) -> bool {
    let is_ours = |name: &OsString| [ENTRIES, PLAN, NEW_PLAN, RECORD].iter().any(|ours| name == ours);
    remove::names(folder.as_fd()).is_ok_and(|names| names.iter().all(is_ours))
}

/// Deletes a stash. If the process is killed, [`recover`] still sees that what is left is a stash, and that it has no
/// exchange to finish.
fn delete(path: &Path, folder: &OwnedFd) -> io::Result<()> {
    let (Some(place), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    fault::point();
    // The marker is removed first, so that recovery does not finish an exchange whose entries are being deleted.
    match rustix::fs::unlinkat(folder, UNDER_WAY, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    fault::point();
    match remove_tree(folder.as_fd(), ENTRIES.as_ref()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    fault::point();
    let place = rustix::fs::open(place, FOLDER, Mode::empty())?;
    Ok(remove_tree(place.as_fd(), name)?)
}

impl Stash {
    /// Makes the chosen swaps that were not made. Leaves entries that another process has changed since.
    ///
    /// # Errors
    /// The system refused one of them.
    fn finish_swaps(&mut self, root: &Root) -> Result<(), ExchangeError> {
        let mut refused = Ok(());
        let is_forward = self.plan.is_forward;
        for number in self.plan.chosen.clone() {
            let swapped =
                if self.is_pending(root, number, is_forward) { self.swap(root, number, is_forward) } else { Ok(()) };
            // A swap that another process prevents counts as not made.
            self.plan.swaps[number].is_exchanged = swapped.is_ok() == is_forward;
            if let Err(error @ ExchangeError::System(..)) = swapped {
                refused = Err(error);
            }
        }
        refused
    }

    /// Returns `true` if a swap was not made: the entry that should be in the project is still in the stash, or, if the
    /// path is to be removed, the project still has its entry.
    fn is_pending(&self, root: &Root, number: usize, is_forward: bool) -> bool {
        let Swap { path, before, after, .. } = &self.plan.swaps[number];
        let (from, to) = if is_forward { (before, after) } else { (after, before) };
        let name = number.to_string();
        let is_in_stash =
            |side: &Side| stat_at(self.entries.as_fd(), name.as_str().as_ref()).is_ok_and(|stat| side.is_file(&stat));
        let is_in_project = |side: &Side| root.stat_exact(path).is_ok_and(|stat| side.is_file(&stat));
        match to {
            Side::Mode(_) => {
                matches!(from, Side::Mode(mode) if root.stat_exact(path).is_ok_and(|stat| stat.st_mode & 0o7777 == *mode))
            }
            Side::Entry { .. } => is_in_stash(to),
            Side::Absent => is_in_project(from),
        }
    }
}

/// Swaps the entries of two names, each given with its side. One of them can be absent.
fn exchange_names(
    (folder, name, from): (BorrowedFd<'_>, &OsStr, &Side),
    (other_folder, other_name, to): (BorrowedFd<'_>, &OsStr, &Side),
) -> rustix::io::Result<()> {
    // Moving a folder to another one changes its `..`, which requires write permission for the moved folder.
    let sides = [(folder, name, from), (other_folder, other_name, to)];
    for (folder, name, side) in sides {
        if side.shut_mode().is_some() {
            rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
        }
    }
    // The flags keep a rename from overwriting an entry that another process has just created.
    let done = match (from, to) {
        (Side::Absent, Side::Absent) => Ok(()),
        (Side::Absent, _) => rustix::fs::renameat_with(other_folder, other_name, folder, name, RenameFlags::NOREPLACE),
        (_, Side::Absent) => rustix::fs::renameat_with(folder, name, other_folder, other_name, RenameFlags::NOREPLACE),
        _ => rustix::fs::renameat_with(other_folder, other_name, folder, name, RenameFlags::EXCHANGE),
    };
    // After the swap, each entry has the other name.
    let sides = if done.is_ok() { [(other_folder, other_name, from), (folder, name, to)] } else { sides };
    for (folder, name, side) in sides {
        if let Some(mode) = side.shut_mode() {
            rustix::fs::chmodat(folder, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        }
    }
    done
}

/// Sets the mode of a folder that has the mode `from`.
fn set_mode(folder: BorrowedFd<'_>, name: &OsStr, from: u32, mode: u32) -> rustix::io::Result<()> {
    if stat_at(folder, name)?.st_mode & 0o7777 != from {
        return Err(Errno::STALE);
    }
    match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
        Ok(opened) => rustix::fs::fchmod(&opened, Mode::from_raw_mode(mode)),
        // Even its owner cannot open a folder without read permission.
        Err(Errno::ACCESS) => rustix::fs::chmodat(folder, name, Mode::from_raw_mode(mode), AtFlags::empty()),
        Err(errno) => Err(errno),
    }
}

/// Opens a folder and locks it.
fn locked(path: &Path) -> io::Result<OwnedFd> {
    let folder = rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

fn stat_at(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}
