//! Changes files, each change as a whole or not at all.
//!
//! Every change is planned as a [`Draft`], which can be inspected, and made by [`Changes::commit`]. Architecture
//! invariant: only a commit, an undo and the exchange of a [`stash`](crate::stash) change a file of the project, and
//! all three call the [`Recorder`] first.

#[cfg(test)]
mod bytes;
mod commit;
#[cfg(test)]
mod crash;
pub(crate) mod draft;
pub(crate) mod edit;
mod exchange;
pub(crate) mod journal;
pub(crate) mod patch;
pub(crate) mod record;
mod target;
pub(crate) mod temp;
mod utf8;
pub(crate) mod write;

use crate::root::{Root, conflict};
use crate::version::Version;
use commit::PlannedFile;
use draft::{Draft, FileDraft, Report};
use edit::{EditData, EditFile, ReplaceText};
use patch::Patched;
use record::{RecordedBy, Recorder};
use rustix::fs::AtFlags;
use std::path::Path;
use std::sync::Arc;
use target::{Old, Target};
use toolfence_protocol::{Limits, ToolFailure};
use write::WriteReport;

/// Changes files below a root.
#[derive(Debug, Clone)]
pub struct Changes {
    root: Arc<Root>,
    recorder: Option<Arc<dyn Recorder>>,
    /// Bytes of a file that can be written or edited.
    file_bytes: u64,
}

impl Changes {
    pub(crate) fn new(root: Arc<Root>) -> Changes {
        Changes { root, recorder: None, file_bytes: Limits::default().file_bytes }
    }

    /// Sets the recorder, which is called before every change.
    pub(crate) fn record_to(&mut self, recorder: Arc<dyn Recorder>) {
        self.recorder = Some(recorder);
    }

    /// Returns a copy of these operations that changes files of at most `file_bytes` bytes; the default is 10 MiB. It
    /// neither writes nor edits larger files. The recorder keeps the old contents of files up to this size or the
    /// default, whichever is larger.
    #[must_use]
    pub fn up_to(&self, file_bytes: u64) -> Changes {
        Changes { file_bytes, ..self.clone() }
    }

    /// Writes a file and creates its missing folders. Keeps the mode, CRLF line endings and byte order mark of an old
    /// file.
    ///
    /// # Errors
    /// `too_large` over the size of [`up_to`](Changes::up_to); `denied` for blocked and protected names;
    /// `permission_denied` outside the root, for read-only files and if the system refuses; `invalid_argument` if the
    /// path is not a regular file; `conflict` if the file changed meanwhile. After an error every byte is as it was.
    pub fn write(&self, path: &str, content: &str) -> Result<WriteReport, ToolFailure> {
        self.write_over(path, content, None)
    }

    /// Writes a file like [`write`](Changes::write), if it still has the content of the version `base`.
    ///
    /// # Errors
    /// The errors of [`write`](Changes::write), and `conflict` if the file has other content than `base`.
    pub fn write_over(&self, path: &str, content: &str, base: Option<Version>) -> Result<WriteReport, ToolFailure> {
        self.commit(&self.draft_write(path, content, base)?)
    }

    /// Replaces line ranges of a text file, all or none. Keeps the mode, line endings and byte order mark, and replaces
    /// the file atomically like [`write`](Changes::write).
    ///
    /// # Errors
    /// `not_found` with close names; `conflict` if the file is not `base` or changed meanwhile; `invalid_argument` for
    /// ranges that are not in the file or overlap, and for files that are not text; `too_large` over the size of
    /// [`up_to`](Changes::up_to); and the errors of [`write`](Changes::write). After an error every byte is as it was.
    pub fn edit(&self, wanted: &EditFile) -> Result<WriteReport, ToolFailure> {
        self.commit_unless_dry_run(self.draft_edit(wanted)?, wanted.dry_run)
    }

    /// Replaces a passage that occurs exactly once, counting overlapping occurrences. Otherwise works like
    /// [`edit`](Changes::edit).
    ///
    /// # Errors
    /// `not_unique` with the lines of all occurrences; `no_match` with the most similar part of the file;
    /// `invalid_argument` if the passage is empty or equal to its replacement; and the errors of
    /// [`edit`](Changes::edit).
    pub fn replace_text(&self, wanted: &ReplaceText) -> Result<WriteReport, ToolFailure> {
        self.commit_unless_dry_run(self.draft_replacement(wanted)?, wanted.dry_run)
    }

