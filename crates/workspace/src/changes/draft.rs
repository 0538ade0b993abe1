//! What a change would make of files, before it is made.

use crate::attributes::Like;
use crate::changes::commit::Wanted;
use crate::changes::target::{Content, Old, Target};
use crate::changes::utf8;
use crate::root::path_arg::shown;
use crate::version::Version;
use std::borrow::Cow;
use toolfence_protocol::text::Field;
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};

/// A change that is planned and not made yet: what it makes of each file, and what there is to say of it.
///
/// It holds the folders of its files open, so that a commit changes what was looked at or nothing.
#[derive(Debug)]
pub struct Draft<R> {
    pub(super) files: Vec<FileDraft>,
    pub(super) report: R,
}

impl<R> Draft<R> {
    /// A change of these files.
    ///
    /// # Errors
    /// `invalid_argument` where it would destroy bytes that are not UTF-8.
    pub(super) fn new(files: Vec<FileDraft>, report: R) -> Result<Draft<R>, ToolFailure> {
        for file in &files {
            file.refuse_loss()?;
        }
        Ok(Draft { files, report })
    }

    /// What the change makes of each file, in its order.
    pub fn files(&self) -> &[FileDraft] {
        &self.files
    }

    /// What the change would do, as after a dry run.
    pub fn report(&self) -> &R {
        &self.report
    }

    /// The report alone, where the change is not to be made.
    pub fn into_report(self) -> R {
        self.report
    }
}

/// The report of a change: [`Written`](super::Written) of one file, [`Patched`](super::Patched) of the files of a patch.
pub trait Report: Clone + Send + Sync + 'static {
    /// The report of a change that was made. `lost` says which files, by their place in `files`, could not have all of what
    /// they were like, and what is missing.
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
    /// What shall be there; `None` for no file.
    pub(super) after: Option<Vec<u8>>,
    /// The content it comes from, where that is another file's: of one that is renamed or copied.
    pub(super) origin: Option<Vec<u8>>,
    /// The file whose owner, mode and attributes it takes, where that is not the one in its place.
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

    /// Whether the file is gone after the change.
    pub fn is_removal(&self) -> bool {
        self.after.is_none()
    }

    /// Whether the content after the change is another one, or it is not known what it was.
    pub fn changes_content(&self) -> bool {
        match &self.before {
            Content::Nothing => self.after.is_some(),
            Content::Bytes(before) => self.after.as_ref() != Some(before),
            Content::TooLong => true,
        }
    }

    /// Whether there is anything to do for this file.
    pub(super) fn is_needed(&self) -> bool {
        self.changes_content() || self.executable.is_some()
    }

    /// The text the file comes from, be it another file's, and the text it shall be. Bytes that are not UTF-8 are U+FFFD, and
    /// no file is "". `None` where the old content is too long to be read.
    pub fn texts(&self) -> Option<[Cow<'_, str>; 2]> {
        let before = match (&self.before, &self.origin) {
            (Content::TooLong, _) => return None,
            (Content::Bytes(before), _) | (Content::Nothing, Some(before)) => before.as_slice(),
            (Content::Nothing, None) => &[],
        };
        Some([before, self.after.as_deref().unwrap_or_default()].map(String::from_utf8_lossy))
    }

    /// The content before the change; `None` where there is no file, or one that is too long to be read.
    pub fn old_bytes(&self) -> Option<&[u8]> {
        match &self.before {
            Content::Bytes(before) => Some(before),
            Content::Nothing | Content::TooLong => None,
        }
    }

    /// The content that the change leaves.
    pub(super) fn left(&self) -> Content {
        self.after.clone().map_or(Content::Nothing, Content::Bytes)
    }

    /// The content after the change, for an edit that must not meet another one.
    pub(super) fn version(&self) -> Option<Version> {
        self.after.as_deref().map(Version::of)
    }

    pub(super) fn wanted(&self) -> Wanted<'_> {
        let like = self.like.clone().or_else(|| self.target.old.as_ref().map(Old::like));
        Wanted { target: &self.target, content: self.after.as_deref(), like, executable: self.executable }
    }
}

/// The refusal of a content that is too long to be written.
pub(super) fn too_large(path: &str, bytes: u64, most: u64) -> ToolFailure {
    let message = text!(
        "The content for {path} has {bytes} bytes; {most} are the most. Write it in parts, or with a command.",
        path = shown(path),
        bytes = Field::Grouped(bytes),
        most = Field::Grouped(most)
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}

/// The refusal of a file that is too long to be edited.
pub(super) fn too_large_to_edit(path: &str, bytes: u64, most: u64) -> ToolFailure {
    let message = text!(
        "{path} has {bytes} bytes; {most} are the most that can be edited. Change it with a command such as sed.",
        path = shown(path),
        bytes = Field::Grouped(bytes),
        most = Field::Grouped(most)
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}

/// The refusal of a change to a file that is not what the model has seen.
pub(super) fn stale(path: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::Conflict,
        text!(
            "{path} has changed since it was last read, so nothing was done: lines may have moved. Read it again, and \
             put all edits of one file into one call.",
            path = shown(path)
        ),
    )
}

/// The refusal to take a change back whose old content was not read.
pub(super) fn not_kept(path: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::TooLarge,
        text!("The old content of {path} was too long to be kept, so the change stays.", path = shown(path)),
    )
}
