//! Replies that are calls from the first byte to the last: bare JSON (Llama 3, xLAM), a list as Python writes it
//! (meta-llama/Llama-3.2-3B-Instruct, MadeAgents/Hammer2.1-7b), and forms whose beginning the template of the model writes.
//!
//! Prose may begin with a bracket, and an answer may be JSON: so only a reply that is nothing else counts, only when it
//! ended by itself, and only when every name in it is a tool on offer.

use super::scan::{Read, Scan, Stop};
use super::{Dialect, harmony, python};
use crate::json::Problem;
use crate::parse::call::{self, Draft};
use crate::{Catalog, Dialects, FinishReason};

/// What a reply is, as far as it came.
#[derive(Debug)]
pub(in crate::parse) enum Whole {
    /// It may be calls.
    Undecided,
    /// It is something else.
    Nothing,
    /// It is these calls.
    Calls(Dialect, Vec<Draft>),
    /// It was to be calls, and broke off.
    Incomplete(Dialect),
    /// It was to be calls, and cannot be read.
    Malformed(Dialect, Problem),
}

/// Reads a reply, from the first character that is not whitespace.
pub(in crate::parse) fn read(
    text: &str,
    dialects: Dialects,
    ended: Option<FinishReason>,
    catalog: Option<&Catalog>,
) -> Whole {
    let mut scan = Scan::new(text, ended, catalog);
    let (dialect, reader) = match kind(text, ended.is_some()) {
        Kind::Undecided => return Whole::Undecided,
        Kind::Reply(dialect, reader) if dialects.contains(dialect) => (dialect, reader),
        Kind::Reply(..) | Kind::Other => return Whole::Nothing,
    };
    let read = reader(&mut scan);
    let known = |drafts: &[Draft]| !drafts.is_empty() && drafts.iter().all(|draft| scan.offers(&draft.name));
    match read {
        Ok(()) if !scan.rest().trim().is_empty() || !known(&scan.drafts) => Whole::Nothing,
        Ok(()) => match ended {
            None => Whole::Undecided,
            Some(FinishReason::Stop) => Whole::Calls(dialect, scan.drafts),
            // The array may have been cut off behind its last bracket: nothing says that it was meant to end there.
            Some(_) => Whole::Incomplete(dialect),
        },
        Err(Stop::More) => Whole::Undecided,
        Err(Stop::Incomplete) if names_a_tool(text, catalog) => Whole::Incomplete(dialect),
        Err(Stop::Bad(_)) if ended.is_none() => Whole::Undecided,
        Err(Stop::Bad(problem)) if ended == Some(FinishReason::Stop) && names_a_tool(text, catalog) => {
            Whole::Malformed(dialect, problem)
        }
        Err(Stop::Not | Stop::Bad(_) | Stop::Incomplete) => Whole::Nothing,
    }
}

/// Reads calls up to the end of a reply.
type Reader = fn(&mut Scan<'_>) -> Read;

/// The form of a reply by its beginning.
enum Kind {
    Undecided,
    Other,
    Reply(Dialect, Reader),
}

/// Forms whose replies begin with these words. The template of gpt-oss writes what precedes the second one.
const NAMED: [(&str, Dialect, Reader); 2] =
    [(ACTION, Dialect::Cohere, action), (harmony::RECIPIENT, Dialect::Harmony, harmony::addressed)];

/// What a reply of Command R begins with (CohereLabs/c4ai-command-r-plus, template `tool_use`): a list in a code span.
const ACTION: &str = "Action:";

fn action(scan: &mut Scan<'_>) -> Read {
    scan.want(ACTION)?;
    scan.skip_whitespace();
    scan.want("```json")?;
    scan.json_calls(&["```"])
}

fn kind(text: &str, whole: bool) -> Kind {
    let mut bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    match (bytes.next(), bytes.next(), bytes.next()) {
        (Some(b'['), None, _) | (Some(b'['), Some(b'{'), None) if !whole => return Kind::Undecided,
        (Some(b'['), Some(b'{'), Some(b'\'')) => return Kind::Reply(Dialect::Sarashina, python::dictionaries),
        (Some(b'['), Some(next), _) if next.is_ascii_alphabetic() => {
            return Kind::Reply(Dialect::Pythonic, python::list);
        }
        (Some(b'{' | b'['), ..) => return Kind::Reply(Dialect::BareJson, |scan| scan.json_calls(&[])),
        _ => {}
    }
    for (beginning, dialect, reader) in NAMED {
        if text.starts_with(beginning) {
            return Kind::Reply(dialect, reader);
        }
        if !whole && beginning.starts_with(text) {
            return Kind::Undecided;
        }
    }
    Kind::Other
}

/// Whether the beginning of a reply names a tool on offer where a call has its name.
fn names_a_tool(text: &str, catalog: Option<&Catalog>) -> bool {
    let beginning = &text[..crate::clip::floor_boundary(text, 256)];
    let words =
        beginning.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).filter(|word| !word.is_empty());
    words.take(4).any(|word| call::spec(catalog, word).is_some())
}
