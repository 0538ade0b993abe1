//! Reads unified diffs: finds where files begin, and reads their heads and hunks.

use super::body;
use super::grammar::{self, HunkHead, WrittenName};
use super::head::{GIT, Head, ReadHead};
use super::model::{FilePatch, Hunk, Kind, Patch, Problem, Sign};
use super::names::Evidence;
use super::prose::{self, Position};
use super::wrap::Wrappers;
use toolfence_protocol::text;

/// Reads every file from line `at` on.
pub(super) fn read<'a>(lines: &[&'a str], at: usize) -> Result<Patch<'a>, Problem> {
    let mut reader = UnifiedReader { lines, at, wrappers: Wrappers::default(), has_hunks: false, is_in_file: false };
    let (mut heads, mut evidence) = (Vec::new(), Evidence::default());
    while reader.at < lines.len() {
        if let Some((head, hunks)) = reader.file()? {
            head.show(&mut evidence);
            heads.push((head, hunks));
        }
    }
    // The names are decided only after all heads were read, because one head can show the prefixes of another.
    let mut patch = Patch::default();
    for (head, hunks) in heads {
        let is_complete = head.is_complete;
        let file = FilePatch { hunks, ..head.file(&evidence)? };
        check(&file, is_complete)?;
        patch.files.push(file);
    }
    mean_ends_of_additions(&mut patch);
    Ok(patch)
}

/// Keeps the carriage returns of hunks that only add lines, if hunks of other files show that the line ends of the
/// patch are content. For a file with old lines, these lines show its line ends.
fn mean_ends_of_additions(patch: &mut Patch<'_>) {
    let mut hunks = patch.files.iter().flat_map(|file| &file.hunks);
    if !hunks.any(|hunk| hunk.exact_ends) {
        return;
    }
    for file in &mut patch.files {
        if file.hunks.iter().all(|hunk| hunk.old().next().is_none()) {
            file.hunks.iter_mut().for_each(|hunk| hunk.exact_ends = true);
        }
    }
}

/// Returns whether a line below `diff --git` describes a change by itself.
pub(super) fn says_kind(line: &str) -> bool {
    const WORDS: [&str; 7] = [
        "old mode ",
        "new mode ",
        "deleted file mode ",
        "new file mode ",
        "rename from ",
        "copy from ",
        "similarity index ",
    ];
    WORDS.iter().any(|word| line.starts_with(word))
}

/// Returns whether the lines at a place are `--- name` and `+++ name`.
pub(super) fn is_pair(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|line| line.starts_with("+++ "))
}

struct UnifiedReader<'l, 'a> {
    lines: &'l [&'a str],
    at: usize,
    wrappers: Wrappers<'a>,
    /// Whether a hunk was read. After one, a line that looks like the head of a file is not skipped as prose.
    has_hunks: bool,
    /// Whether a hunk here belongs to the file above. Prose between hunks may name another file.
    is_in_file: bool,
}

