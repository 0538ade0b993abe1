//! Compares two texts and prints a unified diff at bounded cost.
//!
//! The work is bounded, not the time, so that the same change has the same diff on any machine.

use crate::names;
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};
use std::fmt::Write as _;

/// The maximum size in bytes of the compared lines of both texts. Larger changes get no diff.
const MOST_BYTES: usize = 2 << 20;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Unchanged lines around a change of a large file that are compared with it: an added line that repeats its neighbours
/// is printed at the first or last of them.
const LINES_AROUND: usize = 64;

/// The maximum number of changed lines of both texts. Larger changes get no diff, because the time of Myers' algorithm
/// is quadratic in them in the worst case, even if nearly all of them are on one side.
const MOST_CHANGED: usize = 8000;

/// The lines that differ between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedLines {
    /// The unified diff; `None` if it would cost too much.
    pub(crate) unified: Option<String>,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    /// The first changed line, from 1; 0 if nothing changed.
    pub(crate) first: u64,
}

/// Compares two texts of the file `path`; `old` is `None` for a new file. Compares bytes that are not UTF-8 as they are
/// and prints them as U+FFFD. Prints no diff if there is a NUL.
pub(crate) fn between(path: &str, old: Option<&[u8]>, new: &[u8]) -> ChangedLines {
    let ChangedLines { unified, added, removed, first } = compare(old, new);
    let before = if old.is_some() { header("a", path) } else { "/dev/null".into() };
    let unified = unified.map(|hunks| match hunks.is_empty() {
        true => hunks,
        false => format!("--- {before}\n+++ {}\n{hunks}", header("b", path)),
    });
    ChangedLines { unified, added, removed, first }
}

/// Compares two texts, and returns the hunks instead of a whole diff.
fn compare(old: Option<&[u8]>, new: &[u8]) -> ChangedLines {
    if [old.unwrap_or_default(), new].iter().any(|text| memchr::memchr(0, text).is_some()) {
        return ChangedLines::default();
    }
    let (old_lines, new_lines) = (lines_of(old.unwrap_or_default()), lines_of(new));
    let CommonLines { before, removed, added } = common_lines(&old_lines, &new_lines);
    let first = if removed + added == 0 { 0 } else { before as u64 + 1 };
    let mut ends = [old_lines.len(), new_lines.len()];
    let mut from = 0;
    if old.map_or(0, <[u8]>::len) + new.len() > MOST_BYTES {
        // Only the lines around the change are compared, so that a small change of a large file is cheap.
        from = before.saturating_sub(LINES_AROUND);
        ends = [(ends[0], removed), (ends[1], added)].map(|(end, length)| end.min(before + length + LINES_AROUND));
    }
    let (old_part, new_part) = (&old_lines[from..ends[0]], &new_lines[from..ends[1]]);
    let bytes: usize = old_part.iter().chain(new_part).map(|line| line.len()).sum();
    // If lines were only added or only removed, no search is needed.
    let too_much = removed > 0 && added > 0 && removed + added > MOST_CHANGED;
    if too_much || bytes > MOST_BYTES {
        return ChangedLines { unified: None, added: added as u64, removed: removed as u64, first };
    }
    let diff =
        TextDiff::configure().algorithm(Algorithm::Myers).newline_terminated(true).diff_slices(old_part, new_part);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
    let unified = Some(print_hunks(&diff, from));
    ChangedLines { unified, added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete), first }
}

/// Lines of the old text and their replacement at one place.
pub(crate) struct LineHunk<'a> {
    /// The number of lines of the old text before it.
    pub(crate) first: usize,
    pub(crate) removed: Vec<&'a [u8]>,
    pub(crate) added: Vec<&'a [u8]>,
}

