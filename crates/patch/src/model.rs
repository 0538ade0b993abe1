//! The parsed patch: files, hunks and lines, as slices of its text.

use super::names::{Base, starts_like_prefix};
use std::fmt;
use toolfence_protocol::{Text, text};

/// A parsed patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patch<'a> {
    /// The files in the order of the text; at least one. A file may occur twice: the second part applies to the result
    /// of the first.
    pub files: Vec<FilePatch<'a>>,
    /// The folder that all its names have been joined to.
    pub(super) base: Base,
}

/// The changes to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePatch<'a> {
    /// What happens to the file as a whole.
    pub kind: Kind,
    /// The name before the change; for a new file, its name.
    pub old: Name,
    /// The name after the change; for a deleted file, its name.
    pub new: Name,
    /// Permissions to set, such as 0o755.
    pub mode: Option<u32>,
    /// The hunks in the order of the text.
    pub hunks: Vec<Hunk<'a>>,
    /// Whether the file is deleted whatever its content is.
    pub unseen: bool,
    /// Whether the head does not decide between the two readings of its names, so that only one of them may exist.
    pub(super) doubtful: bool,
    /// The line of the patch where this file begins, from 1.
    pub line: usize,
}

impl FilePatch<'_> {
    /// Returns whether `path`, if it is a new file, may be the name of another file with a prefix before it. `written`
    /// is the path in the patch.
    pub(super) fn may_have_prefix(&self, path: &str, written: &str) -> bool {
        let is_stripped = self.new.other.as_ref().is_some_and(|other| other.len() > self.new.path.len());
        self.doubtful && self.new.path == path && !is_stripped && starts_like_prefix(written)
    }
}

/// What happens to a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The file must not exist; the hunks are its content.
    Create,
    /// The hunks, if any, are its whole content.
    Delete,
    /// The file keeps its name, and its content or mode changes.
    Modify,
    /// The file moves from the old to the new name.
    Rename,
    /// The old file stays unchanged.
    Copy,
}

/// A checked name of a file, without `..` and empty parts. It is relative to the root, or to the folder passed to
/// [`parse_below`](super::parse_below).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Name {
    /// The name in the head, without the prefix (`a/`, `b/`) that tools put before names.
    pub path: String,
    /// The other reading of the name, with the prefix or without one. All names of a patch are read in one way.
    pub other: Option<String>,
}

impl Name {
    pub(super) fn plain(path: String) -> Name {
        Name { path, other: None }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.path)
    }
}

/// A group of neighbouring lines with changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hunk<'a> {
    /// The line number in the old file that the patch states; a hint. Without old lines it is the line before.
    pub stated: Option<u64>,
    /// Lines somewhere above the hunk, the outermost first; a hint, except for a hunk that only adds.
    pub headings: Vec<&'a str>,
    /// The body.
    pub lines: Vec<Line<'a>>,
    /// Whether the hunk must be at the end of the file.
    pub at_end: bool,
    /// Whether carriage returns at line ends are content, not added in transport.
    pub exact_ends: bool,
    /// The line of the patch where this hunk begins, from 1.
    pub line: usize,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Line<'a> {
    /// Which side it is on.
    pub sign: Sign,
    /// The text without the line feed; it includes a carriage return before that.
    pub text: &'a str,
    /// Whether the patch says that no line feed follows.
    pub unended: bool,
}

/// Which side a line of a hunk is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// On both sides.
    Context,
    /// On the old side.
    Remove,
    /// On the new side.
    Add,
}

impl<'a> Hunk<'a> {
    /// Returns the lines that are in the file before the change.
    pub fn old(&self) -> impl DoubleEndedIterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| line.sign != Sign::Add)
    }

    /// Returns the lines that are in the file after the change.
    pub fn new_lines(&self) -> impl DoubleEndedIterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| line.sign != Sign::Remove)
    }

    /// Returns the stated number of its first old line, or of the line before which it adds.
    pub(super) fn first_line(&self) -> Option<i64> {
        let stated = i64::try_from(self.stated?).ok()?;
        if self.old().next().is_none() { stated.checked_add(1) } else { Some(stated).filter(|line| *line > 0) }
    }

    /// Returns whether it removes and adds nothing.
    pub fn is_idle(&self) -> bool {
        self.lines.iter().all(|line| line.sign == Sign::Context)
    }
}

/// Why a text cannot be read as a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The line of the patch with the problem, from 1.
    pub line: usize,
    /// The cause, and what to do about it.
    pub message: Text,
}

impl Problem {
    pub(super) fn new(line: usize, message: Text) -> Problem {
        Problem { line, message }
    }

    /// Returns the line and the cause in one sentence, translatable.
    pub fn text(&self) -> Text {
        text!("line {line} of the patch: {problem}", line = self.line, problem = self.message.clone())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}

impl std::error::Error for Problem {}
