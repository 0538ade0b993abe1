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
            let at = error.marker();
            return Some(vec![Diagnostic::syntax(at.line() as u64, at.col() as u64 + 1, error.info())]);
        }
    }
    Some(Vec::new())
}

/// Braces in twos that stand in no text: `${{ x }}` is one, and so is `"{{ x }}"`.
fn is_template(text: &str) -> bool {
    let bare = |(at, _): (usize, &str)| !text[..at].ends_with(['$', '"', '\'', '`']);
    text.contains("{%") || text.match_indices("{{").any(bare)
}
