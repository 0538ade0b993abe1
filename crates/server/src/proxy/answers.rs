//! The proxy's own answers to the model about unusable replies.

use toolfence_protocol::{ErrorCode, Repair, Text, ToolCall, ToolFailure, ToolResult, text};

/// Returns the answer to a call that could only be read by guessing.
pub(super) fn lossy(call: &ToolCall) -> Text {
    let named: Vec<&str> =
        call.repairs.iter().filter(|repair| !repair.lossless()).map(|repair| repair.name()).collect();
    let reading = serde_json::to_string(&call.args).unwrap_or_default();
    let mut short: String = reading.chars().take(400).collect();
    if short.len() < reading.len() {
        short.push_str("...");
    }
    let message = text!(
        "This block is not exact JSON ({repairs}). It may mean {reading}, but that is a guess. Send the call again, \
         exactly.",
        repairs = named.join(", "),
        reading = short
    );
    match call.repairs.contains(&Repair::DoubtfulFence) {
        true => message.then(text!("End each block with its closing fence, ```, alone on a line.")),
        false => message,
    }
}

/// Returns a result with the reason why a call was not passed on.
pub(super) fn refused(id: &str, tool: &str, code: ErrorCode, message: Text) -> ToolResult {
    ToolResult::refused(id, tool, ToolFailure::new(code, message))
}
