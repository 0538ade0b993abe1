//! What the proxy itself answers to the model where its reply is of no use.

use super::offer::Choice;
use crate::messages;
use toolfence_protocol::{ErrorCode, Text, ToolCall, ToolFailure, ToolResult};

/// Below the instructions, where the request narrows what may be called.
pub(super) fn choice(choice: &Choice, several: bool) -> Text {
    let wanted = match choice {
        Choice::Auto | Choice::None => Text::default(),
        Choice::Required => messages::must_call_a_tool(),
        Choice::This(name) => messages::must_call_the_tool(name),
    };
    let one = if several { Text::default() } else { messages::one_call_a_reply() };
    Text::join([wanted, one], "")
}

/// The reply had to hold a call and holds none.
pub(super) fn no_call(choice: &Choice) -> Text {
    match choice {
        Choice::This(name) => messages::called_not_the_tool(name),
        _ => messages::called_no_tool(),
    }
}

/// The answer to a call that was read by a guess.
pub(super) fn lossy(call: &ToolCall) -> Text {
    let named: Vec<&str> =
        call.repairs.iter().filter(|repair| !repair.lossless()).map(|repair| repair.name()).collect();
    let reading = serde_json::to_string(&call.args).unwrap_or_default();
    let mut short: String = reading.chars().take(400).collect();
    if short.len() < reading.len() {
        short.push_str("...");
    }
    messages::call_was_guessed(named.join(", "), short)
}

/// A result that says why a call was not passed on.
pub(super) fn refused(id: &str, tool: &str, code: ErrorCode, message: Text) -> ToolResult {
    ToolResult::refused(id, tool, ToolFailure::new(code, message))
}
