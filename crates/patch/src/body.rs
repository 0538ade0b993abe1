//! Finds the lines after a hunk's head that are its body. The counts of the head are a hint; the lines decide.
//!
//! A line of the body begins with a blank, `+`, `-` or a backslash. An empty line has lost its leading blank, and so
//! has any other line between lines of the body. It is read as context, and because context must occur in the file, a
//! wrong guess does no harm.

use super::model::{Hunk, Line, Sign};

/// The number of lines on the old and on the new side.
pub(super) type Counts = (u64, u64);

/// Returns how much a line adds to both counts; `None` for a note about the line before.
pub(super) fn counts_of(line: &str) -> Option<Counts> {
    match line.as_bytes() {
        [b'-', ..] => Some((1, 0)),
        [b'+', ..] => Some((0, 1)),
        [b'\\', b' ', ..] => None,
        _ => Some((1, 1)),
    }
}

fn is_blank(line: &str) -> bool {
    line.trim_end().is_empty() && !line.starts_with(' ')
}

pub(super) fn is_body(line: &str) -> bool {
    line.starts_with([' ', '+', '-']) || line.starts_with("\\ ")
}

fn is_change(line: &str) -> bool {
    line.starts_with(['+', '-'])
}

/// Returns the number of lines in the body. The lines after it are prose and must contain no additions or removals.
pub(super) fn length(lines: &[&str], counts: Option<Counts>) -> usize {
    match counts.and_then(|counts| end_of_counts(lines, counts)) {
        // Counts may be wrong, so they count only if something else begins where they are met.
        Some(met) if ends_there(&lines[met..]) => met,
        _ => length_to_last_line(&lines[..signature(lines).unwrap_or(lines.len())]),
    }
}

/// Returns whether the counts match the lines.
pub(super) fn counts_match(lines: &[&str], counts: Option<Counts>) -> bool {
    counts.is_some_and(|counts| end_of_counts(lines, counts) == Some(lines.len()))
}

/// Returns where both counts are reached, after any notes about the last line.
fn end_of_counts(lines: &[&str], (old, new): Counts) -> Option<usize> {
    let mut left = (old, new);
    for (at, line) in lines.iter().enumerate() {
        let counts = counts_of(line);
        if left == (0, 0) && counts.is_some() {
            return Some(at);
        }
        let (old, new) = counts.unwrap_or_default();
        left = (left.0.checked_sub(old)?, left.1.checked_sub(new)?);
    }
    (left == (0, 0)).then_some(lines.len())
}

/// Returns whether the body ends before these lines.
fn ends_there(after: &[&str]) -> bool {
    let Some(first) = after.first() else { return true };
    if signature(after) == Some(0) {
        return true;
    }
    if is_body(first) {
        return false;
    }
    // A change after empty lines and without prose between them would be lost, so the body continues to it.
    let prose = after.iter().any(|line| !is_blank(line) && !is_body(line));
    prose || !after.iter().any(|line| is_change(line))
}

/// Returns the length up to the last line that begins as lines of a body do.
fn length_to_last_line(lines: &[&str]) -> usize {
    lines.iter().rposition(|line| is_body(line)).map_or(0, |at| at + 1)
}

/// Finds the signature of a mail: `-- ` and the version of git. Two dashes alone could be a removed line.
pub(super) fn signature(lines: &[&str]) -> Option<usize> {
    let dashes =
        |pair: &[&str]| matches!(pair[0].trim_end(), "--") && pair[1].starts_with(|c: char| c.is_ascii_digit());
    let alone = |at: usize| lines.get(at).is_none_or(|line| is_blank(line));
    lines.windows(2).enumerate().find(|(at, pair)| dashes(pair) && alone(at + 2)).map(|(at, _)| at)
}

/// Adds the lines to a hunk. With `strip`, carriage returns at line ends are removed, because they came from the
/// transport.
pub(super) fn fill<'a>(hunk: &mut Hunk<'a>, lines: &[&'a str], strip: bool) {
    for line in lines {
        if line.starts_with("\\ ") {
            if let Some(last) = hunk.lines.last_mut() {
                last.unended = true;
            }
            continue;
        }
        let line = if strip { line.strip_suffix('\r').unwrap_or(line) } else { line };
        let (sign, text) = match line.as_bytes() {
            [b'-', ..] => (Sign::Remove, &line[1..]),
            [b'+', ..] => (Sign::Add, &line[1..]),
            [b' ', ..] => (Sign::Context, &line[1..]),
            _ => (Sign::Context, line),
        };
        hunk.lines.push(Line { sign, text, unended: false });
    }
    // The head of the hunk has no carriage return, so the transport added none to the lines either.
    hunk.exact_ends = !strip && hunk.lines.iter().any(|line| line.text.ends_with('\r'));
}

/// Corrects the stated line of a hunk without old lines. If the head counts zero old lines, its number already is that
/// of the line before; otherwise it is the line where the new lines go.
pub(super) fn correct_stated_line(hunk: &mut Hunk<'_>, counts: Option<Counts>) {
    if hunk.old().next().is_none() && counts.is_some_and(|(old, _)| old > 0) {
        hunk.stated = hunk.stated.and_then(|line| line.checked_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, counts: Option<Counts>) -> usize {
        length(&text.lines().collect::<Vec<_>>(), counts)
    }

    #[test]
    fn right_counts_end_a_hunk() {
        assert_eq!(body(" a\n-b\n+c\n\nAnd that is:\n- item", Some((2, 2))), 3);
        assert_eq!(body(" a\n-b\n+c\n-- \n2.39.0\n\nFrom x", Some((2, 2))), 3);
        assert_eq!(body(" a\n-b\n-- \n2.39.0", Some((3, 1))), 3);
        assert_eq!(body(" a\n+b\n\n", Some((2, 3))), 3);
        assert_eq!(body("-a\n+b\n\\ No newline at end of file\n", Some((1, 1))), 3);
    }

    #[test]
    fn wrong_counts_do_not_end_a_hunk() {
        for counts in [None, Some((1, 1)), Some((9, 9)), Some((0, 0))] {
            assert_eq!(body(" a\n-b\n+c\n\n d\n\n", counts), 5, "{counts:?}");
        }
        assert_eq!(body(" a\n+b\nlost blank\n c", Some((2, 4))), 4);
        assert_eq!(body(" a\n+b\n-- \n2.39.0\n\n", None), 2);
        assert_eq!(body("-\n--\n", Some((7, 9))), 2);
        assert_eq!(body("-\n--\n", Some((1, 0))), 2);
    }
}
