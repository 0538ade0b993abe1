//! Reads the complete head of a file in a unified diff, and then checks it by the rules of git.
//!
//! Git's `apply.c` refuses lines that contradict each other (`check_header_line`, `gitdiff_verify_name`). This module
//! does too, because one of two contradicting lines may be a deletion.

use super::grammar::{self, WrittenName};
use super::model::{FilePatch, Kind, Name, Problem};
use super::names::{self, Evidence, Names, Pair, Prefixes, shared_name};
use toolfence_protocol::Text;
use toolfence_protocol::text;

/// The beginning of the line with which git starts a file.
pub(super) const GIT: &str = "diff --git ";

/// The longest prefix to try if nothing shows where the first name of `diff --git` ends.
const LONGEST_PREFIX: usize = 64;

/// The lines before the hunks, each at most once.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// The line where the file begins, from 1.
    line: usize,
    git: Option<GitNames>,
    pair: Option<(WrittenName, WrittenName)>,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    created: Option<u32>,
    deleted: Option<u32>,
    renamed: Moved,
    copied: Moved,
}

/// The names of `rename from` and `rename to`, or of `copy from` and `copy to`.
#[derive(Debug, Default)]
struct Moved {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
}

/// A head whose names can be decided only after all heads of the patch have been read.
#[derive(Debug)]
pub(super) struct ReadHead {
    kind: Kind,
    mode: Option<u32>,
    line: usize,
    names: ReadNames,
    /// Whether the head alone describes a change, so that no hunk is required.
    pub(super) is_complete: bool,
    /// Whether there were `---` and `+++` lines, so that a hunk may begin without its own head.
    pub(super) has_pair: bool,
}

#[derive(Debug)]
enum ReadNames {
    /// The names come from `rename` or `copy` lines.
    Moved {
        old: Name,
        new: Name,
        prefixes: Option<Prefixes>,
    },
    /// Both names of `diff --git`, and their common part.
    Git {
        old: String,
        new: String,
        name: String,
    },
    Pair(Pair),
}

impl Head {
    pub(super) fn new(line: usize) -> Head {
        Head { line, ..Head::default() }
    }

    pub(super) fn of_git(text: &str, line: usize) -> Head {
        Head { git: Some(GitNames::read(text)), ..Head::new(line) }
    }

    pub(super) fn take_pair(&mut self, old: &str, new: &str) {
        self.pair = Some((grammar::file_name(old), grammar::file_name(new)));
    }

    /// Reads a line between `diff --git` and the hunks; returns `false` for any other line.
    pub(super) fn take(&mut self, line: &str, at: usize) -> Result<bool, Problem> {
        let rest = |word: &str| line.strip_prefix(word);
        // Each of these lines may occur once; a second one is a contradiction.
        let is_new = if let Some(text) = rest("old mode ") {
            self.old_mode.replace(file_mode(text, at)?).is_none()
        } else if let Some(text) = rest("new mode ") {
            self.new_mode.replace(file_mode(text, at)?).is_none()
        } else if let Some(text) = rest("new file mode ") {
            self.created.replace(file_mode(text, at)?).is_none()
        } else if let Some(text) = rest("deleted file mode ") {
            self.deleted.replace(file_mode(text, at)?).is_none()
        } else if let Some(text) = rest("rename from ") {
            self.renamed.from.replace(unprefixed(text)).is_none()
        } else if let Some(text) = rest("rename to ") {
            self.renamed.to.replace(unprefixed(text)).is_none()
        } else if let Some(text) = rest("copy from ") {
            self.copied.from.replace(unprefixed(text)).is_none()
        } else if let Some(text) = rest("copy to ") {
            self.copied.to.replace(unprefixed(text)).is_none()
        } else if let Some((_, mode)) = rest("index ").and_then(|text| text.trim_end().rsplit_once(' ')) {
            // Links and submodules have these modes, and a patch must not change them.
            return if grammar::mode(mode).is_some_and(|mode| mode > 0o110_000) {
                file_mode(mode, at).map(|_| true)
            } else {
                Ok(true)
            };
        } else {
            return Ok(["similarity index ", "dissimilarity index ", "index "]
                .iter()
                .any(|word| line.starts_with(word)));
        };
        if is_new { Ok(true) } else { Err(Problem::new(at, head_contradicts_itself())) }
    }

