//! Link reference definitions, as far as they decide whether a paragraph has text (CommonMark 0.31.2, section 4.7).
//!
//! They matter only because a paragraph that consists of definitions does not become a heading under `===`.

/// Returns the text of a paragraph without its leading definitions. Lines end with a newline and have no indentation.
pub(super) fn strip(mut text: &str) -> &str {
    while let Some(rest) = definition(text) {
        text = rest;
    }
    text
}

/// Returns the text after one definition.
fn definition(text: &str) -> Option<&str> {
    let rest = label(text)?.strip_prefix(':')?;
    let after_destination = destination(whitespace_and_one_newline(rest))?;
    let rest_with_title = whitespace_and_one_newline(after_destination);
    // A title needs whitespace before it and nothing after it on its line. Otherwise the definition must end on the
    // line of the destination.
    if rest_with_title.len() < after_destination.len()
        && let Some(after_title) = title(rest_with_title)
        && let Some(end) = line_end(after_title)
    {
        return Some(end);
    }
    line_end(after_destination)
}

/// Returns the text after `[label]`: at most 999 characters, no unescaped bracket, not only whitespace.
fn label(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let rest = after_unescaped(inner, b']', b"[")?;
    let label = &inner[..inner.len() - rest.len() - 1];
    (label.chars().count() <= 999 && !label.trim().is_empty()).then_some(rest)
}

/// Returns the text after the first unescaped `close`, unless a byte of `never` precedes it.
fn after_unescaped<'a>(text: &'a str, close: u8, never: &[u8]) -> Option<&'a str> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == close => return Some(&text[at + 1..]),
            _ if never.contains(&byte) => return None,
            _ => {}
        }
    }
    None
}

fn whitespace_and_one_newline(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t']);
    text.strip_prefix('\n').map_or(text, |rest| rest.trim_start_matches([' ', '\t']))
}

fn destination(text: &str) -> Option<&str> {
    if let Some(inner) = text.strip_prefix('<') {
        let rest = after_unescaped(inner, b'>', b"<\n")?;
        // A backslash does not escape a line ending.
        return (!inner[..inner.len() - rest.len()].contains('\n')).then_some(rest);
    }
    let mut depth = 0_u32;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b' ' | b'\t' | b'\n' => return (at > 0 && depth == 0).then(|| &text[at..]),
            1..=31 | 127 => return None, // a NUL is replaced by U+FFFD, so it is allowed
            _ if escaped && byte.is_ascii_punctuation() => escaped = false,
            b'\\' => escaped = true,
            b'(' => depth += 1,
            b')' if depth == 0 => return None,
            b')' => depth -= 1,
            _ => escaped = false,
        }
    }
    (!text.is_empty() && depth == 0).then_some("")
}

fn title(text: &str) -> Option<&str> {
    match text.chars().next()? {
        '"' => after_unescaped(&text[1..], b'"', b""),
        '\'' => after_unescaped(&text[1..], b'\'', b""),
        '(' => after_unescaped(&text[1..], b')', b"("),
        _ => None,
    }
}

/// Returns the text after this line, if only whitespace is left on it.
fn line_end(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']);
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('\n') }
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn only_complete_definitions_are_stripped() {
        assert_eq!(strip("[foo]: /url\n"), "");
        assert_eq!(strip("[foo]:\n/url\n'a\ntitle'\n[b]: <> (x)\n"), "");
        assert_eq!(strip("[foo]: /url 'title' junk\n"), "[foo]: /url 'title' junk\n");
        assert_eq!(strip("[foo]: /url\n'title' junk\n"), "'title' junk\n");
        assert_eq!(strip("[]: /url\n"), "[]: /url\n");
        assert_eq!(strip("[a[b]: /url\n"), "[a[b]: /url\n");
        assert_eq!(strip("[foo]:\n"), "[foo]:\n");
        assert_eq!(strip("[foo]: <bar>(baz)\n"), "[foo]: <bar>(baz)\n");
        assert_eq!(strip("[foo]: /url\ntext\n"), "text\n");
    }
}
