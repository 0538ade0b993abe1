//! Writes one file as a whole, and reports the change of a file.

use crate::changes::draft::{Draft, FileDraft, Report, stale, too_large};
use crate::changes::target::{Content, Target};
use crate::diff::{self, ChangedLines};
use crate::names;
use crate::root::Root;
use crate::stat::other_names;
use crate::version::Version;
use toolfence_protocol::{Text, ToolFailure};

const BOM: &str = "\u{FEFF}";

/// The report of a file that was written, edited, or had a passage replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// The real name relative to the root.
    pub path: String,
    /// The name for display on one line: in double quotes with C escapes if it could mislead.
    pub shown: String,
    /// Whether the file is new.
    pub created: bool,
    /// Whether anything changed, or would without a dry run. Equal content is not written again.
    pub changed: bool,
    /// Size of the new content.
    pub bytes: u64,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The first changed line, from 1; 0 if nothing changed, or the old file was not text.
    pub first_line: u64,
    /// The change as a unified diff; `None` if it would be too big, or the old file was not text.
    pub diff: Option<String>,
    /// Whether the content was converted to the CRLF line endings of the old file.
    pub kept_crlf: bool,
    /// Whether the byte order mark of the old file was put before the content.
    pub kept_bom: bool,
    /// Lines of the old content, from 1, that an edit kept and that its replacement repeats next to them.
    pub restated: Vec<u64>,
    /// Whether the passages of a replacement were converted to the unit of the file's indentation.
    pub reindented: bool,
    /// The number of other names (hard links) of the old file, which still have the old content.
    pub broken_links: u64,
    /// Properties of the old file that the system refused for the new one: its access control list, or an attribute by
    /// its name. If such a property restricted access, the mode of the new file denies that access.
    pub lost: Vec<Text>,
    /// The content before; `None` if there was no file, or it was too large to be edited.
    pub before: Option<Version>,
    /// The content after; `None` before anything was written.
    pub after: Option<Version>,
}

impl Report for WriteReport {
    fn committed(self, files: &[FileDraft], lost: Vec<(usize, Vec<Text>)>) -> WriteReport {
        let after = files.first().and_then(FileDraft::version);
        if !self.changed {
            return WriteReport { after, ..self };
        }
        let broken_links = files.first().and_then(|file| file.target.stat()).map_or(0, other_names);
        let lost = lost.into_iter().flat_map(|(_, lost)| lost).collect();
        WriteReport { after, broken_links, lost, ..self }
    }
}

impl Draft<WriteReport> {
    /// Returns the draft of one file with its new content.
    pub(super) fn of_file(file: FileDraft) -> Result<Draft<WriteReport>, ToolFailure> {
        let (old, new) = (file.old_bytes(), file.after.as_deref().unwrap_or_default());
        let changed = old != Some(new);
        let difference = if changed { diff::between(&file.path, old, new) } else { ChangedLines::default() };
        let report = WriteReport {
            path: file.path.clone(),
            shown: names::quoted(&file.path).into(),
            created: file.before == Content::Nothing,
            changed,
            bytes: new.len() as u64,
            added: difference.added,
            removed: difference.removed,
            first_line: difference.first,
            diff: difference.unified,
            before: old.map(Version::compute),
            ..WriteReport::default()
        };
        Draft::new(vec![file], report)
    }
}

/// Plans to write a file of at most `most` bytes as a whole. Keeps the mode, CRLF line endings and byte order mark of
/// an old file.
pub(super) fn draft(
    root: &Root,
    most: u64,
    path: &str,
    content: &str,
    base: Option<Version>,
) -> Result<Draft<WriteReport>, ToolFailure> {
    if content.len() as u64 > most {
        return Err(too_large(path, content.len() as u64, most));
    }
    let (target, name, before) = Target::find(root, most, path)?;
    root.refuse_loose(path, &target.spot)?;
    let old = match &before {
        Content::Bytes(old) if base.is_some_and(|base| base != Version::compute(old)) => return Err(stale(path)),
        Content::Bytes(old) => std::str::from_utf8(old).unwrap_or_default(),
        Content::Nothing | Content::TooLong => "",
    };
    let endings = Endings::detect(old, content);
    let after = endings.apply(content).into_bytes();
    let mut draft = Draft::of_file(FileDraft::new(name, target, before, Some(after)))?;
    if draft.report.changed {
        (draft.report.kept_crlf, draft.report.kept_bom) = (endings.crlf, endings.bom);
    }
    Ok(draft)
}

/// The properties of the old text that the new content gets.
#[derive(Clone, Copy)]
struct Endings {
    crlf: bool,
    bom: bool,
}

impl Endings {
    fn detect(old: &str, new: &str) -> Endings {
        let all = memchr::memchr_iter(b'\n', old.as_bytes()).count();
        let crlf = all > 0 && old.matches("\r\n").count() == all;
        // New content with a CR has line endings of its own.
        Endings {
            crlf: crlf && memchr::memchr(b'\r', new.as_bytes()).is_none() && new.contains('\n'),
            bom: old.starts_with(BOM) && !new.starts_with(BOM),
        }
    }

    fn apply(self, content: &str) -> String {
        let bom = if self.bom { BOM } else { "" };
        if self.crlf { format!("{bom}{}", content.replace('\n', "\r\n")) } else { format!("{bom}{content}") }
    }
}
