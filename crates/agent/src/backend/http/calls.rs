//! Assembles the calls of the backend's own channel from their pieces.

use crate::backend::Chunk;
use serde_json::Value;
use toolfence_protocol::{Args, ToolCall};

/// The maximum number of calls of one reply, and the maximum number of bytes of all their arguments. Anything beyond is
/// dropped.
const MOST_CALLS: usize = 64;
const MOST_BYTES: usize = 8 << 20;

/// The calls received so far.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<PartialCall>,
    bytes: usize,
}

struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    args: String,
}

/// A piece of a call in one event of the stream.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// The index of its call in the reply; some servers leave it out.
    pub(super) index: Option<u64>,
    /// Empty in every piece but the first.
    pub(super) id: String,
    /// Empty in every piece but the first.
    pub(super) name: String,
    pub(super) args: String,
}

impl Piece {
    /// Parses a member of `tool_calls`.
    pub(super) fn parse(call: &Value) -> Piece {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let function = call.get("function");
        let args = match function.and_then(|function| function.get("arguments")) {
            // Ollama sends an object where the others send its text.
            Some(object @ Value::Object(_)) => object.to_string(),
            text_of_it => text(text_of_it),
        };
        Piece {
            index: call.get("index").and_then(Value::as_u64),
            id: text(call.get("id")),
            name: text(function.and_then(|function| function.get("name"))),
            args,
        }
    }

    /// Returns `true` if the piece continues this call. Some servers give every call of a reply the index 0, so a new
    /// id with a name begins another call.
    fn continues(&self, call: &PartialCall) -> bool {
        let is_another = !self.name.is_empty() && !self.id.is_empty() && self.id != call.id;
        match (self.index, call.index) {
            (Some(index), Some(last)) => index == last && !is_another,
            _ => self.name.is_empty() || self.id == call.id && !self.id.is_empty(),
        }
    }
}

/// An assembled call.
pub(super) enum AssembledCall {
    Call(ToolCall),
    /// A call whose arguments are not an object, as a block in the text. The session answers it like any other
    /// malformed block.
    Text(String),
}

impl AssembledCall {
    pub(super) fn as_chunk(&self) -> Chunk<'_> {
        match self {
            AssembledCall::Call(call) => Chunk::Call(call.clone()),
            AssembledCall::Text(text) => Chunk::Text(text),
        }
    }
}

impl Calls {
    /// Adds a piece of the current call, or the first piece of the next one.
    pub(super) fn add(&mut self, piece: Piece) {
        self.bytes += piece.args.len() + piece.name.len();
        // Arguments that were cut off are not an object any more, so the session reports the call as malformed.
        if self.bytes > MOST_BYTES {
            return;
        }
        let is_full = self.calls.len() == MOST_CALLS;
        match self.calls.last_mut() {
            Some(call) if piece.continues(call) => call.args.push_str(&piece.args),
            _ if is_full => {}
            _ => {
                let Piece { index, id, name, args } = piece;
                self.calls.push(PartialCall { index, id, name, args });
            }
        }
    }

    pub(super) fn assemble_all(self) -> impl Iterator<Item = AssembledCall> {
        self.calls.into_iter().map(assemble)
    }
}

fn assemble(part: PartialCall) -> AssembledCall {
    let PartialCall { id, name, args, .. } = part;
    // A call without arguments may have an empty text instead of `{}`.
    let read = if args.trim().is_empty() { Ok(Args::new()) } else { serde_json::from_str::<Args>(&args) };
    match read {
        Ok(args) => AssembledCall::Call(ToolCall::new(id, name, args)),
        Err(_) => {
            AssembledCall::Text(format!("\n\n```tool\n{{\"name\": {}, \"args\": {args}}}\n```\n", Value::from(name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_calls() {
        let mut calls = Calls::default();
        for (index, id, name, args) in [
            (Some(0), "a", "read_file", ""),
            (Some(0), "", "", "{\"path\":"),
            (Some(0), "", "", "\"x\"}"),
            // The second call has the same index as the first, and the third has none.
            (Some(0), "b", "list_files", ""),
            (None, "c", "bash", "{\"command\": "),
            (None, "", "", "}"),
        ] {
            calls.add(Piece { index, id: id.into(), name: name.into(), args: args.into() });
        }
        let assembled: Vec<String> = calls
            .assemble_all()
            .map(|whole| match whole {
                AssembledCall::Call(call) => format!("{} {} {}", call.id, call.name, Value::Object(call.args)),
                AssembledCall::Text(text) => text,
            })
            .collect();
        let broken = "\n\n```tool\n{\"name\": \"bash\", \"args\": {\"command\": }}\n```\n";
        assert_eq!(assembled, ["a read_file {\"path\":\"x\"}", "b list_files {}", broken]);
    }
}
