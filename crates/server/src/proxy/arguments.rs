//! Streams the arguments of one call as JSON text while the call is still being received.
//!
//! Text that was sent cannot be taken back. So only arguments that are certain to be strings are streamed; everything
//! else follows when the call is complete, and is checked against what was sent. This module does not depend on the
//! parser or on the stream.

use serde_json::Value;
use toolfence_protocol::Args;

/// The most bytes of one piece of held text.
const MOST_PIECE: usize = 16 << 10;

/// The most arguments of one call that are streamed. Each new name is compared with all earlier ones.
const MOST_GIVEN: usize = 64;

/// The arguments that were sent so far.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Names and texts in the order of arrival. The last string is still open.
    given: Vec<(String, String)>,
}

/// The sent arguments differ from those of the complete call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch;

impl Arguments {
    /// Returns `true` if nothing was sent yet.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns `true` if this is the argument that was sent last.
    pub(super) fn grows(&self, name: &str) -> bool {
        self.given.last().is_some_and(|(last, _)| last == name)
    }

    /// Adds text to an argument and returns the JSON to send. Returns `None` if the text must wait for the complete
    /// call.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Option<String> {
        if let Some((_, known)) = self.given.last_mut().filter(|(last, _)| last == name) {
            known.push_str(text);
            return Some(escaped(text));
        }
        // The strings of earlier arguments are closed, so they cannot grow any more.
        if self.given.len() == MOST_GIVEN || self.given.iter().any(|(known, _)| known == name) {
            return None;
        }
        let before = if self.is_empty() { "{" } else { "\"," };
        self.given.push((name.to_owned(), text.to_owned()));
        Some(format!("{before}{}:\"{}", Value::from(name), escaped(text)))
    }

    /// Returns everything that was not sent yet, in pieces of limited size.
    pub(super) fn rest(&self, args: &Args) -> Result<Vec<String>, Mismatch> {
        let mut out = String::new();
        match self.given.split_last() {
            None => out.push('{'),
            Some(((name, text), closed)) => {
                let same = |(name, text): &(String, String)| args.get(name).and_then(Value::as_str) == Some(text);
                let whole = args.get(name).and_then(Value::as_str).filter(|_| closed.iter().all(same));
                let rest = whole.and_then(|whole| whole.strip_prefix(text.as_str())).ok_or(Mismatch)?;
                out.push_str(&escaped(rest));
                out.push('"');
            }
        }
        let mut comma = !self.is_empty();
        for (name, value) in args.iter().filter(|(name, _)| !self.given.iter().any(|(known, _)| known == *name)) {
            let separator = if comma { "," } else { "" };
            out.push_str(&format!("{separator}{}:{value}", Value::from(name.as_str())));
            comma = true;
        }
        out.push('}');
        Ok(pieces(&out))
    }
}

/// Escapes a text for a JSON string, without the quotes.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::with_capacity(text.len() / MOST_PIECE + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(MOST_PIECE);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece.to_owned());
        rest = behind;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn args(value: Value) -> Args {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn the_pieces_make_the_arguments() {
        let whole = args(json!({"path": "a\"b\n", "content": "é\u{1}x", "n": 5, "deep": [{"a": null}]}));
        let mut arguments = Arguments::default();
        let mut text = String::new();
        for (name, piece) in [("path", "a\""), ("path", "b\n"), ("content", "é"), ("content", "\u{1}")] {
            text.push_str(&arguments.add(name, piece).unwrap());
        }
        assert_eq!(text, "{\"path\":\"a\\\"b\\n\",\"content\":\"é\\u0001");
        text.push_str(&arguments.rest(&whole).unwrap().concat());
        assert_eq!(serde_json::from_str::<Args>(&text).unwrap(), whole);
        assert_eq!(Arguments::default().rest(&whole).unwrap().concat(), Value::Object(whole).to_string());
        assert_eq!(Arguments::default().rest(&Args::new()).unwrap(), ["{}"]);
    }

    #[test]
    fn the_final_arguments_must_match_the_emitted_pieces() {
        let mut arguments = Arguments::default();
        arguments.add("a", "one");
        arguments.add("b", "two");
        assert_eq!(arguments.add("a", "more"), None);
        for wrong in [json!({}), json!({"a": "one"}), json!({"a": "onE", "b": "two"}), json!({"a": "one", "b": "tw"})] {
            assert_eq!(arguments.rest(&args(wrong.clone())), Err(Mismatch), "{wrong}");
        }
        assert!(arguments.rest(&args(json!({"a": "one", "b": "two more"}))).is_ok());
    }

    #[test]
    fn large_arguments_are_emitted_in_pieces() {
        let whole = args(json!({"a": "€".repeat(MOST_PIECE)}));
        let pieces = Arguments::default().rest(&whole).unwrap();
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() <= MOST_PIECE));
        assert_eq!(serde_json::from_str::<Args>(&pieces.concat()).unwrap(), whole);
    }
}
