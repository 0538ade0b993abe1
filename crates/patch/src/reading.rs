//! Decides how to indent the lines that a hunk adds: as written, or shifted as its old lines are in the file.
//!
//! Both readings are computed for every added line. If both make sense and differ, the hunk is refused. The old lines
//! next to the added ones are the evidence: an added line with the indentation that its neighbour has in the patch is
//! shifted like it; one with the indentation that the neighbour has in the file was never shifted.

use super::shift::{Pair, Shift, indent, is_blind};
use std::collections::BTreeSet;

/// How to indent the added lines between two lines of context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndentReading {
    /// As written in the patch.
    Written,
    /// Shifted by the rule of the hunk.
    Shifted,
    /// Ambiguous: both readings make sense, or none does.
    Doubt,
}

/// An indentation in the patch, and the one in its place in the file.
type Indents<'a> = (&'a [u8], &'a [u8]);

/// The removed and added lines between two lines of context, and the lines around them, without blank lines.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) above: Option<Pair<'a>>,
    pub(super) removed: Vec<Pair<'a>>,
    pub(super) added: Vec<&'a [u8]>,
    pub(super) below: Option<Pair<'a>>,
}

impl<'a> Block<'a> {
    /// Returns the first added line and the old lines that show its depth: the one it replaces, else those around it.
    fn anchors(&self) -> Option<(&'a [u8], impl Iterator<Item = Indents<'a>>)> {
        let own = indent(self.added.first()?);
        let around = [self.above, self.below].into_iter().flatten().filter(|_| self.removed.is_empty());
        let pairs = self.removed.first().copied().into_iter().chain(around);
        Some((own, pairs.map(|(patch, file, _)| (indent(patch), indent(file)))))
    }

    /// Returns whether shifting the lines would put them level with the bracket that contains them.
    fn is_level_with_its_bracket(&self) -> bool {
        let ends = |line: &[u8]| matches!(line.trim_ascii_end().last(), Some(b'{' | b'(' | b'[' | b':'));
        let begins = |line: &[u8]| matches!(line.trim_ascii_start().first(), Some(b'}' | b')' | b']'));
        let level = |added: &[u8], (old, ..): &Pair<'_>| indent(added) == indent(old) && !begins(added);
        let below_opener = |old: &Pair<'_>| ends(old.0) && self.added.first().is_some_and(|line| level(line, old));
        let above_closer = |old: &Pair<'_>| begins(old.0) && self.added.last().is_some_and(|line| level(line, old));
        self.above.as_ref().is_some_and(below_opener) || self.below.as_ref().is_some_and(above_closer)
    }

    /// Returns whether the added lines kept the indentation `depth` of the file, which all old lines have lost. The
    /// first must be as deep as the old ones in the file, and none may be shallower. The line above must end a
    /// statement or an item: after such a line none can be deeper, as the shifted lines would be.
    fn keeps(&self, depth: &[u8]) -> bool {
        let Some(first) = self.added.first() else { return true };
        let Some((above, ..)) = self.above else { return false };
        let (above, begins) = (above.trim_ascii(), first.trim_ascii_start());
        let starts_with = |text: &[u8], marks: &[u8]| text.first().is_some_and(|byte| marks.contains(byte));
        let count = |marks: &[u8]| above.iter().filter(|byte| marks.contains(byte)).count();
        let is_open = count(b"([{") > count(b")]}");
        let goes_on = match above.last() {
            Some(b';' | b',') => starts_with(begins, b")]}"),
            // A first line such as `.map()` or `&& x` continues the expression above and may be deeper.
            Some(b'}') => starts_with(begins, b")]}.?:&|=+-*/,<>"),
            _ => return false,
        };
        // An item of a list of text may contain deeper lines.
        let is_list = starts_with(above, b"-*+") || above.first().is_some_and(u8::is_ascii_digit);
        // If a removed line is added again with other blanks, the patch corrects its indentation. That is no evidence
        // for others.
        let removed: BTreeSet<&[u8]> = self.removed.iter().map(|(patch, ..)| patch.trim_ascii()).collect();
        let corrects = self.added.iter().any(|line| removed.contains(line.trim_ascii()));
        indent(first) == depth
            && self.added.iter().all(|line| indent(line).starts_with(depth))
            && !(is_open || goes_on || is_list || corrects)
    }
}

