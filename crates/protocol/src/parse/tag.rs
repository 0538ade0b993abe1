//! Recognises the announcement of a verbatim body, `<<TAG`, and the ways in which models get it wrong.
//!
//! Pure functions on a text. A near announcement is never read as one: the call is refused, since otherwise the
//! announcement would be written in place of the text.

/// The maximum number of bytes in a text that may still become an inexact announcement.
pub(super) const MOST_LOOSE: usize = 64;

/// Returns `true` if `text` is the announcement of a body, exact or nearly so, or may become one when more text
/// follows.
pub(super) fn may_be_tag(text: &str) -> bool {
    let begun = text.trim_start();
    let Some(name) = begun.strip_prefix("<<") else { return matches!(begun, "" | "<") && text.len() <= MOST_LOOSE };
    if is_tag_name(name.as_bytes(), true) {
        return true;
    }
    let name = name.strip_prefix(['-', '~']).unwrap_or(name).trim_start_matches([' ', '\t']);
    let (quote, word) = match name.chars().next() {
        Some(quote @ ('\'' | '"')) => (Some(quote), &name[1..]),
        _ => (None, name),
    };
    let after = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let after = quote.and_then(|quote| after.strip_prefix(quote)).unwrap_or(after);
    text.len() <= MOST_LOOSE && after.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Returns the word of an inexact announcement: `<<eof`, `<<'EOF'`, `<< EOF`, `<<-EOF`.
pub(super) fn loose_word(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text.strip_prefix("<<").filter(|_| text.len() <= MOST_LOOSE)?;
    let name = name.strip_prefix(['-', '~']).unwrap_or(name);
    let trimmed = name.trim_start_matches([' ', '\t']);
    let quoted = ['\'', '"'].into_iter().find_map(|quote| trimmed.strip_prefix(quote)?.strip_suffix(quote));
    let word = quoted.unwrap_or(trimmed);
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // `<< value` is code rather than an announcement.
    let is_code = quoted.is_none() && trimmed.len() < name.len() && !is_tag_name(word.as_bytes(), true);
    (is_word && !is_code).then_some(word)
}

/// A text of several lines whose first line announces a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inline<'a> {
    /// The announcement is exact, and its TAG ends the text.
    Body {
        /// The TAG.
        tag: &'a str,
        /// The lines between, with their last line ending.
        lines: &'a str,
    },
    /// The announcement is inexact, its word does not end the text, or it occurs more than once.
    Broken {
        /// The word that was announced.
        tag: &'a str,
    },
}

/// Reads a text whose first line announces a body in the text itself.
pub(super) fn inline_body(text: &str) -> Option<Inline<'_>> {
    let (first, rest) = text.trim_start().split_once('\n')?;
    let exact = tag_of(first.trim_end());
    let ended = rest.trim_end();
    let last = ended.rsplit('\n').next().unwrap_or_default();
    let tag = exact.or_else(|| loose_word(first)).or_else(|| marked_word(first, last))?;
    let lines = &rest[..ended.rfind('\n').map_or(0, |at| at + 1)];
    let is_end = |line: &str| line.trim() == tag;
    let whole = exact.is_some() && text.starts_with('<') && ended[lines.len()..] == *tag;
    let plain = !lines.lines().any(|line| is_end(line) || holds_heredoc(line, tag));
    Some(if whole && plain { Inline::Body { tag, lines } } else { Inline::Broken { tag } })
}

/// Returns the word of a first line with other punctuation around it. If that may be code, such as `<<x;`, the word
/// must also be the last line.
fn marked_word<'a>(first: &'a str, last: &str) -> Option<&'a str> {
    let word = bare_word(first.strip_prefix("<<")?);
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (before, after) = first.split_once(word)?;
    let quoted = before.ends_with(['\'', '"', '`']) || after.trim_end().ends_with(['\'', '"', '`', '>', ':']);
    let shifted = before.len() > 2 && before.ends_with('<') && is_tag_name(word.as_bytes(), true);
    (is_word && (quoted || shifted || bare_word(last).eq_ignore_ascii_case(word))).then_some(word)
}

/// Returns `true` if this is a TAG, or a later part of one unless it is the `beginning`.
pub(super) fn is_tag_name(name: &[u8], beginning: bool) -> bool {
    name.first().is_none_or(|first| !beginning || first.is_ascii_uppercase())
        && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Returns the TAG of `<<TAG`.
pub(super) fn tag_of(text: &str) -> Option<&str> {
    text.strip_prefix("<<").filter(|tag| !tag.is_empty() && is_tag_name(tag.as_bytes(), true))
}

/// Returns `true` if `text` most likely ends in a mistyped announcement of a body: `<<'EOF'`, `<<eof`, `x<<EOF`,
/// `<<<EOF`, but not in code such as `cout << 1`. Text without `<<` never does.
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
    last.starts_with("<<") || like_tag && without_escapes(marks).contains("<<")
}

/// Returns a text without the punctuation around it.
pub(super) fn bare_word(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Returns `true` if `text` is a TAG with `<<` and other punctuation around it: `<<EOF>>`, `<< "EOF"`, `&lt;&lt;EOF`.
fn is_marked_tag(text: &str) -> bool {
    let plain = without_escapes(text);
    let name = bare_word(&plain);
    plain.contains("<<") && !name.is_empty() && is_tag_name(name.as_bytes(), true)
}

/// Returns `true` if `text` may be a mistyped announcement of a body, given that lines after the object may be that
/// body.
pub(super) fn is_nearly_tag(text: &str) -> bool {
    tag_of(text).is_none() && without_escapes(text).contains("<<")
}

/// Returns a text without the escapes that models write before or instead of a `<`.
fn without_escapes(text: &str) -> String {
    text.replace("&lt;", "<").replace('\\', "")
}

/// Returns `true` if a line contains `<<TAG` in one of the ways in which shells and other languages write it: the line
/// TAG may then end that here-document.
pub(super) fn holds_heredoc(line: &str, tag: &str) -> bool {
    let word = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let mut rest = line;
    while let Some(at) = memchr::memmem::find(rest.as_bytes(), b"<<") {
        // The whole run is consumed at once: one step per character would take quadratic time.
        let close = rest[at..].trim_start_matches('<');
        rest = close;
        let close = close.strip_prefix(['-', '~']).unwrap_or(close);
        let trimmed = close.trim_start_matches([' ', '\t']);
        let after = trimmed.strip_prefix(['\'', '"', '\\', '`']).unwrap_or(trimmed).strip_prefix(tag);
        if after.is_some_and(|rest| trimmed.len() == close.len() || !word(rest)) {
            return true;
        }
    }
    false
}
