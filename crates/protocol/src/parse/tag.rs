//! The announcement of a verbatim body, `<<TAG`, and what models write when they get it wrong.
//!
//! Pure functions on a text. What is only nearly an announcement is never read as one: the call is refused, for
//! otherwise the announcement would be written in place of the text.

/// Whether `text` is, or (where more may come) could become, `<<TAG`.
pub(super) fn may_be_tag(text: &str) -> bool {
    let marks = text.bytes().take_while(|byte| *byte == b'<').count();
    let name = &text.as_bytes()[marks..];
    match marks {
        0 | 1 => name.is_empty(),
        2 => is_tag_name(name, true),
        _ => false,
    }
}

/// Whether this is a TAG, from its `beginning` or further on.
pub(super) fn is_tag_name(name: &[u8], beginning: bool) -> bool {
    name.first().is_none_or(|first| !beginning || first.is_ascii_uppercase())
        && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// The TAG of `<<TAG`.
pub(super) fn tag_of(text: &str) -> Option<&str> {
    text.strip_prefix("<<").filter(|tag| !tag.is_empty() && is_tag_name(tag.as_bytes(), true))
}

/// Whether `text` ends in what is most likely the announcement of a body that was written wrong: `<<'EOF'`, `<<eof`,
/// `<EOF`, `x<<EOF`, `<.<EOF`, and not in code such as `<div` or `cout << 1`.
pub(super) fn is_mistyped_tag(text: &str) -> bool {
    let last = text.split_whitespace().next_back().unwrap_or_default();
    if last.len() >= 64 || tag_of(text).is_some() {
        return false;
    }
    if text.len() < 64 && is_marked_tag(text.trim()) {
        return true;
    }
    let bare = last.trim_end_matches(['\'', '"']);
    let name = bare.bytes().rev().take_while(|byte| is_tag_name(&[*byte], false)).count();
    let (marks, name) = bare.split_at(bare.len() - name);
    let like_tag = !name.is_empty() && is_tag_name(name.as_bytes(), true);
    last.starts_with("<<") || like_tag && (marks.contains("<<") || marks.starts_with('<'))
}

/// Whether `text` is a TAG with punctuation around it: `<EOF>`, `<< "EOF"`, `$EOF`, `&lt;&lt;EOF`.
fn is_marked_tag(text: &str) -> bool {
    let plain = text.replace("&lt;", "<");
    let name = plain.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    name.len() < plain.len() && !name.is_empty() && is_tag_name(name.as_bytes(), true)
}

/// Whether `text` may be the announcement of a body that was written wrong, where lines behind the object may be that
/// body.
pub(super) fn is_nearly_tag(text: &str) -> bool {
    let word = text.trim_start_matches('<').trim_matches(['-', '\'', '"', ' ']);
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let like_tag = is_word || text.ends_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    tag_of(text).is_none() && (text.contains("<<") || (text.starts_with('<') && text.len() < 64 && like_tag))
}

/// Whether a line holds `<<TAG` in one of the ways shells and other languages write it: the line TAG may be the end of
/// that.
pub(super) fn holds_heredoc(line: &str, tag: &str) -> bool {
    let word = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let mut rest = line;
    while let Some(at) = memchr::memmem::find(rest.as_bytes(), b"<<") {
        // The whole run of them at once: one for each would be a square.
        let close = rest[at..].trim_start_matches('<');
        rest = close;
        let close = close.strip_prefix(['-', '~']).unwrap_or(close);
        let apart = close.trim_start_matches([' ', '\t']);
        let behind = apart.strip_prefix(['\'', '"', '\\', '`']).unwrap_or(apart).strip_prefix(tag);
        if behind.is_some_and(|rest| apart.len() == close.len() || !word(rest)) {
            return true;
        }
    }
    false
}
