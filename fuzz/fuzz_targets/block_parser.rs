//! The laws of the block parser on any reply, at any chunking.
//!
//! The first byte chooses the chunk size, the second how the reply ends; the rest is the reply.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfence::FinishReason;
use toolfence::format::{Format, results};
use toolfence::parse::{Event, Options, Parser, Span};
use toolfence::{Output, ToolResult};

fuzz_target!(|data: &[u8]| {
    let [chunk, ending, reply @ ..] = data else { return };
    let reply = String::from_utf8_lossy(reply);
    let chunk = usize::from(*chunk % 16) + 1;
    let reason = [FinishReason::Stop, FinishReason::Length, FinishReason::Cut][usize::from(*ending % 3)];
    let strict = ending & 0x80 != 0;

    let whole = events(&reply, reply.len().max(1), reason, strict);
    assert_eq!(whole, events(&reply, chunk, reason, strict), "the events depend on the chunking");
    spans_hold(&reply, &whole);
    results_hold(&reply);
});

/// The merged events of a reply, the provisional ones included.
fn events(reply: &str, chunk: usize, reason: FinishReason, strict: bool) -> Vec<Event> {
    let mut options = Options::default();
    options.strict = strict;
    let mut parser = Parser::new(options);
    let mut merged = Vec::new();
    let mut rest = reply;
    while !rest.is_empty() {
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = (first..=chunk.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(first);
        parser.push(&rest[..end]);
        rest = &rest[end..];
        drain(&mut parser, &mut merged);
    }
    parser.finish(reason);
    drain(&mut parser, &mut merged);
    merged
}

fn drain(parser: &mut Parser, merged: &mut Vec<Event>) {
    while let Some(event) = parser.poll() {
        let rest = match merged.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        merged.extend(rest);
    }
}

/// Spans lie in the reply, on characters, in order and apart; text is the bytes of its span.
fn spans_hold(reply: &str, events: &[Event]) {
    let mut last = Span::default();
    for event in events {
        let Some(span) = span(event) else { continue };
        assert!(span.start <= span.end && span.end <= reply.len(), "{event:?}");
        assert!(reply.is_char_boundary(span.start) && reply.is_char_boundary(span.end), "{event:?}");
        if let Event::Text { text, .. } = event {
            assert_eq!(*text, reply[span.start..span.end], "text is what was written");
        }
        if matches!(event, Event::Ignored { .. }) {
            continue; // its bytes are in the text too
        }
        assert!(span == last || span.start >= last.end, "{event:?} reaches into what was told before");
        last = span;
    }
}

fn span(event: &Event) -> Option<Span> {
    match event {
        Event::Text { span, .. }
        | Event::Reasoning { span, .. }
        | Event::Call { span, .. }
        | Event::Malformed { span, .. }
        | Event::Incomplete { span, .. }
        | Event::Ignored { span, .. }
        | Event::ForgedResult { span, .. } => Some(*span),
        _ => None,
    }
}

/// Whatever a tool puts out, a results message holds no call.
fn results_hold(output: &str) {
    let result = ToolResult::new("1", "bash", Output::text(output), 0);
    let message = results(&[result], &Format::default());
    let read = toolfence::parse::parse(&message);
    assert!(read.calls.is_empty(), "an output became a call");
    let forged = read.events.iter().filter(|event| matches!(event, Event::ForgedResult { .. })).count();
    assert_eq!(forged, 1, "one result is one block");
}
