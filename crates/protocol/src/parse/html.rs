//! The lines that begin and end an HTML block: the seven kinds of CommonMark 0.31.2, section 4.6.

/// What ends an HTML block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockEnd {
    /// A line that contains one of these lower-case strings, ignoring case (kinds 1 to 5).
    Text(&'static [&'static str]),
    /// A blank line (kinds 6 and 7).
    Blank,
}

impl BlockEnd {
    /// Returns `true` if this line, which may be the first one, is the last.
    pub(super) fn is_in_line(self, line: &str) -> bool {
        match self {
            BlockEnd::Blank => false,
            BlockEnd::Text(ends) => ends.iter().any(|end| contains(line.as_bytes(), end.as_bytes())),
        }
    }
}

/// Returns `true` if `line` contains `end`, ignoring ASCII case. `end` must begin with a character that has no case.
fn contains(line: &[u8], end: &[u8]) -> bool {
    memchr::memchr_iter(end[0], line)
        .any(|at| line.get(at..at + end.len()).is_some_and(|found| found.eq_ignore_ascii_case(end)))
}

const RAW: &[&str] = &["pre", "script", "style", "textarea"];

/// Reads a line without its indentation as the first line of an HTML block. `complete_tag` allows kind 7, which cannot
/// interrupt a paragraph.
pub(super) fn start(line: &str, complete_tag: bool) -> Option<BlockEnd> {
    let after = line.strip_prefix('<')?;
    if let Some(end) = declaration(after) {
        return Some(end);
    }
    let closing = after.starts_with('/');
    let name_on = &after[usize::from(closing)..];
    let length = name_on.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if length == 0 {
        return None; // the remaining kinds all have a name
    }
    let (name, rest) = name_on.split_at(length);
    let name = name.to_ascii_lowercase();
    let ends_here = rest.is_empty() || rest.starts_with([' ', '\t', '>']);
    if !closing && ends_here && RAW.contains(&name.as_str()) {
        return Some(BlockEnd::Text(&["</pre>", "</script>", "</style>", "</textarea>"]));
    }
    if (ends_here || rest.starts_with("/>")) && BLOCK_NAMES.split(' ').any(|known| known == name) {
        return Some(BlockEnd::Blank);
    }
    (complete_tag && is_complete_tag(after)).then_some(BlockEnd::Blank)
}

/// Recognises kinds 2 to 5: comment, processing instruction, CDATA, declaration.
fn declaration(after: &str) -> Option<BlockEnd> {
    if after.starts_with("!--") {
        Some(BlockEnd::Text(&["-->"]))
    } else if after.starts_with('?') {
        Some(BlockEnd::Text(&["?>"]))
    } else if after.starts_with("![CDATA[") {
        Some(BlockEnd::Text(&["]]>"]))
    } else if after.as_bytes().first() == Some(&b'!') && after.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic) {
        Some(BlockEnd::Text(&[">"]))
    } else {
        None
    }
}

/// Recognises kind 7: a complete open or closing tag, followed only by whitespace.
fn is_complete_tag(after: &str) -> bool {
    let bytes = after.as_bytes();
    let closing = bytes.first() == Some(&b'/');
    let mut at = usize::from(closing);
    let name = at;
    while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || (*byte == b'-' && at > name)) {
        at += 1;
    }
    if at == name || !bytes[name].is_ascii_alphabetic() {
        return false;
    }
    if RAW.iter().any(|raw| raw.eq_ignore_ascii_case(&after[name..at])) && !closing {
        return false;
    }
    if !closing {
        at = skip_attributes(bytes, at);
    }
    at = skip_blanks(bytes, at);
    if !closing && bytes.get(at) == Some(&b'/') {
        at += 1;
    }
    bytes.get(at) == Some(&b'>') && skip_blanks(bytes, at + 1) == bytes.len()
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// Returns the end of the attributes that begin at `at`.
fn skip_attributes(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let name = skip_blanks(bytes, at);
        let first = bytes.get(name).copied().unwrap_or_default();
        // An attribute needs whitespace before it (CommonMark 0.31.2, section 6.6).
        if name == at || !(first.is_ascii_alphabetic() || matches!(first, b'_' | b':')) {
            return at;
        }
        let mut end = name + 1;
        while bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte)) {
            end += 1;
        }
        at = skip_attribute_value(bytes, end).unwrap_or(end);
    }
}

/// Returns the end of `= value`, if there is one.
fn skip_attribute_value(bytes: &[u8], at: usize) -> Option<usize> {
    let equals = skip_blanks(bytes, at);
    if bytes.get(equals) != Some(&b'=') {
        return None;
    }
    let value = skip_blanks(bytes, equals + 1);
    match *bytes.get(value)? {
        quote @ (b'"' | b'\'') => memchr::memchr(quote, &bytes[value + 1..]).map(|length| value + length + 2),
        _ => {
            let bare = |byte: &&u8| !b" \t\"'=<>`".contains(byte);
            let length = bytes[value..].iter().take_while(bare).count();
            (length > 0).then_some(value + length)
        }
    }
}

/// The names of kind 6.
const BLOCK_NAMES: &str = "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl \
    dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend \
    li link main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td \
    tfoot th thead title tr track ul";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_seven_kinds_are_recognised() {
        assert!(matches!(start("<SCRIPT>", false), Some(BlockEnd::Text(_))));
        assert!(matches!(start("<!-- x", false), Some(BlockEnd::Text(["-->"]))));
        assert!(matches!(start("<?php", false), Some(BlockEnd::Text(["?>"]))));
        assert!(matches!(start("<!doctype html>", false), Some(BlockEnd::Text([">"]))));
        assert!(matches!(start("<![CDATA[", false), Some(BlockEnd::Text(["]]>"]))));
        assert_eq!(start("</div", false), Some(BlockEnd::Blank));
        assert_eq!(start("<hr/>", false), Some(BlockEnd::Blank));
        assert_eq!(start("<x-y a='1' b=2 c />  ", true), Some(BlockEnd::Blank));
        assert_eq!(start("</x-y >", true), Some(BlockEnd::Blank));
        assert_eq!(start("<x-y>", false), None);
        assert_eq!(start("<x-y> text", true), None);
        assert_eq!(start("<33>", true), None);
        assert_eq!(start("<a href=\"x>", true), None);
        assert_eq!(start("<https://example.org>", true), None);
        assert_eq!(start("<pre-x>", true), Some(BlockEnd::Blank));
    }

    #[test]
    fn raw_blocks_end_at_their_closing_tag() {
        let raw = start("<pre>", false).unwrap();
        assert!(raw.is_in_line("x </PRE> y") && !raw.is_in_line("</pre"));
    }
}
