//! Replaces, adds or removes values in a JSON text and keeps everything else byte for byte.
//!
//! The text may be JSONC: JSON with comments and trailing commas. `jsonc-parser` locates each value, and an edit is a
//! few insertions and cuts at such places. The result is parsed again before it is returned: it must have the value
//! that the edit asks for, and be strict JSON if the text was.

mod read;
mod splice;
mod write;

use read::{Document, Items};
use serde_json::Value;
use splice::Splices;
use toolfence_protocol::clip::middle;
use toolfence_protocol::{Text, text};

/// Maximum number of bytes that the edits of a call read together: each edit reads the result of the one before it.
const MOST_WORK: usize = 64 << 20;

/// Maximum number of names in the report of a missing one, and of bytes per name.
const MOST_NAMES: usize = 10;
const LONGEST_NAME: usize = 100;

/// One value to set or to remove.
#[derive(Debug, Clone, PartialEq)]
pub struct DataEdit<'a> {
    /// The place of the value, as a JSON Pointer (RFC 6901). A last part `-` is the end of a list.
    pub at: &'a str,
    /// The new value; `None` to remove the old one.
    pub value: Option<&'a Value>,
}

/// Why no edit was made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataProblem {
    /// The text has no value at this place.
    Missing(Text),
    /// The edit or the text cannot be used.
    Invalid(Text),
}

impl DataProblem {
    /// Returns the cause and what to do about it, translatable.
    pub fn text(&self) -> Text {
        match self {
            DataProblem::Missing(text) | DataProblem::Invalid(text) => text.clone(),
        }
    }
}

/// Makes the edits in order, each on the result of the one before, or none of them.
///
/// A value that is set replaces the old one at its place. Setting a name that its object does not have adds it at the
/// end. Everything else stays, including comments next to a removed value; new values get the indentation and the line
/// ends of the text.
///
/// Time is linear in the length of the text for each edit.
///
/// # Errors
/// Fails if the text is no JSON or JSONC, nests deeper than 128, or has an object with a repeated name; if a place does
/// not exist; or if there are too many edits for the length of the text.
///
/// ```
/// use serde_json::json;
/// use toolfence_patch::{DataEdit, edit_data};
///
/// let text = "{\n  // how it is built\n  \"scripts\": { \"build\": \"tsc\" },\n}\n";
/// let value = json!("vitest run");
/// let edits = [DataEdit { at: "/scripts/test", value: Some(&value) }];
/// let want = "{\n  // how it is built\n  \"scripts\": { \"build\": \"tsc\", \"test\": \"vitest run\" },\n}\n";
/// assert_eq!(edit_data(text.as_bytes(), &edits).unwrap(), want.as_bytes());
/// ```
pub fn edit_data(text: &[u8], edits: &[DataEdit<'_>]) -> Result<Vec<u8>, DataProblem> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    if edits.is_empty() {
        return Err(DataProblem::Invalid(text!("edits is empty. Give at least one edit.")));
    }
    let (bom, text) = text.strip_prefix(BOM).map_or((&b""[..], text), |rest| (BOM, rest));
    let not_utf8 = |_| DataProblem::Invalid(text!("The file is not UTF-8, so it is no JSON."));
    let mut text = std::str::from_utf8(text).map_err(not_utf8)?.to_owned();
    let mut work = 0_usize;
    for (index, edit) in edits.iter().enumerate() {
        // The second condition refuses before any work. The first counts on, because edits can make the text longer.
        work = work.saturating_add(text.len());
        if work > MOST_WORK || text.len().saturating_mul(edits.len()) > MOST_WORK {
            let count = edits.len();
            return Err(DataProblem::Invalid(text!(
                "{count} {count|edit is|edits are} too many for a file of this length. Make fewer at a time.",
                count
            )));
        }
        text = apply_edit(&text, edit).map_err(|problem| number_problem(index + 1, edits.len(), problem))?;
    }
    Ok([bom, text.as_bytes()].concat())
}

/// Adds the number of the edit to a problem, if there are several edits.
fn number_problem(number: usize, of: usize, problem: DataProblem) -> DataProblem {
    let numbered = |problem: Text| if of > 1 { text!("Edit {number}: {problem}", number, problem) } else { problem };
    match problem {
        DataProblem::Missing(text) => DataProblem::Missing(numbered(text)),
        DataProblem::Invalid(text) => DataProblem::Invalid(numbered(text)),
    }
}

fn apply_edit(text: &str, edit: &DataEdit<'_>) -> Result<String, DataProblem> {
    let parts = pointer(edit.at).map_err(DataProblem::Invalid)?;
    let document = Document::read(text).map_err(DataProblem::Invalid)?;
    let (splices, want) = plan_edit(&document, &parts, edit)?;
    let new = splices.apply(text);
    // The layout of the text can be anything, so the planned splices may be wrong for it. The result is parsed again.
    let is_strict = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let is_right = Document::read(&new).is_ok_and(|document| document.value == want);
    if !is_right || is_strict(text) && !is_strict(&new) {
        let at = edit.at;
        return Err(DataProblem::Invalid(text!(
            "The layout of the file around {at} cannot be kept. Change the lines with edit_file.",
            at
        )));
    }
    Ok(new)
}

