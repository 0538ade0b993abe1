//! Reads the `*** Begin Patch` form: marks, headings, and bodies without line numbers.

use super::body;
use super::grammar::{self, HunkHead, Mark};
use super::model::{FilePatch, Hunk, Kind, Line, Name, Patch, Problem, Sign};
use super::names::{self, Evidence, Names, Pair};
use super::prose::{self, Position};
use super::unified;
use toolfence_protocol::{Text, text};

/// Maximum number of headings of a hunk. Code is hardly nested deeper.
const MOST_HEADINGS: usize = 16;

/// Returns whether the first lines show that the text is in this form.
pub(super) fn begins(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        line.starts_with("*** ")
            && matches!(grammar::mark(line), Some(Mark::Begin | Mark::Update(_) | Mark::Add(_) | Mark::Delete(_)))
    })
}

/// Strips the blanks before marks where no line of a hunk can be: before the first two marks, and before the last one
/// if the text has no other end. Elsewhere a mark after a blank may be context.
pub(super) fn straighten(lines: &mut [&str]) {
    let filled: Vec<usize> = (0..lines.len()).filter(|at| !lines[*at].trim().is_empty()).collect();
    let (Some(first), Some(last)) = (filled.first().copied(), filled.last().copied()) else { return };
    if grammar::mark(lines[first].trim_start()) != Some(Mark::Begin) {
        return;
    }
    lines[first] = lines[first].trim_start();
    if let Some(second) = filled.get(1).copied()
        && matches!(grammar::mark(lines[second].trim_start()), Some(Mark::Update(_) | Mark::Add(_) | Mark::Delete(_)))
    {
        lines[second] = lines[second].trim_start();
    }
    let has_end = lines.iter().any(|line| grammar::mark(line) == Some(Mark::End));
    if !has_end && grammar::mark(lines[last].trim_start()) == Some(Mark::End) {
        lines[last] = lines[last].trim_start();
    }
}

/// Reads all patches of the text.
pub(super) fn read<'a>(lines: &[&'a str]) -> Result<Patch<'a>, Problem> {
    let mut patch = Patch::default();
    let mut at = 0;
    loop {
        let begin = (at..lines.len()).find(|at| grammar::mark(lines[*at]).is_some());
        let position = if patch.files.is_empty() { Position::Apart } else { Position::AfterHunk };
        prose::refuse(lines, at, begin.unwrap_or(lines.len()), position).map_err(|problem| {
            Problem::new(
                problem.line,
                text!("a change outside of \"*** Begin Patch\" and \"*** End Patch\". Put all changes in one form."),
            )
        })?;
        let Some(begin) = begin else { return Ok(patch) };
        let end = (begin..lines.len()).find(|at| grammar::mark(lines[*at]) == Some(Mark::End));
        // Half of the changes of a reply that was cut off must not be applied.
        let end = end.ok_or_else(|| truncated(lines.len()))?;
        if grammar::mark(lines[begin]) != Some(Mark::Begin) {
            return Err(Problem::new(begin + 1, text!("\"*** Begin Patch\" is missing before this line.")));
        }
        read_one(lines, begin + 1, end, &mut patch)?;
        at = end + 1;
    }
}

fn truncated(line: usize) -> Problem {
    Problem::new(line, text!("there is no \"*** End Patch\", so the patch was cut off. Send all of it again."))
}

fn read_one<'a>(lines: &[&'a str], begin: usize, end: usize, patch: &mut Patch<'a>) -> Result<(), Problem> {
    let mut reader = BeginReader { lines, at: begin, end };
    reader.skip_blank();
    let inside = &lines[begin..end];
    if inside.iter().all(|line| grammar::mark(line).is_none()) && inside.iter().any(|line| line.starts_with("--- ")) {
        // Some models wrap a unified diff in the marks of this form.
        patch.files.extend(unified::read(&lines[..end], begin)?.files);
        return Ok(());
    }
    while reader.at < end {
        patch.files.push(reader.file()?);
        reader.skip_blank();
    }
    Ok(())
}

struct BeginReader<'l, 'a> {
    lines: &'l [&'a str],
    at: usize,
    end: usize,
}