/// Decides for each block. `old` are the old lines of the hunk that are not blank; `unit` is the number of spaces per
/// indentation step in the file.
pub(super) fn decide(old: &[Pair<'_>], blocks: &[Block<'_>], shift: &Shift<'_>, unit: usize) -> Vec<IndentReading> {
    let hunk = HunkText { old, blocks, unit };
    let all = |reading| vec![reading; blocks.len()];
    if blocks.iter().flat_map(|block| &block.added).any(|line| is_blind(line)) {
        return all(IndentReading::Doubt);
    }
    if old.iter().any(|(patch, file, _)| is_blind(patch) || is_blind(file)) {
        return all(hunk.blind());
    }
    // Tabs for spaces change the depth of no line, so the added ones are converted too.
    if shift.is_of_units() {
        return all(IndentReading::Shifted);
    }
    // The pass was loose because of something else, such as quotes; the indentation was right.
    if old.iter().all(|(patch, file, _)| indent(patch) == indent(file)) {
        return all(IndentReading::Written);
    }
    if hunk.is_off_by_one() {
        return all(hunk.off_by_one());
    }
    if hunk.is_flat() {
        return blocks.iter().map(|block| hunk.flat(block)).collect();
    }
    if shift.moves_all() {
        return all(hunk.moved(shift));
    }
    blocks.iter().map(|block| hunk.single(block, shift)).collect()
}

/// Returns whether the removed lines have the same indentation in the patch and in the file, and the first added line
/// has it too.
fn is_exact(block: &Block<'_>) -> bool {
    let exact = |(patch, file, _): &Pair<'_>| indent(patch) == indent(file);
    let same = block.anchors().is_some_and(|(own, mut pairs)| pairs.next().is_some_and(|(_, file)| file == own));
    !block.removed.is_empty() && block.removed.iter().all(exact) && same
}

struct HunkText<'h, 'a> {
    old: &'h [Pair<'a>],
    blocks: &'h [Block<'a>],
    unit: usize,
}

