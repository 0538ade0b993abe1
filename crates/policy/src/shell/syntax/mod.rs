//! The text of a command as the parser reads it, behind a gate of our own.

mod gate;

pub(crate) use gate::{Fault, MOST_BYTES, MOST_DEPTH, hidden};

use crate::shell::messages;
use brush_parser::ast;

/// The parser is somebody else's: what it does not survive is not the end of the host.
pub(crate) fn parse(text: &str) -> Result<ast::Program, Fault> {
    gate::text(text)?;
    std::panic::catch_unwind(|| parse_gated(text)).unwrap_or_else(|_| Err(Fault::Unreadable(messages::parser_failed())))
}

fn parse_gated(text: &str) -> Result<ast::Program, Fault> {
    let options = brush_parser::ParserOptions {
        // As `bash -c` starts: a pattern such as `@(a|b)` is a syntax error there.
        enable_extended_globbing: false,
        ..brush_parser::ParserOptions::default()
    };
    let unreadable = |error: String| Fault::Unreadable(messages::unreadable(error));
    let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options())
        .map_err(|error| unreadable(error.to_string()))?;
    gate::tokens(&tokens)?;
    brush_parser::parse_tokens(&tokens, &options).map_err(|error| unreadable(error.to_string()))
}
