//! Fuzzes the block parser: its laws hold for any reply at any chunking.
//!
//! The first byte chooses the length of the pieces, up to 8 KB. The second byte chooses how the reply ends. The rest is
//! the reply.
#![no_main]

#[path = "../../crates/protocol/tests/protocol/oracle/markdown.rs"]
mod markdown;

use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use toolfence_protocol::parse::{Event, Ignored, Options, Parser, Reasoning, Span};
use toolfence_protocol::{Dialect, Dialects, FinishReason, Repair};

fuzz_target!(|data: &[u8]| {
    let [chunk, ending, reply @ ..] = data else { return };
    let reply = String::from_utf8_lossy(reply);
    let chunk = (usize::from(*chunk % 16) + 1) << (chunk / 16 % 10);
    let reason = [FinishReason::Stop, FinishReason::Length, FinishReason::Cut][usize::from(*ending % 3)];
    let mut options = Options::default();
    options.catalog = Some(toolfence_policy::toolset::catalog());
    options.strict = ending & 0x80 != 0;
    options.reasoning = match ending & 0x48 {
        0 => Reasoning::Unknown,
        0x08 => Reasoning::Known,
        _ => Reasoning::Opened,
    };
    if ending & 0x04 != 0 {
        options.dialects = Dialects::ALL;
        options.dialect = (ending & 0x02 != 0).then_some(Dialect::Hermes);
    } else if ending & 0x02 != 0 {
        options.dialects = Dialects::NONE.with(Dialect::ShellBlock).with(Dialect::SearchReplace);
    }
    if ending & 0x20 != 0 {
        options.limits.block = 100;
    }

    let whole = events(&reply, reply.len().max(1), usize::MAX, reason, &options);
    assert_eq!(whole, events(&reply, chunk, usize::MAX, reason, &options), "the events depend on the chunking");
    let polls = usize::from(ending & 0x10 != 0);
    assert_eq!(whole, events(&reply, chunk, polls, reason, &options), "the events depend on when they are polled");
    settled_only(&reply, chunk, reason, &options);
    check_provisional_ids(&whole);
    check_spans(&reply, &whole);
    check_fences(&reply);
    if let Err(problem) = markdown::doubtful_fences(&reply, false) {
        panic!("{problem}");
    }
});

/// Callers that switch provisional events off get the same other events.
fn settled_only(reply: &str, chunk: usize, reason: FinishReason, options: &Options) {
    let mut settled = options.clone();
    settled.settled_only = true;
    let mut parser = Parser::new(options.clone());
    parser.push(reply);
    parser.finish(reason);
    let mut rest: Vec<Event<'static>> = Vec::new();
    while let Some(event) = parser.poll() {
        if matches!(event, Event::Started { .. } | Event::Progress { .. }) {
            continue;
        }
        let apart = match rest.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        rest.extend(apart.map(Event::into_owned));
    }
    assert_eq!(events(reply, chunk, usize::MAX, reason, &settled), rest, "without a preview the events differ");
}

/// Every started id ends in a call or is withdrawn, and a call has its announced name.
fn check_provisional_ids(events: &[Event<'_>]) {
    let mut open: HashMap<&str, &str> = HashMap::new();
    for event in events {
        match event {
            Event::Started { id, name } => assert_eq!(open.insert(id, name), None, "{id} is started twice"),
            Event::Progress { id, .. } => assert!(open.contains_key(id.as_ref()), "{id} is not open"),
            Event::Call { call, .. } => {
                if let Some(name) = open.remove(call.id.as_str()) {
                    assert_eq!(name, call.name, "a call was announced under another name");
                }
            }
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } | Event::Ignored { id: Some(id), .. } => {
                open.remove(id.as_ref());
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "started and forgotten: {open:?}");
}

/// Returns the merged events of a reply, including provisional ones. After each piece it polls `polls` events, and
/// sometimes more.
fn events(reply: &str, chunk: usize, polls: usize, reason: FinishReason, options: &Options) -> Vec<Event<'static>> {
    let mut parser = Parser::new(options.clone());
    let mut merged = Vec::new();
    let mut rest = reply;
    for number in 0.. {
        if rest.is_empty() {
            break;
        }
        // Mix short pieces with long ones, because the parser handles them in different code.
        let chunk = if number % 4 == 3 { chunk.min(5) } else { chunk };
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = (first..=chunk.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(first);
        parser.push(&rest[..end]);
        rest = &rest[end..];
        drain(&mut parser, if number % 8 == 5 { polls.saturating_add(4) } else { polls }, &mut merged);
    }
    parser.finish(reason);
    drain(&mut parser, usize::MAX, &mut merged);
    merged
}

fn drain(parser: &mut Parser, polls: usize, merged: &mut Vec<Event<'static>>) {
    for _ in 0..polls {
        let Some(event) = parser.poll() else { return };
        let rest = match merged.last_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        merged.extend(rest.map(Event::into_owned));
    }
}

/// Spans cover the reply from the first byte to the last without a gap, and the text of an event is that of its span.
fn check_spans(reply: &str, events: &[Event<'_>]) {
    let mut last = Span::default();
    // Calls that were held back are emitted after the text that follows them.
    let mut events: Vec<&Event<'_>> = events.iter().collect();
    events.sort_by_key(|event| match event {
        Event::Ignored { why, .. } if *why != Ignored::Reasoning => usize::MAX,
        event => span(event).map_or(usize::MAX, |span| span.start),
    });
    for event in events {
        let Some(span) = span(event) else { continue };
        assert!(reply.is_char_boundary(span.start) && reply.is_char_boundary(span.end), "{event:?}");
        if let Event::Text { text, .. } = event {
            assert_eq!(*text, reply[span.start..span.end], "text is what was written");
        }
        let wrong_word = matches!(event, Event::Call { call, .. } if call.repairs.contains(&Repair::WrongWord));
        let shown = matches!(event, Event::Ignored { why, .. } if *why != Ignored::Reasoning);
        if wrong_word || shown {
            assert!(span.end <= last.end, "{event:?} is emitted before its text");
            continue; // its bytes are in the text too
        }
        assert!(span == last || span.start == last.end, "a gap before {event:?}");
        last = span;
    }
    assert_eq!(last.end, reply.len(), "the end is missing");
}

fn span(event: &Event<'_>) -> Option<Span> {
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

/// Without its extensions of CommonMark, the parser sees the fences that at least one of two other parsers sees; each
/// of those has its own bugs. Both have bugs with a lone CR, so line endings are replaced, which must not change the
/// fences.
fn check_fences(reply: &str) {
    let text = markdown::bland(reply);
    let plain = markdown::newlines(&text);
    let ours = markdown::ours(&plain);
    assert_eq!(ours, markdown::ours(&text), "the line endings matter: {text:?}");
    let theirs = markdown::comrak(&plain);
    if ours == theirs || (markdown::comrak_differs(&plain) && markdown::pulldown_differs(&plain)) {
        return;
    }
    assert_eq!(ours, markdown::pulldown(&plain), "neither agrees: {plain:?}, comrak {theirs:?}");
}
