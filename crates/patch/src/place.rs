//! Finds the places of the hunks of one file in its text.
//!
//! The body decides and the numbers are hints: a hunk goes where its old lines are, compared by the first [`Pass`] in
//! which they occur at all. Among several places, the one nearest to the stated number is chosen, corrected by the
//! offset of the hunk before; a looser pass never breaks a tie. Every hunk is searched in the original text, so their
//! order does not matter.

use super::explain;
use super::find::{self, Occurrences, WorkLimit};
use super::headings;
use super::index::Index;
use super::miss::{Miss, Why};
use super::model::{Hunk, Line, Sign};
use super::pass::Pass;
use super::text::{self, Text};
use std::collections::BTreeMap;

/// The steps allowed for all hunks of a file together. They take some seconds.
const MOST_WORK: u64 = 1 << 31;

/// Maximum number of failures to report.
const MOST_MISSES: usize = 8;

/// The place of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HunkPlace {
    /// Its first old line, or the line before which it inserts; from 0.
    pub(super) at: usize,
    pub(super) pass: Pass,
}

/// Returns a place for every hunk, or why some have none.
pub(super) fn find_places(text: &Text<'_>, hunks: &[Hunk<'_>]) -> Result<Vec<HunkPlace>, Vec<Miss>> {
    let mut placer = Placer::new(text, hunks);
    let (mut places, mut misses) = (Vec::new(), Vec::new());
    for (number, hunk) in hunks.iter().enumerate() {
        match placer.place_hunk(hunk) {
            Ok(place) => places.push(place),
            Err(why) => misses.push(Miss::new(number + 1, hunk, why)),
        }
        if misses.len() == MOST_MISSES {
            break;
        }
    }
    if misses.is_empty() { Ok(places) } else { Err(misses) }
}

struct Placer<'p, 'a> {
    text: &'p Text<'a>,
    hunks: &'p [Hunk<'a>],
    indexes: [Option<Index<'a>>; 5],
    /// Whether the file has carriage returns and no line feed, and the patch does not show its carriage returns.
    lone_returns: bool,
    /// The passes that can match anything the one before does not.
    passes: Vec<Pass>,
    /// For each hunk placed so far, the distance from its stated line, keyed by that line.
    offsets: BTreeMap<u64, i64>,
    work: WorkLimit,
}

