//! Programs that are written into an argument: whether they do more than read what they are given.
//!
//! Each reading is stricter than the language: what it does not know is a question, not a mistake.

pub(super) mod awk;
pub(super) mod jq;
pub(super) mod sed;
pub(super) mod yq;

/// The words of a program, whatever stands around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether every bracket of a pattern is closed in it, in whatever way it is read: then no mark that ends the pattern can
/// have been one of its characters.
fn brackets_close(pattern: &str) -> bool {
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' if !closes(&mut chars) => return false,
            _ => {}
        }
    }
    true
}

/// From behind a bracket to behind the one that closes it.
fn closes(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    chars.next_if_eq(&'^');
    // There it is a character in some readings.
    if chars.peek() == Some(&']') {
        return false;
    }
    while let Some(c) = chars.next() {
        match c {
            ']' => return true,
            '\\' if !chars.peek().is_some_and(|next| next.is_ascii_alphanumeric() || ".+*-".contains(*next)) => {
                return false;
            }
            '[' => {
                let class = chars.next_if_eq(&':').is_some();
                while chars.next_if(char::is_ascii_lowercase).is_some() {}
                if !class || chars.next() != Some(':') || chars.next() != Some(']') {
                    return false;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_could_be_read_in_two_ways_are_open() {
        for pattern in ["a", "[a-z]*", "[^a]", "[[:alpha:]_]+", "\\[", "[\\n.]", "[a][b]"] {
            assert!(brackets_close(pattern), "{pattern}");
        }
        for pattern in ["[", "[a", "[]", "[]a]", "[^]a]", "[[a]", "[[:x]", "[\\]", "[\\]]", "[[.a.]]"] {
            assert!(!brackets_close(pattern), "{pattern}");
        }
    }
}
