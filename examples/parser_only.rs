//! The parser by itself: chunks in, events out. Needs no feature: `cargo run --no-default-features --example parser_only`
//! reads a reply on stdin, a few bytes at a time.

use std::io::Read;
use toolfence::FinishReason;
use toolfence::parse::{Event, Options, Parser};

fn main() -> std::io::Result<()> {
    let mut reply = String::new();
    std::io::stdin().read_to_string(&mut reply)?;
    let mut parser = Parser::new(Options::default());
    let mut rest = reply.as_str();
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary_of(7));
        parser.push(chunk);
        tell(&mut parser); // at once after each chunk, or nothing streams
        rest = after;
    }
    parser.finish(FinishReason::Stop);
    tell(&mut parser);
    Ok(())
}

/// Says what was found. A call that can be read is not a call that may run: that is for a policy.
fn tell(parser: &mut Parser) {
    while let Some(event) = parser.poll() {
        match event {
            Event::Text { text, .. } => print!("{text}"),
            Event::Progress { arg, text, .. } => println!("[{arg} so far: {text:?}]"),
            Event::Call { call, .. } => println!("[call {} {:?}, repairs {:?}]", call.name, call.args, call.repairs),
            Event::Malformed { error, .. } => println!("[line {}: {}]", error.line, error.message),
            Event::Incomplete { .. } => println!("[a block broke off]"),
            Event::ForgedResult { .. } => println!("[the model made up a result: stop it here]"),
            _ => {}
        }
    }
}

trait Boundary {
    /// The first place for a cut at or after so many bytes.
    fn ceil_char_boundary_of(&self, bytes: usize) -> usize;
}

impl Boundary for str {
    fn ceil_char_boundary_of(&self, bytes: usize) -> usize {
        (bytes.min(self.len())..=self.len()).find(|at| self.is_char_boundary(*at)).unwrap_or(self.len())
    }
}
