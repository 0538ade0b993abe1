//! Here-documents: the delimiter after `<<`, and the lines up to it.

use super::source::Source;

/// A here-document whose text follows the line.
pub(super) struct Document {
    delimiter: String,
    /// Set if the delimiter has quotes: nothing is expanded in the text.
    pub(super) quoted: bool,
    /// `<<-`: tabs at the starts of lines do not count.
    strip: bool,
    pub(super) index: usize,
}

impl Document {
    /// Reads the delimiter after `<<`. Bash expands nothing in a delimiter. Returns `None` if it contains anything but
    /// text and plain quotes.
    pub(super) fn read_delimiter(source: &mut Source<'_>, strip: bool, index: usize) -> Option<Self> {
        while matches!(source.peek(), Some(' ' | '\t')) {
            source.take();
        }
        let (mut delimiter, mut quoted, mut is_empty) = (String::new(), false, true);
        loop {
            match source.peek() {
                None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | ')') => break,
                Some('<' | '>') if !source.is_followed_by('(') => break,
                Some('<' | '>' | '(' | '$' | '`') => return None,
                Some('#') if is_empty => return None,
                Some('\\') => {
                    source.take();
                    delimiter.push(source.take_raw()?);
                    quoted = true;
                }
                Some(quote @ ('\'' | '"')) => {
                    source.take();
                    let text = source.take_until(quote)?;
                    // In double quotes, a backslash escapes only some characters.
                    if quote == '"' && text.contains(['\\', '$', '`']) {
                        return None;
                    }
                    delimiter.push_str(text);
                    quoted = true;
                }
                Some(next) => {
                    source.take();
                    delimiter.push(next);
                }
            }
            is_empty = false;
        }
        // Such a delimiter never matches: no line contains a line end, and with `<<-` no line begins with a tab.
        let never_ends = delimiter.contains('\n') || (strip && delimiter.starts_with('\t'));
        if is_empty || never_ends { None } else { Some(Self { delimiter, quoted, strip, index }) }
    }

    /// Reads the lines up to the delimiter. `None` if it is missing, or if bash would find it by guessing.
    pub(super) fn read_text(&self, source: &mut Source<'_>, in_substitution: bool) -> Option<String> {
        let mut text = String::new();
        loop {
            let line = self.read_line(source)?;
            let line = if self.strip { line.trim_start_matches('\t') } else { &line };
            if line == self.delimiter {
                return Some(text);
            }
            // In `$( )` bash also accepts a line such as `E)` as the end, with a warning.
            if in_substitution && line.starts_with(&self.delimiter) && line[self.delimiter.len()..].contains(')') {
                return None;
            }
            text.push_str(line);
            text.push('\n');
        }
    }

    /// Reads a line. Unless the delimiter is quoted, a backslash joins it with the next one, also before the delimiter
    /// is compared.
    fn read_line(&self, source: &mut Source<'_>) -> Option<String> {
        source.peek_raw()?;
        if self.quoted {
            return Some(source.take_line().to_owned());
        }
        let mut line = String::new();
        loop {
            match source.take_raw() {
                None | Some('\n') => return Some(line),
                Some('\\') => match source.take_raw() {
                    Some('\n') => {}
                    next => {
                        line.push('\\');
                        line.extend(next);
                    }
                },
                Some(next) => line.push(next),
            }
        }
    }
}