    /// Checks all lines against each other.
    pub(super) fn read(self) -> Result<ReadHead, Problem> {
        let contradiction = || Err(Problem::new(self.line, head_contradicts_itself()));
        let moved = [(Kind::Rename, &self.renamed), (Kind::Copy, &self.copied)];
        let moved = moved.into_iter().filter(|(_, moved)| moved.from.is_some() || moved.to.is_some());
        let said: Vec<Kind> = moved
            .map(|(kind, _)| kind)
            .chain(self.created.map(|_| Kind::Create))
            .chain(self.deleted.map(|_| Kind::Delete))
            .collect();
        let (no_old, no_new) = match &self.pair {
            Some((old, new)) => (*old == WrittenName::Nothing, *new == WrittenName::Nothing),
            // Git writes no `---` and `+++` lines for an empty file.
            None => (said == [Kind::Create], said == [Kind::Delete]),
        };
        if no_old && no_new {
            return Err(Problem::new(self.line, text!("neither side of this change has the name of a file.")));
        }
        let kind = match (said.as_slice(), no_old, no_new) {
            ([], false, false) => Kind::Modify,
            ([] | [Kind::Create], true, false) => Kind::Create,
            ([] | [Kind::Delete], false, true) => Kind::Delete,
            ([kind @ (Kind::Rename | Kind::Copy)], false, false) => *kind,
            _ => return contradiction(),
        };
        let changes_mode = self.old_mode.is_some() || self.new_mode.is_some();
        if kind == Kind::Create && changes_mode {
            return contradiction();
        }
        let names = match kind {
            Kind::Rename => self.moved_names(&self.renamed)?,
            Kind::Copy => self.moved_names(&self.copied)?,
            _ => self.names(kind)?,
        };
        // A deleted file has no permissions to set.
        let mode = self.created.or(self.new_mode).filter(|_| kind != Kind::Delete).map(|mode| mode & 0o777);
        let is_complete = !said.is_empty() || self.new_mode.is_some();
        Ok(ReadHead { kind, mode, line: self.line, names, is_complete, has_pair: self.pair.is_some() })
    }

    fn moved_names(&self, moved: &Moved) -> Result<ReadNames, Problem> {
        let problem = |message| Problem::new(self.line, message);
        let (Some(from), Some(to)) = (&moved.from, &moved.to) else {
            return Err(problem(text!("one of the two names of a file that is renamed or copied is missing.")));
        };
        let fitting = |(old, new): &(Vec<u8>, Vec<u8>)| {
            let prefixes = (prefix_of(old, from)?, prefix_of(new, to)?);
            (depth(&prefixes.0) == depth(&prefixes.1)).then_some(prefixes)
        };
        let known = self.pair_names();
        // The names come from the `rename` or `copy` lines; those of `diff --git` must be the same, after their
        // prefixes.
        let splits = self.git.iter().flat_map(|git| git.splits(known, Some(to)));
        let mut prefixes: Vec<(String, String)> = splits.filter_map(|split| fitting(&split)).collect();
        prefixes.dedup();
        if from == to || prefixes.is_empty() {
            return Err(problem(names_contradict()));
        }
        // Names with blanks may be separated in several places. Then the head is valid but shows no prefix.
        let prefixes = match prefixes.as_slice() {
            [(old, new)] => Some(Prefixes { old: old.clone(), new: new.clone() }),
            _ => None,
        };
        let name = |bytes: &[u8]| names::plain(bytes, self.line);
        Ok(ReadNames::Moved { old: name(from)?, new: name(to)?, prefixes })
    }

