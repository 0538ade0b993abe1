//! Finds the section of a hunk by its headings, which are lines above the hunk.

use super::find::{Occurrences, WorkLimit, choose};
use super::text::Text;
use memchr::memmem;

/// The cost of each occurrence of a heading, in the units of [`WorkLimit`].
const STEPS_A_HIT: usize = 32;

/// Returns the lines of the innermost heading, sorted. Each heading is searched below the one before it.
pub(super) fn sections(text: &Text<'_>, headings: &[&str], work: &mut WorkLimit) -> Vec<usize> {
    let mut above: Option<Vec<usize>> = None;
    for heading in headings {
        let here = lines_of(text, heading, work);
        above = Some(match above {
            None => here,
            Some(above) => below(&here, &above),
        });
    }
    above.unwrap_or_default()
}

/// Returns the first place below each of the places above.
fn below(here: &[usize], above: &[usize]) -> Vec<usize> {
    // For two nested headings, only the first inner one below each outer one counts.
    let firsts = above.iter().filter_map(|line| here.get(here.partition_point(|at| at <= line)).copied());
    let mut found: Vec<usize> = firsts.collect();
    found.dedup();
    found
}

/// Returns the lines equal to the heading. If no line is, returns those that begin with it, or else those that contain
/// it.
fn lines_of(text: &Text<'_>, heading: &str, work: &mut WorkLimit) -> Vec<usize> {
    let heading = heading.trim().as_bytes();
    let all = text.range(0, text.len());
    work.spend(all.len() / 8);
    if heading.is_empty() || work.is_spent() {
        return Vec::new();
    }
    let mut kinds: [Vec<usize>; 3] = Default::default();
    let mut last = None;
    for at in memmem::find_iter(all, heading) {
        work.spend(STEPS_A_HIT);
        if work.is_spent() {
            return Vec::new();
        }
        let line = text.line_at(at);
        if last.replace(line) == Some(line) {
            continue;
        }
        let content = text.line(line).trim_ascii();
        let kind = if content == heading { 0 } else { 1 + usize::from(!content.starts_with(heading)) };
        kinds[kind].push(line);
    }
    kinds.into_iter().find(|lines| !lines.is_empty()).unwrap_or_default()
}

/// Chooses among the places of a hunk by its headings. `Err` is the first section, if the only place is above it.
pub(super) fn narrow(all: &[usize], sections: &[usize]) -> Result<Occurrences, usize> {
    // A heading that does not occur is only a hint: a body that occurs once still has its place.
    let Some(first) = sections.first() else { return Ok(choose(all, None)) };
    let ends = sections.iter().skip(1).copied().chain([usize::MAX]);
    let in_section = |(from, to): (&usize, usize)| {
        let place = all.get(all.partition_point(|at| at < from)).copied();
        place.filter(|at| *at < to)
    };
    let found: Vec<usize> = sections.iter().zip(ends).filter_map(in_section).collect();
    match (found.as_slice(), all) {
        ([], [_]) => Err(*first),
        ([], _) => Ok(choose(all, None)),
        ([only], _) => Ok(Occurrences::At(*only)),
        _ => Ok(Occurrences::Several(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_headings_are_searched_in_order() {
        let text = Text::new(b"class A:\n def f(x):\nclass B:\n def f(x):\n def g(x):\n").unwrap();
        let sections = |headings: &[&str]| sections(&text, headings, &mut WorkLimit::new(1 << 20));
        assert_eq!(sections(&["def f"]), [1, 3]);
        assert_eq!(sections(&["class B", "def f(x):"]), [3]);
        assert_eq!(sections(&["class A", "def g"]), [4]);
        assert_eq!(sections(&["f(x)"]), [1, 3]);
        assert_eq!(sections(&["def h"]), [0; 0]);
    }

    #[test]
    fn the_first_place_below_a_heading_counts() {
        assert_eq!(narrow(&[3, 7, 9], &[5]), Ok(Occurrences::At(7)));
        assert_eq!(narrow(&[3, 7], &[2, 5]), Ok(Occurrences::Several(vec![3, 7])));
        assert_eq!(narrow(&[3, 7], &[]), Ok(Occurrences::Several(vec![3, 7])));
        assert_eq!(narrow(&[3], &[5]), Err(5));
        assert_eq!(narrow(&[3], &[]), Ok(Occurrences::At(3)));
    }
}
