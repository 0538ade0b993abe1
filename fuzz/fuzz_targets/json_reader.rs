//! Fuzzes the JSON reader: its laws hold for any text.
//!
//! The first byte decides whether the text is known to be complete. The rest is the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolfence_protocol::json::Lexer;
use toolfence_protocol::json::{self, Status};

fuzz_target!(|data: &[u8]| {
    let [closed, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let closed = closed & 1 == 1;

    check_strict_is_serde_json(text);
    check_lexer_chunks(text, usize::from(data[0] >> 1) % 7 + 1);
    let Ok(reading) = json::read(text, closed) else { return };
    if json::strict(text).is_ok_and(|value| value.is_object() || value.is_array()) {
        assert!(reading.repairs.is_empty(), "valid JSON was repaired");
        assert_eq!(reading.values.len(), 1);
    }
    for value in &reading.values {
        assert!(value.is_object() || value.is_array(), "a call is no scalar");
        let printed = value.to_string();
        let again = json::read(&printed, false).expect("what was read can be read again");
        assert!(again.repairs.is_empty(), "what was repaired needs repair again: {printed}");
        assert_eq!(again.values, std::slice::from_ref(value));
    }
    if !closed {
        check_is_whole(text);
    }
});

/// Strict reading accepts the same texts as `serde_json`, except for those with a repeated key.
fn check_strict_is_serde_json(text: &str) {
    let theirs = serde_json::from_str::<Value>(text);
    match (json::strict(text), theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Err(problem), Ok(_)) => assert!(problem.message.to_string().contains("occurs twice"), "refused: {problem:?}"),
        (Ok(ours), Err(error)) => panic!("read {ours}, but: {error}"),
        (Err(problem), Err(_)) => {
            assert!(text.is_char_boundary(problem.at.min(text.len())) && problem.at <= text.len())
        }
    }
}

/// A text that may have been cut off is not read until its last bracket has arrived.
fn check_is_whole(text: &str) {
    let Some(end) = text.rfind(['}', ']']) else { panic!("read without a closing bracket") };
    if json::strict(text).is_ok()
        && let Ok(less) = json::read(&text[..end], false)
    {
        panic!("read {less:?} from a text without its end");
    }
}

/// The lexer accepts the same texts as `serde_json`, and its result does not depend on the pieces.
fn check_lexer_chunks(text: &str, chunk: usize) {
    let mut whole = Lexer::new(toolfence_protocol::json::MOST_NESTING);
    whole.feed(text, &mut ());
    let mut pieces = Lexer::new(toolfence_protocol::json::MOST_NESTING);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = (first.len_utf8()..=chunk.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at));
        let (piece, more) = rest.split_at(end.unwrap_or(first.len_utf8()));
        pieces.feed(piece, &mut ());
        rest = more;
    }
    assert_eq!(whole.status(), pieces.status(), "the status depends on the pieces");
    assert_eq!(whole.saw_control(), pieces.saw_control());
    let valid = serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object() || value.is_array());
    if valid {
        assert_eq!(whole.status(), Status::Between { values: 1 });
    }
}
