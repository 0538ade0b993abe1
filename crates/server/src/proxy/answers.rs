//! What the proxy itself answers to the model where its reply is of no use.

use toolfence_protocol::{ErrorCode, Repair, Text, ToolCall, ToolFailure, ToolResult, text};

/// The answer to a call that was read by a guess.
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

/// A result that says why a call was not passed on.
pub(super) fn refused(id: &str, tool: &str, code: ErrorCode, message: Text) -> ToolResult {
    ToolResult::refused(id, tool, ToolFailure::new(code, message))
}
