//! Changes several files together: all or none.
//!
//! All new content is written to temporary files first. Then each is renamed into place atomically. If one rename
//! fails, the earlier ones are reverted from links that were kept to the old files.

use crate::attributes::Like;
use crate::changes::journal::Journal;
use crate::changes::record::{PendingChange, RecordedBy};
use crate::changes::target::Target;
use crate::changes::temp::{CreatedFolders, Destination, Temp, TempFolder};
use crate::fault;
use crate::root::resolve::{Last, Spot};
use crate::root::{Root, conflict, not_a_file, of_io, of_system};
use crate::stat::{is_content_of, is_same};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};

/// The planned state of one file.
#[derive(Debug)]
pub(super) struct PlannedFile<'w> {
    pub(super) target: &'w Target,
    /// `None` for no file.
    pub(super) content: Option<&'w [u8]>,
    /// The owner, mode and attributes that the new file gets; `None` for those of any new file.
    pub(super) like: Option<Like>,
    pub(super) executable: Option<bool>,
}

/// The open folder of a file, and the file's name in it.
struct ParentFolder<'j> {
    folder: OwnedFd,
    /// The path relative to the root.
    folder_name: PathBuf,
    name: OsString,
    journal: &'j Journal,
}

impl ParentFolder<'_> {
    fn home(&self) -> TempFolder<'_> {
        TempFolder { folder: &self.folder, name: &self.folder_name, journal: self.journal }
    }
}

/// Makes the planned changes, or none of them if one fails. Returns the index in `wanted` of each file that could not
/// keep all properties, with the missing ones.
pub(super) fn commit(
    root: &Root,
    recorded_by: RecordedBy<'_>,
    wanted: &[PlannedFile<'_>],
) -> Result<Vec<(usize, Vec<Text>)>, ToolFailure> {
    // Declared first and so dropped last, because it must list the temporary files until they are gone.
    let journal = Journal::begin(root);
    let mut made = Folders(Vec::new());
    let places: Vec<ParentFolder<'_>> =
        wanted.iter().map(|one| ParentFolder::open(root, one, &mut made, &journal)).collect::<Result<_, _>>()?;
    let mut staged = Vec::new();
    for (one, place) in wanted.iter().zip(&places) {
        staged.push(CommitStep { wanted: one, place, temp: one.temp(place)?, old: None, new: None });
    }
    // Collected before the steps are sorted, because the indices are those of `wanted`.
    let lost = staged.iter().map(|step| step.temp.as_ref().map_or(&[][..], Temp::lost).to_vec());
    let lost: Vec<(usize, Vec<Text>)> = lost.enumerate().filter(|(_, lost)| !lost.is_empty()).collect();
    // Files are written before others are removed, so that a crash in between loses nothing.
    staged.sort_by_key(|step| step.temp.is_none());
    // A single file has no earlier changes to revert, so no link to its old content is kept.
    let several = staged.len() > 1;
    let made_now: Vec<&CreatedFolders> = made.0.iter().collect();
    let recording = recorded_by.change(staged.iter().map(CommitStep::pending_change), &made_now);
    for at in 0..staged.len() {
        if let Err(failure) = staged[at].carry_out(several) {
            return Err(put_back(&mut staged[..at], failure));
        }
    }
    recording.keep();
    made.keep();
    Ok(lost)
}

impl<'j> ParentFolder<'j> {
    fn open(
        root: &Root,
        wanted: &PlannedFile<'_>,
        made: &mut Folders,
        journal: &'j Journal,
    ) -> Result<ParentFolder<'j>, ToolFailure> {
        let Target { path, spot, .. } = wanted.target;
        let home = TempFolder { folder: &spot.folder, name: &spot.folder_name, journal };
        refuse_moved(root, path, spot)?;
        match &spot.last {
            Last::File(name) => {
                let folder = spot.folder.try_clone().map_err(|error| of_io(&error, path))?;
                Ok(ParentFolder { folder, folder_name: spot.folder_name.clone(), name: name.clone(), journal })
            }
            Last::Missing(names) => {
                let Some((name, folders)) = names.split_last() else {
                    return Err(not_a_file(path, FileType::Directory));
                };
                let (folder, new) = CreatedFolders::create(home, folders).map_err(|errno| of_system(errno, path))?;
                made.0.push(new);
                let by_hand = folders.iter().fold(spot.folder_name.clone(), |path, name| path.join(name));
                let folder_name = root.real_folder(path, &folder, &by_hand)?;
                // Only now are the real names of the new folders known, so the rules are applied again.
                root.refuse_unwritable(path, &folder_name.join(Path::new(name)))?;
                Ok(ParentFolder { folder, folder_name, name: name.clone(), journal })
            }
            Last::Folder => Err(not_a_file(path, FileType::Directory)),
        }
    }
}

