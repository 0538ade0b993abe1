//! Cohere: CohereLabs/c4ai-command-r7b-12-2024 and command-a-03-2025, template `tool_use`: an array of calls, each with an id
//! of its own numbering. Command R and R+ (CohereLabs/c4ai-command-r-plus, template `tool_use`) write the array in a code
//! span, ``Action: ```json [..]``` ``, which counts only as the whole reply.

use super::scan::{Read, Scan};
use serde_json::Value;

pub(super) const END: &str = "<|END_ACTION|>";

/// What a reply of Command R begins with.
pub(super) const ACTION: &str = "Action:";

/// Reads the array up to its closing token.
pub(super) fn calls(scan: &mut Scan<'_>) -> Read {
    array(scan, END)?;
    scan.want_end(END)
}

/// A reply of Command R.
pub(super) fn action(scan: &mut Scan<'_>) -> Read {
    scan.want(ACTION)?;
    scan.skip_whitespace();
    scan.want("```json")?;
    array(scan, "```")?;
    scan.skip_whitespace();
    scan.want("```")
}

fn array(scan: &mut Scan<'_>, end: &str) -> Read {
    let start = scan.at;
    let (mut values, repairs) = scan.json(&[end])?;
    for value in &mut values {
        for item in value.as_array_mut().into_iter().flatten() {
            if let Value::Object(call) = item {
                call.remove("tool_call_id");
            }
        }
    }
    scan.calls(start, values, &repairs)
}