    fn names(&self, kind: Kind) -> Result<ReadNames, Problem> {
        let Some(git) = &self.git else {
            let Some((old, new)) = &self.pair else {
                return Err(Problem::new(self.line, names_unreadable()));
            };
            return Pair::new(&without_margin(old), &without_margin(new), self.line).map(ReadNames::Pair);
        };
        let known = self.pair_names();
        if let Some(name) = git.name_of_one_side(kind) {
            let written = WrittenName::File(name.clone());
            if known.0.or(known.1).is_some_and(|known| *known != name) {
                return Err(Problem::new(self.line, names_contradict()));
            }
            let (old, new) = if kind == Kind::Create {
                (&WrittenName::Nothing, &written)
            } else {
                (&written, &WrittenName::Nothing)
            };
            return Pair::new(old, new, self.line).map(ReadNames::Pair);
        }
        // Without `rename` lines both names must be the same file, and only one separation of the line may give that.
        let (mut found, mut problem) = (Vec::new(), Problem::new(self.line, names_contradict()));
        for (old, new) in git.splits(known, None) {
            let pair = match Pair::new(&WrittenName::File(old), &WrittenName::File(new), self.line) {
                Ok(pair) => pair,
                Err(of_name) => {
                    problem = of_name;
                    continue;
                }
            };
            let (Some(old), Some(new)) = (pair.old, pair.new) else { continue };
            let name = shared_name(&old, &new).filter(|_| depth(&old) == depth(&new));
            if let Some(name) = name.map(str::to_owned) {
                found.push((old, new, name));
            }
        }
        match found.pop() {
            Some((old, new, name)) if found.is_empty() => Ok(ReadNames::Git { old, new, name }),
            Some(_) => Err(Problem::new(self.line, names_unreadable())),
            None => Err(problem),
        }
    }

    /// Returns the names of the `---` and the `+++` line, without `/dev/null`.
    fn pair_names(&self) -> (Option<&Vec<u8>>, Option<&Vec<u8>>) {
        fn name(written: &WrittenName) -> Option<&Vec<u8>> {
            match written {
                WrittenName::File(name) => Some(name),
                WrittenName::Nothing => None,
            }
        }
        self.pair.as_ref().map_or((None, None), |(old, new)| (name(old), name(new)))
    }
}

impl ReadHead {
    /// Adds the prefixes that this head shows to the evidence for all names.
    pub(super) fn show(&self, evidence: &mut Evidence) {
        match &self.names {
            ReadNames::Moved { prefixes: Some(prefixes), .. } if prefixes.old.is_empty() && prefixes.new.is_empty() => {
                evidence.none = true;
            }
            ReadNames::Moved { prefixes, .. } => prefixes.clone().into_iter().for_each(|one| evidence.add_certain(one)),
            // Equal ends of two names do not show how long their prefixes are: `a/x/f` and `b/x/f` may be `f`.
            ReadNames::Git { .. } => {}
            ReadNames::Pair(pair) => evidence.add(pair),
        }
    }

    /// Returns the file without its hunks.
    pub(super) fn file<'a>(self, evidence: &Evidence) -> Result<FilePatch<'a>, Problem> {
        let names = match self.names {
            ReadNames::Moved { old, new, .. } => Names { old: Some(old), new: Some(new), doubtful: false },
            ReadNames::Git { old, new, name } => {
                let name = Name::plain(evidence.read_git(&old, &new).unwrap_or(name));
                Names { old: Some(name.clone()), new: Some(name), doubtful: false }
            }
            ReadNames::Pair(pair) => pair.read(evidence),
        };
        let (old, new) = match (names.old, names.new) {
            (Some(old), Some(new)) => (old, new),
            (Some(name), None) | (None, Some(name)) => (name.clone(), name),
            (None, None) => {
                return Err(Problem::new(self.line, text!("neither side of this change has the name of a file.")));
            }
        };
        let (kind, mode, line) = (self.kind, self.mode, self.line);
        Ok(FilePatch { kind, old, new, mode, hunks: Vec::new(), unseen: false, doubtful: names.doubtful, line })
    }
}

/// The two names after `diff --git`. If blanks occur in unquoted names, the line alone does not show where they are
/// separated.
#[derive(Debug)]
enum GitNames {
    Quoted(Vec<u8>, Vec<u8>),
    Plain(Vec<u8>),
}

impl GitNames {
    fn read(line: &str) -> GitNames {
        match grammar::quoted_git_names(line) {
            Some((old, new)) => GitNames::Quoted(old, new),
            None => GitNames::Plain(line.strip_prefix(GIT).unwrap_or(line).trim_end_matches('\r').into()),
        }
    }

    /// Returns the name next to `/dev/null`. Git itself writes the name twice.
    fn name_of_one_side(&self, kind: Kind) -> Option<Vec<u8>> {
        const NOTHING: [&[u8]; 2] = [b"/dev/null", b"dev/null"];
        let GitNames::Plain(names) = self else { return None };
        let name = NOTHING.iter().find_map(|nothing| match kind {
            Kind::Create => names.strip_prefix(*nothing)?.strip_prefix(b" "),
            Kind::Delete => names.strip_suffix(*nothing)?.strip_suffix(b" "),
            _ => None,
        });
        name.map(<[u8]>::to_vec)
    }

