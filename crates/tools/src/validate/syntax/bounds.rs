//! Limits on the nesting of texts, far beyond hand-written code. The scanners of the grammars keep their state in one
//! kilobyte and drop whatever exceeds it.

/// The maximum number of brackets that are open at a time, including those in strings and comments. Angle brackets
/// count within one statement: where they may be either brackets or operators, a grammar follows both readings.
const DEEPEST: usize = 500;

/// The widest indentation of a line, in blanks. Each level of a block adds at least one.
const WIDEST: usize = 400;

/// Returns `true` if the text is within the limits.
pub(super) fn is_within(text: &str) -> bool {
    let (mut open, mut angles) = (0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            _ => {}
        }
        if matches!(byte, b';' | b':' | b'{' | b'}') {
            angles = 0;
        }
        if open.max(angles) > DEEPEST {
            return false;
        }
    }
    text.lines().all(|line| line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count() <= WIDEST)
}
