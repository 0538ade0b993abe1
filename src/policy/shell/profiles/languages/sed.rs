//! sed: a script that prints, deletes and replaces, and neither runs, reads nor writes anything else.

/// Commands without an argument.
const PLAIN: &str = "pPdDgGhHnNxlz=F";

/// Whether the script only reads its input.
pub(in crate::policy::shell::profiles) fn only_reads(script: &str) -> bool {
    let mut rest = script;
    while let Some(next) = command(rest) {
        if next.is_empty() {
            return true;
        }
        rest = next;
    }
    false
}

/// What stands behind one command with its addresses; nothing where it is not known.
fn command(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t', ';', '\n', '}']);
    if text.is_empty() {
        return Some("");
    }
    let text = addresses(text)?.trim_start_matches([' ', '\t', '!']);
    let (name, rest) = text.split_at(text.chars().next()?.len_utf8());
    match name {
        "{" => Some(rest),
        "#" => Some(rest.find('\n').map_or("", |end| &rest[end..])),
        "s" => ended(flags(replaced(rest, 2)?)?),
        "y" => ended(replaced(rest, 2)?),
        // A number says when to stop, with which status.
        "q" | "Q" => ended(rest.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())),
        "b" | "t" | "T" | ":" => {
            let label = rest.find([';', '\n', '}']).unwrap_or(rest.len());
            Some(&rest[label..])
        }
        _ if PLAIN.contains(name) => ended(rest),
        _ => None,
    }
}

/// Behind a command only its end may stand.
fn ended(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])).then_some(rest)
}

/// `1,5`, `/a/,/b/`, `$`, `0~3`, `/a/,+2`.
fn addresses(text: &str) -> Option<&str> {
    let rest = address(text)?.trim_start_matches([' ', '\t']);
    match rest.strip_prefix(',') {
        Some(second) => address(second.trim_start_matches([' ', '\t', '+', '~'])),
        None => Some(rest),
    }
}

fn address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    let rest = match text.strip_prefix('\\') {
        Some(custom) => replaced(custom, 1)?,
        None if text.starts_with('/') => replaced(text, 1)?,
        None => return Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~')),
    };
    Some(rest.trim_start_matches(['I', 'M']))
}

/// What stands behind so many parts that the first character divides.
fn replaced(text: &str, parts: usize) -> Option<&str> {
    let mut chars = text.char_indices();
    let (_, mark) = chars.next()?;
    if mark == '\\' || mark == '\n' || mark.is_ascii_alphanumeric() {
        return None;
    }
    let (mut left, mut escaped) = (parts, false);
    for (at, c) in chars {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return None,
            _ if c == mark => {
                left -= 1;
                let behind = at + c.len_utf8();
                // Whether a mark in brackets ends the pattern is not the same everywhere.
                if left + 1 == parts && !super::brackets_close(&text[mark.len_utf8()..at]) {
                    return None;
                }
                if left == 0 {
                    return Some(&text[behind..]);
                }
            }
            _ => {}
        }
    }
    None
}

/// The flags of `s`: not `e`, which runs, and not `w`, which writes.
fn flags(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiIMm".contains(c));
    (!rest.starts_with(['e', 'w'])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One script a line.
    const READS: &str = r##"
5p
1,10p
$p
/a/p
/a/,/b/p
5,+3p
0~5p
1d;2p
s/a/b/
s/a/b/gI
s|a/b|c|2p
5q
/^$/d
$!N;P;D
/a/!p
\,x,p
/a/I{p;=}
y/abc/xyz/
s/\//x/
s/^version = "\(.*\)"/\1/p
:a;N;$!ba;s/x/ /g
s/[a-z]*/x/
s/[[:space:]]*$//
p # all
"##;

    const MORE: &str = r##"
e
1e id
s/a/b/e
s/a/b/ge
s/a/b/w x
w x
/a/w x
r x
R x
W x
1!e id
s/[/]/e/x/e
p;e
a text
\
s
s/a
s/a/b/p;w x
y/a/b/;e
b;e
/a/{p;e}
s/a/b/ e
v
M
s/[]/x/;#]/id/e
s/[/x/;#]/id/e
/[]/p;#]/e
"##;

    #[test]
    fn what_only_reads_is_told_from_what_runs() {
        for script in READS.trim().lines() {
            assert!(only_reads(script), "{script}");
        }
        for script in MORE.trim().lines().chain(["{e id\n}", "\\ne\nw x"]) {
            assert!(!only_reads(script), "{script}");
        }
    }
}
