//! Maps the lines of a text to their positions after a change.
//!
//! The work is bounded: if more than [`MOST_CHANGED`] lines differ, everything between the first and the last of them
//! counts as one hunk.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// The maximum number of changed lines, old and new together, that are split into hunks. In the worst case the time of
/// Myers' algorithm grows with the square of their number, even if nearly all of them are on one side.
const MOST_CHANGED: usize = 4000;

/// Lines that replaced others. Both ranges count from 1. An empty range is located before its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: Range<u64>,
    pub(super) new: Range<u64>,
}

/// The new position of each line of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineMap {
    hunks: Vec<Hunk>,
}

impl LineMap {
    /// Maps the lines of `before` to those of `after`.
    pub fn new(before: &str, after: &str) -> LineMap {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
        // The equal lines at both ends are cut off first, so that the bound applies to the changed part alone.
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[head..], &new[head..]);
        let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
        let hunks = match old.len() + new.len() {
            0 => Vec::new(),
            changed if changed > MOST_CHANGED => vec![hunk(head, 0..old.len(), 0..new.len())],
            _ => hunks(head, &capture_diff_slices(Algorithm::Myers, old, new)),
        };
        LineMap { hunks }
    }

    /// Returns the new number of an old line; `None` if the line was removed or replaced.
    pub fn after(&self, line: u64) -> Option<u64> {
        let before = self.hunks.iter().take_while(|hunk| hunk.old.start <= line).last();
        match before {
            None => Some(line),
            Some(hunk) if line < hunk.old.end => None,
            Some(hunk) => Some(line - hunk.old.end + hunk.new.end),
        }
    }

    /// Returns the hunk whose old lines contain this line or are adjacent to it. An adjacent line belongs to the hunk
    /// because a checker reports a missing token on the line after the one that lacks it.
    pub(super) fn hunk_of_old(&self, line: u64) -> Option<usize> {
        self.hunks.iter().position(|hunk| touches(&hunk.old, line))
    }

    /// Returns the hunk whose new lines contain this line or are adjacent to it.
    pub(super) fn hunk_of_new(&self, line: u64) -> Option<usize> {
        self.hunks.iter().position(|hunk| touches(&hunk.new, line))
    }

    /// Returns the new position of an old line. For a line in or next to a hunk, it is the first new line of the hunk.
    pub(super) fn first_after(&self, line: u64) -> u64 {
        let inside = self.hunk_of_old(line).map(|at| self.hunks[at].new.start);
        inside.or_else(|| self.after(line)).unwrap_or(line)
    }

    /// Returns the old lines at the position of these new ones.
    pub fn before(&self, lines: Range<u64>) -> Range<u64> {
        self.old_line(lines.start)..self.old_line(lines.end)
    }

    fn old_line(&self, line: u64) -> u64 {
        let before = self.hunks.iter().take_while(|hunk| hunk.new.start <= line).last();
        match before {
            None => line,
            Some(hunk) if line < hunk.new.end => hunk.old.start,
            Some(hunk) => line - hunk.new.end + hunk.old.end,
        }
    }
}

fn touches(lines: &Range<u64>, line: u64) -> bool {
    // The end of a range is already the line after it.
    lines.start.saturating_sub(1) <= line && line <= lines.end
}

/// Merges adjacent operations into one hunk.
fn hunks(head: usize, ops: &[DiffOp]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let next = hunk(head, op.old_range(), op.new_range());
        match hunks.last_mut() {
            Some(last) if last.old.end == next.old.start && last.new.end == next.new.start => {
                (last.old.end, last.new.end) = (next.old.end, next.new.end);
            }
            _ => hunks.push(next),
        }
    }
    hunks
}

fn hunk(head: usize, old: Range<usize>, new: Range<usize>) -> Hunk {
    let lines = |range: Range<usize>| (head + range.start) as u64 + 1..(head + range.end) as u64 + 1;
    Hunk { old: lines(old), new: lines(new) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_tracked_through_a_change() {
        let map = LineMap::new("a\nb\nc\nd\n", "new\na\nC\nCC\nd\n");
        let after: Vec<Option<u64>> = (1..=5).map(|line| map.after(line)).collect();
        assert_eq!(after, [Some(2), None, None, Some(5), Some(6)]);
        assert_eq!((map.hunk_of_old(2), map.hunk_of_new(4), map.first_after(3)), (Some(1), Some(1), 3));
        assert_eq!(map.before(4..6), 2..5);
        assert_eq!(LineMap::new("a\n", "a\n"), LineMap::default());
        assert_eq!(LineMap::default().after(7), Some(7));
    }

    #[test]
    fn a_large_change_is_one_hunk() {
        let text = |word: &str| (0..3000).map(|n| format!("{word}{n}\n")).collect::<String>();
        let map = LineMap::new(&format!("same\n{}end\n", text("a")), &format!("same\n{}end\n", text("b")));
        assert_eq!(map.hunks, [Hunk { old: 2..3002, new: 2..3002 }]);
        assert_eq!((map.after(1), map.after(3002)), (Some(1), Some(3002)));
    }
}