impl<'p, 'a> Placer<'p, 'a> {
    fn new(text: &'p Text<'a>, hunks: &'p [Hunk<'a>]) -> Self {
        let all = text.range(0, text.len());
        let in_patch = |is: fn(&str) -> bool| hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| is(line.text));
        let has_exact_ends = hunks.iter().any(|hunk| hunk.exact_ends);
        let in_file = memchr::memchr(b'\r', all).is_some();
        let shown = has_exact_ends || in_patch(|line| line.ends_with('\r'));
        let lone_returns = in_file && memchr::memchr(b'\n', all).is_none() && !has_exact_ends;
        let ascii = all.is_ascii() && !in_patch(|line| !line.is_ascii());
        let useful = |pass: &Pass| match pass {
            // A patch without carriage returns does not show which lines of the file have one.
            Pass::Exact => shown || !in_file,
            Pass::Ends => shown || in_file,
            // Without other characters than ASCII, this pass compares like the one before.
            Pass::Typographic => !ascii,
            _ => true,
        };
        let passes = Pass::ALL.into_iter().filter(useful).collect();
        Placer {
            text,
            hunks,
            indexes: Default::default(),
            lone_returns,
            passes,
            offsets: BTreeMap::new(),
            work: WorkLimit::new(MOST_WORK),
        }
    }

    fn place_hunk(&mut self, hunk: &Hunk<'a>) -> Result<HunkPlace, Why> {
        // The added lines would get line feeds, which the file does not have.
        if self.lone_returns {
            return Err(Why::LoneReturns);
        }
        if hunk.old().next().is_none() {
            return self.place_insertion(hunk);
        }
        let near = self.expected(hunk);
        // From the strictest pass to the loosest. The first that matches decides, and a looser one never breaks its
        // tie.
        for pass in self.passes.clone().into_iter().filter(|pass| distinguishes_sides(*pass, hunk)) {
            match self.find(pass, hunk, near)? {
                Occurrences::At(at) => {
                    self.check_end(pass, hunk, at, near)?;
                    return self.accept(hunk, HunkPlace { at, pass });
                }
                Occurrences::Several(all) => return Err(Why::ambiguous(&all)),
                Occurrences::Nowhere if self.work.is_spent() => return Err(Why::TooMuchWork),
                Occurrences::Nowhere => {}
            }
        }
        Err(self.explain_miss(hunk, near))
    }

    fn find(&mut self, pass: Pass, hunk: &Hunk<'a>, near: Option<usize>) -> Result<Occurrences, Why> {
        // The numbers of most patches are right, and then no search is necessary.
        if let Some(at) = near.filter(|at| !is_anchored(hunk) && self.matches_at(pass, hunk.old(), *at)) {
            return Ok(Occurrences::At(at));
        }
        let old = self.numbers(pass, hunk.old());
        let index = index(&mut self.indexes, pass, self.text, self.hunks);
        if is_anchored(hunk) {
            let at = self.text.len().checked_sub(old.len()).filter(|at| find::is_at(index, &old, *at));
            return Ok(at.map_or(Occurrences::Nowhere, Occurrences::At));
        }
        if hunk.headings.is_empty() || near.is_some() {
            return Ok(find::nearest(index, &old, near, &mut self.work));
        }
        let all = find::everywhere(index, &old, &mut self.work);
        // A heading can be frequent, so it is searched only if there is a place to choose.
        let sections =
            if all.is_empty() { Vec::new() } else { headings::sections(self.text, &hunk.headings, &mut self.work) };
        if self.work.is_spent() {
            return Err(Why::TooMuchWork);
        }
        let above = |heading: usize| Why::AboveHeading { line: all[0] + 1, heading: heading + 1 };
        headings::narrow(&all, &sections).map_err(above)
    }

    /// Refuses a place above the end of the file for a hunk that may belong at the end. A hunk with context above and
    /// none below has the form of one at the end; if it also fits there, its number and its form contradict each other.
    /// If its number means the end, a match there in a looser pass is enough: lines that are indented one level too
    /// deep match exactly at another bracket (`}` below `}`).
    fn check_end(&self, pass: Pass, hunk: &Hunk<'a>, at: usize, near: Option<usize>) -> Result<(), Why> {
        let is_context = |line: Option<&Line<'_>>| line.is_some_and(|line| line.sign == Sign::Context);
        let end = self.text.len().saturating_sub(hunk.old().count());
        // A diff gives context on both sides, except at the end of the file.
        let open = is_context(hunk.lines.first()) && !is_context(hunk.lines.last());
        if !open || at >= end || hunk.stated.is_none() {
            return Ok(());
        }
        let fits = |pass: &Pass| self.matches_at(*pass, hunk.old(), end);
        // A number after the end of the file means the end as well.
        let stated = hunk.stated.and_then(|stated| self.add_drift(stated.checked_sub(1)?));
        let says_end = near == Some(end) || stated.is_some_and(|at| usize::try_from(at).is_ok_and(|at| at >= end));
        if fits(&pass) || says_end && self.passes.iter().any(fits) {
            return Err(Why::ambiguous(&[at, end]));
        }
        Ok(())
    }

    fn accept(&mut self, hunk: &Hunk<'a>, place: HunkPlace) -> Result<HunkPlace, Why> {
        // A model may send the patch twice, and lines that are only added would then fit again.
        if self.is_there_already(hunk, place.at) {
            return Err(Why::AlreadyApplied { line: place.at + 1 });
        }
        if let Some(stated) = hunk.stated.filter(|stated| *stated > 0) {
            // No overflow: a stated line is below 2^32, and a file has less than 4 GB.
            self.offsets.insert(stated, place.at as i64 + 1 - stated as i64);
        }
        Ok(place)
    }

    /// Returns the line, from 0, where a hunk should be by its number, corrected by the offset of the hunk before it.
    fn expected(&self, hunk: &Hunk<'_>) -> Option<usize> {
        // A last line without a line feed can only be at the end.
        if hunk.old().next_back().is_some_and(|line| line.unended) {
            return Some(self.text.len().saturating_sub(hunk.old().count()));
        }
        let stated = hunk.stated.and_then(|stated| stated.checked_sub(1))?;
        // A number after the end of the file is no hint.
        usize::try_from(self.add_drift(stated)?).ok().filter(|at| *at < self.text.len())
    }

    fn add_drift(&self, line: u64) -> Option<i64> {
        let drift = self.offsets.range(..=line.saturating_add(1)).next_back().map_or(0, |(_, offset)| *offset);
        i64::try_from(line).ok()?.checked_add(drift).map(|at| at.max(0))
    }

    /// Places a hunk without old lines by its number and its headings.
    fn place_insertion(&mut self, hunk: &Hunk<'_>) -> Result<HunkPlace, Why> {
        let end = self.text.len();
        let at = |at| Ok(HunkPlace { at, pass: Pass::Exact });
        if hunk.at_end || end == 0 {
            return at(end);
        }
        let stated = hunk.stated.and_then(|stated| usize::try_from(self.add_drift(stated)?).ok());
        if let Some(line) = stated.filter(|line| *line <= end) {
            return at(line);
        }
        let sections = headings::sections(self.text, &hunk.headings, &mut self.work);
        match sections.as_slice() {
            _ if self.work.is_spent() => Err(Why::TooMuchWork),
            [heading] => at(heading + 1),
            [] if stated.is_some() => Err(Why::BehindEnd { lines: end }),
            [] => Err(Why::NoPlace),
            several => Err(Why::ambiguous(several)),
        }
    }

    /// Returns whether the lines that a hunk adds at one of its edges are already next to it in the file. Lines without
    /// a letter or digit, such as `}`, may repeat.
    fn is_there_already(&self, hunk: &Hunk<'a>, at: usize) -> bool {
        let added = |line: &&Line<'_>| line.sign == Sign::Add;
        let first = hunk.lines.iter().take_while(added).count();
        let last = hunk.lines.iter().rev().take_while(added).count();
        let only_at_one_edge = (first == 0) != (last == 0) && hunk.old().count() + first + last == hunk.lines.len();
        let says_something = |line: &Line<'_>| line.sign == Sign::Add && line.text.contains(char::is_alphanumeric);
        if hunk.lines.iter().any(|line| line.sign == Sign::Remove)
            || !only_at_one_edge
            || !hunk.lines.iter().any(says_something)
        {
            return false;
        }
        at.checked_sub(first).is_some_and(|at| self.matches_at(Pass::Ends, hunk.new_lines(), at))
    }

    fn matches_at<'h>(&self, pass: Pass, lines: impl Iterator<Item = &'h Line<'a>>, at: usize) -> bool
    where
        'a: 'h,
    {
        let same = |(offset, line): (usize, &Line<'_>)| {
            at + offset < self.text.len()
                && pass.key(self.text.line(at + offset)) == pass.key(text::strip_mark(line.text))
        };
        lines.enumerate().all(same)
    }

    fn numbers<'h>(&mut self, pass: Pass, lines: impl Iterator<Item = &'h Line<'a>>) -> Vec<u32>
    where
        'a: 'h,
    {
        let index = index(&mut self.indexes, pass, self.text, self.hunks);
        lines.map(|line| index.number(text::strip_mark(line.text))).collect()
    }

    fn explain_miss(&mut self, hunk: &Hunk<'a>, near: Option<usize>) -> Why {
        // The most useful causes come first: already applied, not at the end, not UTF-8, then the closest place.
        if let Some(at) = self.find_applied(hunk, near) {
            return Why::AlreadyApplied { line: at + 1 };
        }
        let pass = Pass::Surrounding;
        let old = self.numbers(pass, hunk.old());
        let index = index(&mut self.indexes, pass, self.text, self.hunks);
        if is_anchored(hunk)
            && let Some(at) = find::everywhere(index, &old, &mut self.work).last()
        {
            return Why::NotAtEnd { line: at + 1, lines: self.text.len() };
        }
        if let Some(line) = explain::not_utf8(self.text, hunk) {
            return Why::NotUtf8 { line };
        }
        match explain::closest(self.text, index, hunk, &old, near) {
            None if explain::has_lone_returns(self.text) => Why::LoneReturns,
            closest => Why::NotFound(closest),
        }
    }

    /// Returns the line where the new lines of the hunk already begin.
    fn find_applied(&mut self, hunk: &Hunk<'a>, near: Option<usize>) -> Option<usize> {
        let pass = *self.passes.iter().rfind(|pass| **pass <= Pass::Ends)?;
        let new = self.numbers(pass, hunk.new_lines());
        if new.is_empty() || changes_end(hunk) {
            return None;
        }
        let index = index(&mut self.indexes, pass, self.text, self.hunks);
        match find::nearest(index, &new, near, &mut self.work) {
            Occurrences::Nowhere => None,
            Occurrences::At(at) => Some(at),
            Occurrences::Several(all) => all.first().copied(),
        }
    }
}