    /// Sets and removes values of a JSON or JSONC file, all or none. Keeps the rest of the text byte for byte.
    /// Otherwise works like [`edit`](Changes::edit).
    ///
    /// `no_match` if a location does not exist; `invalid_argument` if the file is not JSON or has a name twice in an
    /// object; and the errors of [`edit`](Changes::edit).
    pub fn edit_data(&self, wanted: &EditData) -> Result<WriteReport, ToolFailure> {
        self.commit_unless_dry_run(self.draft_data(wanted)?, wanted.dry_run)
    }

    /// Applies a unified diff or a `*** Begin Patch` text to all of its files, or to none. With `dry_run`, writes
    /// nothing.
    ///
    /// # Errors
    /// `invalid_argument` if the text is not a patch; `no_match` and `not_unique` if hunks have no place; `not_found`
    /// for files that do not exist; `too_large` for more than 200 files, or more than 100 MB of files; the errors of
    /// [`write`](Changes::write); `conflict` if a file changed meanwhile. After an error every byte is as it was.
    pub fn apply_patch(&self, text: &str, dry_run: bool) -> Result<Patched, ToolFailure> {
        self.commit_unless_dry_run(self.draft_patch(text)?, dry_run)
    }

    /// Plans the change of [`write_over`](Changes::write_over).
    ///
    /// # Errors
    /// The errors of writing the file, as far as they are detected before.
    pub fn draft_write(
        &self,
        path: &str,
        content: &str,
        base: Option<Version>,
    ) -> Result<Draft<WriteReport>, ToolFailure> {
        write::draft(&self.root, self.file_bytes, path, content, base)
    }

    /// Plans the change of [`edit`](Changes::edit).
    ///
    /// # Errors
    /// The errors of the edit, as far as they are detected before.
    pub fn draft_edit(&self, wanted: &EditFile) -> Result<Draft<WriteReport>, ToolFailure> {
        edit::draft_edit(&self.root, self.file_bytes, wanted)
    }

    /// Plans the change of [`replace_text`](Changes::replace_text).
    ///
    /// # Errors
    /// The errors of the replacement, as far as they are detected before.
    pub fn draft_replacement(&self, wanted: &ReplaceText) -> Result<Draft<WriteReport>, ToolFailure> {
        edit::draft_replacement(&self.root, self.file_bytes, wanted)
    }

    /// Plans the change of [`edit_data`](Changes::edit_data).
    ///
    /// # Errors
    /// The errors of the edits, as far as they are detected before.
    pub fn draft_data(&self, wanted: &EditData) -> Result<Draft<WriteReport>, ToolFailure> {
        edit::draft_data(&self.root, self.file_bytes, wanted)
    }

    /// Plans the change of [`apply_patch`](Changes::apply_patch).
    ///
    /// # Errors
    /// The errors of the patch, as far as they are detected before.
    pub fn draft_patch(&self, text: &str) -> Result<Draft<Patched>, ToolFailure> {
        self.draft_patch_in("", text)
    }

    /// Plans a patch whose names are relative to `folder`, a path like those of other tools; "" is the root. The paths
    /// of the report are relative to the root.
    ///
    /// # Errors
    /// The errors of [`draft_patch`](Changes::draft_patch); `invalid_argument` for a folder that is a file or contains
    /// `..`, and `not_found` for one that does not exist, unless the patch only creates files.
    pub fn draft_patch_in(&self, folder: &str, text: &str) -> Result<Draft<Patched>, ToolFailure> {
        patch::draft(&self.root, self.file_bytes, folder, text)
    }

