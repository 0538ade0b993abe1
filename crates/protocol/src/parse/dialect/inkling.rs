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
use super::{Row, framing};
use crate::Dialect;

const END: &str = "<|end_message|>";
const CALL: &str = "<|content_invoke_tool_json|>";
const TEXT: &str = "<|content_text|>";
const THOUGHT: &str = "<|content_thinking|>";

pub(super) const ROWS: &[Row] = &[
    row("<|message_model|>", message, &[END, TEXT, CALL]),
    row(CALL, calls, &[END]),
    row(THOUGHT, |scan| scan.thought(END), &[END]),
    row(TEXT, framing, &[]),
    row(END, framing, &[]),
    row("<|content_model_end_sampling|>", framing, &[]),
];

const fn row(opener: &'static str, read: fn(&mut Scan<'_>) -> Read, closers: &'static [&'static str]) -> Row {
    Row { dialect: Dialect::Inkling, opener, special: true, read, closers }
}

/// Bytes of the head of a message: an author, or the name of a tool.
const MOST_HEAD: usize = 512;

/// A message, behind the token that begins it.
fn message(scan: &mut Scan<'_>) -> Read {
    let head = &scan.rest()[..crate::clip::floor_boundary(scan.rest(), MOST_HEAD)];
    let Some(at) = head.find("<|content_") else {
        return if head.len() < scan.rest().len() { Err(Stop::Not) } else { scan.wait() };
    };
    scan.at += at;
    if scan.take(CALL)? {
        return calls(scan);
    }
    if scan.take(THOUGHT)? {
        return scan.thought(END);
    }
    // A call whose arguments are a free text has no name for it: it is shown.
    scan.want(TEXT)
}

fn calls(scan: &mut Scan<'_>) -> Read {
    scan.json_calls(&[END])
}