impl<'a> BeginReader<'_, 'a> {
    fn file(&mut self) -> Result<FilePatch<'a>, Problem> {
        let line = self.at + 1;
        let mark = grammar::mark(self.lines[self.at]);
        self.at += 1;
        match mark {
            Some(Mark::Add(name)) => self.add(names::marked(name, line)?, line),
            Some(Mark::Delete(name)) => {
                let name = names::marked(name, line)?;
                self.refuse_lines(text!("a deleted file has no lines in this form."))?;
                Ok(FilePatch { unseen: true, ..file(Kind::Delete, name, line) })
            }
            Some(Mark::Update(name)) => self.update(names::marked(name, line)?, line),
            _ => Err(Problem::new(line, mark_wanted())),
        }
    }

    fn refuse_lines(&mut self, message: Text) -> Result<(), Problem> {
        self.skip_blank();
        let free = self.at < self.end && grammar::mark(self.lines[self.at]).is_none();
        if free { Err(Problem::new(self.at + 1, message)) } else { Ok(()) }
    }

    fn skip_blank(&mut self) {
        while self.at < self.end && self.lines[self.at].trim().is_empty() {
            self.at += 1;
        }
    }

    fn next_mark(&self) -> usize {
        (self.at..self.end).find(|at| grammar::mark(self.lines[*at]).is_some()).unwrap_or(self.end)
    }

    fn add(&mut self, name: Name, line: usize) -> Result<FilePatch<'a>, Problem> {
        let end = self.next_mark();
        let lines = &self.lines[self.at..end];
        let last = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
        let mut hunk = Hunk { line, ..Hunk::default() };
        // A carriage return after the mark was added in transport, and then the content has them from there too.
        let strip = self.lines[line - 1].ends_with('\r');
        for (offset, text) in lines[..last].iter().enumerate() {
            let text = if strip { text.strip_suffix('\r').unwrap_or(text) } else { text };
            // Models leave out the `+` of empty lines.
            let added = text.strip_prefix('+').or_else(|| Some(text).filter(|text| text.trim().is_empty()).map(|_| ""));
            if text.starts_with("\\ ") {
                hunk.lines.last_mut().into_iter().for_each(|last| last.unended = true);
                continue;
            }
            let Some(text) = added else {
                return Err(Problem::new(
                    self.at + offset + 1,
                    text!("{name} is a new file, so every line of it begins with +.", name = name.path),
                ));
            };
            hunk.lines.push(Line { sign: Sign::Add, text, unended: false });
        }
        self.at = end;
        hunk.exact_ends = hunk.lines.iter().any(|line| line.text.ends_with('\r'));
        let hunks = if hunk.lines.is_empty() { Vec::new() } else { vec![hunk] };
        Ok(FilePatch { hunks, ..file(Kind::Create, name, line) })
    }

    fn update(&mut self, name: Name, line: usize) -> Result<FilePatch<'a>, Problem> {
        let mut file = file(Kind::Modify, name, line);
        self.skip_blank();
        if let Some(Mark::MoveTo(new)) =
            self.lines.get(self.at).filter(|_| self.at < self.end).and_then(|line| grammar::mark(line))
        {
            self.at += 1;
            file.new = names::marked(new, self.at)?;
            // A move to the same name is no rename, which would be refused because the file exists.
            file.kind = if file.new == file.old { Kind::Modify } else { Kind::Rename };
        }
        // Some models write the head of a unified diff below the mark.
        if self.begins_head_of(&file) {
            self.at += 2;
        }
        let strip = self.lines[line - 1].ends_with('\r');
        while let Some(hunk) = self.hunk(strip, &file)? {
            file.hunks.push(hunk);
        }
        if file.hunks.is_empty() && file.kind == Kind::Modify {
            return Err(unified::no_hunks(&file));
        }
        Ok(file)
    }

    /// Returns whether the current line begins the head of the same file in the other form: some patches contain both.
    fn begins_head_of(&self, file: &FilePatch<'_>) -> bool {
        if self.at + 1 >= self.end || !unified::is_pair(self.lines, self.at) {
            return false;
        }
        let [old, new] = [0, 1].map(|offset| grammar::file_name(&self.lines[self.at + offset][4..]));
        // Lines of a hunk can look like a head. If they name another file, they are not skipped.
        let Ok(pair) = Pair::new(&old, &new, self.at + 1) else { return false };
        let Names { old: Some(old), new: Some(new), .. } = pair.read(&Evidence::default()) else { return false };
        [old, new].iter().all(|name| names::may_be_same(name, &file.old) || names::may_be_same(name, &file.new))
    }

    /// Skips the prose after a body and refuses prose that belongs to a change. The head of the same file may be
    /// repeated there.
    fn pass_prose(&mut self, end: usize, file: &FilePatch<'_>) -> Result<(), Problem> {
        let mut is_in_file = true;
        while self.at < end {
            let line = self.lines[self.at];
            if self.begins_head_of(file) {
                self.at += 2;
                is_in_file = true;
                continue;
            }
            is_in_file &= line.trim().is_empty();
            let begins_other = line.starts_with("diff -") || unified::is_pair(self.lines, self.at);
            if begins_other || (line.starts_with("***") && !line.trim_end().ends_with('*')) {
                return Err(Problem::new(self.at + 1, mark_wanted()));
            }
            // Subversion writes an `Index:` line before a head.
            if let Some(name) = line.strip_prefix("Index: ") {
                let same =
                    names::single(name.trim(), self.at + 1).is_ok_and(|name| names::may_be_same(&name, &file.old));
                if !same {
                    return Err(Problem::new(self.at + 1, mark_wanted()));
                }
            }
            prose::refuse_line(self.lines, self.at, Position::InHunk)?;
            self.at += 1;
        }
        // Prose between hunks may name another file, so the hunk after it may belong to that one.
        if !is_in_file && self.at < self.end && self.lines[self.at].starts_with("@@") {
            return Err(Problem::new(
                self.at + 1,
                text!("a hunk without the name of its file. Put \"--- a/path\" and \"+++ b/path\" before it."),
            ));
        }
        Ok(())
    }

    fn hunk(&mut self, strip: bool, file: &FilePatch<'_>) -> Result<Option<Hunk<'a>>, Problem> {
        self.skip_blank();
        let mut hunk = Hunk { line: self.at + 1, ..Hunk::default() };
        let mut counts = None;
        while let Some(head) = self.head() {
            prose::refuse_heading(head.heading, self.at)?;
            hunk.stated = head.old_start;
            counts = head.counts;
            hunk.headings.extend(Some(head.heading).filter(|heading| !heading.is_empty()));
            if hunk.headings.len() > MOST_HEADINGS {
                return Err(Problem::new(
                    self.at,
                    text!("more than {most} headings above one hunk. Keep the nearest.", most = MOST_HEADINGS),
                ));
            }
        }
        let first = self.at;
        let end = (first..self.end)
            .find(|at| self.lines[*at].starts_with("@@") || grammar::mark(self.lines[*at]).is_some())
            .unwrap_or(self.end);
        let segment = &self.lines[first..end];
        let length = body::length(segment, counts);
        self.at = first + length;
        // Counts that match confirm every line. Without them, an added `++ b/x` may be the head of another file.
        if !body::counts_match(&segment[..length], counts) {
            prose::refuse_names(self.lines, first, self.at)?;
        }
        self.pass_prose(end, file)?;
        body::fill(&mut hunk, &segment[..length], strip);
        body::correct_stated_line(&mut hunk, counts);
        hunk.at_end = self.takes_end_of_file();
        if !hunk.lines.is_empty() {
            return Ok(Some(hunk));
        }
        // At the end of the file's part there is no head and no line, and that is no error.
        let blank = segment.iter().all(|line| line.trim().is_empty());
        if blank && hunk.headings.is_empty() && counts.is_none() && !hunk.at_end && hunk.line > self.at {
            return Ok(None);
        }
        Err(Problem::new(hunk.line, text!("a hunk without lines. Lines begin with a blank, + or -.")))
    }

    fn head(&mut self) -> Option<HunkHead<'a>> {
        let line = self.lines.get(self.at).copied().filter(|_| self.at < self.end)?;
        let head = grammar::hunk_head(line)?;
        self.at += 1;
        Some(head)
    }

    fn takes_end_of_file(&mut self) -> bool {
        let here = self.at < self.end && grammar::mark(self.lines[self.at]) == Some(Mark::EndOfFile);
        self.at += usize::from(here);
        here
    }
}

/// Returns a change of one file that has no hunks yet.
pub(super) fn file<'a>(kind: Kind, name: Name, line: usize) -> FilePatch<'a> {
    FilePatch {
        kind,
        old: name.clone(),
        new: name,
        mode: None,
        hunks: Vec::new(),
        unseen: false,
        doubtful: false,
        line,
    }
}

fn mark_wanted() -> Text {
    text!("here \"*** Add File: path\", \"*** Update File: path\" or \"*** Delete File: path\" is wanted.")
}
