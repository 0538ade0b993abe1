//! Tracks code fences and here-documents around a patch, to recognise the lines that close them.

use super::grammar;

/// The wrappers open around the current line, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Wrappers<'a>(Vec<Wrapper<'a>>);

#[derive(Debug, PartialEq, Eq)]
enum Wrapper<'a> {
    Fence(u8, usize),
    Heredoc(&'a str),
}

/// Maximum nesting of wrappers.
const MOST: usize = 8;

impl<'a> Wrappers<'a> {
    /// Reads a line that is not part of a patch.
    pub(super) fn see(&mut self, line: &'a str) {
        // A line that closes an outer wrapper also ends those inside it.
        if let Some(at) = self.0.iter().rposition(|wrapper| wrapper.closes(line)) {
            self.0.truncate(at);
        } else if let Some(wrapper) = opening_of(line).filter(|_| self.0.len() < MOST) {
            self.0.push(wrapper);
        }
    }

    /// Returns whether the line closes a wrapper.
    pub(super) fn close(&self, line: &str) -> bool {
        self.0.iter().any(|wrapper| wrapper.closes(line))
    }
}

impl Wrapper<'_> {
    fn closes(&self, line: &str) -> bool {
        match self {
            Wrapper::Fence(mark, length) => {
                fence(line).is_some_and(|(other, long, info)| other == *mark && long >= *length && info.is_empty())
            }
            // A line with a blank before the word would be context of a hunk.
            Wrapper::Heredoc(tag) => line.trim_end() == *tag,
        }
    }
}

fn opening_of(line: &str) -> Option<Wrapper<'_>> {
    match fence(line.trim_start_matches(' ')) {
        // CommonMark 0.31, section 4.5: the info string after backticks contains no backtick.
        Some((mark, length, info)) if !info.contains('`') => Some(Wrapper::Fence(mark, length)),
        _ => grammar::heredoc_tag(line).map(Wrapper::Heredoc),
    }
}

fn fence(line: &str) -> Option<(u8, usize, &str)> {
    let mark = *line.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let rest = line.trim_start_matches(char::from(mark));
    let length = line.len() - rest.len();
    (length >= 3).then_some((mark, length, rest.trim()))
}
