//! Replies that are calls from the first byte to the last: bare JSON (Llama 3, xLAM), and a list as Python writes it
//! (meta-llama/Llama-3.2-3B-Instruct, MadeAgents/Hammer2.1-7b).
//!
//! Prose may begin with a bracket, and an answer may be JSON: so only a reply that is nothing else counts, only when it
//! ended by itself, and only when every name in it is a tool on offer.

use super::scan::{Scan, Stop};
use super::{Dialect, python};
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
    let second = text.get(1..).unwrap_or_default().trim_start().bytes().next();
    let dialect = match (text.as_bytes().first(), second) {
        (Some(b'{' | b'['), None) if ended.is_none() => return Whole::Undecided,
        (Some(b'['), Some(next)) if next.is_ascii_alphabetic() => Dialect::Pythonic,
        (Some(b'{' | b'['), _) => Dialect::BareJson,
        _ => return Whole::Nothing,
    };
    if !dialects.contains(dialect) {
        return Whole::Nothing;
    }
    let mut scan = Scan::new(text, ended, catalog);
    let read = if dialect == Dialect::Pythonic { python::list(&mut scan) } else { scan.json_calls(&[]) };
    let known =
        |drafts: &[Draft]| !drafts.is_empty() && drafts.iter().all(|draft| call::spec(catalog, &draft.name).is_some());
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

/// Whether the beginning of a reply names a tool on offer where a call has its name.
fn names_a_tool(text: &str, catalog: Option<&Catalog>) -> bool {
    let beginning = &text[..crate::clip::floor_boundary(text, 256)];
    let words =
        beginning.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).filter(|word| !word.is_empty());
    words.take(4).any(|word| call::spec(catalog, word).is_some())
}
