//! Where an expansion ends: its closer, and not one that quotes, comments or another expansion hide.
//!
//! The `)` behind a pattern of `case` is taken for the closer: what stands before it is then no whole command, and is asked
//! about as text that cannot be read.

use std::iter::Peekable;
use std::str::Chars;

/// The deepest nesting that is followed; the gate before the parser lets less through.
const MOST_DEPTH: usize = 64;

/// Reads up to and over the closer, and keeps what stands before it.
pub(crate) fn skip(chars: &mut Peekable<Chars<'_>>, marks: (char, char), depth: usize, out: &mut String) {
    let (open, close) = marks;
    let mut level = 0_usize;
    let mut begins_word = true;
    while let Some(c) = chars.next() {
        if c == close && level == 0 {
            return;
        }
        out.push(c);
        match c {
            '\\' => out.extend(chars.next()),
            '\'' | '`' => quoted(chars, c, c == '`', out),
            '"' => double_quoted(chars, depth, out),
            '$' if chars.peek() == Some(&'\'') => {
                out.extend(chars.next());
                quoted(chars, '\'', true, out);
            }
            '$' => expansion(chars, depth, out),
            '#' if close == ')' && begins_word => comment(chars, out),
            _ if c == open => level += 1,
            _ if c == close => level = level.saturating_sub(1),
            _ => {}
        }
        begins_word = " \t\n;&|()".contains(c);
    }
}

/// An expansion inside of another one, if it is one.
fn expansion(chars: &mut Peekable<Chars<'_>>, depth: usize, out: &mut String) {
    let close = match chars.peek() {
        Some('(') => ')',
        Some('{') => '}',
        Some('[') => ']',
        _ => return,
    };
    let Some(open) = chars.next().filter(|_| depth < MOST_DEPTH) else { return };
    out.push(open);
    skip(chars, (open, close), depth + 1, out);
    out.push(close);
}

/// Up to the same mark, whatever stands between; `escapes` says whether a backslash hides one.
fn quoted(chars: &mut Peekable<Chars<'_>>, mark: char, escapes: bool, out: &mut String) {
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '\\' if escapes => out.extend(chars.next()),
            _ if c == mark => return,
            _ => {}
        }
    }
}

fn double_quoted(chars: &mut Peekable<Chars<'_>>, depth: usize, out: &mut String) {
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '\\' => out.extend(chars.next()),
            '"' => return,
            '`' => quoted(chars, c, true, out),
            '$' => expansion(chars, depth, out),
            _ => {}
        }
    }
}

fn comment(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> String {
        let mut out = String::new();
        skip(&mut text.chars().peekable(), ('(', ')'), 0, &mut out);
        out
    }

    #[test]
    fn an_expansion_ends_at_its_own_closer() {
        for (text, wanted) in [
            ("ls) x", "ls"),
            ("echo \")\") x", "echo \")\""),
            ("echo \"$(echo \")\")\") x", "echo \"$(echo \")\")\""),
            ("echo ')' `)` \\) $')\\'') x", "echo ')' `)` \\) $')\\''"),
            ("(a) b) x", "(a) b"),
            ("${a:-)}) x", "${a:-)}"),
            ("a # )\nb) x", "a # )\nb"),
            ("case x in x) ls ;; esac) x", "case x in x"),
            ("echo case) x", "echo case"),
            ("echo esac in) x", "echo esac in"),
        ] {
            assert_eq!(inside(text), wanted, "{text}");
        }
    }
}
