//! What is measured: a reply through the parser.

use crate::texts::pieces;
use std::hint::black_box;
use toolfence::FinishReason;
use toolfence::parse::{Event, Options, Parser};

/// Reads a reply in pieces of so many bytes, polling after each as a client must that shows what comes. Gives the calls.
pub(crate) fn calls(reply: &str, bytes: usize) -> usize {
    read(reply, bytes, Options::default())
}

/// The same in one piece, for a client that shows nothing before a call is whole.
#[allow(dead_code, reason = "not every bench looks at this")]
pub(crate) fn settled_calls(reply: &str) -> usize {
    let mut options = Options::default();
    options.settled_only = true;
    read(reply, usize::MAX, options)
}

fn read(reply: &str, bytes: usize, mut options: Options) -> usize {
    options.limits.calls = usize::MAX; // every block is read to its end
    let mut parser = Parser::new(options);
    let mut calls = 0;
    for piece in pieces(reply, bytes) {
        parser.push(piece);
        calls += poll(&mut parser);
    }
    parser.finish(FinishReason::Stop);
    calls + poll(&mut parser)
}

fn poll(parser: &mut Parser) -> usize {
    let mut calls = 0;
    // Looked at where it is: an event that is kept would be moved first.
    while let Some(event) = &parser.poll() {
        calls += usize::from(matches!(black_box(event), Event::Call { .. }));
    }
    calls
}