impl<'a> UnifiedReader<'_, 'a> {
    /// Reads the file that begins here; `None` if a line of prose was skipped.
    fn file(&mut self) -> Result<Option<(ReadHead, Vec<Hunk<'a>>)>, Problem> {
        let line = self.lines[self.at];
        let mut head = if line.starts_with(GIT) {
            Head::of_git(line, self.at + 1)
        } else if is_pair(self.lines, self.at) {
            Head::new(self.at + 1)
        } else {
            let position = if self.has_hunks { Position::AfterHunk } else { Position::Apart };
            // A line of a change in prose is refused, so skipping this line loses nothing.
            prose::refuse_line(self.lines, self.at, position)?;
            self.wrappers.see(line);
            self.at += 1;
            return Ok(None);
        };
        if line.starts_with(GIT) {
            self.at += 1;
            self.git_lines(&mut head)?;
        }
        if self.at < self.lines.len() && is_pair(self.lines, self.at) {
            head.take_pair(&self.lines[self.at][4..], &self.lines[self.at + 1][4..]);
            self.at += 2;
        }
        let head = head.read()?;
        let hunks = self.hunks(head.has_pair)?;
        Ok(Some((head, hunks)))
    }

    fn git_lines(&mut self, head: &mut Head) -> Result<(), Problem> {
        while let Some(line) = self.lines.get(self.at).copied() {
            if is_binary(line) {
                return Err(binary(self.at + 1));
            }
            if !head.take(line, self.at + 1)? {
                break;
            }
            self.at += 1;
        }
        Ok(())
    }

    fn hunks(&mut self, has_pair: bool) -> Result<Vec<Hunk<'a>>, Problem> {
        let mut hunks = Vec::new();
        self.is_in_file = true;
        // Prose can name another file, so a bare hunk after it is refused instead of applied to this one.
        while let Some(line) = self.lines.get(self.at).copied().filter(|_| self.is_in_file) {
            let begins =
                has_pair && line.starts_with([' ', '+', '-']) && !is_pair(self.lines, self.at) && hunks.is_empty();
            match grammar::hunk_head(line) {
                Some(head) => {
                    self.at += 1;
                    hunks.push(self.hunk(head, line.ends_with('\r'))?);
                }
                // The `@@` line of the first hunk was left out.
                None if begins => hunks.push(self.hunk(HunkHead::default(), line.ends_with('\r'))?),
                None if line.trim().is_empty() => self.at += 1,
                None => break,
            }
        }
        self.has_hunks |= !hunks.is_empty();
        Ok(hunks)
    }

    fn hunk(&mut self, head: HunkHead<'a>, strip: bool) -> Result<Hunk<'a>, Problem> {
        let end = self.segment_end(head.counts);
        prose::refuse_heading(head.heading, self.at)?;
        let segment = &self.lines[self.at..end];
        let length = body::length(segment, head.counts);
        if !body::counts_match(&segment[..length], head.counts) {
            prose::refuse_names(self.lines, self.at, self.at + length)?;
        }
        let headings = Some(head.heading).filter(|heading| !heading.is_empty()).into_iter().collect();
        let mut hunk = Hunk { stated: head.old_start, headings, line: self.at.max(1), ..Hunk::default() };
        body::fill(&mut hunk, &segment[..length], strip);
        body::correct_stated_line(&mut hunk, head.counts);
        // What follows the body up to the next head must be prose.
        prose::refuse(self.lines, self.at + length, end, Position::InHunk)?;
        for line in &segment[length..] {
            self.wrappers.see(line);
            self.is_in_file &= line.trim().is_empty();
        }
        self.at = end;
        if hunk.lines.is_empty() {
            return Err(Problem::new(hunk.line, text!("a hunk without lines. Is the patch complete?")));
        }
        Ok(hunk)
    }

    /// Returns the line at which the body of this hunk certainly ends, because something else begins there.
    ///
    /// A removed and an added line can look like the head of another file. The counts distinguish them, if they are
    /// right.
    fn segment_end(&self, counts: Option<body::Counts>) -> usize {
        let mut seen = (0, 0);
        let (mut first_head, mut met) = (None, false);
        let mut at = self.at;
        while at < self.lines.len() && !self.ends_body(at) {
            met = met || counts == Some(seen);
            if self.looks_like_head(at) {
                // Either the counts are complete, or the head has no counts by which the hunk could continue.
                if met || counts.is_none() {
                    return at;
                }
                first_head = first_head.or(Some(at));
            }
            let (old, new) = body::counts_of(self.lines[at]).unwrap_or_default();
            seen = (seen.0 + old, seen.1 + new);
            at += 1;
        }
        // Counts that are never met are wrong, and then the first line that looks like a head is one.
        if met || counts == Some(seen) { at } else { first_head.unwrap_or(at) }
    }

    fn ends_body(&self, at: usize) -> bool {
        let line = self.lines[at];
        line.starts_with("diff -")
            || line.starts_with("Index: ")
            || (line.starts_with("@@") && (line.starts_with("@@@") || grammar::hunk_head(line).is_some()))
            || grammar::mark(line).is_some()
            || is_binary(line)
            || self.wrappers.close(line)
            || (is_pair(self.lines, at) && self.has_prefixes(at))
    }

    /// Returns whether a pair of lines names the same file with the prefixes `a/` and `b/`, as changed lines hardly
    /// ever do. Returns `false` if more than one blank precedes a name: no tool writes that, and the first line may be
    /// a removed comment, so the counts decide.
    fn has_prefixes(&self, at: usize) -> bool {
        let written = [at, at + 1].map(|at| &self.lines[at][4..]);
        if written.iter().any(|name| name.starts_with(char::is_whitespace)) {
            return false;
        }
        match &written.map(grammar::file_name) {
            [WrittenName::File(old), WrittenName::File(new)] => {
                old.strip_prefix(b"a/").is_some_and(|rest| new.strip_prefix(b"b/") == Some(rest))
            }
            _ => false,
        }
    }

    fn looks_like_head(&self, at: usize) -> bool {
        if !is_pair(self.lines, at) {
            return false;
        }
        let after = self.lines.get(at + 2).copied().unwrap_or_default();
        let names = [at, at + 1].map(|at| grammar::file_name(&self.lines[at][4..]));
        let named = |name: &WrittenName| matches!(name, WrittenName::File(bytes) if !bytes.contains(&b' '));
        after.starts_with("@@") || names.contains(&WrittenName::Nothing) || names.iter().all(named)
    }
}

pub(super) fn is_binary(line: &str) -> bool {
    line.trim_end() == "GIT binary patch" || (line.starts_with("Binary files ") && line.trim_end().ends_with(" differ"))
}

fn binary(line: usize) -> Problem {
    Problem::new(
        line,
        text!("a binary file, which a text patch cannot change. Leave it out, or make the file with a command."),
    )
}

/// Checks that the hunks fit the kind of change.
fn check(file: &FilePatch<'_>, is_complete: bool) -> Result<(), Problem> {
    // With old lines in a new file, or new ones in a deleted file, the patch is for another state of the project.
    let wrong = |sign: Sign| file.hunks.iter().any(|hunk| hunk.lines.iter().any(|line| line.sign != sign));
    match file.kind {
        Kind::Create if wrong(Sign::Add) => Err(Problem::new(
            file.line,
            text!("{name} is a new file, so every line of it begins with +.", name = &file.new.path)
                .then(text!("It depends on other changes.")),
        )),
        Kind::Delete if wrong(Sign::Remove) => Err(Problem::new(
            file.line,
            text!("{name} is deleted, so every line of it begins with -.", name = &file.old.path),
        )),
        _ if file.hunks.is_empty() && !is_complete => Err(no_hunks(file)),
        _ => Ok(()),
    }
}

pub(super) fn no_hunks(file: &FilePatch<'_>) -> Problem {
    Problem::new(
        file.line,
        text!("nothing is said about what to change in {name}: there are no hunks.", name = &file.new.path),
    )
}
