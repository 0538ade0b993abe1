//! Represents lines as numbers: each line of the patch that occurs in the file has its own, and all other lines of the
//! file share 0. Searches then compare only numbers and know how rare each of them is.

use super::pass::Pass;
use super::text::Text;
use std::borrow::Cow;
use std::collections::HashMap;

/// The lines of the file and of the patch, as one pass compares them.
#[derive(Debug)]
pub(super) struct Index<'a> {
    pass: Pass,
    numbers: HashMap<Cow<'a, [u8]>, u32>,
    file: Vec<u32>,
    /// Where the places of each number begin in `places`.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl<'a> Index<'a> {
    /// Numbers the lines of the text. `lines` are all lines of the patch that will be searched.
    pub(super) fn new(pass: Pass, text: &Text<'a>, lines: impl Iterator<Item = &'a [u8]>) -> Index<'a> {
        let mut numbers = HashMap::new();
        for line in lines {
            // A text has fewer lines than bytes, and fewer than 4 G bytes.
            let next = numbers.len() as u32 + 1;
            numbers.entry(pass.key(line)).or_insert(next);
        }
        let number = |line: &[u8]| numbers.get(pass.key(line).as_ref()).copied().unwrap_or(0);
        let file: Vec<u32> = text.lines().map(number).collect();
        let (starts, places) = places(&file, numbers.len() + 1);
        Index { pass, numbers, file, starts, places }
    }

    /// Returns the file as numbers.
    pub(super) fn file(&self) -> &[u32] {
        &self.file
    }

    /// Returns the number of a line of the patch; 0 if it was not passed to [`new`](Self::new).
    pub(super) fn number(&self, line: &[u8]) -> u32 {
        self.numbers.get(self.pass.key(line).as_ref()).copied().unwrap_or(0)
    }

    /// Returns the lines of the file that have this number, sorted.
    pub(super) fn places(&self, number: u32) -> &[u32] {
        let at = number as usize;
        if at == 0 {
            return &[];
        }
        &self.places[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Sorts the places by number with a counting sort, without those of number 0.
fn places(file: &[u32], numbers: usize) -> (Vec<u32>, Vec<u32>) {
    // First the size of each group, then its start, then its places, in two passes over the file.
    let mut starts = vec![0_u32; numbers + 1];
    for number in file.iter().filter(|number| **number > 0) {
        starts[*number as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut places = vec![0; starts.last().map_or(0, |end| *end as usize)];
    for (at, number) in file.iter().enumerate().filter(|(_, number)| **number > 0) {
        let slot = &mut next[*number as usize];
        places[*slot as usize] = at as u32;
        *slot += 1;
    }
    (starts, places)
}
