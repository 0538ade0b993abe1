//! What a change would make of files, before it is made; and the same change taken back.

use crate::attributes::Like;
use crate::changes::commit::{Target, Wanted};
use crate::changes::write::{Old, conflict};
use crate::root::failures;
use crate::root::resolve::Last;
use crate::{EditFile, ReplaceText, Version, Workspace, names};
use rustix::fs::{AtFlags, FileType};
use std::borrow::Cow;
use std::path::Path;
use toolfence_patch::{Change, Done, Kind};
use toolfence_protocol::ToolFailure;

/// One file of a change that is not made yet.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Draft {
    /// The real name relative to the root.
    pub path: String,
    /// What is there; `None` for no file.
    pub before: Option<Vec<u8>>,
    /// What shall be there; `None` for no file.
    pub after: Option<Vec<u8>>,
    /// The content it comes from, where that is another file's: of one that is renamed or copied.
    origin: Option<Vec<u8>>,
    /// What comes back with the old content.
    was: Option<Like>,
    /// How many folders are made for it.
    folders: usize,
}

impl Draft {
    /// The content before, for an edit of this very file.
    pub fn base(&self) -> Option<Version> {
        self.before.as_deref().map(Version::of)
    }

    /// The text it comes from, be it another file's, and the text it shall be. Bytes that are not UTF-8 are U+FFFD, and no
    /// file is "".
    pub fn texts(&self) -> [Cow<'_, str>; 2] {
        let before = self.before.as_ref().or(self.origin.as_ref());
        [before, self.after.as_ref()].map(|bytes| String::from_utf8_lossy(bytes.map_or(&[], Vec::as_slice)))
    }
}

impl Workspace {
    /// What [`write_over`](Workspace::write_over) would do; `None` where the old file is longer than what may be written.
    ///
    /// # Errors
    /// Those of writing it, as far as they can be known before.
    pub fn draft_write(&self, path: &str, content: &str, base: Option<Version>) -> Result<Option<Draft>, ToolFailure> {
        let (spot, name) = self.spot_for(path, content)?;
        match &spot.last {
            Last::Folder => Err(failures::not_a_file(path, FileType::Directory)),
            Last::Missing(missing) => Ok(Some(Draft {
                path: name,
                before: None,
                after: Some(content.into()),
                was: None,
                origin: None,
                folders: missing.len().saturating_sub(1),
            })),
            Last::File(_) => {
                let over = self.over(path, &spot, content, base)?;
                let after = Some(over.content.into_bytes());
                let draft = |old| Draft {
                    path: name,
                    before: Some(old),
                    after,
                    origin: None,
                    was: Some(over.found.like()),
                    folders: 0,
                };
                Ok(over.old.map(draft))
            }
        }
    }

    /// What [`edit`](Workspace::edit) would do.
    ///
    /// # Errors
    /// Those of the edit, as far as they can be known before.
    pub fn draft_edit(&self, wanted: &EditFile) -> Result<Draft, ToolFailure> {
        self.planned_edit(wanted).map(Draft::from)
    }

    /// What [`replace_text`](Workspace::replace_text) would do.
    ///
    /// # Errors
    /// Those of the replacement, as far as they can be known before.
    pub fn draft_replacement(&self, wanted: &ReplaceText) -> Result<Draft, ToolFailure> {
        self.planned_replacement(wanted).map(Draft::from)
    }

    /// What [`apply_patch`](Workspace::apply_patch) would do.
    ///
    /// # Errors
    /// Those of the patch, as far as they can be known before.
    pub fn draft_patch(&self, text: &str) -> Result<Vec<Draft>, ToolFailure> {
        let (plan, files) = self.planned_patch(text)?;
        let draft = |change: &Change| {
            let Wanted { target, .. } = files.wanted(change)?;
            let folders = match &target.spot.last {
                Last::Missing(missing) => missing.len().saturating_sub(1),
                _ => 0,
            };
            let carried = |done: &&Done| matches!(done.kind, Kind::Rename | Kind::Copy) && done.new == change.path;
            let origin = plan.files.iter().find(carried).map(|done| &done.old);
            let origin = origin.and_then(|old| plan.changes.iter().find(|change| change.path == *old)?.before.clone());
            Ok(Draft {
                path: names::text_of(&target.spot.name()),
                before: change.before.clone(),
                after: change.after.clone(),
                origin,
                was: target.old.as_ref().map(Old::like),
                folders,
            })
        };
        plan.changes.iter().map(draft).collect()
    }

    /// Takes a change back that was made as drafted: all of its files are as they were, or none.
    ///
    /// # Errors
    /// `conflict` where a file is not what the change left: somebody else has been there, and their work stays. Else as for
    /// [`apply_patch`](Workspace::apply_patch).
    pub fn take_back(&self, drafts: &[Draft]) -> Result<(), ToolFailure> {
        let targets: Vec<Target> = drafts.iter().map(|draft| self.as_left(draft)).collect::<Result<_, _>>()?;
        let wanted: Vec<Wanted<'_>> = drafts
            .iter()
            .zip(&targets)
            .map(|(draft, target)| Wanted {
                target,
                content: draft.before.as_deref(),
                like: draft.was.clone(),
                executable: None,
            })
            .collect();
        self.change_together(&wanted)?;
        for draft in drafts.iter().filter(|draft| draft.before.is_none()) {
            self.remove_folders(draft);
        }
        Ok(())
    }

    /// The file that a change has left, if it is still that.
    fn as_left(&self, draft: &Draft) -> Result<Target, ToolFailure> {
        let path = &draft.path;
        let (spot, _) = self.spot_to_write(path)?;
        let (now, old) = match &spot.last {
            Last::File(_) => self.old_content(path, &spot).map(|(content, old)| (content, Some(old)))?,
            Last::Missing(_) => (None, None),
            Last::Folder => return Err(failures::not_a_file(path, FileType::Directory)),
        };
        if now != draft.after {
            return Err(conflict(path));
        }
        Ok(Target { path: path.clone(), spot, old })
    }

    /// The folders that were made for a file which is no more. One that is in use by now stays.
    fn remove_folders(&self, draft: &Draft) {
        for folder in Path::new(&draft.path).ancestors().skip(1).take(draft.folders) {
            let Some(above) = folder.parent().and_then(Path::to_str) else { return };
            let (Ok(above), Some(name)) = (self.folder(if above.is_empty() { "." } else { above }), folder.file_name())
            else {
                return;
            };
            let recording = self.record_removal(&above, name, folder);
            if rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            recording.keep();
        }
    }
}

impl From<crate::changes::edit::Planned> for Draft {
    fn from(planned: crate::changes::edit::Planned) -> Draft {
        Draft {
            path: planned.name,
            before: Some(planned.old),
            after: Some(planned.content),
            origin: None,
            was: Some(planned.found.like()),
            folders: 0,
        }
    }
}