/// Splits a JSON Pointer into its parts.
fn pointer(at: &str) -> Result<Vec<String>, Text> {
    if at.is_empty() {
        return Ok(Vec::new());
    }
    let shown = middle(at, LONGEST_NAME);
    let Some(rest) = at.strip_prefix('/') else {
        let at = shown;
        let right = format!("/{}", at.trim_start_matches("$.").replace(['.', '['], "/").replace(']', ""));
        return Err(text!(
            "at is {at}, which is no JSON Pointer: each part follows a slash. Write {right}, or \"\" for the whole \
             document.",
            at,
            right
        ));
    };
    let mut parts = Vec::new();
    for part in rest.split('/') {
        if part.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
            let at = shown;
            return Err(text!(
                "at is {at}, which is no JSON Pointer: ~ is not followed by 0 or 1. Write ~0 for ~ and ~1 for / in a \
                 name.",
                at
            ));
        }
        // In this order, so that `~01` becomes `~1` and not `/`: RFC 6901, section 4.
        parts.push(part.replace("~1", "/").replace("~0", "~"));
    }
    Ok(parts)
}

/// The meaning of a part of a pointer in a list.
enum ListPlace {
    At(usize),
    End,
}

/// Returns the splices that make an edit, and the value of the whole document after it.
fn plan_edit(document: &Document<'_>, parts: &[String], edit: &DataEdit<'_>) -> Result<(Splices, Value), DataProblem> {
    let Some((last, parents)) = parts.split_last() else {
        let Some(value) = edit.value else {
            return Err(DataProblem::Invalid(text!("The whole document cannot be removed.")));
        };
        return Ok((splice::replace(document, None, document.root(), value), value.clone()));
    };
    let (mut items, mut outer) = (document.root(), None);
    let mut want = document.value.clone();
    let mut inner = &mut want;
    // The positions in the text and the expected value are followed side by side, part by part.
    for part in parents {
        let at = find_index(&items, part, edit.at)?;
        let (next, value) = match (&items, &mut *inner) {
            (Items::Object(_), Value::Object(object)) => (items.get(at), object.get_mut(part)),
            (Items::List(_), Value::Array(list)) => (items.get(at), list.get_mut(at)),
            _ => (None, None),
        };
        let (Some(next), Some(value)) = (next, value) else { return Err(missing_problem(&items, part, edit.at)) };
        outer = Some(items);
        (items, inner) = (next, value);
    }
    let splices = match (&items, inner) {
        (Items::Object(_), Value::Object(object)) => match (items.index_of(last), edit.value) {
            (Some(at), Some(value)) => {
                object.insert(last.clone(), value.clone());
                splice::replace(document, Some(&items), items.at(at), value)
            }
            (None, Some(value)) => {
                object.insert(last.clone(), value.clone());
                splice::insert(document, outer.as_ref(), &items, Some(last), value)
            }
            (Some(at), None) => {
                // Unlike `swap_remove`, this keeps the order of the names.
                object.shift_remove(last);
                splice::remove(document, &items, at)
            }
            (None, None) => return Err(missing_problem(&items, last, edit.at)),
        },
        (Items::List(_), Value::Array(list)) => match (find_place(&items, last, edit.at)?, edit.value) {
            (ListPlace::At(at), Some(value)) => {
                list[at] = value.clone();
                splice::replace(document, Some(&items), items.at(at), value)
            }
            (ListPlace::End, Some(value)) => {
                list.push(value.clone());
                splice::insert(document, outer.as_ref(), &items, None, value)
            }
            (ListPlace::At(at), None) => {
                list.remove(at);
                splice::remove(document, &items, at)
            }
            (ListPlace::End, None) => return Err(missing_problem(&items, last, edit.at)),
        },
        _ => return Err(missing_problem(&items, last, edit.at)),
    };
    Ok((splices, want))
}

/// Returns the index of the item that a part names.
fn find_index(items: &Items<'_>, part: &str, at: &str) -> Result<usize, DataProblem> {
    match items {
        Items::Object(_) => items.index_of(part).ok_or_else(|| missing_problem(items, part, at)),
        Items::List(_) => match find_place(items, part, at)? {
            ListPlace::At(index) => Ok(index),
            ListPlace::End => Err(missing_problem(items, part, at)),
        },
        Items::Scalar(_) => Err(missing_problem(items, part, at)),
    }
}

fn find_place(items: &Items<'_>, part: &str, at: &str) -> Result<ListPlace, DataProblem> {
    if part == "-" {
        return Ok(ListPlace::End);
    }
    // RFC 6901, section 4: an index has no leading zeros.
    let is_index = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
    match part.parse::<usize>() {
        Ok(index) if is_index && index < items.len() => Ok(ListPlace::At(index)),
        _ => Err(missing_problem(items, part, at)),
    }
}

/// Explains why there is no value at a part of a pointer.
fn missing_problem(items: &Items<'_>, part: &str, at: &str) -> DataProblem {
    let shown = |name: &str| if name.is_empty() { "\"\"".to_owned() } else { middle(name, LONGEST_NAME).into_owned() };
    let (at, part) = (shown(at), shown(part));
    DataProblem::Missing(match items {
        Items::Object(_) => {
            let names = items.names().take(MOST_NAMES).map(shown).collect::<Vec<_>>().join(", ");
            match items.len() {
                0 => text!("{at} does not exist: the object is empty and has no {part}.", at, part),
                count if count > MOST_NAMES => text!(
                    "{at} does not exist: the object has no {part}. The first of its {count} names are {names}.",
                    at,
                    part,
                    names,
                    count
                ),
                _ => text!("{at} does not exist: the object has no {part}. Its names are {names}.", at, part, names),
            }
        }
        Items::List(_) => text!(
            "{at} does not exist: the list has {count} {count|element|elements}, counted from 0. A last part - appends \
             to it.",
            at,
            count = items.len()
        ),
        Items::Scalar(_) => {
            text!("{at} does not exist: the parent of {part} is neither an object nor a list.", at, part)
        }
    })
}
