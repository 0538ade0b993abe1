//! YAML, as far as its events: no document is built.

use super::Diagnostic;
use saphyr_parser::Parser;

/// What is wrong; `None` for a template, which is no YAML before it is filled in, and where `give_up` says so.
pub(super) fn check(text: &str, give_up: &dyn Fn() -> bool) -> Option<Vec<Diagnostic>> {
    if is_template(text) {
        return None;
    }
    for event in Parser::new_from_str(text) {
        if give_up() {
            return None;
        }
        if let Err(error) = event {
            let (line, column) = place(text, error.marker().index());
            return Some(vec![Diagnostic::syntax(line, column, error.info())]);
        }
    }
    Some(Vec::new())
}

/// Line and column of a character. To YAML a carriage return by itself ends a line; to everything else that shows them not.
fn place(text: &str, character: usize) -> (u64, u64) {
    text.chars()
        .take(character)
        .fold((1, 1), |(line, column), c| if c == '\n' { (line + 1, 1) } else { (line, column + 1) })
}

/// Braces in twos that stand in no text: `${{ x }}` is one, and so is `"{{ x }}"`.
fn is_template(text: &str) -> bool {
    let bare = |(at, _): (usize, &str)| !text[..at].ends_with(['$', '"', '\'', '`']);
    text.contains("{%") || text.match_indices("{{").any(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_they_do_for_everybody_else() {
        for (text, line, column) in [
            ("a: 1\nb: é\nc: @\n", 3, 4),
            ("a: 1\r\nb: é\r\nc: @\r\n", 3, 4),
            ("a: 1\rb: é\rc: @\r", 1, 14),
            ("a: 1\r\rb: é\r\n\rc: @\n", 2, 5),
        ] {
            let found = check(text, &|| false).expect("it is no template");
            assert_eq!((found[0].line, found[0].column), (line, column), "{text:?}: {found:?}");
        }
    }
}
