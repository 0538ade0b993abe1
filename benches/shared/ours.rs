//! Reads replies with this parser, in the ways that the benches measure.

use std::hint::black_box;
use toolfence_protocol::FinishReason;
use toolfence_protocol::parse::{Event, Options, Parser, for_each};

/// Reads a reply in these pieces, polling after each like a client that displays progress. Returns the number of calls.
pub fn calls(pieces: &[&str]) -> usize {
    read(pieces, options())
}

/// Reads a reply in these pieces with every dialect. Returns the number of calls.
pub fn dialect_calls(pieces: &[&str]) -> usize {
    let mut options = options();
    options.dialects = toolfence_protocol::Dialects::ALL;
    read(pieces, options)
}

/// Returns options with the built-in tools, as in a session.
fn options() -> Options {
    let mut options = Options::default();
    options.catalog = Some(toolfence_policy::toolset::catalog());
    options
}

/// Reads a whole reply at once. Returns the number of calls.
pub fn calls_of(reply: &str) -> usize {
    let mut options = options();
    options.limits.calls = usize::MAX;
    let mut calls = 0;
    for_each(reply, options, FinishReason::Stop, |event| calls += look(event));
    calls
}

/// Reads a reply like a client that displays only complete calls.
pub fn settled_calls(pieces: &[&str]) -> usize {
    let mut options = options();
    options.settled_only = true;
    read(pieces, options)
}

fn read(pieces: &[&str], mut options: Options) -> usize {
    options.limits.calls = usize::MAX; // every block is read to its end
    let mut parser = Parser::new(options);
    let mut calls = 0;
    for piece in pieces {
        parser.push(piece);
        calls += poll(&mut parser);
    }
    parser.finish(FinishReason::Stop);
    calls + poll(&mut parser)
}

fn poll(parser: &mut Parser) -> usize {
    let mut calls = 0;
    while let Some(event) = parser.poll() {
        calls += look(event);
    }
    calls
}

/// Reads all data of an event, like a client that displays it. Returns 1 for a call.
#[inline(always)] // as in a client that matches where it polls
fn look(event: Event<'_>) -> usize {
    match event {
        Event::Text { text, span } => drop(black_box((&*text, span))),
        Event::Progress { id, arg, text } => drop(black_box((&*id, &*arg, &*text))),
        other => return usize::from(matches!(black_box(&other), Event::Call { .. })),
    }
    0
}
