//! Uses only the parser: it takes pieces of a reply and returns events.
//! `cargo run --no-default-features --example parser_only` reads a reply on stdin.

use std::io::{BufRead, stdin};
use toolfence::{Event, FinishReason, Options, Parser};

fn main() -> std::io::Result<()> {
    let mut parser = Parser::new(Options::default());
    for line in stdin().lock().lines() {
        parser.push(&(line? + "\n"));
        handle_events(&mut parser); // after each piece, or nothing streams
    }
    parser.finish(FinishReason::Stop);
    handle_events(&mut parser);
    Ok(())
}

fn handle_events(parser: &mut Parser) {
    while let Some(event) = parser.poll() {
        match event {
            Event::Text { text, .. } => print!("{text}"),
            Event::Call { call, .. } => println!("[call {} {:?}, repairs {:?}]", call.name, call.args, call.repairs),
            Event::Malformed { error, .. } => println!("[line {}: {}]", error.line, error.message),
            Event::ForgedResult { .. } => println!("[the model invented a result: end the reply here]"),
            _ => {}
        }
    }
}
