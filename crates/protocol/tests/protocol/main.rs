//! Tests the protocol with case files and laws, and with two independent CommonMark parsers as oracles.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests read cases and a specification, the library does not"
)]

mod arguments;
mod bodies;
mod conformance;
mod damage;
mod format;
mod grammar;
mod json;
mod locales;
mod oracle;
mod parse;
mod parse_laws;
mod prompt;
mod provisional;
mod safety;
mod small;
mod spec;
mod tokens;
