//! Edits parts of a text file, all or none: line ranges, one passage, or values of a JSON text.

use crate::changes::draft::{Draft, FileDraft, stale, too_large, too_large_to_edit};
use crate::changes::target::{Content, Target};
use crate::changes::write::WriteReport;
use crate::root::Root;
use crate::root::path_arg::{invalid, quoted};
use crate::root::resolve::ResolveError;
use crate::text::refuse_no_text;
use crate::version::Version;
use rustix::io::Errno;
use serde_json::Value;
use std::path::Path;
use toolfence_patch::{
    DataEdit, DataProblem, LineEdit, PassageProblem, Replaced, edit_data, edit_lines, replace_passage,
    restated_neighbours,
};
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};

/// Line ranges of one file with their replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFile {
    /// The path, relative to the root, or absolute and inside it.
    pub path: String,
    /// The edits, of which all are made or none. They may be in any order. Their numbers refer to the file before the
    /// edits.
    pub edits: Vec<EditLines>,
    /// The content that the file must still have, if it was read before.
    pub base: Option<Version>,
    /// Reports the changes without making them.
    pub dry_run: bool,
}

impl EditFile {
    /// Returns these edits without a check that the file is unchanged.
    pub fn new(path: impl Into<String>, edits: Vec<EditLines>) -> EditFile {
        EditFile { path: path.into(), edits, base: None, dry_run: false }
    }
}

/// A range of lines and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditLines {
    /// The first line to be replaced, from 1.
    pub start_line: u64,
    /// The last line to be replaced; `start_line - 1` inserts before `start_line`.
    pub end_line: u64,
    /// The new lines. One newline at the end is ignored, and "" is no line.
    pub replacement: String,
}

/// A passage that occurs exactly once in a file, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaceText {
    /// The path, relative to the root, or absolute and inside it.
    pub path: String,
    /// The passage in the file; CRLF and LF are equal.
    pub old: String,
    /// The new passage.
    pub new: String,
    /// The content that the file must still have; usually `None`, since the passage itself identifies the place.
    pub base: Option<Version>,
    /// Reports the changes without making them.
    pub dry_run: bool,
}

impl ReplaceText {
    /// Returns this replacement without a check that the rest of the file is unchanged.
    pub fn new(path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> ReplaceText {
        ReplaceText { path: path.into(), old: old.into(), new: new.into(), base: None, dry_run: false }
    }
}

/// Values of a JSON or JSONC file to set or to remove.
#[derive(Debug, Clone, PartialEq)]
pub struct EditData {
    /// The path, relative to the root, or absolute and inside it.
    pub path: String,
    /// The edits, which are made in this order, all or none.
    pub edits: Vec<EditValue>,
    /// The content that the file must still have, if it was read before.
    pub base: Option<Version>,
    /// Reports the changes without making them.
    pub dry_run: bool,
}

impl EditData {
    /// Returns these edits without a check that the file is unchanged.
    pub fn new(path: impl Into<String>, edits: Vec<EditValue>) -> EditData {
        EditData { path: path.into(), edits, base: None, dry_run: false }
    }
}

/// One value to set or to remove.
#[derive(Debug, Clone, PartialEq)]
pub struct EditValue {
    /// The location of the value, as a JSON Pointer (RFC 6901). A last part `-` is the end of a list.
    pub at: String,
    /// The new value.
    pub value: Option<Value>,
    /// Removes the old value instead.
    pub remove: bool,
}

/// Plans to set and remove values of a JSON file, all or none.
pub(super) fn draft_data(root: &Root, most: u64, wanted: &EditData) -> Result<Draft<WriteReport>, ToolFailure> {
    let refused = |code, why: Text| {
        ToolFailure::new(code, text!("{path} was not changed: {problem}", path = quoted(&wanted.path), problem = why))
    };
    let edits = wanted.edits.iter().map(EditValue::as_data).collect::<Result<Vec<_>, _>>();
    let edits = edits.map_err(|why| refused(ErrorCode::InvalidArgument, why))?;
    draft(root, most, &wanted.path, wanted.base, |old| {
        let text = edit_data(old, &edits).map_err(|problem| {
            let code = match problem {
                DataProblem::Missing(_) => ErrorCode::NoMatch,
                _ => ErrorCode::InvalidArgument,
            };
            refused(code, problem.text())
        })?;
        Ok(Edited { text, restated: Vec::new(), reindented: false })
    })
}

/// Plans to replace ranges of lines of a text file, all or none.
pub(super) fn draft_edit(root: &Root, most: u64, wanted: &EditFile) -> Result<Draft<WriteReport>, ToolFailure> {
    let edits: Vec<LineEdit<'_>> = wanted.edits.iter().map(EditLines::as_lines).collect();
    draft(root, most, &wanted.path, wanted.base, |old| {
        let text = edit_lines(old, &edits).map_err(|problem| {
            invalid(text!("{path} was not changed: {problem}", path = quoted(&wanted.path), problem = problem.text()))
        })?;
        Ok(Edited { text, restated: restated_neighbours(old, &edits), reindented: false })
    })
}

/// Plans to replace a passage that occurs exactly once.
pub(super) fn draft_replacement(
    root: &Root,
    most: u64,
    wanted: &ReplaceText,
) -> Result<Draft<WriteReport>, ToolFailure> {
    draft(root, most, &wanted.path, wanted.base, |old| {
        let done = replace_passage(old, &wanted.old, &wanted.new);
        let Replaced { text, line, reindented, .. } = done.map_err(|problem| not_replaced(&wanted.path, &problem))?;
        let restated = restated_around(old, &text, line, wanted);
        Ok(Edited { text, restated, reindented })
    })
}

/// A file's new content, and the facts for its report.
struct Edited {
    text: Vec<u8>,
    /// See [`WriteReport::restated`].
    restated: Vec<u64>,
    reindented: bool,
}

/// Returns the lines next to a replaced passage that the new passage repeats. The old passage began in `line`.
fn restated_around(before: &[u8], after: &[u8], line: u64, wanted: &ReplaceText) -> Vec<u64> {
    // If one of the passages does not end with a line ending, the change reaches into one more line.
    let whole = wanted.old.ends_with('\n') && wanted.new.ends_with('\n');
    let lines = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!whole);
    let first = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let added = after.split_inclusive(|byte| *byte == b'\n').skip(first).take(lines(&wanted.new));
    let Ok(replacement) = String::from_utf8(added.collect::<Vec<_>>().concat()) else { return Vec::new() };
    let end = line.saturating_add(lines(&wanted.old) as u64).saturating_sub(1);
    restated_neighbours(before, &[LineEdit { start: line, end, replacement: &replacement }])
}

