//! Inkling, as the parser `inkling` of the crate `tool-parser` documents its format: messages with a head, the kind of their
//! content, and an end.
//!
//! ```text
//! <|message_model|><|content_text|>I look.<|end_message|>
//! <|message_model|>read_file<|content_invoke_tool_json|>{"name": "read_file", "args": {"path": "a.txt"}}<|end_message|>
//! ```
//!
//! What a message with `<|content_thinking|>` holds is reasoning.

use super::scan::{Read, Scan, Stop};

pub(super) const END: &str = "<|end_message|>";
pub(super) const CALL: &str = "<|content_invoke_tool_json|>";
pub(super) const TEXT: &str = "<|content_text|>";
pub(super) const THOUGHT: &str = "<|content_thinking|>";
pub(super) const ENDS: &[&str] = &[END, TEXT, CALL];

/// Bytes of the head of a message: an author, or the name of a tool.
const MOST_HEAD: usize = 512;

/// A message, behind the token that begins it.
pub(super) fn message(scan: &mut Scan<'_>) -> Read {
    let head = &scan.rest()[..crate::clip::floor_boundary(scan.rest(), MOST_HEAD)];
    let Some(at) = head.find("<|content_") else {
        return if head.len() < scan.rest().len() { Err(Stop::Not) } else { scan.wait() };
    };
    scan.at += at;
    if scan.take(CALL)? {
        return scan.json_calls(&[END]);
    }
    if scan.take(THOUGHT)? {
        return scan.thought(END);
    }
    // A call whose arguments are a free text has no name for it: it is shown.
    scan.want(TEXT)
}