    /// Returns the possible pairs of names: those that contain the known names, or whose new name ends with `to`.
    fn splits(&self, known: (Option<&Vec<u8>>, Option<&Vec<u8>>), to: Option<&Vec<u8>>) -> Vec<(Vec<u8>, Vec<u8>)> {
        let is_known = |old: &[u8], new: &[u8]| {
            known.0.is_none_or(|name| name.as_slice() == old) && known.1.is_none_or(|name| name.as_slice() == new)
        };
        let names = match self {
            GitNames::Quoted(old, new) if is_known(old, new) => return vec![(old.clone(), new.clone())],
            GitNames::Quoted(..) => return Vec::new(),
            GitNames::Plain(names) => names,
        };
        let before = |new: usize| names.len().checked_sub(new + 1);
        // Where the blank between the two names can be. The ranges are short, so that long lines of blanks take linear
        // time.
        let (from, to) = match (known, to) {
            ((Some(old), _), _) => (Some(old.len()), Some(old.len())),
            ((_, Some(new)), _) => (before(new.len()), before(new.len())),
            (_, Some(to)) => (before(to.len() + LONGEST_PREFIX).or(Some(0)), before(to.len())),
            // Both names end alike, so the blank is near the middle: their prefixes differ by at most `LONGEST_PREFIX`.
            _ => (Some((names.len() / 2).saturating_sub(LONGEST_PREFIX / 2)), Some((names.len() + LONGEST_PREFIX) / 2)),
        };
        let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
        let split = |at: usize| match (names.get(..at), names.get(at..)?.split_first()) {
            (Some(old), Some((b' ', new))) if is_known(old, new) => Some((old.to_vec(), new.to_vec())),
            _ => None,
        };
        (from..=to).filter_map(split).collect()
    }
}

/// Removes leading blanks of a name. No tool writes them, but models do.
fn without_margin(written: &WrittenName) -> WrittenName {
    match written {
        WrittenName::File(name) => WrittenName::File(name.trim_ascii_start().into()),
        WrittenName::Nothing => WrittenName::Nothing,
    }
}

/// Returns the number of folders in a name. Two prefixes have the same depth.
fn depth(name: &str) -> usize {
    name.matches('/').count()
}

/// Returns the part of `full` before `name`. `None` unless `full` ends with `name` and that part is empty or ends with
/// a slash.
fn prefix_of(full: &[u8], name: &[u8]) -> Option<String> {
    let prefix = full.strip_suffix(name).filter(|prefix| prefix.is_empty() || prefix.ends_with(b"/"))?;
    String::from_utf8(prefix.to_vec()).ok()
}

/// Returns a name after `rename` or `copy`, which has no prefix and no time.
fn unprefixed(text: &str) -> Vec<u8> {
    match grammar::quoted(text) {
        Ok((_, name)) => name,
        Err(_) => text.trim_end_matches('\r').into(),
    }
}

fn file_mode(text: &str, line: usize) -> Result<u32, Problem> {
    match grammar::mode(text) {
        Some(mode @ (0o100_644 | 0o100_755 | 0o100_664 | 0o100_600 | 0o100_700 | 0o644 | 0o755)) => Ok(mode),
        Some(0o120_000) => {
            Err(Problem::new(line, text!("a symbolic link, which a patch may not make, change or remove.")))
        }
        Some(0o160_000) => Err(Problem::new(line, text!("a submodule, which a patch cannot change."))),
        _ => Err(Problem::new(
            line,
            text!("{mode} is not the mode of a file; use 100644 or 100755.", mode = format!("{:?}", text.trim())),
        )),
    }
}

fn head_contradicts_itself() -> Text {
    text!(
        "the lines before the hunks contradict each other about whether the file is new, deleted, renamed or copied. \
         Keep those that say what is meant."
    )
}

fn names_contradict() -> Text {
    text!(
        "the names of the file in this head are not the same. Give the same two names in \"diff --git\", \"---\", \
         \"+++\" and the lines of git, or leave the \"diff --git\" line out."
    )
}

fn names_unreadable() -> Text {
    text!("the names of the file cannot be read. Add \"---\" and \"+++\" lines.")
}
