//! Builds the new text from the hunks and their places, after refusing overlaps.

use super::miss::{Miss, Why};
use super::model::{Hunk, Line, Sign};
use super::pass::Pass;
use super::place::HunkPlace;
use super::reading::{self, Block, IndentReading};
use super::shift::{Pair, Shift};
use super::text::Text;
use std::ops::Range;

/// Maximum number of blanks that indentation adds to a text. Without a limit, each line of two bytes could grow by
/// hundreds of blanks.
const MOST_BLANKS: usize = 1 << 20;

/// The lines removed and added at one place.
#[derive(Debug)]
struct Edit<'h, 'a> {
    at: usize,
    removed: usize,
    added: &'h [Line<'a>],
    hunk: usize,
    /// The lines of the file, directly before or after this place, that the added lines replace.
    replaced: Range<usize>,
    /// The index of its block in the hunk.
    block: usize,
}

/// Returns the text with all hunks applied.
pub(super) fn build(text: &Text<'_>, hunks: &[Hunk<'_>], places: &[HunkPlace]) -> Result<Vec<u8>, Vec<Miss>> {
    let mut edits: Vec<Edit<'_, '_>> = Vec::new();
    for (number, (hunk, place)) in hunks.iter().zip(places).enumerate() {
        edits.extend(edits_of(number, hunk, place.at));
    }
    // Hunks may be in any order. At one place, insertions precede a removal.
    edits.sort_by_key(|edit| (edit.at, edit.removed > 0, edit.hunk));
    let overlaps = overlaps(&edits, hunks, places);
    if !overlaps.is_empty() {
        return Err(overlaps);
    }
    let mut shifts: Vec<Shift<'_>> =
        hunks.iter().zip(places).map(|(hunk, place)| find_shift(text, hunk, *place)).collect();
    // A hunk at the margin does not show what a tab is, but another hunk of the file may.
    share_units(&mut shifts, hunks);
    let readings = read_hunks(text, hunks, places, &shifts);
    let mut builder = Builder {
        text,
        shifts,
        readings,
        shows_returns: hunks.iter().any(|hunk| hunk.exact_ends),
        out: text.mark().to_vec(),
        blanks: 0,
        last_end: 0,
    };
    let mut at = 0;
    for edit in &edits {
        // The edits are sorted and do not overlap, so one pass over the file is enough.
        builder.keep(at, edit.at);
        at = edit.at + edit.removed;
        let (hunk, place) = (&hunks[edit.hunk], places[edit.hunk]);
        let doubt = || vec![Miss::new(edit.hunk + 1, hunk, Why::Indentation { line: place.at + 1 })];
        builder.add(edit, place).ok_or_else(doubt)?;
    }
    builder.keep(at, text.len());
    Ok(builder.finish(is_ended(text, hunks, places)))
}

/// Returns the edits of one hunk, one for each run of removed or added lines. The runs between two lines of context are
/// one block.
fn edits_of<'h, 'a>(number: usize, hunk: &'h Hunk<'a>, place: usize) -> Vec<Edit<'h, 'a>> {
    let mut edits: Vec<Edit<'h, 'a>> = Vec::new();
    let (mut old, mut block, mut at, mut removed) = (0, 0, 0, 0);
    while at < hunk.lines.len() {
        let sign = hunk.lines[at].sign;
        let run = hunk.lines[at..].iter().take_while(|line| line.sign == sign).count();
        let lines = &hunk.lines[at..at + run];
        let next = || hunk.lines[at + run..].iter().take_while(|line| line.sign == Sign::Remove).count();
        let here = place + old;
        let replaced = match sign {
            // Added lines may also precede the lines that they replace.
            Sign::Add if removed == 0 => here..here + next(),
            _ => here - removed..here,
        };
        let edit = Edit { at: here, removed: 0, added: &[], hunk: number, replaced, block };
        match sign {
            // The next line of context ends a block.
            Sign::Context => block += usize::from(at > 0),
            Sign::Remove => edits.push(Edit { removed: run, ..edit }),
            Sign::Add => edits.push(Edit { added: lines, ..edit }),
        }
        if sign != Sign::Add {
            old += run;
        }
        removed = if sign == Sign::Remove { run } else { 0 };
        at += run;
    }
    edits
}

