//! Finds the place that a hunk fits best if it fits nowhere, for the message about it. The time is linear in the file.

use super::index::Index;
use super::miss::{Closest, visible};
use super::model::Hunk;
use super::text::Text;

/// Returns the place with the most matching old lines, and the first line that differs there. `None` if no line occurs
/// in the file.
///
/// Every line of the hunk votes for the places where it would match, rare lines first. Counting stops when the votes
/// would cost more than the length of the file.
pub(super) fn closest(
    text: &Text<'_>,
    index: &Index<'_>,
    hunk: &Hunk<'_>,
    old: &[u32],
    near: Option<usize>,
) -> Option<Closest> {
    let start = most_voted(index, old, near)?;
    let line_at = |offset: usize| (start + offset).checked_sub(old.len()).filter(|at| *at < text.len());
    let same = |offset: &usize| line_at(*offset).is_some_and(|at| index.file()[at] == old[*offset]);
    let matching = (0..old.len()).filter(same).count();
    let differs = (0..old.len()).find(|offset| !same(offset))?;
    let wanted = hunk.old().nth(differs)?;
    Some(Closest {
        line: (start + 1).saturating_sub(old.len()).max(1),
        matching,
        of: old.len(),
        differs_at: line_at(differs).map(|at| at + 1),
        wanted: visible(wanted.text.as_bytes()),
        found: line_at(differs).map(|at| visible(text.line(at))),
        lone_returns: has_lone_returns(text),
    })
}

/// Returns the line of the file, from 1, that contains bytes that are not UTF-8 and looks like an old line of the hunk
/// with U+FFFD.
pub(super) fn not_utf8(text: &Text<'_>, hunk: &Hunk<'_>) -> Option<usize> {
    let wanted = hunk.old().find(|line| line.text.contains('\u{FFFD}'))?.text.trim();
    let is_displayed =
        |line: &[u8]| std::str::from_utf8(line).is_err() && String::from_utf8_lossy(line).trim() == wanted;
    text.lines().position(is_displayed).map(|at| at + 1)
}

/// Returns whether more lines end with a carriage return alone than with a line feed.
pub(super) fn has_lone_returns(text: &Text<'_>) -> bool {
    let body = text.body();
    let feeds = memchr::memchr_iter(b'\n', body).count();
    let lone = memchr::memchr_iter(b'\r', body).filter(|at| body.get(at + 1) != Some(&b'\n')).count();
    lone > feeds
}

/// Returns the place with the most votes. Places are shifted by the length of the hunk, so that it may begin before the
/// file.
pub(super) fn most_voted(index: &Index<'_>, old: &[u32], near: Option<usize>) -> Option<usize> {
    let mut lines: Vec<(usize, &[u32])> =
        old.iter().map(|number| index.places(*number)).enumerate().filter(|(_, places)| !places.is_empty()).collect();
    lines.sort_by_key(|(_, places)| places.len());
    let mut left = 2 * index.file().len() + 2 * old.len();
    let mut votes = vec![0_u32; index.file().len() + old.len() + 1];
    for (offset, places) in lines {
        if places.len() > left {
            break;
        }
        left -= places.len();
        for place in places {
            votes[*place as usize + old.len() - offset] += 1;
        }
    }
    // Of places with equally many votes, the nearest to the stated line wins.
    let near = near.map_or(0, |near| near + old.len());
    let best = votes.iter().enumerate().max_by_key(|(at, votes)| (**votes, std::cmp::Reverse(at.abs_diff(near))))?;
    (*best.1 > 0).then_some(best.0)
}
