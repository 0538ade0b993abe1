//! What a change did to a text, as a unified diff of bounded cost.
//!
//! The bound is on the work and not on the clock, so that the same change gives the same diff on any machine.

use super::names;
use similar::{Algorithm, ChangeTag, TextDiff};

/// Bytes of both texts together beyond which no diff is made.
const MOST_BYTES: usize = 2 << 20;

/// Changed lines before times changed lines after, beyond which no diff is made: Myers' time grows with it.
const MOST_WORK: usize = 16_000_000;

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// `None` where it would have cost too much.
    pub(super) unified: Option<String>,
    pub(super) added: u64,
    pub(super) removed: u64,
}

/// The difference between two texts of the file `path`; `old` is `None` for a new file.
pub(super) fn between(path: &str, old: Option<&str>, new: &str) -> Difference {
    let (old_lines, new_lines) = (lines_of(old.unwrap_or_default()), lines_of(new));
    let (removed, added) = middles(&old_lines, &new_lines);
    let too_much = removed.saturating_mul(added) > MOST_WORK;
    if too_much || old.map_or(0, str::len) + new.len() > MOST_BYTES {
        return Difference { unified: None, added: added as u64, removed: removed as u64 };
    }
    let diff =
        TextDiff::configure().algorithm(Algorithm::Myers).newline_terminated(true).diff_slices(&old_lines, &new_lines);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
    let before = if old.is_some() { header("a", path) } else { "/dev/null".into() };
    let unified = diff.unified_diff().context_radius(3).header(&before, &header("b", path)).to_string();
    Difference { unified: Some(unified), added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete) }
}

/// A name with an end of line in it must not end the line of the header.
fn header(side: &str, path: &str) -> String {
    names::quoted(&format!("{side}/{path}")).into_owned()
}

/// Only LF ends a line, as for every other tool that reads a unified diff.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// How many lines differ when those that are the same at the beginning and at the end are left out.
fn middles(old: &[&str], new: &[&str]) -> (usize, usize) {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    (old.len() - after, new.len() - after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_and_a_new_file() {
        let changed = between("a.txt", Some("one\ntwo\n"), "one\n2");
        let text = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n";
        assert_eq!(changed, Difference { unified: Some(text.into()), added: 1, removed: 1 });
        let created = between("n", None, "x\n").unified.unwrap_or_default();
        assert!(created.starts_with("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"), "{created}");
    }

    #[test]
    fn a_name_of_two_lines_has_one_in_the_header() {
        let changed = between("a\n+++ b", Some("1\n"), "2\n").unified.unwrap_or_default();
        assert!(changed.starts_with("--- \"a/a\\n+++ b\"\n+++ \"b/a\\n+++ b\"\n@@ "), "{changed}");
    }

    #[test]
    fn too_much_work_is_not_begun() {
        let text = |word: &str| (0..5000).map(|n| format!("{word}{n}\n")).collect::<String>();
        let same = "same\n";
        let (old, new) = (format!("{same}{}{same}", text("a")), format!("{same}{}{same}", text("b")));
        assert_eq!(between("x", Some(&old), &new), Difference { unified: None, added: 5000, removed: 5000 });
    }
}
