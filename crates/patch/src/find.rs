//! Finds a sequence of numbers in a longer one, nearest to a place or everywhere. The time is at most linear in the
//! longer one.

use super::index::Index;

/// Where a sequence occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Occurrences {
    Nowhere,
    At(usize),
    /// More than one place and no reason to prefer one; sorted.
    Several(Vec<usize>),
}

/// The remaining number of comparisons, shared by all searches.
#[derive(Debug)]
pub(super) struct WorkLimit(u64);

impl WorkLimit {
    pub(super) fn new(most: u64) -> WorkLimit {
        WorkLimit(most)
    }

    pub(super) fn spend(&mut self, steps: usize) {
        self.0 = self.0.saturating_sub(steps as u64);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// Returns the cost of comparing a sequence, in units of about eight numbers.
fn cost(length: usize) -> usize {
    1 + length / 8
}

/// Returns the only place, or the one nearest to `near`. `needle` is not empty.
pub(super) fn nearest(index: &Index<'_>, needle: &[u32], near: Option<usize>, work: &mut WorkLimit) -> Occurrences {
    if let Some(near) = near
        && let Some(found) = outward(index, needle, near, work)
    {
        return found;
    }
    let all = everywhere(index, needle, work);
    choose(&all, near)
}

/// Chooses the place nearest to `near`, if there is exactly one.
pub(super) fn choose(all: &[usize], near: Option<usize>) -> Occurrences {
    match (all, near) {
        ([], _) => Occurrences::Nowhere,
        ([only], _) => Occurrences::At(*only),
        (_, None) => Occurrences::Several(all.to_vec()),
        (_, Some(near)) => {
            let after = all.partition_point(|at| *at < near);
            let (before, after) = (after.checked_sub(1).map(|at| all[at]), all.get(after).copied());
            match (before, after) {
                // Two places at the same distance: the number does not decide.
                (Some(before), Some(after)) if near - before == after - near => Occurrences::Several(all.to_vec()),
                (Some(before), Some(after)) if near - before < after - near => Occurrences::At(before),
                (Some(before), None) => Occurrences::At(before),
                (_, Some(after)) => Occurrences::At(after),
                (None, None) => Occurrences::Nowhere,
            }
        }
    }
}

/// Searches from `near` in both directions. `None` if that costs more than searching everywhere, or finds several
/// candidates.
fn outward(index: &Index<'_>, needle: &[u32], near: usize, work: &mut WorkLimit) -> Option<Occurrences> {
    // Only the places of the rarest line are candidates, because lines such as `}` occur often.
    let (places, offset) = rarest(index, needle);
    let center = places.partition_point(|place| (*place as usize) < near + offset);
    let mut before = places[..center].iter().rev().filter_map(|place| start(index, needle, *place, offset)).peekable();
    let mut after = places[center..].iter().filter_map(|place| start(index, needle, *place, offset)).peekable();
    // Searching everywhere costs this much, so this search gives up at that cost.
    let mut steps = index.file().len();
    loop {
        steps = steps.checked_sub(cost(needle.len()))?;
        work.spend(cost(needle.len()));
        let (at, other) = match (before.peek().copied(), after.peek().copied()) {
            (None, None) => return Some(Occurrences::Nowhere),
            (Some(low), Some(high)) if near - low < high - near => (before.next()?, Some(high)),
            (Some(low), Some(_)) => (after.next()?, Some(low)),
            (Some(_), None) => (before.next()?, None),
            (None, Some(_)) => (after.next()?, None),
        };
        if !is_at(index, needle, at) {
            continue;
        }
        let tie = other.is_some_and(|other| other.abs_diff(near) == at.abs_diff(near) && is_at(index, needle, other));
        return if tie { None } else { Some(Occurrences::At(at)) };
    }
}

/// Returns all places, sorted.
pub(super) fn everywhere(index: &Index<'_>, needle: &[u32], work: &mut WorkLimit) -> Vec<usize> {
    let (places, offset) = rarest(index, needle);
    let steps = places.len().saturating_mul(cost(needle.len()));
    // In a repetitive file, comparing at each candidate would be quadratic.
    if steps > index.file().len() {
        work.spend(index.file().len() + needle.len());
        return scan(index.file(), needle);
    }
    work.spend(steps);
    let starts = places.iter().filter_map(|place| start(index, needle, *place, offset));
    starts.filter(|at| is_at(index, needle, *at)).collect()
}

/// Returns the places of the number that occurs least, and its index in the sequence.
fn rarest<'i>(index: &'i Index<'_>, needle: &[u32]) -> (&'i [u32], usize) {
    let places = needle.iter().map(|number| index.places(*number)).enumerate();
    places.min_by_key(|(_, places)| places.len()).map_or((&[][..], 0), |(offset, places)| (places, offset))
}

/// Returns where the sequence begins if its number `offset` is at `place` and the rest matches.
fn start(index: &Index<'_>, needle: &[u32], place: u32, offset: usize) -> Option<usize> {
    let at = (place as usize).checked_sub(offset)?;
    (at + needle.len() <= index.file().len()).then_some(at)
}

/// Returns whether the sequence occurs at a place of the file.
pub(super) fn is_at(index: &Index<'_>, needle: &[u32], at: usize) -> bool {
    index.file().get(at..at + needle.len()) == Some(needle)
}

/// Searches with the algorithm of Knuth, Morris and Pratt.
fn scan(file: &[u32], needle: &[u32]) -> Vec<usize> {
    let borders = borders(needle);
    let mut found = Vec::new();
    let mut matched = 0;
    for (at, number) in file.iter().enumerate() {
        while matched > 0 && (matched == needle.len() || needle[matched] != *number) {
            matched = borders[matched - 1] as usize;
        }
        if needle[matched] == *number {
            matched += 1;
        }
        if matched == needle.len() {
            found.push(at + 1 - matched);
        }
    }
    found
}

/// Returns the length of the longest border of each prefix of the sequence.
fn borders(needle: &[u32]) -> Vec<u32> {
    let mut borders = vec![0_u32; needle.len()];
    let mut length = 0;
    for at in 1..needle.len() {
        while length > 0 && needle[at] != needle[length] {
            length = borders[length - 1] as usize;
        }
        length += usize::from(needle[at] == needle[length]);
        borders[at] = length as u32;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scanning_finds_all() {
        assert_eq!(scan(&[1, 1, 1, 1], &[1, 1]), [0, 1, 2]);
        assert_eq!(scan(&[1, 2, 1, 2, 1, 3], &[1, 2, 1, 3]), [2]);
        assert_eq!(scan(&[1, 2], &[1, 2, 3]), [0; 0]);
        assert_eq!(scan(&[1], &[1]), [0]);
    }

    #[test]
    fn a_number_decides_unless_it_is_in_the_middle() {
        assert_eq!(choose(&[2, 8], Some(4)), Occurrences::At(2));
        assert_eq!(choose(&[2, 8], Some(6)), Occurrences::At(8));
        assert_eq!(choose(&[2, 8], Some(5)), Occurrences::Several(vec![2, 8]));
        assert_eq!(choose(&[2, 8], Some(8)), Occurrences::At(8));
        assert_eq!(choose(&[2, 8], None), Occurrences::Several(vec![2, 8]));
        assert_eq!(choose(&[2], Some(900)), Occurrences::At(2));
    }
}