/// Returns the places where two texts differ, or one that spans them all if the search would take too much work.
pub(crate) fn changed_lines<'a>(old: &'a [u8], new: &'a [u8]) -> Vec<LineHunk<'a>> {
    let (old_lines, new_lines) = (lines_of(old), lines_of(new));
    let CommonLines { before, removed, added } = common_lines(&old_lines, &new_lines);
    let (old_part, new_part) = (&old_lines[before..before + removed], &new_lines[before..before + added]);
    if removed + added > MOST_CHANGED {
        return vec![LineHunk { first: before, removed: old_part.to_vec(), added: new_part.to_vec() }];
    }
    let mut hunks: Vec<LineHunk<'a>> = Vec::new();
    let mut is_open = false;
    for op in similar::capture_diff_slices(Algorithm::Myers, old_part, new_part) {
        if matches!(op, DiffOp::Equal { .. }) {
            is_open = false;
            continue;
        }
        if !is_open {
            let first = before + op.old_range().start;
            hunks.push(LineHunk { first, removed: Vec::new(), added: Vec::new() });
        }
        is_open = true;
        let Some(hunk) = hunks.last_mut() else { continue };
        hunk.removed.extend(&old_part[op.old_range()]);
        hunk.added.extend(&new_part[op.new_range()]);
    }
    hunks
}

/// Prints the hunks of this diff of texts whose first `skipped` lines were left out.
///
/// The line numbers after `@@` are counted here, because `similar` takes them from the first and the last operation of
/// a hunk, and does not update their place in the other text if it moves an operation across equal lines.
fn print_hunks<'a>(diff: &'a TextDiff<'a, 'a, [u8]>, skipped: usize) -> String {
    // An empty range is at the line before it.
    let range = |start: usize, length: usize| match length {
        0 => format!("{},0", skipped + start),
        1 => format!("{}", skipped + start + 1),
        _ => format!("{},{length}", skipped + start + 1),
    };
    let mut out = String::new();
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let (old, new) = match hunk.ops().first() {
            Some(DiffOp::Equal { old_index, new_index, .. }) => (*old_index, *new_index),
            // The hunk begins without a line of context, so it is at the beginning of both texts.
            _ => (0, 0),
        };
        let removed = hunk.ops().iter().map(|op| op.old_range().len()).sum();
        let added = hunk.ops().iter().map(|op| op.new_range().len()).sum();
        // Writing to a String cannot fail.
        let _ = write!(out, "@@ -{} +{} @@", range(old, removed), range(new, added));
        let text = hunk.to_string();
        out.push_str(text.find('\n').map_or("\n", |end| &text[end..]));
    }
    out
}