/// Refuses a change in a folder that was moved since the change was planned: the rules judged its old name, and
/// checkers may have run for minutes since.
fn refuse_moved(root: &Root, path: &str, spot: &Spot) -> Result<(), ToolFailure> {
    let now = root.real_folder(path, &spot.folder, &spot.folder_name)?;
    if now == spot.folder_name { Ok(()) } else { Err(conflict(path)) }
}

/// Returns the error for a file that could not be put in place.
fn commit_failure(errno: Errno, path: &str) -> ToolFailure {
    match errno {
        Errno::EXIST | Errno::STALE => conflict(path),
        errno => of_system(errno, path),
    }
}

impl PlannedFile<'_> {
    fn temp<'p>(&self, place: &'p ParentFolder<'_>) -> Result<Option<Temp<'p>>, ToolFailure> {
        let failed = |error: std::io::Error| of_io(&error, &self.target.path);
        let Some(content) = self.content else { return Ok(None) };
        let temp = Temp::write(place.home(), content, self.like.as_ref()).map_err(failed)?;
        if let Some(executable) = self.executable {
            temp.set_executable(executable).map_err(failed)?;
        }
        Ok(Some(temp))
    }
}

/// Folders that were created for new files. Dropping them removes them, the innermost first.
struct Folders(Vec<CreatedFolders>);

impl Folders {
    fn keep(mut self) {
        self.0.drain(..).for_each(CreatedFolders::keep);
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

struct CommitStep<'s> {
    wanted: &'s PlannedFile<'s>,
    place: &'s ParentFolder<'s>,
    temp: Option<Temp<'s>>,
    /// The old file, while it may still be restored.
    old: Option<Temp<'s>>,
    /// The status of the new file, once it is in place.
    new: Option<Stat>,
}

impl CommitStep<'_> {
    fn pending_change(&self) -> PendingChange<'_> {
        let content = self.temp.as_ref().zip(self.wanted.content).map(|(temp, content)| (content, temp));
        PendingChange::new(self.place.home(), &self.place.name, self.wanted.target.stat(), content)
    }

    fn carry_out(&mut self, keep_old: bool) -> Result<(), ToolFailure> {
        let path = &self.wanted.target.path;
        let system = |errno: Errno| of_system(errno, path);
        let ParentFolder { folder, name, .. } = self.place;
        if let Some(before) = self.wanted.target.stat() {
            // A replaced file is compared once more after the rename; for a removal, this is the only check.
            let now = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            if !now.is_ok_and(|now| is_same(&now, before)) {
                return Err(conflict(path));
            }
            if keep_old {
                self.old = Some(Temp::link(self.place.home(), name).map_err(|error| of_io(&error, path))?);
            }
        }
        let onto = self.wanted.target.stat().map_or(Destination::Nothing, Destination::This);
        match self.temp.take() {
            Some(temp) => {
                let new = temp.stat().map_err(system)?;
                temp.rename(name, onto).map_err(|errno| commit_failure(errno, path))?;
                self.new = Some(new);
                Ok(())
            }
            None => {
                fault::point();
                rustix::fs::unlinkat(folder, name, AtFlags::empty()).map_err(system)
            }
        }
    }

    /// Restores the old state.
    ///
    /// # Errors
    /// `STALE` or `EXIST` if another process has changed the file since; its content is kept then.
    fn put_back(&mut self) -> Result<(), Errno> {
        let ParentFolder { folder, name, .. } = self.place;
        match (self.old.take(), &self.new) {
            (Some(old), Some(new)) => old.rename(name, Destination::This(new)),
            (Some(old), None) => old.rename(name, Destination::Nothing),
            (None, new) => {
                let now = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if !new.as_ref().is_some_and(|new| is_content_of(&now, new)) {
                    return Err(Errno::STALE);
                }
                rustix::fs::unlinkat(folder, name, AtFlags::empty())
            }
        }
    }
}

