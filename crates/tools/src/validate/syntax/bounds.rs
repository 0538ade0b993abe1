//! What no grammar is given: a text so deep that nobody wrote it by hand. The scanners of the grammars keep their state in
//! a kilobyte, and what does not fit there they forget.

/// Brackets that are open at a time, wherever they stand: strings and comments are not told apart. Angles count within a
/// statement: where they may be brackets or signs, a grammar follows both readings.
const DEEPEST: usize = 500;

/// The widest beginning of a line, in blanks: each level of a block is at least one of them.
const WIDEST: usize = 400;

/// Whether the text is within them.
pub(super) fn hold(text: &str) -> bool {
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
