//! Link reference definitions, as far as they decide whether a paragraph has any text (CommonMark 0.31.2, section 4.7).
//!
//! It matters in one place: a paragraph that is nothing but definitions does not become a heading under `===`.

/// The text of a paragraph without the definitions it begins with. Lines end with a newline and have no indentation.
pub(super) fn strip(mut text: &str) -> &str {
    while let Some(rest) = definition(text) {
        text = rest;
    }
    text
}

/// What follows one definition.
fn definition(text: &str) -> Option<&str> {
    let rest = label(text)?.strip_prefix(':')?;
    let after_destination = destination(whitespace_and_one_newline(rest))?;
    let title_on = whitespace_and_one_newline(after_destination);
    if title_on.len() < after_destination.len()
        && let Some(after_title) = title(title_on)
        && let Some(end) = line_end(after_title)
    {
        return Some(end);
    }
    line_end(after_destination)
}

/// Behind `[label]`: at most 999 characters, no bracket that is not escaped, not only whitespace.
fn label(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let mut escaped = false;
    for (count, (at, c)) in inner.char_indices().enumerate() {
        match c {
            _ if count > 999 => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => return None,
            ']' => return (!inner[..at].trim().is_empty()).then(|| &inner[at + 1..]),
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
        return bracketed(inner);
    }
    let mut depth = 0_u32;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b' ' | b'\t' | b'\n' => return (at > 0 && depth == 0).then(|| &text[at..]),
            1..=31 | 127 => return None, // NUL stands for a character that is none of these
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

fn bracketed(inner: &str) -> Option<&str> {
    let mut escaped = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = byte == b'\n',
            b'\\' => escaped = true,
            b'\n' | b'<' => return None,
            b'>' => return Some(&inner[at + 1..]),
            _ => {}
        }
    }
    None
}

fn title(text: &str) -> Option<&str> {
    let close = match text.bytes().next()? {
        b'"' => b'"',
        b'\'' => b'\'',
        b'(' => b')',
        _ => return None,
    };
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == close => return Some(&text[at + 1..]),
            b'(' if close == b')' => return None,
            _ => {}
        }
    }
    None
}

/// What follows this line, when only whitespace is left of it.
fn line_end(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']);
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('\n') }
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn only_definitions_leave_nothing() {
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
