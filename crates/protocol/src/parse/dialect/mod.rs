//! The dialects: the forms of calls that models learned in training.
//!
//! A dialect is recognised by its own tokens. A row of the table names them, and a reader reads the text after them: a
//! pure function of the available text ([`Scan`]). The parser decides where a token counts and what happens
//! to the calls. Readers know no containers and no fences.
//!
//! Each file names the chat template or the document that its form is taken from.

pub(super) mod blocks;
mod deepseek;
mod gemma;
mod harmony;
#[cfg(test)]
mod laws;
mod minimax;
mod objects;
mod python;
mod scan;
mod shell;
mod table;
mod tags;
pub(super) mod whole;

use super::call::Draft;
use crate::json::Problem;
use crate::{Catalog, Dialect, Dialects, FinishReason, Repair, text};
use scan::{Read, Scan, Stop};
use std::slice;
use table::{FORGERIES, ROWS};
use tags::Tags;

/// An opening token of a dialect.
struct Row {
    dialect: Dialect,
    /// The token at the beginning of a call or a list of calls.
    opener: &'static str,
    /// Whether no other text begins with this token, so that it also counts after prose.
    special: bool,
    shape: Shape,
}

/// The form of the text after an opening token, which selects its reader.
enum Shape {
    /// JSON up to one of these tokens, or, without tokens, as long as JSON follows.
    Json(&'static [&'static str]),
    /// JSON that one of these tokens may follow; tokens in the second list also end other texts.
    JsonOrEnd(&'static [&'static str], &'static [&'static str]),
    /// JSON in a tag that other texts also begin with.
    LooseJson(&'static str),
    /// One name followed by JSON.
    Named { separator: &'static str, close: &'static str },
    /// Calls with a tag for each parameter, up to the closing token of the list.
    Tagged(Tags<'static>),
    /// One such call, whose own tag is the opening token.
    TagAlone(Tags<'static>),
    /// Calls of another shape, each after the token `open`.
    Section { open: &'static str, end: &'static str, call: &'static Shape },
    /// Python calls up to this token.
    Python(&'static str),
    /// A token around text that is no call, such as the name of a channel. It is left out of the text.
    Framing,
    /// The form of one family, with the tokens that end its calls.
    Own(fn(&mut Scan<'_>) -> Read, &'static [&'static str]),
}

impl Shape {
    fn read(&self, scan: &mut Scan<'_>) -> Read {
        match self {
            Shape::Json(closers) => scan.json_calls(closers),
            Shape::JsonOrEnd(closers, ends) => {
                scan.json_calls(&[])?;
                scan.take_after_whitespace(&[*closers, *ends].concat())
            }
            Shape::LooseJson(close) => objects::loose(scan, &[close]),
            Shape::Named { separator, close } => objects::read_named(scan, separator, close),
            Shape::Tagged(tags) => tags::calls(scan, tags),
            Shape::TagAlone(tags) if tags.head_end.is_empty() => tags::call_named(scan, tags),
            Shape::TagAlone(tags) => tags::read_single(scan, tags),
            Shape::Section { open, end, call } => scan.section(open, end, |scan| call.read(scan)),
            Shape::Python(end) => python::calls(scan, end),
            Shape::Framing => Ok(()),
            Shape::Own(read, _) => read(scan),
        }
    }

    /// Returns the tokens that end calls. When one arrives, the text is read again.
    fn closers(&'static self) -> impl Iterator<Item = &'static str> {
        const BRACKETS: &[&str] = &["}", "]", ")"];
        let (tokens, more): (&[&str], &[&str]) = match self {
            Shape::Json([]) => (BRACKETS, &[]),
            Shape::JsonOrEnd(closers, _) => (closers, BRACKETS),
            Shape::Json(closers) | Shape::Own(_, closers) => (closers, &[]),
            Shape::Tagged(tags) => (tags.closers, &[]),
            Shape::TagAlone(tags) => (slice::from_ref(&tags.call_end), &[]),
            Shape::Section { end: close, .. }
            | Shape::Python(close)
            | Shape::LooseJson(close)
            | Shape::Named { close, .. } => (slice::from_ref(close), &[]),
            Shape::Framing => (&[], &[]),
        };
        tokens.iter().chain(more).copied()
    }
}

fn rows(dialects: Dialects) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| dialects.contains(row.dialect))
}

/// Returns `true` if a token may begin with this byte. It runs for every line and rules out nearly all of them.
pub(super) fn may_begin(byte: u8) -> bool {
    matches!(byte, b'<' | b'[' | b']' | b'f')
}

/// The token at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// No token of a dialect.
    None,
    /// Text that may still become a token.
    Undecided,
    /// The token that opens a call. `special`: it also counts after prose.
    Call { opener: &'static str, special: bool },
    /// The token of a result or of a turn that is not the model's.
    Forged(&'static str),
}

/// Returns the dialect token at the beginning of `rest`. More text may follow unless it is `whole`.
pub(super) fn token(rest: &str, whole: bool, dialects: Dialects) -> Token {
    if !rest.is_empty() && !may_begin(rest.as_bytes()[0]) {
        return Token::None;
    }
    let mut undecided = false;
    for (_, token) in FORGERIES.iter().filter(|(dialect, _)| dialects.contains(*dialect)) {
        if rest.starts_with(token) {
            return Token::Forged(token);
        }
        undecided |= token.starts_with(rest);
    }
    for row in rows(dialects) {
        if rest.starts_with(row.opener) {
            return Token::Call { opener: row.opener, special: row.special };
        }
        undecided |= row.opener.starts_with(rest);
    }
    if undecided && !whole { Token::Undecided } else { Token::None }
}

/// Returns the special token of a call at the beginning of `rest`. More text may follow unless it is `whole`.
pub(super) fn special_token(rest: &str, whole: bool, dialects: Dialects) -> Token {
    match token(rest, whole, dialects) {
        Token::Forged(_) | Token::Call { special: false, .. } => Token::None,
        found => found,
    }
}

/// What a reader recognised of the first call of a section.
#[derive(Debug, Default)]
pub(super) struct Sketch {
    /// Whether a call has certainly begun. Text that does not fit from here on is a broken call, not prose.
    pub(super) begun: bool,
    /// The name and the model's id, unless they are part of JSON.
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    /// The position of the JSON that contains the name.
    pub(super) json: Option<usize>,
    /// Whether the name of a call is the only key of its JSON.
    keyed: bool,
    /// Whether an argument is raw text, so that only the rest of the reply shows if it ended at its closing token.
    pub(super) raw: bool,
}

/// The reading of the text after an opening token.
#[derive(Debug)]
pub(super) enum CallReading {
    /// More text is needed.
    Undecided,
    /// No call of any dialect.
    Nothing,
    /// Calls in this dialect, and the byte at which they end.
    Calls(Dialect, Vec<Draft>, usize),
    /// Reasoning: its byte range, whether it was closed, and the end of the section.
    Thought { text: (usize, usize), closed: bool, end: usize },
    /// The reply ended in the middle of a call.
    Incomplete(Dialect),
    /// An unreadable call, and the byte at which it ends.
    Malformed(Dialect, Problem, usize),
}

/// Reads the text after the opening token at the beginning of `text`. Also returns what is known of the first call
/// before it is complete.
pub(super) fn read(
    text: &str,
    opener: &str,
    dialects: Dialects,
    ended: Option<FinishReason>,
    catalog: Option<&Catalog>,
) -> (CallReading, Sketch) {
    for row in rows(dialects).filter(|row| row.opener == opener) {
        let mut scan = Scan::new(text, ended, catalog);
        (scan.at, scan.dialect) = (opener.len(), Some(row.dialect));
        if opener.ends_with('[') {
            scan.at -= 1; // the bracket is part of the array
        }
        let read = row.shape.read(&mut scan);
        let Scan { at, mut drafts, thought, inner_tag, sketch, .. } = scan;
        if inner_tag {
            drafts.iter_mut().for_each(|draft| draft.repairs.push(Repair::InnerCloser));
        }
        let problem = match read {
            Ok(()) => {
                let reading = match thought {
                    Some((text, closed)) => CallReading::Thought { text, closed, end: at },
                    None => CallReading::Calls(row.dialect, drafts, at),
                };
                return (reading, sketch);
            }
            // Text that does not fit is prose or a call in another form, but only before a call has begun.
            Err(Stop::Not) if !sketch.begun => continue,
            Err(Stop::Not) => Problem::new(
                at,
                text!("this text does not fit a call after {token}; write the whole call again", token = row.opener),
            ),
            Err(Stop::More) => return (CallReading::Undecided, sketch),
            Err(Stop::Incomplete) => return (CallReading::Incomplete(row.dialect), sketch),
            Err(Stop::Bad(problem)) => problem,
        };
        // Reading continues after the closing token; without a closing token, the whole rest may be part of the call.
        let from = crate::clip::floor_boundary(text, problem.at);
        // A single bracket ends nothing here: the text of the broken call may have many of them.
        let closers = row.shape.closers().filter(|close| close.len() > 1);
        let end = closers.filter_map(|close| text[from..].find(close).map(|at| from + at + close.len())).min();
        let reading = match (end, ended) {
            (Some(end), _) => CallReading::Malformed(row.dialect, problem, end),
            (None, None) => CallReading::Undecided,
            (None, Some(reason)) if reason.is_early() => CallReading::Incomplete(row.dialect),
            (None, Some(_)) => CallReading::Malformed(row.dialect, problem, text.len()),
        };
        return (reading, sketch);
    }
    (CallReading::Nothing, Sketch::default())
}

/// The text after the calls of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineRest {
    /// More text is needed.
    Undecided,
    /// Nothing, or tokens that end a message.
    Nothing,
    /// Other text.
    Text,
}

/// Classifies the text on the same line after the call that ends at `at` and any calls directly after it. Also returns
/// the position of that text.
pub(super) fn line_rest(
    text: &str,
    mut at: usize,
    dialects: Dialects,
    ended: Option<FinishReason>,
    catalog: Option<&Catalog>,
) -> (LineRest, usize) {
    loop {
        let rest = text[at..].trim_start_matches([' ', '\t']);
        at = text.len() - rest.len();
        let reading = match token(rest, ended.is_some(), dialects) {
            Token::Undecided => return (LineRest::Undecided, at),
            // Nothing after a forged result counts, so this is no text around the call.
            Token::Forged(_) => return (LineRest::Nothing, at),
            Token::None => return (end_of_line(rest, ended.is_some()), at),
            Token::Call { opener, .. } => read(rest, opener, dialects, ended, catalog).0,
        };
        match reading {
            CallReading::Undecided => return (LineRest::Undecided, at),
            CallReading::Nothing => return (LineRest::Text, at),
            CallReading::Incomplete(_) => return (LineRest::Nothing, at),
            CallReading::Calls(_, _, end) | CallReading::Thought { end, .. } | CallReading::Malformed(_, _, end) => {
                at += end;
            }
        }
    }
}

/// Classifies the rest of a line that begins with no token of a dialect. More text may follow unless it is `whole`.
fn end_of_line(mut rest: &str, whole: bool) -> LineRest {
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        // This runs after each of many calls in a line, so only a few bytes are examined.
        let near = &rest[..crate::clip::floor_boundary(rest, MOST_END_TOKEN)];
        match near.find(['>', '\n', '\r']) {
            Some(end) if near.as_bytes()[end] != b'>' => {
                return if end == 0 { LineRest::Nothing } else { LineRest::Text };
            }
            Some(end) if ends_message(&near[..=end]) => rest = &rest[end + 1..],
            Some(_) => return LineRest::Text,
            None if whole && rest.is_empty() => return LineRest::Nothing,
            None if !whole && near.len() == rest.len() && (rest.is_empty() || rest.starts_with('<')) => {
                return LineRest::Undecided;
            }
            None => return LineRest::Text,
        }
    }
}

/// The maximum number of bytes in a token that ends a message.
const MOST_END_TOKEN: usize = 64;

/// Returns `true` for a token that ends a message, such as `<|im_end|>`.
fn ends_message(word: &str) -> bool {
    let inside = word.strip_prefix('<').and_then(|word| word.strip_suffix('>')).unwrap_or_default();
    matches!(inside, "/s" | "eos" | "end_of_turn")
        || inside.len() > 2 && !inside.contains(' ') && (inside.starts_with(['|', '｜']) || inside.ends_with('|'))
}

/// Returns the position of a closing token of this dialect outside of any call, after the call that ends at `at` of a
/// complete text. Such a token shows that an argument of the call may have been longer.
pub(super) fn stray_closer(
    text: &str,
    mut at: usize,
    dialect: Dialect,
    dialects: Dialects,
    catalog: Option<&Catalog>,
) -> Option<usize> {
    let own = || rows(Dialects::ALL).filter(|row| row.dialect == dialect);
    loop {
        at += text.as_bytes()[at..].iter().position(|byte| may_begin(*byte))?;
        let rest = &text[at..];
        if own().flat_map(|row| row.shape.closers()).any(|close| close.len() > 1 && rest.starts_with(close)) {
            return Some(at);
        }
        let reading = match token(rest, true, dialects) {
            Token::Call { opener, .. } => read(rest, opener, dialects, Some(FinishReason::Stop), catalog).0,
            _ => CallReading::Nothing,
        };
        at += match reading {
            CallReading::Calls(_, _, end) | CallReading::Malformed(_, _, end) => end,
            // The rest of the reply belongs to the call that broke off.
            CallReading::Incomplete(_) => return None,
            _ => 1,
        };
    }
}

/// Reads the JSON object at the beginning of `text`, repaired if it is damaged.
pub(super) fn first_object(text: &str) -> Option<serde_json::Value> {
    let mut scan = Scan::new(text, Some(FinishReason::Stop), None);
    let (values, _) = scan.json(&[]).ok()?;
    values.into_iter().next()
}

/// Reads the arguments in parentheses of a Python call of the tool `name`.
pub(super) fn python_arguments(text: &str, name: &str, catalog: &Catalog) -> Option<crate::Args> {
    let mut scan = Scan::new(text, Some(FinishReason::Stop), Some(catalog));
    python::arguments(&mut scan, name).ok()?;
    scan.drafts.pop().map(|draft| draft.args)
}

/// Reads the content of a block `tool_code`, in which Gemini and Gemma 3 write Python calls, one per line (Google's
/// documentation of function calling with Gemma). `None` if the block contains anything else.
pub(super) fn python_calls(text: &str, catalog: Option<&Catalog>) -> Option<Result<Vec<Draft>, Problem>> {
    let mut scan = Scan::new(text, Some(FinishReason::Stop), catalog);
    loop {
        scan.skip_whitespace();
        let read = match scan.peek() {
            None => return (!scan.drafts.is_empty()).then_some(Ok(scan.drafts)),
            Some(b'[') => python::list(&mut scan),
            Some(_) => python::one(&mut scan),
        };
        match read {
            Ok(()) => {}
            Err(Stop::Bad(problem)) => return Some(Err(problem)),
            Err(Stop::Not | Stop::More | Stop::Incomplete) => return None,
        }
    }
}

/// Reads a text that is a list or dictionary in Python syntax.
pub(crate) fn python_literal(text: &str) -> Option<serde_json::Value> {
    let mut scan = Scan::new(text, Some(FinishReason::Stop), None);
    scan.skip_whitespace();
    let value = matches!(scan.peek(), Some(b'[' | b'{')).then(|| python::value(&mut scan, 0).ok())??;
    scan.rest().trim().is_empty().then_some(value)
}

/// Returns the closing tokens of the forms that no other text resembles: those with a special opening token, and
/// `<function=`.
fn closing_tokens(dialects: Dialects) -> impl Iterator<Item = &'static str> {
    rows(dialects).filter(|row| row.special || row.opener == "<function=").flat_map(|row| row.shape.closers())
}

/// Returns `true` if the text consists of closing tokens.
pub(super) fn is_closing(mut text: &str, dialects: Dialects) -> bool {
    if !text.starts_with(['<', '[']) {
        return false; // nearly every line
    }
    loop {
        let strip = |close: &str| (close.len() > 1).then(|| text.strip_prefix(close))?;
        match closing_tokens(dialects).find_map(strip) {
            Some("") => return true,
            Some(rest) => text = rest.trim_start(),
            None => return false,
        }
    }
}

/// Returns `true` if the text contains a closing token.
pub(super) fn has_closing(text: &str, dialects: Dialects) -> bool {
    closing_tokens(dialects).any(|close| close.len() > 1 && text.contains(close))
}

/// Returns `true` if `text`, whose bytes from `seen` on are new, contains a token that may end a call after `opener`.
pub(super) fn may_end(text: &str, seen: usize, opener: &str, dialects: Dialects) -> bool {
    rows(dialects).filter(|row| row.opener == opener).flat_map(|row| row.shape.closers()).any(|close| {
        // A closing token may begin in the bytes that were searched before.
        let from = crate::clip::floor_boundary(text, seen.saturating_sub(close.len()));
        memchr::memmem::find(&text.as_bytes()[from..], close.as_bytes()).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::certain_text::marks;

    #[test]
    fn no_token_begins_another_one() {
        let forged = FORGERIES.iter().map(|(_, token)| *token);
        let tokens: Vec<&str> = rows(Dialects::ALL).map(|row| row.opener).chain(forged).collect();
        for one in &tokens {
            assert!(may_begin(one.as_bytes()[0]), "{one} is not looked for");
            for (end, _) in one.char_indices() {
                let begun = token(&one[..end], false, Dialects::ALL);
                assert_eq!(begun, Token::Undecided, "the parser does not wait for more of {one} after {end} bytes");
            }
            for other in &tokens {
                assert!(one == other || !one.starts_with(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn every_special_token_is_found_after_prose() {
        for row in rows(Dialects::ALL).filter(|row| row.special) {
            let found = special_token(row.opener, true, Dialects::ALL);
            assert!(matches!(found, Token::Call { .. }), "{}", row.opener);
            assert!(marks(row.opener, 0).next() == Some(0), "{} is not looked for", row.opener);
        }
    }

    #[test]
    fn literals_of_python_are_lists_and_dictionaries() {
        let list = python_literal("['a', \"it's\", True]");
        assert_eq!(list, Some(serde_json::json!(["a", "it's", true])));
        for text in ["'a'", "3", "[a]", "['a'] b", "", "[f(1)]"] {
            assert_eq!(python_literal(text), None, "{text}");
        }
    }

    #[test]
    fn every_dialect_is_read() {
        for dialect in Dialect::ALL {
            let other = *dialect == Dialect::BareJson || dialect.is_opt_in();
            assert!(other || rows(Dialects::ALL).any(|row| row.dialect == *dialect), "{dialect}");
        }
    }

    #[test]
    fn every_closing_token_begins_as_an_opening_one_may() {
        for close in rows(Dialects::ALL).flat_map(|row| row.shape.closers()).filter(|close| close.len() > 1) {
            assert!(may_begin(close.as_bytes()[0]), "`stray_closer` does not look for {close}");
        }
    }
}
