//! Finds a passage that is indented with spaces in a file with tabs, or the other way round.
//!
//! Models often write spaces for a file's tabs. This module does not guess: one unit must fit every line, and the
//! result must be the same with every unit that fits.

use super::super::shift::{Rule, indent};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The possible numbers of spaces per tab.
const WIDTHS: [usize; 4] = [2, 3, 4, 8];

/// The unit in which the lines of a text are indented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Indentation {
    /// Most indented lines begin with a tab.
    Tabs,
    /// Most indented lines begin with a space.
    Spaces,
}

impl Indentation {
    /// Returns the unit of most indented lines; `None` if no line is indented, or as many with each unit.
    pub(super) fn detect<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Option<Indentation> {
        let (mut tabs, mut spaces) = (0_usize, 0_usize);
        for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
            tabs += usize::from(line.starts_with(b"\t"));
            spaces += usize::from(line.starts_with(b" "));
        }
        match tabs.cmp(&spaces) {
            std::cmp::Ordering::Greater => Some(Indentation::Tabs),
            std::cmp::Ordering::Less => Some(Indentation::Spaces),
            std::cmp::Ordering::Equal => None,
        }
    }
}

/// A passage converted to the unit of the file.
pub(super) struct Reindented {
    /// Its position in the flat text.
    pub(super) at: usize,
    pub(super) old: String,
    pub(super) new: String,
}

/// Finds a passage that occurs exactly once if its indentation is converted to the unit of the text, and converts both
/// passages.
///
/// Nothing is converted if the text has lines in the unit of the passage, because it may use that unit on purpose. If
/// only the new passage has some indentation, the old passage must have two others: a single one does not show the
/// unit, since its lines may be at the wrong depth.
pub(super) fn find(flat: &[u8], old: &str, new: &str) -> Option<Reindented> {
    let known = indentations(old);
    let shown = known.iter().filter(|own| !own.is_empty()).count();
    let has_unit = |line: &[u8]| line.first().is_some_and(|first| known.iter().any(|own| own.first() == Some(first)));
    let mut lines = flat.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    if lines.any(|line| has_unit(indent(line))) || shown < 2 && !indentations(new).is_subset(&known) {
        return None;
    }
    let mut found: Option<Reindented> = None;
    for rule in WIDTHS.map(Rule::Tabs).into_iter().chain(WIDTHS.map(Rule::Spaces)) {
        // A rule that changes nothing gives the passage as written, which does not occur.
        let Some(converted) = convert(old, &rule).filter(|converted| converted != old) else { continue };
        let at = match places(flat, &converted) {
            (None, _) => continue,
            (Some(_), Some(_)) => return None,
            (Some(at), None) => at,
        };
        let new = convert(new, &rule)?;
        match &found {
            // Two widths that fit and differ in the result leave the width unknown.
            Some(known) if known.at != at || known.old != converted || known.new != new => return None,
            Some(_) => {}
            None => found = Some(Reindented { at, old: converted, new }),
        }
    }
    found
}

/// Returns the indentations of the lines that are not blank.
fn indentations(text: &str) -> BTreeSet<&[u8]> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| indent(line.as_bytes())).collect()
}

/// Converts the indentation of every line; `None` if a line has an indentation of another form.
fn convert(text: &str, rule: &Rule<'_>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (own, rest) = line.split_at(indent(line.as_bytes()).len());
        let image = match rest.trim().is_empty() {
            true => Cow::Borrowed(own),
            false => Cow::Owned(String::from_utf8(rule.apply(own.as_bytes())?).ok()?),
        };
        out.push_str(&image);
        out.push_str(rest);
    }
    Some(out)
}

/// Returns the first two occurrences. A passage that begins with indentation must begin a line.
fn places(flat: &[u8], passage: &str) -> (Option<usize>, Option<usize>) {
    if indent(passage.as_bytes()).is_empty() {
        return super::find::find_two(flat, passage.as_bytes());
    }
    let first = flat.starts_with(passage.as_bytes()).then_some(0);
    // In the middle of a line, the blanks would not be indentation.
    let line = format!("\n{passage}");
    let (second, third) = super::find::find_two(flat, line.as_bytes());
    let mut all = [first, second.map(|at| at + 1), third.map(|at| at + 1)].into_iter().flatten();
    (all.next(), all.next())
}

#[cfg(test)]
mod tests {
    use super::super::{PassageProblem, replace_passage};

    fn replaced(text: &str, old: &str, new: &str) -> Option<String> {
        let done = replace_passage(text.as_bytes(), old, new).ok()?;
        assert!(done.reindented);
        Some(String::from_utf8(done.text).unwrap())
    }

    #[test]
    fn spaces_match_the_tabs_of_the_file() {
        let text = "fn x() {\n\tif a {\n\t\tb()\n\t}\n\tc()\n}\n";
        let want = "fn x() {\n\tif a {\n\t\tb()\n\t\td()\n\t}\n\tc()\n}\n";
        for unit in ["  ", "    ", "        "] {
            let spaced = |text: &str| text.replace('\t', unit);
            let (old, new) = (spaced("\tif a {\n\t\tb()\n\t}"), spaced("\tif a {\n\t\tb()\n\t\td()\n\t}"));
            assert_eq!(replaced(text, &old, &new).as_deref(), Some(want), "{unit:?}");
            let (old, new) = (spaced("if a {\n\t\tb()\n"), spaced("if a {\n\t\tb()\n\t\td()\n"));
            assert_eq!(replaced(text, &old, &new).as_deref(), Some(want), "from the middle of a line, {unit:?}");
        }
    }

    #[test]
    fn tabs_match_the_spaces_of_the_file() {
        let text = "a:\n  b:\n    c\n";
        assert_eq!(replaced(text, "\tb:\n\t\tc\n", "\tb:\n\t\td\n").as_deref(), Some("a:\n  b:\n    d\n"));
        let crlf = "a:\r\n\tb:\r\n\t\tc\r\n";
        assert_eq!(replaced(crlf, "    b:\n        c\n", "    b:\n").as_deref(), Some("a:\r\n\tb:\r\n"));
    }

    #[test]
    fn an_ambiguous_place_is_refused() {
        let refused = |text: &str, old: &str, new: &str| replace_passage(text.as_bytes(), old, new).is_err();
        assert!(refused("\tx\n\t\tx\n", "        x\n", "        y\n"), "two depths fit");
        assert!(refused("a:\n\tb:\n\t\tx\n\t\ty\n", "    x\n", "    if q:\n        x\n"), "the new depth is not shown");
        assert!(
            refused("run:\n\tgo build\n  x = 1\n", "    go build\n", "    go\n"),
            "a line of the file is in spaces"
        );
        assert!(refused("\tx\n-\n\tx\n", "    x\n", "    y\n"), "two places fit");
        assert!(refused("\tif a\n\t\tb\n", "    if a\n      b\n", "    if a\n"), "no unit fits both lines");
        assert!(refused("\tx\n", "        x\n", "        x\n            y\n"), "half a step of eight");
        let Err(PassageProblem::NotFound { indentation, .. }) = replace_passage(b"\tx\n\ty\n", "    z\n", "") else {
            panic!("it does not occur");
        };
        assert_eq!(indentation, Some(super::Indentation::Tabs));
    }
}