fn draft(
    root: &Root,
    most: u64,
    path: &str,
    base: Option<Version>,
    make: impl FnOnce(&[u8]) -> Result<Edited, ToolFailure>,
) -> Result<Draft<WriteReport>, ToolFailure> {
    let (target, name, before) = Target::find(root, most, path)?;
    let old = match &before {
        Content::Bytes(old) => old,
        Content::Nothing => return Err(root.explain(ResolveError::Sys(Errno::NOENT), path, Path::new(&name))),
        Content::TooLong => {
            return Err(too_large_to_edit(path, target.stat().map_or(0, |stat| stat.st_size.unsigned_abs()), most));
        }
    };
    refuse_no_text(old, old.len() as u64, path)?;
    // In another version of the file, the lines may have moved.
    if base.is_some_and(|base| base != Version::compute(old)) {
        return Err(stale(path));
    }
    let Edited { text: after, restated, reindented } = make(old)?;
    if after.len() as u64 > most {
        return Err(too_large(path, after.len() as u64, most));
    }
    let mut draft = Draft::of_file(FileDraft::new(name, target, before, Some(after)))?;
    (draft.report.restated, draft.report.reindented) = (restated, reindented);
    Ok(draft)
}

impl EditLines {
    fn as_lines(&self) -> LineEdit<'_> {
        LineEdit { start: self.start_line, end: self.end_line, replacement: &self.replacement }
    }
}

impl EditValue {
    fn as_data(&self) -> Result<DataEdit<'_>, Text> {
        let at = self.at.as_str();
        match &self.value {
            // Models often send null together with `remove`.
            None | Some(Value::Null) if self.remove => Ok(DataEdit { at, value: None }),
            Some(value) if !self.remove => Ok(DataEdit { at, value: Some(value) }),
            Some(_) => Err(text!("The edit at {at} has both a value and remove. Give one of them.", at)),
            None => Err(text!("The edit at {at} has neither a value nor remove. Give one of them.", at)),
        }
    }
}

fn not_replaced(path: &str, problem: &PassageProblem) -> ToolFailure {
    let code = match problem {
        PassageProblem::Several { .. } => ErrorCode::NotUnique,
        PassageProblem::NotFound { .. } => ErrorCode::NoMatch,
        _ => ErrorCode::InvalidArgument,
    };
    ToolFailure::new(code, text!("{path} was not changed: {problem}", path = quoted(path), problem = problem.text()))
}
