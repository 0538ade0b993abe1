//! What a patch says, as data: files, hunks, lines. Texts are slices of the patch.

use super::names::{Base, starts_like_prefix};
use std::fmt;
use toolfence_protocol::{Text, text};

/// All that one patch wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patch<'a> {
    /// In the order of the text; at least one. A file may come twice: the second part is for what the first one made.
    pub files: Vec<FilePatch<'a>>,
    /// The folder that all its names have been joined to.
    pub(super) base: Base,
}

/// What shall become of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePatch<'a> {
    /// What is done with the file as a whole.
    pub kind: Kind,
    /// The file before; of a new file, the new name.
    pub old: Name,
    /// The file afterwards; of a deleted file, the old name.
    pub new: Name,
    /// Permissions to set, such as 0o755: only those git knows.
    pub mode: Option<u32>,
    /// In the order of the text.
    pub hunks: Vec<Hunk<'a>>,
    /// Whether a deletion is meant whatever the file holds.
    pub unseen: bool,
    /// Whether the head does not decide between the two readings of its names, so that only one of them may exist.
    pub(super) doubtful: bool,
    /// The line of the patch where this file begins, from 1.
    pub line: usize,
}

impl FilePatch<'_> {
    /// Whether `path`, if it is a new file, may be the name of another one with a prefix before it. `written` is the path as the patch
    /// has it.
    pub(super) fn may_have_prefix(&self, path: &str, written: &str) -> bool {
        let is_stripped = self.new.other.as_ref().is_some_and(|other| other.len() > self.new.path.len());
        self.doubtful && self.new.path == path && !is_stripped && starts_like_prefix(written)
    }
}

/// What is done with a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// There must be none; the hunks are its content.
    Create,
    /// The hunks, if any, are all of its content.
    Delete,
    /// The file keeps its name, and its content or mode changes.
    Modify,
    /// The old name goes.
    Rename,
    /// The old file stays as it is.
    Copy,
}

/// A name of a file, checked: no `..`, no empty parts. It is relative to the root, or what [`parse_below`](super::parse_below)
/// was told.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Name {
    /// As the head says it, without the prefix (`a/`, `b/`) that tools put before names.
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

/// Lines that stand together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hunk<'a> {
    /// The line number of the old file, as the patch says it; a hint. With no old lines it is the line before.
    pub stated: Option<u64>,
    /// Lines that stand somewhere above, the outermost first; a hint, but for a hunk that only adds.
    pub headings: Vec<&'a str>,
    /// The body.
    pub lines: Vec<Line<'a>>,
    /// Whether the hunk must be at the end of the file.
    pub at_end: bool,
    /// Whether carriage returns before the ends of lines are meant, and not how the patch came here.
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
    /// Without the line feed; a carriage return before that is in it.
    pub text: &'a str,
    /// Whether the patch says that no line feed follows.
    pub unended: bool,
}

/// Which side a line of a hunk is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// Both.
    Context,
    /// Old.
    Remove,
    /// New.
    Add,
}

impl<'a> Hunk<'a> {
    /// The lines that are in the file before.
    pub fn old(&self) -> impl DoubleEndedIterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| line.sign != Sign::Add)
    }

    /// The lines that are in the file afterwards.
    pub fn new_lines(&self) -> impl DoubleEndedIterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| line.sign != Sign::Remove)
    }

    /// The stated line of its first old line, or before which it adds.
    pub(super) fn first_line(&self) -> Option<i64> {
        let stated = i64::try_from(self.stated?).ok()?;
        if self.old().next().is_none() { stated.checked_add(1) } else { Some(stated).filter(|line| *line > 0) }
    }

    /// Whether it removes and adds nothing.
    pub fn is_idle(&self) -> bool {
        self.lines.iter().all(|line| line.sign == Sign::Context)
    }
}

/// Why a text is no patch that could be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The line of the patch where it shows, from 1.
    pub line: usize,
    /// The cause, and what to do.
    pub message: Text,
}

impl Problem {
    pub(super) fn new(line: usize, message: Text) -> Problem {
        Problem { line, message }
    }

    /// The line and the cause in one sentence, in any language.
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
