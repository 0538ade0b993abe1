//! Finds lines that an edit would duplicate, because its replacement repeats lines around the range.

use super::lines::{LineEdit, lines_of};
use super::text::Text;

/// Maximum number of lines compared at each end of a replacement.
const MOST_LINES: usize = 20;

/// Minimum number of letters and digits in repeated lines; a line such as `}` often occurs twice on purpose.
const LEAST_TELLING: usize = 3;

/// Returns the numbers of lines, from 1, that these edits leave in place and that a replacement repeats next to them.
///
/// The result is only a warning: a line may be meant to occur twice. Edits that do not fit the text are ignored.
pub fn restated_neighbours(text: &[u8], edits: &[LineEdit<'_>]) -> Vec<u64> {
    let Some(text) = Text::new(text) else { return Vec::new() };
    let mut restated = Vec::new();
    for edit in edits {
        let (Some(from), Ok(to)) = (edit.start.checked_sub(1), usize::try_from(edit.end)) else { continue };
        let Ok(from) = usize::try_from(from) else { continue };
        if from > to || to > text.len() {
            continue;
        }
        let added: Vec<&[u8]> = lines_of(edit.replacement).map(str::as_bytes).collect();
        let line = |at: usize| text.line(at).strip_suffix(b"\r").unwrap_or(text.line(at));
        let removed: Vec<&[u8]> = (from..to).map(line).collect();
        let most = added.len().min(MOST_LINES);
        // The longest repetition first: it includes the shorter ones.
        let above = (1..=most.min(from)).rev().find(|count| {
            let lines: Vec<&[u8]> = (from - count..from).map(line).collect();
            // If the removed lines repeat the neighbours too, the file had the repetition before.
            added.starts_with(&lines) && !removed.starts_with(&lines) && has_content(&lines)
        });
        let below = (1..=most.min(text.len() - to)).rev().find(|count| {
            let lines: Vec<&[u8]> = (to..to + count).map(line).collect();
            added.ends_with(&lines) && !removed.ends_with(&lines) && has_content(&lines)
        });
        let count = |count: Option<usize>| count.unwrap_or(0);
        restated.extend((from - count(above)..from).chain(to..to + count(below)).map(|at| at as u64 + 1));
    }
    restated
}

fn has_content(lines: &[&[u8]]) -> bool {
    lines.iter().flat_map(|line| line.iter()).filter(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80).count()
        >= LEAST_TELLING
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restated(start: u64, end: u64, replacement: &str) -> Vec<u64> {
        let text = b"fn a() {\n    one();\n    two();\n}\nfn b() {}\n";
        restated_neighbours(text, &[LineEdit { start, end, replacement }])
    }

    #[test]
    fn repeated_neighbours_are_found() {
        assert_eq!(restated(2, 2, "fn a() {\n    1();\n"), [1]);
        assert_eq!(restated(2, 2, "    1();\n    two();\n}\n"), [3, 4]);
        assert_eq!(restated(2, 2, "fn a() {\n    1();\n    two();\n"), [1, 3]);
        assert_eq!(restated(3, 2, "    one();\n"), [2], "an insertion");
        assert_eq!(restated(2, 2, "    1();\n"), [0_u64; 0]);
        assert_eq!(restated(4, 4, "    x();\n}\n"), [0_u64; 0]);
        assert_eq!(restated(9, 9, "x"), [0_u64; 0]);
        let twice = restated_neighbours(b"same\nsame\n", &[LineEdit { start: 2, end: 2, replacement: "same\nmore" }]);
        assert_eq!(twice, [0_u64; 0], "it was there twice before");
    }
}