impl<'a> HunkText<'_, 'a> {
    fn pairs(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8], bool)> {
        self.old.iter().map(|(patch, file, removed)| (indent(patch), indent(file), *removed))
    }

    /// Decides for a block of a hunk whose old lines are shifted in several ways. They are evidence only for the lines
    /// that replace them.
    fn single(&self, block: &Block<'_>, shift: &Shift<'_>) -> IndentReading {
        if is_exact(block) {
            return IndentReading::Written;
        }
        let replaces = |own: &[u8]| block.removed.iter().any(|(patch, ..)| indent(patch) == own);
        let moved = |line: &&[u8]| shift.apply(line).is_some_and(|(image, _)| image != indent(line));
        let mut moved = block.added.iter().copied().filter(moved).map(indent);
        if moved.any(|own| self.in_file(own) || !replaces(own)) { IndentReading::Doubt } else { IndentReading::Shifted }
    }

    fn added_lines(&self) -> impl Iterator<Item = &'a [u8]> {
        self.blocks.iter().flat_map(|block| &block.added).map(|line| indent(line))
    }

    fn in_file(&self, own: &[u8]) -> bool {
        self.pairs().any(|(_, file, _)| file == own)
    }

    fn in_patch(&self, own: &[u8]) -> bool {
        self.pairs().any(|(patch, ..)| patch == own)
    }

    /// Decides for a hunk with blanks other than spaces and tabs. These show no indentation, so only the lines of the
    /// file count.
    fn blind(&self) -> IndentReading {
        let known = |(patch, file, _): &&Pair<'_>| !is_blind(patch) && !is_blind(file);
        let exact = self.old.iter().filter(known).all(|(patch, file, _)| indent(patch) == indent(file));
        let written = self.old.iter().all(|(_, file, _)| !is_blind(file)) && self.fits_file();
        if exact && written { IndentReading::Written } else { IndentReading::Doubt }
    }

    /// Returns whether every block begins with an indentation that adjacent lines of the file have.
    fn fits_file(&self) -> bool {
        self.blocks.iter().filter_map(Block::anchors).all(|(own, mut pairs)| pairs.any(|(_, file)| file == own))
    }

    /// Returns whether all lines that differ are off by one column in the same direction: the blank that marks a line
    /// as context was forgotten, or written twice.
    fn is_off_by_one(&self) -> bool {
        let one = |longer: &[u8], shorter: &[u8]| {
            longer.len() == shorter.len() + 1 && (longer.strip_prefix(b" ") == Some(shorter))
        };
        let off = || self.pairs().filter(|(patch, file, _)| patch != file);
        off().all(|(patch, file, _)| one(file, patch)) || off().all(|(patch, file, _)| one(patch, file))
    }

    /// Decides for old lines that are off by one column. Lines are never shifted by one column. They are as written if
    /// the removed lines have the indentation of the file, and no added line has that of the wrong lines.
    fn off_by_one(&self) -> IndentReading {
        let signed = || self.pairs().filter(|(.., removed)| *removed);
        let forgotten = self.pairs().any(|(patch, file, _)| file.len() > patch.len());
        // If the blanks that mark context were forgotten, a line at the margin is no evidence: it has no indentation to
        // lose.
        let telling = |file: &[u8]| !forgotten || !file.is_empty();
        let exact = signed().any(|(_, file, _)| telling(file)) && signed().all(|(patch, file, _)| patch == file);
        let steps = |columns: usize| self.unit > 1 && columns.is_multiple_of(self.unit);
        let moved = |own: &[u8]| if forgotten { own.len() + 1 } else { own.len().saturating_sub(1) };
        let as_file = |own: &[u8]| self.in_file(own) || (!own.is_empty() && steps(own.len()));
        let as_patch = |own: &[u8]| match self.in_file(own) {
            true => self.pairs().any(|(patch, file, _)| patch == own && patch != file),
            false => self.in_patch(own) || steps(moved(own)),
        };
        let (written, shifted) = self.added_lines().fold((exact, false), |(written, shifted), own| {
            (written || (as_file(own) && !as_patch(own)), shifted || (as_patch(own) && !as_file(own)))
        });
        // Added lines at the margin are no evidence if old lines of the patch are off by one column there.
        let sure = exact || self.added_lines().all(|own| !as_patch(own));
        if written && !shifted && sure { IndentReading::Written } else { IndentReading::Doubt }
    }

    /// Returns whether the old lines have lost all their indentation while the file has several, so that no shift fits
    /// all.
    fn is_flat(&self) -> bool {
        let first = self.old.first().map(|(_, file, _)| indent(file));
        let lost = |(patch, file, removed): (&[u8], &[u8], bool)| patch.is_empty() || (removed && patch == file);
        self.pairs().any(|(_, file, _)| Some(file) != first) && self.pairs().all(lost)
    }

    /// Decides for a block of a hunk whose old lines have lost their indentation. Added lines that kept theirs have
    /// that of the adjacent lines of the file.
    fn flat(&self, block: &Block<'_>) -> IndentReading {
        let Some((own, mut pairs)) = block.anchors() else { return IndentReading::Written };
        let deep = block.added.iter().any(|line| !indent(line).is_empty());
        let fits = pairs.any(|(patch, file)| file == own && (!own.is_empty() || patch == file));
        let replaces_margin = own.is_empty() && !block.removed.is_empty();
        let kept = self.added_lines().any(|own| !own.is_empty()) || replaces_margin;
        if fits && kept && (deep || replaces_margin) { IndentReading::Written } else { IndentReading::Doubt }
    }

    /// Decides for a hunk whose old lines are all shifted in one way. The added ones are too, unless the evidence
    /// contradicts that.
    fn moved(&self, shift: &Shift<'_>) -> IndentReading {
        let stays = |line: &[u8]| shift.apply(line).is_some_and(|(image, _)| image == indent(line));
        if self.blocks.iter().flat_map(|block| &block.added).all(|line| stays(line)) {
            return IndentReading::Written;
        }
        // If all old lines have the same depth, steps of another width look like a shift. So the result must have whole
        // steps.
        let steps = |indent: &[u8]| indent.contains(&b'\t') || indent.len().is_multiple_of(self.unit);
        let whole = |line: &[u8]| shift.apply(line).is_some_and(|(image, _)| steps(&image));
        let mut added = self.blocks.iter().flat_map(|block| &block.added);
        if !shift.is_whole(self.unit) || !added.all(|line| self.in_patch(indent(line)) || whole(line)) {
            return IndentReading::Doubt;
        }
        // Evidence for either reading: the first added line of a block has the indentation that its neighbour has in
        // the patch (`along`) or in the file (`as_file`).
        let (mut along, mut as_file) = (false, false);
        for block in self.blocks {
            as_file |= block.is_level_with_its_bracket();
            for (own, (patch, file)) in
                block.anchors().into_iter().flat_map(|(own, pairs)| pairs.map(move |pair| (own, pair)))
            {
                along |= own == patch && own != file;
                as_file |= own == file && own != patch;
            }
        }
        let depth = self.old.first().map_or(&b""[..], |(_, file, _)| indent(file));
        let at_margin = self.pairs().all(|(patch, file, _)| patch.is_empty() && file == depth);
        let shallow = |own: &[u8]| self.pairs().all(|(_, file, _)| own.len() < file.len());
        let only_patch = |own: &[u8]| !self.in_file(own) && (self.in_patch(own) || shallow(own));
        match (along, as_file) {
            (true, false) => IndentReading::Shifted,
            (false, true) if at_margin && self.blocks.iter().all(|block| block.keeps(depth)) => IndentReading::Written,
            (false, false) if self.added_lines().all(only_patch) => IndentReading::Shifted,
            _ => IndentReading::Doubt,
        }
    }
}
