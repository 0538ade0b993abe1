//! A part of a text file changed: ranges of lines, or one passage. All of it or nothing.

use crate::Workspace;
use crate::changes::write::{MOST, Old, Written, other_names, stale, too_large, written};
use crate::files::read::refuse_no_text;
use crate::root::failures;
use crate::root::path_arg::{invalid, shown};
use crate::root::resolve::{Last, Spot, Trouble};
use crate::version::Version;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::path::Path;
use toolfence_patch::{LineEdit, PassageProblem, edit_lines, replace_passage};
use toolfence_protocol::clip::grouped;
use toolfence_protocol::{ErrorCode, ToolFailure};

/// Line ranges of one file, and what shall stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFile {
    /// Relative to the root, or absolute and inside it.
    pub path: String,
    /// All of them are made, or none. They may come in any order; their numbers are those of the file as it is.
    pub edits: Vec<EditLines>,
    /// What the file must still be, where somebody has seen it.
    pub base: Option<Version>,
    /// Say what would change and change nothing.
    pub dry_run: bool,
}

impl EditFile {
    /// These edits, whatever the file is by now.
    pub fn new(path: impl Into<String>, edits: Vec<EditLines>) -> EditFile {
        EditFile { path: path.into(), edits, base: None, dry_run: false }
    }
}

/// One range of lines and what shall stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditLines {
    /// The first line that goes, from 1.
    pub start_line: u64,
    /// The last line that goes; `start_line - 1` for none, which inserts before `start_line`.
    pub end_line: u64,
    /// The lines that come; one newline at the end is ignored, and "" is no line.
    pub replacement: String,
}

/// A passage that occurs exactly once in a file, and what shall stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaceText {
    /// Relative to the root, or absolute and inside it.
    pub path: String,
    /// The passage as it is; CRLF and LF are the same.
    pub old: String,
    /// The passage as it shall be.
    pub new: String,
    /// What the file must still be, where that matters: the passage itself says already what is meant.
    pub base: Option<Version>,
    /// Say what would change and change nothing.
    pub dry_run: bool,
}

impl ReplaceText {
    /// This passage, whatever else the file is by now.
    pub fn new(path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> ReplaceText {
        ReplaceText { path: path.into(), old: old.into(), new: new.into(), base: None, dry_run: false }
    }
}

impl Workspace {
    /// Replaces ranges of lines of a text file, all or none. Mode, line endings and byte order mark are kept, and the file is
    /// replaced at once, as by [`write`](Workspace::write).
    ///
    /// # Errors
    /// `not_found` with close names; `conflict` when the file is not `base` or changed meanwhile; `invalid_argument` for
    /// ranges that are not in the file or overlap, and for what is no text file; `too_large` over 10 MB; else as for
    /// [`write`](Workspace::write). On any failure every byte is as it was.
    pub fn edit(&self, wanted: &EditFile) -> Result<Written, ToolFailure> {
        self.change(&wanted.path, self.planned_edit(wanted)?, wanted.dry_run)
    }

    /// Replaces a passage that occurs exactly once; occurrences that overlap count. Everything else is as for
    /// [`edit`](Workspace::edit).
    ///
    /// # Errors
    /// `not_unique` with the lines of all occurrences; `no_match` with the part of the file that is most like the passage;
    /// `invalid_argument` where there is nothing to replace; else as for [`edit`](Workspace::edit).
    pub fn replace_text(&self, wanted: &ReplaceText) -> Result<Written, ToolFailure> {
        self.change(&wanted.path, self.planned_replacement(wanted)?, wanted.dry_run)
    }

    pub(crate) fn planned_edit(&self, wanted: &EditFile) -> Result<Planned, ToolFailure> {
        let edits: Vec<LineEdit<'_>> = wanted.edits.iter().map(EditLines::as_lines).collect();
        self.planned(&wanted.path, wanted.base, |old| {
            edit_lines(old, &edits)
                .map_err(|problem| invalid(format!("{} was not changed: {problem}", shown(&wanted.path))))
        })
    }

    pub(crate) fn planned_replacement(&self, wanted: &ReplaceText) -> Result<Planned, ToolFailure> {
        self.planned(&wanted.path, wanted.base, |old| {
            let done = replace_passage(old, &wanted.old, &wanted.new);
            done.map(|replaced| replaced.text).map_err(|problem| not_replaced(&wanted.path, &problem))
        })
    }

    fn planned(
        &self,
        path: &str,
        base: Option<Version>,
        make: impl FnOnce(&[u8]) -> Result<Vec<u8>, ToolFailure>,
    ) -> Result<Planned, ToolFailure> {
        let (spot, name) = self.spot_to_write(path)?;
        match &spot.last {
            Last::Folder => return Err(failures::not_a_file(path, FileType::Directory)),
            Last::Missing(_) => return Err(self.explain(Trouble::Sys(Errno::NOENT), path, Path::new(&name))),
            Last::File(_) => {}
        }
        let (old, found) = self.old_content(path, &spot)?;
        let old = old.ok_or_else(|| too_long(path, found.stat.st_size.unsigned_abs()))?;
        refuse_no_text(&old, old.len() as u64, path)?;
        if base.is_some_and(|base| base != Version::of(&old)) {
            return Err(stale(path));
        }
        let content = make(&old)?;
        if content.len() > MOST {
            return Err(too_large(path, content.len()));
        }
        Ok(Planned { spot, found, name, old, content })
    }

    fn change(&self, path: &str, planned: Planned, dry_run: bool) -> Result<Written, ToolFailure> {
        let Planned { spot, found, name, old, content } = planned;
        let written = Written { before: Some(Version::of(&old)), ..written(&name, Some(&old), &content) };
        if dry_run {
            return Ok(Written { after: None, ..written });
        }
        if !written.changed {
            return Ok(written);
        }
        let lost = self.put(path, &spot, &found, &content)?;
        Ok(Written { broken_links: other_names(&found.stat), lost, ..written })
    }
}

/// A file as it was found, and what it shall be.
pub(crate) struct Planned {
    pub(crate) spot: Spot,
    pub(crate) found: Old,
    pub(crate) name: String,
    pub(crate) old: Vec<u8>,
    pub(crate) content: Vec<u8>,
}

impl EditLines {
    fn as_lines(&self) -> LineEdit<'_> {
        LineEdit { start: self.start_line, end: self.end_line, replacement: &self.replacement }
    }
}

fn not_replaced(path: &str, problem: &PassageProblem) -> ToolFailure {
    let code = match problem {
        PassageProblem::Several { .. } => ErrorCode::NotUnique,
        PassageProblem::NotFound { .. } => ErrorCode::NoMatch,
        _ => ErrorCode::InvalidArgument,
    };
    ToolFailure::new(code, format!("{} was not changed: {problem}", shown(path)))
}

fn too_long(path: &str, bytes: u64) -> ToolFailure {
    let message = format!(
        "{} has {} bytes; {} are the most that can be edited. Change it with a command such as sed.",
        shown(path),
        grouped(bytes),
        grouped(MOST as u64)
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}