fn index<'i, 'a>(
    indexes: &'i mut [Option<Index<'a>>; 5],
    pass: Pass,
    text: &Text<'a>,
    hunks: &[Hunk<'a>],
) -> &'i Index<'a> {
    indexes[pass as usize].get_or_insert_with(|| {
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| text::strip_mark(line.text));
        Index::new(pass, text, lines)
    })
}

/// Returns whether a hunk must be at the end of the file: a mark requires it, or the hunk adds or removes the last line
/// feed.
fn is_anchored(hunk: &Hunk<'_>) -> bool {
    hunk.at_end || changes_end(hunk)
}

fn changes_end(hunk: &Hunk<'_>) -> bool {
    let unended = |line: Option<&Line<'_>>| line.is_some_and(|line| line.unended);
    let (old, new) = (hunk.old().next_back(), hunk.new_lines().next_back());
    old.is_some() && new.is_some() && unended(old) != unended(new)
}

/// Returns whether a pass distinguishes the old from the new lines; otherwise it could match the new lines as old ones.
fn distinguishes_sides(pass: Pass, hunk: &Hunk<'_>) -> bool {
    if hunk.is_idle() || (pass <= Pass::Ends && changes_end(hunk)) {
        return true;
    }
    let key = |line: &Line<'_>| pass.key(text::strip_mark(line.text)).into_owned();
    !hunk.old().map(key).eq(hunk.new_lines().map(key))
}