    /// Makes a planned change.
    ///
    /// # Errors
    /// `conflict` if a file, or its folder, is not what the draft found; the errors of the system. After an error every
    /// byte is as it was.
    pub fn commit<R: Report>(&self, draft: &Draft<R>) -> Result<R, ToolFailure> {
        let needed = draft.files.iter().enumerate().filter(|(_, file)| file.is_needed());
        let (places, wanted): (Vec<usize>, Vec<PlannedFile<'_>>) =
            needed.map(|(at, file)| (at, file.planned_file())).unzip();
        let lost =
            if wanted.is_empty() { Vec::new() } else { commit::commit(&self.root, self.active_recorder(), &wanted)? };
        let lost = lost.into_iter().map(|(at, lost)| (places[at], lost)).collect();
        Ok(draft.report.clone().committed(&draft.files, lost))
    }

    /// Reverts a change that was made by [`commit`](Changes::commit), in all of its files or in none.
    ///
    /// # Errors
    /// `conflict` if another process has changed a file since, whose content then stays; and the errors of
    /// [`commit`](Changes::commit).
    pub fn take_back<R>(&self, draft: &Draft<R>) -> Result<(), ToolFailure> {
        let files: Vec<&FileDraft> = draft.files.iter().filter(|file| file.is_needed()).collect();
        let mut targets = Vec::with_capacity(files.len());
        for file in &files {
            if file.texts().is_none() {
                return Err(draft::not_kept(&file.path));
            }
            let (target, _, now) = Target::find(&self.root, self.file_bytes, &file.path)?;
            if now != file.after_content() {
                return Err(conflict(&file.path));
            }
            targets.push(target);
        }
        let back = files.iter().zip(&targets).map(|(file, target)| PlannedFile {
            target,
            content: file.old_bytes(),
            like: file.target.old.as_ref().map(Old::like),
            executable: None,
        });
        commit::commit(&self.root, self.active_recorder(), &back.collect::<Vec<_>>())?;
        // Only a new file can have created folders.
        for file in files.iter().filter(|file| file.old_bytes().is_none()) {
            self.remove_folders(file);
        }
        Ok(())
    }

    /// Returns `true` if changes are currently recorded, so that they can be undone.
    #[doc(hidden)]
    pub fn are_recorded(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.is_recording())
    }

    fn commit_unless_dry_run<R: Report>(&self, draft: Draft<R>, dry_run: bool) -> Result<R, ToolFailure> {
        if dry_run { Ok(draft.into_report()) } else { self.commit(&draft) }
    }

    fn active_recorder(&self) -> RecordedBy<'_> {
        // A project may lower the limit, which must not prevent the user from undoing changes.
        RecordedBy::new(self.recorder.as_deref(), self.file_bytes.max(Limits::default().file_bytes))
    }

    /// Removes the folders that were created for a file that was removed. Folders in use stay.
    fn remove_folders(&self, file: &FileDraft) {
        for folder in Path::new(&file.path).ancestors().skip(1).take(file.target.missing_folders()) {
            let Some(above) = folder.parent().and_then(Path::to_str) else { return };
            let above = self.root.folder(if above.is_empty() { "." } else { above });
            let (Ok(above), Some(name)) = (above, folder.file_name()) else { return };
            let recording = self.active_recorder().removal(&above, name, folder);
            if rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            recording.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Workspace;
    use std::fs;
    use std::path::Path;
    use toolfence_policy::rules::PathRules;
    use toolfence_protocol::ErrorCode;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Add File: b/c/d\n+new\n*** Delete File: \
                         x\n*** Update File: y\n@@\n-two\n+2\n*** End Patch\n";

    /// Returns every file and folder with its content.
    fn picture(folder: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path()) {
            lines.push(format!("{} {:?}", entry.display(), fs::read_to_string(&entry).ok()));
            lines.extend(if entry.is_dir() { picture(&entry) } else { Vec::new() });
        }
        lines.sort();
        lines
    }

    /// If another process changes a file between plan and commit, its version stays.
    #[test]
    fn a_change_that_fails_is_reverted() {
        let by_others: [fn(&Path); 5] = [
            |root| fs::write(root.join("a"), "other").expect("it can be written"),
            |root| fs::remove_file(root.join("x")).expect("it is there"),
            |root| fs::write(root.join("y"), "other").expect("it can be written"),
            |root| fs::create_dir_all(root.join("b/c/d")).expect("it can be made"),
            |root| fs::write(root.join("b"), "other").expect("it can be written"),
        ];
        for act in by_others {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            for (name, text) in [("a", "one\n"), ("x", "gone\n"), ("y", "two\n")] {
                fs::write(home.path().join(name), text).expect("it can be written");
            }
            let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
            let draft = workspace.changes().draft_patch(PATCH).expect("it applies");
            act(home.path());
            let before = picture(home.path());
            let failure = workspace.changes().commit(&draft).expect_err("another process was faster");
            assert!(matches!(failure.code, ErrorCode::Conflict | ErrorCode::NotFound), "{failure:?}");
            assert_eq!(picture(home.path()), before);
        }
    }
}
