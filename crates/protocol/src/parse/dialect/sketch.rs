//! What can be told of a call in a dialect before it is whole.
//!
//! A reader notes what it recognised of the first call: its name, the texts of its arguments, or where its JSON stands. The
//! reader decides what a call is; who tells it follows the JSON or the text that is open, and asks the reader again where
//! that ends.

use crate::Dialect;

/// What a reader recognised of the first call of a section.
#[derive(Debug, Default)]
pub(in crate::parse) struct Sketch {
    /// What stands here is a call for certain. What does not fit from here on is a broken call, and no prose.
    pub(in crate::parse) begun: bool,
    pub(in crate::parse) dialect: Option<Dialect>,
    /// The name, where it stands outside of JSON.
    pub(in crate::parse) name: Option<String>,
    /// The model's id, where it stands outside of JSON.
    pub(in crate::parse) id: Option<String>,
    /// Where the JSON begins, and what it is.
    pub(in crate::parse) json: Option<usize>,
    pub(in crate::parse) form: JsonShape,
    /// The arguments whose text is raw, in their order. Only the last one may be open.
    pub(in crate::parse) texts: Vec<RawText>,
    /// The call is written as Python does: its texts are string literals, and a quote may begin one.
    pub(in crate::parse) python: bool,
    /// The end of a text was a guess.
    pub(in crate::parse) guessed: bool,
    /// An argument is raw text: only the rest of the reply shows whether it ended where its closing token is.
    pub(in crate::parse) raw: bool,
    /// The first call is whole: there is nothing more to tell.
    pub(in crate::parse) whole: bool,
}

/// What the JSON of a call is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::parse) enum JsonShape {
    /// Calls: names and arguments.
    #[default]
    Calls,
    /// The arguments of one call.
    Args,
    /// Objects whose only key is the name of a call.
    Keyed,
}

/// The raw text of an argument. All places are bytes of the section.
#[derive(Debug)]
pub(in crate::parse) struct RawText {
    pub(in crate::parse) arg: String,
    /// Behind the opening token.
    pub(in crate::parse) start: usize,
    /// Where the closing token stands, once it is certain which one it is.
    pub(in crate::parse) end: Option<usize>,
    /// Up to here the text has no closing token that ends it.
    pub(in crate::parse) from: usize,
    pub(in crate::parse) close: String,
    /// The line breaks at its ends are no part of it.
    pub(in crate::parse) own_lines: bool,
    /// It is a string literal of Python.
    pub(in crate::parse) literal: Option<Literal>,
}

/// How a string literal of Python is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::parse) struct Literal {
    /// A backslash stands for itself.
    pub(in crate::parse) raw: bool,
}

impl RawText {
    /// The part of the text, of which everything before `limit` is there, that is in the argument for certain.
    pub(in crate::parse) fn certain(&self, text: &str, limit: usize) -> (usize, usize) {
        let raw = &text[self.start..limit];
        if !self.own_lines {
            return (self.start, limit);
        }
        if self.end.is_some() {
            let own = without_own_lines(raw);
            let start = self.start + leading_break(raw);
            return (start, start + own.len());
        }
        // Whether this is a line break at one of the ends shows what comes.
        if matches!(raw, "" | "\r") {
            return (limit, limit);
        }
        let lead = leading_break(raw);
        let held = if lead > 0 { trailing_break(&raw[lead..]) } else { 0 };
        (self.start + lead, limit - held)
    }
}

/// The templates put a long value on lines of its own: those two line breaks are not part of it.
pub(super) fn without_own_lines(text: &str) -> &str {
    match leading_break(text) {
        0 => text,
        lead => {
            let text = &text[lead..];
            text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
        }
    }
}

/// Bytes of the line break that the text begins with.
fn leading_break(text: &str) -> usize {
    ["\r\n", "\n"].iter().find(|found| text.starts_with(**found)).map_or(0, |found| found.len())
}

/// Bytes of the line break that the text ends with, or of what may become one.
fn trailing_break(text: &str) -> usize {
    ["\r\n", "\n", "\r"].iter().find(|found| text.ends_with(**found)).map_or(0, |found| found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is certain of a text while it comes is a beginning of what it is in the end.
    #[test]
    fn what_is_certain_stays() {
        for own_lines in [true, false] {
            for raw in
                ["", "\n", "\r\n", "a", "\na\n", "\n\n\na\n\n", "\r\na\r\n", "a\n", "\r", "\ra\r", "\na\r", "\n\r\n"]
            {
                let whole = if own_lines { without_own_lines(raw) } else { raw };
                let mut text = RawText {
                    arg: String::new(),
                    start: 0,
                    end: Some(raw.len()),
                    from: 0,
                    close: String::new(),
                    own_lines,
                    literal: None,
                };
                let (start, end) = text.certain(raw, raw.len());
                assert_eq!(&raw[start..end], whole, "{raw:?}");
                text.end = None;
                let mut told = 0;
                for limit in 0..=raw.len() {
                    let (start, end) = text.certain(raw, limit);
                    let certain = &raw[start.min(end)..end];
                    assert!(whole.starts_with(certain) && certain.len() >= told, "{certain:?} of {raw:?}");
                    told = certain.len();
                }
                assert!(told + 2 >= whole.len(), "{told} bytes of {raw:?}");
            }
        }
    }
}
