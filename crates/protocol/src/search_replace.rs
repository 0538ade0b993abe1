//! The lines of SEARCH/REPLACE blocks, which aider asks models for: a path, the old text and the new text.
//!
//! ```text
//! src/main.rs
//! <<<<<<< SEARCH
//! old lines
//! =======
//! new lines
//! >>>>>>> REPLACE
//! ```
//!
//! Pure functions on one line without its ending. The parser uses them to recognise blocks in replies, and the patch
//! reader to read them. Source: `editblock_coder.py` of aider.

/// A line between the texts of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `<<<<<<< SEARCH`: the old text follows.
    Search,
    /// `=======`: the new text follows.
    Divider,
    /// `>>>>>>> REPLACE`: the block ends.
    Replace,
}

/// Parses a line as a mark. Trailing white space is ignored.
pub fn mark(line: &str) -> Option<Mark> {
    match line.trim_end() {
        "<<<<<<< SEARCH" => Some(Mark::Search),
        "=======" => Some(Mark::Divider),
        ">>>>>>> REPLACE" => Some(Mark::Replace),
        _ => None,
    }
}

/// The maximum number of bytes in a line that may name a file.
pub const MOST_PATH: usize = 512;

/// Parses a line as the path of a file: one word, or any text in backticks. A leading `#`, a trailing `:`, and the
/// marks of emphasis and list items are not part of the path.
pub fn path(line: &str) -> Option<&str> {
    if line.len() > MOST_PATH {
        return None;
    }
    let line = line.trim();
    let line = ["- ", "* ", "+ "].iter().find_map(|marker| line.strip_prefix(marker)).unwrap_or(line);
    let line = line.trim_start_matches('#').trim_end_matches(':').trim().trim_matches('*').trim_end_matches(':');
    let quoted = line.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let path = quoted.unwrap_or(line).trim();
    let is_path = !path.is_empty()
        && path != "..."
        && !path.contains('`')
        && !path.starts_with("~~~")
        && mark(path).is_none()
        && (quoted.is_some() || !path.contains(char::is_whitespace));
    is_path.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word_or_in_backticks() {
        for (line, wanted) in [
            ("src/main.rs", Some("src/main.rs")),
            ("**src/main.rs**", Some("src/main.rs")),
            ("### `a b.md`:", Some("a b.md")),
            ("- a.py:", Some("a.py")),
            ("Makefile", Some("Makefile")),
            ("Now the change:", None),
            ("...", None),
            ("```python", None),
            ("=======", None),
            ("", None),
        ] {
            assert_eq!(path(line), wanted, "{line}");
        }
    }
}
