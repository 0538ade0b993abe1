//! The announcement of a verbatim body, `<<TAG`, and what models write when they get it wrong.
//!
//! Pure functions on a text. What is only nearly an announcement is never read as one: the call is refused, for
//! otherwise the announcement would be written in place of the text.

/// Bytes of a text that may still become an announcement that is not written exactly.
pub(super) const MOST_LOOSE: usize = 64;

/// Whether `text` is, or (where more may come) could become, the announcement of a body, written exactly or nearly so.
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
    let behind = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let behind = quote.and_then(|quote| behind.strip_prefix(quote)).unwrap_or(behind);
    text.len() <= MOST_LOOSE && behind.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// The word of an announcement that is not written exactly: `<<eof`, `<<'EOF'`, `<< EOF`, `<<-EOF`.
pub(super) fn loose_word(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text.strip_prefix("<<").filter(|_| text.len() <= MOST_LOOSE)?;
    let name = name.strip_prefix(['-', '~']).unwrap_or(name);
    let apart = name.trim_start_matches([' ', '\t']);
    let quoted = ['\'', '"'].into_iter().find_map(|quote| apart.strip_prefix(quote)?.strip_suffix(quote));
    let word = quoted.unwrap_or(apart);
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // `<< value` is code rather than an announcement.
    let is_code = quoted.is_none() && apart.len() < name.len() && !is_tag_name(word.as_bytes(), true);
    (is_word && !is_code).then_some(word)
}

/// What a text of several lines is whose first line announces a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inline<'a> {
    /// The announcement is exact, and its TAG ends the text: the lines between.
    Body {
        /// The TAG.
        tag: &'a str,
        /// The lines, with their last line ending.
        lines: &'a str,
    },
    /// The announcement is not exact, the word does not end the text, or it stands in the text more than once.
    Broken {
        /// The word that was announced.
        tag: &'a str,
    },
}

/// Reads a text whose first line announces a body that stands in the text itself.
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

/// The word of a first line with other punctuation around it. Where that may be code, as `<<x;` is, the word must be the last
/// line too.
fn marked_word<'a>(first: &'a str, last: &str) -> Option<&'a str> {
    let word = bare_word(first.strip_prefix("<<")?);
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (before, behind) = first.split_once(word)?;
    let quoted = before.ends_with(['\'', '"', '`']) || behind.trim_end().ends_with(['\'', '"', '`', '>', ':']);
    let shifted = before.len() > 2 && before.ends_with('<') && is_tag_name(word.as_bytes(), true);
    (is_word && (quoted || shifted || bare_word(last).eq_ignore_ascii_case(word))).then_some(word)
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
/// `x<<EOF`, `<<<EOF`, and not in code such as `cout << 1`. Without `<<` it is a text like any other.
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
    last.starts_with("<<") || like_tag && plain(marks).contains("<<")
}

/// A text without the punctuation around it.
pub(super) fn bare_word(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Whether `text` is a TAG with `<<` and other punctuation around it: `<<EOF>>`, `<< "EOF"`, `&lt;&lt;EOF`.
fn is_marked_tag(text: &str) -> bool {
    let plain = plain(text);
    let name = bare_word(&plain);
    plain.contains("<<") && !name.is_empty() && is_tag_name(name.as_bytes(), true)
}

/// Whether `text` may be the announcement of a body that was written wrong, where lines behind the object may be that
/// body.
pub(super) fn is_nearly_tag(text: &str) -> bool {
    tag_of(text).is_none() && plain(text).contains("<<")
}

/// A text without the escapes that models write before, or in place of, a `<`.
fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace('\\', "")
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
