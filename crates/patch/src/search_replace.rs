//! Reads SEARCH/REPLACE blocks, as aider prompts models for them: a path, then the old and the new text of each change.
//!
//! A block is a hunk without headings and numbers. Each becomes a separate part of the patch, so that the blocks of a
//! file may be in any order.

use super::begin::file;
use super::model::{FilePatch, Hunk, Kind, Line, Patch, Problem, Sign};
use super::{grammar, names, unified};
use toolfence_protocol::search_replace::{self, Mark};
use toolfence_protocol::{Text, text};

/// Returns whether the first line that begins a form of patches begins this one.
pub(super) fn begins(lines: &[&str]) -> bool {
    let is_search = |line: &str| search_replace::mark(line) == Some(Mark::Search);
    let other = |at: usize| {
        let line = lines[at];
        grammar::mark(line).is_some() || line.starts_with("diff --git ") || unified::is_pair(lines, at)
    };
    (0..lines.len()).find(|at| is_search(lines[*at]) || other(*at)).is_some_and(|at| is_search(lines[at]))
}

/// Reads every block of the text.
pub(super) fn read<'a>(lines: &[&'a str]) -> Result<Patch<'a>, Problem> {
    let mut reader = BlockReader { lines, at: 0, path: None };
    let mut patch = Patch::default();
    while reader.at < lines.len() {
        let line = lines[reader.at];
        match search_replace::mark(line) {
            Some(Mark::Search) => patch.files.push(reader.block()?),
            Some(Mark::Divider | Mark::Replace) => return Err(reader.misplaced()),
            None => {
                // The path of a block is the last line before it, apart from blank lines and the fence.
                if !line.trim().is_empty() && !is_fence(line) {
                    reader.path = Some(search_replace::path(line));
                }
                reader.at += 1;
            }
        }
    }
    Ok(patch)
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

struct BlockReader<'l, 'a> {
    lines: &'l [&'a str],
    at: usize,
    /// The path of the next block; `Some(None)` if the line in its place is no path.
    path: Option<Option<&'a str>>,
}

impl<'a> BlockReader<'_, 'a> {
    /// Reads the block that begins here.
    fn block(&mut self) -> Result<FilePatch<'a>, Problem> {
        let first = self.at + 1;
        let Some(path) = self.path.flatten() else {
            return Err(Problem::new(
                first,
                text!("the path of the file is missing: write it alone on the line before <<<<<<< SEARCH"),
            ));
        };
        let strip = self.lines[self.at].ends_with('\r');
        self.at += 1;
        let old = self.text_to(Mark::Divider, strip)?;
        let new = self.text_to(Mark::Replace, strip)?;
        let name = names::marked(path, first)?;
        // aider's form of a new file: a block without old text.
        let kind = if old.is_empty() { Kind::Create } else { Kind::Modify };
        // Lines that are the same on both sides become context, so that they keep the file's indentation and line ends.
        let is_shared = |pair: &(&&str, &&str)| pair.0 == pair.1;
        let above = old.iter().zip(&new).take_while(is_shared).count();
        let below = old[above..].iter().rev().zip(new[above..].iter().rev()).take_while(is_shared).count();
        let lines = |sign, texts: &[&'a str]| -> Vec<Line<'a>> {
            texts.iter().map(|text| Line { sign, text, unended: false }).collect()
        };
        let (old_end, new_end) = (old.len() - below, new.len() - below);
        let hunk = Hunk {
            lines: [
                lines(Sign::Context, &old[..above]),
                lines(Sign::Remove, &old[above..old_end]),
                lines(Sign::Add, &new[above..new_end]),
                lines(Sign::Context, &old[old_end..]),
            ]
            .concat(),
            line: first,
            ..Hunk::default()
        };
        let hunks = if hunk.lines.is_empty() { Vec::new() } else { vec![hunk] };
        Ok(FilePatch { hunks, ..file(kind, name, first) })
    }

    /// Reads the lines up to the mark, and the mark.
    fn text_to(&mut self, end: Mark, strip: bool) -> Result<Vec<&'a str>, Problem> {
        let mut texts = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            match search_replace::mark(line) {
                Some(mark) if mark == end => {
                    self.at += 1;
                    return Ok(texts);
                }
                Some(_) => return Err(self.misplaced()),
                None => texts.push(if strip { line.strip_suffix('\r').unwrap_or(line) } else { line }),
            }
            self.at += 1;
        }
        let message: Text = match end {
            Mark::Divider => text!("======= is missing after <<<<<<< SEARCH"),
            Mark::Search | Mark::Replace => text!("the text ends before >>>>>>> REPLACE"),
        };
        Err(Problem::new(self.lines.len(), message))
    }

    /// Reports a mark in an impossible place, which may be a line of the file.
    fn misplaced(&self) -> Problem {
        Problem::new(
            self.at + 1,
            text!(
                "the marks <<<<<<< SEARCH, ======= and >>>>>>> REPLACE do not come in this order, once for each change; if the text of the \
                 file has such lines, use another tool"
            ),
        )
    }
}
