//! Calls of the backend's own channel, put together from their pieces.

use crate::backend::Chunk;
use genai::chat::ToolCall as Piece;
use serde_json::Value;
use toolfence_protocol::{Args, ToolCall};

/// Calls of one reply, and bytes of all their arguments: what is more is left out.
const MOST_CALLS: usize = 64;
const MOST_BYTES: usize = 8 << 20;

/// The calls so far.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Part>,
    bytes: usize,
}

struct Part {
    id: String,
    name: String,
    args: String,
}

/// What came of a call once it was whole.
pub(super) enum Whole {
    Call(ToolCall),
    /// Its arguments are no object: as a block in the text it gets the answer that every such block gets.
    Text(String),
}

impl Whole {
    pub(super) fn as_chunk(&self) -> Chunk<'_> {
        match self {
            Whole::Call(call) => Chunk::Call(call.clone()),
            Whole::Text(text) => Chunk::Text(text),
        }
    }
}

impl Calls {
    /// A piece with a name begins a call, unless it repeats the name of the one that is being told.
    pub(super) fn add(&mut self, piece: &Piece) {
        let args = match &piece.fn_arguments {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        self.bytes += args.len() + piece.fn_name.len();
        if self.bytes > MOST_BYTES {
            return;
        }
        let same = |call: &&mut Part| piece.fn_name.is_empty() || call.id == piece.call_id;
        let full = self.calls.len() == MOST_CALLS;
        match self.calls.last_mut().filter(same) {
            Some(call) => call.args.push_str(&args),
            None if full => {}
            None => self.calls.push(Part { id: piece.call_id.clone(), name: piece.fn_name.clone(), args }),
        }
    }

    pub(super) fn whole(self) -> impl Iterator<Item = Whole> {
        self.calls.into_iter().map(whole)
    }
}

fn whole(part: Part) -> Whole {
    let Part { id, name, args } = part;
    let read = if args.trim().is_empty() { Ok(Args::new()) } else { serde_json::from_str::<Args>(&args) };
    match read {
        Ok(args) => Whole::Call(ToolCall::new(id, name, args)),
        Err(_) => Whole::Text(format!("\n\n```tool\n{{\"name\": {}, \"args\": {args}}}\n```\n", Value::from(name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(id: &str, name: &str, args: &str) -> Piece {
        Piece { call_id: id.into(), fn_name: name.into(), fn_arguments: Value::from(args), thought_signatures: None }
    }

    #[test]
    fn pieces_become_calls() {
        let mut calls = Calls::default();
        for (id, name, args) in [
            ("a", "read_file", ""),
            ("call_0", "", "{\"path\":"),
            ("call_0", "", "\"x\"}"),
            ("b", "list_files", ""),
            ("c", "bash", "{\"command\": "),
        ] {
            calls.add(&piece(id, name, args));
        }
        let told: Vec<String> = calls
            .whole()
            .map(|whole| match whole {
                Whole::Call(call) => format!("{} {} {}", call.id, call.name, Value::Object(call.args)),
                Whole::Text(text) => text,
            })
            .collect();
        let broken = "\n\n```tool\n{\"name\": \"bash\", \"args\": {\"command\": }\n```\n";
        assert_eq!(told, ["a read_file {\"path\":\"x\"}", "b list_files {}", broken]);
    }
}