/// Finds hunks that remove lines of another hunk, or that insert where another one does.
fn overlaps(edits: &[Edit<'_, '_>], hunks: &[Hunk<'_>], places: &[HunkPlace]) -> Vec<Miss> {
    const MOST: usize = 8;
    let miss = |hunk: usize, with: usize, line: usize| {
        Miss::new(hunk + 1, &hunks[hunk], Why::Overlap { with: with + 1, line: line + 1 })
    };
    let mut found = Vec::new();
    for pair in edits.windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        // The patch does not show which of two insertions comes first.
        if one.hunk != other.hunk && one.removed == 0 && other.removed == 0 && one.at == other.at {
            found.push(miss(other.hunk.max(one.hunk), other.hunk.min(one.hunk), one.at));
        }
    }
    let removals: Vec<&Edit<'_, '_>> = edits.iter().filter(|edit| edit.removed > 0).collect();
    // The end of the lines removed so far: removals may overlap each other.
    let mut reach = 0;
    for pair in removals.windows(2) {
        reach = reach.max(pair[0].at + pair[0].removed);
        if pair[1].at < reach {
            found.push(miss(pair[1].hunk.max(pair[0].hunk), pair[1].hunk.min(pair[0].hunk), pair[1].at));
        }
    }
    // Only now are the removals known not to overlap. A hunk is also refused if another one removes its context.
    if found.is_empty() {
        let strange =
            |number: usize| find_foreign_removal(&removals, number, places[number].at, hunks[number].old().count());
        found
            .extend((0..hunks.len()).filter_map(|number| strange(number).map(|edit| miss(number, edit.hunk, edit.at))));
    }
    found.truncate(MOST);
    found
}

/// Finds a removal by another hunk among the old lines of `hunk`, which are `length` lines from `at` on. The removals
/// are sorted and do not overlap.
fn find_foreign_removal<'e, 'h, 'a>(
    removals: &[&'e Edit<'h, 'a>],
    hunk: usize,
    at: usize,
    length: usize,
) -> Option<&'e Edit<'h, 'a>> {
    let from = removals.partition_point(|edit| edit.at + edit.removed <= at);
    let inside = removals[from..].iter().take_while(|edit| edit.at < at + length);
    inside.copied().find(|edit| edit.hunk != hunk)
}

