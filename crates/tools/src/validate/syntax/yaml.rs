//! The YAML check. It reads parser events and builds no document.

use super::Diagnostic;
use saphyr_parser::Parser;

/// Returns the first error. Returns `None` for a template, which is not valid YAML until it is filled in, or if
/// `give_up` returns `true`.
pub(super) fn check(text: &str, give_up: &dyn Fn() -> bool) -> Option<Vec<Diagnostic>> {
    if is_template(text) {
        return None;
    }
    for event in Parser::new_from_str(text) {
        if give_up() {
            return None;
        }
        if let Err(error) = event {
            let (line, column) = position_of(text, error.marker().index());
            return Some(vec![Diagnostic::syntax(line, column, error.info())]);
        }
    }
    Some(Vec::new())
}

/// Returns the line and column of a character. A carriage return by itself ends a line in YAML, but not in editors, so
/// it does not count here.
fn position_of(text: &str, character: usize) -> (u64, u64) {
    text.chars()
        .take(character)
        .fold((1, 1), |(line, column), c| if c == '\n' { (line + 1, 1) } else { (line, column + 1) })
}

/// Returns `true` if the text has template braces outside strings: `${{ x }}` and `"{{ x }}"` are not template braces.
fn is_template(text: &str) -> bool {
    let bare = |(at, _): (usize, &str)| !text[..at].ends_with(['$', '"', '\'', '`']);
    text.contains("{%") || text.match_indices("{{").any(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_carriage_returns_do_not_end_lines() {
        for (text, line, column) in [
            ("a: 1\nb: é\nc: @\n", 3, 4),
            ("a: 1\r\nb: é\r\nc: @\r\n", 3, 4),
            ("a: 1\rb: é\rc: @\r", 1, 14),
            ("a: 1\r\rb: é\r\n\rc: @\n", 2, 5),
        ] {
            let found = check(text, &|| false).expect("the text is not a template");
            assert_eq!((found[0].line, found[0].column), (line, column), "{text:?}: {found:?}");
        }
    }
}
