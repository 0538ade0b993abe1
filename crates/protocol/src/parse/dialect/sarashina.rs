//! Sarashina, as the parser `sarashina` of the crate `tool-parser` documents its format: a list of dictionaries as Python writes it.
//!
//! `<|tool_calls|>[{'name': 'read_file', 'arguments': {'path': 'a.txt'}}]`

use super::scan::{Read, Scan, Stop};
use super::{Row, python};
use crate::Dialect;
use serde_json::Value;

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Sarashina, opener: "<|tool_calls|>", special: true, read: calls, closers: &["]"] }];

/// The list, whose token some servers leave out: then it counts only as the whole reply.
pub(super) fn calls(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let start = scan.at;
    match scan.peek() {
        None => return scan.wait(),
        Some(b'[') => {}
        Some(_) => return Err(Stop::Not),
    }
    let list = python::value(scan, 0)?;
    if list.as_array().is_none_or(|items| !items.iter().all(Value::is_object)) {
        return Err(Stop::Not);
    }
    scan.calls(start, vec![list], &[])
}
