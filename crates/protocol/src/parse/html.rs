//! Which lines begin and end an HTML block: the seven kinds of CommonMark 0.31.2, section 4.6.

/// What ends an HTML block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A line that holds one of these, in lower case (kinds 1 to 5).
    Text(&'static [&'static str]),
    /// A blank line (kinds 6 and 7).
    Blank,
}

impl End {
    /// Whether this line, the first one included, is the last one.
    pub(super) fn in_line(self, line: &str) -> bool {
        match self {
            End::Blank => false,
            End::Text(ends) => ends.iter().any(|end| contains(line.as_bytes(), end.as_bytes())),
        }
    }
}

/// Whether `line` holds `end`, ignoring ASCII case. An end begins with a character that has no case.
fn contains(line: &[u8], end: &[u8]) -> bool {
    memchr::memchr_iter(end[0], line)
        .any(|at| line.get(at..at + end.len()).is_some_and(|found| found.eq_ignore_ascii_case(end)))
}

const RAW: &[&str] = &["pre", "script", "style", "textarea"];

/// Reads a line without its indentation as the first line of an HTML block. `complete_tag` says whether kind 7, which
/// cannot interrupt a paragraph, is possible here.
pub(super) fn start(line: &str, complete_tag: bool) -> Option<End> {
    let after = line.strip_prefix('<')?;
    if let Some(end) = declaration(after) {
        return Some(end);
    }
    let closing = after.starts_with('/');
    let name_on = &after[usize::from(closing)..];
    let length = name_on.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if length == 0 {
        return None; // no kind is left that has no name
    }
    let (name, rest) = name_on.split_at(length);
    let name = name.to_ascii_lowercase();
    let ends_here = rest.is_empty() || rest.starts_with([' ', '\t', '>']);
    if !closing && ends_here && RAW.contains(&name.as_str()) {
        return Some(End::Text(&["</pre>", "</script>", "</style>", "</textarea>"]));
    }
    if (ends_here || rest.starts_with("/>")) && BLOCK_NAMES.split(' ').any(|known| known == name) {
        return Some(End::Blank);
    }
    (complete_tag && is_complete_tag(after)).then_some(End::Blank)
}

/// Kinds 2 to 5: comment, processing instruction, CDATA, declaration.
fn declaration(after: &str) -> Option<End> {
    if after.starts_with("!--") {
        Some(End::Text(&["-->"]))
    } else if after.starts_with('?') {
        Some(End::Text(&["?>"]))
    } else if after.starts_with("![CDATA[") {
        Some(End::Text(&["]]>"]))
    } else if after.as_bytes().first() == Some(&b'!') && after.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic) {
        Some(End::Text(&[">"]))
    } else {
        None
    }
}

/// Kind 7: a complete open or closing tag, and only whitespace after it.
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
        at = attributes(bytes, at);
    }
    at = blanks(bytes, at);
    if !closing && bytes.get(at) == Some(&b'/') {
        at += 1;
    }
    bytes.get(at) == Some(&b'>') && blanks(bytes, at + 1) == bytes.len()
}

fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// The end of as many attributes as there are from `at`.
fn attributes(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let name = blanks(bytes, at);
        let first = bytes.get(name).copied().unwrap_or_default();
        if name == at || !(first.is_ascii_alphabetic() || matches!(first, b'_' | b':')) {
            return at;
        }
        let mut end = name + 1;
        while bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte)) {
            end += 1;
        }
        at = attribute_value(bytes, end).unwrap_or(end);
    }
}

/// The end of `= value`, when there is one.
fn attribute_value(bytes: &[u8], at: usize) -> Option<usize> {
    let equals = blanks(bytes, at);
    if bytes.get(equals) != Some(&b'=') {
        return None;
    }
    let value = blanks(bytes, equals + 1);
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
    fn the_seven_kinds() {
        assert!(matches!(start("<SCRIPT>", false), Some(End::Text(_))));
        assert!(matches!(start("<!-- x", false), Some(End::Text(["-->"]))));
        assert!(matches!(start("<?php", false), Some(End::Text(["?>"]))));
        assert!(matches!(start("<!doctype html>", false), Some(End::Text([">"]))));
        assert!(matches!(start("<![CDATA[", false), Some(End::Text(["]]>"]))));
        assert_eq!(start("</div", false), Some(End::Blank));
        assert_eq!(start("<hr/>", false), Some(End::Blank));
        assert_eq!(start("<x-y a='1' b=2 c />  ", true), Some(End::Blank));
        assert_eq!(start("</x-y >", true), Some(End::Blank));
        assert_eq!(start("<x-y>", false), None);
        assert_eq!(start("<x-y> text", true), None);
        assert_eq!(start("<33>", true), None);
        assert_eq!(start("<a href=\"x>", true), None);
        assert_eq!(start("<https://example.org>", true), None);
        assert_eq!(start("<pre-x>", true), Some(End::Blank));
    }

    #[test]
    fn ends() {
        let raw = start("<pre>", false).unwrap();
        assert!(raw.in_line("x </PRE> y") && !raw.in_line("</pre"));
    }
}
