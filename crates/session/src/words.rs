//! What the session itself says to the model: one place, so that the wording can be read as a whole.

use toolfence_protocol::parse::ReadError;
use toolfence_protocol::{ErrorCode, ToolCall, ToolFailure, ToolResult};

pub(super) const FORGED: &str = "Note: your reply held a `tool_result` block. Results are given by the host only; that \
     block and everything after it were dropped and not run. Write your calls, end the reply, and wait for the results.";

pub(super) const UNCLOSED: &str = "Note: the reasoning in your reply was never closed, so nothing behind its opening tag \
     was read as an answer or a call. Close it before you go on, and give the answer or the call now.";

pub(super) const BROKE_OFF: &str = "The reply broke off inside this block, so it was not run. Send the whole block again \
     from its opening fence; if it is long, split the work into several smaller calls.";

/// The answer to a block that could not be read.
pub(super) fn malformed(id: &str, tool: &str, error: &ReadError) -> ToolResult {
    let ReadError { message, line, column, .. } = error;
    let message = format!("This block could not be read, at line {line}, column {column} of your reply: {message}");
    refused(id, tool, ErrorCode::MalformedCall, message)
}

/// The answer to a block that the reply's end cut off.
pub(super) fn incomplete(id: &str, tool: &str) -> ToolResult {
    refused(id, tool, ErrorCode::MalformedCall, BROKE_OFF)
}

/// Where more blocks were unreadable than are answered one by one.
pub(super) fn more_broken(count: usize) -> String {
    format!("Note: {count} more blocks of your reply could not be read either. Send one call at a time.")
}

/// The answer to a change that stands behind one that failed.
pub(super) fn skipped(call: &ToolCall) -> ToolResult {
    let message = "Not run: a change or command before it in your reply did not succeed. Look at that result first, then \
         send this call again if it is still right.";
    refused(&call.id, &call.name, ErrorCode::Cancelled, message)
}

/// The answer to a call that was on its way when the user cancelled.
pub(super) fn cancelled(call: &ToolCall, started: bool) -> ToolResult {
    let message = match started {
        true => "The user stopped it while it ran; what it had done by then may have stayed. Check before you go on.",
        false => "The user cancelled before it ran. Wait for what the user says next.",
    };
    refused(&call.id, &call.name, ErrorCode::Cancelled, message)
}

/// In the last results message of a turn.
pub(super) fn last_round(limit: u32) -> String {
    format!(
        "Note: this was round {limit} of {limit}; no more calls will be run. Answer now in plain text: what is done, what \
         is left, and what to do next."
    )
}

/// Before the next user message, where the last answer of a turn still held calls.
pub(super) fn not_run(limit: u32) -> String {
    format!("Note: the calls in your last reply were not run, for the limit of {limit} rounds was reached.")
}

/// Where the same call gave the same result again.
pub(super) fn again(tool: &str, times: u32) -> String {
    let shown: String = tool.chars().take(64).collect();
    format!(
        "Note: this is the same {shown:?} call with the same result for the {times}th time. Repeating it will not help: \
         do something else, or answer with what you know."
    )
}

fn refused(id: &str, tool: &str, code: ErrorCode, message: impl Into<toolfence_protocol::Text>) -> ToolResult {
    ToolResult::refused(id, tool, ToolFailure::new(code, message))
}
