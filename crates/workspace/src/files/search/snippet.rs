//! Selects the part of a long line to display.

/// Returns at most `shown` characters of a line around the byte `at`. In a longer line, three tenths of them are before
/// that byte, and `...` marks the omitted parts. The work is bounded for any length of the line.
pub(crate) fn excerpt(line: &[u8], at: usize, shown: usize) -> String {
    // A character has at most four bytes, and the first and last one of a window may be incomplete.
    let window = 4 * (shown + 4);
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= shown {
        // Every character has at least one byte.
        return String::from_utf8_lossy(line).into_owned();
    }
    let at = at.min(line.len());
    let from = at.saturating_sub(window);
    let to = line.len().min(at + window);
    let before: Vec<char> = String::from_utf8_lossy(&line[from..at]).chars().collect();
    let after: Vec<char> = String::from_utf8_lossy(&line[at..to]).chars().collect();
    let room_after = shown - before.len().min(shown * 3 / 10);
    // Each side gets the room that the other one does not need.
    let kept_after = after.len().min(room_after);
    let kept_before = before.len().min(shown - kept_after);
    let cut_before = from > 0 || kept_before < before.len();
    let cut_after = to < line.len() || kept_after < after.len();
    let mut text = String::from(if cut_before { "..." } else { "" });
    text.extend(&before[before.len() - kept_before..]);
    text.extend(&after[..kept_after]);
    text.push_str(if cut_after { "..." } else { "" });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_are_whole() {
        assert_eq!(excerpt("größe\r\n".as_bytes(), 4, 200), "größe");
        assert_eq!(excerpt("x".repeat(200).as_bytes(), 150, 200), "x".repeat(200));
    }

    #[test]
    fn long_lines_show_what_is_around_the_match() {
        let line = format!("{}NEEDLE{}", "ä".repeat(1000), "ö".repeat(1000));
        let text = excerpt(line.as_bytes(), 2000, 200);
        assert_eq!(text, format!("...{}NEEDLE{}...", "ä".repeat(60), "ö".repeat(134)));
        let end = excerpt(format!("{}NEEDLE", "ä".repeat(1000)).as_bytes(), 2000, 200);
        assert_eq!(end, format!("...{}NEEDLE", "ä".repeat(194)));
        assert_eq!(excerpt(format!("NEEDLE{}", "b".repeat(500)).as_bytes(), 0, 200).chars().count(), 203);
    }
}