/// Reverts the steps, the last first, and adds to the failure if one of them cannot be reverted.
fn put_back(done: &mut [CommitStep<'_>], mut failure: ToolFailure) -> ToolFailure {
    for step in done.iter_mut().rev() {
        if let Err(errno) = step.put_back() {
            let path = &step.wanted.target.path;
            failure.code = ErrorCode::IoError;
            let not_put_back = text!(
                "{path} was changed before that and could not be put back ({error}).",
                path = format!("{path:?}"),
                error = errno.to_string()
            );
            failure.message = failure.message.then(not_put_back);
        }
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use toolfence_policy::rules::PathRules;

    /// Commits new contents of `old` and `new` and the removal of `gone`, lets `other` act, and reverts. Returns the
    /// message, and the three contents.
    fn revert_after(other: impl FnOnce(&Path)) -> (String, [Option<String>; 3]) {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let names = ["old", "new", "gone"];
        fs::write(home.path().join("old"), "before").expect("it can be written");
        fs::write(home.path().join("gone"), "before").expect("it can be written");
        let root = Root::open(home.path(), PathRules::default(), None).expect("it is a folder");
        let targets = names.map(|name| Target::find(&root, 100, name).expect("it can be found").0);
        let contents = [Some(b"after".as_slice()), Some(b"after".as_slice()), None];
        let wanted = targets.iter().zip(contents);
        let wanted: Vec<PlannedFile<'_>> =
            wanted.map(|(target, content)| PlannedFile { target, content, like: None, executable: None }).collect();
        let journal = Journal::begin(&root);
        let mut made = Folders(Vec::new());
        let place = |one| ParentFolder::open(&root, one, &mut made, &journal).expect("the folder is there");
        let places: Vec<ParentFolder<'_>> = wanted.iter().map(place).collect();
        let steps = wanted.iter().zip(&places);
        let mut steps: Vec<CommitStep<'_>> = steps
            .map(|(one, place)| {
                let temp = one.temp(place).expect("it can be written");
                CommitStep { wanted: one, place, temp, old: None, new: None }
            })
            .collect();
        steps.iter_mut().for_each(|step| step.carry_out(true).expect("it can be carried out"));
        other(home.path());
        let failure = put_back(&mut steps, ToolFailure::new(ErrorCode::Conflict, "x."));
        let contents = names.map(|name| fs::read_to_string(home.path().join(name)).ok());
        (failure.message.to_string(), contents)
    }

    #[test]
    fn earlier_changes_are_reverted() {
        let (message, contents) = revert_after(|_| ());
        assert_eq!(message, "x.");
        assert_eq!(contents, [Some("before".into()), None, Some("before".into())]);
    }

    #[test]
    fn a_revert_overwrites_no_change_of_another_process() {
        let (message, contents) = revert_after(|home| {
            for name in ["old", "new", "gone"] {
                fs::write(home.join(name), "another process").expect("it can be written");
            }
        });
        assert_eq!(message.matches("could not be put back").count(), 3, "{message}");
        assert_eq!(contents, [(); 3].map(|()| Some("another process".into())));
    }
}
