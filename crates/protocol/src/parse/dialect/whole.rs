//! Replies that consist of calls from the first byte to the last: bare JSON (Llama 3, xLAM), a Python list
//! (meta-llama/Llama-3.2-3B-Instruct, MadeAgents/Hammer2.1-7b), and forms whose beginning is written by the model's
//! template.
//!
//! Prose may begin with a bracket, and an answer may be JSON. A reply therefore counts only if it contains nothing
//! else, ended by itself, and names only offered tools.

use super::scan::{Read, Scan, Stop};
use super::{Dialect, harmony, python};
use crate::json::Problem;
use crate::parse::call::{self, Draft};
use crate::{Catalog, Dialects, FinishReason};

/// The reading of a reply so far.
#[derive(Debug)]
pub(in crate::parse) enum Whole {
    /// The reply may consist of calls.
    Undecided,
    /// The reply is something else.
    Nothing,
    /// The reply consists of these calls.
    Calls(Dialect, Vec<Draft>),
    /// The reply was meant as calls and broke off.
    Incomplete(Dialect),
    /// The reply was meant as calls and cannot be read.
    Malformed(Dialect, Problem),
}

/// Reads a reply from the first character that is not whitespace.
pub(in crate::parse) fn read(
    text: &str,
    dialects: Dialects,
    ended: Option<FinishReason>,
    catalog: Option<&Catalog>,
) -> Whole {
    let mut scan = Scan::new(text, ended, catalog);
    let (dialect, reader) = match reply_form(text, ended.is_some()) {
        ReplyForm::Undecided => return Whole::Undecided,
        ReplyForm::Reply(dialect, reader) if dialects.contains(dialect) => (dialect, reader),
        ReplyForm::Reply(..) | ReplyForm::Other => return Whole::Nothing,
    };
    let read = reader(&mut scan);
    let known = |drafts: &[Draft]| !drafts.is_empty() && drafts.iter().all(|draft| scan.offers(&draft.name));
    match read {
        Ok(()) if !scan.rest().trim().is_empty() || !known(&scan.drafts) => Whole::Nothing,
        Ok(()) => match ended {
            None => Whole::Undecided,
            Some(FinishReason::Stop) => Whole::Calls(dialect, scan.drafts),
            // The array may have been cut off after its last bracket: nothing shows that it was meant to end there.
            Some(_) => Whole::Incomplete(dialect),
        },
        Err(Stop::More) => Whole::Undecided,
        Err(Stop::Incomplete) if names_a_tool(text, catalog) => Whole::Incomplete(dialect),
        // A broken call counts only if the reply ended by itself.
        Err(Stop::Bad(_)) if ended.is_none() => Whole::Undecided,
        Err(Stop::Bad(problem)) if ended == Some(FinishReason::Stop) && names_a_tool(text, catalog) => {
            Whole::Malformed(dialect, problem)
        }
        Err(Stop::Not | Stop::Bad(_) | Stop::Incomplete) => Whole::Nothing,
    }
}

/// Reads calls up to the end of a reply.
type Reader = fn(&mut Scan<'_>) -> Read;

/// The form of a reply, recognised by its beginning.
enum ReplyForm {
    Undecided,
    Other,
    Reply(Dialect, Reader),
}

/// Forms whose replies begin with these words. The template of gpt-oss writes the text before the second one.
const NAMED: [(&str, Dialect, Reader); 2] =
    [(ACTION, Dialect::Cohere, action), (harmony::RECIPIENT, Dialect::Harmony, harmony::addressed_message)];

/// The beginning of a reply of Command R (CohereLabs/c4ai-command-r-plus, template `tool_use`): a list in a code span.
const ACTION: &str = "Action:";

fn action(scan: &mut Scan<'_>) -> Read {
    scan.want(ACTION)?;
    scan.skip_whitespace();
    scan.want("```json")?;
    scan.json_calls(&["```"])
}

fn reply_form(text: &str, whole: bool) -> ReplyForm {
    let mut bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    match (bytes.next(), bytes.next(), bytes.next()) {
        // The third character decides between JSON and a list of Python's dictionaries.
        (Some(b'['), None, _) | (Some(b'['), Some(b'{'), None) if !whole => return ReplyForm::Undecided,
        (Some(b'['), Some(b'{'), Some(b'\'')) => return ReplyForm::Reply(Dialect::Sarashina, python::dictionaries),
        (Some(b'['), Some(next), _) if next.is_ascii_alphabetic() => {
            return ReplyForm::Reply(Dialect::Pythonic, python::list);
        }
        (Some(b'{' | b'['), ..) => return ReplyForm::Reply(Dialect::BareJson, |scan| scan.json_calls(&[])),
        _ => {}
    }
    for (beginning, dialect, reader) in NAMED {
        if text.starts_with(beginning) {
            return ReplyForm::Reply(dialect, reader);
        }
        if !whole && beginning.starts_with(text) {
            return ReplyForm::Undecided;
        }
    }
    ReplyForm::Other
}

/// Returns `true` if the beginning of a reply has the name of an offered tool in the place of a call's name.
fn names_a_tool(text: &str, catalog: Option<&Catalog>) -> bool {
    let beginning = &text[..crate::clip::floor_boundary(text, 256)];
    let words =
        beginning.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).filter(|word| !word.is_empty());
    words.take(4).any(|word| call::spec(catalog, word).is_some())
}
