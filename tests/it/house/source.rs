//! Rust source as the house rules see it: comments and literals blanked, names of imports written out in full.

/// The same source, byte for byte as long and with the same lines, with comments, strings and characters as blanks.
pub(super) fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = hidden(rest, out.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        let (piece, after) = rest.split_at(length.unwrap_or(c.len_utf8()));
        match length {
            None => out.push_str(piece),
            Some(_) => out.extend(piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
        }
        rest = after;
    }
    out
}

/// How many bytes at the beginning are a comment, a string or a character.
fn hidden(text: &str, in_word: bool) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment(text));
    }
    let prefix = text.len() - text.trim_start_matches(['r', 'b', 'c']).len();
    let quoted = &text[prefix..];
    if prefix > 0 && (in_word || prefix > 2) {
        return None;
    }
    let raw = text[..prefix].contains('r');
    let hashes = quoted.len() - quoted.trim_start_matches('#').len();
    if raw && quoted[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let body = &quoted[hashes + 1..];
        return Some(prefix + hashes + 1 + body.find(&end).map_or(body.len(), |at| at + end.len()));
    }
    match quoted.chars().next()? {
        '"' => Some(prefix + closed_by(quoted, '"')),
        '\'' if is_character(quoted) => Some(prefix + closed_by(quoted, '\'')),
        _ => None,
    }
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn closed_by(text: &str, mark: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == mark && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |(at, c)| at + c.len_utf8())
}

/// A character and not a lifetime: an escape, or a quote after one character.
fn is_character(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

/// The part before the unit tests at the bottom of a file.
pub(super) fn without_tests(source: &str) -> &str {
    source.split("\n#[cfg(test)]\nmod tests").next().unwrap_or(source)
}

/// Every path that is named: those of `use`, written out (`use a::{b, c::d}` is `a::b` and `a::c::d`), and those in code.
pub(super) fn paths(source: &str) -> Vec<String> {
    let code = code_only(without_tests(source));
    let mut found = Vec::new();
    let mut plain = String::new();
    for statement in code.split_inclusive(';') {
        match use_tree(statement) {
            Some((before, tree)) => {
                plain.push_str(before);
                expand("", tree, &mut found);
            }
            None => plain.push_str(statement),
        }
    }
    let in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    found.extend(plain.split(|c| !in_path(c)).filter(|word| word.contains("::")).map(String::from));
    found
}

fn use_tree(statement: &str) -> Option<(&str, &str)> {
    let at = statement.rfind("use ")?;
    let alone = statement[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
    let tree = statement[at + 4..].trim().strip_suffix(';')?;
    alone.then_some((&statement[..at], tree))
}

fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree).trim();
        found.push(format!("{prefix}{name}"));
        return;
    };
    let inner = group.trim_end().strip_suffix('}').unwrap_or(group);
    let prefix = format!("{prefix}{}", head.trim());
    let mut depth = 0;
    let parts = inner.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).for_each(|part| expand(&prefix, part, found));
}

#[test]
fn literals_and_comments_are_blanked() {
    let source = r##"a /* "x /* y */ */ b "c\" // d" 'e' '\'' &'f g r#"h " i"# j // k"##;
    let left: Vec<String> = code_only(source).split_whitespace().map(String::from).collect();
    assert_eq!(left, ["a", "b", "&'f", "g", "j"]);
    assert_eq!(code_only("x\n/* a\nb */\ny").lines().count(), 4);
}

#[test]
fn imports_are_written_out() {
    let found = paths("use std::{fs, io::{self, Read as R}};\nfn f() { use a::b; std::env::var(\"std::net\"); }");
    assert_eq!(found, ["std::fs", "std::io::self", "std::io::Read", "a::b", "std::env::var"]);
}
