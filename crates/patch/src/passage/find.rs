//! Finds the occurrences of a passage, in linear time even in repetitive text.

use memchr::memmem::Finder;

/// Minimum length in bytes of a passage to look for. Shorter ones may occur by coincidence.
const LEAST_TELLING: usize = 4;

/// Returns the first two occurrences, which may overlap.
pub(super) fn find_two(text: &[u8], passage: &[u8]) -> (Option<usize>, Option<usize>) {
    let finder = Finder::new(passage);
    let Some(first) = finder.find(text) else { return (None, None) };
    // One byte further and not after the first occurrence: overlapping ones make the passage ambiguous too.
    let second = finder.find(&text[first + 1..]).map(|at| first + 1 + at);
    (Some(first), second)
}

/// Returns the lines, from 1, where the first `most` occurrences begin, and the number of all occurrences.
///
/// It uses the algorithm of Knuth, Morris and Pratt: starting again after each occurrence would be quadratic if they
/// overlap.
pub(super) fn all_lines(text: &[u8], passage: &[u8], most: usize) -> (Vec<u64>, u64) {
    let borders = borders(passage);
    let (mut lines, mut total) = (Vec::new(), 0);
    let (mut line, mut counted) = (1, 0);
    let mut matched = 0;
    for (at, byte) in text.iter().enumerate() {
        while matched > 0 && (matched == passage.len() || passage[matched] != *byte) {
            matched = borders[matched - 1] as usize;
        }
        matched += usize::from(passage[matched] == *byte);
        if matched < passage.len() {
            continue;
        }
        total += 1;
        if lines.len() < most {
            let start = at + 1 - passage.len();
            // Line feeds are counted from the previous occurrence on, so that each byte is read once.
            line += memchr::memchr_iter(b'\n', &text[counted..start]).count() as u64;
            counted = start;
            lines.push(line);
        }
    }
    (lines, total)
}

/// Returns the length of the longest border of each prefix of the passage.
fn borders(passage: &[u8]) -> Vec<u32> {
    let mut borders = vec![0_u32; passage.len()];
    let mut length = 0;
    for at in 1..passage.len() {
        while length > 0 && passage[length] != passage[at] {
            length = borders[length - 1] as usize;
        }
        length += usize::from(passage[length] == passage[at]);
        // No passage is longer than a text, which has less than 4 GB.
        borders[at] = length as u32;
    }
    borders
}

/// Returns the line, from 1, of an occurrence of the passage, unless it is so short that it may be a coincidence.
pub(super) fn find_existing(text: &[u8], passage: &[u8]) -> Option<u64> {
    if passage.trim_ascii().len() < LEAST_TELLING {
        return None;
    }
    let at = Finder::new(passage).find(text)?;
    Some(memchr::memchr_iter(b'\n', &text[..at]).count() as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_occurrences_count() {
        assert_eq!(find_two(b"xaaax", b"aa"), (Some(1), Some(2)));
        assert_eq!(all_lines(b"aa\naaa", b"aa", 9), (vec![1, 2, 2], 3));
        assert_eq!(all_lines(b"abab\nabab", b"ab\nab", 9), (vec![1], 1));
        assert_eq!(all_lines(&[b'a'; 1000], &[b'a'; 300], 2), (vec![1, 1], 701));
    }

    #[test]
    fn matches_a_naive_search() {
        let texts = ["", "a", "ab", "aab\nab", "abaabab\nba\nbaab", "aaaa\naaaa"];
        for text in texts {
            for passage in ["a", "b", "ab", "aab", "aba", "a\na", "aa"] {
                let naive = (0..text.len()).filter(|at| text[*at..].starts_with(passage)).count() as u64;
                assert_eq!(all_lines(text.as_bytes(), passage.as_bytes(), 99).1, naive, "{passage:?} in {text:?}");
            }
        }
    }
}
