//! The plan of a change: what it would make of each file.

use crate::attributes::Like;
use crate::changes::commit::PlannedFile;
use crate::changes::target::{Content, Old, Target};
use crate::changes::utf8;
use crate::root::path_arg::quoted;
use crate::version::Version;
use std::borrow::Cow;
use toolfence_protocol::text::Field;
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};

/// A planned change that was not made yet: the new state of each file, and a report.
///
/// It holds the folders of its files open, so that a commit changes the files that were read, or nothing.
#[derive(Debug)]
pub struct Draft<R> {
    pub(super) files: Vec<FileDraft>,
    pub(super) report: R,
}

impl<R> Draft<R> {
    /// Returns a change of these files.
    ///
    /// # Errors
    /// `invalid_argument` if the change would destroy bytes that are not UTF-8.
    pub(super) fn new(files: Vec<FileDraft>, report: R) -> Result<Draft<R>, ToolFailure> {
        for file in &files {
            file.refuse_loss()?;
        }
        Ok(Draft { files, report })
    }

    /// Returns the planned state of each file, in the order of the change.
    pub fn files(&self) -> &[FileDraft] {
        &self.files
    }

    /// Returns the report that a dry run gives.
    pub fn report(&self) -> &R {
        &self.report
    }

    /// Returns only the report, if the change is not to be made.
    pub fn into_report(self) -> R {
        self.report
    }
}

/// The report of a change: [`WriteReport`](super::WriteReport) for one file, [`Patched`](super::Patched) for a patch.
pub trait Report: Clone + Send + Sync + 'static {
    /// Returns the report of a change that was made. `lost` has the index in `files` of each file that could not keep
    /// all properties, with the missing ones.
    #[must_use]
    fn committed(self, files: &[FileDraft], lost: Vec<(usize, Vec<Text>)>) -> Self;
}

/// One file of a change that is not made yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileDraft {
    /// The real name relative to the root.
    pub path: String,
    pub(super) target: Target,
    pub(super) before: Content,
    /// The planned content; `None` for no file.
    pub(super) after: Option<Vec<u8>>,
    /// The content of the file that this one is renamed or copied from.
    pub(super) origin: Option<Vec<u8>>,
    /// The owner, mode and attributes that the file gets, if they are not those of the file that it replaces.
    pub(super) like: Option<Like>,
    pub(super) executable: Option<bool>,
}

impl FileDraft {
    pub(super) fn new(path: String, target: Target, before: Content, after: Option<Vec<u8>>) -> FileDraft {
        FileDraft { path, target, before, after, origin: None, like: None, executable: None }
    }

    fn refuse_loss(&self) -> Result<(), ToolFailure> {
        let Some(after) = &self.after else { return Ok(()) };
        match (&self.before, &self.origin) {
            (_, Some(before)) | (Content::Bytes(before), None) => utf8::refuse_loss(&self.path, before, after),
            (Content::Nothing | Content::TooLong, None) => Ok(()),
        }
    }

    /// Returns `true` if the change removes the file.
    pub fn is_removal(&self) -> bool {
        self.after.is_none()
    }

    /// Returns `true` if the change makes the content different, or if the old content is unknown.
    pub fn changes_content(&self) -> bool {
        match &self.before {
            Content::Nothing => self.after.is_some(),
            Content::Bytes(before) => self.after.as_ref() != Some(before),
            Content::TooLong => true,
        }
    }

    /// Returns `true` if the change has any effect on this file.
    pub(super) fn is_needed(&self) -> bool {
        self.changes_content() || self.executable.is_some()
    }

    /// Returns the text before the change, which may be that of another file, and the text after it. Bytes that are not
    /// UTF-8 become U+FFFD, and a missing file is "". Returns `None` if the old content is too long to be read.
    pub fn texts(&self) -> Option<[Cow<'_, str>; 2]> {
        let before = match (&self.before, &self.origin) {
            (Content::TooLong, _) => return None,
            (Content::Bytes(before), _) | (Content::Nothing, Some(before)) => before.as_slice(),
            (Content::Nothing, None) => &[],
        };
        Some([before, self.after.as_deref().unwrap_or_default()].map(String::from_utf8_lossy))
    }

    /// Returns the content before the change; `None` if there is no file, or if it is too long to be read.
    pub fn old_bytes(&self) -> Option<&[u8]> {
        match &self.before {
            Content::Bytes(before) => Some(before),
            Content::Nothing | Content::TooLong => None,
        }
    }

    /// Returns the content after the change.
    pub(super) fn after_content(&self) -> Content {
        self.after.clone().map_or(Content::Nothing, Content::Bytes)
    }

    /// Returns the version of the content after the change, so that another edit can detect a conflict.
    pub(super) fn version(&self) -> Option<Version> {
        self.after.as_deref().map(Version::compute)
    }

    pub(super) fn planned_file(&self) -> PlannedFile<'_> {
        let like = self.like.clone().or_else(|| self.target.old.as_ref().map(Old::like));
        PlannedFile { target: &self.target, content: self.after.as_deref(), like, executable: self.executable }
    }
}

/// Returns the error for content that is too long to be written.
pub(super) fn too_large(path: &str, bytes: u64, most: u64) -> ToolFailure {
    let message = text!(
        "The content for {path} has {bytes} bytes; {most} are the most. Write it in parts, or with a command.",
        path = quoted(path),
        bytes = Field::Grouped(bytes),
        most = Field::Grouped(most)
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}

/// Returns the error for a file that is too long to be edited.
pub(super) fn too_large_to_edit(path: &str, bytes: u64, most: u64) -> ToolFailure {
    let message = text!(
        "{path} has {bytes} bytes; {most} are the most that can be edited. Change it with a command such as sed.",
        path = quoted(path),
        bytes = Field::Grouped(bytes),
        most = Field::Grouped(most)
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}

/// Returns the error for a file that changed since the model read it.
pub(super) fn stale(path: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::Conflict,
        text!(
            "{path} has changed since it was last read, so nothing was done: lines may have moved. Read it again, and \
             put all edits of one file into one call.",
            path = quoted(path)
        ),
    )
}

/// Returns the error for a change that cannot be reverted because the old content was not read.
pub(super) fn not_kept(path: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::TooLarge,
        text!("The old content of {path} was too long to be kept, so the change stays.", path = quoted(path)),
    )
}
