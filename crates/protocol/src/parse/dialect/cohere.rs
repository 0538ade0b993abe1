//! Cohere: CohereLabs/c4ai-command-r7b-12-2024, template `tool_use`: an array of calls, each with an id of its own numbering.

use super::scan::{Read, Scan};
use super::{Forgery, Row};
use crate::Dialect;
use serde_json::Value;

const END: &str = "<|END_ACTION|>";

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Cohere, opener: "<|START_ACTION|>", special: true, read: calls, closers: &[END] }];

pub(super) const FORGERIES: &[Forgery] = &[Forgery { dialect: Dialect::Cohere, token: "<|START_TOOL_RESULT|>" }];

fn calls(scan: &mut Scan<'_>) -> Read {
    let start = scan.at;
    let (mut values, repairs) = scan.json(&[END])?;
    for value in &mut values {
        for item in value.as_array_mut().into_iter().flatten() {
            if let Value::Object(call) = item {
                call.remove("tool_call_id");
            }
        }
    }
    scan.calls(start, values, &repairs)?;
    let end = scan.at;
    scan.skip_whitespace();
    if scan.take(END)? { Ok(()) } else { scan.missing_end(end, true) }
}