/// Returns whether the new text ends with a line feed. A hunk at the end of the file decides; without one, it ends as
/// the old text did.
fn is_ended(text: &Text<'_>, hunks: &[Hunk<'_>], places: &[HunkPlace]) -> bool {
    let at_end = |(hunk, place): &(&Hunk<'_>, &HunkPlace)| place.at + hunk.old().count() == text.len();
    let unended = |line: Option<&Line<'_>>| line.is_some_and(|line| line.unended);
    let mut ended = text.is_ended();
    for (hunk, _) in hunks.iter().zip(places).filter(at_end) {
        // The note `\ No newline` decides if it is on the new side. On the old side alone, it means that a line feed is
        // added.
        if unended(hunk.new_lines().next_back()) {
            ended = false;
        } else if unended(hunk.old().next_back()) {
            ended = true;
        }
    }
    ended
}

fn find_shift<'s>(text: &'s Text<'_>, hunk: &'s Hunk<'_>, place: HunkPlace) -> Shift<'s> {
    // The stricter passes compare the indentation too, so there is no shift.
    if place.pass < Pass::Surrounding {
        return Shift::default();
    }
    let pair = |(offset, line): (usize, &'s Line<'_>)| {
        (line.text.as_bytes(), text.line(place.at + offset), line.sign == Sign::Remove)
    };
    Shift::find(hunk.old().enumerate().map(pair))
}

/// Gives hunks whose lines all start at the margin the conversion of tabs and spaces that the other hunks of the file
/// show.
fn share_units(shifts: &mut [Shift<'_>], hunks: &[Hunk<'_>]) {
    let Some(units) = Shift::agreed(shifts) else { return };
    let at_margin = |hunk: &Hunk<'_>| hunk.old().all(|line| !line.text.starts_with([' ', '\t']));
    for (shift, _) in shifts.iter_mut().zip(hunks).filter(|(_, hunk)| at_margin(hunk)) {
        *shift = units.clone();
    }
}

fn read_hunks(
    text: &Text<'_>,
    hunks: &[Hunk<'_>],
    places: &[HunkPlace],
    shifts: &[Shift<'_>],
) -> Vec<Vec<IndentReading>> {
    if places.iter().all(|place| place.pass < Pass::Surrounding) {
        return vec![Vec::new(); hunks.len()];
    }
    let unit = indentation_unit(text);
    let hunks = hunks.iter().zip(places).zip(shifts);
    hunks.map(|((hunk, place), shift)| read_blocks(text, hunk, *place, shift, unit)).collect()
}

fn read_blocks(
    text: &Text<'_>,
    hunk: &Hunk<'_>,
    place: HunkPlace,
    shift: &Shift<'_>,
    unit: usize,
) -> Vec<IndentReading> {
    if place.pass < Pass::Surrounding {
        return Vec::new();
    }
    let (mut all, mut blocks): (Vec<Pair<'_>>, Vec<Block<'_>>) = (Vec::new(), vec![Block::default()]);
    let (mut old, mut above) = (0, None);
    for (at, line) in hunk.lines.iter().enumerate() {
        let bytes = line.text.as_bytes();
        let filled = !bytes.trim_ascii().is_empty();
        if line.sign == Sign::Context && at > 0 && hunk.lines[at - 1].sign != Sign::Context {
            blocks.push(Block { above, ..Block::default() });
        }
        if line.sign == Sign::Add {
            blocks.last_mut().filter(|_| filled).into_iter().for_each(|block| block.added.push(bytes));
            continue;
        }
        let pair = (bytes, text.line(place.at + old), line.sign == Sign::Remove);
        old += 1;
        if !filled {
            continue;
        }
        all.push(pair);
        let number = blocks.len() - 1;
        match line.sign {
            Sign::Remove => blocks[number].removed.push(pair),
            _ => {
                above = Some(pair);
                blocks[number].above = above;
                // Every block since the previous line of context has this line below it.
                let before = blocks[..number].iter_mut().rev().take_while(|block| block.below.is_none());
                before.for_each(|block| block.below = above);
            }
        }
    }
    reading::decide(&all, &blocks, shift, unit)
}

/// Returns the number of spaces per indentation step: nearly all indentations of the file are multiples of it.
fn indentation_unit(text: &Text<'_>) -> usize {
    // The larger steps come first, because multiples of 4 are multiples of 2 too.
    const STEPS: [usize; 3] = [4, 3, 2];
    let (mut multiples, mut all) = ([0_usize; 3], 0_usize);
    for line in text.lines() {
        let columns = line.iter().take_while(|byte| **byte == b' ').count();
        // A star continues a block comment and is off by one.
        if columns > 0 && !matches!(line.get(columns), None | Some(b'\t' | b'\r' | b'*')) {
            all += 1;
            for (count, step) in multiples.iter_mut().zip(STEPS) {
                *count += usize::from(columns.is_multiple_of(step));
            }
        }
    }
    let nearly_all = |(count, _): &(usize, usize)| all > 0 && count * 10 >= all * 9;
    multiples.into_iter().zip(STEPS).find(nearly_all).map_or(1, |(_, step)| step)
}

struct Builder<'t, 'a> {
    text: &'t Text<'a>,
    /// The shift of each hunk.
    shifts: Vec<Shift<'t>>,
    /// How to indent each block of each hunk; empty if the shift of the hunk applies to all of them.
    readings: Vec<Vec<IndentReading>>,
    /// Whether the patch shows the carriage returns of the file, so that a line without one has none.
    shows_returns: bool,
    out: Vec<u8>,
    /// The number of blanks added to the indentation so far.
    blanks: usize,
    /// The length of the line end written last, if the line was added.
    last_end: usize,
}

impl Builder<'_, '_> {
    fn keep(&mut self, from: usize, to: usize) {
        if from < to {
            self.end_line(from);
            self.out.extend_from_slice(self.text.range(from, to));
            self.last_end = 0;
        }
    }

    /// Writes the added lines of an edit; `None` if their indentation is ambiguous.
    fn add(&mut self, edit: &Edit<'_, '_>, place: HunkPlace) -> Option<()> {
        if edit.added.is_empty() {
            return Some(());
        }
        let above = edit.at.saturating_sub(1);
        self.end_line(above);
        // The patch shows the line ends only if its old lines matched with them.
        let verbatim = self.shows_returns && (place.pass == Pass::Exact || self.text.len() == 0);
        for (number, line) in edit.added.iter().enumerate() {
            // Each line gets the line end of the one it replaces, of the last replaced line, or of the line it follows.
            let last = edit.replaced.clone().next_back();
            let near = last.map_or(above, |last| last.min(edit.replaced.start + number));
            let text = match line.text.strip_suffix('\r') {
                Some(text) if !verbatim && !line.unended => text,
                _ => line.text,
            };
            // U+FEFF is a byte order mark only at the beginning of the file.
            let text = if self.out.as_slice() == self.text.mark() { self.without_mark(text) } else { text.as_bytes() };
            let (indent, rest) = match self.readings[edit.hunk].get(edit.block) {
                Some(IndentReading::Written) => (Vec::new(), text),
                Some(IndentReading::Doubt) => return None,
                Some(IndentReading::Shifted) | None => self.shifts[edit.hunk].apply(text)?,
            };
            self.blanks += (indent.len() + rest.len()).saturating_sub(text.len());
            if self.blanks > MOST_BLANKS {
                return None;
            }
            self.out.extend_from_slice(&indent);
            self.out.extend_from_slice(rest);
            let end = if verbatim { b"\n" } else { self.text.end_near(near) };
            self.out.extend_from_slice(end);
            self.last_end = end.len();
        }
        Some(())
    }

    /// Removes the patch's byte order mark from a line, because the file's own one stays.
    fn without_mark<'l>(&self, line: &'l str) -> &'l [u8] {
        let bytes = line.as_bytes();
        if self.out.is_empty() { bytes } else { super::text::strip_mark(line) }
    }

    /// Ends the last line written, which may lack a line feed, before more text follows.
    fn end_line(&mut self, near: usize) {
        if self.out.len() > self.text.mark().len() && !self.out.ends_with(b"\n") {
            self.out.extend_from_slice(self.text.end_near(near));
        }
    }

    fn finish(mut self, ended: bool) -> Vec<u8> {
        if ended {
            self.end_line(self.text.len());
        } else {
            // Only the line end that was added here is removed: a carriage return before it is content.
            self.out.truncate(self.out.len() - self.last_end);
        }
        self.out
    }
}