/// Returns the diff of a file, which is `None` on the side where it does not exist.
pub(crate) fn of_file(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<String> {
    let unified = between(path, before, after.unwrap_or_default()).unified?;
    // The diff of a removed file has `/dev/null` as its second name.
    Some(match (after, unified.split_once("\n+++ ")) {
        (None, Some((head, rest))) => {
            format!("{head}\n+++ /dev/null{}", rest.find('\n').map_or("", |end| &rest[end..]))
        }
        _ => unified,
    })
}

/// Escapes the line endings of a path, which would end the header line.
fn header(side: &str, path: &str) -> String {
    names::quoted(&format!("{side}/{path}")).into_owned()
}

/// Splits at LF only, like other tools that read unified diffs.
fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The number of equal lines at the beginning, and of differing lines without equal ones at the end.
struct CommonLines {
    before: usize,
    removed: usize,
    added: usize,
}

fn common_lines(old: &[&[u8]], new: &[&[u8]]) -> CommonLines {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    CommonLines { before, removed: old.len() - after, added: new.len() - after }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_change_of_a_large_file_has_a_diff() {
        let lines = |at: usize, line: &str| -> String {
            (0..300_000).map(|n| if n == at { line.to_owned() } else { format!("line {n}\n") }).collect()
        };
        let (old, new) = (lines(200_000, "old\n"), lines(200_000, "new\n"));
        let changed = between("a", Some(old.as_bytes()), new.as_bytes());
        let context = |from: usize| (from..from + 3).map(|n| format!(" line {n}\n")).collect::<String>();
        let hunk = format!("@@ -199998,7 +199998,7 @@\n{}-old\n+new\n{}", context(199_997), context(200_001));
        assert_eq!(changed.unified, Some(format!("--- a/a\n+++ b/a\n{hunk}")));
        assert_eq!((changed.added, changed.removed, changed.first), (1, 1, 200_001));
    }

    #[test]
    fn a_change_and_a_new_file() {
        let changed = between("a.txt", Some(b"one\ntwo\n"), b"one\n2");
        let text = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n";
        assert_eq!(changed, ChangedLines { unified: Some(text.into()), added: 1, removed: 1, first: 2 });
        let created = between("n", None, b"x\n").unified.unwrap_or_default();
        assert!(created.starts_with("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"), "{created}");
    }

    /// The numbers in a hunk header are the positions of its lines in both texts, even among equal lines.
    #[test]
    fn hunk_headers_have_the_line_numbers_of_both_texts() {
        let changed = between("a", Some(b"one\ntwo\nthree\n"), b"two\ntwo\nthree\n").unified.unwrap_or_default();
        assert_eq!(changed, "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-one\n two\n+two\n three\n");
        let mut state: u64 = 59;
        let mut below = move |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        for _ in 0..3000 {
            let mut text =
                |most: u64| -> Vec<String> { (0..below(most)).map(|_| format!("line {}\n", below(4))).collect() };
            let (old, new) = (text(24), text(24));
            let diff = between("x", Some(old.concat().as_bytes()), new.concat().as_bytes()).unified.unwrap_or_default();
            let mut lines = diff.lines().skip(2).peekable();
            while let Some(head) = lines.next() {
                let numbers = head.trim_start_matches("@@ -").trim_end_matches(" @@").split_once(" +").unwrap();
                for (side, text, numbers) in [('-', &old, numbers.0), ('+', &new, numbers.1)] {
                    let (start, length) = numbers.split_once(',').unwrap_or((numbers, "1"));
                    let (start, length): (usize, usize) = (start.parse().unwrap(), length.parse().unwrap());
                    let start = if length == 0 { start } else { start - 1 };
                    let body = lines.clone().take_while(|line| !line.starts_with("@@"));
                    let old: Vec<String> = body
                        .filter(|line| line.starts_with([' ', side]))
                        .map(|line| format!("{}\n", &line[1..]))
                        .collect();
                    assert_eq!(old, text[start..start + length], "{diff}");
                }
                while lines.next_if(|line| !line.starts_with("@@")).is_some() {}
            }
        }
    }

    #[test]
    fn line_endings_in_names_are_escaped_in_the_header() {
        let changed = between("a\n+++ b", Some(b"1\n"), b"2\n").unified.unwrap_or_default();
        assert!(changed.starts_with("--- \"a/a\\n+++ b\"\n+++ \"b/a\\n+++ b\"\n@@ "), "{changed}");
    }

    #[test]
    fn one_line_replaced_by_many_is_not_searched() {
        let many = "same\n".repeat(100_000);
        for (old, new, added, removed) in [(many.as_str(), "x\n", 1, 100_000), ("x\n", many.as_str(), 100_000, 1)] {
            let changed = between("x", Some(old.as_bytes()), new.as_bytes());
            assert_eq!(changed, ChangedLines { unified: None, added, removed, first: 1 });
        }
        let gone = between("x", Some(many.as_bytes()), b"same\n");
        assert!(gone.unified.is_some() && (gone.added, gone.removed) == (0, 99_999));
    }

    #[test]
    fn expensive_diffs_are_not_computed() {
        let text = |word: &str| (0..5000).map(|n| format!("{word}{n}\n")).collect::<String>();
        let same = "same\n";
        let (old, new) = (format!("{same}{}{same}", text("a")), format!("{same}{}{same}", text("b")));
        assert_eq!(
            between("x", Some(old.as_bytes()), new.as_bytes()),
            ChangedLines { unified: None, added: 5000, removed: 5000, first: 2 }
        );
    }
}
